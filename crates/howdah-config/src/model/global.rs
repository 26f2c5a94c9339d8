//! Options of the global block.

use std::time::Duration;

use super::admin::Admin;
use super::crash_reports::CrashReports;
use super::https::Https;
use super::limits::Limits;
use super::listener::ListenerAddress;
use super::log::{LogOptions, LogOutput, NamedLog};
use super::php::Php;
use super::user::User;

/// Options of the global block.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the Caddyfile"
)]
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Global {
    /// `debug`: log level debug.
    pub debug: bool,
    /// `http_port`: the port of `http://` addresses without one. Default 80.
    pub http_port: Option<u16>,
    /// `grace_period`: how long requests may continue after the order to stop; [`Duration::MAX`]: `0`, no limit.
    /// Default 30 s.
    pub grace_period: Option<Duration>,
    /// `shutdown_delay`: how long everything except readiness is served as before after the order to stop. `None`: as
    /// long as load balancers need, if they have polled readiness.
    pub shutdown_delay: Option<Duration>,
    /// `auto_https`, `https_port`, `email` and other options for HTTPS.
    pub https: Https,
    /// `servers`: limits of connections and requests, on all listeners without their own.
    pub limits: Limits,
    /// `servers ADDRESS`: the limits of individual listeners, each of which a site listens on. See
    /// [`limits_of`](Self::limits_of).
    pub listener_limits: Vec<(ListenerAddress, Limits)>,
    /// `servers { max_connections }`: maximum connections of the whole server; further ones wait to be accepted.
    /// Default [`MAX_CONNECTIONS`].
    pub max_connections: Option<usize>,
    /// `log`: the server's own log.
    pub log: LogOptions,
    /// `log NAME`: logs beside it. What they have of requests is in the access logs of sites.
    pub named_logs: Vec<NamedLog>,
    /// `admin`: where the server accepts orders and reports its state.
    pub admin: Admin,
    /// A site has `tracing`.
    pub tracing: bool,
    /// `metrics`: requests are counted and timed. The directive of that name enables it too.
    pub metrics: bool,
    /// `metrics { per_route }`: requests are timed by route too. Default false.
    pub metrics_per_route: bool,
    /// `metrics { per_host }`.
    pub host_metrics: HostMetrics,
    /// `user`: to which the whole server changes after its start. Default: it does not change.
    pub user: Option<User>,
    /// `crash_reports`: of PHP processes that crashed.
    pub crash_reports: CrashReports,
    /// `frankenphp` or `howdah`: the PHP side.
    pub php: Php,
}

/// Whether requests are counted by host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostMetrics {
    /// No.
    #[default]
    Off,
    /// `per_host`: the hosts that sites name; all others are counted together.
    Named,
    /// `observe_catchall_hosts`: the others separately, too.
    All,
}

/// Maximum connections by default.
pub const MAX_CONNECTIONS: usize = 50_000;

impl Global {
    /// Limits of a listener: its own, or those of all without their own. The two are not merged.
    #[must_use]
    pub fn limits_of(&self, listener: &ListenerAddress) -> &Limits {
        let mut own = self.listener_limits.iter();
        own.find(|(address, _)| address == listener)
            .map_or(&self.limits, |(_, limits)| limits)
    }

    /// Outputs of the server's own log and of the logs beside it.
    pub fn log_outputs(&self) -> impl Iterator<Item = &LogOutput> {
        let named = self.named_logs.iter().map(|log| &log.options.output);
        std::iter::once(&self.log.output).chain(named)
    }

    /// All limits, those of individual listeners last.
    pub fn all_limits(&self) -> impl Iterator<Item = &Limits> {
        let own = self.listener_limits.iter().map(|(_, limits)| limits);
        std::iter::once(&self.limits).chain(own)
    }
}

/// Where a server with a configured user stores certificates: it may not have access to the home of the user that
/// starts it.
const STORAGE: &str = "/var/lib/howdah";

impl Global {
    /// `user`: other defaults depend on it.
    pub fn set_user(&mut self, user: User) {
        self.user = Some(user);
        self.https.storage.get_or_insert_with(|| STORAGE.into());
    }
}
