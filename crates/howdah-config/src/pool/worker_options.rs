//! The names in the block of a `worker`.

use super::worker::{DEFAULT_WATCH, file, name};
use super::{concurrency, leaks};
use crate::draft::{Place, WorkerDraft};
use crate::error::{Error, ErrorKind};
use crate::matcher;
use crate::model::{Boot, Connections, Isolation, Keep, OnExit, Statics};
use crate::pool::limits::{Block, count, with_limits};
use crate::pool::options::{Options, processes};
use crate::pool::php_value;
use crate::syntax::tree::Word;
use crate::table::pairs::{check_variable, pairs};
use crate::table::template::literal;
use crate::table::value::{flag, number_or, optional_duration};
use crate::table::{Call, Context, Entry, Item, Table, bad_value};

const NOT_THERE: &str = "Not in FrankenPHP.";

/// Names of the block of `worker`.
pub(crate) const WORKER: Table<WorkerDraft> = Table {
    kind: "subdirective of `worker`",
    items: &with_limits::<_, { OPTIONS.len() + count(Block::Worker) }>(OPTIONS, Block::Worker),
};

const OPTIONS: &[Item<WorkerDraft>] = &[
    Item::Supported(
        Entry {
            name: "file",
            syntax: "file FILE",
            default: "",
            about: "The script, if it is not on the line of `worker`. A relative path starts at the \
                        working directory, or at the `root` of the `php_server` that the worker is in.",
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
            about: "How many workers there are, each with one request at a time, or as many as \
                        `concurrency` says.",
            differs: "",
            example: "num 16",
        },
        |_, call, draft| processes(call, 0, &mut draft.own.settings.workers),
    ),
    Options::<WorkerDraft>::MAX_THREADS,
    Item::Supported(
        Entry {
            name: "name",
            syntax: "name NAME",
            default: "the `name` of the `php_server`, otherwise the name of the file without `.php`",
            about: "Names the pool in the log, in `howdah status` and in process titles. No two have \
                        the same.",
            differs: "FrankenPHP's default is the whole path.",
            example: "name api",
        },
        |_, call, draft| call.set(&mut draft.name, name(call)?),
    ),
    Item::Supported(
        Entry {
            name: "env",
            syntax: "env NAME VALUE  or  env { NAME VALUE … }",
            default: "",
            about: "A variable of the environment of the script, its requests and the programs they start, \
                        and in `$_SERVER`. May be given several times.",
            differs: "In FrankenPHP programs do not have it, nor has `$_SERVER` in the requests of a worker of \
                          the global block. The form with a block is not in FrankenPHP.",
            example: "env APP_ENV production",
        },
        env,
    ),
    Item::Supported(
        Entry {
            name: "watch",
            syntax: "watch [PATTERN…]",
            default: "nothing is watched; without PATTERN `./**/*.{env,php,twig,yaml,yml}`",
            about: "Files whose change reloads the workers, for development: files, folders, and \
                        patterns with `*`, `?`, `**` and `{a,b}`. A relative one starts at the working \
                        directory. May be given several times.",
            differs: "",
            example: "watch app/**/*.php .env",
        },
        watch,
    ),
    Item::Supported(
        Entry {
            name: "match",
            syntax: "match PATH…",
            default: "the requests whose script the worker is",
            about: "The worker answers all requests with such a path, whatever file exists. Paths are \
                        as those of the matcher `path`. Only in `php_server` and `php`. May be given \
                        several times. With different ones a `php_server` may have the same file \
                        several times, for example with few processes for slow addresses; the first that \
                        fits answers.",
            differs: "",
            example: "match /api/* /graphql",
        },
        matches,
    ),
    Item::Supported(
        Entry {
            name: "max_consecutive_failures",
            syntax: "max_consecutive_failures NUMBER|-1",
            default: "`6`",
            about: "So many times in a row the script may fail before its first request; then the \
                        server does not start. With `-1` it goes on trying, as it does with `watch`, and \
                        once it has started.",
            differs: "",
            example: "max_consecutive_failures 3",
        },
        |_, call, draft| {
            let never = call.one()?.text == "-1";
            draft.pool.max_failures = if never {
                u32::MAX
            } else {
                number_or(call, 0, ", or -1 to go on trying")?
            };
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "boot",
            syntax: "boot zygote|each",
            default: "`zygote`, and `each` by itself where the started script cannot be copied",
            about: "Where the script runs up to its first request: once, and all workers are copies of \
                        that process (`zygote`), or in each worker (`each`).",
            differs: NOT_THERE,
            example: "boot each",
        },
        |_, call, draft| {
            let words = [("zygote", Boot::Zygote), ("each", Boot::Each)];
            draft.pool.boot = choice(call, &words)?;
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "exit",
            syntax: "exit request|restart",
            default: "`request`",
            about: "What `exit()` in a request ends: the request, whose shutdown functions run and \
                        whose output is delivered, or the worker too, which starts again.",
            differs: "FrankenPHP always does `restart`.",
            example: "exit restart",
        },
        |_, call, draft| {
            let words = [("request", OnExit::Request), ("restart", OnExit::Restart)];
            draft.pool.exit = choice(call, &words)?;
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "isolation",
            syntax: "isolation worker|request",
            default: "`worker`",
            about: "With `request` each request has a fresh copy of the started script, so that nothing \
                        of it is seen by another one; it costs about a millisecond.",
            differs: NOT_THERE,
            example: "isolation request",
        },
        |_, call, draft| {
            let words = [
                ("worker", Isolation::Worker),
                ("request", Isolation::Request),
            ];
            draft.pool.isolation = choice(call, &words)?;
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "concurrency",
            syntax: "concurrency NUMBER",
            default: "`1`",
            about: "How many requests a worker runs at a time, at most 1024. While one waits for a \
                        database, another server or a timer, the worker goes on with the others. The \
                        application has to bear that: see the guide to coroutines.",
            differs: NOT_THERE,
            example: "concurrency 100",
        },
        |_, call, draft| concurrency::requests(call, draft),
    ),
    Item::Supported(
        Entry {
            name: "concurrency_fallback",
            syntax: "concurrency_fallback [on|off]",
            default: "`off`",
            about: "With `concurrency`: where PHP, as it is installed, cannot run several requests at a time, \
                        each worker runs one. Without it the start fails, and says what is wrong with PHP.",
            differs: NOT_THERE,
            example: "concurrency_fallback\nconcurrency 100",
        },
        |_, call, draft| {
            concurrency::options(call, draft).fallback = flag(call)?;
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "statics",
            syntax: "statics isolate|share",
            default: "`isolate`",
            about: "With `concurrency`: whether each request has static properties and variables of \
                        its own, as they were after the start, or those of a worker are one for all its \
                        requests.",
            differs: NOT_THERE,
            example: "statics share\nconcurrency 100",
        },
        |_, call, draft| {
            let words = [("isolate", Statics::Isolate), ("share", Statics::Share)];
            let statics = choice(call, &words)?;
            concurrency::options(call, draft).statics = statics;
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "stack_size",
            syntax: "stack_size SIZE",
            default: "`8MiB`, what a process without `concurrency` has by default",
            about: "With `concurrency`: the stack of each request for what PHP does inside itself, from \
                        `64KiB` to `64MiB`. Memory is taken only as far as it is used, and most of it is given \
                        back when the request ends. A request that needs more ends with a fatal error, so \
                        give more to an application whose callbacks or data are nested very deeply.",
            differs: NOT_THERE,
            example: "stack_size 16MiB\nconcurrency 100",
        },
        |_, call, draft| concurrency::stack_size(call, draft),
    ),
    Item::Supported(
        Entry {
            name: "hog_threshold",
            syntax: "hog_threshold DURATION|off",
            default: "`100ms`",
            about: "With `concurrency`: a request that keeps the others of its worker waiting for longer, \
                        because it computes or because what it waits for blocks the process, is logged with \
                        the place in the code where it is.",
            differs: NOT_THERE,
            example: "hog_threshold 50ms\nconcurrency 100",
        },
        |_, call, draft| {
            concurrency::options(call, draft).hog_threshold = optional_duration(call)?;
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "hang_timeout",
            syntax: "hang_timeout DURATION|off",
            default: "`60s`",
            about: "With `concurrency`: a worker that makes no progress for longer, because a library waits for \
                        a lock that it holds itself or loops, is replaced, and the log has the place in the code. \
                        PHP code that computes, calls of the C library that could wait, and waiting for a disk are \
                        progress; one call of a C function that computes for so long is not. While the worker is \
                        stopped the limit is 5 s at most.",
            differs: NOT_THERE,
            example: "hang_timeout 20s\nconcurrency 100",
        },
        |_, call, draft| {
            concurrency::options(call, draft).hang_timeout = optional_duration(call)?;
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "time_slice",
            syntax: "time_slice DURATION|off",
            default: "`off`",
            about: "With `concurrency`: a request that computes for longer lets the others of its worker \
                        run, wherever it is in its code. Without it requests take turns only where they \
                        wait, which code that shares objects between requests may rely on.",
            differs: NOT_THERE,
            example: "time_slice 10ms\nconcurrency 100",
        },
        |_, call, draft| {
            concurrency::options(call, draft).time_slice = optional_duration(call)?;
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "keep",
            syntax: "keep WORD…",
            default: "nothing is kept",
            about: "State that a request may change for later ones. All other state that PHP can put back is \
                        after each request as it was after the start; the guide of worker mode says what is \
                        not. Words are `ini`, `handlers` (of errors and exceptions, autoloaders, stream \
                        wrappers and filters, what `mysqli_report()` and `use_soap_error_handler()` set), `locale`, `timezone`, `cwd`, \
                        `umask`, `env`, `mbstring`, `libxml`, `random`, `session` (`session_name()`, \
                        `session_set_cookie_params()` and all of `session.*`) and `all`. May be given several \
                        times.",
            differs: "FrankenPHP keeps all of it.",
            example: "keep locale timezone",
        },
        keep,
    ),
    Item::Supported(
        Entry {
            name: "connections",
            syntax: "connections replace|revive|ignore",
            default: "`replace`",
            about: "What is done when a database connection of a worker was closed by the other side \
                        between two requests: the worker is replaced, the connection is opened again where \
                        that is safe (what was set in its session is lost), or nothing.",
            differs: NOT_THERE,
            example: "connections revive",
        },
        |_, call, draft| {
            let words = [
                ("replace", Connections::Replace),
                ("revive", Connections::Revive),
                ("ignore", Connections::Ignore),
            ];
            draft.pool.connections = choice(call, &words)?;
            Ok(())
        },
    ),
    Options::<WorkerDraft>::USER,
    Options::<WorkerDraft>::PHP_INI,
    Options::<WorkerDraft>::PHP_ADMIN_INI,
    Item::Supported(
        Entry {
            name: "warm",
            syntax: "warm PATH…",
            default: "",
            about: "Paths, perhaps with a query, that each worker requests of itself before it takes \
                        requests. May be given several times.",
            differs: NOT_THERE,
            example: "warm / /products?page=1",
        },
        warm,
    ),
    Item::Supported(
        Entry {
            name: "detect_leaks",
            syntax: "detect_leaks [sample NUMBER] [{ allow PATTERN… }]",
            default: "off",
            about: "Logs what requests leave behind for later ones: each place, such as \
                        `App\\Cart::$items`, once in a generation. With `sample` one of so many requests of a \
                        worker is looked at. `allow` names what is no leak, by place or kind; `*` stands for any \
                        text. Not with `concurrency` or `isolation request`.",
            differs: NOT_THERE,
            example: "detect_leaks sample 100 {\n\tallow App\\Cache::*\n}",
        },
        leaks::read,
    ),
];

