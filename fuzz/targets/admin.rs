//! `howdah_observe`: requests to the admin API.
//!
//! ```text
//! 1 2 3              after how many bytes the body is cut; before them `-`: on a Unix socket, `+N`: a body
//!                    that is longer by N kilobytes, `c`: PHP has fewer rights than the server
//! POST /load?query
//! name: value        the request's fields, any number
//!                    an empty line
//! the body
//! ```
#![no_main]
#![allow(
    unfulfilled_lint_expectations,
    reason = "modules that are public in their crate are private here"
)]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body::{Body, Frame, SizeHint};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/address.rs"]
mod address;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/call.rs"]
mod call;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/control.rs"]
mod control;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/dashboard/mod.rs"]
mod dashboard;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/endpoint.rs"]
mod endpoint;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/guard.rs"]
mod guard;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/log_sink.rs"]
mod log_sink;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/profile.rs"]
mod profile;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/query.rs"]
mod query;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/reply.rs"]
mod reply;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/admin/routes.rs"]
mod routes;

use address::AdminAddress;
use control::{
    CertificateAuthority, Configuration, Control, CrashesError, ReloadError, ReloadReport,
    ReloadedPool, SequentialPool, Thread, UnhealthyError,
};
use guard::Guard;
use log_sink::LogSink;
use profile::{ProfileError, ProfileReply, ProfileRequest};

/// `howdah_observe::metrics`.
mod metrics {
    pub(crate) fn for_client(accept: Option<&str>, page: String) -> (&'static str, String) {
        let kind = accept.map_or("text/plain", |_| "application/openmetrics-text");
        (kind, page)
    }
}

/// Path of the configuration that the server reads.
const OWN: &str = "/srv/Caddyfile";
/// Limit of a request body in bytes.
const MAX_BODY: usize = 1 << 20;
const KILOBYTE: Bytes = Bytes::from_static(&[b' '; 1024]);

thread_local! {
    static RUNTIME: Runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    /// For requests over TCP, and for those on a Unix socket.
    static GUARDS: RefCell<[Guard; 2]> = RefCell::new(
        ["box.local:2019", "unix//run/a.sock"].map(|address| {
            Guard::new(&address.parse::<AdminAddress>().expect("an address"))
        }),
    );
}

fuzz_target!(|data: &[u8]| {
    RUNTIME.with(|runtime| {
        let _guard = runtime.enter();
        _ = run(data);
    });
});

/// Effect of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Did {
    Reload(Option<String>),
    Configure(Configuration),
    Stop,
    Asked(&'static str),
}

fn run(data: &[u8]) -> Option<()> {
    let end = data.windows(2).position(|pair| pair == b"\n\n")?;
    let (head, body) = (&data[..end], &data[end + 2..]);
    let mut lines = head.split(|byte| *byte == b'\n');
    let setting = str::from_utf8(lines.next()?).ok()?;
    let (method, target) = str::from_utf8(lines.next()?).ok()?.split_once(' ')?;
    let mut parts = Request::new(()).into_parts().0;
    parts.method = Method::from_bytes(method.as_bytes()).ok()?;
    parts.uri = Uri::try_from(target).ok()?;
    parts.headers = fields(lines)?;
    let (body, sent) = pieces(setting, body);
    let unix = setting.starts_with('-');

    let php_restricted = setting.split(' ').any(|word| word == "c");
    let control = Seen {
        did: Mutex::default(),
        php_restricted,
    };
    let request = Request::from_parts(parts.clone(), body);
    let answer = GUARDS.with_borrow(|guards| {
        let answering = pin!(routes::respond(
            &control,
            &guards[usize::from(unix)],
            request,
            || {},
        ));
        // All futures that the response awaits are ready here.
        match answering.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer,
            Poll::Pending => panic!("it waits"),
        }
    });
    let did = control.did.into_inner().expect("no panic");
    let (head, body) = answer.into_parts();
    let body = body_of(body);

    if head.status == StatusCode::FOUND {
        assert_eq!((parts.uri.path(), &did[..]), ("/", &[][..]));
        return Some(());
    }
    // Responses must not be cached, and an error has a text.
    assert_eq!(head.headers[CACHE_CONTROL], "no-store");
    let kind = head.headers[CONTENT_TYPE].to_str().expect("text");
    if kind == "application/json" {
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        if !head.status.is_success() {
            assert!(body["error"].as_str().is_some_and(|text| !text.is_empty()));
        }
    } else {
        assert!(head.status.is_success());
    }
    let expected = match refusal(&parts, unix) {
        Some(status) => Err(status),
        // These paths have separate tests and do not change the state of the others.
        None if is_for_display(parts.uri.path()) => return Some(()),
        None => expected(&parts, &sent, unix, php_restricted),
    };
    match &expected {
        Ok(wanted) => {
            assert_eq!(did[..], [wanted.clone()][..wanted.count()]);
            let failed = did.contains(&Did::Reload(Some("nobody".into())));
            assert_eq!(head.status.is_success(), !failed, "{did:?}");
        }
        Err(status) => {
            assert_eq!(did, [], "refused and done");
            assert_eq!(head.status, *status);
        }
    }
    assert_eq!(
        head.status == StatusCode::METHOD_NOT_ALLOWED,
        head.headers.contains_key(ALLOW)
    );
    Some(())
}

