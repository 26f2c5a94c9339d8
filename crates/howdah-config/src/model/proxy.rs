//! Parts of the model: `reverse_proxy` and the upstream of `php_fastcgi`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::compression::ResponseMatcher;
use super::expression::Network;
use super::https::CertificateFiles;
use super::matcher::Matcher;
use super::placeholder::Template;
use super::proxy_protocol::ProxyHeaderVersion;
use super::response::{HeaderChange, Status, StatusRange};
use super::route::Route;

/// The address of a server to which requests are passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Upstream {
    /// `HOST:PORT`.
    Tcp {
        /// A name or an IP address without brackets.
        host: String,
        port: u16,
    },
    /// `unix//PATH`.
    Unix(PathBuf),
    /// `HOST:PORT` with placeholders: another server for each request. Only in `reverse_proxy`.
    Template {
        template: Template,
        /// As written.
        text: String,
    },
}

impl std::fmt::Display for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix/{}", path.display()),
            Self::Template { text, .. } => f.write_str(text),
        }
    }
}

/// `dynamic a`: upstreams at the addresses of a name, which is resolved again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicUpstreams {
    /// `name`: the name.
    pub name: String,
    /// `port`: of all upstreams.
    pub port: u16,
    /// `refresh`: how long its addresses are used. Default 1 min.
    pub refresh: Duration,
    /// `versions ipv4`: default true.
    pub ipv4: bool,
    /// `versions ipv6`: default true.
    pub ipv6: bool,
}

/// `https://` and `transport http { tls … }`: TLS of connections to upstreams.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpstreamTls {
    /// `tls_server_name`: the name that the upstream's certificate must match; default the host of its address.
    pub server_name: Option<String>,
    /// `tls_insecure_skip_verify`: the upstream's certificate is not verified. Default false.
    pub insecure: bool,
    /// `tls_trust_pool`, `tls_trusted_ca_certs`: PEM files with the trusted authorities; default those of the system.
    pub roots: Vec<PathBuf>,
    /// `tls_client_auth`: client certificate for the upstream; default none.
    pub client: Option<CertificateFiles>,
    /// `tls_timeout`: for the handshake; default `dial_timeout`.
    pub timeout: Option<Duration>,
}

/// `versions`, `h2c://`: the versions of HTTP to upstreams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpstreamVersions {
    /// `1.1`: default true.
    pub http1: bool,
    /// `2`, over TLS: default false.
    pub http2: bool,
    /// `h2c`, without TLS: default false.
    pub h2c: bool,
}

impl Default for UpstreamVersions {
    fn default() -> Self {
        Self {
            http1: true,
            http2: false,
            h2c: false,
        }
    }
}

/// `lb_policy`: how one of the healthy upstreams is chosen for a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Policy {
    /// Any one.
    #[default]
    Random,
    /// The one with the fewest requests in flight, of so many that are chosen at random.
    RandomChoose(u32),
    /// One after the other.
    RoundRobin,
    /// One after the other, each as many times in a row as its weight; one weight for each upstream.
    WeightedRoundRobin(Vec<u32>),
    /// The one with the fewest requests in flight.
    LeastConnections,
    /// The first.
    First,
    /// By the address of the connection's peer.
    IpHash,
    /// By the client's address; trusted proxies may forward it.
    ClientIpHash,
    /// By the path and query.
    UriHash,
    /// By a header field.
    Header {
        name: String,
        /// For requests without it.
        fallback: Box<Policy>,
    },
    /// By a parameter of the query.
    Query {
        /// Its name.
        key: String,
        /// For requests without it.
        fallback: Box<Policy>,
    },
    /// By a cookie, which is set if it is missing.
    Cookie {
        name: String,
        /// Key of the hash of the upstream's address that is its value. Default empty.
        secret: String,
        /// How long it is valid; `None`: until the browser is closed.
        max_age: Option<Duration>,
        /// For requests without it, and if its upstream is unhealthy.
        fallback: Box<Policy>,
    },
}

impl Policy {
    /// Its name in a Caddyfile.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::RandomChoose(_) => "random_choose",
            Self::RoundRobin => "round_robin",
            Self::WeightedRoundRobin(_) => "weighted_round_robin",
            Self::LeastConnections => "least_conn",
            Self::First => "first",
            Self::IpHash => "ip_hash",
            Self::ClientIpHash => "client_ip_hash",
            Self::UriHash => "uri_hash",
            Self::Header { .. } => "header",
            Self::Query { .. } => "query",
            Self::Cookie { .. } => "cookie",
        }
    }
}

