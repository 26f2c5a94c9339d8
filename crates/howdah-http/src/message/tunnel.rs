//! Connections that were upgraded to another protocol, WebSocket: bytes are copied both ways as they arrive.

use std::io;
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

/// Time for an upstream to send its last data after the client has closed its side.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// The upstream's side.
#[derive(Debug)]
pub(crate) struct Tunnel {
    upstream: OnUpgrade,
    /// Maximum duration.
    limit: Option<Duration>,
    request: u64,
    /// Counts the request for its upstream as long as the tunnel exists.
    _active: Box<dyn std::fmt::Debug>,
}

impl Tunnel {
    pub(crate) fn new(
        upstream: OnUpgrade,
        limit: Option<Duration>,
        request: u64,
        active: impl std::fmt::Debug + 'static,
    ) -> Self {
        Self {
            upstream,
            limit,
            request,
            _active: Box::new(active),
        }
    }

    /// Copies until the upstream closes, a side fails, the time is over or `stop` is ready. `first`: bytes that the
    /// client has already sent.
    pub(crate) async fn run<C: AsyncRead + AsyncWrite + Unpin>(
        self,
        client: &mut C,
        first: &[u8],
        stop: impl Future<Output = ()>,
    ) {
        let limit = async {
            match self.limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let passed = tokio::select! {
            passed = pass(self.upstream, client, first) => passed,
            () = limit => Ok(()),
            () = stop => Ok(()),
        };
        if let Err(error) = passed {
            let request_id = format_args!("{:016x}", self.request);
            tracing::debug!(target: "howdah::proxy", %request_id, %error, "an upgraded connection ended");
        }
    }
}

async fn pass<C: AsyncRead + AsyncWrite + Unpin>(
    upstream: OnUpgrade,
    client: &mut C,
    first: &[u8],
) -> io::Result<()> {
    let mut upstream = TokioIo::new(upstream.await.map_err(io::Error::other)?);
    upstream.write_all(first).await?;
    let (mut from_upstream, mut to_upstream) = tokio::io::split(upstream);
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let up = async {
        tokio::io::copy(&mut from_client, &mut to_upstream).await?;
        to_upstream.shutdown().await?;
        tokio::time::sleep(LAST_WORDS).await;
        Ok(())
    };
    let down = async {
        tokio::io::copy(&mut from_upstream, &mut to_client).await?;
        to_client.flush().await
    };
    tokio::select! {
        ended = up => ended,
        ended = down => ended,
    }
}
