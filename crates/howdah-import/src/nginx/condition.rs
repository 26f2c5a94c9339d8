//! `if`, `return` and `rewrite`.

use std::collections::BTreeSet;

use super::refusal;
use super::settings::{Context, header};
use super::value::{Constants, header_name, placeholders};
use crate::directive::Directive;
use crate::output::{Lines, block, word};
use crate::pattern::{PathPattern, rust_regex};

/// What a `return` does.
pub(super) fn convert_return(directive: &Directive, matcher: &str, cx: &mut Context<'_>) -> String {
    let (first, second) = (directive.argument(0), directive.argument(1));
    // A word with one of these at its start would be a matcher.
    let matcher = if matcher.is_empty()
        && directive
            .arguments
            .iter()
            .any(|text| text.starts_with(['/', '@', '*']))
    {
        "*"
    } else {
        matcher
    };
    let with = |head: &str, rest: &str| {
        [head, matcher, rest]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let (code, text) = match first.parse::<u16>() {
        Ok(code) => (code, second),
        Err(_) => (302, first),
    };
    let text = match placeholders(text, cx.constants) {
        Ok(text) => text,
        Err(unknown) => return cx.note(directive, &format!("{unknown} has no placeholder")),
    };
    match code {
        444 => with("abort", ""),
        301 | 302 | 303 | 307 | 308 => with("redir", &format!("{} {code}", word(&text))),
        400.. if text.is_empty() => with("error", &code.to_string()),
        _ if text.is_empty() => with("respond", &code.to_string()),
        _ => with("respond", &format!("{} {code}", word(&text))),
    }
}

/// A `rewrite`, for requests that also match `more`.
pub(super) fn rewrite(directive: &Directive, more: &[String], cx: &mut Context<'_>) -> Lines {
    let (regex, to, flag) = (
        directive.argument(0),
        directive.argument(1),
        directive.argument(2),
    );
    let takes_all =
        ["^", ".*", "^.*$", "^(.*)$", "(.*)", "^/"].contains(&regex) && !to.contains("$1");
    let name = cx.names.next("rewrite");
    let Some(pattern) = PathPattern::of(&name, regex, false) else {
        let why = "this regular expression has no counterpart";
        return vec![cx.note(directive, why)];
    };
    let to = match placeholders(to, cx.constants) {
        Ok(to) => named_groups(&to, &name),
        Err(unknown) => return vec![cx.note(directive, &format!("{unknown} has no placeholder"))],
    };
    let to = with_query(&to);
    let of = if takes_all && more.is_empty() {
        String::new()
    } else {
        format!("@{name} ")
    };
    let mut lines = if of.is_empty() {
        Lines::new()
    } else if takes_all {
        block(&format!("@{name}"), more.to_vec())
    } else if more.is_empty() {
        pattern.define(&name)
    } else {
        let mut all = more.to_vec();
        all.extend(pattern.lines);
        block(&format!("@{name}"), all)
    };
    let code = match flag {
        "permanent" => Some(301),
        "redirect" => Some(302),
        _ if to.starts_with("http://")
            || to.starts_with("https://")
            || to.starts_with("{scheme}") =>
        {
            Some(302)
        }
        _ => None,
    };
    lines.push(if let Some(code) = code {
        let of = if of.is_empty() { "* " } else { &of };
        format!("redir {of}{} {code}", word(&to))
    } else {
        // The query stays unless the new one replaces it.
        let to = to.strip_suffix("{?query}").unwrap_or(&to);
        let of = if of.is_empty() { "* " } else { &of };
        format!("rewrite {of}{}", word(to))
    });
    lines
}

/// `{re.1}` of a matcher by its name: another expression may match in between.
fn named_groups(text: &str, name: &str) -> String {
    let mut text = text.to_owned();
    for digit in 1..=9 {
        text = text.replace(
            &format!("{{re.{digit}}}"),
            &format!("{{re.{name}.{digit}}}"),
        );
    }
    text
}

/// nginx adds the query of the request, unless there is a `?` at the end.
fn with_query(to: &str) -> String {
    if let Some(without) = to.strip_suffix('?') {
        return without.to_owned();
    }
    if to.contains("{query}") || to.contains("{?query}") || to.contains("{orig_uri}") {
        return to.to_owned();
    }
    if to.contains('?') {
        format!("{to}&{{query}}")
    } else {
        format!("{to}{{?query}}")
    }
}

/// An `if` of a server or location.
pub(super) fn condition(directive: &Directive, cx: &mut Context<'_>) -> Lines {
    let text = directive.arguments.join(" ");
    let text = text.trim();
    let text = text.strip_prefix('(').unwrap_or(text);
    let text = text.strip_suffix(')').unwrap_or(text).trim();
    let name = cx.names.next("if");
    let Some(matcher) = matcher(text, &name, cx.constants) else {
        return refusal::condition(directive, cx);
    };
    let mut lines = vec![format!("@{name} {matcher}")];
    let flags = cx.flags.clone();
    let known = |own: &Directive| match own.name.as_str() {
        "return" | "rewrite" | "break" | "add_header" | "access_log" => true,
        "set" => flags.contains(own.argument(0)),
        _ => false,
    };
    // The query of a request is passed on in any case.
    let is_query = |own: &Directive| {
        own.name == "set" && ["?$query_string", "?$args"].contains(&own.argument(1))
    };
    if directive.children().iter().all(is_query) {
        return Lines::new();
    }
    if !directive.children().iter().all(known) {
        return refusal::condition(directive, cx);
    }
    for own in directive.children() {
        match own.name.as_str() {
            "return" => {
                let line = convert_return(own, &format!("@{name}"), cx);
                lines.push(named_groups(&line, &name));
            }
            "rewrite" => {
                lines.remove(0);
                lines.extend(rewrite(own, std::slice::from_ref(&matcher), cx));
            }
            "access_log" if own.argument(0) == "off" => lines.push(format!("log_skip @{name}")),
            "set" => lines.push(set(own, &format!("@{name} "))),
            "add_header" => lines.push(header(own, &format!("@{name} "), cx)),
            "break" => {}
            _ => return refusal::condition(directive, cx),
        }
    }
    if lines.len() < 2 { Lines::new() } else { lines }
}

/// `set` of a flag.
fn set(own: &Directive, matcher: &str) -> String {
    let name = own.argument(0).trim_start_matches('$');
    format!("vars {matcher}{name} {}", word(own.argument(1)))
}

/// Variables that an `if` sets and that only conditions use: they become variables of the request. The lines set their
/// first values.
pub(super) fn flags(children: &[Directive], cx: &mut Context<'_>) -> Lines {
    let conditions = children.iter().filter(|own| own.name == "if");
    let assigned: BTreeSet<_> = conditions
        .flat_map(Directive::children)
        .filter(|own| own.name == "set")
        .map(|own| own.argument(0).to_owned())
        .collect();
    let mut lines = Lines::new();
    for variable in assigned {
        let values = assignments(children, &variable);
        let is_plain = |text: &&str| !text.contains(['$', '{', '}']);
        if !values.iter().all(is_plain) || is_used(children, &variable) {
            continue;
        }
        let first = children
            .iter()
            .find(|own| own.name == "set" && own.argument(0) == variable);
        let name = variable.trim_start_matches('$').to_owned();
        let value = first.map_or("", |own| own.argument(1));
        lines.push(format!("vars {name} {}", word(value)));
        cx.constants
            .insert(name.clone(), format!("{{vars.{name}}}"));
        cx.flags.insert(variable);
    }
    lines
}

/// The values that a variable is set to.
fn assignments<'a>(children: &'a [Directive], variable: &str) -> Vec<&'a str> {
    let mut values = Vec::new();
    for own in children {
        if own.name == "set" && own.argument(0) == variable {
            values.push(own.argument(1));
        }
        values.extend(assignments(own.children(), variable));
    }
    values
}

