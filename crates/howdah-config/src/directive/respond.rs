//! `respond` and `redir`.

use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::model::{Handler, Status, Template};
use crate::syntax::tree::Word;
use crate::table::template::template;
use crate::table::value::status;
use crate::table::{Call, Context, Entry, Item, Table};

/// The block of `respond` while it is read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    body: Option<Template>,
    close: bool,
}

/// Names of the block of `respond`.
pub(crate) const RESPOND: Table<Draft> = Table {
    kind: "subdirective of `respond`",
    items: &[
        Item::Supported(
            Entry {
                name: "body",
                syntax: "body TEXT",
                default: "",
                about: "The body, if it is not on the line of `respond`.",
                differs: "",
                example: "body \"not here\"",
            },
            |_, call, draft| call.set(&mut draft.body, template(call.one()?)?),
        ),
        Item::Supported(
            Entry {
                name: "close",
                syntax: "close",
                default: "",
                about: "Closes the connection after the response.",
                differs: "",
                example: "close",
            },
            |_, call, draft| {
                call.arguments(0, 0)?;
                draft.close = true;
                Ok(())
            },
        ),
    ],
};

pub(crate) fn read(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let mut draft = Draft::default();
    let is_code = |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let code = match rest {
        [code] if is_code(&code.text) => Status::Code(status(code, &code.text, 200..=599)?),
        [body] => {
            draft.body = Some(template(body)?);
            Status::Default
        }
        [body, code] => {
            draft.body = Some(template(body)?);
            status_or_placeholder(code, 200)?
        }
        [] if !call.arguments.is_empty() => {
            let first = &call.arguments[0].text;
            return Err(call.error(
                ErrorKind::Arguments,
                format!("`{first}` is the matcher, and there is nothing to respond"),
                format!("write `respond * {first}` to respond with that text"),
            ));
        }
        _ => {
            return Err(call.error(
                ErrorKind::Arguments,
                format!(
                    "`respond` takes a body and a status code, {} given",
                    rest.len()
                ),
                format!(
                    "write `{}`, with quotes around a body with spaces",
                    call.entry.syntax
                ),
            ));
        }
    };
    cx.read(&RESPOND, call.block.unwrap_or_default(), &mut draft);
    let Draft { body, close } = draft;
    scope.push(
        key,
        Handler::Respond {
            body: body.unwrap_or_default(),
            status: code,
            close,
        },
    );
    Ok(())
}

pub(crate) fn redir(_: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    call.no_block()?;
    let (key, rest) = scope.matcher(call.arguments)?;
    let (to, code) = match rest {
        [to] => (to, 302),
        [to, code] => (
            to,
            match code.text.as_str() {
                "permanent" => 301,
                "temporary" => 302,
                // As in Caddy, clients that read no HTML are not redirected.
                "html" => 200,
                "401" => 401,
                text => status(code, text, 300..=399)?,
            },
        ),
        [] if !call.arguments.is_empty() => {
            let first = &call.arguments[0].text;
            return Err(call.error(
                ErrorKind::Arguments,
                format!("`{first}` is the matcher, and there is nowhere to redirect to"),
                format!("write `redir * {first}` to redirect all requests there"),
            ));
        }
        _ => {
            return Err(call.error(
                ErrorKind::Arguments,
                format!(
                    "`redir` takes a target and a status code, {} given",
                    rest.len()
                ),
                format!("write `{}`", call.entry.syntax),
            ));
        }
    };
    if to.text.is_empty() {
        return Err(crate::table::bad_value(
            &to.position,
            "the target is empty".into(),
            "",
        ));
    }
    let handler = Handler::Redirect {
        to: crate::matcher::header_value(to)?,
        status: code,
    };
    scope.push(key, handler);
    Ok(())
}

/// A code of at least `least`, or a placeholder for one.
pub(super) fn status_or_placeholder(word: &Word, least: u16) -> Result<Status, Error> {
    if word.text.contains('{') {
        return template(word).map(Status::Text);
    }
    status(word, &word.text, least..=599).map(Status::Code)
}

/// `error [MATCHER] [MESSAGE] [CODE] [{ message TEXT }]`.
pub(crate) fn error(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let is_code = |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut message = None;
    let status = match rest {
        [] => Status::Default,
        [code] if is_code(&code.text) => Status::Code(status(code, &code.text, 400..=599)?),
        [text] => {
            message = Some(template(text)?);
            Status::Default
        }
        [text, code] => {
            message = Some(template(text)?);
            status_or_placeholder(code, 400)?
        }
        _ => {
            return Err(call.error(
                ErrorKind::Arguments,
                format!(
                    "`error` takes a message and a status code, {} given",
                    rest.len()
                ),
                format!("write `{}`", call.entry.syntax),
            ));
        }
    };
    cx.read(&ERROR, call.block.unwrap_or_default(), &mut message);
    let message = message.unwrap_or_default();
    scope.push(key, Handler::Error { message, status });
    Ok(())
}

/// Names of the block of `error`.
pub(crate) const ERROR: Table<Option<Template>> = Table {
    kind: "subdirective of `error`",
    items: &[Item::Supported(
        Entry {
            name: "message",
            syntax: "message TEXT",
            default: "",
            about: "`{err.message}`, if it is not on the line of `error`.",
            differs: "",
            example: "message \"not here\"",
        },
        |_, call, message| call.set(message, template(call.one()?)?),
    )],
};
