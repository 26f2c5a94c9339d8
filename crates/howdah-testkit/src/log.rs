//! Log lines of a server, and the check that rejects unexpected lines.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// One line of a server's output.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// The line as written, without the line end.
    pub raw: String,
    /// JSON object of the line. Null if the line has none.
    pub fields: Value,
}

impl LogLine {
    pub(crate) fn new(raw: String) -> Self {
        let fields = serde_json::from_str(&raw)
            .ok()
            .filter(Value::is_object)
            .unwrap_or_default();
        Self { raw, fields }
    }

    /// `msg`, or the whole line if it is not JSON.
    pub fn message(&self) -> &str {
        self.text("msg").unwrap_or(&self.raw)
    }

    /// `level` in lower case.
    pub fn level(&self) -> Option<&str> {
        self.text("level")
    }

    /// Value of a field that contains text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    /// Value of a field that contains a number, or text that is a number.
    pub fn number(&self, field: &str) -> Option<u64> {
        let value = self.fields.get(field)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    }

    /// Whether a test fails if it did not announce this line: a warning, an error, the report of a
    /// panic or of a sanitizer, or text that is not a log line.
    pub fn is_alarming(&self) -> bool {
        let fine = matches!(self.level(), Some("trace" | "debug" | "info"));
        !fine || self.raw.contains("panicked at") || self.raw.contains("Sanitizer")
    }
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<LogLine>,
    /// Number of streams that are still open.
    open: usize,
    expectations: Vec<Expectation>,
}

#[derive(Debug, Clone)]
struct Expectation {
    text: String,
    required: bool,
}

/// Log lines of a server, collected by separate threads as they arrive.
#[derive(Debug, Clone, Default)]
pub struct LogBook {
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl LogBook {
    /// Collects the lines of `stream` until its end.
    pub fn collect(&self, stream: impl Read + Send + 'static) {
        self.lock().open += 1;
        let book = self.clone();
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            // A read error ends the stream like its end does, because the writer has exited.
            while stream
                .read_until(b'\n', &mut line)
                .is_ok_and(|size| size > 0)
            {
                let text = String::from_utf8_lossy(&line)
                    .trim_end_matches(['\r', '\n'])
                    .to_owned();
                book.lock().lines.push(LogLine::new(text));
                book.shared.1.notify_all();
                line.clear();
            }
            book.lock().open -= 1;
            book.shared.1.notify_all();
        });
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<LogLine> {
        self.lock().lines.clone()
    }

    /// Lines that contain `text`.
    pub fn containing(&self, text: &str) -> Vec<LogLine> {
        self.lock()
            .lines
            .iter()
            .filter(|line| line.raw.contains(text))
            .cloned()
            .collect()
    }

    /// Expects lines that contain `text`. At least one must be logged.
    pub fn expect(&self, text: &str) {
        self.lock().expectations.push(Expectation {
            text: text.to_owned(),
            required: true,
        });
    }

    /// Allows lines that contain `text`. For tests whose outcome may differ.
    pub fn allow(&self, text: &str) {
        self.lock().expectations.push(Expectation {
            text: text.to_owned(),
            required: false,
        });
    }

    /// Waits for the first line for which `matches` is true. Earlier lines count.
    pub fn wait(&self, limit: Duration, matches: impl Fn(&LogLine) -> bool) -> Option<LogLine> {
        let mut seen = 0;
        let mut found = None;
        self.wait_for(limit, |state| {
            found = state.lines[seen..]
                .iter()
                .find(|line| matches(line))
                .cloned();
            seen = state.lines.len();
            found.is_some() || state.open == 0
        });
        found
    }

    /// Waits until all writers have closed the log. Returns false if one is still open after
    /// `limit`.
    pub fn wait_end(&self, limit: Duration) -> bool {
        self.wait_for(limit, |state| state.open == 0)
    }

