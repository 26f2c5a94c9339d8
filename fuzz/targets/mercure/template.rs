//! Expands URI templates (RFC 6570) with simple values, up to level 4 without lists.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Expands the template. Its variables get the values from left to right. A variable is unset if it
/// has no value or the value `~`. Returns `None` if the text is not a template, or if it is larger
/// than templates in practice.
pub(crate) fn expand(template: &str, values: &[&str]) -> Option<String> {
    if template.len() > 256 || !template.contains('{') {
        return None;
    }
    let mut values = values.iter();
    let mut expanded = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (expression, behind) = after.split_once('}')?;
        if before.contains('}') || expression.contains('{') {
            return None;
        }
        expanded.push_str(before);
        expression_of(&mut expanded, expression, &mut values)?;
        rest = behind;
    }
    expanded.push_str(rest);
    (!rest.contains('}')).then_some(expanded)
}

fn expression_of<'v>(
    out: &mut String,
    text: &str,
    values: &mut impl Iterator<Item = &'v &'v str>,
) -> Option<()> {
    let operator = text
        .chars()
        .next()
        .filter(|first| "+#./;?&".contains(*first));
    let names = &text[operator.map_or(0, char::len_utf8)..];
    let (first, between) = match operator {
        None | Some('+') => ("", ","),
        Some('#') => ("#", ","),
        Some('.') => (".", "."),
        Some('/') => ("/", "/"),
        Some(';') => (";", ";"),
        Some('?') => ("?", "&"),
        Some(_) => ("&", "&"),
    };
    let mut parts = Vec::new();
    for name in names.split(',') {
        let name = name.strip_suffix('*').unwrap_or(name);
        let (name, length) = match name.split_once(':') {
            Some((name, length)) => (name, Some(length.parse::<u16>().ok()?)),
            None => (name, None),
        };
        let valid = |char: char| char.is_ascii_alphanumeric() || "_.%".contains(char);
        if name.is_empty() || !name.chars().all(valid) {
            return None;
        }
        let Some(value) = values.next().filter(|value| **value != "~") else {
            continue;
        };
        let value: String = match length {
            Some(length) => value.chars().take(length.into()).collect(),
            None => (*value).to_owned(),
        };
        let value = utf8_percent_encode(&value, UNRESERVED).to_string();
        parts.push(match operator {
            Some(';') if value.is_empty() => name.to_owned(),
            Some(';' | '?' | '&') => format!("{name}={value}"),
            _ => value,
        });
    }
    if !parts.is_empty() {
        out.push_str(first);
        out.push_str(&parts.join(between));
    }
    Some(())
}
