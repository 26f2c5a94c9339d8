//! What requests do at the moment, reported by their processes on request.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use howdah_shm::WorkerId;
use serde::Serialize;
use tokio::sync::Notify;

use crate::crash_report::text;
use crate::request_wait::RequestWait;

/// Frames that are stored of a request.
const FRAMES_MAX: usize = 64;
/// Characters of a frame.
const LINE_MAX: usize = 400;
/// Most requests of a pool that are stored, in case a process invents some.
const REQUESTS_MAX: usize = 4096;

/// The activity of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RequestLook {
    /// Place of its worker.
    pub worker: u16,
    /// Process id of its worker.
    pub pid: i32,
    /// Bytes of PHP's allocator in its process.
    pub memory: Option<u64>,
    /// The event that it waits for; `None`: it runs.
    pub wait: Option<RequestWait>,
    /// The innermost function, and the first place in PHP code.
    pub top: String,
    /// All frames, the innermost first.
    pub frames: Vec<String>,
}

/// The looks at a pool's requests. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestLooks(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Workers whose report is not complete.
    awaited: HashSet<WorkerId>,
    looks: HashMap<u64, RequestLook>,
}

impl RequestLooks {
    /// Starts a look at these workers. Earlier reports are discarded, unless another look is in
    /// progress.
    pub(crate) fn begin(&self, workers: impl Iterator<Item = WorkerId>) {
        let mut state = self.state();
        if state.awaited.is_empty() {
            state.looks.clear();
        }
        state.awaited.extend(workers);
    }

    /// Adds a record of level `q`; without a request it is the last one.
    pub(crate) fn add(&self, worker: WorkerId, pid: i32, request: Option<u64>, record: &str) {
        let mut state = self.state();
        match request {
            Some(id) if state.awaited.contains(&worker) && state.looks.len() < REQUESTS_MAX => {
                let look = parse(record);
                let worker = worker.0;
                state.looks.insert(
                    id,
                    RequestLook {
                        worker,
                        pid,
                        ..look
                    },
                );
            }
            Some(_) => {}
            None => {
                state.awaited.remove(&worker);
                self.0.changed.notify_waiters();
            }
        }
    }

    /// A process has exited and will not report.
    pub(crate) fn give_up(&self) {
        self.state().awaited.clear();
    }

    /// Returns when all workers have reported.
    pub(crate) async fn complete(&self) {
        loop {
            let changed = self.0.changed.notified();
            if self.state().awaited.is_empty() {
                return;
            }
            changed.await;
        }
    }

    pub(crate) fn request_looks(&self) -> HashMap<u64, RequestLook> {
        self.state().looks.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(record: &str) -> RequestLook {
    let mut look = RequestLook::default();
    for line in record.lines() {
        if let Some(memory) = line.strip_prefix("memory ") {
            look.memory = memory.parse().ok();
        } else if let Some(wait) = line.strip_prefix("wait ") {
            look.wait = Some(RequestWait::parse(wait));
        } else if line.starts_with('#') && look.frames.len() < FRAMES_MAX {
            look.frames.push(text::line(line, LINE_MAX));
        }
    }
    look.top = top(&look.frames);
    look
}

/// The frames up to the first one of PHP code, which has a file.
fn top(frames: &[String]) -> String {
    let names = frames
        .iter()
        .map(|frame| frame.split_once(' ').map_or(&**frame, |(_, name)| name));
    let mut top = Vec::new();
    for name in names {
        top.push(name);
        if name.contains(' ') {
            break;
        }
    }
    top.join(" in ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_shows_what_a_request_does() {
        let look = parse(
            "memory 2048\nwait descriptor 7 tcp 127.0.0.1:5432\n#0 fread()\n#1 f() /a.php:3\n#2 g() /b.php:1",
        );
        let wait = look.wait.expect("it waits");
        assert_eq!((wait.kind, wait.descriptor), ("descriptor", Some(7)));
        assert_eq!(wait.peer.as_deref(), Some("tcp 127.0.0.1:5432"));
        assert!(!wait.is_guess);
        assert_eq!(
            (look.memory, &*look.top),
            (Some(2048), "fread() in f() /a.php:3")
        );
        assert_eq!(look.frames.len(), 3);
        assert_eq!(parse("runs\n#0 f() /a:1").wait, None);
    }

    #[tokio::test]
    async fn a_look_is_complete_when_all_have_answered() {
        let (book, one, other) = (RequestLooks::default(), WorkerId(1), WorkerId(2));
        book.begin([one, other].into_iter());
        book.add(one, 10, Some(7), "runs\n#0 f() /a:1");
        book.add(WorkerId(9), 10, Some(8), "runs");
        book.add(one, 10, None, "");
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(20), book.complete());
        assert!(waiting.await.is_err(), "one is missing");
        book.add(other, 11, None, "");
        book.complete().await;
        let looks = book.request_looks();
        assert_eq!((looks.len(), looks[&7].pid, looks[&7].worker), (1, 10, 1));
        book.begin([one].into_iter());
        assert!(book.request_looks().is_empty());
        book.give_up();
        book.complete().await;
    }
}
