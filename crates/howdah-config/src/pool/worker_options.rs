//! The names in the block of a `worker`: those of [`WORKER_OPTIONS`], and options that concern more than its pool.

use super::leaks;
use super::worker::{file, name};
use crate::draft::{Place, WorkerDraft};
use crate::error::{Error, ErrorKind};
use crate::matcher;
use crate::model::{LimitValue, OptionKind, OptionValue, WORKER_OPTIONS, WorkerOption};
use crate::pool::limits::{Block, count, limits};
use crate::pool::options::{Options, processes};
use crate::pool::php_value;
use crate::syntax::tree::Word;
use crate::table::pairs::{check_variable, pairs};
use crate::table::template::literal;
use crate::table::value::{flag, number_or, optional_duration, size};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, joined};

/// Names of the block of `worker`.
pub(crate) const WORKER: Table<WorkerDraft> = Table {
    kind: "subdirective of `worker`",
    items: &joined::<_, { OWN.len() + OPTIONS.len() + COMMON.len() + LIMITS.len() }>(&[
        OWN, OPTIONS, COMMON, LIMITS,
    ]),
};

const OPTIONS: &[Item<WorkerDraft>] = &options::<{ WORKER_OPTIONS.len() }>();
const COMMON: &[Item<WorkerDraft>] = &Options::ALL;
const LIMITS: &[Item<WorkerDraft>] = &limits::<_, { count(Block::Worker) }>(Block::Worker);

const OWN: &[Item<WorkerDraft>] = &[
    Item::Supported(
        Entry {
            name: "file",
            syntax: "file FILE",
            default: "",
            about: "The script, if it is not on the line of `worker`. A relative path starts at the working \
                    directory, or at the `root` of the `php_server` that contains the worker.",
            differs: "",
            example: "file public/worker.php",
        },
        |_, call, draft| call.set(&mut draft.file, file(call.one()?)?),
    ),
    Item::Supported(
        Entry {
            name: "num",
            syntax: "num NUMBER",
            default: "twice the number of cores, at least 4; with `concurrency` the number of cores, at least 2",
            about: "Number of workers. Each runs one request at a time, or up to `concurrency` requests.",
            differs: "",
            example: "num 16",
        },
        |_, call, draft| processes(call, 0, &mut draft.own.settings.workers),
    ),
    Item::Supported(
        Entry {
            name: "name",
            syntax: "name NAME",
            default: "the `name` of the `php_server`, otherwise the name of the file without `.php`",
            about: "Name of the pool in the log, in `howdah status` and in process titles. Names are unique.",
            differs: "FrankenPHP's default is the whole path.",
            example: "name api",
        },
        |_, call, draft| call.set(&mut draft.name, name(call)?),
    ),
    Item::Supported(
        Entry {
            name: "match",
            syntax: "match PATH…",
            default: "requests that resolve to the worker's script",
            about: "The worker handles all requests whose path matches, whatever files exist. Paths are written as for \
                    the matcher `path`. Only in `php_server` and `php`. May be given several times. A `php_server` \
                    may have several workers with the same file and different paths, for example with few processes \
                    for slow pages; the first one that matches gets the request.",
            differs: "",
            example: "match /api/* /graphql",
        },
        matches,
    ),
];

const fn options<const N: usize>() -> [Item<WorkerDraft>; N] {
    let mut items = [Item::Supported(entry(&WORKER_OPTIONS[0]), read); N];
    let mut index = 1;
    while index < N {
        items[index] = Item::Supported(entry(&WORKER_OPTIONS[index]), read);
        index += 1;
    }
    items
}

const fn entry(option: &WorkerOption) -> Entry {
    Entry {
        name: option.name,
        syntax: option.syntax,
        default: option.default,
        about: option.about,
        differs: option.differs,
        example: option.example,
    }
}

fn read(cx: &mut Context, call: &Call<'_>, draft: &mut WorkerDraft) -> Result<(), Error> {
    let Some(option) = WorkerOption::named(call.entry.name) else {
        unreachable!("the table has options alone here");
    };
    let value = value(cx, call, option.kind)?;
    if option.needs_concurrency {
        draft.needs_concurrency = Some(option.name);
    }
    if (option.set)(&mut draft.pool.options, value) {
        return Ok(());
    }
    let message = format!("the value of `{}` is too large", option.name);
    Err(bad_value(&call.name.position, message, ""))
}

