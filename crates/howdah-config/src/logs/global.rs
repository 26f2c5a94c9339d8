//! The global `log`s: the server's own log and those beside it.

use super::format::line_format;
use super::output::output;
use super::{check_name, level};
use crate::error::{Error, ErrorKind};
use crate::model::{ACCESS_LOGGER, Global, NamedLog, SERVER_LOGGERS};
use crate::table::{Call, Context, Entry, Item, Table, bad_value};

const SUBDIRECTIVES_HINT: &str = "`log` has `level`, `format`, `output`, `include` and `exclude`";
/// Name of the log that exists in any case.
const DEFAULT: &str = "default";

/// Names of the block of the global `log`.
pub(crate) const GLOBAL: Table<NamedLog> = Table {
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
                log.options.level = Some(level(call)?);
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
                log.options.format = format.encoding;
                log.line_format = format;
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
                log.options.output = output(cx, call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "include",
                syntax: "include LOGGER…",
                default: "all loggers",
                about: "Only entries of these loggers, and of those below them, are logged. `http.log.access` are the \
                        requests of all sites with a `log`, `http.log.access.NAME` those of `log NAME`. The server's \
                        loggers are in the field `logger`, with a dot between their parts: `howdah.tls`, \
                        `howdah.php`. Some also have the name of Caddy or FrankenPHP: `tls`, `admin.api`, \
                        `frankenphp`, `http.handlers.reverse_proxy`, `http.handlers.mercure`, \
                        `http.handlers.tracing`.",
                differs: "A name that no logger has is a warning.",
                example: "include http.log.access.shop",
            },
            |cx, call, log| {
                let names = loggers(cx, call)?;
                log.options.loggers.include.extend(names);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "exclude",
                syntax: "exclude LOGGER…",
                default: "none",
                about: "Entries of these loggers, and of those below them, are not logged. If `include` names a \
                        logger too, the longer name decides.",
                differs: "A name that no logger has is a warning.",
                example: "exclude http.log.access",
            },
            |cx, call, log| {
                let names = loggers(cx, call)?;
                log.options.loggers.exclude.extend(names);
                Ok(())
            },
        ),
        Item::Unsupported("core", SUBDIRECTIVES_HINT),
    ],
};

/// Reads a global `log`.
pub(crate) fn read_global(
    cx: &mut Context,
    call: &Call<'_>,
    global: &mut Global,
) -> Result<(), Error> {
    let name = call.count(0, 1)?.first();
    if let Some(name) = name {
        check_name(name)?;
    }
    let name = name.map_or(DEFAULT, |name| &name.text);
    let is_known = if name == DEFAULT {
        cx.logs.has_default
    } else {
        global.named_logs.iter().any(|other| other.name == name)
    };
    if is_known {
        return Err(call.error(
            ErrorKind::Conflict,
            format!("the global log `{name}` is given twice"),
            "put all options in one of them, or give them different names",
        ));
    }
    let mut log = NamedLog {
        name: name.to_owned(),
        ..NamedLog::default()
    };
    cx.read(&GLOBAL, call.block.unwrap_or_default(), &mut log);
    if name == DEFAULT {
        cx.logs.has_default = true;
        cx.logs.line_format = log.line_format;
        global.log = log.options;
    } else {
        global.named_logs.push(log);
    }
    Ok(())
}

/// Completes the global logs when all have been read: what another log includes is not in the default one.
pub(crate) fn settle(cx: &mut Context, global: &mut Global) {
    for named in &global.named_logs {
        let included = &named.options.loggers.include;
        global.log.loggers.exclude.extend(included.iter().cloned());
    }
    cx.logs.default = global.log.clone();
    cx.logs.named.clone_from(&global.named_logs);
}

/// The names of `include` or `exclude`. One that no logger has is a warning.
fn loggers(cx: &mut Context, call: &Call<'_>) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for word in call.arguments(1, usize::MAX)? {
        let name = word.text.replace("::", ".");
        if name.is_empty() {
            return Err(bad_value(
                &word.position,
                "the name of the logger is empty".into(),
                "write for example `http.log.access`",
            ));
        }
        if !is_logger(&name) {
            let message = format!("no logger has the name `{name}`, so it has no effect here");
            cx.warn(&word.position, message);
        }
        names.push(name);
    }
    Ok(names)
}

/// Whether a logger has this name or one below it.
fn is_logger(name: &str) -> bool {
    let is_below = |known: &str| {
        let rest = known.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let of_requests = name.strip_prefix(ACCESS_LOGGER);
    let is_of_site = of_requests.is_some_and(|rest| rest.starts_with('.'));
    let known = SERVER_LOGGERS.iter().flat_map(|(own, other)| [own, other]);
    is_of_site || is_below(ACCESS_LOGGER) || known.copied().any(is_below)
        // Libraries log errors, and parts of the server have loggers of their own.
        || name.starts_with("howdah.")
}
