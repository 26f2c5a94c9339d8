//! Interim responses (1xx) of an application.

use http::{HeaderMap, StatusCode, Version};

/// Largest encoded size of an interim response; clients allow a header of about this size.
pub(crate) const SIZE_MAX: usize = 16 << 10;
/// A connection that accepts interim responses for the request that is being polled.
pub(crate) trait InterimSink: std::fmt::Debug {
    fn send(&self, status: StatusCode, headers: &HeaderMap) -> Result<(), InterimError>;
}

/// Sends interim responses to the client of one request, before its response.
#[derive(Debug, Clone, Copy)]
pub struct Interim<'c>(Option<&'c dyn InterimSink>);

/// Why an interim response was not sent. The final response is not affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterimError {
    /// HTTP/1.0 has no interim responses.
    #[error("the request's protocol has no interim responses")]
    Protocol,
    /// The server sends 100 and 101 itself; 200 and above are final.
    #[error("{} is not an interim status: use 102 to 199, such as 103 for early hints", .0.as_u16())]
    Status(StatusCode),
    /// Its header is larger than 16 KiB.
    #[error("it is larger than {SIZE_MAX} bytes: send fewer or shorter header fields")]
    TooLarge,
    /// Earlier data has not left the server: a previous response, or 64 KiB of interim ones.
    #[error("the client has not read the earlier ones")]
    Blocked,
}

impl<'c> Interim<'c> {
    /// The sender for a request whose client has disconnected.
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn new(connection: &'c dyn InterimSink, version: Version) -> Self {
        Self((version >= Version::HTTP_11).then_some(connection))
    }

    /// Sends an interim response, without the fields that describe the connection or a content. It must be called from
    /// within [`Application::call`](crate::Application::call)'s future, and is sent at the end of the poll.
    pub fn send(self, status: StatusCode, headers: &HeaderMap) -> Result<(), InterimError> {
        let connection = self.0.ok_or(InterimError::Protocol)?;
        if !(102..200).contains(&status.as_u16()) {
            return Err(InterimError::Status(status));
        }
        connection.send(status, headers)
    }
}
