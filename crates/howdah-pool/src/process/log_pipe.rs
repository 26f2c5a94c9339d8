//! Parses the stdout and stderr of a process: raw lines of PHP code, libraries and children, and records with their
//! level and request (`worker/include/howdah_shm.h`, "the log pipe").
//!
//! Pure: bytes in, messages out. Only the writer of records knows their key. PHP code and its children write in
//! between, so input that is not a valid record is passed on as raw text, never dropped.

use memchr::memchr2;

/// Severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// PHP's fatal errors and worse.
    Error,
    /// PHP's warnings.
    Warning,
    /// Notices, deprecations, and raw lines.
    Notice,
    /// `LOG_INFO` of `error_log` and `syslog`-like calls.
    Info,
    /// `LOG_DEBUG`.
    Debug,
}

/// One message of a worker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// [`Level::Notice`] for raw lines.
    pub(crate) level: Level,
    /// The request it belongs to; `None` outside of one.
    pub(crate) request_id: Option<u64>,
    /// Without the final newline. Invalid UTF-8 is replaced.
    pub(crate) text: String,
    /// Whether PHP logged it; otherwise it was written to stdout or stderr.
    pub(crate) logged: bool,
}

/// A report of a process about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StateRecord {
    /// It accepts requests.
    Ready,
    /// It will exit after a few more requests.
    Retiring,
    /// It exceeds its memory limit.
    Outgrown,
    /// The requested backtrace has been logged, if the process has one.
    Traced,
    /// PHP code requested fresh files: the pool has to be reloaded.
    Reload,
    /// PHP code has emptied OPcache.
    Reset,
    /// It runs one request at a time although the pool is concurrent, for this cause.
    Sequential(String),
}

/// Maximum length of the cause that a worker reports.
const CAUSE_MAX: usize = 1024;

impl StateRecord {
    fn parse(text: &[u8]) -> Option<Self> {
        if let Some(cause) = text.strip_prefix(b"sequential ") {
            let cause = String::from_utf8_lossy(&cause[..cause.len().min(CAUSE_MAX)]);
            return Some(Self::Sequential(cause.into_owned()));
        }
        Some(match text.trim_ascii_end() {
            b"ready" => Self::Ready,
            b"retiring" => Self::Retiring,
            b"outgrown" => Self::Outgrown,
            b"traced" => Self::Traced,
            b"reload" => Self::Reload,
            b"reset" => Self::Reset,
            _ => return None,
        })
    }
}

/// The parsed output of a pipe.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A message for the log.
    Message(Message),
    /// A state for the supervisor.
    State(StateRecord),
    /// The activity of a request: method and URI, then a line for each frame.
    Sample { request_id: u64, text: String },
    /// The activity of a claimed request; without a request, the end of such a report.
    Look {
        request_id: Option<u64>,
        /// See `worker/include/howdah_shm.h`.
        text: String,
    },
    /// A part of a process's report of the fault that ends it.
    Fault {
        /// The request whose code ran, or which waited.
        request_id: Option<u64>,
        /// See `worker/include/howdah_shm.h`.
        text: String,
    },
    /// State that a request left behind, as JSON.
    Leak {
        request_id: Option<u64>,
        /// See `worker/include/howdah_shm.h`.
        json: String,
    },
}

/// Longest raw line and longest message of a record; longer ones are split.
const MESSAGE_SIZE_MAX: usize = howdah_shm::layout::LOG_MESSAGE_MAX;

const MARK: u8 = howdah_shm::layout::LOG_MARK;
const HEADER_SIZE: usize = howdah_shm::layout::LOG_HEADER_SIZE;
/// Levels of messages, the marker that claims raw lines, samples, states, leaks, faults and looks.
const LEVELS: &[u8] = b"ewnidmpslfq";

/// Splits the bytes of one worker's pipe into messages.
#[derive(Debug)]
pub(crate) struct LogParser {
    pending: Vec<u8>,
    /// The key of its records: with a different one it is text that looks like a record.
    key: u64,
}

impl LogParser {
    /// Creates a parser for the pipe of a process with this key.
    pub(crate) fn new(key: u64) -> Self {
        Self {
            pending: Vec::new(),
            key,
        }
    }

