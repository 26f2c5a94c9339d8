//! Limits of HTTP/2 connections, which h2 enforces.

use h2::server::Builder;
use howdah_config::model::Limits;

/// Concurrent streams of a connection, as in nginx.
const STREAMS_MAX: u32 = 128;
/// Bytes that a client may send before they are read: of a request, and of a connection.
const WINDOW: u32 = 1 << 20;
/// Bytes of one response that wait to be sent.
const SEND_BUFFER: usize = 400 << 10;
/// Streams that may end because of client errors before the connection is closed.
const FAULTS_MAX: usize = 1024;

/// The builder of connections.
pub(crate) fn builder(limits: &Limits) -> Builder {
    let mut builder = Builder::new();
    builder
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(limits.max_header_size).unwrap_or(u32::MAX))
        .max_local_error_reset_streams(Some(FAULTS_MAX))
        .max_send_buffer_size(SEND_BUFFER);
    builder
}
