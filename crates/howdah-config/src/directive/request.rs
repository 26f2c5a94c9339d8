//! Directives that change the request: `vars`, `method`, `uri` and `request_body`.

use super::scope::Scope;
use super::uri_query;
use crate::error::{Error, ErrorKind};
use crate::matcher::check_regexp;
use crate::matcher::header_value;
use crate::model::{Handler, Template, UriChange};
use crate::syntax::tree::Word;
use crate::table::template::template;
use crate::table::value::{is_token, size};
use crate::table::{Call, Context, Entry, Item, Table, bad_value};

/// Names of the block of `request_body`.
pub(crate) const REQUEST_BODY: Table<Option<u64>> = Table {
    kind: "subdirective of `request_body`",
    items: &[
        Item::Supported(
            Entry {
                name: "max_size",
                syntax: "max_size SIZE",
                default: "`max_body_size` of the global option `servers`",
                about: "Maximum size of a request body; larger ones get a 413.",
                differs: "",
                example: "max_size 10MB",
            },
            |_, call, max_size| call.set(max_size, size(call)?),
        ),
        Item::Unsupported("set", "PHP gets the body that the client sent"),
    ],
};

pub(crate) fn vars(_: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let mut vars = Vec::new();
    match rest {
        [] => {}
        [name, value] => vars.push((name.text.clone(), template(value)?)),
        _ => {
            return Err(call.error(
                ErrorKind::Arguments,
                format!("`vars` takes a name and a value, {} given", rest.len()),
                format!(
                    "write `{}`, with quotes around a value with spaces",
                    call.entry.syntax
                ),
            ));
        }
    }
    for statement in call.block.unwrap_or_default() {
        let ([value], None) = (statement.arguments.as_slice(), &statement.block) else {
            return Err(Error::new(
                ErrorKind::Arguments,
                &statement.name.position,
                format!("`{}` needs exactly one value", statement.name.text),
                "write `NAME VALUE`, with quotes around a value with spaces",
            ));
        };
        vars.push((statement.name.text.clone(), template(value)?));
    }
    if vars.is_empty() {
        return Err(call.error(
            ErrorKind::Arguments,
            "`vars` sets nothing".into(),
            format!("write `{}`", call.entry.syntax),
        ));
    }
    scope.push(key, Handler::Vars(vars));
    Ok(())
}

pub(crate) fn method(_: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, word) = super::optional_matcher(call, scope)?;
    scope.push(key, Handler::Method(method_name(word)?));
    Ok(())
}

/// A method, or a placeholder for one.
pub(super) fn method_name(word: &Word) -> Result<Template, Error> {
    if !word.text.contains('{') && !is_token(&word.text) {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a method", word.text),
            "write for example `GET`",
        ));
    }
    template(word)
}

pub(crate) fn uri(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let wrong = |message: String| {
        call.error(
            ErrorKind::Arguments,
            message,
            format!("write `{}`", call.entry.syntax),
        )
    };
    let Some((operation, arguments)) = rest.split_first() else {
        return Err(wrong("`uri` needs an operation".into()));
    };
    if operation.text != "query" {
        call.no_block()?;
    }
    let change = match (operation.text.as_str(), arguments) {
        ("strip_prefix", [prefix]) => UriChange::StripPrefix(template(prefix)?),
        ("strip_suffix", [suffix]) => UriChange::StripSuffix(template(suffix)?),
        ("replace", [find, replace]) => replacement(find, replace, None)?,
        ("replace", [find, replace, limit]) => replacement(find, replace, Some(limit))?,
        ("path_regexp", [find, replace]) => {
            check_regexp(find, &find.text)?;
            UriChange::Regexp {
                find: find.text.clone(),
                replace: header_value(replace)?,
            }
        }
        ("query", _) => UriChange::Query(uri_query::changes(cx, call, arguments)?),
        ("strip_prefix" | "strip_suffix" | "replace" | "path_regexp", _) => {
            return Err(wrong(format!(
                "`uri {}` has {} arguments",
                operation.text,
                arguments.len()
            )));
        }
        _ => {
            return Err(bad_value(
                &operation.position,
                format!("`{}` is not an operation of `uri`", operation.text),
                "known are strip_prefix, strip_suffix, replace, path_regexp and query; a matcher starts with `/` or `@`",
            ));
        }
    };
    scope.push(key, Handler::Uri(change));
    Ok(())
}

/// `replace FIND REPLACE [LIMIT]`; a LIMIT of 0 means none.
fn replacement(find: &Word, replace: &Word, limit: Option<&Word>) -> Result<UriChange, Error> {
    if find.text.is_empty() {
        return Err(bad_value(
            &find.position,
            "the text to find is empty".into(),
            "",
        ));
    }
    let limit = match limit.map(|word| (word, word.text.parse::<usize>())) {
        None => None,
        Some((_, Ok(limit))) => Some(limit).filter(|limit| *limit > 0),
        Some((word, Err(_))) => {
            return Err(bad_value(
                &word.position,
                format!("`{}` is not a number", word.text),
                "the last argument is the maximum number of replacements",
            ));
        }
    };
    Ok(UriChange::Replace {
        find: template(find)?,
        replace: header_value(replace)?,
        limit,
    })
}

pub(crate) fn body(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    super::reject_extra(call, rest)?;
    let mut max_size = None;
    let errors = cx.errors.len();
    cx.read(&REQUEST_BODY, call.block()?, &mut max_size);
    match max_size {
        Some(max_size) => scope.push(key, Handler::RequestBody { max_size }),
        // Lines without effect have been reported.
        None if cx.errors.len() > errors || !call.block()?.is_empty() => {}
        None => {
            return Err(call.error(
                ErrorKind::Arguments,
                "`request_body` sets nothing".into(),
                "write `request_body { max_size SIZE }`",
            ));
        }
    }
    Ok(())
}
