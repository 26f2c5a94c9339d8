//! The typed configuration: what a Caddyfile means after every name, number and reference in it was
//! checked. `howdah-http` executes it as it stands, so nothing here needs a second look at text.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use crate::access_log::{
    AccessLog, DurationFormat, Edit, Filter, LineFormat, LogFile, LogOutput, Roll, TimeFormat,
};
pub use crate::bind::{ListenerAddress, UnixSocket};
pub use crate::compression::{Compression, ContentCoding, Encode, ResponseMatcher};
pub use crate::https::{
    Acme, Alpn, CertificateFiles, CipherSuite, ClientAuth, Https, INTERNAL_LIFETIME, Issuer,
    NoSource, SiteTls, Source, TlsVersion, acme_authority, demanded, is_local, redirect_to_https,
    source,
};
pub use crate::https_storage::Redis;
pub use crate::hub::{HotReload, JwtKey, Mercure};
pub use crate::map::{Map, MapInput, MapOutput, MapPart, MapRow};
pub use crate::matching::{
    Comparison, Expression, Network, NetworkError, Operand, Protocol, Regexp, TextTest,
};
pub use crate::placeholder::{ClientPart, FileMatch, Part, Placeholder, Template};
pub use crate::privileges::{User, UserError};
pub use crate::proxy::{
    Balance, CopyHeaders, FastCgi, ForwardAuth, HealthCheck, Intercept, InterceptAction,
    InterceptRule, Policy, ReverseProxy, Upstream, UpstreamTls,
};
pub use crate::proxy_protocol::{ProxyPolicy, ProxyProtocol};
pub use crate::worker_pool::{
    Boot, CLASSIC_POOL, CONCURRENCY_MAX, CONCURRENT_WORKERS_MAX, Concurrency, Connections,
    Isolation, Keep, OnExit, PhpWorker, Statics, WORKERS_MAX, WorkerPool, WorkersMax,
};

/// A whole configuration: the global block and the sites.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// Options of the global block.
    pub global: Global,
    /// Sites in the order of the file.
    pub sites: Vec<Site>,
    /// All worker pools: those of the global block, then those of `php_server` and `php` blocks, in
    /// the order of the file.
    pub workers: Vec<WorkerPool>,
    /// All Mercure hubs, in the order of the file.
    pub hubs: Vec<Mercure>,
    /// All `hot_reload`: changes of files that browsers are told of.
    pub hot_reloads: Vec<HotReload>,
}

/// Options of the global block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Global {
    /// `debug`: log level debug.
    pub debug: bool,
    /// `http_port`: the port of `http://` addresses without one. Default 80.
    pub http_port: Option<u16>,
    /// `grace_period`: how long requests may go on after the order to stop; [`Duration::MAX`]: `0`, for
    /// as long as they like. Default 30 s.
    pub grace_period: Option<Duration>,
    /// `auto_https`, `https_port`, `email` and all else about HTTPS.
    pub https: Https,
    /// `servers`: limits of connections and requests, on all listeners that have none of their own.
    pub limits: Limits,
    /// `servers ADDRESS`: those of single listeners, each of which a site listens on. See
    /// [`limits_of`](Self::limits_of).
    pub listener_limits: Vec<(ListenerAddress, Limits)>,
    /// `servers { max_connections }`: connections at a time for the whole server; further ones wait to be
    /// accepted. Default [`MAX_CONNECTIONS`].
    pub max_connections: Option<usize>,
    /// `log`: the server's own log.
    pub log: LogOptions,
    /// `admin`: where the server takes orders and tells about itself.
    pub admin: Admin,
    /// A site has `tracing`.
    pub tracing: bool,
    /// `metrics`: requests are counted and timed. The directive of that name turns it on too.
    pub metrics: bool,
    /// `user`: what the whole server becomes once it has been started. Default: it stays as it is.
    pub user: Option<User>,
    /// `frankenphp` or `howdah`: the PHP side.
    pub php: Php,
}

/// Connections at a time, unless `max_connections` says otherwise.
pub const MAX_CONNECTIONS: usize = 50_000;

impl Global {
    /// Limits of a listener: its own, or those of all that have none. The two are not merged.
    #[must_use]
    pub fn limits_of(&self, listener: &ListenerAddress) -> &Limits {
        let mut own = self.listener_limits.iter();
        own.find(|(address, _)| address == listener)
            .map_or(&self.limits, |(_, limits)| limits)
    }

