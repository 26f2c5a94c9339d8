//! The close of a connection: with a response, lingering, or by a reset.

use std::time::{Duration, SystemTime};

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::socket::stream::Stream;

/// How long a client may take to close a connection that the server has shut down before it is reset.
pub(super) const FAREWELL: Duration = Duration::from_millis(500);
/// How long a client may send a body that is not read before the connection is reset.
pub(super) const LINGER: Duration = Duration::from_secs(2);

/// Responds to bytes that are not a request, as far as the socket accepts the response, and closes. Without a `text`
/// the body is the status.
pub(super) async fn refuse(mut stream: Stream, status: StatusCode, text: &str) {
    let reason = status.canonical_reason().unwrap_or("");
    let code = status.as_u16();
    let body = if text.is_empty() {
        format!("{code} {reason}\n")
    } else {
        format!("{text}\n")
    };
    let response = format!(
        "HTTP/1.1 {code} {reason}\r\nServer: Howdah\r\nDate: {}\r\nConnection: close\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\r\n{body}",
        httpdate::fmt_http_date(SystemTime::now()),
        body.len(),
    );
    // A client whose socket does not accept these few bytes would not read them.
    let sent = match &mut stream {
        Stream::Plain(socket) => socket.tcp().try_write(response.as_bytes()).is_ok(),
        Stream::Tls(stream) => {
            let send = async {
                stream.write_all(response.as_bytes()).await?;
                stream.flush().await
            };
            matches!(tokio::time::timeout(LINGER, send).await, Ok(Ok(())))
        }
    };
    if sent {
        linger(stream, LINGER).await;
    }
}

/// Lets the client read the response before the connection closes: a close with unread bytes in the
/// receive buffer is a reset. It has `limit` to close the connection.
pub(super) async fn linger(mut stream: Stream, limit: Duration) {
    stream.close_notify();
    let stream = stream.tcp_mut();
    if socket2::SockRef::from(&*stream)
        .shutdown(std::net::Shutdown::Write)
        .is_err()
    {
        return;
    }
    let drain = async {
        let mut scratch = Box::new([0; 8192]);
        while stream
            .read(&mut scratch[..])
            .await
            .is_ok_and(|read| read > 0)
        {}
    };
    // A timeout and the end of the stream have the same result: the socket is closed.
    let _ = tokio::time::timeout(limit, drain).await;
}

/// Closes without waiting for the client to read the rest.
pub(super) fn reset(stream: &TcpStream) {
    if let Err(error) = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)) {
        tracing::debug!(%error, "a connection cannot be reset");
    }
}
