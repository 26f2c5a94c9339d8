//! Parts of the model: `reverse_proxy` and the upstream of `php_fastcgi`.

use std::path::PathBuf;
use std::time::Duration;

use super::compression::ResponseMatcher;
use super::expression::Network;
use super::https::CertificateFiles;
use super::placeholder::Template;
use super::response::HeaderChange;
use super::route::Route;

/// Where a server that requests are passed on to listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// `HOST:PORT`.
    Tcp {
        /// A name or an IP address without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// `unix//PATH`.
    Unix(PathBuf),
}

impl std::fmt::Display for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix/{}", path.display()),
        }
    }
}

/// `https://` and `transport http { tls … }`: how connections to upstreams are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpstreamTls {
    /// `tls_server_name`: the name that the upstream's certificate must match; default the host of its address.
    pub server_name: Option<String>,
    /// `tls_insecure_skip_verify`: the upstream's certificate is not verified. Default false.
    pub insecure: bool,
    /// `tls_trust_pool`, `tls_trusted_ca_certs`: PEM files with the authorities that are trusted; default
    /// those of the system.
    pub roots: Vec<PathBuf>,
    /// `tls_client_auth`: client certificate for the upstream; default none.
    pub client: Option<CertificateFiles>,
    /// `tls_timeout`: for the handshake; default `dial_timeout`.
    pub timeout: Option<Duration>,
}

/// `lb_policy`: which upstream a request goes to, of those that are healthy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Policy {
    /// Any one.
    #[default]
    Random,
    /// One after the other.
    RoundRobin,
    /// The one with the fewest requests under way.
    LeastConnections,
    /// The first.
    First,
    /// By the address of the connection's other side.
    IpHash,
    /// By the client's address; trusted proxies may forward it.
    ClientIpHash,
    /// By the path and query.
    UriHash,
    /// By a header field; at random without it.
    Header(String),
    /// By a cookie, which is set where it is missing.
    Cookie(String),
}

/// Which of several upstreams a request goes to, and when one of them is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    /// `lb_policy`: default at random; in `php_fastcgi` one after the other.
    pub policy: Policy,
    /// `lb_retries`: how many other attempts there are when an upstream cannot be reached. Default 0; in
    /// `php_fastcgi` as many as there are other upstreams, if no attempts are configured.
    pub retries: u32,
    /// `lb_try_duration`: attempts go on for so long. Default 0: as many as `retries`.
    pub try_duration: Duration,
    /// `lb_try_interval`: between two attempts. Default 250 ms; none between those that `php_fastcgi` makes
    /// although no attempts are configured.
    pub try_interval: Duration,
    /// `fail_duration`: an upstream that failed `max_fails` times within it is not used. Default 0:
    /// failures are not remembered.
    pub fail_duration: Duration,
    /// `max_fails`: default 1.
    pub max_fails: u32,
    /// `unhealthy_status`: answers that count as failures, first and last of each.
    pub unhealthy_status: Vec<(u16, u16)>,
    /// `unhealthy_latency`: an answer that takes so long counts as a failure. Default none does.
    pub unhealthy_latency: Option<Duration>,
    /// `unhealthy_request_count`: an upstream with so many requests under way is not used.
    pub max_requests: Option<usize>,
}

impl Default for Balance {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            retries: 0,
            try_duration: Duration::ZERO,
            try_interval: Duration::from_millis(250),
            fail_duration: Duration::ZERO,
            max_fails: 1,
            unhealthy_status: Vec::new(),
            unhealthy_latency: None,
            max_requests: None,
        }
    }
}

/// `health_uri` and related options: active health checks of upstreams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// `health_uri`: path and query of the request.
    pub uri: String,
    /// `health_interval`: default 30 s.
    pub interval: Duration,
    /// `health_timeout`: default 5 s.
    pub timeout: Duration,
    /// `health_status`: first and last that is well; default 200 to 299.
    pub status: (u16, u16),
}

/// `reverse_proxy`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReverseProxy {
    /// At least one.
    pub upstreams: Vec<Upstream>,
    /// `https://`, `tls` …: default without encryption. With it requests have the upstream's address as
    /// their `Host`, unless `header_up` says otherwise.
    pub tls: Option<UpstreamTls>,
    /// `lb_policy` …
    pub balance: Balance,
    /// `health_uri` …: default none.
    pub health: Option<HealthCheck>,
    /// `method`: another method of the request. GET and HEAD have no body.
    pub method: Option<Template>,
    /// `rewrite`: another path and query of the request.
    pub rewrite: Option<Template>,
    /// `trusted_proxies`: whose `X-Forwarded-*` are passed on, in place of the global ones.
    pub trusted_proxies: Option<Vec<Network>>,
    /// `header_up`: changes of the request's header, in order.
    pub header_up: Vec<HeaderChange>,
    /// `header_down`: changes of the response's header, in order.
    pub header_down: Vec<HeaderChange>,
    /// `dial_timeout`: default 3 s.
    pub dial_timeout: Duration,
    /// `response_header_timeout`: default none.
    pub response_header_timeout: Option<Duration>,
    /// `keepalive`: how long a connection without a request is kept; `None`: not at all. Default 2 min.
    pub keepalive: Option<Duration>,
    /// `flush_interval -1`: the response is awaited although the client has disconnected.
    pub outlasts_client: bool,
    /// `stream_timeout`: how long a WebSocket may last; default without a limit.
    pub stream_timeout: Option<Duration>,
    /// `handle_response` and `replace_status`, in order.
    pub intercept: Intercept,
}