    /// All limits, those of single listeners last.
    pub fn all_limits(&self) -> impl Iterator<Item = &Limits> {
        let own = self.listener_limits.iter().map(|(_, limits)| limits);
        std::iter::once(&self.limits).chain(own)
    }
}

/// `admin`: where the server takes orders (reload, stop) and tells about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Admin {
    /// Not given. `howdah run` takes [`AdminAddress::default`], if it is free.
    #[default]
    Default,
    /// `admin off`.
    Off,
    /// `admin ADDRESS`.
    On(AdminAddress),
}

/// Where the admin API listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminAddress {
    /// `HOST:PORT`, `[::1]:PORT` or `:PORT` (all addresses).
    Tcp {
        /// A name or an IP address without brackets; empty means all addresses of the machine.
        host: String,
        /// The port.
        port: u16,
    },
    /// `unix//PATH`.
    Unix(PathBuf),
}

impl Default for AdminAddress {
    /// `localhost:2019`, as Caddy.
    fn default() -> Self {
        Self::Tcp {
            host: "localhost".into(),
            port: 2019,
        }
    }
}

impl std::fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix/{}", path.display()),
        }
    }
}

/// Limits of connections and requests of a listener: `servers { timeouts { … } max_header_size … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// From the first byte of a request to the end of its header. Default 10 s.
    pub read_header: Duration,
    /// Between two reads of a request body. Default 60 s.
    pub read_body: Duration,
    /// Between two writes that the client takes. Default 60 s.
    pub write: Duration,
    /// An idle keep-alive connection. Default 2 min.
    pub idle: Duration,
    /// Bytes of request line and header fields; more is answered 431 (414 for the URI alone). Default 32 KiB.
    pub max_header_size: usize,
    /// Bytes of a request body; more is answered 413. Default 128 MiB.
    pub max_body_size: u64,
    /// Bodies up to this many bytes stay in memory, larger ones go to a spool file. Default 64 KiB.
    pub memory_body_size: usize,
    /// `log_credentials`: header fields with passwords stand in access logs as they are. Default false.
    pub log_credentials: bool,
    /// `protocols`: HTTP/3 is served where HTTPS is. Default true.
    pub http3: bool,
    /// Whose word about the client is believed. Default nobody's.
    pub proxies: TrustedProxies,
    /// `listener_wrappers { proxy_protocol … }`: load balancers in front that pass on TCP. Default none.
    pub proxy_protocol: Option<ProxyProtocol>,
}

/// `trusted_proxies` and its like: proxies in front of this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedProxies {
    /// `trusted_proxies static RANGE…`: where they connect from.
    pub ranges: Vec<Network>,
    /// `client_ip_headers`: the fields that tell the client's address, the first that does counts.
    /// Default `X-Forwarded-For`.
    pub headers: Vec<String>,
    /// `trusted_proxies_strict`: the address is the last in the list that is no trusted proxy's;
    /// otherwise the first. Default false.
    pub strict: bool,
}

impl Default for TrustedProxies {
    fn default() -> Self {
        Self {
            ranges: Vec::new(),
            headers: vec!["X-Forwarded-For".into()],
            strict: false,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read_header: Duration::from_secs(10),
            read_body: Duration::from_secs(60),
            write: Duration::from_secs(60),
            idle: Duration::from_secs(120),
            max_header_size: 32 << 10,
            max_body_size: 128 << 20,
            memory_body_size: 64 << 10,
            log_credentials: false,
            http3: true,
            proxies: TrustedProxies::default(),
            proxy_protocol: None,
        }
    }
}

/// `log { level … format … output … }` of the global block: the server's own log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogOptions {
    /// Default: info, debug with the global `debug`.
    pub level: Option<LogLevel>,
    /// Default: readable on a terminal, JSON otherwise.
    pub format: Option<LogFormat>,
    /// Default: standard error.
    pub output: LogOutput,
}

/// Levels as Caddy spells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

/// `format console` or `format json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum LogFormat {
    Console,
    Json,
}

/// The most front threads that a server may have: the bound of the shared-memory contract.
pub const FRONT_THREADS_MAX: usize = 16;