/// Whether anything but a condition uses a variable.
fn is_used(children: &[Directive], variable: &str) -> bool {
    children.iter().any(|own| {
        let is_known = matches!(own.name.as_str(), "if" | "set");
        !is_known && own.arguments.iter().any(|text| text.contains(variable))
            || is_used(own.children(), variable)
    })
}

/// The line of a matcher for this condition.
fn matcher(text: &str, name: &str, constants: &Constants) -> Option<String> {
    let mut words = text.splitn(3, char::is_whitespace);
    let (first, second, third) = (
        words.next()?,
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let third = third.trim().trim_matches(['"', '\'']);
    if ["-f", "!-f", "-e", "!-e", "-d", "!-d"].contains(&first) {
        return file_matcher(first, second);
    }
    let (not, operator) = match second {
        "=" | "~" | "~*" => ("", second),
        "!=" => ("not ", "="),
        "!~" => ("not ", "~"),
        "!~*" => ("not ", "~*"),
        // It is set, and not 0.
        "" if first == "$https" => return Some("protocol https".to_owned()),
        "" => {
            return Some(format!("not vars {} \"\" 0", value(first, constants)?));
        }
        _ => return None,
    };
    if operator == "=" {
        if first == "$ssl_client_verify" {
            // A certificate that is not valid ends the handshake.
            let not_given = match third {
                "SUCCESS" => not.is_empty(),
                "NONE" => !not.is_empty(),
                _ => return None,
            };
            let not = if not_given { "not " } else { "" };
            return Some(format!("{not}vars {{tls_client_fingerprint}} \"\""));
        }
        let rest = equality(first, third, constants)?;
        return Some(format!("{not}{rest}"));
    }
    let methods = third
        .trim_start_matches("^(")
        .trim_end_matches(['$'])
        .trim_end_matches(')');
    if first == "$request_method" && methods.chars().all(|c| c.is_ascii_uppercase() || c == '|') {
        return Some(format!("{not}method {}", methods.replace('|', " ")));
    }
    let flags = if operator == "~*" { "(?i)" } else { "" };
    let regex = word(&format!("{flags}{}", rust_regex(third)?));
    let rest = match first {
        "$uri" | "$document_uri" | "$fastcgi_script_name" => format!("path_regexp {name} {regex}"),
        _ => match first
            .strip_prefix("$http_")
            .filter(|field| *field != "host")
        {
            Some(field) => format!("header_regexp {name} {} {regex}", header_name(field)),
            None => format!("vars_regexp {name} {} {regex}", value(first, constants)?),
        },
    };
    Some(format!("{not}{rest}"))
}

/// `-f $request_filename`
fn file_matcher(operator: &str, file: &str) -> Option<String> {
    if file != "$request_filename" && file != "$document_root$uri" {
        return None;
    }
    let files = match operator.trim_start_matches('!') {
        "-f" => "{path}",
        "-d" => "{path}/",
        _ => "{path} {path}/",
    };
    let not = if operator.starts_with('!') {
        "not "
    } else {
        ""
    };
    Some(format!("{not}file {files}"))
}

/// A variable that has this value.
fn equality(variable: &str, text: &str, constants: &Constants) -> Option<String> {
    Some(match variable {
        "$scheme" => format!("protocol {text}"),
        "$https" if text == "on" => "protocol https".to_owned(),
        "$host" | "$http_host" => format!("host {text}"),
        "$request_method" => format!("method {text}"),
        "$remote_addr" => format!("remote_ip {text}"),
        _ => format!("vars {} {}", value(variable, constants)?, word(text)),
    })
}

/// A variable as a placeholder. `None`: it has the same value for all requests, or no counterpart.
fn value(variable: &str, constants: &Constants) -> Option<String> {
    let value = placeholders(variable, constants).ok()?;
    value.starts_with('{').then_some(value)
}
