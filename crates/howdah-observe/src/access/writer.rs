//! The thread that writes an output.

use std::time::{Duration, Instant};

use super::output::Output;
use super::queue::Queue;

/// Bytes that are collected before they are written.
const BATCH: usize = 64 << 10;
/// Minimum time between two messages about dropped lines.
const COMPLAIN: Duration = Duration::from_secs(1);

/// Writes until the queue is closed and empty.
pub(super) fn run(queue: &Queue, mut output: Output) {
    let mut complaints = LossLog::default();
    let mut text = String::new();
    while let Some(batch) = queue.take() {
        if batch.reopen
            && let Err(error) = output.reopen()
        {
            tracing::warn!(target: "howdah", "an access log cannot be opened again, so its open file stays in use: {error}");
        }
        let mut lines = 0;
        for (entry, encoder) in batch.jobs {
            let start = text.len();
            encoder.push(&mut text, &entry);
            lines += 1;
            let full = output
                .remaining_bytes()
                .is_some_and(|room| text.len() as u64 > room);
            if full && start > 0 {
                // The last line begins the next file.
                let rest = text.split_off(start);
                write(queue, &mut output, &mut text, lines - 1, &mut complaints);
                text = rest;
                lines = 1;
            }
            if text.len() >= BATCH {
                write(queue, &mut output, &mut text, lines, &mut complaints);
                lines = 0;
            }
        }
        write(queue, &mut output, &mut text, lines, &mut complaints);
        complaints.report_dropped(queue.dropped());
    }
    complaints.last = None;
    complaints.report_dropped(queue.dropped());
    queue.end();
}

fn write(
    queue: &Queue,
    output: &mut Output,
    text: &mut String,
    lines: u64,
    complaints: &mut LossLog,
) {
    if let Err(error) = output.write(text.as_bytes()) {
        queue.count_dropped(lines);
        complaints.cause = Some(error.to_string());
    }
    text.clear();
}

/// Reports dropped lines, at most once a second.
#[derive(Default)]
struct LossLog {
    last: Option<Instant>,
    reported: u64,
    cause: Option<String>,
}

impl LossLog {
    fn report_dropped(&mut self, lost: u64) {
        let soon = self.last.is_some_and(|last| last.elapsed() < COMPLAIN);
        if lost == self.reported || soon {
            return;
        }
        let cause = self.cause.take();
        let cause = cause.as_deref().unwrap_or("the output is too slow");
        tracing::warn!(target: "howdah", lines = lost - self.reported, "lines of an access log were dropped: {cause}");
        self.reported = lost;
        self.last = Some(Instant::now());
    }
}