/// The `frankenphp` (or `howdah`) block: PHP processes and their limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Php {
    /// `php`: the PHP executable; default `howdah-php` beside the running `howdah`, then on PATH.
    pub executable: Option<PathBuf>,
    /// `num_threads` (FrankenPHP's word) or `workers`: PHP processes of the classic pool.
    /// Default: the formula of `howdah-pool::default_workers`.
    pub workers: Option<usize>,
    /// `max_threads`: how many there may be when requests wait. Default: as many as `workers`.
    pub workers_max: WorkersMax,
    /// `max_idle_time`: a PHP process above `workers` that had nothing to do for so long ends.
    /// Default 5 s.
    pub max_idle_time: Duration,
    /// `front_threads`: threads that serve connections. Default: one for each core, 1 to 16.
    pub front_threads: Option<usize>,
    /// `php_ini NAME VALUE`: settings on top of the distribution's php.ini.
    pub ini: Vec<(String, String)>,
    /// `max_requests`: a PHP process is replaced after so many requests; 0: never. Default 0.
    pub max_requests: u32,
    /// `queue_length`: requests of a pool that may wait; more are answered 503. Default 1,024.
    pub queue_length: usize,
    /// `max_wait_time`: how long a request may wait for a PHP process; then 503. Default 30 s.
    pub max_wait_time: Duration,
    /// `request_timeout`: wall time of a request in PHP; then 504 and the process is replaced.
    /// Default none: `max_execution_time` counts.
    pub request_timeout: Option<Duration>,
    /// `response_buffer`: bytes of a response held for a slow client before PHP has to wait. Default 1 MiB.
    pub response_buffer: usize,
    /// `response_spool`: bytes of a response that a file takes for a slow client; `None`: `off`. Default 1 GiB.
    pub response_spool: Option<u64>,
    /// `user`: of all PHP processes but those of workers with one of their own. Default: the server's.
    pub user: Option<User>,
    /// `no_new_privs`: programs that PHP starts gain no rights. Default false.
    pub no_new_privs: bool,
}

impl Default for Php {
    fn default() -> Self {
        Self {
            executable: None,
            workers: None,
            workers_max: WorkersMax::Same,
            max_idle_time: Duration::from_secs(5),
            front_threads: None,
            ini: Vec::new(),
            max_requests: 0,
            queue_length: 1024,
            max_wait_time: Duration::from_secs(30),
            request_timeout: None,
            response_buffer: 1 << 20,
            response_spool: Some(1 << 30),
            user: None,
            no_new_privs: false,
        }
    }
}

/// One site block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Site {
    /// Its addresses; at least one.
    pub addresses: Vec<Address>,
    /// What is done with a request, in order, sorted as Caddy sorts directives.
    pub routes: Vec<Route>,
    /// `log`: the access logs; none without it.
    pub access_logs: Vec<AccessLog>,
    /// `bind`: the IP addresses to listen on. Neither these nor Unix sockets: all.
    pub bind: Vec<IpAddr>,
    /// `bind unix//PATH`: the Unix sockets to listen on, without encryption.
    pub unix_sockets: Vec<UnixSocket>,
    /// `tls`: how its addresses with HTTPS are encrypted.
    pub tls: SiteTls,
    /// `handle_errors`: what is done when the server itself has to answer with an error.
    pub errors: Vec<ErrorRoutes>,
    /// The first `mercure` of the block, by its index in [`Config::hubs`]: what PHP publishes to.
    pub hub: Option<usize>,
}

/// `handle_errors [CODE…] { … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorRoutes {
    /// First and last of each; empty: all errors.
    pub statuses: Vec<(u16, u16)>,
    /// As the routes of a site.
    pub routes: Vec<Route>,
}

/// A site address: `[SCHEME://]host[:port]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Address {
    /// Host to match; `None` matches all. May start with `*.`. Lower case; an IPv6 address stands
    /// without its brackets.
    pub host: Option<String>,
    /// The port to listen on.
    pub port: u16,
    /// HTTPS. Of all addresses that share a listener, all or none.
    pub tls: bool,
}

/// A handler behind a matcher.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// All requests, if `None`.
    pub matcher: Option<Matcher>,
    /// What is done.
    pub handler: Handler,
    /// Of the routes with the same group number in one list, only the first that matches is taken
    /// (`handle` blocks exclude each other).
    pub group: Option<u32>,
}

