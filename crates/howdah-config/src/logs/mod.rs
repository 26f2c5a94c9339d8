//! `log`, in the global options and in a site.

use crate::error::Error;
pub(crate) mod crash_reports;
pub(crate) mod format;
pub(crate) mod output;

use crate::model::{AccessLog, LineFormat, LogFormat, LogLevel, LogOptions};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};
use format::line_format;
use output::output;

const SUBDIRECTIVES_HINT: &str = "`log` has `level`, `format` and `output`";
const ACCESS_HINT: &str = "a `log` of a site has `level`, `format`, `hostnames` and `output`";

/// Names of the block of the global `log`.
pub(crate) const GLOBAL: Table<LogOptions> = Table {
    kind: "option of `log`",
    items: &[
        Item::Supported(
            Entry {
                name: "level",
                syntax: "level DEBUG|INFO|WARN|ERROR",
                default: "`INFO`, or `DEBUG` with the global option `debug`",
                about: "The lowest level that is logged. Case does not matter.",
                differs: "",
                example: "level WARN",
            },
            |_, call, log| {
                log.level = Some(level(call)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "format",
                syntax: "format console|json [{ … }]  or  format filter { wrap console|json … }",
                default: "`console` on a terminal, otherwise `json`",
                about: "Format of a log line. Also applies to the access log of sites whose `log` has no `format`, \
                    with all options and filters.",
                differs: "Options and filters have no effect on the server's own lines.",
                example: "format json",
            },
            |cx, call, log| {
                let format = line_format(cx, call)?;
                log.format = format.encoding;
                cx.access_format = format;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "output",
                syntax: "output stderr|stdout|discard  or  output file PATH [{ … }]",
                default: "`stderr`",
                about: "Where the log is written: `file` has the same options as in the access log of a site. A \
                    line that cannot be written to the file goes to standard error.",
                differs: "No `net`. Errors that prevent the start are written to standard error.",
                example: "output stdout",
            },
            |cx, call, log| {
                log.output = output(cx, call)?;
                Ok(())
            },
        ),
        Item::Unsupported("core", SUBDIRECTIVES_HINT),
    ],
};

/// Names of the block of a site's `log`.
pub(crate) const ACCESS: Table<AccessLog> = Table {
    kind: "subdirective of `log`",
    items: &[
        Item::Supported(
            Entry {
                name: "output",
                syntax: "output stderr|stdout|discard  or  output file PATH [{ … }]",
                default: "`stderr`",
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
                log.errors_only = matches!(level(call)?, LogLevel::Warn | LogLevel::Error);
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
        Item::Unsupported("include", ACCESS_HINT),
        Item::Unsupported("exclude", ACCESS_HINT),
        Item::Unsupported("core", ACCESS_HINT),
    ],
};

/// Reads the global `log`.
pub(crate) fn read_global(cx: &mut Context, call: &Call<'_>) -> Result<LogOptions, Error> {
    if let Some(name) = call.count(0, 1)?.first()
        && name.text != "default"
    {
        return Err(unsupported(
            name,
            "the global log has no other name than `default`; a log of requests belongs in a site",
        ));
    }
    let mut log = LogOptions::default();
    cx.read(&GLOBAL, call.block.unwrap_or_default(), &mut log);
    Ok(log)
}

/// Reads the `log` of a site.
pub(crate) fn read_access(cx: &mut Context, call: &Call<'_>) -> Result<AccessLog, Error> {
    let name = call.count(0, 1)?.first();
    if let Some(name) = name
        && (name.text.is_empty() || name.text.contains(char::is_control))
    {
        return Err(bad_value(
            &name.position,
            "a log's name is text without control characters".into(),
            "",
        ));
    }
    let mut log = AccessLog {
        name: name.map(|name| name.text.clone()),
        ..AccessLog::default()
    };
    cx.read(&ACCESS, call.block.unwrap_or_default(), &mut log);
    if log.format == LineFormat::default() {
        log.format = cx.access_format.clone();
    }
    Ok(log)
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
