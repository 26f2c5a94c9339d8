//! `format` of a site's `log`.

use crate::error::{Error, ErrorKind};
use crate::model::{DurationFormat, Edit, Filter, LineFormat, LogFormat, TimeFormat, TimeLayout};
use crate::syntax::tree::{Statement, Word};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, nearest, unsupported};

/// Encoders of Caddy that this version lacks.
pub(crate) const OTHERS: &[&str] = &["append", "filter", "transform", "single_field"];

const TIMES: &[(&str, TimeFormat)] = &[
    ("unix_seconds_float", TimeFormat::UnixSeconds),
    ("unix_milli_float", TimeFormat::UnixMillis),
    ("unix_nano", TimeFormat::UnixNanos),
    ("iso8601", TimeFormat::Iso8601),
    ("rfc3339", TimeFormat::Rfc3339),
    ("rfc3339_nano", TimeFormat::Rfc3339Nanos),
    ("wall", TimeFormat::Wall),
    ("wall_milli", TimeFormat::WallMillis),
    ("wall_nano", TimeFormat::WallNanos),
    ("common_log", TimeFormat::CommonLog),
];

const DURATIONS: &[(&str, DurationFormat)] = &[
    ("seconds", DurationFormat::Seconds),
    ("second", DurationFormat::Seconds),
    ("s", DurationFormat::Seconds),
    ("ms", DurationFormat::Millis),
    ("milli", DurationFormat::Millis),
    ("millis", DurationFormat::Millis),
    ("nano", DurationFormat::Nanos),
    ("nanos", DurationFormat::Nanos),
    ("ns", DurationFormat::Nanos),
    ("string", DurationFormat::Text),
];

const KEYS: &str = "the names of the fields are Caddy's";

