//! A request to an endpoint, and its response.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::endpoint::{Endpoint, log_sink_name};
use super::guard::Guard;
use super::profile::{ProfileError, ProfileReply, ProfileRequest};
use super::query::{ReloadTarget, crash_number, known_lines, reload_target};
use super::reply::{FullResponse, error, json, response, text};
use super::{
    CertificateAuthority, Configuration, Control, CrashesError, LogSink, ReloadError, ReloadReport,
};
use crate::metrics::for_client;

/// Header of a profile: how many samples were due and taken.
const PROFILE_SUMMARY: HeaderName = HeaderName::from_static("x-howdah-profile");

/// A permitted request whose body has arrived.
pub(super) struct Call<'a, C> {
    pub(super) control: &'a C,
    pub(super) guard: &'a Guard,
    pub(super) parts: &'a Parts,
    pub(super) body: &'a Bytes,
}

impl<C: Control> Call<'_, C> {
    pub(super) async fn run(&self, endpoint: Endpoint) -> FullResponse {
        let control = self.control;
        match endpoint {
            Endpoint::Activity => self.activity().await,
            Endpoint::Alive => json(&json!({"status": "ok", "pid": std::process::id()})),
            Endpoint::Authority => self.authority(|authority| json(&authority)).await,
            Endpoint::AuthorityChain => self.authority(|authority| chain(&authority)).await,
            Endpoint::ClearCrashes => crashes(control.clear_crashes().await),
            Endpoint::Crashes => self.crashes().await,
            Endpoint::Config => json(&control.config()),
            Endpoint::HttpMetrics => json(&control.counts_requests().then(|| json!({}))),
            Endpoint::HttpServers => json(&control.servers()),
            Endpoint::Metrics => self.metrics().await,
            Endpoint::LogSink => json(&control.log_sink(self.log_sink_name())),
            Endpoint::SetLogSink => self.set_log_sink(),
            Endpoint::RemoveLogSink => self.remove_log_sink(),
            // Dashboards enable access logs where there are none; here they can be sent without any configuration.
            Endpoint::ServerLogs => json(&json!({"default_logger_name": "howdah"})),
            Endpoint::Preload => json(&control.preloads().await),
            Endpoint::Profile => self.profile().await,
            Endpoint::Requests => json(&control.requests(self.query() == Some("detail")).await),
            Endpoint::WholeConfig => json(&control.config_json()),
            Endpoint::Health => self.health().await,
            Endpoint::Load => self.load().await,
            Endpoint::Reload => self.reload().await,
            // The text is FrankenPHP's. Clients of PATCH only check the status.
            Endpoint::Restart => reload_response(control.reload(None).await, |_| {
                text("workers restarted successfully\n")
            }),
            Endpoint::Status => json(&control.status().await),
            Endpoint::Stop => self.stop(),
            Endpoint::Threads => self.threads().await,
        }
    }

    fn query(&self) -> Option<&str> {
        self.parts.uri.query()
    }

    fn log_sink_name(&self) -> &str {
        log_sink_name(self.parts.uri.path())
    }

    /// Requests and the log; the log only where PHP cannot read it.
    async fn activity(&self) -> FullResponse {
        match known_lines(self.query()) {
            Ok(known) => {
                let is_php_restricted = self.control.is_php_restricted();
                let permitted = self.guard.keeps_php_out(is_php_restricted) || !is_php_restricted;
                json(&self.control.activity(permitted.then_some(known)).await)
            }
            Err(text) => bad_request(&text),
        }
    }

    async fn authority(
        &self,
        found: impl FnOnce(CertificateAuthority) -> FullResponse,
    ) -> FullResponse {
        match self.control.authority().await {
            Ok(Some(authority)) => found(authority),
            // Caddy would create one.
            Ok(None) => error(
                StatusCode::NOT_FOUND,
                "no certificate authority configured with id: local",
            ),
            Err(cause) => error(StatusCode::INTERNAL_SERVER_ERROR, &cause),
        }
    }

    async fn crashes(&self) -> FullResponse {
        match crash_number(self.query()) {
            Ok(Some(number)) => crashes(self.control.crash(number).await),
            Ok(None) => crashes(self.control.crashes().await),
            Err(text) => bad_request(&text),
        }
    }

    async fn metrics(&self) -> FullResponse {
        let accept = self.parts.headers.get(ACCEPT);
        let accept = accept.and_then(|accept| accept.to_str().ok());
        let (kind, page) = for_client(accept, self.control.metrics().await);
        response(kind, page.into())
    }

    fn set_log_sink(&self) -> FullResponse {
        let sink = LogSink::parse(self.body);
        match sink.and_then(|sink| self.control.set_log_sink(self.log_sink_name(), sink)) {
            Ok(()) => json(&json!({})),
            Err(text) => bad_request(&text),
        }
    }

    fn remove_log_sink(&self) -> FullResponse {
        let name = self.log_sink_name();
        if self.control.remove_log_sink(name) {
            json(&json!({}))
        } else {
            error(StatusCode::NOT_FOUND, &format!("there is no log {name}"))
        }
    }

    async fn profile(&self) -> FullResponse {
        match ProfileRequest::parse(self.query()) {
            Ok(request) => profile_response(self.control.profile(request).await),
            Err(text) => bad_request(&text.to_string()),
        }
    }

    async fn health(&self) -> FullResponse {
        match self.control.health().await {
            Ok(sequential) => {
                let mut page = json!({"status": "ok", "pid": std::process::id()});
                if !sequential.is_empty() {
                    page["sequential"] = json!(sequential);
                }
                json(&page)
            }
            Err(cause) => {
                let page = json!({"error": cause.to_string(), "pid": std::process::id()});
                let mut response = json(&page);
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response
            }
        }
    }

    async fn load(&self) -> FullResponse {
        match caddyfile(&self.parts.headers, self.body) {
            Ok(text) => {
                let result = self.control.configure(Configuration::Text(text)).await;
                reload_response(result, |report| json(&report))
            }
            Err(response) => *response,
        }
    }

    async fn reload(&self) -> FullResponse {
        let result = match reload_target(self.query()) {
            Ok(ReloadTarget::Pool(pool)) => self.control.reload(Some(pool)).await,
            Ok(ReloadTarget::Configuration(from)) => self.control.configure(from).await,
            Err(text) => return bad_request(&text.to_string()),
        };
        reload_response(result, |report| json(&report))
    }

    fn stop(&self) -> FullResponse {
        self.control.stop();
        json(&json!({"status": "stopping", "pid": std::process::id()}))
    }

    async fn threads(&self) -> FullResponse {
        json(&json!({
            "ThreadDebugStates": self.control.threads().await,
            "ReservedThreadCount": 0,
        }))
    }
}

