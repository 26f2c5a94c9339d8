//! Threads that wait until a pool's workers begin to exit, so that successors are forked while the kernel still frees
//! the memory of the old process. Everything else relies on the pidfd, which becomes readable afterwards.

use std::io;
use std::sync::Arc;

use howdah_shm::{LifeWatch, Segment, WorkerId};
use tokio::sync::mpsc;

use crate::messages::Event;

/// One thread for each 64 places; they end when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct EndWatch {
    watches: Vec<Arc<LifeWatch>>,
}

impl EndWatch {
    /// Sends [`Event::Ending`] for workers of the pool.
    pub(crate) fn watch(
        pool: usize,
        name: &Arc<str>,
        segment: &Arc<Segment>,
        sender: &mpsc::UnboundedSender<Event>,
    ) -> Self {
        let mut watches = Vec::new();
        for watch in LifeWatch::of(segment).map(Arc::new) {
            let (watching, sender, named) = (watch.clone(), sender.clone(), name.clone());
            let wait = move || {
                if let Err(error) = watch_until_closed(&watching, pool, &sender) {
                    without(&named, &error);
                }
            };
            match std::thread::Builder::new().name("ends".into()).spawn(wait) {
                Ok(_) => watches.push(watch),
                Err(error) => without(name, &error),
            }
        }
        Self { watches }
    }

    /// Adds a worker whose exit has to be reported.
    pub(crate) fn add(&self, worker: WorkerId) {
        for watch in &self.watches {
            watch.add(worker);
        }
    }
}

impl Drop for EndWatch {
    fn drop(&mut self) {
        for watch in &self.watches {
            watch.close();
        }
    }
}

/// Waits for exits until the watch is closed.
fn watch_until_closed(
    watch: &LifeWatch,
    pool: usize,
    sender: &mpsc::UnboundedSender<Event>,
) -> io::Result<()> {
    while let Some(worker) = watch.next()? {
        // An error means that the supervisor was dropped, which closes the watch.
        let _ = sender.send(Event::Ending { pool, worker });
    }
    Ok(())
}

fn without(pool: &str, error: &io::Error) {
    tracing::debug!(target: "howdah::pool", pool, "the exit of workers is noticed by their pidfds only: {error}");
}
