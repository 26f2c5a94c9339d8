//! The last lines of a process's output while it booted: the reason, if it fails.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Lines that are kept.
const LINES: usize = 20;
/// Characters of a message that are kept: a stack trace, not a dump.
const LINE_SIZE: usize = 4096;

/// The log line about a worker script that ends during its boot (`worker/src/mode/worker/boot.c`), whether or not it
/// had output.
const ABOVE: &str = "its output and errors are above";

/// Written by the reader of a log pipe, read by the supervisor.
#[derive(Debug, Clone)]
pub(crate) struct Tail(Arc<Mutex<Option<VecDeque<String>>>>);

impl Tail {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Some(VecDeque::new()))))
    }

    /// Stores a line, unless the tail was closed.
    pub(crate) fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lines) = lines.as_mut() else { return };
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(LINE_SIZE).collect());
    }

    /// The boot has ended: nothing is stored from here on.
    pub(crate) fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The lines, joined by newlines.
    pub(crate) fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<_> = lines.iter().flatten().map(String::as_str).collect();
        match lines.as_slice() {
            [only] => match only.strip_suffix(ABOVE) {
                Some(ended) => format!("{ended}it printed nothing"),
                None => (*only).to_owned(),
            },
            _ => lines.join("\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_until_it_is_closed() {
        let tail = Tail::new();
        (0..30).for_each(|line| tail.push(&line.to_string()));
        let text = tail.text();
        assert!(text.starts_with("10\n") && text.ends_with("\n29"), "{text}");
        tail.push(&"ä".repeat(2 * LINE_SIZE));
        assert!(tail.text().chars().count() < LINE_SIZE + 100);
        tail.close();
        tail.push("more");
        assert_eq!(tail.text(), "");
    }

    #[test]
    fn nothing_is_above_of_a_script_that_wrote_nothing() {
        let tail = Tail::new();
        let end = "The worker script w.php ended before it called frankenphp_handle_request(); its output and \
                   errors are above";
        tail.push(end);
        assert!(
            tail.text().ends_with("; it printed nothing"),
            "{}",
            tail.text()
        );
        let tail = Tail::new();
        tail.push("No database");
        tail.push(end);
        assert_eq!(tail.text(), format!("No database\n{end}"));
    }
}
