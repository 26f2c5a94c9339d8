//! `header`.

use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::model::{Handler, HeaderChange, Part, Template};
use crate::table::{Call, Context, Item, Table, bad_value, unsupported};
use crate::template::template;
use crate::tree::Word;
use crate::value::header_name;

/// Names of Caddy's in the block of `header` that are no fields.
pub(crate) const HEADER: Table<Vec<HeaderChange>> = Table {
    kind: "subdirective of `header`",
    items: &[
        Item::Unsupported("defer", "changes are always made when the header is sent"),
        Item::Unsupported("match", "use a matcher of the request: `header @name …`"),
    ],
};

pub(crate) fn read(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let mut changes = Vec::new();
    match (rest.split_first(), call.block) {
        (Some((field, values)), None) => changes.push(change(field, values)?),
        (None, Some(block)) => {
            for statement in block {
                let result = if HEADER
                    .items
                    .iter()
                    .any(|item| item.name() == statement.name.text)
                {
                    HEADER.find(&statement.name).map(drop)
                } else if statement.block.is_some() {
                    Err(Error::new(
                        ErrorKind::Arguments,
                        &statement.name.position,
                        format!("the header field `{}` takes no block", statement.name.text),
                        "",
                    ))
                } else {
                    change(&statement.name, &statement.arguments).map(|change| changes.push(change))
                };
                cx.keep(result);
            }
        }
        (Some(_), Some(_)) => {
            return Err(call.error(
                ErrorKind::Conflict,
                "`header` has fields on its line and in its block".into(),
                "put all of them in the block",
            ));
        }
        (None, None) => {
            return Err(call.error(
                ErrorKind::Arguments,
                "`header` needs a field".into(),
                format!("write `{}`", call.entry.syntax),
            ));
        }
    }
    scope.push(key, Handler::Header(changes));
    Ok(())
}

fn change(field: &Word, values: &[Word]) -> Result<HeaderChange, Error> {
    let text = field.text.as_str();
    let arguments = |message: String, hint: &str| {
        Error::new(ErrorKind::Arguments, &field.position, message, hint)
    };
    if text.starts_with('>') {
        return Err(unsupported(field, "write the name without `>`"));
    }
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
        if name.contains('*') {
            return Err(unsupported(field, "name each field to remove"));
        }
        return Ok(HeaderChange::Remove(header_name(field, name)?));
    }
    let name = header_name(field, name)?;
    match (sign, values) {
        (Some('+'), [value]) => Ok(HeaderChange::Add(name, header_value(value)?)),
        (Some('?'), [value]) => Ok(HeaderChange::Default(name, header_value(value)?)),
        (None, [value]) => Ok(HeaderChange::Set(name, header_value(value)?)),
        (None, [find, replace]) => {
            if let Err(error) = regex::Regex::new(&find.text) {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default();
                return Err(bad_value(
                    &find.position,
                    format!(
                        "`{}` is not a regular expression: {}",
                        find.text,
                        reason.trim()
                    ),
                    "",
                ));
            }
            Ok(HeaderChange::Replace(
                name,
                find.text.clone(),
                header_value(replace)?,
            ))
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

/// A value that cannot end its line: that would let it start another field.
pub(super) fn header_value(word: &Word) -> Result<Template, Error> {
    let value = template(word)?;
    let control = |char: char| char.is_control() && char != '\t';
    let bad = value.parts.iter().any(|part| match part {
        Part::Text(text) => text.contains(control),
        Part::Placeholder(_) => false,
    });
    if bad {
        return Err(bad_value(
            &word.position,
            "the value of a header field has a line end or another control character".into(),
            "write it on one line",
        ));
    }
    Ok(value)
}
