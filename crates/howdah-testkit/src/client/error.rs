use std::io;

/// Reason why an exchange with the server failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum ClientError {
    /// The server sent or accepted no bytes for [`PATIENCE`](crate::PATIENCE).
    #[error("the server did not {0} in time")]
    Timeout(&'static str),
    /// The server closed the connection too early. The value is what was expected.
    #[error("the server closed the connection before {0}")]
    Closed(&'static str),
    /// The connection was reset.
    #[error("the server reset the connection")]
    Reset,
    /// The response is not valid HTTP.
    #[error("the server sent a malformed {what}: {text:?}")]
    Malformed { what: &'static str, text: String },
    /// Any other error of the socket.
    #[error("the connection failed")]
    Io(#[source] io::Error),
}

impl ClientError {
    pub(crate) fn io(error: io::Error, doing: &'static str) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Timeout(doing),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::Reset,
            _ => Self::Io(error),
        }
    }

    pub(crate) fn malformed(what: &'static str, text: &[u8]) -> Self {
        Self::Malformed {
            what,
            text: String::from_utf8_lossy(text).into_owned(),
        }
    }

    /// Whether the server closed the connection.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_) | Self::Reset)
    }
}
