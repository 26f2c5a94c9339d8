//! The endpoints.

use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Body;
use serde::Serialize;
use serde_json::{Value, json};

use super::guard::Guard;
use super::profile::{ProfileError, ProfileReply, ProfileRequest};
use super::query::{QueryError, decoded};
use super::{Configuration, Control, CrashesError, LogSink, ReloadError, ReloadReport, dashboard};
use crate::metrics::for_client;

/// Bytes of a request body. FrankenPHP's clients send the whole configuration back.
const MAX_BODY: usize = 1 << 20;
/// For the whole body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Header of a profile: how many samples were due and taken.
pub(super) const PROFILE_SUMMARY: HeaderName = HeaderName::from_static("x-howdah-profile");

type Answer = Response<Full<Bytes>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Activity,
    Alive,
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

/// A name follows.
const LOG_SINKS: &str = "/config/logging/logs/";

/// Path, the methods that it knows, and what each does.
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
    ("/preload", &[(Method::GET, Endpoint::Preload)]),
    ("/profile", &[(Method::POST, Endpoint::Profile)]),
    ("/readyz", &[(Method::GET, Endpoint::Health)]),
    ("/reload", &[(Method::POST, Endpoint::Reload)]),
    ("/requests", &[(Method::GET, Endpoint::Requests)]),
    ("/status", &[(Method::GET, Endpoint::Status)]),
    ("/stop", &[(Method::POST, Endpoint::Stop)]),
];

/// The response to a request, whatever it is. `begun` is called when all of it is there.
pub(super) async fn answer<C: Control, B>(
    control: &C,
    guard: &Guard,
    request: Request<B>,
    begun: impl FnOnce(),
) -> Answer
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
{
    let (parts, body) = request.into_parts();
    if let Err(text) = guard.check(&parts) {
        tracing::warn!(target: "howdah::admin", path = parts.uri.path(), "refused: {text}");
        return error(StatusCode::FORBIDDEN, &text);
    }
    if matches!(parts.method, Method::GET | Method::HEAD)
        && let Some(file) = dashboard::file(parts.uri.path())
    {
        return file;
    }
    let endpoint = match endpoint(&parts.method, parts.uri.path()) {
        Ok(endpoint) => endpoint,
        Err(answer) => return *answer,
    };
    if let Err(text) = permitted(control, guard, endpoint, parts.uri.query()) {
        // `howdah reload --config` tries the file before it sends the text.
        if endpoint == Endpoint::Reload {
            tracing::info!(target: "howdah::admin", "refused: {text}");
        } else {
            tracing::warn!(target: "howdah::admin", path = parts.uri.path(), "refused: {text}");
        }
        return error(StatusCode::FORBIDDEN, &text);
    }
    let body = match read_to_end(body).await {
        Ok(body) => body,
        Err(answer) => return *answer,
    };
    begun();
    match endpoint {
        Endpoint::Activity => match known_lines(parts.uri.query()) {
            Ok(known) => {
                let is_php_restricted = control.is_php_restricted();
                let permitted = guard.keeps_php_out(is_php_restricted) || !is_php_restricted;
                json(&control.activity(permitted.then_some(known)).await)
            }
            Err(text) => error(StatusCode::BAD_REQUEST, &text),
        },
        Endpoint::Alive => json(&json!({"status": "ok", "pid": std::process::id()})),
        Endpoint::ClearCrashes => crashes(control.clear_crashes().await),
        Endpoint::Crashes => match number(parts.uri.query()) {
            Ok(Some(number)) => crashes(control.crash(number).await),
            Ok(None) => crashes(control.crashes().await),
            Err(text) => error(StatusCode::BAD_REQUEST, &text),
        },
        Endpoint::Config => json(&control.config()),
        Endpoint::HttpMetrics => json(&control.counts_requests().then(|| json!({}))),
        Endpoint::HttpServers => json(&control.servers()),
        Endpoint::Metrics => {
            let accept = parts.headers.get(ACCEPT);
            let accept = accept.and_then(|accept| accept.to_str().ok());
            let (kind, page) = for_client(accept, control.metrics().await);
            response(kind, page.into())
        }
        Endpoint::LogSink => json(&control.log_sink(log_sink_name(parts.uri.path()))),
        Endpoint::SetLogSink => {
            let name = log_sink_name(parts.uri.path());
            let set = LogSink::parse(&body).and_then(|sink| control.set_log_sink(name, sink));
            match set {
                Ok(()) => json(&json!({})),
                Err(text) => error(StatusCode::BAD_REQUEST, &text),
            }
        }
        Endpoint::RemoveLogSink => {
            let name = log_sink_name(parts.uri.path());
            if control.remove_log_sink(name) {
                json(&json!({}))
            } else {
                error(StatusCode::NOT_FOUND, &format!("there is no log {name}"))
            }
        }
        // Dashboards turn access logs on where there are none; these are sent without a word in the configuration.
        Endpoint::ServerLogs => json(&json!({"default_logger_name": "howdah"})),
        Endpoint::Preload => json(&control.preloads().await),
        Endpoint::Profile => match ProfileRequest::parse(parts.uri.query()) {
            Ok(request) => profiled(control.profile(request).await),
            Err(text) => error(StatusCode::BAD_REQUEST, &text.to_string()),
        },
        Endpoint::Requests => json(&control.requests(parts.uri.query() == Some("detail")).await),
        Endpoint::WholeConfig => json(&control.config_json()),
        Endpoint::Health => match control.health().await {
            Ok(sequential) => {
                let mut page = json!({"status": "ok", "pid": std::process::id()});
                if !sequential.is_empty() {
                    page["sequential"] = json!(sequential);
                }
                json(&page)
            }
            Err(cause) => {
                let mut answer =
                    json(&json!({"error": cause.to_string(), "pid": std::process::id()}));
                *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                answer
            }
        },
        Endpoint::Load => match caddyfile(&parts.headers, &body) {
            Ok(text) => {
                let from = Configuration::Text(text);
                reloaded(control.configure(from).await, |done| json(&done))
            }
            Err(answer) => *answer,
        },
        Endpoint::Reload => {
            let result = match reload_target(parts.uri.query()) {
                Ok(ReloadTarget::Pool(pool)) => control.reload(Some(pool)).await,
                Ok(ReloadTarget::Configuration(from)) => control.configure(from).await,
                Err(text) => return error(StatusCode::BAD_REQUEST, &text.to_string()),
            };
            reloaded(result, |done| json(&done))
        }
        // The text is FrankenPHP's. Clients of PATCH look at the status alone.
        Endpoint::Restart => reloaded(control.reload(None).await, |_| {
            text("workers restarted successfully\n")
        }),
        Endpoint::Status => json(&control.status().await),
        Endpoint::Stop => {
            control.stop();
            json(&json!({"status": "stopping", "pid": std::process::id()}))
        }
        Endpoint::Threads => json(&json!({
            "ThreadDebugStates": control.threads().await,
            "ReservedThreadCount": 0,
        })),
    }
}

