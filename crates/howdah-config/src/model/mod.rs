//! The typed configuration: a Caddyfile after every name, number and reference in it was checked.
//! `howdah-http` executes it without parsing any text again.
//!
//! Types with their defaults and derived values. They are independent of how they are read.

mod admin;
mod auth;
mod compression;
mod config;
mod crash_reports;
mod expression;
mod files;
mod global;
mod https;
mod hub;
mod limit_value;
mod limits;
mod listener;
mod log;
mod map;
mod matcher;
mod option_value;
mod php;
mod php_executable;
mod php_server;
mod placeholder;
mod pool_limits;
mod pool_settings;
mod proxy;
mod proxy_protocol;
mod redis;
mod response;
mod roadrunner;
mod route;
mod site;
mod time_layout;
mod uri;
mod user;
mod worker_modes;
mod worker_options;
mod worker_pool;

pub use admin::{Admin, AdminAddress};
pub use auth::{BasicAuth, BasicAuthUser};
pub(crate) use compression::{BROTLI_QUALITY, GZIP_LEVEL, ZSTD_LEVEL};
pub use compression::{Compression, ContentCoding, Encode, ResponseMatcher};
pub use config::Config;
pub use crash_reports::CrashReports;
pub use expression::{
    Comparison, Expression, Function, Network, NetworkError, Operand, Protocol, Regexp, TextTest,
};
pub use files::{Browse, BrowseOrder, FileServer, Symlinks, TryFiles, TryPolicy};
pub use global::{Global, HostMetrics, MAX_CONNECTIONS};
pub use https::{
    Acme, Alpn, CertificateFiles, CipherSuite, ClientAuth, Curve, ExternalAccount, Https,
    INTERNAL_LIFETIME, Issuer, NoSource, SiteTls, Source, TlsVersion, acme_authority, is_local,
    on_demand_source, redirect_to_https, source,
};
pub use hub::{HotReload, JwtKey, Mercure};
pub use limit_value::{LimitUnit, LimitValue};
pub use limits::{Limits, TrustedProxies};
pub use listener::{ListenerAddress, UnixSocket};
pub use log::{
    ACCESS_LOGGER, AccessLog, DurationFormat, Edit, Filter, LineFormat, LogFile, LogFormat,
    LogLevel, LogOptions, LogOutput, LoggerFilter, NamedLog, Roll, SERVER_LOGGERS, TimeFormat,
};
pub use map::{Map, MapInput, MapOutput, MapPart, MapRow};
pub use matcher::Matcher;
pub use option_value::{OptionKind, OptionValue};
pub use php::{Environment, FRONT_THREADS_MAX, Php, Preload};
pub use php_executable::PhpExecutable;
pub use php_server::{PHP_SETTINGS, PhpScript, PhpServer};
pub use placeholder::{
    ClientPart, Figure, FileMatch, Part, Placeholder, SystemPart, Template, UpstreamPart,
};
pub use pool_limits::{LimitBlocks, POOL_LIMITS, PoolLimit, PoolLimitOverrides, PoolLimits};
pub use pool_settings::{ClassicPool, Ini, PoolSettings, WorkersMax};
pub use proxy::{
    Balance, CopiedHeader, CopyHeaders, DynamicUpstreams, FastCgi, ForwardAuth, HealthCheck,
    Intercept, InterceptAction, InterceptRule, Policy, ReverseProxy, Upstream, UpstreamTls,
    UpstreamVersions,
};
pub use proxy_protocol::{ProxyHeaderVersion, ProxyPolicy, ProxyProtocol};
pub use redis::Redis;
pub use response::{HeaderChange, Status, StatusRange};
pub use roadrunner::{RoadRunner, RoadRunnerPool};
pub(crate) use route::each_handler;
pub use route::{ErrorRoutes, Handler, Route};
pub use site::{Address, AddressIndex, Site};
pub use time_layout::{Padding, TimeLayout, TimePart};
pub use uri::{QueryChange, UriChange};
pub use user::{User, UserError};
pub use worker_modes::{Boot, Connections, Isolation, Keep, LeakDetection, OnExit, Statics};
pub use worker_options::{
    CONCURRENCY_MAX, DEFAULT_WATCH, WORKER_OPTIONS, WorkerOption, WorkerOptions,
};
pub use worker_pool::{CLASSIC_POOL, CONCURRENT_WORKERS_MAX, PhpWorker, WORKERS_MAX, WorkerPool};
