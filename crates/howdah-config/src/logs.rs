//! `log`, in the global options and in a site.

use crate::error::Error;
use crate::model::{AccessLog, LogFormat, LogLevel, LogOptions};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};
use crate::tree::Word;

const SUBDIRECTIVES_HINT: &str = "`log` knows `level`, `format` and `output stderr`";

const FORMAT: Entry = Entry {
    name: "format",
    syntax: "format console|json  or  format filter { wrap console|json … }",
    default: "`console` on a terminal, otherwise `json`",
    about: "How a line of the log is written.",
    differs: "No other encoders, and no options of these two. `filter` is the format that it wraps; its \
              filters of fields have no effect, which is a warning.",
    example: "format json",
};

const OUTPUT: Entry = Entry {
    name: "output",
    syntax: "output stderr",
    default: "`stderr`",
    about: "Where the log goes.",
    differs: "Only standard error, which service managers and containers collect.",
    example: "output stderr",
};

/// Inside the global `log`.
pub(crate) const GLOBAL: Table<LogOptions> = Table {
    kind: "option of `log`",
    items: &[
        Item::Supported(
            Entry {
                name: "level",
                syntax: "level DEBUG|INFO|WARN|ERROR",
                default: "`INFO`, or `DEBUG` with the global option `debug`",
                about: "The least important entries that are written. Case does not matter.",
                differs: "",
                example: "level WARN",
            },
            |_, call, log| {
                log.level = Some(level(call)?);
                Ok(())
            },
        ),
        Item::Supported(FORMAT, |cx, call, log| {
            log.format = Some(format(cx, call)?);
            Ok(())
        }),
        Item::Supported(OUTPUT, |_, call, _| output(call)),
        Item::Unsupported("include", SUBDIRECTIVES_HINT),
        Item::Unsupported("exclude", SUBDIRECTIVES_HINT),
        Item::Unsupported("sampling", SUBDIRECTIVES_HINT),
        Item::Unsupported("core", SUBDIRECTIVES_HINT),
    ],
};

/// Inside the `log` of a site.
pub(crate) const ACCESS: Table<AccessLog> = Table {
    kind: "subdirective of `log`",
    items: &[
        Item::Supported(FORMAT, |cx, call, log| {
            log.format = Some(format(cx, call)?);
            Ok(())
        }),
        Item::Supported(OUTPUT, |_, call, _| output(call)),
        Item::Supported(
            Entry {
                name: "level",
                syntax: "level DEBUG|INFO|WARN|ERROR",
                default: "`INFO`",
                about: "With `WARN` or `ERROR` only requests that were answered 500 or above are logged, \
                        otherwise all. Case does not matter.",
                differs: "",
                example: "level WARN",
            },
            |_, call, log| {
                log.errors_only = matches!(level(call)?, LogLevel::Warn | LogLevel::Error);
                Ok(())
            },
        ),
        Item::Unsupported("hostnames", SUBDIRECTIVES_HINT),
        Item::Unsupported("no_hostname", SUBDIRECTIVES_HINT),
        Item::Unsupported("sampling", SUBDIRECTIVES_HINT),
        Item::Unsupported("core", SUBDIRECTIVES_HINT),
    ],
};

/// Reads a `log` with the table of its place.
pub(crate) fn read<T: Default>(
    cx: &mut Context,
    call: &Call<'_>,
    table: &Table<T>,
) -> Result<T, Error> {
    if let Some(name) = call.count(0, 1)?.first()
        && name.text != "default"
    {
        return Err(unsupported(
            name,
            "a log has no name here; write `log` or `log { … }`",
        ));
    }
    let mut log = T::default();
    cx.read(table, call.block.unwrap_or_default(), &mut log);
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

/// Names of the block of `format filter`.
pub(crate) const FILTER: Table<Option<LogFormat>> = Table {
    kind: "part of `format filter`",
    items: &[Item::Supported(
        Entry {
            name: "wrap",
            syntax: "wrap console|json",
            default: "`json`",
            about: "The format whose fields are filtered.",
            differs: "",
            example: "wrap json",
        },
        |_, call, format| call.set(format, simple_format(call)?),
    )],
};

/// `format` of a log.
fn format(cx: &mut Context, call: &Call<'_>) -> Result<LogFormat, Error> {
    if let ([word], Some(block)) = (call.arguments, call.block)
        && word.text == "filter"
    {
        let mut format = None;
        // All but `wrap` are fields, in a block `fields` or, as newer versions of Caddy take them, bare.
        let (wrap, fields): (Vec<_>, Vec<_>) = block
            .iter()
            .partition(|statement| statement.name.text == "wrap");
        for statement in wrap {
            cx.read(&FILTER, std::slice::from_ref(statement), &mut format);
        }
        if let Some(statement) = fields.first() {
            let name = Word {
                text: "fields".into(),
                position: statement.name.position.clone(),
            };
            cx.accepts(FILTER.kind, &name);
        }
        return Ok(format.unwrap_or(LogFormat::Json));
    }
    simple_format(call)
}

fn simple_format(call: &Call<'_>) -> Result<LogFormat, Error> {
    let hint = "formats are `console` and `json`";
    match call.arguments {
        [word] if matches!(word.text.as_str(), "console" | "json") => {
            call.no_block()?;
            Ok(if word.text == "json" {
                LogFormat::Json
            } else {
                LogFormat::Console
            })
        }
        [word, ..]
            if matches!(
                word.text.as_str(),
                "append" | "filter" | "transform" | "single_field"
            ) =>
        {
            Err(unsupported(word, hint))
        }
        _ => {
            let word = call.one()?;
            Err(bad_value(
                &word.position,
                format!("unknown log format `{}`", word.text),
                hint,
            ))
        }
    }
}

fn output(call: &Call<'_>) -> Result<(), Error> {
    let hint = "logs go to `stderr`; redirect that, or collect it with the service manager";
    match call.arguments {
        [word, ..] if matches!(word.text.as_str(), "stdout" | "discard" | "file" | "net") => {
            Err(unsupported(word, hint))
        }
        _ => {
            let word = call.one()?;
            if word.text == "stderr" {
                return Ok(());
            }
            Err(bad_value(
                &word.position,
                format!("unknown log output `{}`", word.text),
                hint,
            ))
        }
    }
}
