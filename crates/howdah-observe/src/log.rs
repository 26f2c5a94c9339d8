//! The server's own log: one event per line, readable on a terminal, JSON otherwise.
//!
//! JSON lines use Caddy's names, which the usual tools understand:
//! `{"level":"warn","ts":1700000000.123,"logger":"howdah::pool","msg":"worker died","pid":42}`. `level` is one of
//! debug, info, warn, error; `ts` is seconds since 1970; additional fields are the event's.

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use howdah_config::model::{LogOutput, LoggerFilter, SERVER_LOGGERS};
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, reload};

use crate::access;
use crate::access::output::{self, Output};
use crate::access::roll::report_bypassing_log;
use crate::log_tail;
pub use crate::log_tail::{LogLine, LogPage, enable, tail};

/// The format of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Console,
    /// One JSON object a line.
    Json,
}

/// Why the log cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("log {}: {source}", path.display())]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub struct OpenError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// The part of the server that logs about the log.
const OWN_TARGET: &str = "howdah";

/// All logs of the server.
pub struct Settings {
    /// The default log is the first.
    logs: Vec<ServerLog>,
    /// The most verbose level of all logs.
    level: Level,
}

impl Settings {
    /// Events below the levels of all `logs` are dropped where they occur. The first is the default log, whose level
    /// [`tail`] has too.
    pub fn new(logs: Vec<ServerLog>) -> Self {
        let level = logs.iter().map(|log| log.level).max();
        Self {
            logs,
            level: level.unwrap_or(Level::ERROR),
        }
    }
}

/// What is logged, its format, and its output.
pub struct ServerLog {
    level: Level,
    format: Format,
    colour: bool,
    loggers: LoggerFilter,
    output: Mutex<LogWriter>,
}

/// The output, and what it has missed.
struct LogWriter {
    output: Output,
    /// Lines on standard error since the output could not be written, and the first error.
    missed: Option<(u64, io::Error)>,
}

impl ServerLog {
    /// A log of events from `level` on, of the loggers that `loggers` accepts. Without a `format` it is
    /// [`Format::Console`] on a terminal.
    ///
    /// # Errors
    /// If the file cannot be opened for appending.
    pub fn open(
        level: Level,
        format: Option<Format>,
        output: &LogOutput,
        loggers: LoggerFilter,
    ) -> Result<Self, OpenError> {
        let is_terminal = output::is_terminal(output);
        let usual = if is_terminal {
            Format::Console
        } else {
            Format::Json
        };
        let output = Output::open(output, report_bypassing_log)
            .map_err(|access::OpenError { path, source }| OpenError { path, source })?;
        Ok(Self {
            level,
            format: format.unwrap_or(usual),
            colour: is_terminal && std::env::var_os("NO_COLOR").is_none(),
            loggers,
            output: Mutex::new(LogWriter {
                output,
                missed: None,
            }),
        })
    }

    fn accepts(&self, target: &str) -> bool {
        if self.loggers == LoggerFilter::default() {
            return true;
        }
        let name = logger_name(target);
        let caddys = SERVER_LOGGERS
            .iter()
            .find(|(own, caddys)| *own == name && !caddys.is_empty());
        match caddys {
            Some((_, caddys)) => self.loggers.accepts(&[&name, caddys]),
            None => self.loggers.accepts(&[&name]),
        }
    }

    fn line(&self, metadata: &Metadata<'_>, fields: Fields, now: f64) -> String {
        let (level, target) = (*metadata.level(), metadata.target());
        match self.format {
            Format::Json => json_line(level, target, fields, now),
            Format::Console => console_line(level, fields, now, self.colour),
        }
    }

    /// A line of the log about itself. It is not an event, since the log is being written meanwhile.
    fn own_line(&self, level: Level, message: &str, now: f64) -> String {
        let fields = Fields {
            message: message.to_owned(),
            others: Vec::new(),
        };
        match self.format {
            Format::Json => json_line(level, OWN_TARGET, fields, now),
            Format::Console => console_line(level, fields, now, self.colour),
        }
    }