/// The certificates alone, the intermediate first.
fn chain(authority: &CertificateAuthority) -> FullResponse {
    let intermediate = &authority.intermediate_certificate;
    let chain = format!("{intermediate}{}", authority.root_certificate);
    response("application/pem-certificate-chain", chain.into())
}

fn bad_request(text: &str) -> FullResponse {
    error(StatusCode::BAD_REQUEST, text)
}

/// The text of a Caddyfile. Caddy's JSON has other media types.
fn caddyfile(headers: &HeaderMap, body: &Bytes) -> Result<String, Box<FullResponse>> {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("text/caddyfile") {
        let text = "/load takes a Caddyfile with `Content-Type: text/caddyfile`";
        return Err(Box::new(error(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)));
    }
    let text = std::str::from_utf8(body).map(str::to_owned);
    text.map_err(|_| {
        let text = "the Caddyfile is not UTF-8";
        Box::new(error(StatusCode::BAD_REQUEST, text))
    })
}

fn crashes(result: Result<Value, CrashesError>) -> FullResponse {
    let cause = match result {
        Ok(shown) => return json(&shown),
        Err(cause) => cause,
    };
    let status = match cause {
        CrashesError::Off | CrashesError::Unknown(_) => StatusCode::NOT_FOUND,
        CrashesError::Folder(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    error(status, &cause.to_string())
}

/// The count of samples is in a header: not every format has room for it.
fn profile_response(result: Result<ProfileReply, ProfileError>) -> FullResponse {
    let reply = match result {
        Ok(reply) => reply,
        Err(cause) => {
            let status = match cause {
                ProfileError::UnknownPool { .. } => StatusCode::NOT_FOUND,
                ProfileError::UnderWay => StatusCode::CONFLICT,
                ProfileError::Stopping | ProfileError::NoSamples => StatusCode::SERVICE_UNAVAILABLE,
                ProfileError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
            };
            return error(status, &cause.to_string());
        }
    };
    let mut page = response(reply.format.media_type(), reply.body.into());
    if let Ok(summary) = HeaderValue::from_str(&reply.summary) {
        page.headers_mut().insert(PROFILE_SUMMARY, summary);
    }
    page
}

fn reload_response(
    result: Result<ReloadReport, ReloadError>,
    success: impl FnOnce(ReloadReport) -> FullResponse,
) -> FullResponse {
    let cause = match result {
        Ok(done) => return success(done),
        Err(cause) => cause,
    };
    let status = match cause {
        ReloadError::UnknownPool { .. } => StatusCode::NOT_FOUND,
        ReloadError::Configuration(_) => StatusCode::BAD_REQUEST,
        ReloadError::Boot { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        ReloadError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
    };
    error(status, &cause.to_string())
}
