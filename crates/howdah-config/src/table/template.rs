//! Text with placeholders.

use crate::error::{Error, ErrorKind};
use crate::model::{Part, Placeholder, Template};
use crate::syntax::contents;
use crate::syntax::tree::Word;
use crate::table::placeholder::{Constructor, PLACEHOLDERS, UNSUPPORTED};
use crate::table::{bad_value, nearest};

/// When a text is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvaluationTime {
    /// Before the response.
    Request,
    /// After the response has arrived: the costs of the request are known.
    Response,
}

/// Splits a word at its placeholders. Braces around text that is not a valid name (JSON, CSS) are
/// literal, as are `\{` and `\}`.
pub(crate) fn template(word: &Word) -> Result<Template, Error> {
    template_at(word, EvaluationTime::Request)
}

/// [`template`] for a text that is evaluated at this time.
pub(crate) fn template_at(word: &Word, time: EvaluationTime) -> Result<Template, Error> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = word.text.as_str();
    while let Some(at) = rest.find(['{', '\\']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix('\\') {
            if after.starts_with(['{', '}']) {
                text.push_str(&after[..1]);
                rest = &after[1..];
            } else {
                text.push('\\');
                rest = after;
            }
            continue;
        }
        if let Some(end) = rest.find('}').filter(|end| looks_like_name(&rest[1..*end])) {
            let name = &rest[1..end];
            rest = &rest[end + 1..];
            if let Some(path) = contents::path_of(name) {
                // Braces in the file are literal.
                text.push_str(contents::of(word, path)?);
                continue;
            }
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            let placeholder = placeholder(word, name)?;
            if time == EvaluationTime::Request && matches!(placeholder, Placeholder::Figure(_)) {
                return Err(too_early(word, name));
            }
            parts.push(Part::Placeholder(placeholder));
        } else {
            text.push('{');
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(Template { parts })
}

/// A regular expression with placeholders. Braces around anything else, such as `a{2}` and `\p{L}`, belong to it.
pub(crate) fn pattern(word: &Word) -> Template {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = word.text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let inner = after.split_once('}');
        let found = inner.and_then(|(name, after)| Some((find(name)?, after)));
        if let Some((placeholder, after)) = found.filter(|_| !before.ends_with('\\')) {
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Placeholder(placeholder));
            rest = after;
        } else {
            text.push('{');
            rest = after;
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Template { parts }
}

fn too_early(word: &Word, name: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        &word.position,
        format!("the placeholder `{{{name}}}` has no value before the response"),
        "use it in `header`, `header_down` or `log_append`",
    )
}

/// A word that must be the same for all requests.
pub(crate) fn literal(word: &Word, what: &str) -> Result<String, Error> {
    let template = template(word)?;
    template.as_text().map(str::to_owned).ok_or_else(|| {
        bad_value(
            &word.position,
            format!("{what} cannot contain a placeholder: `{}`", word.text),
            "write `{$NAME}` for an environment variable, which is read when the server starts",
        )
    })
}

/// Whether a name is a built-in placeholder.
pub(crate) fn is_placeholder(name: &str) -> bool {
    find(name).is_some() || is_unsupported(name)
}

fn looks_like_name(text: &str) -> bool {
    if contents::path_of(text).is_some() || is_range(text) {
        return true;
    }
    let text = text.strip_prefix(['?', '%']).unwrap_or(text);
    text.starts_with(|char: char| char.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-?[]".contains(&byte))
}

fn find(name: &str) -> Option<Placeholder> {
    let known = PLACEHOLDERS.iter();
    let mut names = known.flat_map(|known| known.names.iter().map(move |name| (known, *name)));
    names.find_map(|(known, candidate)| match known.make {
        Constructor::Plain(make) => (candidate == name).then(make),
        Constructor::With(make) => name.strip_prefix(candidate).and_then(make),
    })
}

/// Caddy's `{http.request.remote.host/24}`: a network in place of an address.
fn is_range(name: &str) -> bool {
    name.split_once('/').is_some_and(|(base, bits)| {
        let digits = |byte: u8| byte.is_ascii_digit() || byte == b',';
        find(base).is_some() && !bits.is_empty() && bits.bytes().all(digits)
    })
}

fn is_unsupported(name: &str) -> bool {
    let matches = |other: &str| other == name || (other.ends_with('.') && name.starts_with(other));
    is_range(name) || UNSUPPORTED.iter().any(|other| matches(other))
}

/// What to write instead.
fn instead_of(name: &str) -> &'static str {
    if name.contains(".upstream.") {
        "use `{upstream_hostport}`, the address of the upstream"
    } else if name.starts_with("time.now") {
        "use `{time.now.unix}`, `{time.now.http}` or `{time.now.common_log}`"
    } else {
        ""
    }
}

fn placeholder(word: &Word, name: &str) -> Result<Placeholder, Error> {
    if let Some(found) = find(name) {
        return Ok(found);
    }
    let known = PLACEHOLDERS.iter();
    if is_unsupported(name) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            &word.position,
            format!("the placeholder `{{{name}}}` is not supported in this version"),
            instead_of(name),
        ));
    }
    let near = nearest(name, known.flat_map(|known| known.names.iter().copied()));
    let hint = match near {
        Some(near) if near.ends_with("path.") => {
            format!("write `{{{near}0}}` for the first element of the path")
        }
        Some(near) if near.ends_with('.') => format!("did you mean `{{{near}NAME}}`?"),
        Some(near) => format!("did you mean `{{{near}}}`?"),
        None => format!("write `\\{{{name}\\}}` for the text itself"),
    };
    let message = format!("unknown placeholder `{{{name}}}`");
    Err(Error::new(
        ErrorKind::UnknownName,
        &word.position,
        message,
        hint,
    ))
}
