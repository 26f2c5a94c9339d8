//! `worker`: its line and its block. What needs to know all workers of a file is in `pools`.

mod concurrency;
mod options;

use crate::error::{Error, ErrorKind, Position};
use crate::model::{WORKERS_MAX, WorkerPool, WorkersMax};
use crate::table::{Call, Context, Entry, bad_value};
use crate::template::literal;
use crate::tree::{Statement, Word};

pub(crate) use options::{WORKER, patterns};

/// What FrankenPHP watches when no pattern is given.
const DEFAULT_WATCH: &str = "./**/*.{env,php,twig,yaml,yml}";
/// Bytes of a name, which is part of process titles and log lines.
const MAX_NAME: usize = 100;

/// Where a `worker` stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In `frankenphp` or `howdah`: for all applications.
    Global,
    /// In `php_server` or `php`.
    Application,
}

/// A worker as it is written.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Of the word `worker`.
    pub(crate) position: Position,
    place: Place,
    /// Of the block that it stands in; 0: the global one.
    pub(crate) block: usize,
    pub(crate) file: Option<String>,
    pub(crate) name: Option<String>,
    /// Names it if `name` does not.
    pub(crate) application: Option<String>,
    /// Where a relative `file` starts, if not at the working directory.
    pub(crate) folder: Option<String>,
    concurrent: concurrency::Concurrent,
    /// `request_timeout` is given, perhaps as `off`.
    has_timeout: bool,
    pub(crate) matches: Vec<String>,
    /// What is given; `name`, `file` and `root` are still empty.
    pub(crate) pool: WorkerPool,
}

impl Draft {
    /// The pool, with what it has from the classic pool's options.
    pub(crate) fn pool(&self, classic: &crate::model::Php) -> WorkerPool {
        let mut pool = self.pool.clone();
        if !self.has_timeout {
            pool.request_timeout = classic.request_timeout;
        }
        pool
    }
}

/// `worker` in the global block.
pub(crate) const GLOBAL: Entry = Entry {
    name: "worker",
    syntax: "worker FILE [NUMBER|watch] [{ … }]  or  worker { … }",
    default: "no worker",
    about: "A script that is started once and then answers request after request by \
            `frankenphp_handle_request()`. It answers, in every `php_server`, the requests whose script \
            it is. May be given several times. NUMBER is `num`, and `watch` stands for `watch` without a \
            pattern.",
    differs: "Each worker is a process.",
    example: "worker public/worker.php 8",
};

/// `worker` in `php_server` and `php`.
pub(crate) const APPLICATION: Entry = Entry {
    name: "worker",
    syntax: GLOBAL.syntax,
    default: GLOBAL.default,
    about: "As the global `worker`, for this application alone. With `root` in this block a relative FILE \
            starts there. The `env` of the block is part of its environment.",
    differs: GLOBAL.differs,
    example: GLOBAL.example,
};

/// Reads a `worker`.
pub(crate) fn read(cx: &mut Context, call: &Call<'_>, place: Place) -> Result<Draft, Error> {
    let arguments = call.count(usize::from(call.block.is_none()), 2)?;
    let mut draft = Draft {
        position: call.name.position.clone(),
        place,
        block: 0,
        file: None,
        name: None,
        application: None,
        folder: None,
        concurrent: concurrency::Concurrent::default(),
        has_timeout: false,
        matches: Vec::new(),
        pool: WorkerPool::new("", ""),
    };
    if let Some(word) = arguments.first() {
        draft.file = Some(file(word)?);
    }
    match arguments.get(1) {
        Some(word) if word.text == "watch" => draft.pool.watch.push(DEFAULT_WATCH.into()),
        Some(word) => {
            let count: usize = word.text.parse().map_err(|_| {
                bad_value(
                    &word.position,
                    format!("`{}` is neither a number of workers nor `watch`", word.text),
                    format!("write `{}`", call.entry.syntax),
                )
            })?;
            check_count(word, count)?;
            draft.pool.workers = Some(count);
        }
        None => {}
    }
    cx.read(&WORKER, call.block.unwrap_or_default(), &mut draft);
    if draft.file.is_none() {
        return Err(call.error(
            ErrorKind::Arguments,
            "the worker has no file".into(),
            "write `worker FILE`, or `file FILE` in its block",
        ));
    }
    // FrankenPHP's way to say that it is not given.
    draft.pool.workers = draft.pool.workers.filter(|count| *count > 0);
    check_max(call, draft.pool.workers, draft.pool.workers_max)?;
    concurrency::finish(call, &mut draft)?;
    if draft.pool.isolation == crate::model::Isolation::Request
        && draft.pool.boot == crate::model::Boot::Each
    {
        cx.warn(
            &call.name.position,
            "with `isolation request` and `boot each` every request boots the application anew; take \
             `boot each` out",
        );
    }
    Ok(draft)
}

