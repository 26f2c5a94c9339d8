//! `basic_auth`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::model::{BasicAuth, BasicAuthUser, Handler};
use crate::syntax::tree::Word;
use crate::table::template::literal;
use crate::table::{Call, Context, bad_value, unsupported};

const HASH_HINT: &str = "make one with `php -r 'echo password_hash(\"…\", PASSWORD_BCRYPT);'` or \
                         `htpasswd -nB USER`";

pub(crate) fn read(_: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let realm = realm(call, rest)?;
    let users = users(call)?;
    scope.push(key, Handler::BasicAuth(BasicAuth { realm, users }));
    Ok(())
}

fn realm(call: &Call<'_>, arguments: &[Word]) -> Result<String, Error> {
    let word = match arguments {
        [] => None,
        [algorithm, realm @ ..] if realm.len() < 2 => {
            if algorithm.text != "bcrypt" {
                return Err(unsupported(algorithm, "only `bcrypt` is supported"));
            }
            realm.first()
        }
        _ => {
            return Err(call.error(
                ErrorKind::Arguments,
                format!("`{}` has too many arguments", call.entry.name),
                format!("write `{}`", call.entry.syntax),
            ));
        }
    };
    let Some(word) = word else {
        return Ok("restricted".to_owned());
    };
    let realm = literal(word, "a realm")?;
    if realm
        .chars()
        .any(|char| char.is_control() || char == '"' || char == '\\')
    {
        return Err(bad_value(
            &word.position,
            "the realm contains a quote, a backslash or a control character".into(),
            "",
        ));
    }
    Ok(realm)
}

fn users(call: &Call<'_>) -> Result<Vec<BasicAuthUser>, Error> {
    let mut users: Vec<BasicAuthUser> = Vec::new();
    for statement in call.block()? {
        let name = literal(&statement.name, "a user")?;
        let ([hash], None) = (statement.arguments.as_slice(), &statement.block) else {
            return Err(Error::new(
                ErrorKind::Arguments,
                &statement.name.position,
                format!("the user `{name}` needs exactly one password hash"),
                HASH_HINT,
            ));
        };
        if name.is_empty() || name.contains(':') {
            return Err(bad_value(
                &statement.name.position,
                format!("`{name}` is not a valid user name"),
                "a name is not empty and has no colon",
            ));
        }
        if users.iter().any(|other| other.name == name) {
            return Err(Error::new(
                ErrorKind::Conflict,
                &statement.name.position,
                format!("the user `{name}` is given twice"),
                "remove one of them",
            ));
        }
        users.push(BasicAuthUser {
            name,
            hash: bcrypt(hash)?,
        });
    }
    if users.is_empty() {
        return Err(call.error(
            ErrorKind::Arguments,
            format!("`{}` has no user", call.entry.name),
            "write `NAME HASH` in its block",
        ));
    }
    Ok(users)
}

/// `$2y$10$` and 53 characters of bcrypt's alphabet, or all of it in base64, as Caddy wrote hashes before 2.6.
fn bcrypt(word: &Word) -> Result<String, Error> {
    let decoded = STANDARD.decode(&word.text).ok();
    let decoded = decoded.and_then(|hash| String::from_utf8(hash).ok());
    let text = decoded.as_deref().unwrap_or(&word.text);
    let parts: Vec<&str> = text.split('$').collect();
    let is_hash = match parts.as_slice() {
        ["", "2a" | "2b" | "2x" | "2y", cost, hash] => {
            let number = cost.parse::<u32>().ok().filter(|_| cost.len() == 2);
            let alphabet = |byte: u8| byte.is_ascii_alphanumeric() || b"./".contains(&byte);
            number.is_some_and(|cost| (4..=31).contains(&cost))
                && hash.len() == 53
                && hash.bytes().all(alphabet)
        }
        _ => false,
    };
    if is_hash {
        return Ok(text.to_owned());
    }
    Err(bad_value(
        &word.position,
        "this is not a bcrypt hash of a password".into(),
        HASH_HINT,
    ))
}
