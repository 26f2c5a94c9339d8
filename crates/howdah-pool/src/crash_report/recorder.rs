//! What is kept of a process for the case that it crashes: its last log lines, and what it reports of its fault.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::text;

/// Lines that are kept.
const LINES: usize = 40;
/// Characters of a line that are kept.
const LINE_SIZE: usize = 500;
/// Lines of one message that are kept, the last ones.
const MESSAGE_LINES: usize = 20;
/// Records of a fault that are kept: one for each of many coroutines, and two.
const NOTES: usize = 258;
/// Bytes of them, together.
const NOTES_SIZE: usize = 256 << 10;

/// Written by the reader of a log pipe, read when its process has crashed. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct CrashRecorder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kept: Mutex<Kept>,
    /// All that the process wrote has been read.
    closed: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    notes: Vec<CrashNote>,
    notes_size: usize,
}

/// A record of a fault (`worker/include/howdah_shm.h`, level `f`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CrashNote {
    pub(crate) request: Option<u64>,
    pub(crate) text: String,
}

impl CrashRecorder {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            kept: Mutex::default(),
            closed: watch::Sender::new(false),
        }))
    }

    /// Keeps a message of the log.
    pub(crate) fn push(&self, message: &str) {
        let mut kept = self.kept();
        let skip = message.lines().count().saturating_sub(MESSAGE_LINES);
        for line in message.lines().skip(skip) {
            if kept.lines.len() == LINES {
                kept.lines.pop_front();
            }
            kept.lines.push_back(text::line(line, LINE_SIZE));
        }
    }

    /// Keeps a record of a fault.
    pub(crate) fn note(&self, request: Option<u64>, text: String) {
        let mut kept = self.kept();
        if kept.notes.len() < NOTES && kept.notes_size + text.len() <= NOTES_SIZE {
            kept.notes_size += text.len();
            kept.notes.push(CrashNote { request, text });
        }
    }

    pub(crate) fn close(&self) {
        self.0.closed.send_replace(true);
    }

    /// Returns when all that the process wrote has been read.
    pub(crate) async fn closed(&self) {
        // An error would mean that the sender is gone, which this value holds.
        let _ = self.0.closed.subscribe().wait_for(|closed| *closed).await;
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.kept().lines.iter().cloned().collect()
    }

    pub(crate) fn notes(&self) -> Vec<CrashNote> {
        self.kept().notes.clone()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_a_limit() {
        let recorder = CrashRecorder::new();
        for number in 0..1000 {
            recorder.push(&number.to_string());
            recorder.note(Some(number), "x".repeat(1000));
        }
        let lines = recorder.lines();
        assert_eq!((lines.len(), lines[LINES - 1].as_str()), (LINES, "999"));
        let size: usize = recorder.notes().iter().map(|note| note.text.len()).sum();
        assert!(size <= NOTES_SIZE && size > NOTES_SIZE / 2, "{size}");
        recorder.push(&"y\n".repeat(5000));
        assert_eq!(recorder.lines()[LINES - MESSAGE_LINES - 1], "999");
        recorder.push(&"z".repeat(5000));
        assert!(recorder.lines()[LINES - 1].chars().count() <= LINE_SIZE + 1);
    }
}
