//! `Redirect` and `RedirectMatch`.

use crate::directive::Directive;
use crate::output::{Lines, MatcherNames, word};
use crate::pattern::rust_regex;

/// `Redirect` and its kin; `None`: a path is missing.
pub(super) fn redirect(own: &Directive, names: &mut MatcherNames) -> Option<Lines> {
    let name = own.name.to_ascii_lowercase();
    let (code, rest) = match own.argument(0) {
        _ if name == "redirectpermanent" => (301, &own.arguments[..]),
        "seeother" => (303, &own.arguments[1..]),
        "gone" => (410, &own.arguments[1..]),
        _ => code_and_rest(own),
    };
    let path = rest.first()?.trim_end_matches('/');
    if path.is_empty() {
        return Some(vec![match rest.get(1) {
            Some(to) => format!("redir * {}{{uri}} {code}", word(to.trim_end_matches('/'))),
            None => format!("error {code}"),
        }]);
    }
    let name = names.next("redirect");
    let to = rest.get(1).map(|to| to.trim_end_matches('/'));
    // The location of the path itself must not be empty if the target is `/`.
    let (slash, more) = match to {
        Some("") => ("/", "(?:/(.*)|$)"),
        _ => ("", "(/.*|$)"),
    };
    let regex = format!("^{}{more}", regex_escape(path));
    let to = to.map(|to| format!("{to}{slash}{{re.{name}.1}}{{?query}}"));
    Some(lines(&name, &regex, code, to.as_deref()))
}

/// `RedirectMatch`; the error is the reason for a note.
pub(super) fn redirect_match(
    own: &Directive,
    names: &mut MatcherNames,
) -> Result<Lines, &'static str> {
    let (code, rest) = code_and_rest(own);
    let name = names.next("redirect");
    let Some(regex) = rest.first().and_then(|regex| rust_regex(regex)) else {
        return Err("write it with a matcher");
    };
    let to = rest.get(1).map(|to| {
        let to = (0..=9).fold(to.clone(), |to, n| {
            to.replace(&format!("${n}"), &format!("{{re.{name}.{n}}}"))
        });
        format!("{to}{{?query}}")
    });
    Ok(lines(&name, &regex, code, to.as_deref()))
}

/// The status, and the arguments behind it.
fn code_and_rest(own: &Directive) -> (u16, &[String]) {
    match own.argument(0) {
        "permanent" => (301, &own.arguments[1..]),
        "temp" => (302, &own.arguments[1..]),
        text => match text.parse() {
            Ok(code) => (code, &own.arguments[1..]),
            Err(_) => (302, &own.arguments[..]),
        },
    }
}

/// A redirect to `to`, or an error without it, for paths that match `regex`.
fn lines(name: &str, regex: &str, code: u16, to: Option<&str>) -> Lines {
    let matcher = format!("@{name} path_regexp {name} {}", word(regex));
    let response = match to {
        Some(to) => format!("redir @{name} {} {code}", word(to)),
        None => format!("error @{name} {code}"),
    };
    vec![matcher, response]
}

fn regex_escape(text: &str) -> String {
    let mut result = String::new();
    for c in text.chars() {
        if ".+*?()|[]{}^$\\".contains(c) {
            result.push('\\');
        }
        result.push(c);
    }
    result
}
