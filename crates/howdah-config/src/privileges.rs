//! `user` and `no_new_privs`: with which rights processes run.

use std::fmt;

use crate::error::{Error, ErrorKind, Position};
use crate::model::Global;
use crate::table::{Call, Context, Entry, bad_value};
use crate::template::literal;

/// `user NAME[:GROUP]`: a user of the machine that the server runs on, not looked up yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Its name or number.
    pub name: String,
    /// Name or number of its group. `None`: that of the user's entry in the system's list.
    pub group: Option<String>,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.group {
            Some(group) => write!(f, ":{group}"),
            None => Ok(()),
        }
    }
}

impl std::str::FromStr for User {
    type Err = UserError;

    /// `NAME[:GROUP]`.
    fn from_str(text: &str) -> Result<Self, UserError> {
        let (name, group) = match text.split_once(':') {
            Some((name, group)) => (name, Some(group)),
            None => (text, None),
        };
        let wrong = |name: &str| {
            name.is_empty() || name.contains([':', '/', '\0', '{', '}']) || spaced(name)
        };
        if wrong(name) || group.is_some_and(wrong) {
            return Err(UserError(text.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            group: group.map(str::to_owned),
        })
    }
}

fn spaced(name: &str) -> bool {
    name.contains(|char: char| char.is_whitespace() || char.is_control())
}

/// A text that names no user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no user; write NAME, NAME:GROUP or numbers, for example `www-data` or `1000:1000`"
)]
pub struct UserError(String);

/// Where a server with a user of its own keeps certificates: the home of the user that starts it is of no
/// use to it.
const STORAGE: &str = "/var/lib/howdah";

impl Global {
    /// `user`: also for what else is not said and follows from it.
    pub fn set_user(&mut self, user: User) {
        self.user = Some(user);
        self.https.storage.get_or_insert_with(|| STORAGE.into());
    }
}

/// `user` of the whole server.
pub(crate) const SERVER_USER: Entry = Entry {
    name: "user",
    syntax: "user NAME[:GROUP]",
    default: "the user that starts the server",
    about: "The server and all its PHP processes run as this user, by name or number. It is started as \
            root, gives up all rights at once but that to listen on ports below 1024, and only then \
            reads certificates, opens logs and starts PHP: this user has to be able to. `frankenphp` and \
            `worker` then take no other `user`.",
    differs: "Not in Caddy.",
    example: "user www-data",
};

/// `user` of PHP processes.
pub(crate) const PHP_USER: Entry = Entry {
    name: "user",
    syntax: SERVER_USER.syntax,
    default: "the server's user",
    about: "PHP processes run as this user, by name or number, with its group, or GROUP, and its \
            supplementary groups; `HOME` and `USER` are set. For all workers that have no `user` of their \
            own. The server itself has to be started as root and stays so.",
    differs: "Not in FrankenPHP.",
    example: "user www-data:www-data",
};

/// `user` of a worker.
pub(crate) const WORKER_USER: Entry = Entry {
    name: "user",
    syntax: SERVER_USER.syntax,
    default: "that of the global block",
    about: "The worker's processes run as this user, the script's start included. The server itself has \
            to be started as root and stays so.",
    differs: "Not in FrankenPHP.",
    example: "user app",
};

/// `no_new_privs` of PHP processes.
pub(crate) const PHP_NO_NEW_PRIVS: Entry = Entry {
    name: "no_new_privs",
    syntax: "no_new_privs [on|off]",
    default: "`off`",
    about: "Programs that PHP starts gain no rights: setuid and setgid bits and file capabilities count \
            for nothing. With it `sudo` and `ping` fail, and `mail()` where `sendmail` is setgid, as \
            Postfix's is. For all workers that do not say it themselves.",
    differs: "Not in FrankenPHP.",
    example: "no_new_privs",
};

/// `no_new_privs` of a worker.
pub(crate) const WORKER_NO_NEW_PRIVS: Entry = Entry {
    name: "no_new_privs",
    syntax: PHP_NO_NEW_PRIVS.syntax,
    default: "that of the global block",
    about: "Programs that the worker starts gain no rights, as in the global block.",
    differs: "Not in FrankenPHP.",
    example: "no_new_privs on",
};

/// `user NAME[:GROUP]`.
pub(crate) fn user(call: &Call<'_>) -> Result<User, Error> {
    let word = call.one()?;
    let text = literal(word, "a user")?;
    text.parse().map_err(|_| {
        bad_value(
            &word.position,
            format!("`{}` is no user", word.text),
            "write `user NAME`, `user NAME:GROUP` or numbers, for example `user www-data`",
        )
    })
}

/// `user NAME[:GROUP]` of PHP processes.
pub(crate) fn php_user(cx: &mut Context, call: &Call<'_>) -> Result<User, Error> {
    let user = user(call)?;
    cx.users.push((user.clone(), call.name.position.clone()));
    Ok(user)
}

/// `no_new_privs [on|off]`.
pub(crate) fn no_new_privs(call: &Call<'_>) -> Result<bool, Error> {
    match call.arguments(0, 1)? {
        [] => Ok(true),
        [word, ..] => match word.text.as_str() {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(bad_value(
                &word.position,
                format!("`no_new_privs` takes no `{}`", word.text),
                "known are on, off",
            )),
        },
    }
}

/// A server that has given up its rights cannot start processes of others.
pub(crate) fn check(cx: &mut Context, server: Option<&User>) {
    let users: Vec<(User, Position)> = std::mem::take(&mut cx.users);
    let Some(server) = server else { return };
    for (user, position) in users.iter().filter(|(user, _)| user != server) {
        cx.errors.push(Error::new(
            ErrorKind::Conflict,
            position,
            format!("the server becomes the user {server} and can run no PHP as {user} any more"),
            "take the global `user` out: then the server stays root, and only PHP changes its user",
        ));
    }
}
