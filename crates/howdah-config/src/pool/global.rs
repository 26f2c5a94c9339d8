//! The `frankenphp` (or `howdah`) block of the global options.

use crate::draft::Place;
use crate::error::Error;
use crate::model::{FRONT_THREADS_MAX, Php, Preload};
use crate::pool::classic;
use crate::pool::ini;
use crate::pool::limits::{Block, count, limits};
use crate::pool::options::processes;
use crate::pool::php;
use crate::pool::preload;
use crate::pool::user;
use crate::pool::worker;
use crate::table::value::{flag, number};
use crate::table::{Call, Entry, Item, Table, bad_value, joined};

/// Names of `frankenphp` and `howdah`.
pub(crate) const PHP: Table<Php> = Table {
    kind: "option of `frankenphp`",
    items: &joined::<_, { OPTIONS.len() + LIMITS.len() }>(&[OPTIONS, LIMITS]),
};

const LIMITS: &[Item<Php>] = &limits::<_, { count(Block::Global) }>(Block::Global);

const OPTIONS: &[Item<Php>] = &[
    Item::Supported(
        Entry {
            name: "num_threads",
            syntax: "num_threads NUMBER",
            default: "twice the number of cores, at least 4",
            about: "FrankenPHP's name for `workers`.",
            differs: "PHP runs in processes, not in threads; workers are not included.",
            example: "num_threads 8",
        },
        |_, call, php| processes(call, 1, &mut php.workers),
    ),
    Item::Elsewhere("num", "write `num_threads`"),
    Item::Supported(
        Entry {
            name: "workers",
            syntax: "workers NUMBER",
            default: "twice the number of cores, at least 4",
            about: "PHP processes of the classic pool, whose state is fresh for each request.",
            differs: "Not in FrankenPHP.",
            example: "workers 8",
        },
        |_, call, php| processes(call, 1, &mut php.workers),
    ),
    Item::Supported(
        Entry {
            name: "clear_env",
            syntax: "clear_env [on|off]",
            default: "`off`",
            about: "PHP processes inherit no environment variables of the server except `PATH`, `HOME`, `USER`, \
                    `LOGNAME`, `TMPDIR`, `TZ` and those that PHP reads at startup; `env` sets others. By default they \
                    inherit all variables that this file does not use as `{$NAME}` or `{env.NAME}` outside of `env`.",
            differs: "PHP-FPM's `clear_env`, which is on by default. FrankenPHP passes all variables.",
            example: "clear_env",
        },
        |_, call, php| {
            php.environment.clear = flag(call)?;
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
    Item::Supported(php::SERVER_PHP, |_, call, settings| {
        settings.executable = Some(php::executable(call)?);
        Ok(())
    }),
    Item::Supported(ini::PHP_INI, |cx, call, php| {
        ini::settings(cx, call, &mut php.ini)
    }),
    Item::Supported(ini::PHP_ADMIN_INI, |cx, call, php| {
        ini::final_settings(cx, call, &mut php.ini)
    }),
    Item::Supported(
        Entry {
            name: "max_threads",
            syntax: "max_threads NUMBER|auto",
            default: "as many as `num_threads`",
            about: "Maximum number of PHP processes when requests wait although the processors are not busy, or the \
                    PHP processes themselves only wait, for example for a database; with `auto` as many as the memory \
                    of the machine allows.",
            differs: "In FrankenPHP the threads of workers are included.",
            example: "max_threads 32",
        },
        |_, call, php| {
            php.workers_max = worker::workers_max(call)?;
            Ok(())
        },
    ),
    Item::Supported(user::PHP_USER, |_, call, php| {
        php.user = Some(user::user(call)?);
        Ok(())
    }),
    Item::Supported(preload::ENTRY, |cx, call, php| {
        php.preload = preload::read(call)?;
        let on = php.preload != Preload::Off;
        cx.preload = on.then(|| call.name.position.clone());
        Ok(())
    }),
    Item::Supported(worker::GLOBAL, |cx, call, _| {
        let draft = worker::read(cx, call, Place::Global)?;
        cx.workers.push(draft);
        Ok(())
    }),
    Item::Supported(classic::GLOBAL, |cx, call, _| classic::read(cx, call)),
];

/// Checks that concern several options.
pub(crate) fn check(call: &Call<'_>, php: &Php) -> Result<(), Error> {
    worker::check_max(call, php.workers, php.workers_max)
}
