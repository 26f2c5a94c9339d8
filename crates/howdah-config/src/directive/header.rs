//! `header`.

use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::matcher::header_value_at;
use crate::model::{Handler, HeaderChange};
use crate::syntax::tree::Word;
use crate::table::template::{EvaluationTime, pattern};
use crate::table::value::header_name;
use crate::table::{Call, Context, Entry, Item, Table, bad_value};

/// The changes of one `header`.
#[derive(Default)]
pub(crate) struct Changes {
    own: Vec<HeaderChange>,
    /// Changes with `?`, which depend on the result of the others.
    defaults: Vec<HeaderChange>,
    deferred: bool,
}

impl Changes {
    fn add(&mut self, field: &Word, values: &[Word]) -> Result<(), Error> {
        let change = change(field, values, EvaluationTime::Response)?;
        self.deferred |= field.text.starts_with(['-', '>']);
        match change {
            HeaderChange::Default(..) => self.defaults.push(change),
            _ => self.own.push(change),
        }
        Ok(())
    }
}

/// Names in the block of `header` that are not fields, as in Caddy.
pub(crate) const HEADER: Table<Changes> = Table {
    kind: "subdirective of `header`",
    items: &[
        Item::Supported(
            Entry {
                name: "defer",
                syntax: "defer",
                default: "",
                about: "Applies the changes of the block after those of other `header` directives, as `-` and `>` do.",
                differs: "",
                example: "defer",
            },
            |_, call, changes| {
                call.arguments(0, 0)?;
                changes.deferred = true;
                Ok(())
            },
        ),
        Item::Unsupported("match", "use a matcher of the request: `header @name …`"),
    ],
};

pub(crate) fn read(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let mut changes = Changes::default();
    match (rest.split_first(), call.block) {
        (Some((field, values)), None) => changes.add(field, values)?,
        (None, Some(block)) => {
            for statement in block {
                let name = statement.name.text.as_str();
                if HEADER.items.iter().any(|item| item.name() == name) {
                    cx.read(&HEADER, std::slice::from_ref(statement), &mut changes);
                    continue;
                }
                let result = if statement.block.is_some() {
                    Err(Error::new(
                        ErrorKind::Arguments,
                        &statement.name.position,
                        format!("the header field `{name}` takes no block"),
                        "",
                    ))
                } else {
                    changes.add(&statement.name, &statement.arguments)
                };
                cx.record(result);
            }
        }
        (Some(_), Some(_)) => {
            return Err(call.error(
                ErrorKind::Conflict,
                "`header` has fields on its line and in its block".into(),
                "put all of them in the block",
            ));
        }
        (None, None) => return Err(no_field(call)),
    }
    HeaderChange::sort(&mut changes.own);
    if !changes.own.is_empty() || changes.defaults.is_empty() {
        let handler = if changes.deferred {
            Handler::DeferredHeader(changes.own)
        } else {
            Handler::Header(changes.own)
        };
        scope.push(key.clone(), handler);
    }
    if !changes.defaults.is_empty() {
        scope.push(key, Handler::DeferredHeader(changes.defaults));
    }
    Ok(())
}

/// `request_header`.
pub(crate) fn request(_: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    call.no_block()?;
    let (key, rest) = scope.matcher(call.arguments)?;
    let (field, values) = rest.split_first().ok_or_else(|| no_field(call))?;
    scope.push(
        key,
        Handler::RequestHeader(vec![change(field, values, EvaluationTime::Request)?]),
    );
    Ok(())
}

fn no_field(call: &Call<'_>) -> Error {
    call.error(
        ErrorKind::Arguments,
        format!("`{}` needs a field", call.entry.name),
        format!("write `{}`", call.entry.syntax),
    )
}

/// `[+|-|?|>]NAME [VALUE | FIND REPLACE]`, of a header that is written at this time.
pub(super) fn change(
    field: &Word,
    values: &[Word],
    time: EvaluationTime,
) -> Result<HeaderChange, Error> {
    let text = field.text.as_str();
    let arguments = |message: String, hint: &str| {
        Error::new(ErrorKind::Arguments, &field.position, message, hint)
    };
    // `>` determines when it is applied.
    let text = text.strip_prefix('>').unwrap_or(text);
    let sign = text.chars().next().filter(|sign| "+-?".contains(*sign));
    let name = sign.map_or(text, |sign| &text[sign.len_utf8()..]);
    let name = name.strip_suffix(':').unwrap_or(name);
    if sign == Some('-') {
        if !values.is_empty() {
            return Err(arguments(
                format!("`{text}` takes no value"),
                "`-NAME` removes the field",
            ));
        }
        // `*` at the ends matches any text, although it is also a valid character of names.
        if name == "*" || name.trim_matches('*').contains('*') {
            return Err(bad_value(
                &field.position,
                format!("`{text}` names no fields to remove"),
                "put `*` at the start or the end of a name",
            ));
        }
        return Ok(HeaderChange::Remove(header_name(field, name)?));
    }
    let name = header_name(field, name)?;
    match (sign, values) {
        (Some('+'), [value]) => Ok(HeaderChange::Add(name, header_value_at(value, time)?)),
        (Some('?'), [value]) => Ok(HeaderChange::Default(name, header_value_at(value, time)?)),
        (None, [value]) => Ok(HeaderChange::Set(name, header_value_at(value, time)?)),
        (None, [find, replace]) => {
            let pattern = pattern(find);
            if let Some(text) = pattern.as_text() {
                crate::matcher::check_regexp(find, text)?;
            }
            let replace = header_value_at(replace, time)?;
            Ok(HeaderChange::Replace(name, pattern, replace))
        }
        (_, []) => Err(arguments(
            format!("the header field `{text}` has no value"),
            &format!("write `-{name}` to remove it, or `\"\"` for an empty value"),
        )),
        _ => Err(arguments(
            format!("the header field `{text}` has too many values"),
            "put quotes around a value with spaces",
        )),
    }
}
