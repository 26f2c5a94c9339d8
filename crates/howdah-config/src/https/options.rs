//! Global options about HTTPS.

use std::path::PathBuf;

use crate::error::{Error, ErrorKind};
use crate::model::{ExternalAccount, Https};
use crate::syntax::tree::Word;
use crate::table::value::port;
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};

pub(crate) fn auto_https(call: &Call<'_>, https: &mut Https) -> Result<(), Error> {
    let word = call.one()?;
    // If it is repeated, the last one counts.
    (https.redirects, https.certificates) = (true, true);
    match word.text.as_str() {
        "off" => {
            https.redirects = false;
            https.certificates = false;
        }
        "disable_redirects" => https.redirects = false,
        "disable_certs" => https.certificates = false,
        "ignore_loaded_certs" => {
            return Err(unsupported(
                word,
                "a site with `tls CERT KEY` gets no other certificate: remove that line where one is to be obtained",
            ));
        }
        "prefer_wildcard" => {
            return Err(unsupported(
                word,
                "each name has its own certificate: remove the option, or name a wildcard certificate with `tls CERT KEY`",
            ));
        }
        other => {
            return Err(bad_value(
                &word.position,
                format!("`{other}` is not a value of `auto_https`"),
                "write `off`, `disable_redirects` or `disable_certs`",
            ));
        }
    }
    Ok(())
}

pub(crate) fn https_port(call: &Call<'_>, https: &mut Https) -> Result<(), Error> {
    let word = call.one()?;
    https.port = port(word, &word.text)?;
    Ok(())
}

/// The name of a file or directory.
pub(crate) fn file(word: &Word) -> Result<PathBuf, Error> {
    if word.text.is_empty() || word.text.contains(['{', '}', '\0']) {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not the name of a file", word.text),
            "write a path; `{$NAME}` is an environment variable",
        ));
    }
    Ok(word.text.clone().into())
}

/// An email address.
pub(crate) fn email(word: &Word) -> Result<String, Error> {
    let (user, domain) = word.text.split_once('@').unwrap_or_default();
    let is_forbidden =
        |char: char| char.is_whitespace() || char.is_control() || ",;<>{}".contains(char);
    if user.is_empty()
        || domain.is_empty()
        || domain.contains('@')
        || word.text.contains(is_forbidden)
    {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a mail address", word.text),
            "write for example `admin@example.com`",
        ));
    }
    Ok(word.text.clone())
}

/// The URL of an ACME directory.
pub(crate) fn directory(word: &Word) -> Result<String, Error> {
    let rest = word.text.strip_prefix("https://");
    if rest.is_none_or(|rest| rest.is_empty() || rest.contains(|char: char| char.is_whitespace())) {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not the URL of an ACME directory", word.text),
            "write for example `https://acme-staging-v02.api.letsencrypt.org/directory`",
        ));
    }
    Ok(word.text.clone())
}

/// `eab KEY_ID MAC_KEY`.
pub(crate) fn eab(key: &Word, mac: &Word) -> Result<ExternalAccount, Error> {
    let base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=".contains(&byte);
    if mac.text.is_empty() || !mac.text.bytes().all(base64url) {
        return Err(bad_value(
            &mac.position,
            "the MAC key is not base64url".into(),
            "copy it as the authority shows it",
        ));
    }
    Ok(ExternalAccount {
        key_id: key.text.clone(),
        mac_key: mac.text.trim_end_matches('=').to_owned(),
    })
}

/// `acme_eab { key_id ID; mac_key KEY }`.
pub(crate) fn acme_eab(call: &Call<'_>, https: &mut Https) -> Result<(), Error> {
    call.count(0, 0)?;
    let block = call.block()?;
    let one = |name: &str| {
        block
            .iter()
            .find(|statement| statement.name.text == name && statement.arguments.len() == 1)
            .map(|statement| &statement.arguments[0])
    };
    match (one("key_id"), one("mac_key"), block.len()) {
        (Some(key), Some(mac), 2) => {
            https.acme.eab = Some(eab(key, mac)?);
            Ok(())
        }
        _ => Err(call.error(
            ErrorKind::Arguments,
            "`acme_eab` needs `key_id` and `mac_key`".into(),
            format!("write `{}`", call.entry.syntax),
        )),
    }
}

/// Names of the block of `on_demand_tls`.
pub(crate) const ON_DEMAND: Table<Option<String>> = Table {
    kind: "option of `on_demand_tls`",
    items: &[
        Item::Supported(
            Entry {
                name: "ask",
                syntax: "ask URL",
                default: "",
                about: "Requested with `domain=NAME` in its query before a name gets a certificate. Any status from \
                    200 to 299 allows it; any other status, or no response within ten seconds, denies it. It may be \
                    a site of this server, `http://` or `https://`.",
                differs: "A refusal is remembered for ten seconds.",
                example: "ask http://localhost:8000/is-a-shop",
            },
            |_, call, ask| {
                *ask = Some(endpoint_url(call.one()?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "permission",
                syntax: "permission http URL",
                default: "",
                about: "Same as `ask`.",
                differs: "Only `http`.",
                example: "permission http http://localhost:8000/is-a-shop",
            },
            |_, call, ask| {
                let words = call.arguments(2, 2)?;
                if words[0].text != "http" {
                    return Err(unsupported(&words[0], "write `ask URL`"));
                }
                *ask = Some(endpoint_url(&words[1])?);
                Ok(())
            },
        ),
        Item::Unsupported("interval", "the `ask` endpoint decides how often"),
        Item::Unsupported("burst", "the `ask` endpoint decides how often"),
    ],
};

/// The URL of a user's endpoint.
fn endpoint_url(word: &Word) -> Result<String, Error> {
    let rest = ["http://", "https://"]
        .iter()
        .find_map(|scheme| word.text.strip_prefix(scheme));
    let is_forbidden = |char: char| !char.is_ascii_graphic() || "#\"<>\\^`{|}".contains(char);
    let authority = rest.and_then(|rest| rest.split(['/', '?']).next());
    match authority {
        Some(host)
            if !host.is_empty() && !host.contains('@') && !word.text.contains(is_forbidden) =>
        {
            Ok(word.text.clone())
        }
        _ => Err(bad_value(
            &word.position,
            format!("`{}` is not a valid URL of an `ask` endpoint", word.text),
            "write for example `http://localhost:8000/is-a-shop`",
        )),
    }
}

/// A server name as a client sends it.
pub(crate) fn server_name(call: &Call<'_>) -> Result<String, Error> {
    let word = call.one()?;
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    if word.text.is_empty() || !word.text.bytes().all(valid) {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a host", word.text),
            "write for example `example.com`",
        ));
    }
    Ok(word.text.to_ascii_lowercase())
}

/// `local_certs` and `skip_install_trust`: without arguments.
pub(crate) fn flag(_: &mut Context, call: &Call<'_>) -> Result<(), Error> {
    call.arguments(0, 0).map(drop)
}
