//! Request bodies: read completely before a request is dispatched, so that a slow client holds no
//! worker.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;

use crate::listen::limits::Limits;
use crate::message::incoming::{BodyError, Incoming};
use crate::message::request::RequestBody;
use crate::message::spool::{SpoolDir, SpoolFile};

/// Largest body that an endpoint of the server reads: a published update.
pub(super) const ENDPOINT_BODY_MAX: u64 = 1 << 20;

/// Reads the body of the request `id`, of at most `limit` bytes. Trailers are dropped: CGI cannot represent them.
pub(crate) async fn read(
    mut incoming: Incoming,
    limits: &Limits,
    spool: &SpoolDir,
    (id, limit): (u64, u64),
) -> Result<RequestBody, BodyError> {
    if incoming.is_end_stream() {
        return Ok(RequestBody::Empty);
    }
    let hint = incoming.size_hint();
    if hint.lower() > limit {
        return Err(BodyError::TooLarge { limit });
    }
    let memory = limits.memory_body_size as u64;
    if hint.lower() > memory {
        let file = spool.file(id).map_err(BodyError::Storage)?;
        return spooled(incoming, file, limits, limit).await;
    }
    let mut first = Bytes::new();
    let mut rest: Vec<u8> = Vec::new();
    while let Some(data) = next(&mut incoming, limits.read_body).await? {
        let length = (first.len() + rest.len() + data.len()) as u64;
        if length > limit {
            return Err(BodyError::TooLarge { limit });
        }
        if length > memory {
            let mut file = spool.file(id).map_err(BodyError::Storage)?;
            for part in [&first[..], &rest[..], &data[..]] {
                file.append(part).map_err(BodyError::Storage)?;
            }
            return spooled(incoming, file, limits, limit).await;
        }
        if first.is_empty() && rest.is_empty() {
            // A typical body arrives in one piece and is never copied.
            first = data;
            continue;
        }
        if rest.is_empty() {
            let expected = usize::try_from(hint.lower()).unwrap_or(0);
            rest.reserve(expected.max(first.len() + data.len()));
            rest.extend_from_slice(&first);
            first = Bytes::new();
        }
        rest.extend_from_slice(&data);
    }
    Ok(match (first.is_empty(), rest.is_empty()) {
        (true, true) => RequestBody::Empty,
        (false, _) => RequestBody::Memory(first),
        (true, false) => RequestBody::Memory(rest.into()),
    })
}

/// Reads a body of at most `limit` bytes into memory, for the server itself.
pub(crate) async fn in_memory(
    mut incoming: Incoming,
    limits: &Limits,
    limit: u64,
) -> Result<Bytes, BodyError> {
    if incoming.size_hint().lower() > limit {
        return Err(BodyError::TooLarge { limit });
    }
    let mut first = Bytes::new();
    let mut rest: Vec<u8> = Vec::new();
    while let Some(data) = next(&mut incoming, limits.read_body).await? {
        if (first.len().max(rest.len()) + data.len()) as u64 > limit {
            return Err(BodyError::TooLarge { limit });
        }
        if first.is_empty() {
            first = data;
            continue;
        }
        if rest.is_empty() {
            rest.extend_from_slice(&first);
        }
        rest.extend_from_slice(&data);
    }
    Ok(if rest.is_empty() { first } else { rest.into() })
}

async fn spooled(
    mut incoming: Incoming,
    mut file: SpoolFile,
    limits: &Limits,
    limit: u64,
) -> Result<RequestBody, BodyError> {
    while let Some(data) = next(&mut incoming, limits.read_body).await? {
        if file.len() + data.len() as u64 > limit {
            return Err(BodyError::TooLarge { limit });
        }
        file.append(&data).map_err(BodyError::Storage)?;
    }
    Ok(RequestBody::Spooled(file))
}

/// The next piece that is not empty. The timer costs nothing when the piece has already arrived.
async fn next(incoming: &mut Incoming, limit: Duration) -> Result<Option<Bytes>, BodyError> {
    loop {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut *incoming).poll_frame(cx));
        let frame = match tokio::time::timeout(limit, frame).await {
            Err(_) => return Err(BodyError::Timeout),
            Ok(None) => return Ok(None),
            Ok(Some(Err(_))) => return Err(BodyError::Client),
            Ok(Some(Ok(frame))) => frame,
        };
        match frame.into_data() {
            Ok(data) if !data.is_empty() => return Ok(Some(data)),
            Ok(_) | Err(_) => {}
        }
    }
}
