//! The `frankenphp` (or `howdah`) block of the global options.

use crate::error::{Error, ErrorKind};
use crate::model::{FRONT_THREADS_MAX, Php};
use crate::privileges;
use crate::table::{Call, Context, Entry, Item, Table, bad_value};
use crate::template::literal;
use crate::value::{duration, memory_size, number, optional_duration, optional_size};
use crate::worker;

/// Names of `frankenphp` and `howdah`.
pub(crate) const PHP: Table<Php> = Table {
    kind: "option of `frankenphp`",
    items: &[
        Item::Supported(
            Entry {
                name: "num_threads",
                syntax: "num_threads NUMBER",
                default: "twice the number of cores, at least 4",
                about: "FrankenPHP's name of `workers`.",
                differs: "PHP runs in processes, not in threads; those of workers are not among them.",
                example: "num_threads 8",
            },
            |_, call, php| workers(call, php),
        ),
        Item::Supported(
            Entry {
                name: "workers",
                syntax: "workers NUMBER",
                default: "twice the number of cores, at least 4",
                about: "PHP processes of the classic pool, which start afresh for each request.",
                differs: "Not in FrankenPHP.",
                example: "workers 8",
            },
            |_, call, php| workers(call, php),
        ),
        Item::Supported(
            Entry {
                name: "max_requests",
                syntax: "max_requests NUMBER",
                default: "`0`",
                about: "A PHP process is replaced after so many requests; with `0` never.",
                differs: "",
                example: "max_requests 1000",
            },
            |_, call, php| {
                php.max_requests = number(call, 0)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "max_wait_time",
                syntax: "max_wait_time DURATION",
                default: "`30s`",
                about: "How long a request may wait for a PHP process; then it is answered 503.",
                differs: "FrankenPHP has no limit by default.",
                example: "max_wait_time 10s",
            },
            |_, call, php| {
                php.max_wait_time = duration(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "queue_length",
                syntax: "queue_length NUMBER",
                default: "`1024`",
                about: "Requests that may wait for a PHP process; more are answered 503.",
                differs: "Not in FrankenPHP.",
                example: "queue_length 100",
            },
            |_, call, php| {
                php.queue_length = number(call, 1)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "request_timeout",
                syntax: "request_timeout DURATION|off",
                default: "`off`: PHP's `max_execution_time` counts",
                about: "Wall time of a request in PHP; then it is answered 504 and its process is \
                        replaced.",
                differs: "Not in FrankenPHP.",
                example: "request_timeout 1m",
            },
            |_, call, php| {
                php.request_timeout = optional_duration(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "response_buffer",
                syntax: "response_buffer SIZE",
                default: "`1MiB`",
                about: "Bytes of a response that are held in memory for a slow client. PHP waits then for a second in \
                        all, or a tenth while other requests wait for PHP, before `response_spool` takes the rest.",
                differs: "Not in FrankenPHP.",
                example: "response_buffer 4MiB",
            },
            |_, call, php| {
                php.response_buffer = memory_size(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "response_spool",
                syntax: "response_spool SIZE|off",
                default: "`1GiB`",
                about: "Bytes of a response that a file under `TMPDIR` takes for a slow client, so that PHP is free for \
                        others. When it is full, or the disk, PHP waits for the client. `off`: it always does.",
                differs: "Not in FrankenPHP, where PHP waits for every slow client.",
                example: "response_spool 100MiB",
            },
            |_, call, php| {
                php.response_spool = optional_size(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "front_threads",
                syntax: "front_threads NUMBER",
                default: "one for each core, 1 to 16",
                about: "Threads that serve connections.",
                differs: "Not in FrankenPHP.",
                example: "front_threads 2",
            },
            |_, call, php| {
                let threads = number(call, 1)?;
                if threads > FRONT_THREADS_MAX {
                    return Err(bad_value(
                        &call.one()?.position,
                        format!("{threads} front threads are too many"),
                        format!("give a number from 1 to {FRONT_THREADS_MAX}"),
                    ));
                }
                call.set(&mut php.front_threads, threads)
            },
        ),
        Item::Supported(
            Entry {
                name: "php",
                syntax: "php FILE",
                default: "`howdah-php` beside `howdah`, then on `PATH`",
                about: "The PHP executable.",
                differs: "Not in FrankenPHP.",
                example: "php /usr/lib/howdah/howdah-php8.2",
            },
            |_, call, php| {
                let word = call.one()?;
                let path = literal(word, "the path of the PHP executable")?;
                if path.is_empty() {
                    return Err(bad_value(&word.position, "the path is empty".into(), ""));
                }
                php.executable = Some(path.into());
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "php_ini",
                syntax: "php_ini NAME VALUE  or  php_ini { NAME VALUE … }",
                default: "",
                about: "Settings on top of `php.ini`. Of two with the same name the last counts.",
                differs: "",
                example: "php_ini memory_limit 256M",
            },
            php_ini,
        ),
        Item::Supported(
            Entry {
                name: "max_threads",
                syntax: "max_threads NUMBER|auto",
                default: "as many as `num_threads`",
                about: "How many PHP processes there may be when requests wait although the processors \
                        are not busy, or the PHP processes themselves only wait, for a database for \
                        instance; with `auto` what the machine allows.",
                differs: "In FrankenPHP the threads of workers are among them.",
                example: "max_threads 32",
            },
            |_, call, php| {
                php.workers_max = worker::workers_max(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "max_idle_time",
                syntax: "max_idle_time DURATION",
                default: "`5s`",
                about: "A PHP process above `num_threads` ends when it had nothing to do for so long.",
                differs: "",
                example: "max_idle_time 30s",
            },
            |_, call, php| {
                php.max_idle_time = duration(call)?;
                Ok(())
            },
        ),
        Item::Supported(privileges::PHP_USER, |cx, call, php| {
            php.user = Some(privileges::php_user(cx, call)?);
            Ok(())
        }),
        Item::Supported(privileges::PHP_NO_NEW_PRIVS, |_, call, php| {
            php.no_new_privs = privileges::no_new_privs(call)?;
            Ok(())
        }),
        Item::Supported(worker::GLOBAL, |cx, call, _| {
            let draft = worker::read(cx, call, worker::Place::Global)?;
            cx.workers.push(draft);
            Ok(())
        }),
    ],
};

/// What no option can see alone.
pub(crate) fn check(call: &Call<'_>, php: &Php) -> Result<(), Error> {
    worker::check_max(call, php.workers, php.workers_max)
}

/// `num_threads NUMBER`, within what a pool can have.
fn workers(call: &Call<'_>, php: &mut Php) -> Result<(), Error> {
    let count: usize = number(call, 1)?;
    worker::check_count(call.one()?, count)?;
    call.set(&mut php.workers, count)
}

fn php_ini(cx: &mut Context, call: &Call<'_>, php: &mut Php) -> Result<(), Error> {
    match (call.arguments, call.block) {
        ([name, value], None) => ini_setting(php, name, value),
        ([], Some(block)) => {
            for statement in block {
                let result = match (statement.arguments.as_slice(), &statement.block) {
                    ([value], None) => ini_setting(php, &statement.name, value),
                    _ => Err(Error::new(
                        ErrorKind::Arguments,
                        &statement.name.position,
                        format!("the setting `{}` needs one value", statement.name.text),
                        "write `NAME VALUE`, with quotes around a value with spaces",
                    )),
                };
                cx.keep(result);
            }
            Ok(())
        }
        (_, Some(_)) => call.count(0, 0).map(drop),
        _ => call.count(2, 2).map(drop),
    }
}

fn ini_setting(
    php: &mut Php,
    name: &crate::tree::Word,
    value: &crate::tree::Word,
) -> Result<(), Error> {
    let valid = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
    if name.text.is_empty() || !name.text.chars().all(valid) {
        return Err(bad_value(
            &name.position,
            format!("`{}` is not the name of a PHP setting", name.text),
            "write for example `php_ini memory_limit 256M`",
        ));
    }
    if value.text.contains(['\n', '\r', '\0']) {
        let message = format!("the value of `{}` has more than one line", name.text);
        return Err(bad_value(&value.position, message, "write it on one line"));
    }
    php.ini.retain(|(other, _)| *other != name.text);
    php.ini.push((name.text.clone(), value.text.clone()));
    Ok(())
}