/// Every process of the machine reaches a TCP address, PHP too; a Unix socket only the server's user and root.
///
/// A configuration can run programs with the server's rights, and the errors of a file reveal what is
/// in it. So over TCP no other file is read, and a server whose PHP has fewer rights than itself neither
/// takes a configuration nor shows its own, which has secrets.
fn permitted<C: Control>(
    control: &C,
    guard: &Guard,
    endpoint: Endpoint,
    query: Option<&str>,
) -> Result<(), String> {
    const SOCKET: &str =
        "send it as root through a Unix socket: `admin unix//PATH` in the Caddyfile";
    if guard.keeps_php_out(control.is_php_restricted()) {
        return Ok(());
    }
    match endpoint {
        Endpoint::Load | Endpoint::WholeConfig if control.is_php_restricted() => Err(format!(
            "no configuration is taken or shown here, since PHP runs as another user than the server and can reach this address; {SOCKET}"
        )),
        // They name requests of others.
        Endpoint::Crashes | Endpoint::ClearCrashes if control.crashes_are_private() => {
            Err(format!(
                "no crash report is shown or removed over TCP, since PHP can reach this address and must not read them; {SOCKET}, or run `howdah crashes` as root"
            ))
        }
        Endpoint::SetLogSink if control.is_php_restricted() => Err(format!(
            "logs are not sent over TCP, since PHP runs as a different user than the server and can reach this address; {SOCKET}"
        )),
        Endpoint::Reload => match reload_target(query) {
            Ok(ReloadTarget::Configuration(Configuration::File(file)))
                if control.config_file().as_ref() != Some(&file) =>
            {
                Err(format!(
                    "over TCP, only the server's current configuration file can be loaded, since PHP can reach this address; {SOCKET}"
                ))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// To the end, so that the connection can be used again.
async fn read_to_end<B>(body: B) -> Result<Bytes, Box<Answer>>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
{
    let refused = |status, text: &str| Err(Box::new(error(status, text)));
    let too_large = || {
        let text = format!("the request body may have {MAX_BODY} bytes");
        refused(StatusCode::PAYLOAD_TOO_LARGE, &text)
    };
    if body.size_hint().lower() > MAX_BODY as u64 {
        return too_large();
    }
    let read = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect());
    match read.await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(cause)) if cause.is::<http_body_util::LengthLimitError>() => too_large(),
        Ok(Err(cause)) => refused(StatusCode::BAD_REQUEST, &cause.to_string()),
        Err(_) => refused(StatusCode::REQUEST_TIMEOUT, "the request body did not come"),
    }
}

fn endpoint(method: &Method, path: &str) -> Result<Endpoint, Box<Answer>> {
    let wanted = match path.strip_prefix(LOG_SINKS) {
        Some(name) if !name.is_empty() && !name.contains('/') => LOG_SINKS,
        Some(_) => "",
        None => path,
    };
    let known = ENDPOINTS.iter().find(|(known, _)| *known == wanted);
    let Some((_, methods)) = known else {
        let text = format!("there is no {path} here");
        return Err(Box::new(error(StatusCode::NOT_FOUND, &text)));
    };
    // HEAD is GET of which only the header is sent, and hyper sends no more.
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
    let mut answer = error(
        StatusCode::METHOD_NOT_ALLOWED,
        &format!("{path} takes {allowed}"),
    );
    if let Ok(allowed) = HeaderValue::from_str(&allowed) {
        answer.headers_mut().insert(ALLOW, allowed);
    }
    Err(Box::new(answer))
}

/// The text of a Caddyfile. Caddy takes its JSON under other media types.
fn caddyfile(headers: &HeaderMap, body: &Bytes) -> Result<String, Box<Answer>> {
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

fn log_sink_name(path: &str) -> &str {
    path.strip_prefix(LOG_SINKS).unwrap_or_default()
}

/// The number of the last line of the log that the client has.
fn known_lines(query: Option<&str>) -> Result<u64, String> {
    let query = query.unwrap_or_default();
    let number = match query.split_once('=') {
        None if query.is_empty() => return Ok(0),
        Some(("log", number)) => number.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| format!("{query}: expected log=NUMBER"))
}

/// What is to be reloaded.
#[derive(Debug, PartialEq, Eq)]
enum ReloadTarget {
    Pool(String),
    Configuration(Configuration),
}

/// What a query names. Another name in it is a mistake that would reload everything.
fn reload_target(query: Option<&str>) -> Result<ReloadTarget, QueryError> {
    let (mut pool, mut file) = (None, None);
    for pair in query.unwrap_or_default().split('&') {
        match pair.split_once('=') {
            Some(("pool", name)) if !name.is_empty() => pool = Some(decoded(name)?),
            Some(("config", path)) if !path.is_empty() => file = Some(decoded(path)?),
            None if pair.is_empty() => {}
            _ => {
                let text = format!("{pair}: expected pool=NAME or config=FILE");
                return Err(QueryError(text));
            }
        }
    }
    Ok(match (pool, file) {
        (Some(_), Some(_)) => {
            let text = "pool= reloads PHP alone: remove config=";
            return Err(QueryError(text.into()));
        }
        (Some(pool), None) => ReloadTarget::Pool(pool),
        (None, Some(file)) => ReloadTarget::Configuration(Configuration::File(file.into())),
        (None, None) => ReloadTarget::Configuration(Configuration::Same),
    })
}

/// The number of a crash report.
fn number(query: Option<&str>) -> Result<Option<u64>, String> {
    let Some(query) = query.filter(|query| !query.is_empty()) else {
        return Ok(None);
    };
    let number = query
        .strip_prefix("number=")
        .and_then(|text| text.parse().ok());
    number
        .map(Some)
        .ok_or_else(|| format!("{query}: expected number=N"))
}

fn crashes(result: Result<Value, CrashesError>) -> Answer {
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

/// What became of the samples is in a header: not every format has room for it.
fn profiled(result: Result<ProfileReply, ProfileError>) -> Answer {
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
    let mut answer = response(reply.format.media_type(), reply.body.into());
    if let Ok(summary) = HeaderValue::from_str(&reply.summary) {
        answer.headers_mut().insert(PROFILE_SUMMARY, summary);
    }
    answer
}

fn reloaded(
    result: Result<ReloadReport, ReloadError>,
    success: impl FnOnce(ReloadReport) -> Answer,
) -> Answer {
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

fn error(status: StatusCode, text: &str) -> Answer {
    let mut answer = json(&json!({"error": text}));
    *answer.status_mut() = status;
    answer
}

fn json(value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(mut body) => {
            body.push(b'\n');
            response("application/json", body.into())
        }
        Err(cause) => {
            let mut answer = text(&format!("{cause}\n"));
            *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            answer
        }
    }
}

fn text(text: &str) -> Answer {
    response(
        "text/plain; charset=utf-8",
        Bytes::copy_from_slice(text.as_bytes()),
    )
}

fn response(kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_lines_of_the_log() {
        assert_eq!(known_lines(None), Ok(0));
        assert_eq!(known_lines(Some("")), Ok(0));
        assert_eq!(known_lines(Some("log=17")), Ok(17));
        for wrong in ["log", "log=", "log=-1", "log=x", "lines=1"] {
            assert!(known_lines(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn queries() {
        let pool = |name: &str| Ok(ReloadTarget::Pool(name.to_owned()));
        let all = |from| Ok(ReloadTarget::Configuration(from));
        assert_eq!(reload_target(None), all(Configuration::Same));
        assert_eq!(reload_target(Some("")), all(Configuration::Same));
        let file = Configuration::File("/etc/a b".into());
        assert_eq!(reload_target(Some("config=%2Fetc%2Fa%20b")), all(file));
        assert_eq!(reload_target(Some("pool=app")), pool("app"));
        assert_eq!(reload_target(Some("pool=a%20b+c%C3%A9")), pool("a b cé"));
        for wrong in [
            "pol=app",
            "pool",
            "pool=",
            "pool=%",
            "pool=%zz",
            "pool=%ff",
            "x",
            "config=",
            "pool=a&config=b",
        ] {
            assert!(reload_target(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
