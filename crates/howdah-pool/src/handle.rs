//! Remote control of a running supervisor.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};

use crate::looks::{RequestLook, RequestLooks};
use crate::messages::{Event, ReloadError};
use crate::process::opcache::{OpcacheAnswer, OpcacheError, OpcacheOrder};
use crate::profile::ProfiledPool;
use crate::status::Status;

/// How long to wait for a thread of a PHP process that does nothing else.
const LOOK_TIME: Duration = Duration::from_millis(500);

/// Controls a [`crate::Supervisor`] from any thread or task. Clones control the same one. It replies while
/// [`crate::Supervisor::run_until`] is polled.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) events: mpsc::UnboundedSender<Event>,
    pub(crate) resets: Arc<Notify>,
}

/// The supervisor has exited: the server is stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server is stopping")]
pub struct ShutdownError;

impl Handle {
    /// Boots a pool, or all of them, again from the current files. Returns when the new generation serves and the old
    /// one finishes its requests. After an error the old one continues to serve; of several pools the first error is
    /// returned, when all are done.
    ///
    /// Calls during a reload are combined into one further reload.
    pub async fn reload(&self, pool: Option<&str>) -> Result<(), ReloadError> {
        let (reply, mut results) = mpsc::unbounded_channel();
        let stopping = || ReloadError {
            pool: pool.unwrap_or("(all)").to_owned(),
            text: ShutdownError.to_string(),
        };
        self.events
            .send(Event::Reload(pool.map(str::to_owned), reply))
            .map_err(|_| stopping())?;
        let mut first = None;
        while let Some(result) = results.recv().await {
            // The first error counts, or success.
            if first.as_ref().is_none_or(Result::is_ok) {
                first = Some(result);
            }
        }
        first.unwrap_or_else(|| Err(stopping()))
    }

    /// The current state of all processes.
    pub async fn status(&self) -> Result<Status, ShutdownError> {
        let (reply, status) = oneshot::channel();
        self.events
            .send(Event::Status(reply))
            .map_err(|_| ShutdownError)?;
        status.await.map_err(|_| ShutdownError)
    }

    /// The pools, for profiles.
    pub async fn profiled_pools(&self) -> Result<Vec<ProfiledPool>, ShutdownError> {
        let (reply, pools) = oneshot::channel();
        self.events
            .send(Event::ProfiledPools(reply))
            .map_err(|_| ShutdownError)?;
        pools.await.map_err(|_| ShutdownError)
    }

    /// What the requests in PHP processes do at this moment, by their ids. A process that does not reply soon is left
    /// out.
    pub async fn request_looks(&self) -> Result<HashMap<u64, RequestLook>, ShutdownError> {
        let (reply, books) = oneshot::channel();
        self.events
            .send(Event::Look(reply))
            .map_err(|_| ShutdownError)?;
        let books = books.await.map_err(|_| ShutdownError)?;
        let complete = async {
            for book in &books {
                book.complete().await;
            }
        };
        if tokio::time::timeout(LOOK_TIME, complete).await.is_err() {
            books.iter().for_each(RequestLooks::give_up);
        }
        Ok(books.iter().flat_map(RequestLooks::request_looks).collect())
    }

    /// Inspects or changes OPcache in a separate process.
    pub async fn opcache(&self, order: OpcacheOrder) -> Result<OpcacheAnswer, OpcacheError> {
        let (reply, answer) = oneshot::channel();
        self.events
            .send(Event::Opcache(order, reply))
            .map_err(|_| OpcacheError::NoRoot)?;
        answer.await.map_err(|_| OpcacheError::NoRoot)?
    }

    /// Returns when PHP code has called `opcache_reset()` since the last call.
    pub async fn opcache_reset(&self) {
        self.resets.notified().await;
    }
}
