//! `log`, in the global options and in a site.

use crate::error::Error;
pub(crate) mod crash_reports;
pub(crate) mod format;
pub(crate) mod global;
pub(crate) mod output;

use crate::model::{AccessLog, LineFormat, LogFormat, LogLevel, LogOutput};
use crate::syntax::tree::Word;
use crate::table::{Call, Context, Entry, Item, Table, bad_value};
pub(crate) use global::{GLOBAL, read_global};

use format::line_format;
use output::output;

const ACCESS_HINT: &str = "a `log` of a site has `level`, `format`, `hostnames` and `output`";
const GLOBAL_HINT: &str = "a `log` of the global options selects loggers; a site's `log` is one";

/// Names of the block of a site's `log`.
pub(crate) const ACCESS: Table<AccessLog> = Table {
    kind: "subdirective of `log`",
    items: &[
        Item::Supported(
            Entry {
                name: "output",
                syntax: "output stderr|stdout|discard  or  output file PATH [{ … }]",
                default: "`stderr`; of a `log` without options that of the global `log`, and its `level`",
                about: "Where the lines are written. A separate thread writes them from a bounded queue: a full \
                    disk or a slow reader never delays a request. Dropped lines are counted, and reported in the \
                    server's log.",
                differs: "No `net`.",
                example: "output file access.log {\n\troll_size 50MiB\n}",
            },
            |cx, call, log| {
                log.output = output(cx, call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "format",
                syntax: "format console|json [{ … }]  or  format filter { wrap console|json … }",
                default: "`console` on a terminal, otherwise `json`",
                about: "How a line is written, with Caddy's names for the fields. `Cookie`, `Set-Cookie`, \
                        `Authorization` and `Proxy-Authorization` are written as `REDACTED`.",
                differs: "Times are in UTC. Two fields more: `request_id`, as in the server's own log, and `cut` if \
                    the response was not sent completely.",
                example: "format filter {\n\twrap json\n\trequest>uri query {\n\t\treplace token REDACTED\n\t}\n}",
            },
            |cx, call, log| {
                log.format = line_format(cx, call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "level",
                syntax: "level DEBUG|INFO|WARN|ERROR",
                default: "`INFO`",
                about: "With `WARN` or `ERROR` only requests with a status of 500 or above are logged, otherwise \
                    all. Case does not matter.",
                differs: "",
                example: "level WARN",
            },
            |_, call, log| {
                log.errors_only = is_for_errors(Some(level(call)?));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "hostnames",
                syntax: "hostnames HOST…",
                default: "all hosts of the site",
                about: "Only requests for these hosts are logged.",
                differs: "No wildcards.",
                example: "hostnames a.example.com b.example.com",
            },
            |_, call, log| {
                let hosts = call.arguments(1, usize::MAX)?;
                for host in hosts {
                    if host.text.is_empty() || host.text.contains(['*', '{', '/', ':']) {
                        return Err(bad_value(
                            &host.position,
                            format!("`{}` is not a host", host.text),
                            "write a name without scheme, port and wildcard",
                        ));
                    }
                    log.hostnames.push(host.text.to_ascii_lowercase());
                }
                Ok(())
            },
        ),
        Item::Unsupported("no_hostname", ACCESS_HINT),
        Item::Unsupported("include", GLOBAL_HINT),
        Item::Unsupported("exclude", GLOBAL_HINT),
        Item::Unsupported("core", ACCESS_HINT),
    ],
};

/// Reads the `log` of a site: its own log, and the global ones that have its lines too.
pub(crate) fn read_access(cx: &mut Context, call: &Call<'_>) -> Result<Vec<AccessLog>, Error> {
    let name = call.count(0, 1)?.first();
    if let Some(name) = name {
        check_name(name)?;
    }
    let mut log = AccessLog {
        name: name.map(|name| name.text.clone()),
        ..AccessLog::default()
    };
    let block = call.block.unwrap_or_default();
    cx.read(&ACCESS, block, &mut log);
    if log.format == LineFormat::default() {
        log.format = cx.logs.line_format.clone();
    }
    let logger = log.logger();
    let globals = &cx.logs;
    let of_globals = globals.named.iter().filter_map(|other| {
        let options = &other.options;
        options.loggers.accepts(&[&logger]).then(|| AccessLog {
            output: options.output.clone(),
            format: other.line_format.clone(),
            errors_only: is_for_errors(options.level),
            ..log.clone()
        })
    });
    let of_globals: Vec<_> = of_globals.collect();
    // As in Caddy, lines of a log without options belong to the default one.
    if block.iter().all(|line| line.name.text == "hostnames") {
        log.output = if globals.default.loggers.accepts(&[&logger]) {
            globals.default.output.clone()
        } else {
            LogOutput::Discard
        };
        log.errors_only = is_for_errors(globals.default.level);
    }
    Ok([vec![log], of_globals].concat())
}

/// Whether a log with this level has only requests that failed.
fn is_for_errors(level: Option<LogLevel>) -> bool {
    matches!(level, Some(LogLevel::Warn | LogLevel::Error))
}

/// Checks the name of a log.
fn check_name(name: &Word) -> Result<(), Error> {
    if name.text.is_empty() || name.text.contains(char::is_control) {
        return Err(bad_value(
            &name.position,
            "a log's name is text without control characters".into(),
            "",
        ));
    }
    Ok(())
}

fn level(call: &Call<'_>) -> Result<LogLevel, Error> {
    let word = call.one()?;
    match word.text.to_ascii_lowercase().as_str() {
        "debug" => Ok(LogLevel::Debug),
        "info" => Ok(LogLevel::Info),
        "warn" => Ok(LogLevel::Warn),
        "error" => Ok(LogLevel::Error),
        _ => Err(bad_value(
            &word.position,
            format!("unknown log level `{}`", word.text),
            "levels are DEBUG, INFO, WARN and ERROR",
        )),
    }
}

impl LineFormat {
    pub(crate) fn of(encoding: LogFormat) -> Self {
        Self {
            encoding: Some(encoding),
            ..Self::default()
        }
    }
}