/// Names of the blocks of `format console` and `format json`.
pub(crate) const OPTIONS: Table<LineFormat> = Table {
    kind: "option of `format`",
    items: &[
        Item::Supported(
            Entry {
                name: "time_format",
                syntax: "time_format NAME|LAYOUT",
                default: "`unix_seconds_float` of `json`, `wall_milli` of `console`",
                about: "How times are written: `unix_seconds_float`, `unix_milli_float`, `unix_nano`, \
                        `iso8601`, `rfc3339`, `rfc3339_nano`, `wall`, `wall_milli`, `wall_nano`, \
                        `common_log`, or a layout of Go such as `\"2006-01-02 15:04:05\"`.",
                differs: "",
                example: "time_format iso8601",
            },
            |_, call, format| {
                let layout = TimeLayout::parse(&call.one()?.text).map(TimeFormat::Layout);
                format.time = Some(layout.map_or_else(|| named(call, TIMES), Ok)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "duration_format",
                syntax: "duration_format seconds|ms|nano|string",
                default: "`seconds`",
                about: "How durations are written.",
                differs: "",
                example: "duration_format ms",
            },
            |_, call, format| {
                format.duration = named(call, DURATIONS)?;
                Ok(())
            },
        ),
        Item::Unsupported("time_local", "times are in UTC"),
        Item::Unsupported("message_key", KEYS),
        Item::Unsupported("level_key", KEYS),
        Item::Unsupported("time_key", KEYS),
        Item::Unsupported("name_key", KEYS),
        Item::Unsupported("caller_key", KEYS),
        Item::Unsupported("stacktrace_key", KEYS),
        Item::Unsupported("line_ending", ""),
        Item::Unsupported("level_format", ""),
    ],
};

/// Names of the block of `format filter`: all other names are fields.
pub(crate) const FILTER: Table<Option<LineFormat>> = Table {
    kind: "part of `format filter`",
    items: &[
        Item::Supported(
            Entry {
                name: "wrap",
                syntax: "wrap console|json [{ … }]",
                default: "`json`",
                about: "The format whose fields are filtered.",
                differs: "",
                example: "wrap json",
            },
            |cx, call, format| {
                let inner = plain(cx, call)?;
                call.set(format, inner)
            },
        ),
        Item::Supported(
            Entry {
                name: "fields",
                syntax: "fields { FIELD FILTER … }",
                default: "no filter",
                about: "Filters of fields, one per line, such as `request>headers>Referer delete`. The lines may \
                    also be written directly in `format filter`. Filters are `delete`, `rename NAME`, `replace \
                    TEXT`, `hash`, `ip_mask [IPV4 [IPV6]]`, `regexp PATTERN TEXT`, and `query { … }` and `cookie { \
                    … }`, whose blocks contain `delete NAME`, `replace NAME TEXT` and `hash NAME`.",
                differs: "No `multi_regexp`. A field of the request can be named without `request>`.",
                example: "fields {\n\trequest>headers>User-Agent delete\n}",
            },
            // Read together with the fields outside `fields`.
            |_, call, _| {
                call.count(0, 0)?;
                call.block().map(drop)
            },
        ),
    ],
};

/// `format` of a site's `log`.
pub(crate) fn line_format(cx: &mut Context, call: &Call<'_>) -> Result<LineFormat, Error> {
    let ([word], Some(block)) = (call.arguments, call.block) else {
        return plain(cx, call);
    };
    if word.text != "filter" {
        return plain(cx, call);
    }
    let is_name =
        |statement: &&Statement| matches!(statement.name.text.as_str(), "wrap" | "fields");
    let mut wrapped = None;
    let mut seen = Vec::new();
    for statement in block.iter().filter(is_name) {
        let once = !seen.contains(&&*statement.name.text);
        if once {
            cx.read(&FILTER, std::slice::from_ref(statement), &mut wrapped);
        } else {
            cx.record(Err(Error::new(
                ErrorKind::Conflict,
                &statement.name.position,
                format!("`{}` is given twice", statement.name.text),
                "remove one of them",
            )));
        }
        seen.push(statement.name.text.as_str());
    }
    let mut format = wrapped.unwrap_or_else(|| LineFormat::of(LogFormat::Json));
    for statement in block {
        let fields = match statement.name.text.as_str() {
            "wrap" => continue,
            "fields" => statement.block.as_deref().unwrap_or_default(),
            _ => std::slice::from_ref(statement),
        };
        for field in fields {
            match filter(field) {
                Ok(filter) => format.filters.push((path(&field.name.text), filter)),
                Err(error) => cx.record(Err(error)),
            }
        }
    }
    Ok(format)
}

fn plain(cx: &mut Context, call: &Call<'_>) -> Result<LineFormat, Error> {
    let mut format = LineFormat::of(encoding(call)?);
    cx.read(&OPTIONS, call.block.unwrap_or_default(), &mut format);
    Ok(format)
}

fn named<T: Clone>(call: &Call<'_>, names: &[(&str, T)]) -> Result<T, Error> {
    let word = call.one()?;
    let found = names.iter().find(|(name, _)| *name == word.text);
    found.map(|(_, value)| value.clone()).ok_or_else(|| {
        let near = nearest(&word.text, names.iter().map(|(name, _)| *name));
        let hint = near.map_or_else(
            || {
                let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
                format!("known are {}", names.join(", "))
            },
            |near| format!("did you mean `{near}`?"),
        );
        bad_value(
            &word.position,
            format!("unknown {} `{}`", call.entry.name, word.text),
            hint,
        )
    })
}

/// Names of the fields inside `request`.
const OF_REQUEST: &[&str] = &[
    "remote_ip",
    "remote_port",
    "client_ip",
    "proto",
    "method",
    "host",
    "uri",
    "headers",
    "tls",
];

fn path(name: &str) -> Vec<String> {
    let mut path: Vec<String> = name.split('>').map(str::to_owned).collect();
    if OF_REQUEST.contains(&path[0].as_str()) {
        path.insert(0, "request".into());
    }
    path
}

fn filter(statement: &Statement) -> Result<Filter, Error> {
    let wrong = |message: String, hint: &str| bad_value(&statement.name.position, message, hint);
    let Some((name, arguments)) = statement.arguments.split_first() else {
        let message = format!("the field `{}` has no filter", statement.name.text);
        return Err(wrong(message, "write for example `request>uri delete`"));
    };
    let block = statement.block.as_deref();
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let misused = |syntax: &str| {
        let message = format!(
            "`{}` does not take these arguments",
            statement.arguments[0].text
        );
        bad_value(&name.position, message, format!("write `{syntax}`"))
    };
    match (name.text.as_str(), &texts[..], block) {
        ("delete", [], None) => Ok(Filter::Delete),
        ("delete", ..) => Err(misused("FIELD delete")),
        ("hash", [], None) => Ok(Filter::Hash),
        ("hash", ..) => Err(misused("FIELD hash")),
        ("rename", [to], None) => Ok(Filter::Rename((*to).to_owned())),
        ("rename", ..) => Err(misused("FIELD rename NAME")),
        ("replace", [text], None) => Ok(Filter::Replace((*text).to_owned())),
        ("replace", ..) => Err(misused("FIELD replace TEXT")),
        ("regexp", [pattern, text], None) => match regex::Regex::new(pattern) {
            Ok(_) => Ok(Filter::Regexp((*pattern).to_owned(), (*text).to_owned())),
            Err(_) => Err(bad_value(
                &arguments[0].position,
                format!("`{pattern}` is not a regular expression"),
                "",
            )),
        },
        ("regexp", ..) => Err(misused("FIELD regexp PATTERN TEXT")),
        ("ip_mask", _, _) => ip_mask(arguments, block.unwrap_or_default())
            .ok_or_else(|| misused("FIELD ip_mask [IPV4 [IPV6]]")),
        ("query", [], Some(block)) => Ok(Filter::Query(edits(block)?)),
        ("query", ..) => Err(misused("FIELD query { … }")),
        ("cookie", [], Some(block)) => Ok(Filter::Cookie(edits(block)?)),
        ("cookie", ..) => Err(misused("FIELD cookie { … }")),
        ("multi_regexp", ..) => Err(unsupported(name, "use several `regexp`")),
        (other, ..) => {
            const KNOWN: [&str; 8] = [
                "delete", "hash", "rename", "replace", "regexp", "ip_mask", "query", "cookie",
            ];
            let hint = nearest(other, KNOWN.into_iter()).map_or_else(
                || format!("known are {}", KNOWN.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            Err(Error::new(
                ErrorKind::UnknownName,
                &name.position,
                format!("unknown filter `{other}`"),
                hint,
            ))
        }
    }
}

/// `ip_mask 24 64` or with a block of `ipv4 24` and `ipv6 64`. A family that is not named keeps all its bits.
fn ip_mask(arguments: &[Word], block: &[Statement]) -> Option<Filter> {
    let bits = |text: &str, most: u8| text.parse().ok().filter(|bits| *bits <= most);
    let (mut ipv4, mut ipv6) = (32, 128);
    match (arguments, block) {
        ([], []) => return None,
        ([first], []) => ipv4 = bits(&first.text, 32)?,
        ([first, second], []) => {
            ipv4 = bits(&first.text, 32)?;
            ipv6 = bits(&second.text, 128)?;
        }
        ([], block) => {
            for line in block {
                let [value] = line.arguments.as_slice() else {
                    return None;
                };
                match line.name.text.as_str() {
                    "ipv4" => ipv4 = bits(&value.text, 32)?,
                    "ipv6" => ipv6 = bits(&value.text, 128)?,
                    _ => return None,
                }
            }
        }
        _ => return None,
    }
    Some(Filter::IpMask(ipv4, ipv6))
}

fn edits(block: &[Statement]) -> Result<Vec<Edit>, Error> {
    let edit = |line: &Statement| {
        let texts: Vec<&str> = line
            .arguments
            .iter()
            .map(|word| word.text.as_str())
            .collect();
        match (line.name.text.as_str(), &texts[..], &line.block) {
            ("delete", [name], None) => Ok(Edit::Delete((*name).to_owned())),
            ("hash", [name], None) => Ok(Edit::Hash((*name).to_owned())),
            ("replace", [name, text], None) => {
                Ok(Edit::Replace((*name).to_owned(), (*text).to_owned()))
            }
            (other, ..) => Err(bad_value(
                &line.name.position,
                format!("`{other}` is not supported here"),
                "write `delete NAME`, `replace NAME TEXT` or `hash NAME`",
            )),
        }
    };
    block.iter().map(edit).collect()
}

/// `console` or `json`.
pub(crate) fn encoding(call: &Call<'_>) -> Result<LogFormat, Error> {
    let hint = "formats are `console` and `json`";
    match call.arguments {
        [word] if word.text == "json" => Ok(LogFormat::Json),
        [word] if word.text == "console" => Ok(LogFormat::Console),
        [word, ..] if OTHERS.contains(&word.text.as_str()) => {
            let instead = match word.text.as_str() {
                "append" => {
                    "write `log_append NAME VALUE` in the site; formats are `console` and `json`"
                }
                "transform" => "it is a plugin of Caddy; formats are `console` and `json`",
                _ => hint,
            };
            Err(unsupported(word, instead))
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
