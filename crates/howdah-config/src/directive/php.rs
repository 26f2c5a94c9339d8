//! `php_server` and `php`.

use std::time::Duration;

use super::balance;
use super::files::{self, candidates};
use super::health;
use super::hot_reload;
use super::intercept::{self, HANDLE_RESPONSE, REPLACE_STATUS};
use super::policy;
use super::proxy;
use super::scope::Scope;
use super::upstream::{self, DIAL_TIMEOUT};
use super::upstream_options::{self, HasUpstreams, UpstreamDraft};
use crate::draft::{Place, WorkerDraft};
use crate::error::{Error, ErrorKind, Position};
use crate::model::{
    FastCgi, FileServer, Handler, Network, Part, PhpExecutable, PhpScript, PhpServer, PhpWorker,
    Placeholder, Symlinks, Template, TryFiles, Upstream,
};
use crate::pool::classic::{self, PoolChoice};
use crate::pool::php;
use crate::pool::php_value::{self, Runtime};
use crate::pool::resolve;
use crate::pool::worker;
use crate::syntax::tree::Word;
use crate::table::pairs::{check_variable, pairs};
use crate::table::template::{literal, template};
use crate::table::value::{duration, unless_zero};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, joined};

/// A block while it is read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    root: Option<Template>,
    split: Option<Vec<String>>,
    env: Vec<(String, Template)>,
    resolve_root_symlink: Option<bool>,
    learn_hints: bool,
    index: Option<Index>,
    try_files: Option<TryFiles>,
    files_off: bool,
    files: FileServer,
    symlinks: Option<Symlinks>,
    name: Option<(String, Position)>,
    workers: Vec<WorkerDraft>,
    pool: Option<PoolChoice>,
    /// `php`, with its position.
    php: Option<(PhpExecutable, PoolChoice, Position)>,
    runs: Runtime,
    pub(super) hot_reload: Option<hot_reload::Draft>,
    /// Upstreams of `php_fastcgi`.
    upstreams: Vec<Upstream>,
    options: UpstreamDraft,
    dial_timeout: Option<Duration>,
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    capture_stderr: bool,
    trusted_proxies: Option<Vec<Network>>,
    intercept: intercept::Draft,
}

impl HasUpstreams for Draft {
    fn options(&mut self) -> &mut UpstreamDraft {
        &mut self.options
    }

    fn add_upstream(&mut self, word: &Word) -> Result<(), Error> {
        self.upstreams.push(upstream::fastcgi(word)?);
        Ok(())
    }
}

#[derive(Debug)]
enum Index {
    File(String),
    Off,
}

const ROOT: Entry = Entry {
    name: "root",
    syntax: "root PATH",
    default: "the site's root",
    about: "The document root.",
    differs: "",
    example: "root public",
};
const SPLIT: Entry = Entry {
    name: "split",
    syntax: "split TEXT…",
    default: "`.php`",
    about: "Where a path is split: everything up to and including the first of these is the script, the rest is \
            PATH_INFO. Case does not matter.",
    differs: "",
    example: "split .php .phtml",
};
const SPLIT_PATH: Entry = Entry {
    name: "split_path",
    syntax: "split_path TEXT…",
    default: "`.php`",
    about: "The same as `split`.",
    differs: "In FrankenPHP's documentation, but not in its parser.",
    example: "split_path .php",
};
const ENV: Entry = Entry {
    name: "env",
    syntax: "env NAME VALUE  or  env { NAME VALUE … }",
    default: "",
    about: "A variable in `$_SERVER`, which overrides all others. May be given several times. `PHP_VALUE` and \
        `PHP_ADMIN_VALUE` set PHP settings for these requests, one `NAME=VALUE` per line; the latter are final, as \
        those of `php_admin_ini`.",
    differs: "The form with a block is not in FrankenPHP.",
    example: "env APP_ENV production",
};
const SYMLINK: Entry = Entry {
    name: "resolve_root_symlink",
    syntax: "resolve_root_symlink [true|false]",
    default: "`true`",
    about: "Resolves the document root if it is a symbolic link.",
    differs: "",
    example: "resolve_root_symlink false",
};
const NAME: Entry = Entry {
    name: "name",
    syntax: "name NAME",
    default: "",
    about: "Name of the workers of this block that have no `name`.",
    differs: "",
    example: "name shop",
};

