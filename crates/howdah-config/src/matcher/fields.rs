//! Header fields in matchers, and values of header fields.

use crate::error::{Error, ErrorKind};
use crate::model::{Part, Template};
use crate::syntax::tree::Word;
use crate::table::template::{EvaluationTime, literal, template_at};
use crate::table::value::header_name;
use crate::table::{Call, Entry, bad_value};

/// A value that cannot contain a line end, with which it could start another field.
pub(crate) fn header_value(word: &Word) -> Result<Template, Error> {
    header_value_at(word, EvaluationTime::Request)
}

/// [`header_value`] of a header that is written at this time.
pub(crate) fn header_value_at(word: &Word, time: EvaluationTime) -> Result<Template, Error> {
    let value = template_at(word, time)?;
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

/// The arguments of a matcher of header fields: `NAME VALUE`, or `!NAME` for a missing field. `any` is the value for
/// `NAME` alone, if that is allowed.
fn field_and_value(
    call: &Call<'_>,
    any: Option<String>,
) -> Result<(String, Option<String>), Error> {
    match call.arguments(1, 2)? {
        [word, value] if !word.text.starts_with('!') => Ok((
            header_name(word, &word.text)?,
            Some(literal(value, "a header matcher")?),
        )),
        [word] => match (word.text.strip_prefix('!'), any) {
            (Some(name), _) => Ok((header_name(word, name)?, None)),
            (None, Some(any)) => Ok((header_name(word, &word.text)?, Some(any))),
            (None, None) => Err(call.error(
                ErrorKind::Arguments,
                format!("`header {}` needs a value", word.text),
                "write `*` for any value, or `!NAME` for no such field",
            )),
        },
        _ => Err(call.error(
            ErrorKind::Arguments,
            "`header !NAME` takes no value".into(),
            "it matches what does not have the field",
        )),
    }
}

/// The fields of a matcher, each with the values of which one must match.
pub(crate) type Fields = Vec<(String, Vec<Option<String>>)>;

/// The row of a header matcher.
pub(crate) const fn header_entry(about: &'static str, example: &'static str) -> Entry {
    Entry {
        name: "header",
        syntax: "header NAME VALUE  or  header !NAME",
        default: "",
        about,
        differs: "",
        example,
    }
}

/// Adds the field and value of a header matcher; `any` as for [`field_and_value`].
pub(crate) fn add_header(
    call: &Call<'_>,
    fields: &mut Fields,
    any: Option<&str>,
) -> Result<(), Error> {
    let (name, value) = field_and_value(call, any.map(str::to_owned))?;
    add_value(fields, name, value);
    Ok(())
}

/// Adds a value to those of its field.
fn add_value(fields: &mut Fields, name: String, value: Option<String>) {
    let known = fields
        .iter_mut()
        .find(|(other, _)| other.eq_ignore_ascii_case(&name));
    match known {
        Some((_, values)) => values.push(value),
        None => fields.push((name, vec![value])),
    }
}
