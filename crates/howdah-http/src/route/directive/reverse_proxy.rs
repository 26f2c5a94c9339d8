//! `reverse_proxy`: which requests go to an upstream, and with which header.

use std::rc::Rc;

use howdah_config::model::{self, Network, Upstream};
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, Method, Version};

use crate::answer::forwarded::{ForwardedHeaders, remove_hops};
use crate::answer::proxy::Upstreams;
use crate::answer::proxy::job::ProxyJob;
use crate::answer::upstream::balance::Hint;
use crate::message::header_change::remove_where;
use crate::message::route_error::{RouteError, RouteErrorKind};
use crate::route::compiler::Compiler;
use crate::route::context::Context;
use crate::route::directive::uri::Rewrite;
use crate::route::handler::Handler;
use crate::route::header::{self, FieldChange};
use crate::route::intercept::Intercept;
use crate::route::outcome::{Outcome, Refusal};
use crate::route::purpose::Purpose;
use crate::route::retry::RetryRule;
use crate::route::text::Text;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// A compiled [`model::ReverseProxy`].
#[derive(Debug)]
pub(crate) struct Proxy {
    upstreams: Rc<Upstreams>,
    /// Addresses with placeholders, by the number of the upstream; empty without placeholders.
    addresses: Box<[Option<Text>]>,
    method: Option<Text>,
    rewrite: Option<Rewrite>,
    /// `None`: the server's trusted proxies.
    trusted: Option<Box<[Network]>>,
    header_up: Box<[FieldChange]>,
    header_down: Box<[FieldChange]>,
    intercept: Rc<Intercept>,
    retry: RetryRule,
}

impl Proxy {
    pub(super) fn compile(
        proxy: &model::ReverseProxy,
        compiler: &Compiler,
    ) -> Result<Self, RouteError> {
        Ok(Self {
            upstreams: Upstreams::new(proxy, (&compiler.pools.clients, &compiler.pools.states))
                .map_err(|error| RouteErrorKind::Upstream(error.into()))?,
            addresses: addresses(&proxy.upstreams),
            method: proxy.method.as_ref().map(Text::new),
            rewrite: proxy.rewrite.as_ref().map(Rewrite::compile),
            trusted: proxy.trusted_proxies.clone().map(Into::into),
            header_up: header::compile(&proxy.header_up)?,
            header_down: header::compile_down(&proxy.header_down)?,
            intercept: super::intercept::compile(&proxy.intercept, compiler)?,
            retry: RetryRule::compile(&proxy.balance)?,
        })
    }

    /// `Err`: the request cannot be passed on.
    pub(super) fn job(&self, context: &mut Context<'_>) -> Result<ProxyJob, Refusal> {
        let method = match &self.method {
            None => None,
            Some(text) => Some(super::method::evaluate(text, context)?),
        };
        let target = self.target(context)?;
        let header_up = header::prepare(&self.header_up, context);
        let down = header::prepare(&self.header_down, context);
        context.headers.add_down(down);
        if !self.intercept.is_empty() {
            context.intercepts.push(Rc::clone(&self.intercept));
        }
        let evaluate = |text: &Text| text.evaluate(context, Purpose::File).into_owned();
        let addresses = self.addresses.iter();
        let addresses = addresses.map(|text| text.as_ref().map(evaluate)).collect();
        let hint = hint(self.upstreams.policy(), context);
        let has_body = !matches!(method, Some(Method::GET | Method::HEAD));
        let upgrade = upgrade(context.parts());
        let mut headers = context.parts().headers.clone();
        remove_hops(&mut headers);
        if !has_body {
            headers.remove(CONTENT_LENGTH);
        }
        remove_ambiguous(&mut headers);
        forwarded(context, context.trusts(self.trusted.as_deref())).put(&mut headers);
        let method = method.unwrap_or_else(|| context.parts().method.clone());
        Ok(ProxyJob {
            upstreams: Rc::clone(&self.upstreams),
            is_repeatable: self.retry.allows(&method, context),
            method,
            client: context.client_ip(),
            target,
            headers,
            addresses,
            upgrade,
            has_body,
            header_up,
            hint,
        })
    }

