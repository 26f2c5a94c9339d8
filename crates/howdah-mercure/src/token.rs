//! JSON Web Tokens: permissions to publish and subscribe.

use http::header::{AUTHORIZATION, COOKIE, ORIGIN, REFERER};
use http::{HeaderMap, Method};
use jsonwebtoken::Validation;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::options::{Key, Origins};
use crate::selector::Selector;

/// Selectors of one claim.
const SELECTORS_MAX: usize = 1_000;

/// The claims of a valid token.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// `None`: it may not publish at all.
    pub(crate) publish: Option<Vec<Selector>>,
    pub(crate) subscribe: Vec<Selector>,
    /// Included in its subscriptions for those who are authorised to see them.
    pub(crate) payload: Option<Value>,
    /// Seconds since 1970.
    pub(crate) expires: Option<u64>,
}

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("the `Authorization` header has no bearer token")]
    Header,
    #[error("a token in a cookie needs an `Origin` or `Referer` header to publish")]
    NoOrigin,
    #[error("pages of {0} may not publish; `publish_origins` does not name them")]
    Origin(String),
    #[error("{0}")]
    Invalid(String),
    #[error("the hub has no `publisher_jwt`, so publishing by HTTP is off")]
    NoKey,
    #[error("a claim has more than {SELECTORS_MAX} topic selectors")]
    TooMany,
}

#[derive(Deserialize)]
struct RawToken {
    mercure: Option<RawClaim>,
    #[serde(rename = "https://mercure.rocks/")]
    namespaced: Option<RawClaim>,
    #[serde(default, deserialize_with = "moment")]
    exp: Option<u64>,
    #[serde(default, deserialize_with = "moment")]
    #[expect(
        dead_code,
        reason = "the library looks at its value, and passes over one that it cannot read"
    )]
    nbf: Option<u64>,
}

/// The end of the year 9999: a token with a later expiry is a mistake.
const LAST_MOMENT: u64 = 253_402_300_799;

/// Seconds since 1970, as an integer. Other values would have no effect, or a different one.
fn moment<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(value)?;
    let seconds = value.as_u64().filter(|seconds| *seconds <= LAST_MOMENT);
    seconds.map(Some).ok_or_else(|| {
        D::Error::custom(format!(
            "`exp` and `nbf` are whole seconds since 1970, not {value}"
        ))
    })
}

#[derive(Deserialize, Default)]
struct RawClaim {
    publish: Option<Vec<String>>,
    subscribe: Option<Vec<String>>,
    payload: Option<Value>,
}

/// Where a request may have its token.
pub(crate) struct Credentials<'r> {
    pub(crate) method: &'r Method,
    pub(crate) headers: &'r HeaderMap,
    /// `authorization` of the query.
    pub(crate) query: Option<&'r str>,
    pub(crate) cookie: &'r str,
}

/// The claims of the request's token; `None` if it has none. The header takes precedence over the query, the query over
/// the cookie. Browsers send cookies automatically, so pages of other sites are refused.
pub(crate) fn authorize(
    request: &Credentials<'_>,
    key: &Key,
    publish_origins: &Origins,
) -> Result<Option<Claims>, TokenError> {
    let mut fields = request.headers.get_all(AUTHORIZATION).iter();
    if let Some(field) = fields.next() {
        let text = field.to_str().map_err(|_| TokenError::Header)?;
        let token = text.strip_prefix("Bearer ").ok_or(TokenError::Header)?;
        if fields.next().is_some() {
            return Err(TokenError::Header);
        }
        return claims(token.trim(), key).map(Some);
    }
    if let Some(token) = request.query {
        return claims(token, key).map(Some);
    }
    let Some(token) = cookie(request.headers, request.cookie) else {
        return Ok(None);
    };
    if request.method == Method::POST {
        let text = |name| request.headers.get(name)?.to_str().ok();
        let origin = match text(ORIGIN) {
            Some(origin) => origin.to_owned(),
            None => text(REFERER)
                .and_then(origin_of)
                .ok_or(TokenError::NoOrigin)?,
        };
        if !publish_origins.allow(&origin) {
            return Err(TokenError::Origin(origin));
        }
    }
    claims(token, key).map(Some)
}

