//! What the server tells about itself and lets be done to it: the log, and the admin API.
#![forbid(unsafe_code)]

pub mod admin;
pub mod log;
