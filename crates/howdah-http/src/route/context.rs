//! A request while its routes run.

use std::borrow::Cow;
use std::cell::Cell;
use std::net::IpAddr;
use std::rc::Rc;

use bytes::Bytes;
use howdah_cgi::Host;
use howdah_config::model::Network;
use howdah_observe::trace::{Sampler, TraceContext};
use http::header::{COOKIE, HOST};
use http::request::Parts;
use http::{HeaderValue, response};

use crate::answer::files::stat::{Root, Roots, StatCache};
use crate::encode::Encodings;
use crate::listen::trusted_proxies::TrustedProxies;
use crate::message::connection::Connection;
use crate::message::header_change::Changes;
use crate::message::path;
use crate::observe::log::AppendedValue;
use crate::observe::trace::{TRACEPARENT, Trace};
use crate::route::copied_headers::CopiedHeaders;
use crate::route::error::{ErrorRoutes, Problem};
use crate::route::intercept::Intercept;
use crate::route::variables::Variables;
use crate::route::verdict::Verdict;
use crate::shutdown::Shutdown;

/// Options of the routes for the request's line in the access log.
#[derive(Debug, Default)]
pub(crate) struct LogChoice {
    pub(crate) skip: bool,
    pub(crate) append: Vec<(String, AppendedValue)>,
}

/// The request as changed by the routes so far.
pub(crate) struct Context<'r> {
    /// As sent.
    pub(crate) original: &'r Parts,
    /// With a different method or header; its URI is always the original one.
    pub(crate) changed: Option<Box<Parts>>,
    pub(crate) connection: &'r Connection,
    pub(crate) id: u64,
    /// Name and port of the `Host` header, if it has one.
    pub(crate) original_host: Option<Host<'r>>,
    /// Decoded and normalised.
    pub(crate) path: Cow<'r, str>,
    /// The escaped path, if it has changed; `None`: as sent.
    pub(crate) escaped: Option<String>,
    /// `None`: as sent.
    pub(crate) query: Option<String>,
    /// The part after the script, which `try_files` has split off.
    pub(crate) path_info: String,
    pub(crate) root: Rc<Root>,
    /// Changes of the response's header.
    pub(crate) headers: Changes,
    pub(crate) encodings: Encodings,
    pub(crate) notes: Variables,
    /// Rules for responses of the application, the outermost first.
    pub(crate) intercepts: Vec<Rc<Intercept>>,
    /// `handle_errors` of the enclosing chains, the outermost first.
    pub(crate) errors: Vec<Rc<[ErrorRoutes]>>,
    /// `request_body`: bytes.
    pub(crate) max_body_size: Option<u64>,
    pub(crate) log: LogChoice,
    /// The sampler of traces, if a site has them.
    pub(crate) sampler: Option<&'r Sampler>,
    pub(crate) trace: Option<Box<Trace>>,
    pub(crate) lookup: &'r StatCache,
    pub(crate) roots: &'r Roots,
    pub(crate) proxies: &'r TrustedProxies,
    pub(crate) shutdown: &'r Shutdown,
    /// What the routes of this request have waited for.
    pub(crate) verdicts: &'r [Verdict],
    /// A placeholder needs the body, which was not read.
    pub(crate) wants_body: Cell<bool>,
    /// In `handle_errors`.
    pub(crate) problem: Option<&'r Problem>,
    /// In `handle_response`.
    pub(crate) response: Option<&'r response::Parts>,
    /// `copy_response_headers` that apply.
    pub(crate) copies: Vec<Rc<CopiedHeaders>>,
}

/// The parts of a front thread that routes may use.
#[derive(Clone, Copy)]
pub(crate) struct Environment<'r> {
    pub(crate) lookup: &'r StatCache,
    pub(crate) roots: &'r Roots,
    pub(crate) proxies: &'r TrustedProxies,
    pub(crate) shutdown: &'r Shutdown,
}

impl<'r> Context<'r> {
    /// A request that no route has seen; its path is that of the URI, not yet decoded.
    pub(crate) fn new(
        original: &'r Parts,
        connection: &'r Connection,
        id: u64,
        environment: Environment<'r>,
        root: Rc<Root>,
    ) -> Self {
        Self {
            original,
            changed: None,
            connection,
            id,
            original_host: None,
            path: Cow::Borrowed(original.uri.path()),
            escaped: None,
            query: None,
            path_info: String::new(),
            root,
            headers: Changes::default(),
            encodings: Encodings::default(),
            notes: Variables::default(),
            intercepts: Vec::new(),
            errors: Vec::new(),
            max_body_size: None,
            log: LogChoice::default(),
            sampler: None,
            trace: None,
            lookup: environment.lookup,
            roots: environment.roots,
            proxies: environment.proxies,
            shutdown: environment.shutdown,
            verdicts: &[],
            wants_body: Cell::new(false),
            problem: None,
            response: None,
            copies: Vec::new(),
        }
    }
}

