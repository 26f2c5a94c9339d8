//! What the server tells about itself and lets be done to it: logs, metrics, traces and the admin API.
#![forbid(unsafe_code)]

pub mod access;
pub mod admin;
pub mod log;
mod log_tail;
pub mod metrics;
pub mod trace;
mod trusted;
pub mod unix_socket;
pub mod usage;