fn value(cx: &mut Context, call: &Call<'_>, kind: OptionKind) -> Result<OptionValue, Error> {
    Ok(match kind {
        OptionKind::Number {
            min,
            max,
            unlimited,
        } => OptionValue::Limit(limited_number(call, min, max, unlimited)?),
        OptionKind::Size { min, max } => {
            let size = size(call)?;
            OptionValue::Limit(check_range(call, size, min, max, LimitValue::Bytes)?)
        }
        OptionKind::Time => OptionValue::Limit(match optional_duration(call)? {
            Some(time) => LimitValue::Time(time),
            None => LimitValue::Off,
        }),
        OptionKind::Switch => OptionValue::Limit(LimitValue::Switch(flag(call)?)),
        OptionKind::Mode(words) => OptionValue::Word(one_of(call, call.one()?, words)?),
        OptionKind::Set(words) => {
            let given = call.arguments(1, usize::MAX)?.iter();
            let known = given.map(|word| one_of(call, word, words).map(str::to_owned));
            OptionValue::Words(known.collect::<Result<_, _>>()?)
        }
        OptionKind::Paths => {
            let given = call.arguments(1, usize::MAX)?.iter();
            OptionValue::Words(given.map(path).collect::<Result<_, _>>()?)
        }
        OptionKind::FilePatterns { default } => {
            let mut patterns = patterns(call.arguments(0, usize::MAX)?)?;
            if patterns.is_empty() {
                patterns.push(default.into());
            }
            OptionValue::Words(patterns)
        }
        OptionKind::Variables => OptionValue::Variables(variables(cx, call)?),
        OptionKind::LeakDetection => OptionValue::LeakDetection(leaks::read(cx, call)?),
    })
}

fn limited_number(
    call: &Call<'_>,
    min: u64,
    max: u64,
    unlimited: &str,
) -> Result<LimitValue, Error> {
    if !unlimited.is_empty() && call.one()?.text == unlimited {
        return Ok(LimitValue::Off);
    }
    let or = if unlimited.is_empty() {
        String::new()
    } else {
        format!(", or `{unlimited}` for no limit")
    };
    let number = number_or(call, min, &or)?;
    check_range(call, number, min, max, LimitValue::Number)
}

/// The value of a number, or the error of one that is out of range.
fn check_range(
    call: &Call<'_>,
    number: u64,
    min: u64,
    max: u64,
    value: fn(u64) -> LimitValue,
) -> Result<LimitValue, Error> {
    if (min..=max).contains(&number) {
        return Ok(value(number));
    }
    let word = call.one()?;
    Err(bad_value(
        &word.position,
        format!("`{}` is out of range for `{}`", word.text, call.entry.name),
        format!("give a value from `{}` to `{}`", value(min), value(max)),
    ))
}

fn variables(cx: &mut Context, call: &Call<'_>) -> Result<Vec<(String, String)>, Error> {
    let mut variables = Vec::new();
    for (name, value) in pairs(cx, call)? {
        check_variable(name)?;
        php_value::refuse_in_environment(name)?;
        let text = literal(value, "a variable of a worker")?;
        if text.contains('\0') {
            let message = format!("the value of `{}` contains a NUL byte", name.text);
            return Err(bad_value(&value.position, message, "remove it"));
        }
        variables.push((name.text.clone(), text));
    }
    Ok(variables)
}

/// Patterns of files to watch.
pub(crate) fn patterns(words: &[Word]) -> Result<Vec<String>, Error> {
    let pattern = |word: &Word| {
        // Not a template: the braces of a pattern are not a placeholder.
        if word.text.is_empty() || word.text.contains('\0') {
            return Err(bad_value(
                &word.position,
                format!("`{}` is not a pattern of files", word.text),
                "write for example `watch app/**/*.php`",
            ));
        }
        Ok(word.text.clone())
    };
    words.iter().map(pattern).collect()
}

fn path(word: &Word) -> Result<String, Error> {
    let path = literal(word, "a path to warm up")?;
    let printable = path.bytes().all(|byte| byte.is_ascii_graphic());
    if !path.starts_with('/') || !printable || path.contains('#') {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a path of a request", word.text),
            "write it as a browser sends it, for example `/products?page=1`",
        ));
    }
    Ok(path)
}

fn matches(_: &mut Context, call: &Call<'_>, draft: &mut WorkerDraft) -> Result<(), Error> {
    let words = call.arguments(1, usize::MAX)?;
    if draft.place == Place::Global {
        return Err(call.error(
            ErrorKind::Conflict,
            "`match` belongs to one application, and this worker is for all".into(),
            "move the worker into the `php_server` that has these paths",
        ));
    }
    for word in words {
        draft.matches.push(matcher::merged_path(word)?);
    }
    Ok(())
}

fn one_of(
    call: &Call<'_>,
    word: &Word,
    words: &'static [&'static str],
) -> Result<&'static str, Error> {
    let found = words.iter().find(|known| **known == word.text);
    found.copied().ok_or_else(|| {
        bad_value(
            &word.position,
            format!("`{}` is not a value of `{}`", word.text, call.entry.name),
            format!("known are {}", words.join(", ")),
        )
    })
}