impl Context<'_> {
    /// The request with the changes of directives.
    pub(crate) fn parts(&self) -> &Parts {
        self.changed.as_deref().unwrap_or(self.original)
    }

    /// The request, to be changed.
    pub(crate) fn parts_mut(&mut self) -> &mut Parts {
        self.changed
            .get_or_insert_with(|| Box::new(self.original.clone()))
    }

    /// Name and port of the `Host` header, if it is present and valid.
    pub(crate) fn host(&self) -> Option<Host<'_>> {
        match &self.changed {
            None => self.original_host,
            Some(changed) => Host::parse(changed.headers.get(HOST)?.to_str().ok()?),
        }
    }

    /// The body. If it was not read, the routes run again once it was.
    pub(crate) fn body(&self) -> Option<&Bytes> {
        let body = self.known_body();
        if body.is_none() {
            self.wants_body.set(true);
        }
        body
    }

    /// The body, if it was read.
    pub(crate) fn known_body(&self) -> Option<&Bytes> {
        self.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Body(body) => Some(body),
            _ => None,
        })
    }

    /// The value of a cookie as it was sent.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        let fields = self.parts().headers.get_all(COOKIE).iter();
        let mut pairs = fields
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// The decoded values of a parameter of the query, with commas between them; `None`: there is no such parameter.
    pub(crate) fn query_value(&self, name: &str) -> Option<String> {
        let pairs = self.query().split('&');
        let values: Vec<_> = pairs
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .filter(|(known, _)| path::decode_query(known) == *name)
            .map(|(_, value)| path::decode_query(value))
            .collect();
        (!values.is_empty()).then(|| values.join(","))
    }

    /// The client's address; trusted proxies may forward it.
    pub(crate) fn client_ip(&self) -> IpAddr {
        self.proxies
            .client_ip(self.connection.remote.ip(), &self.original.headers)
    }

    /// Whether the peer of the connection is one of these proxies; `None`: one of the server's trusted proxies.
    pub(crate) fn trusts(&self, proxies: Option<&[Network]>) -> bool {
        let remote = self.connection.remote.ip();
        match proxies {
            None => self.proxies.trust(remote),
            Some(ranges) => ranges.iter().any(|range| range.contains(remote)),
        }
    }

    /// Joins the caller's trace, or starts one; only once.
    pub(crate) fn begin_trace(&mut self) {
        let Some(sampler) = self.sampler.filter(|_| self.trace.is_none()) else {
            return;
        };
        let callers = self.parts().headers.get_all(TRACEPARENT).iter();
        let context = TraceContext::begin(callers.map(HeaderValue::as_bytes), sampler);
        let name = String::new();
        self.trace = Some(Box::new(Trace { context, name }));
    }

    /// Raw, without `?`.
    pub(crate) fn query(&self) -> &str {
        match &self.query {
            Some(query) => query,
            None => self.original.uri.query().unwrap_or(""),
        }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.connection.tls.is_some() {
            "https"
        } else {
            "http"
        }
    }

    /// Whether the path has changed.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.escaped.is_some()
    }

    /// Sets a new path, decoded and normalised.
    pub(crate) fn set_path(&mut self, path: String) {
        if path != self.path {
            self.escaped = Some(crate::message::path::encode(&path).into_owned());
            self.path = Cow::Owned(path);
        }
    }

    /// Like [`Context::set_path`], with the escaped form of the path: an escaped slash does not separate segments for
    /// the next server. If that form means a different path, or is not valid in a URI, it is generated from `path`.
    pub(crate) fn set_escaped_path(&mut self, path: String, escaped: &str) {
        if escaped == self.escaped_path() {
            return;
        }
        let is_same = crate::message::path::is_escaped(escaped)
            && crate::message::path::normalise(escaped).is_ok_and(|meant| meant == path);
        self.escaped = Some(if is_same {
            escaped.to_owned()
        } else {
            crate::message::path::encode(&path).into_owned()
        });
        self.path = Cow::Owned(path);
    }

    /// The path, escaped for a URI.
    pub(crate) fn escaped_path(&self) -> &str {
        match &self.escaped {
            Some(escaped) => escaped,
            None => self.original.uri.path(),
        }
    }

    /// The client's path if a directory's slash is missing: it has none, and its last segment is still that of the
    /// path.
    pub(crate) fn slashless_path(&self) -> Option<Cow<'_, str>> {
        let own = if self.is_rewritten() {
            let own = crate::message::path::normalise(self.original.uri.path()).ok()?;
            Some(own).filter(|own| last_segment(own) == last_segment(&self.path))?
        } else {
            Cow::Borrowed(&*self.path)
        };
        Some(own).filter(|own| !own.ends_with('/'))
    }

    /// The path without its trailing slash; `/` becomes empty.
    pub(crate) fn path_without_slash(&self) -> &str {
        self.path.strip_suffix('/').unwrap_or(&self.path)
    }

    /// Path and query, escaped for a URI.
    pub(crate) fn target(&self) -> String {
        let path = self.escaped_path();
        let query = self.query();
        let mut target = String::with_capacity(path.len() + query.len() + 1);
        target.push_str(path);
        if !query.is_empty() {
            target.push('?');
            target.push_str(query);
        }
        target
    }
}

fn last_segment(path: &str) -> &str {
    let path = path.strip_suffix('/').unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path)
}
