//! Reasons why a worker did not respond.

use std::io;
use std::time::Duration;

use crate::form::ConflictError;
use crate::upload::FormError;

/// Why a worker did not respond.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum CallError {
    /// `queue_length` requests wait already.
    #[error("the queue is full: raise `num_workers` or `queue_length`")]
    QueueFull,
    /// `max_wait_time` has passed.
    #[error("no worker was free within {0:?}: raise `num_workers` or `max_wait_time`")]
    WaitTimeout(Duration),
    /// No worker starts.
    #[error("the workers do not start: {0}")]
    NotBooted(String),
    /// The pool is being removed, or the server is stopping.
    #[error("the pool is stopping")]
    Stopping,
    /// `request_timeout` has passed.
    #[error("the request ran longer than `request_timeout`, {0:?}; its worker was killed")]
    RequestTimeout(Duration),
    /// The worker reported an error.
    #[error("the worker reported an error: {0}")]
    Worker(String),
    /// The worker crashed, or does not speak the protocol.
    #[error("worker {pid}: {text}")]
    Crashed { pid: i32, text: String },
    /// The response cannot be used.
    #[error("{0}")]
    Response(String),
    /// The form cannot be read.
    #[error(transparent)]
    Form(#[from] FormError),
    /// Two fields of the form contradict each other.
    #[error(transparent)]
    Conflict(#[from] ConflictError),
    /// A frame has room for 4 GiB.
    #[error("the request is larger than a frame of goridge: lower `max_body_size`")]
    TooLarge,
    /// The body cannot be read.
    #[error("the request body cannot be read: {0}")]
    Body(#[from] io::Error),
}
