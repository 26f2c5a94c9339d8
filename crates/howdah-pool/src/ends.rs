//! Threads that wait for the end of a pool's workers to begin, so that successors are forked while the kernel
//! gives back the memory of what was lost. The pidfd, which is readable afterwards, is what counts for all else.

use std::sync::Arc;

use howdah_shm::{LifeWatch, Segment, WorkerId};
use tokio::sync::mpsc;

use crate::messages::Event;

/// One thread for each 64 places; they end with this.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    watches: Vec<Arc<LifeWatch>>,
}

impl Ends {
    /// Has [`Event::Ending`] sent for workers of the pool.
    pub(crate) fn watch(
        pool: usize,
        name: &str,
        segment: &Arc<Segment>,
        sender: &mpsc::UnboundedSender<Event>,
    ) -> Self {
        let mut watches = Vec::new();
        for watch in LifeWatch::of(segment).map(Arc::new) {
            let (watching, sender) = (watch.clone(), sender.clone());
            let wait = move || {
                loop {
                    match watching.next() {
                        Ok(Some(worker)) => {
                            // An error means that the supervisor is gone, which closes the watch.
                            let _ = sender.send(Event::Ending { pool, worker });
                        }
                        Ok(None) => break,
                        Err(error) => {
                            tracing::debug!(target: "howdah::pool", "lost workers are noticed by their pidfds alone: {error}");
                            break;
                        }
                    }
                }
            };
            match std::thread::Builder::new().name("ends".into()).spawn(wait) {
                Ok(_) => watches.push(watch),
                Err(error) => {
                    tracing::debug!(target: "howdah::pool", pool = name, "lost workers are noticed by their pidfds alone: {error}");
                }
            }
        }
        Self { watches }
    }

    /// A worker is there whose end is to be told.
    pub(crate) fn add(&self, worker: WorkerId) {
        for watch in &self.watches {
            watch.add(worker);
        }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        for watch in &self.watches {
            watch.close();
        }
    }
}
