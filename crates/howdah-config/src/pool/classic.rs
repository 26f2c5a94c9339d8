//! `pool` in the global block, and as a name in `php_server` and `php`.

use crate::draft::{ClassicPoolDraft, PoolDraft};
use crate::error::{Error, ErrorKind};
use crate::model::{CLASSIC_POOL, PhpExecutable};
use crate::pool::limits::{Block, count, limits};
use crate::pool::options::{HasPoolDraft, Options, processes};
use crate::pool::php;
use crate::pool::worker;
use crate::table::template::literal;
use crate::table::{Call, Context, Entry, Item, Table, bad_value, joined, nearest};

impl HasPoolDraft for ClassicPoolDraft {
    fn pool_draft(&mut self) -> &mut PoolDraft {
        &mut self.own
    }
}

const NOT_THERE: &str = "Not in FrankenPHP.";

/// `pool` in the global block.
pub(crate) const GLOBAL: Entry = Entry {
    name: "pool",
    syntax: "pool NAME { … }",
    default: "one pool, `php`, for all applications",
    about: "A separate pool of PHP processes for the applications with `pool NAME` in their `php_server` or `php`: \
        with a separate number of processes, queue, limits, user and settings, so that a slow site does not block \
        the others. As in the pool `php`, PHP starts fresh for each request. May be given several times.",
    differs: "Not in FrankenPHP; PHP-FPM's pools.",
    example: "pool shop {\n\tworkers 4\n}",
};

/// `pool` in `php_server` and `php`.
pub(crate) const APPLICATION: Entry = Entry {
    name: "pool",
    syntax: "pool NAME",
    default: "`php`, the default pool",
    about: "The pool of the global block that runs the scripts without a worker.",
    differs: NOT_THERE,
    example: "pool php",
};

/// Names of the block of `pool`.
pub(crate) const POOL: Table<ClassicPoolDraft> = Table {
    kind: "option of `pool`",
    items: &joined::<_, { OPTIONS.len() + COMMON.len() + LIMITS.len() }>(&[
        OPTIONS, COMMON, LIMITS,
    ]),
};

const COMMON: &[Item<ClassicPoolDraft>] = &Options::ALL;
const LIMITS: &[Item<ClassicPoolDraft>] = &limits::<_, { count(Block::Pool) }>(Block::Pool);

const OPTIONS: &[Item<ClassicPoolDraft>] = &[
    Item::Supported(
        Entry {
            name: "workers",
            syntax: "workers NUMBER",
            default: "twice the number of cores, at least 4",
            about: "Number of PHP processes that always run.",
            differs: NOT_THERE,
            example: "workers 4",
        },
        |_, call, draft| processes(call, 1, &mut draft.own.settings.workers),
    ),
    Item::Supported(
        Entry {
            name: "num_threads",
            syntax: "num_threads NUMBER",
            default: "twice the number of cores, at least 4",
            about: "Another name for `workers`, as in the global block.",
            differs: NOT_THERE,
            example: "num_threads 4",
        },
        |_, call, draft| processes(call, 1, &mut draft.own.settings.workers),
    ),
    Item::Elsewhere("env", "put it in the `php_server` that names the pool"),
    Item::Elsewhere("file", "a `worker` has a file; a `pool` runs all scripts"),
    Item::Elsewhere("num", "write `workers`"),
];

/// Reads a `pool` of the global block.
pub(crate) fn read(cx: &mut Context, call: &Call<'_>) -> Result<(), Error> {
    let word = &call.count(1, 1)?[0];
    let mut draft = ClassicPoolDraft {
        position: call.name.position.clone(),
        name: worker::name_of(word)?,
        own: PoolDraft::default(),
        is_used: false,
    };
    if cx.pools.iter().any(|pool| pool.name == draft.name) {
        return Err(Error::new(
            ErrorKind::Conflict,
            &word.position,
            format!("two pools have the name `{}`", draft.name),
            "rename one of them",
        ));
    }
    if cx.pools.len() > usize::from(u16::MAX) {
        let message = format!("there are more than {} pools", cx.pools.len());
        return Err(call.error(ErrorKind::Conflict, message, "let sites share pools"));
    }
    cx.read(&POOL, call.block.unwrap_or_default(), &mut draft);
    let settings = &draft.own.settings;
    worker::check_max(call, settings.workers, settings.workers_max)?;
    cx.pools.push(draft);
    Ok(())
}

/// The pool of an application, by its index; `None`: that of all.
#[derive(Debug)]
pub(crate) struct PoolChoice(pub(crate) Option<u16>);

/// Reads `pool NAME` of an application.
pub(crate) fn of_application(cx: &mut Context, call: &Call<'_>) -> Result<PoolChoice, Error> {
    let word = call.one()?;
    let name = literal(word, "the name of a pool")?;
    if name == CLASSIC_POOL {
        return Ok(PoolChoice(None));
    }
    for (pool, index) in cx.pools.iter_mut().zip(0..) {
        if pool.name == name {
            pool.is_used = true;
            return Ok(PoolChoice(Some(index)));
        }
    }
    let mut workers = cx.workers.iter();
    if workers.any(|worker| worker.name.as_ref() == Some(&name)) {
        return Err(Error::new(
            ErrorKind::Conflict,
            &word.position,
            format!("`{name}` is a worker, which gets the requests for its script anyway"),
            "name a `pool` of the global block, or remove it",
        ));
    }
    let known = cx.pools.iter().map(|pool| pool.name.as_str());
    let hint = match nearest(&name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write `pool {name} {{ … }}` in the global `howdah {{ … }}`"),
    };
    let message = format!("there is no pool `{name}`");
    Err(bad_value(&word.position, message, hint))
}

/// Reads `php VERSION` of an application: the version, and the pool of its scripts.
pub(crate) fn of_version(
    cx: &mut Context,
    call: &Call<'_>,
) -> Result<(PhpExecutable, PoolChoice), Error> {
    let word = call.one()?;
    let php = php::executable(call)?;
    if let PhpExecutable::File(file) = &php {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a version of PHP", file.display()),
            "write a version such as `8.3`, or name a `pool` that has `php FILE`",
        ));
    }
    let name = format!("php{php}");
    let found = cx.pools.iter_mut().position(|pool| pool.name == name);
    let index = found.unwrap_or(cx.pools.len());
    if found.is_none() {
        let mut own = PoolDraft::default();
        own.settings.php = Some(php.clone());
        cx.pools.push(ClassicPoolDraft {
            position: call.name.position.clone(),
            name,
            own,
            is_used: true,
        });
    }
    let pool = &mut cx.pools[index];
    if pool.own.settings.php.as_ref() != Some(&php) {
        return Err(call.error(
            ErrorKind::Conflict,
            format!("the pool `{}` has a different PHP", pool.name),
            format!("write `php {php}` in that pool, or give it another name"),
        ));
    }
    pool.is_used = true;
    let index = u16::try_from(index).map_err(|_| {
        call.error(
            ErrorKind::Conflict,
            "there are too many pools".into(),
            "let sites share pools",
        )
    })?;
    Ok((php, PoolChoice(Some(index))))
}
