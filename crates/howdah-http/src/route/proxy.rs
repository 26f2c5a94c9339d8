//! `reverse_proxy`: which request goes to an upstream, and with which header.

use std::rc::Rc;

use howdah_config::model::{self, Network};
use http::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING,
    UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, Method, Version};

use super::context::Context;
use super::header::{Change, Pending};
use super::intercept::Intercept;
use super::template::Text;
use super::uri::Rewrite;
use super::worker::WorkerFiles;
use super::{Refusal, RouteError, RouteErrorKind, changes};
use crate::balance::Hint;
use crate::proxy::Upstreams;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// A compiled [`model::ReverseProxy`].
#[derive(Debug)]
pub(crate) struct Proxy {
    upstreams: Rc<Upstreams>,
    method: Option<Text>,
    rewrite: Option<Rewrite>,
    /// `None`: those of the server.
    trusted: Option<Box<[Network]>>,
    header_up: Box<[Rc<Change>]>,
    header_down: Box<[Rc<Change>]>,
    intercept: Rc<Intercept>,
}

/// A request that goes to an upstream; its body is not read yet.
pub(crate) struct ProxyJob {
    pub(crate) upstreams: Rc<Upstreams>,
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    /// The protocol that the client wants the connection to go over to.
    pub(crate) upgrade: Option<HeaderValue>,
    /// False: the body of the request is left out.
    pub(crate) has_body: bool,
    /// The rest of what is to be done with the header, once the upstream is known.
    pub(crate) header_up: Vec<Pending>,
    /// What the choice of an upstream depends on.
    pub(crate) hint: Hint,
}

impl Proxy {
    pub(super) fn compile(
        proxy: &model::ReverseProxy,
        workers: &WorkerFiles,
    ) -> Result<Self, RouteError> {
        Ok(Self {
            upstreams: Upstreams::new(proxy, &workers.clients).map_err(RouteErrorKind::from)?,
            method: proxy.method.as_ref().map(Text::new),
            rewrite: proxy.rewrite.as_ref().map(Rewrite::compile),
            trusted: proxy.trusted_proxies.clone().map(Into::into),
            header_up: changes(&proxy.header_up)?,
            header_down: changes(&proxy.header_down)?,
            intercept: Rc::new(Intercept::compile(&proxy.intercept, workers)?),
        })
    }

    /// `Err`: the request cannot be passed on.
    pub(super) fn job(&self, context: &mut Context<'_>) -> Result<ProxyJob, Refusal> {
        let method = match &self.method {
            None => None,
            Some(text) => Some(super::method(text, context)?),
        };
        let target = self.target(context)?;
        let header_up = self
            .header_up
            .iter()
            .filter_map(|change| change.prepare(context))
            .collect();
        let down: Vec<Pending> = self
            .header_down
            .iter()
            .filter_map(|change| change.prepare(context))
            .collect();
        context.headers.add_down(down);
        if !self.intercept.is_empty() {
            context.intercepts.push(Rc::clone(&self.intercept));
        }
        let hint = hint(self.upstreams.policy(), context);
        let has_body = !matches!(method, Some(Method::GET | Method::HEAD));
        let upgrade = upgrade(context.parts());
        let mut headers = context.parts().headers.clone();
        remove_hops(&mut headers);
        if !has_body {
            headers.remove(CONTENT_LENGTH);
        }
        remove_ambiguous(&mut headers);
        Forwarded::of(context, self.trusts(context)).put(&mut headers);
        Ok(ProxyJob {
            upstreams: Rc::clone(&self.upstreams),
            method: method.unwrap_or_else(|| context.parts().method.clone()),
            target,
            headers,
            upgrade,
            has_body,
            header_up,
            hint,
        })
    }

    /// Path and query that the upstream is asked for; the request keeps its own.
    fn target(&self, context: &mut Context<'_>) -> Result<String, Refusal> {
        let Some(rewrite) = &self.rewrite else {
            return Ok(context.target());
        };
        let own = (
            context.path.clone(),
            context.escaped.clone(),
            context.query.clone(),
        );
        let result = rewrite.run(context);
        let target = context.target();
        (context.path, context.escaped, context.query) = own;
        result.map(|()| target)
    }

    fn trusts(&self, context: &Context<'_>) -> bool {
        match &self.trusted {
            None => context.trusts_remote(),
            Some(ranges) => {
                let remote = context.connection.remote.ip();
                ranges.iter().any(|range| range.contains(remote))
            }
        }
    }
}

