//! Why an upstream did not respond, and what follows from it.

use std::error::Error as _;
use std::io;

use h2::Reason;
use http::{Extensions, StatusCode};
use hyper_util::client::legacy::Error as ClientError;
use hyper_util::client::legacy::connect::CaptureConnection;

use super::head::FramingError;
use crate::answer::upstream::pooled::{ConnectionProgress, RequestLoss};
use crate::answer::upstream::tls::explain;

#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("{0}")]
    Connect(String),
    #[error("{0}")]
    Client(String),
    /// The request was lost with a connection that earlier ones had used.
    #[error("it closed an idle connection while the request was sent ({cause})")]
    Lost { lost: RequestLoss, cause: String },
    /// Its response is not valid.
    #[error(transparent)]
    Answer(#[from] FramingError),
    #[error("it did not respond in time")]
    HeaderTimeout,
    #[error("{0}")]
    DialTimeout(String),
    /// The connection failed after a time without progress. A part of the request may have arrived.
    #[error("{0}")]
    Stalled(String),
    #[error("its placeholders are {0:?} for this request, which is not `HOST:PORT`")]
    Address(String),
    #[error("the request cannot be forwarded: {0}")]
    Request(http::Error),
}

impl Failure {
    /// `connection`: the connection on which the request was sent, if any.
    pub(super) fn of(error: &ClientError, connection: &CaptureConnection) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(found) = cause {
            let io = found.downcast_ref::<io::Error>();
            if io.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
                let reason = found.to_string();
                return if error.is_connect() {
                    Self::DialTimeout(reason)
                } else {
                    Self::Stalled(reason)
                };
            }
            if let Some(explained) = io.and_then(explain) {
                text = explained;
                break;
            }
            text = format!("{text}: {found}");
            cause = found.source();
        }
        if error.is_connect() {
            return Self::Connect(text);
        }
        match connection_progress(connection).and_then(|passed| passed.request_loss()) {
            Some(lost) => Self::Lost { lost, cause: text },
            None => Self::Client(text),
        }
    }

    /// `is_unsent`: no part of the request was handed to a connection.
    pub(super) fn of_http2(error: &hyper::Error, is_unsent: bool) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        let mut lost = is_unsent;
        while let Some(found) = cause {
            let io = found.downcast_ref::<io::Error>();
            if io.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
                return Self::Stalled(found.to_string());
            }
            text = format!("{text}: {found}");
            if let Some(h2) = found.downcast_ref::<h2::Error>() {
                if let Some(io) = h2.get_io()
                    && io.kind() == io::ErrorKind::TimedOut
                {
                    return Self::Stalled(io.to_string());
                }
                let reason = h2.reason();
                // The upstream has not processed the request (RFC 9113 §8.7).
                lost |= h2.is_remote()
                    && ((h2.is_reset() && reason == Some(Reason::REFUSED_STREAM))
                        || (h2.is_go_away() && reason == Some(Reason::NO_ERROR)));
                if h2.is_library()
                    && matches!(
                        reason,
                        Some(Reason::FRAME_SIZE_ERROR | Reason::PROTOCOL_ERROR)
                    )
                {
                    text.push_str(" (if it has only HTTP/1.1: remove `h2c://` or `versions`)");
                }
            }
            cause = found.source();
        }
        if lost {
            let lost = RequestLoss::Unsent;
            return Self::Lost { lost, cause: text };
        }
        Self::Client(text)
    }

    /// Whether the upstream is at fault. A request that cannot be sent to any upstream does not count: a client could
    /// make all of them appear unhealthy.
    pub(super) fn is_upstream_fault(&self) -> bool {
        !matches!(self, Self::Request(_) | Self::Address(_))
    }

    /// Whether a request may be sent again: no upstream has received it, or it `is_repeatable`.
    pub(super) fn is_harmless(&self, is_repeatable: bool) -> bool {
        match self {
            Self::DialTimeout(_)
            | Self::Address(_)
            | Self::Connect(_)
            | Self::Lost {
                lost: RequestLoss::Unsent,
                ..
            } => true,
            Self::Client(_)
            | Self::Lost { .. }
            | Self::Answer(_)
            | Self::HeaderTimeout
            | Self::Stalled(_) => is_repeatable,
            Self::Request(_) => false,
        }
    }

    /// The status of the response to the client.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::HeaderTimeout | Self::DialTimeout(_) | Self::Stalled(_) => {
                StatusCode::GATEWAY_TIMEOUT
            }
            Self::Address(_)
            | Self::Connect(_)
            | Self::Client(_)
            | Self::Lost { .. }
            | Self::Answer(_) => StatusCode::BAD_GATEWAY,
            Self::Request(_) => StatusCode::BAD_REQUEST,
        }
    }
}

pub(super) fn connection_progress(connection: &CaptureConnection) -> Option<ConnectionProgress> {
    let mut extras = Extensions::new();
    connection
        .connection_metadata()
        .as_ref()?
        .get_extras(&mut extras);
    extras.remove()
}
