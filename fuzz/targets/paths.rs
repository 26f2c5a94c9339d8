//! `howdah_http`: paths, hosts and queries of requests, compared with simple reference
//! implementations.
//!
//! ```text
//! /escaped/path
//! host
//! query
//! s name=value       changes of the query, any number: s, a, d, r or x
//! ```
#![no_main]

use howdah_cgi::{Host, text_of};
use http::uri::{Authority, PathAndQuery};
use libfuzzer_sys::fuzz_target;
use percent_encoding::percent_decode_str;
use regex::Regex;

#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/message/path.rs"]
mod path;

#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/parameters.rs"]
mod parameters;

#[path = "model/query.rs"]
mod query;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/message/replacement.rs"]
mod replacement;

use parameters::Parameters;
use query::pairs;

/// The folder of `howdah_http`, under the name that the files under test use.
mod message {
    pub(crate) use crate::{path, replacement};
}

/// Length in bytes of the longest query that `http` accepts after `/?`: offsets in a URI are `u16`.
const MAX_QUERY: usize = (u16::MAX - 1) as usize - "/?".len();

/// Kind of the change, name and value.
type Change<'t> = (char, &'t str, &'t str);

thread_local! {
    static WORDS: Regex = Regex::new("[a-z]+").expect("an expression");
}

fuzz_target!(|data: &[u8]| {
    let Ok(input) = str::from_utf8(data) else {
        return;
    };
    let mut lines = input.split('\n');
    check_path(lines.next().unwrap_or_default());
    check_host(lines.next().unwrap_or_default());
    let query = lines.next().unwrap_or_default();
    let changes: Vec<Change<'_>> = lines
        .filter_map(|line| {
            let (kind, rest) = line.split_once(' ')?;
            let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
            Some((kind.chars().next()?, name, value))
        })
        .collect();
    check_query(query, &changes);
});

fn check_path(escaped: &str) {
    let expected = plain(escaped);
    let Ok(found) = path::normalise(escaped) else {
        assert_eq!(expected, None, "a path was refused");
        return;
    };
    assert_eq!(Some(&*found), expected.as_deref());
    assert!(found.starts_with('/') && !found.contains("//") && !found.contains('\0'));
    assert!(
        !found
            .split('/')
            .any(|segment| matches!(segment, "." | ".."))
    );
    assert_eq!(path::clean(&found), found, "once more changes it");
    let hidden = |segment: &str| segment.starts_with('.') && segment != ".well-known";
    assert_eq!(
        path::has_hidden_segment(&found),
        found.split('/').any(hidden)
    );

    // A redirect leads back to the same path on the same host.
    let encoded = path::encode(&found);
    assert_eq!(path::normalise(&encoded).as_deref(), Ok(&*found));
    let target = PathAndQuery::try_from(&*encoded).expect("what is encoded is a URI's path");
    assert_eq!((target.path(), target.query()), (&*encoded, None));
    assert!(!encoded.starts_with("//") && !encoded.contains('\\'));
}

/// `None` if there is an invalid escape or NUL.
fn plain(escaped: &str) -> Option<String> {
    let mut pieces = escaped.split('%');
    pieces.next();
    let digits = |piece: &str| {
        let digits = piece.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !pieces.all(digits) {
        return None;
    }
    let decoded: Vec<u8> = percent_decode_str(escaped).collect();
    let decoded = text_of(&decoded);
    if decoded.contains('\0') {
        return None;
    }
    let mut kept = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    let last = decoded.rsplit('/').next();
    let folder = matches!(last, Some("" | "." | "..")) && !kept.is_empty();
    Some(format!(
        "/{}{}",
        kept.join("/"),
        if folder { "/" } else { "" }
    ))
}

fn check_host(text: &str) {
    let Some(host) = Host::parse(text) else {
        return;
    };
    let port = host.port.map_or(String::new(), |port| format!(":{port}"));
    let shown = format!("{}{port}", host.name);
    assert_eq!(Host::parse(&shown), Some(host), "another host once written");
    let authority: Authority = shown.parse().expect("a host is an authority");
    assert_eq!(authority.host(), host.name);
    assert_eq!(authority.port_u16(), host.port);
    assert!(!shown.contains(['/', '\\', '@', '?', '#', '"', '\'', '<', '>', ' ']));
}

fn check_query(query: &str, changes: &[Change<'_>]) {
    let mut parameters = Parameters::sent(query);
    let mut expected = pairs(query);
    for (kind, name, value) in changes {
        match kind {
            's' => parameters.set(name, value),
            'a' => parameters.add(name, value),
            'd' => parameters.delete(name),
            'r' => parameters.rename(name, value),
            _ => {
                let name = (!name.is_empty()).then_some(*name);
                if WORDS
                    .with(|words| parameters.replace(name, words, value))
                    .is_err()
                {
                    return;
                }
            }
        }
        apply(&mut expected, (*kind, name, value));
    }
    let text = parameters.text();
    assert_eq!(pairs(&text), expected, "{text}");
    if changes.is_empty() {
        let sent: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
        assert_eq!(text, sent.join("&"));
    }
    // A query that is valid in a request line stays valid, unless it becomes longer than `http`
    // accepts.
    if PathAndQuery::try_from(format!("/?{query}")).is_ok() && !query.contains('#') {
        match PathAndQuery::try_from(format!("/?{text}")) {
            Ok(target) => assert_eq!(target.query(), Some(&*text)),
            Err(error) => assert!(text.len() > MAX_QUERY, "{error}: {text}"),
        }
    }
}

fn apply(pairs: &mut Vec<(String, String)>, (kind, name, value): Change<'_>) {
    let pair = (name.to_owned(), value.to_owned());
    match kind {
        's' => match pairs.iter().position(|known| known.0 == name) {
            None => pairs.push(pair),
            Some(first) => {
                pairs[first] = pair;
                let mut index = 0;
                pairs.retain(|known| {
                    index += 1;
                    known.0 != name || index - 1 == first
                });
            }
        },
        'a' => pairs.push(pair),
        'd' => pairs.retain(|known| known.0 != name),
        'r' => {
            if name != value && pairs.iter().any(|known| known.0 == name) {
                pairs.retain(|known| known.0 != value);
                for known in pairs.iter_mut().filter(|known| known.0 == name) {
                    value.clone_into(&mut known.0);
                }
            }
        }
        _ => {
            for known in pairs.iter_mut() {
                if name.is_empty() || known.0 == name {
                    let replaced =
                        WORDS.with(|words| words.replace_all(&known.1, value).into_owned());
                    known.1 = replaced;
                }
            }
        }
    }
}
