//! An HTTP/2 client that uses the `h2` crate, which exposes frames.

use bytes::Bytes;
use h2::RecvStream;
use h2::client::SendRequest;
use howdah_testkit::Server;

use crate::in_time;

/// Runs `work` with a connection without TLS. A timeout fails the test.
///
/// # Panics
/// Panics if there is no connection, or if `work` takes too long.
pub fn over_http2(server: &Server, work: impl AsyncFnOnce(&SendRequest<Bytes>)) {
    in_time(async {
        let stream = tokio::net::TcpStream::connect(server.address()).await;
        let stream = stream.expect("it connects");
        let handshake = h2::client::handshake(stream).await;
        let (client, connection) = handshake.expect("the server speaks HTTP/2");
        let driver = tokio::spawn(connection);
        work(&client).await;
        driver.abort();
    });
}

/// Returns a handle that is ready to send the next request.
///
/// # Panics
/// Panics if the connection is closed.
pub async fn ready(client: &SendRequest<Bytes>) -> SendRequest<Bytes> {
    let ready = client.clone().ready().await;
    ready.expect("the connection is open")
}

/// Receives a whole body.
///
/// # Panics
/// Panics if the stream is reset.
pub async fn whole(mut body: RecvStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(part) = body.data().await {
        let part = part.expect("the stream is not reset");
        let taken = body.flow_control().release_capacity(part.len());
        taken.expect("it was received");
        bytes.extend_from_slice(&part);
    }
    bytes
}