/// What the choice of an upstream by this policy depends on in a request.
pub(super) fn hint(policy: &model::Policy, context: &Context<'_>) -> Hint {
    let headers = &context.parts().headers;
    match policy {
        model::Policy::IpHash => Hint::of(&context.connection.remote.ip()),
        model::Policy::ClientIpHash => Hint::of(&context.client_ip()),
        model::Policy::UriHash => Hint::of(&context.target()),
        model::Policy::Header(name) => headers
            .get(name.as_str())
            .map_or(Hint::None, |value| Hint::of(value.as_bytes())),
        model::Policy::Cookie(name) => {
            let cookies = headers.get_all(COOKIE).iter();
            let mut values = cookies
                .filter_map(|value| value.to_str().ok())
                .flat_map(|value| value.split(';'))
                .filter_map(|pair| pair.trim().split_once('='));
            values
                .find(|(known, _)| known == name)
                .map_or(Hint::None, |(_, value)| Hint::Cookie(value.to_owned()))
        }
        model::Policy::Random
        | model::Policy::RoundRobin
        | model::Policy::LeastConnections
        | model::Policy::First => Hint::None,
    }
}

/// The protocol that a request wants its connection to go over to, if it is WebSocket. Any other one, such
/// as `h2c`, could carry requests that no route has seen. Only HTTP/1.1 has that.
fn upgrade(parts: &Parts) -> Option<HeaderValue> {
    let protocol = parts.headers.get(UPGRADE)?;
    if !protocol.as_bytes().eq_ignore_ascii_case(b"websocket") || parts.method != Method::GET {
        return None;
    }
    let connection = parts.headers.get_all(CONNECTION).iter();
    let mut options = connection
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let is_asked_for = options.any(|option| option.trim().eq_ignore_ascii_case("upgrade"));
    (is_asked_for && parts.version == Version::HTTP_11).then(|| protocol.clone())
}

/// Takes out what is for one connection alone (RFC 9110 §7.6.1). `Host` never is, whatever `Connection` says:
/// without it a request is none of HTTP/1.1.
pub(crate) fn remove_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| *name != HOST)
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [CONNECTION, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    for name in [
        "keep-alive",
        // Answered here, when the body is read.
        "expect",
        "proxy-connection",
        "proxy-authenticate",
        "proxy-authorization",
        "trailer",
    ] {
        headers.remove(name);
    }
}

/// Takes out fields with an underscore, for which CGI has the same name as for one with a hyphen: a client could
/// forge `X-Forwarded-For` and what directives set.
fn remove_ambiguous(headers: &mut HeaderMap) {
    let is_ambiguous = |name: &&HeaderName| name.as_str().contains('_');
    let doomed: Vec<HeaderName> = headers.keys().filter(is_ambiguous).cloned().collect();
    for name in doomed {
        headers.remove(name);
    }
}

/// What an upstream is told about the client. What the client itself said is believed of trusted proxies only.
/// Each field with its value; `None`: there is none.
pub(crate) struct Forwarded(Vec<(HeaderName, Option<HeaderValue>)>);

impl Forwarded {
    pub(super) fn of(context: &Context<'_>, trusted: bool) -> Self {
        let headers = &context.parts().headers;
        let mut addresses = String::new();
        if trusted {
            for value in headers.get_all(FORWARDED_FOR) {
                if let Ok(value) = value.to_str() {
                    addresses.push_str(value);
                    addresses.push_str(", ");
                }
            }
        }
        addresses.push_str(&context.connection.remote.ip().to_string());
        // Text of valid values and an address.
        let mut fields = vec![(FORWARDED_FOR, HeaderValue::try_from(addresses).ok())];
        let is_told = |name: &HeaderName| trusted && headers.contains_key(name);
        if !is_told(&FORWARDED_PROTO) {
            let scheme = HeaderValue::from_static(context.scheme());
            fields.push((FORWARDED_PROTO, Some(scheme)));
        }
        if !is_told(&FORWARDED_HOST) {
            let host = context.original.headers.get(HOST).cloned();
            fields.push((FORWARDED_HOST, host));
        }
        Self(fields)
    }

    pub(crate) fn put(self, headers: &mut HeaderMap) {
        for (name, value) in self.0 {
            match value {
                Some(value) => headers.insert(name, value),
                None => headers.remove(name),
            };
        }
    }
}
