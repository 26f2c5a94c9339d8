//! A small blocking HTTP/1.1 client. It sends its input unchecked, so it can send malformed
//! requests, but it checks responses strictly. Every wait is limited by
//! [`PATIENCE`](crate::PATIENCE).

mod connection;
mod error;
mod request;
mod response;

pub use connection::Connection;
pub use error::ClientError;
pub use request::Request;
pub use response::{Head, Response};