impl Did {
    /// Number of expected calls. Responses with known content need none.
    fn count(&self) -> usize {
        usize::from(*self != Self::Asked(""))
    }
}

/// Status of the refusal of a request that a page of another site may have sent.
fn refusal(parts: &Parts, unix: bool) -> Option<StatusCode> {
    let headers = &parts.headers;
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_own_page = |origin: &HeaderValue| {
        let host = headers.get(HOST).map(HeaderValue::as_bytes);
        let authority = origin.as_bytes().strip_prefix(b"http://");
        !unix
            && matches!(site, None | Some(b"same-origin"))
            && host
                .zip(authority)
                .is_some_and(|(host, own)| host.eq_ignore_ascii_case(own))
    };
    let is_refused = !headers.get(ORIGIN).is_none_or(is_own_page)
        || !matches!(site, None | Some(b"none" | b"same-origin"))
        || !unix && !is_local(parts);
    is_refused.then_some(StatusCode::FORBIDDEN)
}

/// Whether the path is for dashboards, profiles or crash reports.
fn is_for_display(path: &str) -> bool {
    let paths = [
        "/activity",
        "/config/apps/http/servers/howdah/logs",
        "/crashes",
        "/profile",
    ];
    paths.contains(&path)
        || path == "/"
        || ["/dashboard", "/config/logging/logs/"]
            .iter()
            .any(|folder| path.starts_with(folder))
}

