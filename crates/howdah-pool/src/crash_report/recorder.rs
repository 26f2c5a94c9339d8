//! Recording of a process for the report if it crashes: its last log lines, and the records of its fault.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::text;

/// Most lines in a recording.
const LINES: usize = 40;
/// Most characters of a line.
const LINE_SIZE: usize = 500;
/// Most lines of one message; the last ones are stored.
const MESSAGE_LINES: usize = 20;
/// Most records of a fault: one for each of many coroutines, and two.
const NOTES: usize = 258;
/// Their total size in bytes.
const NOTES_SIZE: usize = 256 << 10;

/// Written by the reader of a log pipe, read when its process has crashed. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct CrashRecorder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    recording: Mutex<Recording>,
    /// Everything that the process wrote has been read.
    closed: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Recording {
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
            recording: Mutex::default(),
            closed: watch::Sender::new(false),
        }))
    }

    /// Adds a message of the log.
    pub(crate) fn push(&self, message: &str) {
        let mut recording = self.recording();
        let skip = message.lines().count().saturating_sub(MESSAGE_LINES);
        for line in message.lines().skip(skip) {
            if recording.lines.len() == LINES {
                recording.lines.pop_front();
            }
            recording.lines.push_back(text::line(line, LINE_SIZE));
        }
    }

    /// Adds a record of a fault.
    pub(crate) fn note(&self, request: Option<u64>, text: String) {
        let mut recording = self.recording();
        if recording.notes.len() < NOTES && recording.notes_size + text.len() <= NOTES_SIZE {
            recording.notes_size += text.len();
            recording.notes.push(CrashNote { request, text });
        }
    }

    pub(crate) fn close(&self) {
        self.0.closed.send_replace(true);
    }

    /// Returns when everything that the process wrote has been read.
    pub(crate) async fn closed(&self) {
        // An error would mean that the sender was dropped, which this value owns.
        let _ = self.0.closed.subscribe().wait_for(|closed| *closed).await;
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.recording().lines.iter().cloned().collect()
    }

    pub(crate) fn notes(&self) -> Vec<CrashNote> {
        self.recording().notes.clone()
    }

    fn recording(&self) -> MutexGuard<'_, Recording> {
        self.0
            .recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_has_a_limit() {
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
