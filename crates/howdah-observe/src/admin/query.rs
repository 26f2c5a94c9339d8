//! The query of a request.

use super::Configuration;

/// What is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct QueryError(pub(super) String);

/// Names and values of a query. Each name has a value.
pub(super) fn pairs(query: Option<&str>) -> Result<Vec<(String, String)>, QueryError> {
    let mut pairs = Vec::new();
    let given = query.unwrap_or_default().split('&');
    for pair in given.filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() => {
                pairs.push((decoded(name)?, decoded(value)?));
            }
            _ => return Err(QueryError(format!("{pair}: expected NAME=VALUE"))),
        }
    }
    Ok(pairs)
}

pub(super) fn decoded(text: &str) -> Result<String, QueryError> {
    let wrong = || QueryError(format!("{text}: not a name in UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit().ok_or_else(wrong)?, digit().ok_or_else(wrong)?);
                (high * 16 + low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// The number of the last line of the log that the client has.
pub(super) fn known_lines(query: Option<&str>) -> Result<u64, String> {
    let query = query.unwrap_or_default();
    let number = match query.split_once('=') {
        None if query.is_empty() => return Ok(0),
        Some(("log", number)) => number.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| format!("{query}: expected log=NUMBER"))
}

/// What to reload.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReloadTarget {
    Pool(String),
    Configuration(Configuration),
}

/// Parses a query. An unknown name in it is an error, which would otherwise reload everything.
pub(super) fn reload_target(query: Option<&str>) -> Result<ReloadTarget, QueryError> {
    let (mut pool, mut file) = (None, None);
    for pair in query.unwrap_or_default().split('&') {
        match pair.split_once('=') {
            Some(("pool", name)) if !name.is_empty() => pool = Some(decoded(name)?),
            Some(("config", path)) if !path.is_empty() => file = Some(decoded(path)?),
            None if pair.is_empty() => {}
            _ => {
                let text = format!("{pair}: expected pool=NAME or config=FILE");
                return Err(QueryError(text));
            }
        }
    }
    Ok(match (pool, file) {
        (Some(_), Some(_)) => {
            let text = "pool= reloads PHP alone: remove config=";
            return Err(QueryError(text.into()));
        }
        (Some(pool), None) => ReloadTarget::Pool(pool),
        (None, Some(file)) => ReloadTarget::Configuration(Configuration::File(file.into())),
        (None, None) => ReloadTarget::Configuration(Configuration::Same),
    })
}

/// The number of a crash report.
pub(super) fn crash_number(query: Option<&str>) -> Result<Option<u64>, String> {
    let Some(query) = query.filter(|query| !query.is_empty()) else {
        return Ok(None);
    };
    let number = query
        .strip_prefix("number=")
        .and_then(|text| text.parse().ok());
    number
        .map(Some)
        .ok_or_else(|| format!("{query}: expected number=N"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_lines_of_the_log() {
        assert_eq!(known_lines(None), Ok(0));
        assert_eq!(known_lines(Some("")), Ok(0));
        assert_eq!(known_lines(Some("log=17")), Ok(17));
        for wrong in ["log", "log=", "log=-1", "log=x", "lines=1"] {
            assert!(known_lines(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn queries() {
        let pool = |name: &str| Ok(ReloadTarget::Pool(name.to_owned()));
        let all = |from| Ok(ReloadTarget::Configuration(from));
        assert_eq!(reload_target(None), all(Configuration::Same));
        assert_eq!(reload_target(Some("")), all(Configuration::Same));
        let file = Configuration::File("/etc/a b".into());
        assert_eq!(reload_target(Some("config=%2Fetc%2Fa%20b")), all(file));
        assert_eq!(reload_target(Some("pool=app")), pool("app"));
        assert_eq!(reload_target(Some("pool=a%20b+c%C3%A9")), pool("a b cé"));
        for wrong in [
            "pol=app",
            "pool",
            "pool=",
            "pool=%",
            "pool=%zz",
            "pool=%ff",
            "x",
            "config=",
            "pool=a&config=b",
        ] {
            assert!(reload_target(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
