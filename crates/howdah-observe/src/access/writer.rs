//! The thread that writes an output.

use std::time::{Duration, Instant};

use super::output::Output;
use super::queue::Queue;

/// Bytes that are collected before they are written.
const BATCH: usize = 64 << 10;
/// Minimum time between two messages about dropped lines, at first and later: a disk may be full for days.
const COMPLAIN: Duration = Duration::from_secs(1);
const COMPLAIN_MAX: Duration = Duration::from_secs(64);

/// Writes until the queue is closed and empty.
pub(super) fn run(queue: &Queue, mut output: Output) {
    let mut complaints = LossLog::new(output.name());
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
    complaints.report_now(queue.dropped());
    queue.end();
}

fn write(
    queue: &Queue,
    output: &mut Output,
    text: &mut String,
    lines: u64,
    complaints: &mut LossLog,
) {
    if text.is_empty() {
        return;
    }
    match output.write(text.as_bytes()) {
        Ok(()) => complaints.recover(queue.dropped()),
        Err(error) => {
            queue.count_dropped(lines);
            complaints.cause = Some(error.to_string());
        }
    }
    text.clear();
}

/// Reports dropped lines: once a second, and less often while the output cannot be written.
struct LossLog {
    output: String,
    last: Option<Instant>,
    pause: Duration,
    reported: u64,
    /// The output cannot be written.
    cause: Option<String>,
}

impl LossLog {
    fn new(output: String) -> Self {
        Self {
            output,
            last: None,
            pause: COMPLAIN,
            reported: 0,
            cause: None,
        }
    }

    fn report_dropped(&mut self, dropped: u64) {
        if self.last.is_none_or(|last| last.elapsed() >= self.pause) {
            self.report_now(dropped);
        }
    }

    fn report_now(&mut self, dropped: u64) {
        if dropped == self.reported {
            return;
        }
        let (output, lines) = (&self.output, dropped - self.reported);
        if let Some(cause) = &self.cause {
            tracing::warn!(target: "howdah", output, lines, "lines of an access log were dropped: {cause}; the server tries again with each line");
            self.pause = (self.pause * 2).min(COMPLAIN_MAX);
        } else {
            tracing::warn!(target: "howdah", output, lines, "lines of an access log were dropped: the output is too slow");
        }
        self.reported = dropped;
        self.last = Some(Instant::now());
    }

    /// The output was written.
    fn recover(&mut self, dropped: u64) {
        if self.cause.is_none() {
            return;
        }
        self.report_now(dropped);
        self.cause = None;
        self.pause = COMPLAIN;
        tracing::info!(target: "howdah", output = self.output, "an access log is written again");
    }
}