const EARLY_HINTS: Entry = Entry {
    name: "early_hints",
    syntax: "early_hints learn",
    default: "off: the application alone sends them, with `headers_send(103)`",
    about: "Learns from `Link` headers of a page (`preload`, `modulepreload`, `preconnect`) and sends them as 103 \
        Early Hints to the next clients that navigate to it, over HTTP/2 and HTTP/3, before PHP responds. Learned \
        from responses with status 200 to requests without `Cookie` and `Authorization`, if they set no cookie and \
        are neither `private` nor `no-store`; a response without links clears them.",
    differs: "Not in Caddy and FrankenPHP.",
    example: "early_hints learn",
};

const INDEX: Entry = Entry {
    name: "index",
    syntax: "index FILE|off",
    default: "`index.php`",
    about: "The front controller, and the index script of directories. With `off` only scripts that a path names are \
            run.",
    differs: "",
    example: "index app.php",
};
const TRY_FILES: Entry = Entry {
    name: "try_files",
    syntax: "try_files FILE… [=CODE]",
    default: "`{path} {path}/index.php index.php`, with `index` for `index.php`",
    about: "Files that a path may refer to: the first one that exists is used. The last one, if it ends in `.php`, \
        is used without a check. With a query (`app.php?{query}`) the script gets that query, otherwise that of the \
        request.",
    differs: "",
    example: "try_files {path} app.php",
};

/// Names of the block of `php`.
pub(crate) const PHP: Table<Draft> = Table {
    kind: "subdirective of `php`",
    items: &joined::<_, { 1 + SCRIPT.len() + POOL.len() }>(&[
        &[Item::Supported(ROOT, root)],
        SCRIPT,
        POOL,
    ]),
};

/// Names of the block of `php_server`.
pub(crate) const PHP_SERVER: Table<Draft> = Table {
    kind: "subdirective of `php_server`",
    items: &joined::<_, { FILES.len() + SCRIPT.len() + STATIC_FILES.len() + POOL.len() }>(&[
        FILES,
        SCRIPT,
        STATIC_FILES,
        POOL,
    ]),
};

const FILES: &[Item<Draft>] = &[
    Item::Supported(ROOT, root),
    Item::Supported(INDEX, index),
    Item::Supported(TRY_FILES, try_files),
];

const SCRIPT: &[Item<Draft>] = &[
    Item::Supported(SPLIT, split),
    Item::Supported(SPLIT_PATH, split),
    Item::Supported(ENV, env),
];

const STATIC_FILES: &[Item<Draft>] = &[
    Item::Supported(
        Entry {
            name: "file_server",
            syntax: "file_server off  or  file_server { … }",
            default: "on",
            about: "With `off` sends no static files; the block has the options of the directive `file_server`.",
            differs: "",
            example: "file_server {\n\thide *.bak\n}",
        },
        file_server,
    ),
    Item::Supported(files::SYMLINKS, |_, call, draft| {
        draft.symlinks = Some(files::symlinks(call.one()?)?);
        Ok(())
    }),
];

/// The rest of a script's options, and the pool that runs it.
const POOL: &[Item<Draft>] = &[
    Item::Supported(SYMLINK, resolve_root_symlink),
    Item::Supported(worker::APPLICATION, read_worker),
    Item::Supported(classic::APPLICATION, read_pool),
    Item::Supported(php::APPLICATION_PHP, read_version),
    Item::Supported(NAME, name),
    Item::Supported(EARLY_HINTS, early_hints),
    Item::Supported(hot_reload::ENTRY, hot_reload::read),
];

