//! Arguments of matchers: paths, hosts, regular expressions, protocols, ranges of addresses.

use crate::error::Error;
use crate::model::{Network, NetworkError, Protocol};
use crate::model::{Part, Placeholder, Template};
use crate::syntax::tree::Word;
use crate::table::template::{literal, template};
use crate::table::{bad_value, unsupported};

/// A path pattern. `index.php` becomes `/index.php`, as a `rewrite` to it does.
pub(crate) fn path(word: &Word) -> Result<String, Error> {
    let mut path = literal(word, "a path matcher")?;
    if path.is_empty() {
        return Err(bad_value(
            &word.position,
            "the path is empty and matches nothing".into(),
            "a path starts with `/`, or with `*` for its end: `*.php`",
        ));
    }
    if !path.starts_with(['/', '*']) {
        path.insert(0, '/');
    }
    if path.contains('%') {
        path = decoded(word, &path)?;
    }
    Ok(path)
}

/// A path pattern for paths whose slashes are merged.
pub(crate) fn merged_path(word: &Word) -> Result<String, Error> {
    let path = path(word)?;
    if path.contains("//") {
        return Err(never(word, "with their slashes merged", "write one slash"));
    }
    Ok(path)
}

/// Decodes a pattern like the paths with which it is compared.
fn decoded(word: &Word, path: &str) -> Result<String, Error> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        if after.first() == Some(&b'*') {
            return Err(never(word, "decoded", "write `*` in place of `%*`"));
        }
        let digits = after
            .split_at_checked(2)
            .and_then(|(digits, after)| Some((std::str::from_utf8(digits).ok()?, after)));
        // `from_str_radix` accepts a sign.
        let value = digits
            .filter(|(digits, _)| !digits.starts_with('+'))
            .and_then(|(digits, after)| Some((u8::from_str_radix(digits, 16).ok()?, after)));
        let Some((value, after)) = value else {
            return Err(bad_value(
                &word.position,
                format!("`{}` has a `%` without two hexadecimal digits", word.text),
                "write `%25` for the percent sign itself",
            ));
        };
        match value {
            b'/' => return Err(never(word, "decoded", "write `/` in place of `%2F`")),
            b'*' | b'?' | b'[' | b'\\' | 0 => {
                return Err(bad_value(
                    &word.position,
                    format!(
                        "`%{value:02X}` cannot be in a path pattern: `{}`",
                        word.text
                    ),
                    "use the matcher `path_regexp`, which the decoded path is compared with",
                ));
            }
            value => bytes.push(value),
        }
        rest = after;
    }
    Ok(howdah_cgi::text_of(&bytes).into_owned())
}

/// The error of a pattern that never matches.
fn never(word: &Word, how: &str, hint: &str) -> Error {
    bad_value(
        &word.position,
        format!("`{}` matches nothing: paths are compared {how}", word.text),
        hint,
    )
}

pub(super) fn host(word: &Word) -> Result<Template, Error> {
    let template = template(word)?;
    match template.as_text() {
        Some(text) => host_name(word, text).map(|name| Template::text(&name)),
        None => Ok(template),
    }
}

fn host_name(word: &Word, text: &str) -> Result<String, Error> {
    let host = text.to_ascii_lowercase();
    let name = host.strip_prefix("*.").unwrap_or(&host);
    if !host.is_ascii() {
        return Err(bad_value(
            &word.position,
            format!("the host `{}` is not ASCII", word.text),
            "write it as browsers send it, in Punycode: `xn--…`",
        ));
    }
    if name.is_empty() || name.contains(['*', '/', ' ']) || (name.contains(':') && !is_ipv6(name)) {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a host", word.text),
            "write a name without scheme and port, such as `example.com` or `*.example.com`",
        ));
    }
    Ok(host)
}

fn is_ipv6(host: &str) -> bool {
    host.parse::<std::net::Ipv6Addr>().is_ok()
}

/// Checks that the regular expression compiles.
pub(crate) fn check_regexp(word: &Word, pattern: &str) -> Result<(), Error> {
    let Err(error) = regex::Regex::new(pattern) else {
        return Ok(());
    };
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or_default();
    Err(bad_value(
        &word.position,
        format!("`{pattern}` is not a regular expression: {}", reason.trim()),
        "",
    ))
}

pub(super) fn protocol(word: &Word) -> Result<Protocol, Error> {
    let number = |text: &str| match text {
        "1" | "1.1" => Some((1, 1)),
        "1.0" => Some((1, 0)),
        "2" | "2.0" => Some((2, 0)),
        "3" | "3.0" => Some((3, 0)),
        _ => None,
    };
    let protocol = match word.text.as_str() {
        "http" => Some(Protocol::Http),
        "https" => Some(Protocol::Https),
        "grpc" => Some(Protocol::Grpc),
        text => text.strip_prefix("http/").and_then(|version| {
            let later = version.strip_suffix('+');
            Some(Protocol::Version {
                number: number(later.unwrap_or(version))?,
                or_later: later.is_some(),
            })
        }),
    };
    protocol.ok_or_else(|| {
        bad_value(
            &word.position,
            format!("`{}` is not a protocol", word.text),
            "known are http, https, grpc, http/1.0, http/1.1, http/2 and http/3, the last four also with `+`",
        )
    })
}

/// Ranges of addresses, including names of ranges.
pub(crate) fn networks(words: &[Word]) -> Result<Vec<Network>, Error> {
    let mut ranges = Vec::new();
    for word in words {
        match word.text.as_str() {
            "private_ranges" => ranges.extend(Network::private_ranges()),
            "forwarded" => return Err(unsupported(word, "use `client_ip`")),
            text => ranges.push(text.parse().map_err(|error: NetworkError| {
                bad_value(
                    &word.position,
                    format!("`{text}` is {error}"),
                    "write for example `10.0.0.0/8`, `::1` or `private_ranges`",
                )
            })?),
        }
    }
    Ok(ranges)
}

/// A placeholder, or the name of a variable.
pub(super) fn variable(word: &Word) -> Result<Template, Error> {
    if word.text.contains('{') {
        return template(word);
    }
    if word.text.is_empty() {
        return Err(bad_value(
            &word.position,
            "the name of the variable is empty".into(),
            "",
        ));
    }
    Ok(Template {
        parts: vec![Part::Placeholder(Placeholder::Var(word.text.clone()))],
    })
}
