//! `copy_response` and `copy_response_headers`: what `handle_response` copies from the original response.

use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::model::{CopyHeaders, Handler, Status};
use crate::table::value::{header_name, status};
use crate::table::{Call, Context, Entry, Item, Table};

/// Names of the block of `copy_response`.
pub(crate) const COPY_RESPONSE: Table<Option<u16>> = Table {
    kind: "subdirective of `copy_response`",
    items: &[Item::Supported(
        Entry {
            name: "status",
            syntax: "status CODE",
            default: "that of the response",
            about: "Another status code.",
            differs: "",
            example: "status 404",
        },
        |_, call, code| {
            let word = call.one()?;
            call.set(code, status(word, &word.text, 200..=599)?)
        },
    )],
};

/// Fields, and whether they are excluded.
type Choice = Option<(bool, Vec<String>)>;

/// Names of the block of `copy_response_headers`.
pub(crate) const COPY_RESPONSE_HEADERS: Table<Choice> = Table {
    kind: "subdirective of `copy_response_headers`",
    items: &[
        Item::Supported(
            Entry {
                name: "include",
                syntax: "include FIELD…",
                default: "all fields",
                about: "Only these fields.",
                differs: "",
                example: "include Content-Type ETag",
            },
            |_, call, choice| choose(call, choice, false),
        ),
        Item::Supported(
            Entry {
                name: "exclude",
                syntax: "exclude FIELD…",
                default: "none",
                about: "All fields but these.",
                differs: "",
                example: "exclude Server",
            },
            |_, call, choice| choose(call, choice, true),
        ),
    ],
};

fn choose(call: &Call<'_>, choice: &mut Choice, excludes: bool) -> Result<(), Error> {
    let words = call.arguments(1, usize::MAX)?;
    let names = words
        .iter()
        .map(|word| header_name(word, &word.text))
        .collect::<Result<Vec<_>, _>>()?;
    let (known, fields) = choice.get_or_insert_with(|| (excludes, Vec::new()));
    if *known != excludes {
        return Err(call.error(
            ErrorKind::Conflict,
            "`include` and `exclude` contradict each other".into(),
            "remove one of them",
        ));
    }
    fields.extend(names);
    Ok(())
}

/// They have no effect where there is no response.
fn check_place(call: &Call<'_>, scope: &Scope) -> Result<(), Error> {
    if scope.has_response {
        return Ok(());
    }
    Err(call.error(
        ErrorKind::Conflict,
        format!("`{}` is not in a `handle_response`", call.entry.name),
        "put it in `handle_response` of `reverse_proxy` or `intercept`",
    ))
}

pub(crate) fn response(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    check_place(call, scope)?;
    let (key, rest) = scope.matcher(call.arguments)?;
    let mut code = match rest {
        [] => None,
        [word] => Some(status(word, &word.text, 200..=599)?),
        [_, extra, ..] => {
            return Err(Error::new(
                ErrorKind::Arguments,
                &extra.position,
                format!("`copy_response` does not take `{}`", extra.text),
                format!("write `{}`", call.entry.syntax),
            ));
        }
    };
    cx.read(&COPY_RESPONSE, call.block.unwrap_or_default(), &mut code);
    let status = code.map_or(Status::Default, Status::Code);
    scope.push(key, Handler::CopyResponse(status));
    Ok(())
}

pub(crate) fn headers(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    check_place(call, scope)?;
    let (key, rest) = scope.matcher(call.arguments)?;
    super::reject_extra(call, rest)?;
    let mut choice = None;
    cx.read(
        &COPY_RESPONSE_HEADERS,
        call.block.unwrap_or_default(),
        &mut choice,
    );
    let copy = match choice {
        None => CopyHeaders::All,
        Some((false, names)) => CopyHeaders::Only(names),
        Some((true, names)) => CopyHeaders::AllBut(names),
    };
    scope.push(key, Handler::CopyResponseHeaders(copy));
    Ok(())
}
