//! `storage`: where certificates and keys are stored.

use crate::error::{Error, ErrorKind};
use crate::https::options::file;
use crate::model::{Https, Redis};
use crate::syntax::tree::Word;
use crate::table::template::literal;
use crate::table::value::{duration, number, port};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};
use std::path::PathBuf;
use std::time::Duration;

/// The block while it is read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    redis: Redis,
    /// Host and port together, which override the separate ones.
    address: Option<(String, u16)>,
    root: Option<PathBuf>,
}

/// `storage file_system PATH`, `storage file_system { root PATH }` or `storage redis { … }`.
pub(crate) fn storage(cx: &mut Context, call: &Call<'_>, https: &mut Https) -> Result<(), Error> {
    let words = call.count(1, 2)?;
    match words[0].text.as_str() {
        "file_system" => {
            https.storage = Some(directory(call, words.get(1))?);
            Ok(())
        }
        "redis" => {
            if let Some(mode) = words.get(1) {
                return Err(unsupported(
                    mode,
                    "name one server: `storage redis { address HOST:PORT }`",
                ));
            }
            let mut draft = Draft::default();
            cx.read(&REDIS, call.block.unwrap_or_default(), &mut draft);
            if draft.redis.username.is_some() && draft.redis.password.is_none() {
                return Err(call.error(
                    ErrorKind::Conflict,
                    "`username` needs `password`".into(),
                    "add `password`, for example `password {$REDIS_PASSWORD}`",
                ));
            }
            if draft.redis.tls_roots.is_some() && !draft.redis.tls {
                return Err(call.error(
                    ErrorKind::Conflict,
                    "`tls_server_certs_path` needs `tls_enabled true`".into(),
                    "add `tls_enabled true`, or remove `tls_server_certs_path`",
                ));
            }
            if let Some((host, port)) = draft.address {
                (draft.redis.host, draft.redis.port) = (host, port);
            }
            https.storage = draft.root;
            https.redis = Some(draft.redis);
            Ok(())
        }
        _ => Err(unsupported(
            &words[0],
            "write `storage file_system PATH` or `storage redis { … }`",
        )),
    }
}

fn directory(call: &Call<'_>, argument: Option<&Word>) -> Result<PathBuf, Error> {
    match (argument, call.block) {
        (Some(path), None) => file(path),
        (None, Some([root])) if root.name.text == "root" && root.arguments.len() == 1 => {
            file(&root.arguments[0])
        }
        _ => Err(call.error(
            ErrorKind::Arguments,
            "`storage file_system` needs a directory".into(),
            "write `storage file_system PATH`",
        )),
    }
}

