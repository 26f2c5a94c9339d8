//! `forward_auth`: another server decides who has access.

use super::proxy;
use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::model::{CopiedHeader, ForwardAuth, Handler, HeaderChange, Part, Placeholder, Template};
use crate::syntax::tree::Word;
use crate::table::template::template;
use crate::table::value::header_name;
use crate::table::{Call, Context, Entry, Item, Table};

/// Options of the block in addition to those of `reverse_proxy`.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    uri: Option<Template>,
    copy_headers: Vec<CopiedHeader>,
}

/// Names of the block of `forward_auth` that `reverse_proxy` lacks.
pub(crate) const FORWARD_AUTH: Table<Draft> = Table {
    kind: "subdirective of `forward_auth`",
    items: &[
        Item::Supported(
            Entry {
                name: "uri",
                syntax: "uri URI",
                default: "required",
                about: "Path and query of the request to the authentication server.",
                differs: "",
                example: "uri /api/authz/forward-auth",
            },
            |_, call, draft| call.set(&mut draft.uri, template(call.one()?)?),
        ),
        Item::Supported(
            Entry {
                name: "copy_headers",
                syntax: "copy_headers [FIELD[>NAME]…] [{ FIELD[>NAME] … }]",
                default: "",
                about: "Header fields that are copied from the response to the request, under the same or another \
                    name. Values that the client sent in them are removed. May be given several times.",
                differs: "",
                example: "copy_headers Remote-User Remote-Email>X-Email",
            },
            copy_headers,
        ),
    ],
};

fn copy_headers(_: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let lines = call.block.unwrap_or_default();
    if call.arguments.is_empty() && lines.is_empty() {
        return Err(call.error(
            ErrorKind::Arguments,
            "`copy_headers` takes fields on its line or in its block".into(),
            format!("write `{}`", call.entry.syntax),
        ));
    }
    for word in call.arguments {
        draft.copy_headers.push(copy(word)?);
    }
    for line in lines {
        if line.block.is_some() || !line.arguments.is_empty() {
            return Err(Error::new(
                ErrorKind::Arguments,
                &line.name.position,
                format!("`{}` stands alone on its line", line.name.text),
                "write `FIELD`, or `FIELD>NAME` without spaces",
            ));
        }
        draft.copy_headers.push(copy(&line.name)?);
    }
    Ok(())
}

fn copy(word: &Word) -> Result<CopiedHeader, Error> {
    let (from, to) = word
        .text
        .split_once('>')
        .unwrap_or((&word.text, &word.text));
    Ok(CopiedHeader {
        from: header_name(word, from)?,
        to: header_name(word, to)?,
    })
}

pub(crate) fn read(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let own = |name: &str| FORWARD_AUTH.items.iter().any(|item| item.name() == name);
    let mut draft = Draft::default();
    let block = call.block.unwrap_or_default().iter();
    let statements = block.filter(|statement| own(&statement.name.text));
    cx.read(&FORWARD_AUTH, statements, &mut draft);
    let errors = cx.errors.len();
    let mut proxy = proxy::read_block(cx, call, scope, rest, |name| !own(name))?;
    let Some(uri) = draft.uri else {
        if cx.errors.len() > errors {
            return Ok(());
        }
        return Err(call.error(
            ErrorKind::Arguments,
            "`forward_auth` has no `uri`".into(),
            "write for example `uri /api/authz/forward-auth` in its block",
        ));
    };
    if !proxy.intercept.rules.is_empty() {
        return Err(call.error(
            ErrorKind::Conflict,
            "`forward_auth` sends refusals to the client unchanged".into(),
            "remove `handle_response` and `replace_status`",
        ));
    }
    let forwarded = |name: &str, placeholder| {
        let parts = vec![Part::Placeholder(placeholder)];
        HeaderChange::Set(name.to_owned(), Template { parts })
    };
    let forwarded = [
        forwarded("X-Forwarded-Method", Placeholder::Method),
        forwarded("X-Forwarded-Uri", Placeholder::Uri),
    ];
    proxy.header_up.splice(0..0, forwarded);
    proxy.method = Some(Template::text("GET"));
    proxy.rewrite = Some(uri);
    let auth = ForwardAuth {
        proxy,
        copy_headers: draft.copy_headers,
    };
    scope.push(key, Handler::ForwardAuth(Box::new(auth)));
    Ok(())
}