/// What is done with a request. Handlers that answer end the chain; the others change the request
/// or the response and pass on.
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// `root PATH`: document root for what follows.
    Root(Template),
    /// `header …`: changes of the response's header.
    Header(Vec<HeaderChange>),
    /// The same with `-`, `?`, `>` or `defer`: after those of [`Handler::Header`], and of several the last
    /// first.
    DeferredHeader(Vec<HeaderChange>),
    /// `encode …`: compresses the response.
    Encode(Encode),
    /// `redir TO [CODE]`.
    Redirect {
        /// Location.
        to: Template,
        /// 3xx, or 401 (Caddy allows it).
        status: u16,
    },
    /// `rewrite TO`: a new path and query; a `?` in it replaces the query.
    Rewrite(Template),
    /// `handle_path /PREFIX/*`: the prefix is taken off the path, case-insensitively, when the path
    /// starts with it; what is left starts with a slash.
    StripPrefix(String),
    /// `try_files FILE… { policy … }`: the one that is meant becomes the path; a last `=404` answers.
    TryFiles(TryFiles, TryPolicy),
    /// `handle` and `route`: a chain of its own.
    Chain(Vec<Route>),
    /// `handle_errors` in a chain: what is done when a later route of it ends in an error, before what
    /// chains around it and the site do.
    HandleErrors(Vec<ErrorRoutes>),
    /// `respond [BODY] [STATUS]`.
    Respond {
        /// Body, empty if not given.
        body: Template,
        /// The status code.
        status: Status,
        /// `close`: end the connection after it.
        close: bool,
    },
    /// `mercure`: requests below `/.well-known/mercure` go to this one of [`Config::hubs`].
    Mercure(usize),
    /// `tracing`: the request goes on with its caller's trace, or begins one; the name of its span, the
    /// method if it is empty.
    Tracing(Template),
    /// `log_skip`: the request is in no access log.
    LogSkip,
    /// `log_append NAME VALUE`: a further field of its access log.
    LogAppend(String, Template),
    /// `metrics`: the page that Prometheus reads.
    Metrics {
        /// False with `disable_openmetrics`: the older text format only.
        openmetrics: bool,
    },
    /// `php_server`: static files, front controller and PHP, as one.
    PhpServer(PhpServer),
    /// `php`: the request's script, without files and front controller.
    Php(PhpScript),
    /// `file_server`.
    FileServer(FileServer),
    /// `vars NAME VALUE`: what `{vars.NAME}` is from here on.
    Vars(Vec<(String, Template)>),
    /// `method METHOD`: another method of the request.
    Method(Template),
    /// `uri …`: another path or query.
    Uri(UriChange),
    /// `request_header …`: changes of the request's header.
    RequestHeader(Vec<HeaderChange>),
    /// `request_body { max_size SIZE }`: bytes of the body; more is answered 413.
    RequestBody {
        /// In bytes.
        max_size: u64,
    },
    /// `basic_auth`: who knows no password is answered 401.
    BasicAuth(BasicAuth),
    /// `intercept`: what is done with certain responses of PHP.
    Intercept(Intercept),
    /// `error [MESSAGE] [CODE]`: goes to `handle_errors`.
    Error {
        /// `{err.message}`; empty if not given.
        message: Template,
        /// 400 to 599.
        status: Status,
    },
    /// `abort`: the connection is closed without a response.
    Abort,
    /// `reverse_proxy`.
    ReverseProxy(Box<ReverseProxy>),
    /// `forward_auth`: another server says whether the request goes on.
    ForwardAuth(Box<ForwardAuth>),
    /// `map`: variables that depend on the value of another text.
    Map(Box<Map>),
    /// `copy_response [CODE]`, only in `handle_response`: the response that it is for is sent after all.
    CopyResponse(Status),
    /// `copy_response_headers`, only in `handle_response`: what stays of the header of that response.
    CopyResponseHeaders(CopyHeaders),
}

/// The status code of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Status {
    /// None given: that of the error in `handle_errors`, otherwise the handler's own.
    #[default]
    Default,
    /// This one.
    Code(u16),
    /// A placeholder, such as `{err.status_code}`. What is no code is answered 500.
    Text(Template),
}

