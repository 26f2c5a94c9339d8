//! A small blocking HTTP/1.1 client that sends its input, well formed or not, and is strict
//! about what comes back. Every wait is bounded by [`PATIENCE`](crate::PATIENCE).

mod connection;
mod error;
mod request;
mod response;

pub use connection::Connection;
pub use error::ClientError;
pub use request::Request;
pub use response::{Head, Response};
