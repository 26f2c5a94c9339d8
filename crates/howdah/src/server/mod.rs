//! The running server: handles requests, reports its state, and carries out orders and reloads.

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