/// `uri`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UriChange {
    /// `strip_prefix TEXT`: off the path, with the case as it is.
    StripPrefix(Template),
    /// `strip_suffix TEXT`: off the path.
    StripSuffix(Template),
    /// `replace FIND REPLACE [LIMIT]`: in path and query.
    Replace {
        /// The text; escaped as in the request.
        find: Template,
        /// What stands in its place.
        replace: Template,
        /// How many, from the start; `None`: all.
        limit: Option<usize>,
    },
    /// `path_regexp FIND REPLACE`: in the path.
    Regexp {
        /// A regular expression that compiles.
        find: String,
        /// With `$1` for a group.
        replace: Template,
    },
    /// `query`: one after another.
    Query(Vec<QueryChange>),
}

/// One change of `uri query`. Names and values are not escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryChange {
    /// `OLD>NEW`: instead of a parameter that has the new name.
    Rename {
        /// The name that is there.
        old: Template,
        /// The name that it gets.
        new: Template,
    },
    /// `NAME VALUE`: once, whatever was sent.
    Set {
        /// Of the parameter.
        name: Template,
        /// Its value.
        value: Template,
    },
    /// `+NAME VALUE`: beside what was sent.
    Add {
        /// Of the parameter.
        name: Template,
        /// Its value.
        value: Template,
    },
    /// `NAME REGEXP REPLACEMENT`: in the value.
    Replace {
        /// Of the parameter; `None`: `*`, all of them.
        name: Option<Template>,
        /// A regular expression that compiles.
        find: String,
        /// With `$1` for a group.
        replace: Template,
    },
    /// `-NAME`.
    Delete(Template),
}

/// `basic_auth`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasicAuth {
    /// What browsers show; default `restricted`.
    pub realm: String,
    /// Names, each with the bcrypt hash of its password.
    pub users: Vec<(String, String)>,
}

/// `php_server [MATCHER] { root index split try_files env file_server … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct PhpServer {
    /// How a script is found and called.
    pub script: PhpScript,
    /// `root`: overrides the site's.
    pub root: Option<Template>,
    /// `index`: the front controller, default `index.php`; `None`: `index off`.
    pub index: Option<String>,
    /// `try_files`: default `{path} {path}/{index} {index}`, without `{path}` when there is no file
    /// server, none at all with `index off`. A directory's path without its slash is redirected only
    /// if `{path}/{index}` is among them, and a last candidate that ends in `.php` is taken without
    /// a look at the disk: both as FrankenPHP.
    pub try_files: TryFiles,
    /// `file_server off` makes this `None`.
    pub files: Option<FileServer>,
    /// `php_fastcgi`: what runs the script in place of this server's PHP.
    pub fastcgi: Option<Box<FastCgi>>,
}

impl Default for PhpServer {
    fn default() -> Self {
        let path = || Part::Placeholder(Placeholder::Path);
        let candidates = vec![
            Template {
                parts: vec![path()],
            },
            Template {
                parts: vec![path(), Part::Text("/index.php".into())],
            },
            Template::text("index.php"),
        ];
        Self {
            script: PhpScript::default(),
            root: None,
            index: Some("index.php".into()),
            try_files: TryFiles {
                candidates,
                fallback_status: None,
            },
            files: Some(FileServer::default()),
            fastcgi: None,
        }
    }
}

/// How a PHP script is found in a path and what it is given.
#[derive(Debug, Clone, PartialEq)]
pub struct PhpScript {
    /// `root`: overrides the site's (only for the bare `php` directive).
    pub root: Option<Template>,
    /// `split`: where `SCRIPT_NAME` ends and `PATH_INFO` begins; default `.php`. ASCII case-insensitive.
    pub split: Vec<String>,
    /// `env NAME VALUE`: additional variables, override all others.
    pub env: Vec<(String, Template)>,
    /// `resolve_root_symlink`: default true, as FrankenPHP.
    pub resolve_root_symlink: bool,
    /// `early_hints learn`: default false. What answers ask browsers to fetch is sent as 103 to the next ones.
    pub learn_hints: bool,
    /// The worker pools that its requests may go to: its own (`worker`), then those of the global
    /// block. The first whose `match` fits the path, otherwise whose file is the script; otherwise
    /// the script is run by the classic pool.
    pub workers: Vec<PhpWorker>,
}

