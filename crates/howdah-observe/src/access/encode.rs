//! Encodes an entry as a line.

use howdah_config::model::{AccessLog, DurationFormat, LogFormat, TimeFormat};

use super::entry::Entry;
use super::fields::{Fields, Value, fields};
use super::filter::CompiledFilter;
use super::time::{duration_text, push_time};

const MESSAGE: &str = "handled request";

/// The format of a log's lines.
#[derive(Debug)]
pub(super) struct LineEncoder {
    encoding: LogFormat,
    time: TimeFormat,
    duration: DurationFormat,
    filters: Vec<CompiledFilter>,
    logger: String,
}

impl LineEncoder {
    pub(super) fn new(log: &AccessLog, default: LogFormat) -> Self {
        let encoding = log.format.encoding.unwrap_or(default);
        Self {
            encoding,
            time: log.format.time.clone().unwrap_or(match encoding {
                LogFormat::Json => TimeFormat::UnixSeconds,
                LogFormat::Console => TimeFormat::WallMillis,
            }),
            duration: log.format.duration,
            filters: log.format.filters.iter().map(CompiledFilter::new).collect(),
            logger: log.logger(),
        }
    }

    /// Appends the line, including its line end.
    pub(super) fn push(&self, line: &mut String, entry: &Entry) {
        let mut fields = fields(entry);
        for filter in &self.filters {
            filter.apply(&mut fields);
        }
        let error = entry.status >= 500;
        match self.encoding {
            LogFormat::Json => {
                let level = if error { "error" } else { "info" };
                line.push_str("{\"level\":\"");
                line.push_str(level);
                line.push_str("\",\"ts\":");
                push_time(line, entry.at, &self.time, true);
                line.push_str(",\"logger\":");
                push_text(line, &self.logger);
                line.push_str(",\"msg\":");
                push_text(line, MESSAGE);
                for (name, value) in &fields {
                    line.push(',');
                    self.push_field(line, name, value);
                }
                line.push_str("}\n");
            }
            LogFormat::Console => {
                push_time(line, entry.at, &self.time, false);
                line.push_str(if error { "\tERROR\t" } else { "\tINFO\t" });
                line.push_str(&self.logger);
                line.push('\t');
                line.push_str(MESSAGE);
                line.push('\t');
                self.push_object(line, &fields);
                line.push('\n');
            }
        }
    }

    fn push_object(&self, line: &mut String, fields: &Fields<'_>) {
        line.push('{');
        for (index, (name, value)) in fields.iter().enumerate() {
            if index > 0 {
                line.push(',');
            }
            self.push_field(line, name, value);
        }
        line.push('}');
    }

    fn push_field(&self, line: &mut String, name: &str, value: &Value<'_>) {
        use std::fmt::Write as _;
        push_text(line, name);
        line.push(':');
        // Writing to a `String` cannot fail.
        let _ = match value {
            Value::Text(text) => {
                push_text(line, text);
                Ok(())
            }
            Value::Number(number) => write!(line, "{number}"),
            Value::Truth(truth) => write!(line, "{truth}"),
            Value::Time(time) => match self.duration {
                DurationFormat::Seconds => write!(line, "{}", time.as_secs_f64()),
                DurationFormat::Millis => write!(line, "{}", time.as_millis()),
                DurationFormat::Nanos => write!(line, "{}", time.as_nanos()),
                DurationFormat::Text => {
                    push_text(line, &duration_text(*time));
                    Ok(())
                }
            },
            Value::List(texts) => {
                line.push('[');
                for (index, text) in texts.iter().enumerate() {
                    if index > 0 {
                        line.push(',');
                    }
                    push_text(line, text);
                }
                line.push(']');
                Ok(())
            }
            Value::Object(fields) => {
                self.push_object(line, fields);
                Ok(())
            }
        };
    }
}

/// A JSON string. Control characters are escaped, including those above ASCII that control
/// terminals.
fn push_text(line: &mut String, text: &str) {
    line.push('"');
    // Nearly all texts.
    if text.bytes().all(is_plain) {
        line.push_str(text);
    } else {
        push_escaped(line, text);
    }
    line.push('"');
}

/// Whether a byte stands for itself in a JSON string.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

fn push_escaped(line: &mut String, text: &str) {
    use std::fmt::Write as _;
    for char in text.chars() {
        match char {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            control if control.is_control() => {
                // Writing to a `String` cannot fail.
                let _ = write!(line, "\\u{:04x}", u32::from(control));
            }
            other => line.push(other),
        }
    }
}
