//! Converts a request to a script path and CGI variables. Pure: no I/O, no clock, no allocation for a request
//! except growth of the caller's buffer.
//!
//! [`split_path`] finds the script in a URL path; [`encode`] writes the variables of a request in the layout of the
//! shared-memory contract (`worker/include/howdah_shm.h`); [`Host::parse`] validates `Host` values, so that a server
//! can respond to invalid ones with 400.
//!
//! The crate knows HTTP's types and the contract's numbers ([`vars`]). It must not depend on PHP, sockets, files or
//! configuration.
#![forbid(unsafe_code)]

mod byte_text;
mod encode;
mod host;
pub mod path;
mod record;
mod route;
mod split;
mod text;
pub mod vars;

pub use byte_text::{BYTE_LEAD, bytes_of, text_of};
pub use encode::{Error, Input, encode, max_size};
pub use host::Host;
pub use record::{DecodeError, Record, decode};
pub use route::route;
pub use split::split_path;
