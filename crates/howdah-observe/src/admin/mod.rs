//! The admin API: HTTP/1.1 on a separate listener, independent of the path of requests.
//!
//! ```text
//! GET   /dashboard/                 a page that shows all this; / leads there
//! GET   /activity[?log=NUMBER]      requests by second and by route, slow ones, the last lines of the log, JSON
//! GET   /health, /readyz            200 while requests are served, else 503
//! GET   /healthz                    200 while the process answers
//! GET   /metrics                    for Prometheus
//! GET   /preload                    the files that PHP was started with, JSON
//! GET   /requests[?detail]          the requests in flight, and what PHP does for them, JSON
//! GET   /config                     the configuration in force, JSON
//! GET   /crashes[?number=N]          reports of PHP processes that crashed, JSON
//! DELETE /crashes                   removes them
//! GET   /status                     pools and their processes, JSON
//! POST  /profile[?seconds=N&…]      samples where PHP spends its time, and answers with a flame graph or the like
//! POST  /load                       Caddy's: a Caddyfile in the body takes the place of the configuration
//! POST  /reload[?config=FILE]       reads the configuration again, then PHP; answers when both serve
//! POST  /reload?pool=NAME           answers when the new generation serves, or with the failed boot's output
//! POST  /stop                       answers, then drains and ends the server
//! GET   /config/apps/http/metrics   Caddy's: `null` unless requests are counted
//! GET   /config/apps/http/servers   Caddy's, as far as the hosts of sites
//! GET   /pki/ca/local               Caddy's: the certificates of the internal authority
//! PUT   /config/logging/logs/NAME   Caddy's: sends a log to a client over TCP; GET shows that, DELETE ends it
//! GET   /config/apps/frankenphp     FrankenPHP's: that it runs, and with which workers
//! PATCH /config/apps/frankenphp     FrankenPHP's: reload
//! POST  /frankenphp/workers/restart FrankenPHP's: reload
//! GET   /frankenphp/threads         FrankenPHP's: what each worker does
//! ```
//!
//! Errors are `{"error": "…"}`. Every client that can reach the address may do all of this, so the default is a
//! loopback address; `guard` refuses web pages, which can reach loopback addresses through a browser. Requests that
//! would give PHP more rights are refused over TCP (`routes::check_permission`).
//!
//! [`Admin`] is the server, [`Client`] the client, and [`Control`] the interface to the rest of the program: this
//! module does not depend on pools or configuration files.

mod address;
mod call;
mod client;
mod connection_limit;
mod control;
mod dashboard;
mod endpoint;
mod guard;
mod listen;
mod log_sink;
mod profile;
mod query;
mod reply;
mod routes;
mod serve;
#[cfg(test)]
mod tests;

pub use address::{AddressError, AdminAddress};
pub use client::{Client, ClientError, Reply};
pub use control::{
    CertificateAuthority, ConfigFile, Configuration, Control, CrashesError, ReloadError,
    ReloadReport, ReloadedPool, SequentialPool, Thread, UnhealthyError,
};
pub use listen::BindError;
pub use log_sink::{LogSink, LogSource};
pub use profile::{ProfileError, ProfileReply, ProfileRequest};
pub use serve::Admin;
