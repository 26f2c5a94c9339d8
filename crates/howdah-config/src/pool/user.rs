//! `user`: the user of processes.

use crate::error::Error;
use crate::model::User;
use crate::table::template::literal;
use crate::table::{Call, Entry, bad_value};

/// `user` of the whole server.
pub(crate) const SERVER_USER: Entry = Entry {
    name: "user",
    syntax: "user NAME[:GROUP]",
    default: "if root starts the server, `www-data` or `nobody`; otherwise the user that starts it",
    about: "The server and all its PHP processes run as this user, by name or number. Started as root, the server \
            gives up all rights but that to listen on ports below 1024 before it opens files and starts PHP. A \
            second process, which stays root, opens for it the certificates, keys and logs that are named here, and \
            starts PHP where `frankenphp`, `worker` or `pool` name another `user`. `user root` keeps all rights.",
    differs: "Not in Caddy.",
    example: "user www-data",
};

/// `user` of PHP processes.
pub(crate) const PHP_USER: Entry = Entry {
    name: "user",
    syntax: SERVER_USER.syntax,
    default: "the server's user",
    about: "PHP processes run as this user, by name or number, with its group, or GROUP, and its \
            supplementary groups; `HOME` and `USER` are set. For all workers and pools that have no `user` \
            of their own. The server must be started as root.",
    differs: "Not in FrankenPHP.",
    example: "user www-data:www-data",
};

/// `user` of one pool.
pub(crate) const POOL_USER: Entry = Entry {
    name: "user",
    syntax: SERVER_USER.syntax,
    default: "that of the global block",
    about: "These processes run as this user, the start of a worker's script included. The server must be started \
            as root.",
    differs: "Not in FrankenPHP.",
    example: "user app",
};

/// `user NAME[:GROUP]`.
pub(crate) fn user(call: &Call<'_>) -> Result<User, Error> {
    let word = call.one()?;
    let text = literal(word, "a user")?;
    text.parse().map_err(|_| {
        bad_value(
            &word.position,
            format!("`{}` is not a valid user", word.text),
            "write `user NAME`, `user NAME:GROUP` or numbers, for example `user www-data`",
        )
    })
}
