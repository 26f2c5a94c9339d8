//! What connections of HTTP/2 may do, as h2 enforces it.

use h2::server::Builder;
use howdah_config::model::Limits;

/// Streams of a connection at a time, the number that nginx allows.
const STREAMS_MAX: u32 = 128;
/// Bytes that a client may send unread: of a request, and of a connection.
const WINDOW: u32 = 1 << 20;
/// Bytes of one response that wait to be sent.
const SEND_BUFFER: usize = 400 << 10;
/// Streams that ended by a fault of the client before its connection does.
const FAULTS_MAX: usize = 1024;

/// What connections are made from.
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