/// Reference implementation: the expected effect of a request, or the status of its refusal.
fn expected(
    parts: &Parts,
    body: &[u8],
    unix: bool,
    php_restricted: bool,
) -> Result<Did, StatusCode> {
    let headers = &parts.headers;
    let did = match parts.uri.path() {
        "/config" | "/config/" => ("GET", Did::Asked("config_json")),
        "/config/apps/frankenphp" if parts.method == Method::PATCH => ("PATCH", Did::Reload(None)),
        "/config/apps/frankenphp" => ("GET", Did::Asked("config")),
        "/config/apps/http/metrics" => ("GET", Did::Asked("")),
        "/config/apps/http/servers" => ("GET", Did::Asked("servers")),
        "/frankenphp/threads" => ("GET", Did::Asked("threads")),
        "/frankenphp/workers/restart" => ("POST", Did::Reload(None)),
        "/health" | "/readyz" => ("GET", Did::Asked("health")),
        "/healthz" => ("GET", Did::Asked("")),
        "/load" => ("POST", Did::Configure(Configuration::Same)),
        "/metrics" => ("GET", Did::Asked("metrics")),
        "/pki/ca/local" | "/pki/ca/local/certificates" => ("GET", Did::Asked("authority")),
        "/preload" => ("GET", Did::Asked("preloads")),
        "/reload" => ("POST", Did::Configure(Configuration::Same)),
        "/requests" => ("GET", Did::Asked("requests")),
        "/status" => ("GET", Did::Asked("status")),
        "/stop" => ("POST", Did::Stop),
        _ => return Err(StatusCode::NOT_FOUND),
    };
    let is_head = parts.method == Method::HEAD && did.0 == "GET";
    if parts.method != did.0 && !is_head {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    // PHP can send every request that is accepted over TCP.
    let refused = match parts.uri.path() {
        "/load" | "/config" | "/config/" => php_restricted,
        "/reload" => matches!(
            reload(parts.uri.query().unwrap_or_default()),
            Ok(Did::Configure(Configuration::File(file))) if file.as_os_str() != OWN
        ),
        _ => false,
    };
    if refused && !unix {
        return Err(StatusCode::FORBIDDEN);
    }
    if body.len() > MAX_BODY {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match parts.uri.path() {
        "/load" => {
            let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
            let kind = kind.unwrap_or_default().to_ascii_lowercase();
            let kind = kind.split(|byte| *byte == b';').next();
            // For values that are not text, no result is the only right one.
            if kind.unwrap_or_default().trim_ascii() != b"text/caddyfile" {
                return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
            }
            let text = str::from_utf8(body).map_err(|_| StatusCode::BAD_REQUEST)?;
            Ok(Did::Configure(Configuration::Text(text.to_owned())))
        }
        "/reload" => reload(parts.uri.query().unwrap_or_default()),
        _ => Ok(did.1),
    }
}

/// Whether the request has an address, or one of the names of the admin API.
fn is_local(parts: &Parts) -> bool {
    let hosts: Vec<_> = parts.headers.get_all(HOST).iter().collect();
    let host = match (parts.uri.host(), &hosts[..]) {
        (Some(host), [] | [_]) => host.to_owned(),
        (None, [one]) => {
            let text = String::from_utf8_lossy(one.as_bytes()).into_owned();
            match text.rfind(':') {
                Some(at) if text[at + 1..].bytes().all(|byte| byte.is_ascii_digit()) => {
                    text[..at].to_owned()
                }
                _ => text,
            }
        }
        _ => return false,
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let name = bare.to_ascii_lowercase();
    name == "localhost" || name == "box.local" || bare.parse::<std::net::IpAddr>().is_ok()
}

/// Parses the query as a form and rejects unknown names and incomplete escapes.
fn reload(query: &str) -> Result<Did, StatusCode> {
    let wrong = StatusCode::BAD_REQUEST;
    let (mut pool, mut file) = (None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or(wrong)?;
        let escapes = value.split('%').skip(1).all(|rest| {
            let digits = rest.as_bytes().get(..2);
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        });
        let decoded: Vec<u8> = form_urlencoded::parse(value.replace('=', "%3D").as_bytes())
            .next()
            .map(|(value, _)| value.into_owned().into_bytes())
            .unwrap_or_default();
        let decoded = String::from_utf8(decoded).map_err(|_| wrong)?;
        let is_text = percent_encoding::percent_decode_str(value)
            .decode_utf8()
            .is_ok();
        if value.is_empty() || !escapes || !is_text {
            return Err(wrong);
        }
        match name {
            "pool" => pool = Some(decoded),
            "config" => file = Some(decoded),
            _ => return Err(wrong),
        }
    }
    match (pool, file) {
        (Some(_), Some(_)) => Err(wrong),
        (Some(pool), None) => Ok(Did::Reload(Some(pool))),
        (None, Some(file)) => Ok(Did::Configure(Configuration::File(file.into()))),
        (None, None) => Ok(Did::Configure(Configuration::Same)),
    }
}

fn fields<'l>(lines: impl Iterator<Item = &'l [u8]>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        headers.append(
            HeaderName::from_bytes(&line[..colon]).ok()?,
            HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?,
        );
    }
    // A value that is not text counts as missing.
    let text = |name| {
        headers
            .get(name)
            .is_none_or(|value: &HeaderValue| value.to_str().is_ok())
    };
    (text(CONTENT_TYPE) && text(ACCEPT)).then_some(headers)
}

/// A body that arrives in pieces.
struct Pieces(VecDeque<Bytes>);

/// Returns the pieces, and the whole body.
fn pieces(setting: &str, body: &[u8]) -> (Pieces, Vec<u8>) {
    let mut pieces = VecDeque::new();
    let mut rest = body;
    for word in setting.split(' ') {
        if let Some(more) = word.strip_prefix('+').and_then(|more| more.parse().ok()) {
            // A body of more than twice the limit would test nothing new.
            pieces.extend(std::iter::repeat_n(KILOBYTE, usize::min(more, 2048)));
        } else if let Ok(length) = word.parse::<usize>() {
            let (piece, left) = rest.split_at(length.min(rest.len()));
            pieces.push_back(Bytes::copy_from_slice(piece));
            rest = left;
        }
    }
    pieces.push_back(Bytes::copy_from_slice(rest));
    let all = pieces.iter().flatten().copied().collect();
    (Pieces(pieces), all)
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(
            self.get_mut()
                .0
                .pop_front()
                .map(|piece| Ok(Frame::data(piece))),
        )
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

fn body_of<B: Body<Data = Bytes, Error = Infallible>>(body: B) -> Vec<u8> {
    let mut body = pin!(body);
    let mut whole = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(Ok(frame))) = body.as_mut().poll_frame(&mut cx) {
        whole.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    whole
}

/// Records the calls.
struct Seen {
    did: Mutex<Vec<Did>>,
    php_restricted: bool,
}

impl Seen {
    fn note(&self, did: Did) {
        self.did.lock().expect("no panic").push(did);
    }

    fn call(&self, what: &'static str) -> Value {
        self.note(Did::Asked(what));
        json!({})
    }
}

impl Control for Seen {
    async fn reload(&self, pool: Option<String>) -> Result<ReloadReport, ReloadError> {
        self.note(Did::Reload(pool.clone()));
        if pool.as_deref() == Some("nobody") {
            let (name, known) = ("nobody".into(), Vec::new());
            return Err(ReloadError::UnknownPool { name, known });
        }
        let pools = vec![ReloadedPool {
            pool: pool.unwrap_or_default(),
            generation: 2,
            took_ms: 1,
        }];
        Ok(ReloadReport {
            pools,
            configuration: None,
            fresh: None,
        })
    }

    async fn configure(&self, from: Configuration) -> Result<ReloadReport, ReloadError> {
        self.note(Did::Configure(from));
        Ok(ReloadReport {
            pools: Vec::new(),
            configuration: None,
            fresh: None,
        })
    }

    async fn status(&self) -> Value {
        self.call("status")
    }

    async fn threads(&self) -> Vec<Thread> {
        self.call("threads");
        Vec::new()
    }

    async fn requests(&self, _: bool) -> Value {
        self.call("requests")
    }

    fn log_sink(&self, _: &str) -> Option<Value> {
        None
    }

    fn set_log_sink(&self, _: &str, _: LogSink) -> Result<(), String> {
        Ok(())
    }

    fn remove_log_sink(&self, _: &str) -> bool {
        false
    }

    async fn activity(&self, _: Option<u64>) -> Value {
        json!({})
    }

    async fn profile(&self, _: ProfileRequest) -> Result<ProfileReply, ProfileError> {
        Err(ProfileError::NoSamples)
    }

    async fn crashes(&self) -> Result<Value, CrashesError> {
        Ok(json!({}))
    }

    async fn crash(&self, number: u64) -> Result<Value, CrashesError> {
        Err(CrashesError::Unknown(number))
    }

    async fn clear_crashes(&self) -> Result<Value, CrashesError> {
        Ok(json!({}))
    }

    fn crashes_are_private(&self) -> bool {
        self.php_restricted
    }

    async fn preloads(&self) -> Value {
        self.call("preloads")
    }

    async fn authority(&self) -> Result<Option<CertificateAuthority>, String> {
        self.call("authority");
        Ok(Some(CertificateAuthority {
            id: "local".into(),
            name: "An authority".into(),
            root_common_name: "the root".into(),
            intermediate_common_name: "the intermediate".into(),
            root_certificate: "ROOT\n".into(),
            intermediate_certificate: "INTERMEDIATE\n".into(),
        }))
    }

    async fn metrics(&self) -> String {
        self.call("metrics").to_string()
    }

    fn config_json(&self) -> Value {
        self.call("config_json")
    }

    fn config(&self) -> Value {
        self.call("config")
    }

    fn config_file(&self) -> Option<PathBuf> {
        Some(OWN.into())
    }

    fn is_php_restricted(&self) -> bool {
        self.php_restricted
    }

    fn servers(&self) -> Value {
        self.call("servers")
    }

    fn counts_requests(&self) -> bool {
        true
    }

    async fn health(&self) -> Result<Vec<SequentialPool>, UnhealthyError> {
        self.call("health");
        Ok(Vec::new())
    }

    fn stop(&self) {
        self.note(Did::Stop);
    }
}