/// Names of the block of `php_fastcgi`.
pub(crate) const PHP_FASTCGI: Table<Draft> = Table {
    kind: "subdirective of `php_fastcgi`",
    items: &joined::<
        _,
        { FASTCGI_SCRIPT.len() + FASTCGI_UPSTREAM_OPTIONS.len() + FASTCGI_OWN.len() },
    >(&[FASTCGI_SCRIPT, FASTCGI_UPSTREAM_OPTIONS, FASTCGI_OWN]),
};

const FASTCGI_SCRIPT: &[Item<Draft>] = &[
    Item::Supported(ROOT, root),
    Item::Supported(INDEX, index),
    Item::Supported(TRY_FILES, try_files),
    Item::Supported(SPLIT, split),
    Item::Supported(ENV, env),
    Item::Supported(
        Entry {
            name: "resolve_root_symlink",
            syntax: "resolve_root_symlink [true|false]",
            default: "`false`",
            about: "Resolves the document root if it is a symbolic link.",
            differs: "",
            example: "resolve_root_symlink",
        },
        resolve_root_symlink,
    ),
    upstream_options::to(),
];

const FASTCGI_UPSTREAM_OPTIONS: &[Item<Draft>] = &upstream_options::options(
    Entry {
        default: "`round_robin`; the NAME of a cookie is `lb`",
        ..policy::POLICY
    },
    Entry {
        default: "each of the other upstreams once, without `lb_try_interval`, unless \
                          `lb_try_duration` is there",
        ..balance::RETRIES
    },
    Entry {
        about: "Active health check: sends each upstream a FastCGI request for this path, from the first \
                    request on, and uses the healthy ones. The path is PHP-FPM's `ping.path` or `pm.status_path`, \
                    or a script below the root of the first request. It gets the variables of `env` that have no \
                    placeholders.",
        example: "health_uri /ping",
        ..health::URI
    },
);

/// Sets a limit; `0` leaves it unset.
fn set_limit(call: &Call<'_>, limit: &mut Option<Duration>) -> Result<(), Error> {
    match unless_zero(call)? {
        Some(duration) => call.set(limit, duration),
        None => Ok(()),
    }
}

const FASTCGI_OWN: &[Item<Draft>] = &[
    Item::Unsupported(
        "header_up",
        "write `request_header NAME VALUE` before it, or `env NAME VALUE` for a variable",
    ),
    Item::Supported(DIAL_TIMEOUT, |_, call, draft| {
        call.set(&mut draft.dial_timeout, duration(call)?)
    }),
    Item::Supported(
        Entry {
            name: "read_timeout",
            syntax: "read_timeout DURATION",
            default: "no limit",
            about: "How long an upstream may send nothing; then the client gets a 504.",
            differs: "",
            example: "read_timeout 1m",
        },
        |_, call, draft| set_limit(call, &mut draft.read_timeout),
    ),
    Item::Supported(
        Entry {
            name: "write_timeout",
            syntax: "write_timeout DURATION",
            default: "no limit",
            about: "How long an upstream that has not responded yet may read nothing of the request; then the \
                    client gets a 504.",
            differs: "",
            example: "write_timeout 30s",
        },
        |_, call, draft| set_limit(call, &mut draft.write_timeout),
    ),
    Item::Supported(
        Entry {
            name: "capture_stderr",
            syntax: "capture_stderr",
            default: "it is logged only with responses of status 400 and above",
            about: "Logs what PHP writes to standard error.",
            differs: "",
            example: "capture_stderr",
        },
        |_, call, draft| {
            call.arguments(0, 0)?;
            draft.capture_stderr = true;
            Ok(())
        },
    ),
    Item::Supported(HANDLE_RESPONSE, |cx, call, draft| {
        intercept::handle_response(cx, call, &mut draft.intercept)
    }),
    Item::Supported(REPLACE_STATUS, |cx, call, draft| {
        intercept::replace_status(cx, call, &mut draft.intercept)
    }),
    Item::Supported(proxy::TRUSTED_PROXIES, |_, call, draft| {
        let ranges = crate::matcher::networks(call.arguments(1, usize::MAX)?)?;
        call.set(&mut draft.trusted_proxies, ranges)
    }),
];

