//! What the server tells about itself. So far: the log.
#![forbid(unsafe_code)]

pub mod log;
