//! Topic selectors: a topic itself, a URI template (RFC 6570) that matches it, or `*`.

use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};

/// Maximum length of a template; longer selectors are only compared.
const TEMPLATE_MAX: usize = 2_048;
/// Bytes of memory of a template's matcher.
const MATCHER_MAX: usize = 1 << 20;

/// A selector, ready to match.
#[derive(Debug, Clone)]
pub(crate) struct Selector {
    text: String,
    template: Option<Regex>,
}

impl Selector {
    pub(crate) fn new(text: &str) -> Self {
        let template = text
            .contains('{')
            .then(|| template(text))
            .flatten()
            .and_then(|pattern| {
                RegexBuilder::new(&pattern)
                    .size_limit(MATCHER_MAX)
                    .build()
                    .ok()
            });
        Self {
            text: text.to_owned(),
            template,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn matches(&self, topic: &str) -> bool {
        self.text == "*"
            || self.text == topic
            || self
                .template
                .as_ref()
                .is_some_and(|template| template.is_match(topic))
    }
}

/// Whether one of the selectors is for one of the topics.
pub(crate) fn any(selectors: &[Selector], topics: &[String]) -> bool {
    topics
        .iter()
        .any(|topic| selectors.iter().any(|selector| selector.matches(topic)))
}

/// Whether each of the topics has a selector.
pub(crate) fn all(selectors: &[Selector], topics: &[String]) -> bool {
    topics
        .iter()
        .all(|topic| selectors.iter().any(|selector| selector.matches(topic)))
}

/// Characters of a value: unreserved ones and escapes, and the comma between several values.
const VALUE: &str = r"(?:[A-Za-z0-9._~,-]|%[0-9A-Fa-f]{2})*";
/// Unreserved and reserved characters.
const RESERVED: &str = r"(?:[A-Za-z0-9._~,:/?#\[\]@!$&'()*+;=-]|%[0-9A-Fa-f]{2})*";

/// Characters of a name.
const NAME: &str = "[A-Za-z0-9_.%~-]+";

/// A regular expression for everything that a template can expand to; `None` if it is not a
/// template.
fn template(text: &str) -> Option<String> {
    if text.len() > TEMPLATE_MAX {
        return None;
    }
    let mut pattern = String::from("^");
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, after) = (&rest[..open], &rest[open + 1..]);
        if before.contains('}') {
            return None;
        }
        pattern.push_str(&regex::escape(before));
        let close = after.find('}')?;
        expression(&mut pattern, &after[..close])?;
        rest = &after[close + 1..];
    }
    if rest.contains('}') {
        return None;
    }
    pattern.push_str(&regex::escape(rest));
    pattern.push('$');
    Some(pattern)
}

fn expression(pattern: &mut String, text: &str) -> Option<()> {
    let (operator, names) = match text.chars().next()? {
        operator @ ('+' | '#' | '.' | '/' | ';' | '?' | '&') => (Some(operator), &text[1..]),
        _ => (None, text),
    };
    let mut variables = Vec::new();
    for name in names.split(',') {
        let (name, exploded) = match name.strip_suffix('*') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let name = match name.split_once(':') {
            Some((name, length)) if length.parse::<u16>().is_ok() => name,
            Some(_) => return None,
            None => name,
        };
        let valid = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '%');
        if name.is_empty() || !name.chars().all(valid) {
            return None;
        }
        // An exploded map has its own names.
        variables.push(if exploded {
            NAME.to_owned()
        } else {
            regex::escape(name)
        });
    }
    let (first, between) = match operator {
        None | Some('+') => ("", ","),
        Some('#') => ("#", ","),
        Some('.') => (r"\.", r"\."),
        Some('/') => ("/", "/"),
        Some(';') => (";", ";"),
        Some('?') => (r"\?", "&"),
        Some(_) => ("&", "&"),
    };
    // A variable that is not set adds nothing, not even its separator. Writing to a `String` cannot fail.
    let _ = match operator {
        Some(';' | '?' | '&') => {
            // Any of them may be the first that is set. An exploded list or map has several.
            let any = variables.join("|");
            let value = format!("(?:={VALUE})?");
            write!(
                pattern,
                "(?:{first}(?:{any}){value}(?:{between}{NAME}{value})*)?"
            )
        }
        Some('.' | '/') => write!(pattern, "(?:{first}{VALUE}(?:{between}{VALUE})*)?"),
        Some(_) => write!(pattern, "(?:{first}{RESERVED})?"),
        None => write!(pattern, "{VALUE}"),
    };
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_topics() {
        let table = [
            ("*", "anything", true),
            ("https://a/b", "https://a/b", true),
            ("https://a/b", "https://a/b/c", false),
            ("https://a/books/{id}", "https://a/books/1", true),
            ("https://a/books/{id}", "https://a/books/a%20b", true),
            ("https://a/books/{id}", "https://a/books/1/2", false),
            ("https://a/books/{id}", "https://a/books/1?x", false),
            (
                "https://a/books/{id}.jsonld",
                "https://a/books/1.jsonld",
                true,
            ),
            ("https://a/{+path}", "https://a/x/y?z=1", true),
            ("https://a{/one,two}", "https://a/x/y", true),
            ("https://a{/one}", "https://a", true),
            ("https://a/b{?q,lang}", "https://a/b?q=1&lang=en", true),
            ("https://a/b{?q,lang}", "https://a/b?q=1", true),
            ("https://a/b{?q,lang}", "https://a/b?lang=en", true),
            ("https://a/b{?q}", "https://a/b?other=1", false),
            ("https://a/b{?q*}", "https://a/b?other=1", true),
            ("https://a/b?x=1{&y}", "https://a/b?x=1&y=2", true),
            ("https://a/b{#part}", "https://a/b#x", true),
            ("https://a/b{;m}", "https://a/b;m=1", true),
            ("https://a/{id:3}", "https://a/abc", true),
            // Equal texts match whatever they are; a text that is not a template is literal.
            ("https://a/{id}", "https://a/{id}", true),
            ("https://a/{", "https://a/{", true),
            ("https://a/{", "https://a/x", false),
            ("https://a/{}", "https://a/x", false),
            ("https://a/}{x}", "https://a/}x", false),
            ("https://a.b/{x}", "https://aXb/1", false),
        ];
        for (selector, topic, expected) in table {
            assert_eq!(
                Selector::new(selector).matches(topic),
                expected,
                "{selector} {topic}"
            );
        }
    }

    #[test]
    fn a_huge_template_costs_nothing() {
        let huge = format!("https://a/{}", "{x}".repeat(10_000));
        assert!(Selector::new(&huge).template.is_none());
    }
}
