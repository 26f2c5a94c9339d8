//! A request on its way through the routes.

use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;

use howdah_cgi::Host;
use howdah_observe::trace::{Sampler, TraceContext};
use http::header::HOST;
use http::request::Parts;
use http::{HeaderName, HeaderValue, response};

use super::copy::Copy;
use super::error::{ErrorRoutes, Problem};
use super::header::Changes;
use super::intercept::Intercept;
use super::notes::Notes;
use super::proxies::Proxies;
use crate::application::Connection;
use crate::auth::Verdict;
use crate::encode::Encodings;
use crate::lookup::{Lookup, Root, Roots};

/// The header of a trace.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// What systems on its way add to it.
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// What the routes say about the request's line in the access log.
#[derive(Debug, Default)]
pub(crate) struct LogChoice {
    pub(crate) skip: bool,
    pub(crate) append: Vec<(String, String)>,
}

/// The trace of a request.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    pub(crate) context: TraceContext,
    /// Of its span; empty for the method.
    pub(crate) name: String,
}

/// The request as the routes have left it so far.
pub(crate) struct Context<'r> {
    /// As sent.
    pub(crate) original: &'r Parts,
    /// With another method or header; its URI is that of the request all the same.
    pub(crate) changed: Option<Box<Parts>>,
    pub(crate) connection: &'r Connection,
    pub(crate) id: u64,
    /// Name and port of the `Host` header, if it has one.
    pub(crate) original_host: Option<Host<'r>>,
    /// Decoded and normalised.
    pub(crate) path: Cow<'r, str>,
    /// The path as a URI has it, once it is no longer that of the request; `None`: as sent.
    pub(crate) escaped: Option<String>,
    /// `None`: as sent.
    pub(crate) query: Option<String>,
    /// What `try_files` cut off behind the script.
    pub(crate) path_info: String,
    pub(crate) root: Rc<Root>,
    /// Of the response's header.
    pub(crate) headers: Changes,
    pub(crate) encodings: Encodings,
    pub(crate) notes: Notes,
    /// What is done with responses of the application, the outermost first.
    pub(crate) intercepts: Vec<Rc<Intercept>>,
    /// `handle_errors` of the chains that the request is in, the outermost first.
    pub(crate) errors: Vec<Rc<[ErrorRoutes]>>,
    /// `request_body`: bytes.
    pub(crate) max_body_size: Option<u64>,
    pub(crate) log: LogChoice,
    /// What traces are sampled by, if a site has them.
    pub(crate) sampler: Option<&'r Sampler>,
    pub(crate) trace: Option<Trace>,
    pub(crate) lookup: &'r Lookup,
    pub(crate) roots: &'r Roots,
    pub(crate) proxies: &'r Proxies,
    /// Passwords of this request that were checked.
    pub(crate) verdicts: &'r [Verdict],
    /// In `handle_errors`.
    pub(crate) problem: Option<&'r Problem>,
    /// In `handle_response`.
    pub(crate) response: Option<&'r response::Parts>,
    /// What stays of its header.
    pub(crate) copies: Vec<Rc<Copy>>,
}

impl Context<'_> {
    /// The request with what directives changed.
    pub(crate) fn parts(&self) -> &Parts {
        self.changed.as_deref().unwrap_or(self.original)
    }

    /// The request for changes.
    pub(crate) fn parts_mut(&mut self) -> &mut Parts {
        self.changed
            .get_or_insert_with(|| Box::new(self.original.clone()))
    }

    /// Name and port of the `Host` header, if it has one that is valid.
    pub(crate) fn host(&self) -> Option<Host<'_>> {
        match &self.changed {
            None => self.original_host,
            Some(changed) => Host::parse(changed.headers.get(HOST)?.to_str().ok()?),
        }
    }

    /// The client, as trusted proxies tell it.
    pub(crate) fn client_ip(&self) -> IpAddr {
        self.proxies
            .client_ip(self.connection.remote.ip(), &self.original.headers)
    }

    /// Whether who is connected is one of the trusted proxies.
    pub(crate) fn trusts_remote(&self) -> bool {
        self.proxies.trust(self.connection.remote.ip())
    }

    /// Joins the caller's trace, or begins one. Once.
    pub(crate) fn begin_trace(&mut self) {
        let Some(sampler) = self.sampler.filter(|_| self.trace.is_none()) else {
            return;
        };
        let callers = self.parts().headers.get_all(TRACEPARENT).iter();
        let context = TraceContext::begin(callers.map(HeaderValue::as_bytes), sampler);
        let name = String::new();
        self.trace = Some(Trace { context, name });
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

    /// Whether the path is no longer that of the request.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.escaped.is_some()
    }

    /// Another path, decoded and normalised.
    pub(crate) fn set_path(&mut self, path: String) {
        if path != self.path {
            self.escaped = Some(crate::path::encode(&path).into_owned());
            self.path = Cow::Owned(path);
        }
    }

    /// As [`Context::set_path`] with the path as a URI is to have it: an escaped slash is none between segments
    /// for who is asked next. What does not mean the same path, or cannot be in a URI, is made anew from it.
    pub(crate) fn set_escaped_path(&mut self, path: String, escaped: &str) {
        if escaped == self.escaped_path() {
            return;
        }
        let is_same = crate::path::is_escaped(escaped)
            && crate::path::normalise(escaped).is_ok_and(|meant| meant == path);
        self.escaped = Some(if is_same {
            escaped.to_owned()
        } else {
            crate::path::encode(&path).into_owned()
        });
        self.path = Cow::Owned(path);
    }

    /// The path as a URI has it.
    pub(crate) fn escaped_path(&self) -> &str {
        match &self.escaped {
            Some(escaped) => escaped,
            None => self.original.uri.path(),
        }
    }

    /// The client's path where a directory's is to get its slash: it has none, and its last segment is
    /// still that of the path.
    pub(crate) fn slashless_path(&self) -> Option<Cow<'_, str>> {
        let own = if self.is_rewritten() {
            let own = crate::path::normalise(self.original.uri.path()).ok()?;
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

    /// Path and query as a URI has them.
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
