//! The running server: what answers requests, what reports on it, and what orders and reloads do.

pub(crate) mod activity;
pub(crate) mod application;
pub(crate) mod certificates;
pub(crate) mod configuration;
pub(crate) mod control;
pub(crate) mod crash_reports;
pub(crate) mod hubs;
pub(crate) mod log_sinks;
pub(crate) mod notify;
pub(crate) mod opcache_watch;
mod profile;
pub(crate) mod readiness;
pub(crate) mod readiness_page;
pub(crate) mod roadrunner;
pub(crate) mod signals;
pub(crate) mod state;
mod timing;