/// The error of more workers than a pool can have.
pub(crate) fn check_count(word: &Word, count: usize) -> Result<(), Error> {
    if count <= WORKERS_MAX {
        return Ok(());
    }
    Err(bad_value(
        &word.position,
        format!("{count} processes are too many for one pool"),
        format!("give a number of at most {WORKERS_MAX}"),
    ))
}

/// The error of a pool that may not be as large as it starts.
pub(crate) fn check_max(
    call: &Call<'_>,
    count: Option<usize>,
    max: WorkersMax,
) -> Result<(), Error> {
    match (count, max) {
        (Some(count), WorkersMax::Number(max)) if max < count => Err(call.error(
            ErrorKind::Conflict,
            format!("`max_threads` is {max}, but {count} processes are asked for"),
            "`max_threads` is the larger of the two",
        )),
        _ => Ok(()),
    }
}

/// `max_threads NUMBER|auto`.
pub(crate) fn workers_max(call: &Call<'_>) -> Result<WorkersMax, Error> {
    let word = call.one()?;
    if word.text == "auto" {
        return Ok(WorkersMax::Auto);
    }
    let count = crate::value::number(call, 1)?;
    check_count(word, count)?;
    Ok(WorkersMax::Number(count))
}

/// The path of a worker script as it is written.
fn file(word: &Word) -> Result<String, Error> {
    let file = literal(word, "the file of a worker")?;
    if file.is_empty() || file.ends_with('/') || file.contains('\0') {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a file", word.text),
            "write for example `worker public/worker.php`",
        ));
    }
    Ok(file)
}

/// `name NAME`, of a worker or an application.
pub(crate) fn name(call: &Call<'_>) -> Result<String, Error> {
    let word = call.one()?;
    let name = literal(word, "a name")?;
    if name.trim().is_empty() || name.len() > MAX_NAME || name.contains(char::is_control) {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a name", word.text),
            format!("give one line of at most {MAX_NAME} bytes"),
        ));
    }
    if name == crate::model::CLASSIC_POOL {
        return Err(bad_value(
            &word.position,
            format!("`{name}` is the name of the pool without a worker script"),
            "give another name",
        ));
    }
    Ok(name)
}

/// `NAME VALUE`, or a block of such lines: the pairs in the order of the file.
pub(crate) fn pairs<'a>(
    cx: &mut Context,
    call: &Call<'a>,
) -> Result<Vec<(&'a Word, &'a Word)>, Error> {
    match (call.arguments, call.block) {
        ([name, value], None) => Ok(vec![(name, value)]),
        ([], Some(block)) => {
            let mut pairs = Vec::new();
            for statement in block {
                match pair(statement) {
                    Ok(pair) => pairs.push(pair),
                    Err(error) => cx.errors.push(error),
                }
            }
            Ok(pairs)
        }
        (_, Some(_)) => call.count(0, 0).map(|_| Vec::new()),
        _ => call.count(2, 2).map(|_| Vec::new()),
    }
}

fn pair(statement: &Statement) -> Result<(&Word, &Word), Error> {
    match (statement.arguments.as_slice(), &statement.block) {
        ([value], None) => Ok((&statement.name, value)),
        _ => Err(Error::new(
            ErrorKind::Arguments,
            &statement.name.position,
            format!("`{}` needs one value", statement.name.text),
            "write `NAME VALUE`, with quotes around a value with spaces",
        )),
    }
}

/// The error of a name that no environment variable can have.
pub(crate) fn check_variable(name: &Word) -> Result<(), Error> {
    if name.text.is_empty() || name.text.contains(['=', '\0', '{', '}']) {
        return Err(bad_value(
            &name.position,
            format!("`{}` is not the name of a variable", name.text),
            "write for example `env APP_ENV production`",
        ));
    }
    Ok(())
}
