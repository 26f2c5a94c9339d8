//! Counters, the access log, and the record of each request for metrics, traces and the admin API.

pub(crate) mod finished_request;
pub(crate) mod log;
pub(crate) mod record;
pub(crate) mod stats;
pub(crate) mod thread;
pub(crate) mod trace;