impl Default for PhpScript {
    fn default() -> Self {
        Self {
            root: None,
            split: vec![".php".into()],
            env: Vec::new(),
            resolve_root_symlink: true,
            learn_hints: false,
            workers: Vec::new(),
        }
    }
}

/// `try_files`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TryFiles {
    /// Candidates relative to the root; one that ends in `/` must be a directory.
    pub candidates: Vec<Template>,
    /// The last candidate was `=CODE`: answered when none exists.
    pub fallback_status: Option<u16>,
}

/// Which of several files is meant: `policy` and `try_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TryPolicy {
    /// The first that exists.
    #[default]
    FirstExist,
    /// The same, the last being taken without a look.
    FirstExistFallback,
    /// The smallest that exists; of several the first.
    SmallestSize,
    /// The largest that exists; of several the first.
    LargestSize,
    /// The one that exists and was changed last; of several the first.
    MostRecentlyModified,
}

/// `file_server { root index hide … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct FileServer {
    /// `root`: overrides the site's.
    pub root: Option<Template>,
    /// `index`: default `index.html index.txt`, as Caddy.
    pub index: Vec<String>,
    /// `hide`: files that are answered 404. Without a slash it is a name (or a pattern of names) in
    /// any folder; with one it is a path, a relative one from the working directory. The
    /// configuration's own files are always among them.
    pub hide: Vec<String>,
    /// `precompressed`: formats of files that stand beside a file and are sent in its place, the
    /// preferred first. Default none.
    pub precompressed: Vec<ContentCoding>,
    /// `browse`: folders without an index file are listed. Default false.
    pub browse: bool,
    /// `pass_thru`: what is not found goes to the next handler. Default false.
    pub pass_thru: bool,
    /// `disable_canonical_uris` makes this false: a folder's path gets no slash, a file's keeps it.
    pub canonical: bool,
    /// `status`: of the answer with a file.
    pub status: Status,
}

impl Default for FileServer {
    fn default() -> Self {
        Self {
            root: None,
            index: vec!["index.html".into(), "index.txt".into()],
            hide: Vec::new(),
            precompressed: Vec::new(),
            browse: false,
            pass_thru: false,
            canonical: true,
            status: Status::Default,
        }
    }
}

/// One change of the response's header.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderChange {
    /// `NAME VALUE`.
    Set(String, Template),
    /// `+NAME VALUE`.
    Add(String, Template),
    /// `?NAME VALUE`: only when the response has none.
    Default(String, Template),
    /// `-NAME`.
    Remove(String),
    /// `NAME FIND REPLACE`: a regular expression.
    Replace(String, String, Template),
}

/// Which requests a route is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Matcher {
    /// All of them.
    All(Vec<Matcher>),
    /// None of them all at once: `not { … }`.
    Not(Box<Matcher>),
    /// `path P…`: exact, or `*` at start, end or both, or anywhere as a glob; case-insensitive, decoded.
    Path(Vec<String>),
    /// `method M…`: upper case.
    Method(Vec<String>),
    /// `header NAME VALUE`: `*` at the ends; value `None` with `!NAME`: must be absent.
    Header(String, Option<String>),
    /// `host H…`: lower case, may start with `*.`.
    Host(Vec<String>),
    /// `file { root try_files … }`: true if one exists. Matching a file changes nothing by itself.
    File {
        /// Overrides the site's.
        root: Option<Template>,
        /// Candidates as in `try_files`; default `{path}`.
        candidates: Vec<Template>,
        /// `split_path`: what follows the first of these in a candidate is not part of the file.
        split: Vec<String>,
        /// `try_policy`.
        policy: TryPolicy,
    },
    /// `path_regexp`: of the decoded path.
    PathRegexp(Regexp),
    /// `header_regexp NAME …`.
    HeaderRegexp(String, Regexp),
    /// `query`: each of the parameters has one of its values, `*` being any. Empty: there is no query.
    Query(Vec<(String, Vec<Template>)>),
    /// `protocol`.
    Protocol(Protocol),
    /// `remote_ip`: the other side of the connection.
    RemoteIp(Vec<Network>),
    /// `client_ip`: the client, as trusted proxies tell it.
    ClientIp(Vec<Network>),
    /// `vars`: the text is one of these.
    Vars(Template, Vec<Template>),
    /// `vars_regexp`.
    VarsRegexp(Template, Regexp),
    /// `expression`.
    Expression(Expression),
}