pub(crate) fn read_php(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    super::reject_extra(call, rest)?;
    let mut draft = Draft::default();
    cx.read(&PHP, call.block.unwrap_or_default(), &mut draft);
    let workers = workers(cx, &mut draft)?;
    let variable = hot_reload::finish(cx, draft.hot_reload.take());
    draft.env.extend(variable);
    let root = draft.root.take();
    let script = PhpScript {
        root,
        workers,
        ..script(draft)
    };
    scope.push(key, Handler::Php(script));
    Ok(())
}

pub(crate) fn read_server(
    cx: &mut Context,
    call: &Call<'_>,
    scope: &mut Scope,
) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let rest = skip_word(cx, rest);
    super::reject_extra(call, rest)?;
    let mut draft = Draft::default();
    cx.read(&PHP_SERVER, call.block.unwrap_or_default(), &mut draft);
    let (index, try_files) = index_and_files(cx, call, &mut draft);
    let files = (!draft.files_off).then(|| {
        let mut files = std::mem::take(&mut draft.files);
        files.hide.extend(cx.hidden.iter().cloned());
        files.symlinks = draft.symlinks.unwrap_or(files.symlinks);
        files
    });
    let workers = workers(cx, &mut draft)?;
    let variable = hot_reload::finish(cx, draft.hot_reload.take());
    draft.env.extend(variable);
    let root = draft.root.take();
    let server = PhpServer {
        script: PhpScript {
            workers,
            ..script(draft)
        },
        root,
        index,
        try_files,
        files,
        fastcgi: None,
    };
    scope.push(key, Handler::PhpServer(server));
    Ok(())
}

/// FrankenPHP ignores a plain word in the place of a matcher.
fn skip_word<'w>(cx: &mut Context, words: &'w [Word]) -> &'w [Word] {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match words {
        [word] if word.text.bytes().all(plain) => {
            let message = format!("`{}` is not a matcher and has no effect", word.text);
            cx.warn(&word.position, message);
            &[]
        }
        words => words,
    }
}

/// `php_fastcgi`: like `php_server`, but PHP runs elsewhere, and without static files.
pub(crate) fn read_fastcgi(
    cx: &mut Context,
    call: &Call<'_>,
    scope: &mut Scope,
) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let block = call.block.unwrap_or_default();
    let mut draft = Draft {
        upstreams: rest
            .iter()
            .map(upstream::fastcgi)
            .collect::<Result<_, _>>()?,
        intercept: intercept::Draft::new(cx, block, scope),
        runs: Runtime::Upstream,
        ..Draft::default()
    };
    let statements = block
        .iter()
        .filter(|statement| !statement.name.text.starts_with('@'));
    let errors = cx.errors.len();
    cx.read(&PHP_FASTCGI, statements, &mut draft);
    let upstreams = std::mem::take(&mut draft.upstreams);
    if upstreams.is_empty() && cx.errors.len() == errors {
        upstream::warn_missing(cx, call, "unix//run/php/php-fpm.sock");
    }
    let (index, try_files) = index_and_files(cx, call, &mut draft);
    let balance = std::mem::take(&mut draft.options.balance);
    let balance = balance.finish_round_robin(call, upstreams.len())?;
    let health = std::mem::take(&mut draft.options.health).finish(call)?;
    let default = FastCgi::new(upstreams);
    let fastcgi = FastCgi {
        balance,
        health,
        dial_timeout: draft.dial_timeout.unwrap_or(default.dial_timeout),
        read_timeout: draft.read_timeout,
        write_timeout: draft.write_timeout,
        capture_stderr: draft.capture_stderr,
        trusted_proxies: draft.trusted_proxies.take(),
        intercept: std::mem::take(&mut draft.intercept.intercept),
        ..default
    };
    let root = draft.root.take();
    let resolve_root_symlink = draft.resolve_root_symlink.unwrap_or(false);
    let server = PhpServer {
        script: PhpScript {
            resolve_root_symlink,
            ..script(draft)
        },
        root,
        index,
        try_files,
        files: None,
        fastcgi: Some(Box::new(fastcgi)),
    };
    scope.push(key, Handler::PhpServer(server));
    Ok(())
}

