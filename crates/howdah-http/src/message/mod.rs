//! Types that the other folders share: requests, responses, their bodies and the errors of both. Nothing here imports
//! anything else of the crate.

pub(crate) mod application;
pub(crate) mod connection;
pub(crate) mod deferred_text;
pub(crate) mod disconnect;
pub(crate) mod duration;
pub mod endpoint;
pub(crate) mod file_origin;
pub(crate) mod file_stream;
pub(crate) mod header_change;
pub(crate) mod incoming;
pub(crate) mod interim;
pub(crate) mod page;
pub(crate) mod path;
pub(crate) mod pattern;
pub(crate) mod progress;
pub(crate) mod replacement;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod route_error;
pub(crate) mod running_pools;
pub(crate) mod sendfile;
pub(crate) mod single_fields;
pub mod spool;
pub(crate) mod tunnel;
pub(crate) mod upstream_note;