impl Policy {
    /// The key of the values of the cookie that applies, by this policy or its fallback. Empty if there is none.
    #[must_use]
    pub fn cookie_secret(&self) -> &str {
        match self {
            Self::Cookie { secret, .. } => secret,
            Self::Header { fallback, .. } | Self::Query { fallback, .. } => {
                fallback.cookie_secret()
            }
            _ => "",
        }
    }
}

/// How upstreams are chosen, and when one of them is skipped.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    /// `lb_policy`: default random; in `php_fastcgi` round robin.
    pub policy: Policy,
    /// `lb_retries`: number of retries when an upstream cannot be reached. Default 0; in `php_fastcgi` the number of
    /// other upstreams, if no retries are configured.
    pub retries: u32,
    /// `lb_try_duration`: time for retries. Default 0: only `retries` counts.
    pub try_duration: Duration,
    /// `lb_try_interval`: between two attempts. Default 250 ms with `try_duration`, otherwise 0.
    pub try_interval: Duration,
    /// `lb_retry_match`: a request that an upstream may have begun is only sent again if one of these matches. Default
    /// none: if its method is safe.
    pub retry_match: Vec<Matcher>,
    /// `fail_duration`: an upstream that failed `max_fails` times within it is not used. Default 0:
    /// failures are not counted.
    pub fail_duration: Duration,
    /// `max_fails`: default 1.
    pub max_fails: u32,
    /// `unhealthy_status`: statuses that count as failures.
    pub unhealthy_status: Vec<StatusRange>,
    /// `unhealthy_latency`: a response that takes so long counts as a failure. By default none
    /// does.
    pub unhealthy_latency: Option<Duration>,
    /// `unhealthy_request_count`: an upstream with so many requests in flight is not used.
    pub max_requests: Option<usize>,
}

impl Default for Balance {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            retries: 0,
            try_duration: Duration::ZERO,
            try_interval: Duration::ZERO,
            retry_match: Vec::new(),
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
    /// `health_status`: healthy statuses; default 200 to 299.
    pub status: StatusRange,
    /// `health_method`: default GET.
    pub method: String,
    /// `health_headers`: names, and the pieces of values between which the name of the upstream stands; they replace
    /// those of the check.
    pub headers: Vec<(String, Vec<String>)>,
    /// `health_request_body`: default none.
    pub request_body: String,
    /// `health_body`: a regular expression that the body of a response must match; default none.
    pub body: Option<String>,
    /// `health_port`: default the port of the upstream.
    pub port: Option<u16>,
    /// `health_upstream`: default the upstream itself.
    pub upstream: Option<Upstream>,
    /// `health_passes`: checks in a row that make an upstream healthy again. Default 1.
    pub passes: u32,
    /// `health_fails`: checks in a row that make it unhealthy. Default 1.
    pub fails: u32,
    /// `health_follow_redirects`: default false.
    pub follows_redirects: bool,
}

impl HealthCheck {
    /// One with Caddy's defaults.
    #[must_use]
    pub fn new(uri: String) -> Self {
        Self {
            uri,
            interval: Duration::from_secs(30),
            timeout: Duration::from_secs(5),
            status: StatusRange::new(200, 299),
            method: "GET".to_owned(),
            headers: Vec::new(),
            request_body: String::new(),
            body: None,
            port: None,
            upstream: None,
            passes: 1,
            fails: 1,
            follows_redirects: false,
        }
    }
}

/// `reverse_proxy`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReverseProxy {
    /// With `dynamic` they are used until its name has addresses.
    pub upstreams: Vec<Upstream>,
    /// `dynamic a`: default none.
    pub dynamic: Option<DynamicUpstreams>,
    /// `https://`, `tls` …: default without TLS. With TLS, requests have the upstream's address as their `Host`, unless
    /// `header_up` sets it.
    pub tls: Option<UpstreamTls>,
    /// `versions` …: default HTTP/1.1.
    pub versions: UpstreamVersions,
    /// `lb_policy` …
    pub balance: Balance,
    /// `health_uri` …: default none.
    pub health: Option<HealthCheck>,
    /// `method`: changes the method of the request. GET and HEAD have no body.
    pub method: Option<Template>,
    /// `rewrite`: changes path and query of the request.
    pub rewrite: Option<Template>,
    /// `trusted_proxies`: proxies whose `X-Forwarded-*` are passed on, in place of the global ones.
    pub trusted_proxies: Option<Vec<Network>>,
    /// `header_up`: changes of the request's header, in order.
    pub header_up: Vec<HeaderChange>,
    /// `header_down`: changes of the response's header, in order.
    pub header_down: Vec<HeaderChange>,
    /// `dial_timeout`: default 3 s.
    pub dial_timeout: Duration,
    /// `response_header_timeout`: default none.
    pub response_header_timeout: Option<Duration>,
    /// `read_timeout`: between two parts of a response's body; default none.
    pub read_timeout: Option<Duration>,
    /// `keepalive`: how long an idle connection is kept open; `None`: not at all. Default 2 min.
    pub keepalive: Option<Duration>,
    /// `flush_interval -1`: waits for the response even if the client has disconnected.
    pub outlasts_client: bool,
    /// `write_timeout`: between two writes; default none.
    pub write_timeout: Option<Duration>,
    /// `proxy_protocol`: connections start with the address of the client; default not.
    pub proxy_protocol: Option<ProxyHeaderVersion>,
    /// `local_address`: where connections come from; default as the system chooses.
    pub local_address: Option<IpAddr>,
    /// `stream_timeout`: maximum duration of a WebSocket; default no limit.
    pub stream_timeout: Option<Duration>,
    /// `handle_response` and `replace_status`, in order.
    pub intercept: Intercept,
}