fn env(cx: &mut Context, call: &Call<'_>, draft: &mut WorkerDraft) -> Result<(), Error> {
    for (name, value) in pairs(cx, call)? {
        check_variable(name)?;
        php_value::refuse_in_environment(name)?;
        let text = literal(value, "a variable of a worker")?;
        if text.contains('\0') {
            let message = format!("the value of `{}` has a NUL in it", name.text);
            return Err(bad_value(&value.position, message, ""));
        }
        draft.pool.env.retain(|(other, _)| *other != name.text);
        draft.pool.env.push((name.text.clone(), text));
    }
    Ok(())
}

fn watch(_: &mut Context, call: &Call<'_>, draft: &mut WorkerDraft) -> Result<(), Error> {
    let mut patterns = patterns(call.arguments(0, usize::MAX)?)?;
    if patterns.is_empty() {
        patterns.push(DEFAULT_WATCH.into());
    }
    draft.pool.watch.append(&mut patterns);
    Ok(())
}

/// Patterns of files to watch.
pub(crate) fn patterns(words: &[Word]) -> Result<Vec<String>, Error> {
    let pattern = |word: &Word| {
        // Not a template: the braces of a pattern are no placeholder.
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

fn matches(_: &mut Context, call: &Call<'_>, draft: &mut WorkerDraft) -> Result<(), Error> {
    let words = call.arguments(1, usize::MAX)?;
    if draft.place == Place::Global {
        return Err(call.error(
            ErrorKind::Conflict,
            "`match` belongs to one application, and this worker is for all".into(),
            "put the worker in the `php_server` whose paths it takes",
        ));
    }
    for word in words {
        draft.matches.push(matcher::path(word)?);
    }
    Ok(())
}

fn keep(_: &mut Context, call: &Call<'_>, draft: &mut WorkerDraft) -> Result<(), Error> {
    for word in call.arguments(1, usize::MAX)? {
        let kind = one_of(call, word, &Keep::WORDS)?;
        draft.pool.keep = draft.pool.keep.with(kind);
    }
    Ok(())
}

fn warm(_: &mut Context, call: &Call<'_>, draft: &mut WorkerDraft) -> Result<(), Error> {
    for word in call.arguments(1, usize::MAX)? {
        let path = literal(word, "a path to warm up")?;
        let printable = path.bytes().all(|byte| byte.is_ascii_graphic());
        if !path.starts_with('/') || !printable || path.contains('#') {
            return Err(bad_value(
                &word.position,
                format!("`{}` is not a path to request", word.text),
                "write it as a browser sends it, for example `/products?page=1`",
            ));
        }
        draft.pool.warm.push(path);
    }
    Ok(())
}

/// The meaning of the only argument.
fn choice<T: Copy>(call: &Call<'_>, words: &[(&str, T)]) -> Result<T, Error> {
    one_of(call, call.one()?, words)
}

fn one_of<T: Copy>(
    call: &Call<'_>,
    word: &crate::syntax::tree::Word,
    words: &[(&str, T)],
) -> Result<T, Error> {
    let found = words.iter().find(|(name, _)| *name == word.text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
        bad_value(
            &word.position,
            format!("`{}` takes no `{}`", call.entry.name, word.text),
            format!("known are {}", names.join(", ")),
        )
    })
}
