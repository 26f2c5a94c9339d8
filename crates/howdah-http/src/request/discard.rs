//! Bodies that are not needed.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;

use crate::message::response::{Content, Source};

/// How long the rest of an upstream's response is read when a different response replaces it.
const DISCARD_MAX: Duration = Duration::from_secs(10);

/// Reads a body to its end. If the body were dropped, the application would assume that the client
/// has disconnected.
pub(crate) async fn discard<B: Body<Data = Bytes, Error = io::Error> + Unpin>(mut body: B) {
    while let Some(Ok(_)) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {}
}

/// Reads the body of a response that another one replaces.
pub(super) fn discard_source<B>(body: Source<B>)
where
    B: Body<Data = Bytes, Error = io::Error> + Unpin + 'static,
{
    match body {
        Source::Application(body) if !body.is_end_stream() => {
            tokio::task::spawn_local(discard(body));
        }
        // The body of an upstream may have no end.
        Source::Content(Content::Endpoint(body)) if !body.is_end_stream() => {
            tokio::task::spawn_local(tokio::time::timeout(DISCARD_MAX, discard(body)));
        }
        _ => {}
    }
}
