//! Active health checks: the front thread of a directive's first request checks its upstreams, for all threads.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use howdah_config::model::{HealthCheck, Upstream};
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use http::{Method, StatusCode, Uri};
use regex::bytes::Regex;

use crate::answer::upstream::balance::Balancer;

/// Upstreams that can be probed.
pub(crate) trait Upstreams: 'static {
    fn balancer(&self) -> &Balancer;

    /// Sends a request of the check to one upstream. `Err`: why it failed. The future is
    /// dropped after the timeout.
    fn probe(
        &self,
        index: usize,
        check: &HealthCheck,
        request: &ProbeRequest,
    ) -> impl Future<Output = Result<ProbeResponse, String>>;
}

/// The variable part of the request of a check.
pub(crate) struct ProbeRequest {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) uri: String,
    pub(crate) body: String,
}

impl ProbeRequest {
    fn new(check: &HealthCheck) -> Self {
        Self {
            // The configuration has refused others.
            method: Method::from_bytes(check.method.as_bytes()).unwrap_or(Method::GET),
            uri: check.uri.clone(),
            body: check.request_body.clone(),
        }
    }

    /// Changes it as a redirect with this status says.
    fn redirect(&mut self, status: StatusCode, uri: String) {
        self.uri = uri;
        let keeps_method = [
            StatusCode::TEMPORARY_REDIRECT,
            StatusCode::PERMANENT_REDIRECT,
        ];
        if !keeps_method.contains(&status) {
            self.body.clear();
            if self.method != Method::HEAD {
                self.method = Method::GET;
            }
        }
    }
}

/// The response of an upstream to a check.
pub(crate) struct ProbeResponse {
    pub(crate) status: StatusCode,
    /// Path and query that it redirects to.
    pub(crate) redirect: Option<String>,
    /// Its start, if `health_body` is configured.
    pub(crate) body: Vec<u8>,
}

/// Redirects that a check follows.
const REDIRECTS_MAX: u32 = 10;

/// Bytes of a response's body that `health_body` sees.
pub(crate) const BODY_MAX: usize = 64 << 10;

/// The address that checks of an upstream connect to.
pub(crate) fn probe_address(upstream: &Upstream, check: &HealthCheck) -> Upstream {
    match (&check.upstream, upstream, check.port) {
        (Some(other), _, _) => other.clone(),
        (None, Upstream::Tcp { host, .. }, Some(port)) => Upstream::Tcp {
            host: host.clone(),
            port,
        },
        _ => upstream.clone(),
    }
}

/// The header of a check of the upstream `name`: the defaults, and those of `health_headers` in their place.
pub(crate) fn probe_headers(host: HeaderValue, check: &HealthCheck, name: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, host);
    headers.insert(USER_AGENT, HeaderValue::from_static("Howdah"));
    let configured = |(field, pieces): &(String, Vec<String>)| {
        let value = HeaderValue::try_from(pieces.join(name)).ok()?;
        Some((HeaderName::try_from(field).ok()?, value))
    };
    // The configuration has refused others.
    let configured: Vec<_> = check.headers.iter().filter_map(configured).collect();
    for (name, _) in &configured {
        headers.remove(name);
    }
    headers.extend(configured);
    headers
}

/// Path and query that a response with this header redirects to, if they are on the `host` that was asked.
pub(crate) fn redirect_target(headers: &HeaderMap, host: Option<&HeaderValue>) -> Option<String> {
    let location = headers.get(LOCATION)?.to_str().ok()?;
    let location = location.split('#').next()?;
    if location.starts_with('/') && !location.starts_with("//") {
        return Some(location.to_owned());
    }
    let uri: Uri = location.parse().ok()?;
    uri.scheme()?;
    let is_same = uri.authority()?.as_str() == host?.to_str().ok()?;
    let target = uri.path_and_query()?;
    is_same.then(|| target.as_str().to_owned())
}

/// The checks of a directive.
#[derive(Debug)]
pub(crate) struct Checks {
    check: Option<HealthCheck>,
    /// By this front thread or another.
    is_started: Cell<bool>,
}

impl Checks {
    pub(crate) fn new(check: Option<&HealthCheck>) -> Self {
        Self {
            check: check.cloned(),
            is_started: Cell::new(false),
        }
    }

    /// Starts the checks, if there are any and they do not run yet. They end with the upstreams.
    pub(crate) fn start<U: Upstreams>(&self, upstreams: &Rc<U>) {
        let Some(check) = &self.check else { return };
        if self.is_started.replace(true) || !upstreams.balancer().claim_checks() {
            return;
        }
        for index in 0..upstreams.balancer().len() {
            tokio::task::spawn_local(watch(Rc::downgrade(upstreams), index, check.clone()));
        }
    }
}

async fn watch<U: Upstreams>(upstreams: Weak<U>, index: usize, check: HealthCheck) {
    // The configuration has refused invalid ones.
    let body = check.body.as_deref().and_then(|text| Regex::new(text).ok());
    while let Some(upstreams) = upstreams.upgrade() {
        let outcome = tokio::time::timeout(check.timeout, run(&*upstreams, index, &check));
        let outcome = outcome
            .await
            .unwrap_or_else(|_| Err("it did not respond in time".to_owned()))
            .and_then(|response| expect(&response, &check, body.as_ref()));
        let balancer = upstreams.balancer();
        let in_row = if outcome.is_ok() {
            check.passes
        } else {
            check.fails
        };
        if balancer.note_health(index, outcome.is_err(), in_row) {
            let upstream = balancer.name(index);
            match outcome {
                Err(reason) => {
                    tracing::warn!(target: "howdah::proxy", %upstream, "upstream marked unhealthy: {reason}");
                }
                Ok(()) => {
                    tracing::info!(target: "howdah::proxy", %upstream, "upstream marked healthy again");
                }
            }
        }
        drop(upstreams);
        tokio::time::sleep(check.interval).await;
    }
}

/// Sends the request of a check, and those that redirects lead to.
async fn run(
    upstreams: &impl Upstreams,
    index: usize,
    check: &HealthCheck,
) -> Result<ProbeResponse, String> {
    let mut request = ProbeRequest::new(check);
    let mut response = upstreams.probe(index, check, &request).await?;
    for _ in 0..REDIRECTS_MAX {
        if !check.follows_redirects || !response.status.is_redirection() {
            break;
        }
        let Some(uri) = response.redirect.take() else {
            break;
        };
        request.redirect(response.status, uri);
        response = upstreams.probe(index, check, &request).await?;
    }
    Ok(response)
}

fn expect(
    response: &ProbeResponse,
    check: &HealthCheck,
    body: Option<&Regex>,
) -> Result<(), String> {
    if !check.status.contains(response.status.as_u16()) {
        return Err(format!("it responded with {}", response.status));
    }
    match body {
        Some(body) if !body.is_match(&response.body) => Err(format!(
            "its response does not match `health_body {}`",
            body.as_str()
        )),
        _ => Ok(()),
    }
}
