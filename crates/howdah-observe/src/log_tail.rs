//! The last lines of the server's log, for the dashboard. Kept in memory only if there is an admin API.

use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Serialize;
use serde_json::{Map, Value};

/// Lines that are stored.
const LINES_MAX: usize = 500;
/// Bytes of a message; the rest is cut off.
const MESSAGE_MAX: usize = 4096;
/// Bytes of a field that is a text.
const FIELD_MAX: usize = 512;
/// Lines of one page.
const PAGE_MAX: usize = 200;

/// A stored entry of the server's log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogLine {
    /// Its number since the start, from 1.
    pub number: u64,
    /// Seconds since 1970.
    pub ts: f64,
    /// `error`, `warn`, `info` or `debug`.
    pub level: &'static str,
    /// The part of the server that logged it.
    pub logger: &'static str,
    /// The message, perhaps of several lines.
    pub msg: String,
    /// Additional fields.
    pub fields: Map<String, Value>,
}

/// Some of the last lines.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LogPage {
    /// The number of the newest line; lines after it are new.
    pub last: u64,
    /// The newest ones, oldest first.
    pub lines: Vec<LogLine>,
}

#[derive(Debug, Default)]
struct Tail {
    last: u64,
    lines: VecDeque<LogLine>,
}

static TAIL: OnceLock<Mutex<Tail>> = OnceLock::new();

/// Starts to store the last lines.
pub fn enable() {
    TAIL.get_or_init(Mutex::default);
}

/// The lines after this number, at most the newest 200. Empty before [`enable`].
pub fn tail(after: u64) -> LogPage {
    let Some(tail) = TAIL.get() else {
        return LogPage::default();
    };
    tail.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .page(after)
}

pub(crate) fn is_enabled() -> bool {
    TAIL.get().is_some()
}

pub(crate) fn push(
    ts: f64,
    level: &'static str,
    logger: &'static str,
    msg: String,
    fields: Vec<(&'static str, Value)>,
) {
    if let Some(tail) = TAIL.get() {
        let line = line(ts, level, logger, msg, fields);
        tail.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }
}

/// Formats a line without its number.
fn line(
    ts: f64,
    level: &'static str,
    logger: &'static str,
    msg: String,
    fields: Vec<(&'static str, Value)>,
) -> LogLine {
    let fields = fields.into_iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => Value::String(cut(text, FIELD_MAX)),
            other => other,
        };
        (name.to_owned(), value)
    });
    LogLine {
        number: 0,
        ts,
        level,
        logger,
        msg: cut(msg, MESSAGE_MAX),
        fields: fields.collect(),
    }
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

impl Tail {
    fn push(&mut self, line: LogLine) {
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.last += 1;
        let number = self.last;
        self.lines.push_back(LogLine { number, ..line });
    }

    fn page(&self, after: u64) -> LogPage {
        // A number from before a restart of the server has no meaning.
        let after = if after > self.last { 0 } else { after };
        let new = self.lines.iter().filter(|line| line.number > after);
        let skipped = new.clone().count().saturating_sub(PAGE_MAX);
        LogPage {
            last: self.last,
            lines: new.skip(skipped).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(lines: usize) -> Tail {
        let mut tail = Tail::default();
        for number in 0..lines {
            tail.push(line(1.5, "info", "howdah", number.to_string(), Vec::new()));
        }
        tail
    }

    #[test]
    fn a_page_has_the_newest_lines_after_a_number() {
        let tail = tail(LINES_MAX + 10);
        assert_eq!(tail.lines.len(), LINES_MAX);
        let page = tail.page(0);
        assert_eq!((page.last, page.lines.len()), (510, PAGE_MAX));
        assert_eq!(page.lines[PAGE_MAX - 1].number, 510);
        let numbers = |after| {
            let lines = tail.page(after).lines.into_iter();
            lines.map(|line| line.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(508), [509, 510]);
        assert!(numbers(510).is_empty());
        assert_eq!(numbers(9999).len(), PAGE_MAX, "of another server");
    }

    #[test]
    fn long_texts_are_cut() {
        let fields = vec![("a", Value::from("ö".repeat(1000))), ("b", 1.into())];
        let line = line(0.0, "warn", "howdah::php", "ä".repeat(10_000), fields);
        assert!(line.msg.len() <= MESSAGE_MAX + '…'.len_utf8());
        let field = line.fields["a"].as_str().expect("a text");
        assert!(field.len() <= FIELD_MAX + '…'.len_utf8());
        assert_eq!(line.fields["b"], 1);
    }
}