impl ReverseProxy {
    /// A proxy with Caddy's defaults.
    #[must_use]
    pub fn new(upstreams: Vec<Upstream>) -> Self {
        Self {
            upstreams,
            dynamic: None,
            tls: None,
            versions: UpstreamVersions::default(),
            balance: Balance::default(),
            health: None,
            method: None,
            rewrite: None,
            trusted_proxies: None,
            header_up: Vec::new(),
            header_down: Vec::new(),
            dial_timeout: Duration::from_secs(3),
            response_header_timeout: None,
            read_timeout: None,
            keepalive: Some(Duration::from_secs(120)),
            outlasts_client: false,
            write_timeout: None,
            proxy_protocol: None,
            local_address: None,
            stream_timeout: None,
            intercept: Intercept::default(),
        }
    }

    /// Requests to the upstreams are HTTP/2: negotiated with TLS, with prior knowledge without it.
    #[must_use]
    pub fn uses_http2(&self) -> bool {
        match &self.tls {
            Some(_) => self.versions.http2 && !self.versions.http1,
            None => self.versions.h2c,
        }
    }
}

/// `forward_auth`.
#[derive(Debug, Clone, PartialEq)]
pub struct ForwardAuth {
    /// Request to the authentication server: GET, without the body. The client's request continues after a 2xx;
    /// otherwise the client gets the server's response.
    pub proxy: ReverseProxy,
    /// Fields that are copied from the response to the request.
    pub copy_headers: Vec<CopiedHeader>,
}

/// `copy_headers`: a field of the response that is set in the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedHeader {
    /// Its name in the response.
    pub from: String,
    /// Its name in the request.
    pub to: String,
}

/// `copy_response_headers`: which header fields of a replaced response are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyHeaders {
    /// All fields.
    All,
    /// `include`.
    Only(Vec<String>),
    /// `exclude`.
    AllBut(Vec<String>),
}

/// Rules for certain responses; the first one that matches applies.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Intercept {
    /// In the order of the file.
    pub rules: Vec<InterceptRule>,
    /// A replaced response keeps its header: true for `intercept`. In `reverse_proxy`, `copy_response_headers` decides.
    pub keeps_header: bool,
}

impl Intercept {
    /// The routes in the rules.
    pub(crate) fn routes(&self) -> impl Iterator<Item = &[Route]> {
        self.rules.iter().filter_map(|rule| match &rule.action {
            InterceptAction::Handle(routes) => Some(routes.as_slice()),
            InterceptAction::Status(_) => None,
        })
    }
}

/// `handle_response [@NAME] { … }` or `replace_status [@NAME] CODE`.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct InterceptRule {
    /// Which responses it applies to; `None`: all.
    pub matcher: Option<ResponseMatcher>,
    pub action: InterceptAction,
}

/// The action for a response.
#[derive(Debug, Clone, PartialEq)]
pub enum InterceptAction {
    /// `replace_status CODE`.
    Status(Status),
    /// `handle_response { … }`: routes that replace the response.
    Handle(Vec<Route>),
}

/// The PHP-FPM (or similar server) of a `php_fastcgi`.
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
    /// `capture_stderr`: standard error is always logged as a warning, not only when the response
    /// is an error. Default false.
    pub capture_stderr: bool,
    /// `trusted_proxies`: proxies whose `X-Forwarded-*` PHP gets. `None`: the server's trusted
    /// proxies.
    pub trusted_proxies: Option<Vec<Network>>,
    /// `handle_response` and `replace_status`, in order.
    pub intercept: Intercept,
}

impl FastCgi {
    /// A server with Caddy's defaults.
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
