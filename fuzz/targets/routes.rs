//! `howdah_http`: what the routes of a configuration make of a request: patterns, placeholders, document
//! roots, candidates of `try_files`, rewrites.
//!
//! ```text
//! /a/*.php           a pattern of paths
//! *.example.com      a pattern of hosts
//! /escaped/path?query
//! name: value        the request's fields, any number
//!                    an empty line
//! w /x/{p}?{q}       changes one after another: w, p, s, r, x or m
//! ```
//!
//! Placeholders stand for what `parts` says: `{p}` is `{path}`, `{a}` is `{query.a}`.
#![no_main]

// The name by which files under test know what `neighbours` has in its place.
extern crate self as howdah_observe;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::rc::Rc;

use howdah_cgi::Host;
use http::header::HOST;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use libfuzzer_sys::fuzz_target;
use regex::Regex;

#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/candidate.rs"]
mod candidate;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/context.rs"]
mod context;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/expression.rs"]
mod expression;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/lookup.rs"]
mod lookup;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/matcher.rs"]
mod matcher;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/notes.rs"]
mod notes;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/parameters.rs"]
mod parameters;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/path.rs"]
mod path;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/pattern.rs"]
mod pattern;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/policy.rs"]
mod policy;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/proxies.rs"]
mod proxies;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/replacement.rs"]
mod replacement;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/root.rs"]
mod root;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/template.rs"]
mod template;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/uri.rs"]
mod uri;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/uri_query.rs"]
mod uri_query;

#[path = "routes/changes.rs"]
mod changes;
#[path = "routes/neighbours.rs"]
mod neighbours;
#[path = "routes/patterns.rs"]
mod patterns;
#[path = "routes/texts.rs"]
mod texts;

use context::{Context, LogChoice};
use neighbours::{
    Refusal, RouteError, RouteErrorKind, answer, application, auth, clock, copy, encode, error,
    header, intercept, trace,
};

/// What is the same for all requests, as on a front thread.
struct Thread {
    lookup: lookup::Lookup,
    roots: lookup::Roots,
    proxies: proxies::Proxies,
    root: Rc<lookup::Root>,
    connection: application::Connection,
    words: Rc<notes::Regexp>,
}

thread_local! {
    static THREAD: Thread = {
        let address = |last, port| {
            SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, last), port))
        };
        let words = howdah_config::model::Regexp {
            name: "words".into(),
            pattern: "([a-z]+)/?(.*)".into(),
        };
        Thread {
            lookup: lookup::Lookup::default(),
            roots: lookup::Roots::default(),
            proxies: proxies::Proxies::default(),
            root: Rc::new(lookup::Root::new("/srv")),
            connection: application::Connection {
                remote: address(1, 5000),
                local: address(2, 8080),
                tls: None,
            },
            words: notes::Regexp::compile(&words).expect("an expression"),
        }
    };
    static LETTERS: Regex = Regex::new("[a-z]+").expect("an expression");
}

fuzz_target!(|data: &[u8]| {
    _ = run(data);
});

fn run(data: &[u8]) -> Option<()> {
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut text = || str::from_utf8(lines.next()?).ok();
    let (path_pattern, host_pattern, target) = (text()?, text()?, text()?);
    let request = request(target, lines.by_ref().take_while(|line| !line.is_empty()))?;
    // A configuration has no control characters; what a client sends gets there as it does.
    let orders = lines.filter_map(|line| str::from_utf8(line).ok());
    let orders: Vec<&str> = orders
        .filter(|order| !order.contains(char::is_control))
        .collect();

    let decoded = path::normalise(request.uri.path()).ok();
    patterns::paths(path_pattern, decoded.as_deref().unwrap_or(target));
    // As the front has it: what is no host has been refused.
    let host = match request.headers.get(HOST) {
        None => None,
        Some(value) => Some(Host::parse(value.to_str().ok()?)?),
    };
    patterns::hosts(host_pattern, host.map_or("", |host| host.name));

    let decoded = decoded?;
    THREAD.with(|thread| {
        let mut context = Context {
            original: &request,
            changed: None,
            connection: &thread.connection,
            id: 7,
            original_host: host,
            path: decoded,
            escaped: None,
            query: None,
            path_info: String::new(),
            root: Rc::clone(&thread.root),
            headers: header::Changes,
            encodings: encode::Encodings,
            notes: notes::Notes::default(),
            intercepts: Vec::new(),
            errors: Vec::new(),
            max_body_size: None,
            log: LogChoice::default(),
            sampler: None,
            trace: None,
            lookup: &thread.lookup,
            roots: &thread.roots,
            proxies: &thread.proxies,
            verdicts: &[],
            problem: None,
            response: None,
            copies: Vec::new(),
        };
        texts::check(&context);
        for order in orders {
            changes::run(order, &thread.words, &mut context)?;
            assert!(texts::is_clean(&context.path), "{:?}", context.path);
            assert!(context.path.len() + context.query().len() <= replacement::MAX_LEN);
        }
        texts::check(&context);
        Some(())
    })
}

/// `None`: none that hyper would hand over.
fn request<'l>(target: &str, fields: impl Iterator<Item = &'l [u8]>) -> Option<Parts> {
    let target = PathAndQuery::try_from(target).ok()?;
    let mut headers = HeaderMap::new();
    for line in fields {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        headers.append(name, value);
    }
    let mut parts = Request::new(()).into_parts().0;
    parts.uri = Uri::from(target);
    parts.headers = headers;
    parts.uri.path().starts_with('/').then_some(parts)
}