    /// Writes a line; one that the output rejects goes to standard error.
    fn write(&self, line: &str, now: f64) {
        // One line at a time, so that lines of several threads are not mixed. After a panic of a thread here, the
        // output can still be written to.
        let mut writer = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let LogWriter { output, missed } = &mut *writer;
        if let Some((lines, error)) = missed.as_ref() {
            let note = format!(
                "{lines} lines of this log went to standard error, because {} could not be written: {error}",
                output.name()
            );
            let note_line = self.own_line(Level::WARN, &note, now);
            if output.write(note_line.as_bytes()).is_ok() {
                *missed = None;
                push_to_tail(Level::WARN, note, now);
            }
        }
        let Err(error) = output.write(line.as_bytes()) else {
            return;
        };
        let mut text = String::new();
        if missed.is_none() {
            let note = format!(
                "the log {} cannot be written: {error}; until it can, its lines go to standard error",
                output.name()
            );
            text = self.own_line(Level::ERROR, &note, now);
            push_to_tail(Level::ERROR, note, now);
        }
        text.push_str(line);
        missed.get_or_insert((0, error)).0 += 1;
        // Nothing can be done about a log that cannot be written either.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

fn push_to_tail(level: Level, message: String, now: f64) {
    if log_tail::is_enabled() {
        log_tail::push(now, level_name(level), OWN_TARGET, message, Vec::new());
    }
}

/// The name of a logger in `include` and `exclude`: `howdah.tls` for `howdah::tls` and `howdah_tls`.
fn logger_name(target: &str) -> String {
    let name = target.replace("::", ".");
    match name.strip_prefix("howdah_") {
        Some(rest) => format!("howdah.{rest}"),
        None => name,
    }
}

/// Changes the log while the program runs.
static HANDLE: OnceLock<reload::Handle<Settings, Registry>> = OnceLock::new();

/// Starts logging.
///
/// # Panics
/// When called twice in a process.
pub fn init(settings: Settings) {
    let (layer, handle) = reload::Layer::new(settings);
    tracing_subscriber::registry().with(layer).init();
    // It was not called before, or the line above had panicked.
    let _ = HANDLE.set(handle);
}

/// Changes the settings, and returns the previous ones: dropping them waits until old files are processed. Does nothing
/// before [`init`].
#[must_use = "dropping it may take seconds"]
pub fn change(mut settings: Settings) -> Settings {
    if let Some(handle) = HANDLE.get() {
        // Fails only if there is no log any more. Nothing is dropped here, where all threads that log would wait.
        let _ = handle.modify(|own| std::mem::swap(own, &mut settings));
    }
    settings
}

impl<S: Subscriber> Layer<S> for Settings {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= self.level.min(floor(metadata.target()))
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.level.into())
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs_f64();
        let metadata = event.metadata();
        let is_of_default = |log: &ServerLog| *metadata.level() <= log.level;
        if log_tail::is_enabled() && self.logs.first().is_some_and(is_of_default) {
            let Fields { message, others } = fields_of(event);
            let level = level_name(*metadata.level());
            log_tail::push(now, level, metadata.target(), message, others);
        }
        for log in &self.logs {
            if *metadata.level() <= log.level && log.accepts(metadata.target()) {
                log.write(&log.line(metadata, fields_of(event), now), now);
            }
        }
    }
}

/// Most verbose level that any output logs.
fn floor(target: &str) -> Level {
    let library = target.split("::").next().unwrap_or(target);
    match library {
        // They warn about input from clients, as often as clients like.
        "h2" | "h3" | "h3_quinn" | "hyper" | "quinn" | "quinn_proto" | "quinn_udp" | "rustls" => {
            Level::ERROR
        }
        _ if target.starts_with("howdah") => Level::TRACE,
        // Below it, libraries log internal details.
        _ => Level::WARN,
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
        } else {
            self.others
                .push((field.name(), Value::String(format!("{value:?}"))));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            self.others
                .push((field.name(), Value::String(value.to_owned())));
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.others.push((field.name(), value.into()));
    }
}

fn fields_of(event: &Event<'_>) -> Fields {
    let mut fields = Fields::default();
    event.record(&mut fields);
    fields
}

fn json_line(level: Level, target: &str, fields: Fields, now: f64) -> String {
    let mut line = format!(
        "{{\"level\":\"{}\",\"ts\":{now:.6},\"logger\":{},\"msg\":{}",
        level_name(level),
        Value::from(target),
        Value::from(fields.message),
    );
    for (name, value) in fields.others {
        let _ = write!(line, ",{}:{value}", Value::from(name));
    }
    line.push('}');
    let mut line = harmless(line);
    line.push('\n');
    line
}

/// JSON does not escape all characters that control terminals or hide text.
fn harmless(line: String) -> String {
    if !line.contains(is_unprintable) {
        return line;
    }
    let mut harmless = String::with_capacity(line.len() + 16);
    for character in line.chars() {
        if is_unprintable(character) {
            let _ = write!(harmless, "\\u{:04x}", u32::from(character));
        } else {
            harmless.push(character);
        }
    }
    harmless
}

/// Control characters, line separators, and characters that change the direction of text.
fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn console_line(level: Level, fields: Fields, now: f64, colour: bool) -> String {
    #[expect(clippy::cast_sign_loss, reason = "seconds since 1970")]
    let (seconds, millis) = (now as u64 % 86_400, (now.fract() * 1000.0) as u64);
    let (on, off) = if colour {
        (colour_of(level), "\x1b[0m")
    } else {
        ("", "")
    };
    let mut line = format!(
        "{:02}:{:02}:{:02}.{millis:03} {on}{:5}{off} {}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        level_name(level),
        printable(&fields.message),
    );
    for (name, value) in fields.others {
        match value {
            Value::String(text) if text.is_empty() || text.contains([' ', '"', '=']) => {
                let _ = write!(line, " {name}={text:?}");
            }
            Value::String(text) => {
                let _ = write!(line, " {name}={}", printable(&text));
            }
            other => {
                let _ = write!(line, " {name}={other}");
            }
        }
    }
    line.push('\n');
    line
}