/// Names of `storage redis`.
pub(crate) const REDIS: Table<Draft> = Table {
    kind: "option of `storage redis`",
    items: &[
        Item::Supported(
            Entry {
                name: "host",
                syntax: "host HOST",
                default: "`127.0.0.1`",
                about: "The server's name or IP address.",
                differs: "One server, not several.",
                example: "host redis.internal",
            },
            |_, call, draft| {
                let word = call.one()?;
                draft.redis.host = host(word, &word.text)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "port",
                syntax: "port PORT",
                default: "`6379`",
                about: "The server's port.",
                differs: "",
                example: "port 6380",
            },
            |_, call, draft| {
                let word = call.one()?;
                draft.redis.port = port(word, &word.text)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "address",
                syntax: "address HOST:PORT",
                default: "`host` and `port`",
                about: "Host and port together; `host` and `port` are then ignored.",
                differs: "One server, not several.",
                example: "address redis.internal:6379",
            },
            |_, call, draft| {
                draft.address = Some(address(call.one()?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "username",
                syntax: "username NAME",
                default: "the server's default user",
                about: "A user of the server's access control list. It needs the commands GET, SET, DEL and \
                        EVAL on keys that begin with the prefix, and SELECT for a `db` other than 0.",
                differs: "",
                example: "username howdah\npassword {$REDIS_PASSWORD:secret}",
            },
            |_, call, draft| {
                draft.redis.username = text(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "password",
                syntax: "password PASSWORD",
                default: "none",
                about: "Take it from the environment, so that no file contains it.",
                differs: "",
                example: "password {$REDIS_PASSWORD:secret}",
            },
            |_, call, draft| {
                draft.redis.password = text(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "db",
                syntax: "db NUMBER",
                default: "`0`",
                about: "Number of the database.",
                differs: "",
                example: "db 1",
            },
            |_, call, draft| {
                draft.redis.db = number(call, 0)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "key_prefix",
                syntax: "key_prefix PREFIX",
                default: "`howdah`",
                about: "All keys begin with it and a slash. Machines with the same prefix share their \
                        certificates.",
                differs: "Caddy's is `caddy`, and its keys have a different layout: give Howdah a separate prefix.",
                example: "key_prefix shop/tls",
            },
            |_, call, draft| {
                draft.redis.key_prefix = prefix(call.one()?)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "timeout",
                syntax: "timeout SECONDS|DURATION",
                default: "`5s`",
                about: "How long Redis may take to accept a connection, and for each reply.",
                differs: "",
                example: "timeout 3",
            },
            |_, call, draft| {
                let word = call.one()?;
                draft.redis.timeout = match word.text.parse::<u32>() {
                    Ok(seconds) if (1..=60).contains(&seconds) => {
                        Duration::from_secs(seconds.into())
                    }
                    _ => duration(call)?,
                };
                if draft.redis.timeout > Duration::from_secs(60) {
                    return Err(bad_value(
                        &word.position,
                        "`timeout` is longer than a minute".into(),
                        "give at most a minute, for example `timeout 5`",
                    ));
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "tls_enabled",
                syntax: "tls_enabled true|false",
                default: "`false`",
                about: "Encrypts the connection and checks the server's certificate. Without it, private keys \
                        cross the network as they are.",
                differs: "",
                example: "tls_enabled true",
            },
            |_, call, draft| {
                draft.redis.tls = boolean(call.one()?)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "tls_server_certs_path",
                syntax: "tls_server_certs_path FILE",
                default: "the system's list",
                about: "A PEM file with the authorities that may have issued the server's certificate.",
                differs: "",
                example: "tls_server_certs_path /etc/ssl/redis-root.pem\ntls_enabled true",
            },
            |_, call, draft| {
                draft.redis.tls_roots = Some(file(call.one()?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "root",
                syntax: "root PATH",
                default: "the directory that stores certificates without Redis",
                about: "The directory of local copies, so that a server starts while Redis is unavailable.",
                differs: "Caddy's module keeps no copies.",
                example: "root /var/lib/howdah",
            },
            |_, call, draft| {
                draft.root = Some(file(call.one()?)?);
                Ok(())
            },
        ),
        Item::Unsupported("client_name", ""),
        Item::Unsupported("compression", "values are small"),
        Item::Unsupported(
            "encryption_key",
            "restrict who may read the keys with an access control list in Redis",
        ),
        Item::Unsupported("master_name", "name one server with `address`"),
        Item::Unsupported("route_by_latency", "name one server with `address`"),
        Item::Unsupported("route_randomly", "name one server with `address`"),
        Item::Unsupported("sentinel_password", "name one server with `address`"),
        Item::Unsupported(
            "tls_insecure",
            "private keys are only sent to verified servers: set the authority with `tls_server_certs_path`",
        ),
        Item::Unsupported(
            "tls_server_certs_pem",
            "write a file for `tls_server_certs_path`",
        ),
    ],
};

fn host(word: &Word, text: &str) -> Result<String, Error> {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    if text.is_empty() || !text.bytes().all(valid) {
        return Err(bad_value(
            &word.position,
            format!("`{text}` is not a host"),
            "write for example `redis.internal` or `10.0.0.5`",
        ));
    }
    Ok(text.to_owned())
}

/// `HOST:PORT` or `[IPV6]:PORT`.
fn address(word: &Word) -> Result<(String, u16), Error> {
    let Some((name, number)) = word.text.rsplit_once(':') else {
        return Err(bad_value(
            &word.position,
            format!("`{}` has no port", word.text),
            "write for example `redis.internal:6379`",
        ));
    };
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    if bare.is_none() && name.contains(':') {
        return Err(bad_value(
            &word.position,
            format!(
                "`{}` may be an address or an address with a port",
                word.text
            ),
            "put an IPv6 address in brackets: `[::1]:6379`",
        ));
    }
    Ok((host(word, bare.unwrap_or(name))?, port(word, number)?))
}

/// A text for the server. An empty text counts as missing, so that an environment variable may be empty.
fn text(call: &Call<'_>) -> Result<Option<String>, Error> {
    let text = literal(call.one()?, &format!("`{}`", call.entry.name))?;
    Ok((!text.is_empty()).then_some(text))
}

fn prefix(word: &Word) -> Result<String, Error> {
    let is_forbidden =
        |char: char| char.is_whitespace() || char.is_control() || "{}*?[]\\".contains(char);
    let parts = || word.text.split('/');
    if word.text.contains(is_forbidden) || parts().any(|part| ["", ".", ".."].contains(&part)) {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a prefix of keys", word.text),
            "write for example `howdah` or `shop/tls`, without a slash at its ends",
        ));
    }
    Ok(word.text.clone())
}

fn boolean(word: &Word) -> Result<bool, Error> {
    match word.text.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(bad_value(
            &word.position,
            format!("`{other}` is neither `true` nor `false`"),
            "write `true` or `false`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let redis = Redis {
            host: "::1".into(),
            password: Some("secret".into()),
            ..Redis::default()
        };
        assert_eq!(redis.to_string(), "redis://[::1]:6379/0/howdah");
        assert_eq!(format!("{redis:?}"), redis.to_string());
    }
}
