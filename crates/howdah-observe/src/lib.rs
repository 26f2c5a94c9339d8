//! Observation and control of the server: logs, metrics, traces and the admin API.
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