fn index_and_files(
    cx: &mut Context,
    call: &Call<'_>,
    draft: &mut Draft,
) -> (Option<String>, TryFiles) {
    let index = match draft.index.take() {
        Some(Index::Off) => None,
        Some(Index::File(index)) => Some(index),
        None => Some("index.php".to_owned()),
    };
    let try_files = match (draft.try_files.take(), &index) {
        (Some(_), None) => {
            cx.warn(
                &call.name.position,
                "`try_files` has no effect with `index off`",
            );
            TryFiles::default()
        }
        (Some(files), Some(_)) => files,
        (None, Some(index)) => default_try_files(index, draft.files_off),
        (None, None) => TryFiles::default(),
    };
    (index, try_files)
}

/// The workers of the block with values that they inherit from it: the folder of a relative file, variables, and a
/// name.
fn workers(cx: &mut Context, draft: &mut Draft) -> Result<Vec<PhpWorker>, Error> {
    apply_php(draft)?;
    let mut workers = std::mem::take(&mut draft.workers);
    if let (Some((_, position)), true) = (&draft.name, workers.is_empty()) {
        cx.warn(
            position,
            "`name` has no effect: there is no `worker` in this block that it names",
        );
    }
    let block = cx.next_block();
    for worker in &mut workers {
        worker.block = block;
        worker.application = draft.name.as_ref().map(|(name, _)| name.clone());
        if let Some(root) = &draft.root {
            let constant = root.as_text().map(str::to_owned);
            let relative = !worker
                .file
                .as_deref()
                .is_some_and(|file| file.starts_with('/'));
            if constant.is_none() && relative {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    &worker.position,
                    "the file of the worker starts at a root that has a placeholder",
                    "write the absolute path of the file",
                ));
            }
            worker.pool.root.clone_from(&constant);
            worker.folder = constant;
        }
        let mut env: Vec<(String, String)> = Vec::new();
        for (name, value) in &draft.env {
            // A root with a placeholder has no value before there is a request.
            let own = worker
                .pool
                .options
                .env
                .iter()
                .any(|(other, _)| other == name);
            // PHP settings in `env` are for requests; the process has separate settings.
            let own = own || php_value::is_settings(name);
            if let Some(value) = value.as_text().filter(|_| !own) {
                env.push((name.clone(), value.to_owned()));
            }
        }
        env.append(&mut worker.pool.options.env);
        worker.pool.options.env = env;
    }
    Ok(resolve::of_application(cx, workers))
}

fn script(draft: Draft) -> PhpScript {
    let default = PhpScript::default();
    PhpScript {
        root: None,
        split: draft.split.unwrap_or(default.split),
        env: draft.env,
        resolve_root_symlink: draft
            .resolve_root_symlink
            .unwrap_or(default.resolve_root_symlink),
        learn_hints: draft.learn_hints,
        workers: Vec::new(),
        pool: draft.pool.and_then(|chosen| chosen.0),
    }
}

/// FrankenPHP's defaults: without a file server, paths of files are not tried first.
fn default_try_files(index: &str, files_off: bool) -> TryFiles {
    let path = || Part::Placeholder(Placeholder::Path);
    let mut candidates = Vec::new();
    if !files_off {
        candidates.push(Template {
            parts: vec![path()],
        });
    }
    candidates.push(Template {
        parts: vec![path(), Part::Text(format!("/{index}"))],
    });
    candidates.push(Template::text(index));
    TryFiles {
        candidates,
        fallback_status: None,
    }
}

