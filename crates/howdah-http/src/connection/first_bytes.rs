//! Detects the protocol from the first bytes of a connection, or of its next request after a pause:
//! HTTP/1 or HTTP/2.

use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use tokio::io::{AsyncRead, ReadBuf};

use super::driver::{Deadline, Driver};
use crate::socket::io::Io;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Large enough for a typical request, so that nothing but the connection is allocated before it.
const READ: usize = 4096;

/// The protocol that the first bytes show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstBytes {
    Http1,
    Http2,
    /// The client disconnected, was idle for too long, or the server drains.
    Closed,
    /// The rest of a header did not arrive in time.
    TimedOut,
}

impl Driver<'_, '_> {
    /// Waits without any buffer.
    pub(super) async fn first_bytes(&mut self, io: &mut Io) -> FirstBytes {
        std::future::poll_fn(|cx| {
            self.register(cx);
            loop {
                if let Some(first) = classify(&io.prefix) {
                    return Poll::Ready(first);
                }
                let mut memory = [MaybeUninit::uninit(); READ];
                let mut buffer = ReadBuf::uninit(&mut memory);
                match Pin::new(&mut io.stream).poll_read(cx, &mut buffer) {
                    Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                        let passed = io.state.read(buffer.filled());
                        let mut bytes = Vec::with_capacity(io.prefix.len() + passed.len());
                        bytes.extend_from_slice(&io.prefix);
                        bytes.extend_from_slice(&passed);
                        io.prefix = Bytes::from(bytes);
                    }
                    Poll::Ready(_) => return Poll::Ready(FirstBytes::Closed),
                    Poll::Pending => break,
                }
            }
            // Checked after reading, so that a request that has arrived is served.
            if io.prefix.is_empty() && self.timer.poll(cx, self.first_request_until()).is_ready() {
                return Poll::Ready(FirstBytes::Closed);
            }
            self.poll_due(cx, false).map(|due| match due {
                Deadline::Header => FirstBytes::TimedOut,
                Deadline::Idle | Deadline::Hibernate | Deadline::Cut => FirstBytes::Closed,
            })
        })
        .await
    }
}

/// `None`: too few bytes to decide.
fn classify(bytes: &[u8]) -> Option<FirstBytes> {
    if bytes.starts_with(PREFACE) {
        Some(FirstBytes::Http2)
    } else if PREFACE.starts_with(bytes) {
        None
    } else {
        Some(FirstBytes::Http1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_distinguished() {
        assert_eq!(classify(b""), None);
        assert_eq!(classify(b"P"), None);
        assert_eq!(classify(b"PO"), Some(FirstBytes::Http1));
        assert_eq!(classify(b"GET / HTTP/1.1\r\n"), Some(FirstBytes::Http1));
        assert_eq!(classify(&PREFACE[..23]), None);
        assert_eq!(classify(PREFACE), Some(FirstBytes::Http2));
        assert_eq!(classify(b"PRI * HTTP/1.1\r\n\r\n"), Some(FirstBytes::Http1));
    }
}