/// `https://example.com` of `https://example.com/page`.
fn origin_of(url: &str) -> Option<String> {
    let url: http::Uri = url.parse().ok()?;
    Some(format!("{}://{}", url.scheme_str()?, url.authority()?))
}

fn cookie<'r>(headers: &'r HeaderMap, name: &str) -> Option<&'r str> {
    let fields = headers.get_all(COOKIE).iter();
    fields
        .filter_map(|field| field.to_str().ok())
        .flat_map(|field| field.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

fn claims(token: &str, key: &Key) -> Result<Claims, TokenError> {
    let mut validation = Validation::new(key.algorithm);
    // A token need not expire, but one that has expired or is not valid yet is refused.
    validation.required_spec_claims.clear();
    validation.validate_nbf = true;
    validation.validate_aud = false;
    validation.leeway = 0;
    let raw = jsonwebtoken::decode::<RawToken>(token, &key.decoding, &validation)
        .map_err(|error| TokenError::Invalid(error.to_string()))?
        .claims;
    let own = raw.namespaced.or(raw.mercure).unwrap_or_default();
    let selectors = |texts: Vec<String>| {
        if texts.len() > SELECTORS_MAX {
            return Err(TokenError::TooMany);
        }
        Ok(texts
            .iter()
            .map(|text| Selector::version_8(text))
            .collect::<Vec<_>>())
    };
    Ok(Claims {
        publish: own.publish.map(selectors).transpose()?,
        subscribe: selectors(own.subscribe.unwrap_or_default())?,
        payload: own.payload,
        expires: raw.exp,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsonwebtoken::{EncodingKey, Header, encode};
    use serde_json::json;

    const SECRET: &str = "a secret that is long enough for HS256";

    fn expiry_of(claims: &Value) -> Result<Option<u64>, String> {
        let key = EncodingKey::from_secret(SECRET.as_bytes());
        let token = encode(&Header::default(), claims, &key).expect("a token");
        let key = Key::new(SECRET, "").expect("a key");
        super::claims(&token, &key)
            .map(|claims| claims.expires)
            .map_err(|refused| refused.to_string())
    }

    #[test]
    fn moments_are_whole_seconds_that_a_clock_can_tell() {
        let wrong = [
            json!(-1),
            json!(-1.0e300),
            json!(4_102_444_800.5),
            json!(4_102_444_800.0),
            json!(1e300),
            json!(u64::MAX),
            json!(LAST_MOMENT + 1),
            json!("4102444800"),
            json!(""),
            json!(null),
            json!(true),
            json!([4_102_444_800_u64]),
            json!({"seconds": 4_102_444_800_u64}),
        ];
        for value in &wrong {
            for name in ["exp", "nbf"] {
                let refused = expiry_of(&json!({name: value})).expect_err("a moment");
                assert!(
                    refused.contains("whole seconds"),
                    "{name} {value}: {refused}"
                );
            }
        }
    }

    #[test]
    fn moments_of_tokens_that_are_good_are_kept() {
        assert_eq!(expiry_of(&json!({})), Ok(None));
        assert_eq!(expiry_of(&json!({"nbf": 0})), Ok(None));
        for last in [4_102_444_800, LAST_MOMENT] {
            assert_eq!(expiry_of(&json!({"exp": last, "nbf": 1})), Ok(Some(last)));
        }
        for claims in [
            json!({"exp": 0}),
            json!({"exp": 1}),
            json!({"nbf": 4_102_444_800_u64}),
        ] {
            assert!(expiry_of(&claims).is_err(), "{claims}");
        }
    }
}
