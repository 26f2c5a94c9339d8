//! The query of a request.

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