fn file_server(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    match (call.count(0, 1)?, call.block) {
        ([], Some(block)) => {
            cx.read(&files::FILE_SERVER, block, &mut draft.files);
            Ok(())
        }
        ([word], None) if word.text == "off" => {
            draft.files_off = true;
            Ok(())
        }
        _ => Err(call.error(
            ErrorKind::Value,
            "`file_server` has neither `off` nor a block here".into(),
            "write `file_server off` or `file_server { … }`",
        )),
    }
}

fn root(_: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let word = call.one()?;
    if word.text.is_empty() {
        return Err(bad_value(
            &word.position,
            "the root is empty".into(),
            "write `.` for the working directory",
        ));
    }
    call.set(&mut draft.root, template(word)?)
}

fn split(_: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let words = call.arguments(1, usize::MAX)?;
    let mut split = Vec::with_capacity(words.len());
    for word in words {
        let text = literal(word, "a split")?;
        if text.is_empty() || !text.is_ascii() {
            return Err(bad_value(
                &word.position,
                format!("`{}` cannot split a path", word.text),
                "a split is ASCII text such as `.php`",
            ));
        }
        split.push(text);
    }
    call.set(&mut draft.split, split)
}

fn env(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    for (name, value) in pairs(cx, call)? {
        check_variable(name)?;
        php_value::warn(cx, name);
        let value = if php_value::is_settings(&name.text) {
            php_value::read(name, value, draft.runs, &draft.env)?
        } else {
            template(value)?
        };
        draft.env.retain(|(other, _)| *other != name.text);
        draft.env.push((name.text.clone(), value));
    }
    Ok(())
}

fn name(_: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let name = worker::name(call)?;
    call.set(&mut draft.name, (name, call.name.position.clone()))
}

fn read_worker(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let worker = worker::read(cx, call, Place::Application)?;
    draft.workers.push(worker);
    Ok(())
}

fn read_pool(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let pool = classic::of_application(cx, call)?;
    call.set(&mut draft.pool, pool)
}

fn read_version(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let (php, pool) = classic::of_version(cx, call)?;
    call.set(&mut draft.php, (php, pool, call.name.position.clone()))
}

/// Applies `php`: it determines the pool of the scripts, and the PHP of the workers.
fn apply_php(draft: &mut Draft) -> Result<(), Error> {
    let Some((php, pool, position)) = draft.php.take() else {
        return Ok(());
    };
    if draft.pool.replace(pool).is_some() {
        return Err(Error::new(
            ErrorKind::Conflict,
            &position,
            "`pool` and `php` both determine which processes run the scripts",
            "remove `php`, and write it in the `pool` of the global block",
        ));
    }
    for worker in &mut draft.workers {
        worker.own.settings.php.get_or_insert_with(|| php.clone());
    }
    Ok(())
}

fn early_hints(_: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let word = call.one()?;
    if word.text != "learn" {
        return Err(bad_value(
            &word.position,
            format!("unknown value `{}` of `early_hints`", word.text),
            "write `early_hints learn`, or remove it",
        ));
    }
    draft.learn_hints = true;
    Ok(())
}

fn resolve_root_symlink(_: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let value = match call.arguments(0, 1)? {
        [word] => match word.text.as_str() {
            "1" | "t" | "T" | "true" | "True" | "TRUE" => true,
            "0" | "f" | "F" | "false" | "False" | "FALSE" => false,
            text => {
                let message = format!("`{text}` is neither true nor false");
                return Err(bad_value(
                    &word.position,
                    message,
                    "write `true` or `false`",
                ));
            }
        },
        _ => true,
    };
    call.set(&mut draft.resolve_root_symlink, value)
}

fn index(_: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let word = call.one()?;
    if word.text == "off" {
        return call.set(&mut draft.index, Index::Off);
    }
    let index = literal(word, "an index file")?;
    if index.is_empty() || index.starts_with('/') {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a file below the root", word.text),
            "write for example `index index.php`, or `index off`",
        ));
    }
    call.set(&mut draft.index, Index::File(index))
}

fn try_files(_: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let words = call.arguments(1, usize::MAX)?;
    call.set(&mut draft.try_files, candidates(words)?)
}