impl ReverseProxy {
    /// One with Caddy's defaults.
    #[must_use]
    pub fn new(upstreams: Vec<Upstream>) -> Self {
        Self {
            upstreams,
            tls: None,
            balance: Balance::default(),
            health: None,
            method: None,
            rewrite: None,
            trusted_proxies: None,
            header_up: Vec::new(),
            header_down: Vec::new(),
            dial_timeout: Duration::from_secs(3),
            response_header_timeout: None,
            keepalive: Some(Duration::from_secs(120)),
            outlasts_client: false,
            stream_timeout: None,
            intercept: Intercept::default(),
        }
    }
}

/// `forward_auth`.
#[derive(Debug, Clone, PartialEq)]
pub struct ForwardAuth {
    /// Request to the authentication server: GET, without the body. A request continues after a 2xx;
    /// otherwise that is the response.
    pub proxy: ReverseProxy,
    /// `copy_headers`: fields of the answer, and under which name the request is given them.
    pub copy_headers: Vec<(String, String)>,
}

/// `copy_response_headers`: what stays of the header of a response that is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyHeaders {
    /// All fields.
    All,
    /// `include`.
    Only(Vec<String>),
    /// `exclude`.
    AllBut(Vec<String>),
}

/// What is done with certain responses; of several rules the first that matches.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Intercept {
    /// In the order of the file.
    pub rules: Vec<InterceptRule>,
    /// The header of a response that is replaced stays: so in `intercept`. In `reverse_proxy` it does as
    /// far as `copy_response_headers` says.
    pub keeps_header: bool,
}

impl Intercept {
    /// The routes in it.
    pub(crate) fn routes(&self) -> impl Iterator<Item = &[Route]> {
        self.rules.iter().filter_map(|rule| match &rule.action {
            InterceptAction::Handle(routes) => Some(routes.as_slice()),
            InterceptAction::Status(_) => None,
        })
    }
}

/// `handle_response [@NAME] { … }` or `replace_status [@NAME] CODE`.
#[derive(Debug, Clone, PartialEq)]
pub struct InterceptRule {
    /// Which responses it is for; `None`: all.
    pub matcher: Option<ResponseMatcher>,
    /// What is done.
    pub action: InterceptAction,
}

/// What is done with a response.
#[derive(Debug, Clone, PartialEq)]
pub enum InterceptAction {
    /// `replace_status CODE`.
    Status(u16),
    /// `handle_response { … }`: another response in its place.
    Handle(Vec<Route>),
}

/// The PHP-FPM (or its like) of a `php_fastcgi`.
#[derive(Debug, Clone, PartialEq)]
pub struct FastCgi {
    /// At least one.
    pub upstreams: Vec<Upstream>,
    /// `lb_policy` …
    pub balance: Balance,
    /// `health_uri` …: default none.
    pub health: Option<HealthCheck>,
    /// `dial_timeout`: default 3 s.
    pub dial_timeout: Duration,
    /// `read_timeout`: between two reads; default none.
    pub read_timeout: Option<Duration>,
    /// `write_timeout`: between two writes; default none.
    pub write_timeout: Option<Duration>,
    /// `capture_stderr`: what comes as standard error is logged as a warning, not only when the
    /// response is an error. Default false.
    pub capture_stderr: bool,
    /// `trusted_proxies`: whose `X-Forwarded-*` PHP gets. `None`: those of the server.
    pub trusted_proxies: Option<Vec<Network>>,
    /// `handle_response` and `replace_status`, in order.
    pub intercept: Intercept,
}

impl FastCgi {
    /// One with Caddy's defaults.
    #[must_use]
    pub fn new(upstreams: Vec<Upstream>) -> Self {
        Self {
            upstreams,
            balance: Balance::default(),
            health: None,
            dial_timeout: Duration::from_secs(3),
            read_timeout: None,
            write_timeout: None,
            capture_stderr: false,
            trusted_proxies: None,
            intercept: Intercept::default(),
        }
    }
}
