//! `howdah_http`: processing of a request by the routes of a configuration: patterns, placeholders,
//! document roots, candidates of `try_files`, rewrites.
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
//! `parts` defines the placeholders: `{p}` is `{path}`, `{a}` is `{query.a}`.
#![no_main]

// The files under test use `neighbours` under this name.
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
#[path = "../../crates/howdah-http/src/message/deferred_text.rs"]
mod deferred_text;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/message/duration.rs"]
mod duration;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/expression.rs"]
mod expression;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/handler.rs"]
mod handler;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/matcher.rs"]
mod matcher;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/parameters.rs"]
mod parameters;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/message/path.rs"]
mod path;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/message/pattern.rs"]
mod pattern;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/placeholder/mod.rs"]
mod placeholder;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/policy.rs"]
mod policy;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/purpose.rs"]
mod purpose;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/message/replacement.rs"]
mod replacement;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/root.rs"]
mod root;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/answer/files/stat.rs"]
mod stat;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/text.rs"]
mod text;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/listen/trusted_proxies.rs"]
mod trusted_proxies;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/message/upstream_note.rs"]
mod upstream_note;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/directive/uri.rs"]
mod uri;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/directive/uri_query.rs"]
mod uri_query;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/usage.rs"]
pub mod usage;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/value.rs"]
mod value;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/variables.rs"]
mod variables;

#[path = "routes/changes.rs"]
mod changes;
#[path = "routes/neighbours.rs"]
mod neighbours;
#[path = "routes/patterns.rs"]
mod patterns;
#[path = "model/query.rs"]
mod query;
#[path = "routes/texts.rs"]
mod texts;

use context::{Context, Environment};
use neighbours::{clock, connection, encode, outcome, shutdown, trace};

/// Folders of `howdah_http`, under the names that the files under test use.
mod answer {
    pub(crate) mod files {
        pub(crate) use crate::stat;
    }
}
mod listen {
    pub(crate) use crate::trusted_proxies;
}
mod message {
    pub(crate) use crate::neighbours::{connection, header_change, reply, route_error};
    pub(crate) use crate::{deferred_text, duration, path, pattern, replacement, upstream_note};
}
mod observe {
    pub(crate) use crate::neighbours::log;
    pub(crate) mod trace {
        pub(crate) use crate::neighbours::trace::{TRACEPARENT, Trace};
    }
}
mod route {
    pub(crate) mod directive {
        pub(crate) use crate::uri_query;
    }
    pub(crate) use crate::neighbours::{copied_headers, error, intercept, outcome, verdict};
    pub(crate) use crate::{
        candidate, context, expression, handler, matcher, parameters, policy, purpose, root, text,
        value, variables,
    };
}

/// State that is the same for all requests, as on a front thread.
struct Thread {
    lookup: stat::StatCache,
    roots: stat::Roots,
    proxies: trusted_proxies::TrustedProxies,
    root: Rc<stat::Root>,
    connection: connection::Connection,
    words: Rc<variables::Regexp>,
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
            lookup: stat::StatCache::default(),
            roots: stat::Roots::default(),
            proxies: trusted_proxies::TrustedProxies::default(),
            root: Rc::new(stat::Root::new("/srv")),
            connection: connection::Connection {
                remote: address(1, 5000),
                local: address(2, 8080),
                tls: None,
            },
            words: variables::Regexp::compile(&words).expect("an expression"),
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
    let request = parts(target, lines.by_ref().take_while(|line| !line.is_empty()))?;
    // A configuration has no control characters, but values of a client may contain them.
    let orders = lines.filter_map(|line| str::from_utf8(line).ok());
    let orders: Vec<&str> = orders
        .filter(|order| !order.contains(char::is_control))
        .collect();

    let decoded = path::normalise(request.uri.path()).ok();
    patterns::paths(path_pattern, decoded.as_deref().unwrap_or(target));
    // As in the front, which has refused invalid hosts before.
    let host = match request.headers.get(HOST) {
        None => None,
        Some(value) => Some(Host::parse(value.to_str().ok()?)?),
    };
    patterns::hosts(host_pattern, host.map_or("", |host| host.name));

    let decoded = decoded?;
    THREAD.with(|thread| {
        let environment = Environment {
            lookup: &thread.lookup,
            roots: &thread.roots,
            proxies: &thread.proxies,
            shutdown: &shutdown::Shutdown,
        };
        let root = Rc::clone(&thread.root);
        let mut context = Context::new(&request, &thread.connection, 7, environment, root);
        context.original_host = host;
        context.path = decoded;
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

/// `None` if hyper would reject the request.
fn parts<'l>(target: &str, fields: impl Iterator<Item = &'l [u8]>) -> Option<Parts> {
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
