//! The endpoints, their paths and methods.

use http::header::{ALLOW, HeaderValue};
use http::{Method, StatusCode};

use super::reply::{FullResponse, error};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Activity,
    Alive,
    Authority,
    AuthorityChain,
    ClearCrashes,
    Config,
    Crashes,
    Health,
    HttpMetrics,
    HttpServers,
    Load,
    LogSink,
    Metrics,
    Preload,
    Profile,
    Reload,
    Requests,
    RemoveLogSink,
    Restart,
    ServerLogs,
    SetLogSink,
    Status,
    Stop,
    Threads,
    WholeConfig,
}

/// Followed by a name.
const LOG_SINKS: &str = "/config/logging/logs/";

/// Paths, their methods, and the endpoint of each.
const ENDPOINTS: &[(&str, &[(Method, Endpoint)])] = &[
    ("/activity", &[(Method::GET, Endpoint::Activity)]),
    ("/config", &[(Method::GET, Endpoint::WholeConfig)]),
    ("/config/", &[(Method::GET, Endpoint::WholeConfig)]),
    (
        "/config/apps/frankenphp",
        &[
            (Method::GET, Endpoint::Config),
            (Method::PATCH, Endpoint::Restart),
        ],
    ),
    (
        "/config/apps/http/metrics",
        &[(Method::GET, Endpoint::HttpMetrics)],
    ),
    (
        "/config/apps/http/servers",
        &[(Method::GET, Endpoint::HttpServers)],
    ),
    (
        "/crashes",
        &[
            (Method::GET, Endpoint::Crashes),
            (Method::DELETE, Endpoint::ClearCrashes),
        ],
    ),
    (
        "/config/apps/http/servers/howdah/logs",
        &[(Method::GET, Endpoint::ServerLogs)],
    ),
    (
        LOG_SINKS,
        &[
            (Method::GET, Endpoint::LogSink),
            (Method::PUT, Endpoint::SetLogSink),
            (Method::DELETE, Endpoint::RemoveLogSink),
        ],
    ),
    ("/frankenphp/threads", &[(Method::GET, Endpoint::Threads)]),
    (
        "/frankenphp/workers/restart",
        &[(Method::POST, Endpoint::Restart)],
    ),
    ("/health", &[(Method::GET, Endpoint::Health)]),
    ("/healthz", &[(Method::GET, Endpoint::Alive)]),
    ("/load", &[(Method::POST, Endpoint::Load)]),
    ("/metrics", &[(Method::GET, Endpoint::Metrics)]),
    ("/pki/ca/local", &[(Method::GET, Endpoint::Authority)]),
    (
        "/pki/ca/local/certificates",
        &[(Method::GET, Endpoint::AuthorityChain)],
    ),
    ("/preload", &[(Method::GET, Endpoint::Preload)]),
    ("/profile", &[(Method::POST, Endpoint::Profile)]),
    ("/readyz", &[(Method::GET, Endpoint::Health)]),
    ("/reload", &[(Method::POST, Endpoint::Reload)]),
    ("/requests", &[(Method::GET, Endpoint::Requests)]),
    ("/status", &[(Method::GET, Endpoint::Status)]),
    ("/stop", &[(Method::POST, Endpoint::Stop)]),
];

impl Endpoint {
    /// The endpoint of a method and path, or the response if there is none.
    pub(super) fn find(method: &Method, path: &str) -> Result<Self, Box<FullResponse>> {
        let wanted = match path.strip_prefix(LOG_SINKS) {
            Some(name) if !name.is_empty() && !name.contains('/') => LOG_SINKS,
            Some(_) => "",
            None => path,
        };
        let known = ENDPOINTS.iter().find(|(known, _)| *known == wanted);
        let Some((_, methods)) = known else {
            let text = format!("{path} does not exist");
            return Err(Box::new(error(StatusCode::NOT_FOUND, &text)));
        };
        // HEAD is like GET, and hyper sends only its header.
        let wanted = if *method == Method::HEAD {
            &Method::GET
        } else {
            method
        };
        if let Some((_, endpoint)) = methods.iter().find(|(known, _)| known == wanted) {
            return Ok(*endpoint);
        }
        let allowed: Vec<&str> = methods.iter().map(|(known, _)| known.as_str()).collect();
        let allowed = allowed.join(", ");
        let mut response = error(
            StatusCode::METHOD_NOT_ALLOWED,
            &format!("{path} takes {allowed}"),
        );
        if let Ok(allowed) = HeaderValue::from_str(&allowed) {
            response.headers_mut().insert(ALLOW, allowed);
        }
        Err(Box::new(response))
    }
}

/// The name that follows in the path of a log sink.
pub(super) fn log_sink_name(path: &str) -> &str {
    path.strip_prefix(LOG_SINKS).unwrap_or_default()
}