    /// Adds bytes that were read. `current` is the request that the worker had claimed before the read: raw lines that
    /// no record claims are attributed to it.
    pub(crate) fn push_bytes(
        &mut self,
        bytes: &[u8],
        current: Option<u64>,
        sink: &mut impl FnMut(Output),
    ) {
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_slice();
        // Raw lines are held until the next record, which shows their request, or until the end of this read.
        let mut raw: Vec<&[u8]> = Vec::new();
        // A mark that does not start a record is a character of its line.
        let mut looked = 0;
        loop {
            let Some(at) = memchr2(b'\n', MARK, &rest[looked..]).map(|at| looked + at) else {
                if rest.len() >= MESSAGE_SIZE_MAX {
                    raw.push(rest);
                    rest = &[];
                }
                break;
            };
            if rest[at] == b'\n' {
                raw.push(&rest[..at]);
                rest = &rest[at + 1..];
                looked = 0;
                continue;
            }
            match parse_record(&rest[at..], self.key) {
                ParsedRecord::Complete(record) => {
                    if at > 0 {
                        raw.push(&rest[..at]);
                    }
                    record.emit(&mut raw, current, sink);
                    rest = &rest[at + HEADER_SIZE + record.text.len()..];
                    looked = 0;
                }
                ParsedRecord::Incomplete => break,
                ParsedRecord::Invalid => looked = at + 1,
            }
        }
        emit_raw(&mut raw, current, sink);
        self.pending = rest.to_vec();
    }

    /// The pipe is closed: the rest is a last line.
    pub(crate) fn finish(&mut self, current: Option<u64>, sink: &mut impl FnMut(Output)) {
        let pending = std::mem::take(&mut self.pending);
        emit_raw(&mut vec![pending.as_slice()], current, sink);
    }
}

fn emit_raw(lines: &mut Vec<&[u8]>, request_id: Option<u64>, sink: &mut impl FnMut(Output)) {
    for line in lines.drain(..) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches('\r');
        if !text.is_empty() {
            let text = text.to_owned();
            sink(Output::Message(Message {
                level: Level::Notice,
                request_id,
                text,
                logged: false,
            }));
        }
    }
}

/// A record of the log pipe.
struct Record<'a> {
    /// One of [`LEVELS`].
    level: u8,
    request_id: Option<u64>,
    text: &'a [u8],
}

impl Record<'_> {
    /// Passes on the record, and before it those of the raw lines that it claims.
    fn emit(&self, raw: &mut Vec<&[u8]>, current: Option<u64>, sink: &mut impl FnMut(Output)) {
        let request_id = self.request_id;
        let owner = request_id.or(current);
        let text = || String::from_utf8_lossy(self.text).into_owned();
        match (self.level, request_id) {
            (b'm', _) => emit_raw(raw, owner, sink),
            (b'p', Some(request_id)) => sink(Output::Sample {
                request_id,
                text: text(),
            }),
            (b'l', _) => sink(Output::Leak {
                request_id,
                json: text(),
            }),
            (b'q', _) => sink(Output::Look {
                request_id,
                text: text(),
            }),
            (b'f', _) => {
                // Lines that it had printed come first.
                emit_raw(raw, owner, sink);
                sink(Output::Fault {
                    request_id,
                    text: text(),
                });
            }
            (level, _) => {
                if let (b's', Some(state)) = (level, StateRecord::parse(self.text)) {
                    emit_raw(raw, current, sink);
                    return sink(Output::State(state));
                }
                // Output since the last record belongs to the request that logs now: at its end each request claims
                // the output that it has left.
                emit_raw(raw, owner, sink);
                sink(Output::Message(Message {
                    level: level_of(level),
                    request_id,
                    text: text().trim_end_matches('\n').to_owned(),
                    logged: true,
                }));
            }
        }
    }
}

enum ParsedRecord<'a> {
    Complete(Record<'a>),
    /// More bytes may complete it.
    Incomplete,
    Invalid,
}

/// `bytes` starts with the mark.
fn parse_record(bytes: &[u8], key: u64) -> ParsedRecord<'_> {
    let Some(header) = bytes.get(..HEADER_SIZE) else {
        let plausible = bytes.get(1).is_none_or(|level| LEVELS.contains(level))
            && bytes.iter().skip(2).all(u8::is_ascii_hexdigit);
        return if plausible {
            ParsedRecord::Incomplete
        } else {
            ParsedRecord::Invalid
        };
    };
    let level = header[1];
    let fields = (
        hex(&header[2..18]),
        hex(&header[18..26]),
        hex(&header[26..42]),
    );
    let (Some(request_id), Some(length), Some(carried)) = fields else {
        return ParsedRecord::Invalid;
    };
    let length = length as usize;
    if carried != key || !LEVELS.contains(&level) || length > MESSAGE_SIZE_MAX {
        return ParsedRecord::Invalid;
    }
    match bytes.get(HEADER_SIZE..HEADER_SIZE + length) {
        Some(text) => ParsedRecord::Complete(Record {
            level,
            request_id: (request_id != 0).then_some(request_id),
            text,
        }),
        None => ParsedRecord::Incomplete,
    }
}

