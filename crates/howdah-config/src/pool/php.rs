//! `php`: the PHP of the whole server, of one pool, or of one application.

use crate::error::Error;
use crate::model::PhpExecutable;
use crate::table::template::literal;
use crate::table::{Call, Entry, bad_value};

/// `php` in the global block.
pub(crate) const SERVER_PHP: Entry = Entry {
    name: "php",
    syntax: "php VERSION|FILE",
    default: "`howdah-php` beside `howdah`, then the newest version that is installed, then on `PATH`",
    about: "The PHP to run: a version whose package `howdah-phpVERSION` is installed, or the path of a `howdah-php`. \
            A `pool`, a `worker` and a `php_server` may name another one: pools of several versions run next to each \
            other in one server.",
    differs: "Not in FrankenPHP.",
    example: "php 8.2",
};

/// `php` of one pool.
pub(crate) const POOL_PHP: Entry = Entry {
    name: "php",
    syntax: SERVER_PHP.syntax,
    default: "that of the `php_server` that contains the worker, otherwise that of the global block",
    about: "The PHP of these processes: a version whose package `howdah-phpVERSION` is installed, or the path of a \
            `howdah-php`. Pools with the same PHP share one OPcache.",
    differs: SERVER_PHP.differs,
    example: "php 8.3",
};

/// `php` of an application.
pub(crate) const APPLICATION_PHP: Entry = Entry {
    name: "php",
    syntax: "php VERSION",
    default: "that of the global block",
    about: "The version of PHP for this site; its package `howdah-phpVERSION` must be installed. Scripts run in a pool \
            with the name `phpVERSION`, which all sites of that version share and which has the limits of the global \
            block; define a `pool` with that name and `php VERSION` to change it. Workers in the block have this \
            version too.",
    differs: SERVER_PHP.differs,
    example: "php 8.3",
};

/// `php VERSION|FILE`.
pub(crate) fn executable(call: &Call<'_>) -> Result<PhpExecutable, Error> {
    let word = call.one()?;
    let path = literal(word, "the version of PHP, or the path of its executable")?;
    if path.is_empty() {
        return Err(bad_value(&word.position, "the path is empty".into(), ""));
    }
    let Ok(executable) = path.parse();
    Ok(executable)
}
