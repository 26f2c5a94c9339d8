//! Logs: those of sites and the server's own.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::time_layout::TimeLayout;

/// An access log of a site.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessLog {
    /// `log NAME`: a part of the field `logger`.
    pub name: Option<String>,
    /// `hostnames`: only requests for these, lower case; all, if empty.
    pub hostnames: Vec<String>,
    /// `output`.
    pub output: LogOutput,
    /// `format`.
    pub format: LineFormat,
    /// `level WARN` or `ERROR`: only responses with a status of 500 or above. Default false.
    pub errors_only: bool,
}

/// Where lines are written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum LogOutput {
    /// Standard error.
    #[default]
    Stderr,
    /// Standard output.
    Stdout,
    /// Nowhere.
    Discard,
    File(LogFile),
}

/// `output file PATH { … }`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogFile {
    /// Its path; a relative one starts at the working directory.
    pub path: PathBuf,
    /// `mode`: permissions of files that are created. Default 0600.
    pub mode: u32,
    /// When a file is rotated; `None`: never (`roll_disabled`).
    pub roll: Option<Roll>,
}

/// How files are rotated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Roll {
    /// `roll_size`: maximum size in bytes. Default 100 MiB.
    pub size: u64,
    /// `roll_keep`: number of old files. Default 10.
    pub keep: usize,
    /// `roll_keep_for`: their maximum age. Default 90 days.
    pub keep_for: Duration,
    /// They are compressed with gzip, unless `roll_uncompressed`.
    pub gzip: bool,
}

impl Default for Roll {
    fn default() -> Self {
        Self {
            size: 100 << 20,
            keep: 10,
            keep_for: Duration::from_secs(90 * 86_400),
            gzip: true,
        }
    }
}

/// How log lines are written: `format`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineFormat {
    /// Default: `console` on a terminal, `json` otherwise.
    pub encoding: Option<LogFormat>,
    /// `time_format`; the default depends on the encoding.
    pub time: Option<TimeFormat>,
    /// `duration_format`. Default seconds.
    pub duration: DurationFormat,
    /// `filter`: changes of fields, in the order of the file. The path of a field consists of names.
    pub filters: Vec<(Vec<String>, Filter)>,
}

/// The format of times. In UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeFormat {
    /// `unix_seconds_float`: the default of `json`.
    UnixSeconds,
    /// `unix_milli_float`.
    UnixMillis,
    /// `unix_nano`.
    UnixNanos,
    /// `iso8601`: `2006-01-02T15:04:05.000Z`.
    Iso8601,
    /// `rfc3339`: `2006-01-02T15:04:05Z`.
    Rfc3339,
    /// `rfc3339_nano`.
    Rfc3339Nanos,
    /// `wall`: `2006/01/02 15:04:05`.
    Wall,
    /// `wall_milli`: `2006/01/02 15:04:05.000`: the default of `console`.
    WallMillis,
    /// `wall_nano`.
    WallNanos,
    /// `common_log`: `02/Jan/2006:15:04:05 +0000`.
    CommonLog,
    /// A layout of Go.
    Layout(TimeLayout),
}

/// How durations are written: `duration_format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DurationFormat {
    /// `seconds`, with a fraction.
    #[default]
    Seconds,
    /// `ms`, without a fraction.
    Millis,
    /// `nano`.
    Nanos,
    /// `string`, such as `1.5ms`.
    Text,
}

/// A change of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// `delete`.
    Delete,
    /// `rename NAME`.
    Rename(String),
    /// `replace TEXT`.
    Replace(String),
    /// `hash`: the first 8 hexadecimal digits of SHA-256.
    Hash,
    /// `ip_mask`: bits that are kept, of IPv4 and of IPv6 addresses; the others become 0.
    IpMask(u8, u8),
    /// `query`: parameters of a URI.
    Query(Vec<Edit>),
    /// `cookie`: cookies of a `Cookie` field.
    Cookie(Vec<Edit>),
    /// `regexp PATTERN TEXT`: a regular expression, and the replacement of each match.
    Regexp(String, String),
}

/// A change of a parameter or cookie of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// `delete NAME`.
    Delete(String),
    /// `replace NAME TEXT`.
    Replace(String, String),
    /// `hash NAME`.
    Hash(String),
}

impl AccessLog {
    /// The name of its logger.
    #[must_use]
    pub fn logger(&self) -> String {
        match &self.name {
            Some(name) => format!("{ACCESS_LOGGER}.{name}"),
            None => ACCESS_LOGGER.to_owned(),
        }
    }
}

impl Filter {
    /// Keeps this number of bits of an address.
    #[must_use]
    pub fn mask(address: IpAddr, ipv4: u8, ipv6: u8) -> IpAddr {
        match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(ipv4)).unwrap_or(0);
                std::net::Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(ipv6)).unwrap_or(0);
                std::net::Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        }
    }
}

/// `log { level … format … output … }` of the global block: the server's own log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogOptions {
    /// Default: info, debug with the global `debug`.
    pub level: Option<LogLevel>,
    /// Default: readable on a terminal, JSON otherwise.
    pub format: Option<LogFormat>,
    /// Default: standard error.
    pub output: LogOutput,
    /// `include` and `exclude`: whose entries it has.
    pub loggers: LoggerFilter,
}

/// `log NAME { … }` of the global block: a log beside the default one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedLog {
    /// NAME.
    pub name: String,
    /// Level, encoding, output and loggers.
    pub options: LogOptions,
    /// `format` of the lines of requests.
    pub line_format: LineFormat,
}

/// `include` and `exclude`: the loggers whose entries a log has. As in Caddy, a name stands for the loggers below it
/// too, and the longer one of two that match decides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoggerFilter {
    /// `include`: only these; all, if empty.
    pub include: Vec<String>,
    /// `exclude`.
    pub exclude: Vec<String>,
}

impl LoggerFilter {
    /// Whether entries of a logger are included, which may have several names.
    pub fn accepts(&self, names: &[&str]) -> bool {
        let longest = |listed: &[String]| {
            let of = |listed: &String| names.iter().any(|name| is_below(name, listed));
            let matching = listed.iter().filter(|listed| of(listed));
            matching.map(String::len).max().unwrap_or(0)
        };
        let (accepted, rejected) = (longest(&self.include), longest(&self.exclude));
        (self.include.is_empty() || accepted > 0) && rejected <= accepted
    }
}

/// Whether a logger has this name, or is below the one that has it.
fn is_below(name: &str, above: &str) -> bool {
    let rest = name.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Name of the logger of requests: that of a `log NAME` is `http.log.access.NAME`.
pub const ACCESS_LOGGER: &str = "http.log.access";

/// Loggers of the server's own log, each with its name in Caddy or FrankenPHP, if it has one there.
pub const SERVER_LOGGERS: &[(&str, &str)] = &[
    ("howdah", ""),
    ("howdah.admin", "admin.api"),
    ("howdah.http", "http"),
    ("howdah.leaks", ""),
    ("howdah.mercure", "http.handlers.mercure"),
    ("howdah.php", "frankenphp"),
    ("howdah.pool", "frankenphp.pool"),
    ("howdah.proxy", "http.handlers.reverse_proxy"),
    ("howdah.tls", "tls"),
    ("howdah.trace", "http.handlers.tracing"),
    ("howdah.watch", ""),
];

/// Levels as Caddy spells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

/// `format console` or `format json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum LogFormat {
    Console,
    Json,
}