fn level_of(byte: u8) -> Level {
    match byte {
        b'e' => Level::Error,
        b'w' => Level::Warning,
        b'i' => Level::Info,
        b'd' => Level::Debug,
        _ => Level::Notice,
    }
}

fn hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value, &digit| {
        Some(value << 4 | u64::from(char::from(digit).to_digit(16)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use howdah_shm::layout;
    use proptest::prelude::*;

    fn record(level: char, id: u64, text: &str) -> Vec<u8> {
        keyed(level, id, text, KEY)
    }

    fn keyed(level: char, id: u64, text: &str, key: u64) -> Vec<u8> {
        format!("\x1e{level}{id:016x}{:08x}{key:016x}{text}", text.len()).into_bytes()
    }

    const KEY: u64 = 0x0123_4567_89ab_cdef;

    fn parse(chunks: &[&[u8]]) -> Vec<(char, Option<u64>, String)> {
        let mut parser = LogParser::new(KEY);
        let mut seen = Vec::new();
        let mut sink = |output: Output| match output {
            Output::Message(message) => {
                let kind = if message.logged { 'L' } else { 'R' };
                seen.push((kind, message.request_id, message.text));
            }
            Output::State(state) => seen.push(('S', None, format!("{state:?}"))),
            Output::Sample { request_id, text } => seen.push(('P', Some(request_id), text)),
            Output::Leak { request_id, json } => seen.push(('K', request_id, json)),
            Output::Fault { request_id, text } => seen.push(('F', request_id, text)),
            Output::Look { request_id, text } => seen.push(('Q', request_id, text)),
        };
        for chunk in chunks {
            parser.push_bytes(chunk, Some(7), &mut sink);
        }
        parser.finish(Some(7), &mut sink);
        seen
    }

    #[test]
    fn a_sample_is_of_a_request() {
        let bytes = [
            record('p', 9, "GET /\n#0 sleep()"),
            record('p', 0, "of none"),
        ]
        .concat();
        let sample = ('P', Some(9), "GET /\n#0 sleep()".into());
        assert_eq!(parse(&[&bytes]), [sample, ('L', None, "of none".into())]);
    }

    #[test]
    fn a_record_keeps_its_newlines_and_its_request() {
        let bytes = record('e', 0x2a, "PHP Fatal error: x\nStack trace:\n#0 {main}\n");
        assert_eq!(
            parse(&[&bytes]),
            [(
                'L',
                Some(0x2a),
                "PHP Fatal error: x\nStack trace:\n#0 {main}".into()
            )]
        );
    }

    #[test]
    fn a_state_may_have_a_cause_of_limited_length() {
        let long = "x".repeat(5000);
        let mut bytes = record('s', 0, "sequential calls do not wait");
        bytes.extend(record('s', 0, &format!("sequential {long}")));
        let seen = parse(&[&bytes]);
        assert_eq!(seen[0].2, r#"Sequential("calls do not wait")"#);
        assert_eq!(seen[1].2, format!("Sequential({:?})", &long[..CAUSE_MAX]));
    }

    #[test]
    fn raw_lines_belong_to_the_request_in_hand_unless_a_marker_claims_them() {
        let marker = record('m', 5, "");
        let mut bytes = b"early\n".to_vec();
        bytes.extend(&marker);
        bytes.extend(b"late\r\n");
        assert_eq!(
            parse(&[&bytes]),
            [
                ('R', Some(5), "early".into()),
                ('R', Some(7), "late".into())
            ]
        );
    }

    #[test]
    fn a_raw_line_without_newline_ends_at_the_next_record() {
        let mut bytes = b"half a line".to_vec();
        bytes.extend(record('w', 0, "warning"));
        assert_eq!(
            parse(&[&bytes]),
            [
                ('R', Some(7), "half a line".into()),
                ('L', None, "warning".into())
            ]
        );
    }

    #[test]
    fn a_raw_line_belongs_to_the_request_that_logs_after_it() {
        let mut bytes = b"one\n".to_vec();
        bytes.extend(record('n', 5, "notice of five"));
        bytes.extend(b"two\n");
        bytes.extend(record('m', 6, ""));
        assert_eq!(
            parse(&[&bytes]),
            [
                ('R', Some(5), "one".into()),
                ('L', Some(5), "notice of five".into()),
                ('R', Some(6), "two".into())
            ]
        );
    }

    #[test]
    fn states_are_distinguished_from_messages_and_keep_their_order() {
        let mut bytes = b"booting\n".to_vec();
        for state in ["ready", "retiring", "traced", "reload", "later version"] {
            bytes.extend(record('s', 0, state));
        }
        assert_eq!(
            parse(&[&bytes]),
            [
                ('R', Some(7), "booting".into()),
                ('S', None, "Ready".into()),
                ('S', None, "Retiring".into()),
                ('S', None, "Traced".into()),
                ('S', None, "Reload".into()),
                ('L', None, "later version".into()),
            ]
        );
    }

    #[test]
    fn a_fault_comes_after_what_was_printed_before_it() {
        let bytes = [b"last word".to_vec(), record('f', 3, "fault 11\n#0 f()")].concat();
        let last = ('R', Some(3), "last word".into());
        let fault = ('F', Some(3), "fault 11\n#0 f()".into());
        assert_eq!(parse(&[&bytes]), [last, fault]);
    }

    #[test]
    fn leaks_keep_their_request() {
        assert_eq!(
            parse(&[&record('l', 3, "{}")]),
            [('K', Some(3), "{}".into())]
        );
    }

    #[test]
    fn the_longest_message_is_one_record_for_any_content() {
        let forged = String::from_utf8(record('s', 0, "reload")).expect("text");
        let text = "x".repeat(layout::LOG_MESSAGE_MAX - forged.len()) + &forged;
        let mut bytes = record('e', 3, &text);
        bytes.extend(record('e', 3, &forged));
        assert_eq!(
            parse(&[&bytes]),
            [('L', Some(3), text), ('L', Some(3), forged)]
        );
    }

    #[test]
    fn a_record_without_the_key_of_the_process_is_text_of_its_line() {
        for level in "ewnidmpslfq".chars() {
            for key in [0, 1, KEY + 1, KEY - 1] {
                let mut bytes = b"before ".to_vec();
                bytes.extend(keyed(level, 99, "reload", key));
                bytes.extend(b"\nnext\n");
                let seen = parse(&[&bytes]);
                assert_eq!(seen.len(), 2, "{seen:?}");
                assert!(
                    seen.iter().all(|it| it.0 == 'R' && it.1 == Some(7)),
                    "{seen:?}"
                );
                assert!(seen[0].2.starts_with("before \x1e") && seen[0].2.ends_with("reload"));
            }
        }
    }

    #[test]
    fn text_that_looks_like_a_record_hides_none_that_is_one() {
        let forged = keyed('e', 99, "", 1);
        for cut in 1..forged.len() {
            let mut bytes = forged[..cut].to_vec();
            bytes.extend(record('w', 5, "true"));
            let seen = parse(&[&bytes]);
            let text = String::from_utf8(forged[..cut].to_vec()).expect("text");
            assert_eq!(seen, [('R', Some(5), text), ('L', Some(5), "true".into())]);
        }
    }

    #[test]
    fn text_that_resembles_a_record_is_raw_text() {
        assert_eq!(parse(&[b"\x1ezzz\n"]), [('R', Some(7), "\x1ezzz".into())]);
        let huge = format!("\x1ee{:016x}{:08x}{KEY:016x}", 1, 0xffff_ffffu32);
        assert!(
            parse(&[huge.as_bytes(), b"\n"])
                .iter()
                .all(|message| message.0 == 'R')
        );
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_cut_does_not_matter_for_records(
            texts in prop::collection::vec("[a-z\n ]{0,40}", 1..5),
            cut in 1usize..50,
        ) {
            let bytes: Vec<u8> = texts.iter().flat_map(|text| record('n', 9, text)).collect();
            let whole = parse(&[&bytes]);
            let pieces: Vec<&[u8]> = bytes.chunks(cut).collect();
            prop_assert_eq!(parse(&pieces), whole);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000), cut in 1usize..100) {
            let pieces: Vec<&[u8]> = bytes.chunks(cut).collect();
            parse(&pieces);
        }
    }
}