    /// Returns one text for each problem, after waiting up to `limit` for expected lines.
    pub fn complaints(&self, limit: Duration) -> Vec<String> {
        let missing = |state: &State| -> Vec<String> {
            let came = |e: &&Expectation| !state.lines.iter().any(|l| l.raw.contains(&e.text));
            let required = state.expectations.iter().filter(|e| e.required);
            required.filter(came).map(|e| e.text.clone()).collect()
        };
        self.wait_for(limit, |state| state.open == 0 || missing(state).is_empty());
        let state = self.lock();
        let announced = |line: &LogLine| {
            state
                .expectations
                .iter()
                .any(|e| line.raw.contains(&e.text))
        };
        let alarms = state
            .lines
            .iter()
            .filter(|line| line.is_alarming() && !announced(line));
        alarms
            .map(|line| format!("unexpected: {}", line.raw))
            .chain(
                missing(&state)
                    .into_iter()
                    .map(|text| format!("never logged: {text}")),
            )
            .collect()
    }

    fn wait_for(&self, limit: Duration, mut done: impl FnMut(&State) -> bool) -> bool {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        while !done(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.1.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Returns a log book and the stream from which it collects lines.
    fn book() -> (LogBook, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let writer =
            TcpStream::connect(listener.local_addr().expect("bound")).expect("it connects");
        let book = LogBook::default();
        book.collect(listener.accept().expect("a connection").0);
        (book, writer)
    }

    fn complaints(lines: &str, prepare: impl Fn(&LogBook)) -> Vec<String> {
        let (book, mut writer) = book();
        prepare(&book);
        writer.write_all(lines.as_bytes()).expect("it is read");
        drop(writer);
        assert!(book.wait_end(LIMIT));
        book.complaints(LIMIT)
    }

    #[test]
    fn passes_a_quiet_log() {
        let lines = "{\"level\":\"info\",\"msg\":\"ready\"}\n{\"level\":\"debug\",\"msg\":\"x\"}\n";
        assert_eq!(complaints(lines, |_| {}), Vec::<String>::new());
    }

    #[test]
    fn stops_each_alarm() {
        for line in [
            "{\"level\":\"warn\",\"msg\":\"worker died\"}",
            "{\"level\":\"error\",\"msg\":\"x\"}",
            "{\"level\":\"info\",\"msg\":\"thread 'x' panicked at src/a.rs\"}",
            "{\"level\":\"debug\",\"msg\":\"==1==ERROR: AddressSanitizer: heap\"}",
            "{\"msg\":\"no level\"}",
            "PHP Warning: something wrote past the log",
        ] {
            assert_eq!(
                complaints(&format!("{line}\n"), |_| {}),
                [format!("unexpected: {line}")]
            );
            let announced = |book: &LogBook| book.expect(&line[2..14]);
            assert_eq!(
                complaints(&format!("{line}\n"), announced),
                Vec::<String>::new()
            );
            assert_eq!(
                complaints(line, |book| book.allow(line)),
                Vec::<String>::new()
            );
        }
    }

    #[test]
    fn misses_what_was_announced() {
        let lines = "{\"level\":\"info\",\"msg\":\"ready\"}\n";
        assert_eq!(
            complaints(lines, |book| book.expect("bye")),
            ["never logged: bye"]
        );
        assert_eq!(
            complaints(lines, |book| book.allow("bye")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn waits_for_a_line_and_for_the_end() {
        let (book, mut writer) = book();
        assert_eq!(book.wait(Duration::from_millis(5), |_| true), None);
        assert!(!book.wait_end(Duration::from_millis(5)));
        let waiting = thread::spawn({
            let book = book.clone();
            move || book.wait(LIMIT, |line| line.message() == "b")
        });
        writer
            .write_all(b"{\"msg\":\"a\"}\n{\"msg\":\"b\",\"pid\":\"12\",\"n\":3}\n")
            .expect("read");
        let line = waiting.join().expect("no panic").expect("it comes");
        assert_eq!(
            (line.number("pid"), line.number("n"), line.number("x")),
            (Some(12), Some(3), None)
        );
        drop(writer);
        assert_eq!(book.wait(LIMIT, |line| line.message() == "never"), None);
        assert_eq!(book.containing("\"a\"").len(), 1);
    }
}
