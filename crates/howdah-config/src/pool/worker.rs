//! `worker`: its line and its block. Code that depends on all workers of a file is in `resolve`.

use crate::draft::{Place, PoolDraft, WorkerDraft};
use crate::error::{Error, ErrorKind};
use crate::model::{Boot, DEFAULT_WATCH, Isolation, WORKERS_MAX, WorkerPool, WorkersMax};
use crate::pool::options::HasPoolDraft;
use crate::pool::worker_options::WORKER;
use crate::pool::{concurrency, leaks};
use crate::syntax::tree::Word;
use crate::table::template::literal;
use crate::table::{Call, Context, Entry, bad_value};

/// Maximum length of a name, which is part of process titles and log lines.
const MAX_NAME: usize = 100;

impl HasPoolDraft for WorkerDraft {
    fn pool_draft(&mut self) -> &mut PoolDraft {
        &mut self.own
    }
}

/// `worker` in the global block.
pub(crate) const GLOBAL: Entry = Entry {
    name: "worker",
    syntax: "worker FILE [NUMBER|watch] [{ … }]  or  worker { … }",
    default: "no worker",
    about: "A script that boots once and then handles one request after another with `frankenphp_handle_request()`. \
        It handles the requests of every `php_server` that resolve to this script. May be given several times. \
        NUMBER is `num`, and `watch` means `watch` without a pattern.",
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
pub(crate) fn read(cx: &mut Context, call: &Call<'_>, place: Place) -> Result<WorkerDraft, Error> {
    let arguments = call.count(usize::from(call.block.is_none()), 2)?;
    let mut draft = WorkerDraft {
        position: call.name.position.clone(),
        place,
        block: 0,
        file: None,
        name: None,
        application: None,
        folder: None,
        needs_concurrency: None,
        own: PoolDraft::default(),
        matches: Vec::new(),
        pool: WorkerPool::new("", ""),
    };
    if let Some(word) = arguments.first() {
        draft.file = Some(file(word)?);
    }
    match arguments.get(1) {
        Some(word) if word.text == "watch" => draft.pool.options.watch.push(DEFAULT_WATCH.into()),
        Some(word) => {
            let count: usize = word.text.parse().map_err(|_| {
                bad_value(
                    &word.position,
                    format!("`{}` is neither a number of workers nor `watch`", word.text),
                    format!("write `{}`", call.entry.syntax),
                )
            })?;
            check_count(word, count)?;
            draft.own.settings.workers = Some(count);
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
    // In FrankenPHP this means that it is not given.
    let settings = &mut draft.own.settings;
    settings.workers = settings.workers.filter(|count| *count > 0);
    check_max(call, settings.workers, settings.workers_max)?;
    concurrency::check(call, &draft)?;
    leaks::check(call, &draft)?;
    let options = &draft.pool.options;
    if options.isolation == Isolation::Request && options.boot == Boot::Each {
        cx.warn(
            &call.name.position,
            "with `isolation request` and `boot each` every request boots the application again: remove `boot each`",
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

/// The error of a pool whose maximum is below its initial number.
pub(crate) fn check_max(
    call: &Call<'_>,
    count: Option<usize>,
    max: WorkersMax,
) -> Result<(), Error> {
    match (count, max) {
        (Some(count), WorkersMax::Number(max)) if max < count => Err(call.error(
            ErrorKind::Conflict,
            format!(
                "`max_threads` is {max}, which is less than the {count} processes that always run"
            ),
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
    let count = crate::table::value::number(call, 1)?;
    check_count(word, count)?;
    Ok(WorkersMax::Number(count))
}

/// The path of a worker script as written.
pub(crate) fn file(word: &Word) -> Result<String, Error> {
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
    name_of(call.one()?)
}

/// Checks the name of a pool: one line of at most [`MAX_NAME`] bytes, and not that of the default pool.
pub(crate) fn name_of(word: &Word) -> Result<String, Error> {
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
            format!("`{name}` is the name of the pool that all sites without one have"),
            "give another name",
        ));
    }
    Ok(name)
}