/// Text from outside must not control the terminal; newlines of stack traces stay, indented.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => printable.push_str("\n    "),
            '\t' => printable.push('\t'),
            control if is_unprintable(control) => {
                let _ = write!(printable, "{}", control.escape_default());
            }
            other => printable.push(other),
        }
    }
    printable
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG | Level::TRACE => "debug",
    }
}

fn colour_of(level: Level) -> &'static str {
    match level {
        Level::ERROR => "\x1b[31m",
        Level::WARN => "\x1b[33m",
        Level::INFO => "\x1b[32m",
        Level::DEBUG | Level::TRACE => "\x1b[2m",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    struct Capture(Arc<Mutex<Vec<String>>>, Format);

    impl<S: Subscriber> Layer<S> for Capture {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let (level, target) = (*event.metadata().level(), event.metadata().target());
            let line = match self.1 {
                Format::Json => json_line(level, target, fields_of(event), 1.5),
                Format::Console => console_line(level, fields_of(event), 1.5, false),
            };
            self.0.lock().expect("lock").push(line);
        }
    }

    fn captured(format: Format, log: impl FnOnce()) -> String {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let subscriber = tracing_subscriber::registry().with(Capture(lines.clone(), format));
        tracing::subscriber::with_default(subscriber, log);
        lines.lock().expect("lock").concat()
    }

    #[test]
    fn clients_do_not_fill_the_log() {
        assert_eq!(floor("h2::proto::ping_pong"), Level::ERROR);
        assert_eq!(floor("quinn_proto::connection"), Level::ERROR);
        assert_eq!(floor("h2other"), Level::WARN);
        assert_eq!(floor("tokio::runtime"), Level::WARN);
        for own in ["howdah", "howdah::pool", "howdah_http::connection"] {
            assert_eq!(floor(own), Level::TRACE);
        }
    }

    #[test]
    fn a_json_line_is_one_object_for_any_content() {
        let line = captured(Format::Json, || {
            tracing::warn!(target: "howdah::pool", pid = 42, text = "a\"b\n", "worker died");
        });
        assert_eq!(line.matches('\n').count(), 1);
        let value: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(value["level"], "warn");
        assert_eq!(value["msg"], "worker died");
        assert_eq!(value["pid"], 42);
        assert_eq!(value["text"], "a\"b\n");
        assert_eq!(value["ts"], 1.5);
    }

    #[test]
    fn a_log_has_the_loggers_that_it_includes() {
        let log = |include: &[&str], exclude: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let loggers = LoggerFilter {
                include: owned(include),
                exclude: owned(exclude),
            };
            ServerLog::open(Level::INFO, None, &LogOutput::Discard, loggers).expect("a log")
        };
        for (include, exclude, target, expected) in [
            (&[][..], &[][..], "howdah::tls", true),
            (&["tls"], &[], "howdah::tls", true),
            (&["tls"], &[], "howdah::php", false),
            (&["howdah"], &[], "howdah_http::answer::files", true),
            (&["howdah.htt"], &[], "howdah_http::answer::files", false),
            (&[], &["http.handlers"], "howdah::proxy", false),
            (&["howdah.proxy"], &["howdah"], "howdah::proxy", true),
            (&[], &["frankenphp"], "howdah::pool", false),
            (&[], &["http.log.access"], "howdah", true),
        ] {
            let accepted = log(include, exclude).accepts(target);
            assert_eq!(accepted, expected, "{include:?} {exclude:?} {target}");
        }
    }

    #[test]
    fn no_line_steers_a_terminal() {
        let text = "a\u{9b}31m\u{7f}\u{1b}[2J\r\u{202e}b\u{2028}c";
        let line = captured(Format::Json, || tracing::info!(field = text, "{text}"));
        assert!(!line.trim_end().contains(is_unprintable), "{line}");
        let value: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(
            (&value["msg"], &value["field"]),
            (&text.into(), &text.into())
        );
        let line = captured(Format::Console, || tracing::info!(field = text, "{text}"));
        assert!(!line.trim_end().contains(is_unprintable), "{line}");
    }

    #[test]
    fn a_console_line_cannot_steer_the_terminal() {
        let line = captured(Format::Console, || {
            tracing::info!(request_id = "2a", "\x1b[31mred\nnext");
        });
        assert_eq!(
            line,
            "00:00:01.500 info  \\u{1b}[31mred\n    next request_id=2a\n"
        );
    }
}