    /// Path and query of the request to the upstream; the client's request is not changed.
    fn target(&self, context: &mut Context<'_>) -> Result<String, Refusal> {
        let Some(rewrite) = &self.rewrite else {
            return Ok(context.target());
        };
        let own = (
            context.path.clone(),
            context.escaped.clone(),
            context.query.clone(),
        );
        let result = rewrite.apply(context);
        let target = context.target();
        (context.path, context.escaped, context.query) = own;
        result.map(|()| target)
    }
}

fn addresses(upstreams: &[Upstream]) -> Box<[Option<Text>]> {
    let text = |upstream: &Upstream| match upstream {
        Upstream::Template { template, .. } => Some(Text::new(template)),
        _ => None,
    };
    let texts: Box<[_]> = upstreams.iter().map(text).collect();
    if texts.iter().any(Option::is_some) {
        texts
    } else {
        Box::default()
    }
}

impl Handler for Proxy {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        match self.job(context) {
            Ok(job) => Outcome::Proxy(Box::new(job)),
            Err(refusal) => Outcome::Answer(refusal),
        }
    }
}

/// What this policy needs of a request to choose an upstream.
pub(super) fn hint(policy: &model::Policy, context: &Context<'_>) -> Hint {
    let headers = &context.parts().headers;
    let otherwise = |fallback| move || Hint::Fallback(Box::new(hint(fallback, context)));
    match policy {
        model::Policy::IpHash => Hint::of(&context.connection.remote.ip()),
        model::Policy::ClientIpHash => Hint::of(&context.client_ip()),
        model::Policy::UriHash => Hint::of(&context.target()),
        model::Policy::Header { name, fallback } => headers
            .get(name.as_str())
            .filter(|value| !value.is_empty())
            .map_or_else(otherwise(fallback), |value| Hint::of(value.as_bytes())),
        model::Policy::Query { key, fallback } => context
            .query_value(key)
            .filter(|value| !value.is_empty())
            .map_or_else(otherwise(fallback), |value| Hint::of(&*value)),
        model::Policy::Cookie { name, fallback, .. } => Hint::Cookie {
            known: context.cookie(name).map(str::to_owned),
            is_secure: context.connection.tls.is_some()
                || (context.trusts(None)
                    && headers
                        .get_all("x-forwarded-proto")
                        .iter()
                        .next_back()
                        .is_some_and(|value| value == "https")),
            fallback: Box::new(hint(fallback, context)),
        },
        model::Policy::Random
        | model::Policy::RandomChoose(_)
        | model::Policy::RoundRobin
        | model::Policy::WeightedRoundRobin(_)
        | model::Policy::LeastConnections
        | model::Policy::First => Hint::None,
    }
}

/// The protocol that a request upgrades its connection to, if it is WebSocket. Other protocols,
/// such as `h2c`, could carry requests that bypass the routes. Only HTTP/1.1 has upgrades.
fn upgrade(parts: &Parts) -> Option<HeaderValue> {
    let protocol = parts.headers.get(UPGRADE)?;
    if !protocol.as_bytes().eq_ignore_ascii_case(b"websocket") || parts.method != Method::GET {
        return None;
    }
    let connection = parts.headers.get_all(CONNECTION).iter();
    let mut options = connection
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let is_requested = options.any(|option| option.trim().eq_ignore_ascii_case("upgrade"));
    (is_requested && parts.version == Version::HTTP_11).then(|| protocol.clone())
}

/// Removes fields with an underscore. CGI does not distinguish it from a hyphen: a client could forge `X-Forwarded-For`
/// and fields that directives set.
fn remove_ambiguous(headers: &mut HeaderMap) {
    remove_where(headers, |name| name.as_str().contains('_'));
}

/// `X-Forwarded-*` for an upstream. Values from the client are only used if it is a trusted proxy.
pub(super) fn forwarded(context: &Context<'_>, trusted: bool) -> ForwardedHeaders {
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
    let is_trusted = |name: &HeaderName| trusted && headers.contains_key(name);
    if !is_trusted(&FORWARDED_PROTO) {
        let scheme = HeaderValue::from_static(context.scheme());
        fields.push((FORWARDED_PROTO, Some(scheme)));
    }
    if !is_trusted(&FORWARDED_HOST) {
        let host = context.original.headers.get(HOST).cloned();
        fields.push((FORWARDED_HOST, host));
    }
    ForwardedHeaders::new(fields)
}
