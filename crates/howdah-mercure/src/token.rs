//! JSON Web Tokens: permissions to publish and subscribe.
//!
//! Tokens of version 8 of the protocol have the claim `mercure`. Those of Mercure 1.0 are access tokens (RFC 9068) with
//! entries for Mercure in `authorization_details` (RFC 9396); of a token with both only the latter count.

use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN, REFERER};
use http::{HeaderMap, Method};
use jsonwebtoken::Validation;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::options::{DEFAULT_COOKIE, Key, Origins, PATH};
use crate::selector::{MatchType, Selector, Topic};
use crate::url_pattern::Budget;

/// Selectors of one claim, and those of all details for Mercure.
const SELECTORS_MAX: usize = 1_000;
/// The cookie of Mercure 1.0.
const SECURE_COOKIE: &str = "__Secure-mercure_access_token";
/// The type of a detail for Mercure.
const DETAIL: &str = "https://mercure.rocks/authorization-detail";
/// The type of an access token.
const ACCESS_TOKEN: &str = "at+jwt";

/// The claims of a valid token.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// `None`: it may not publish at all.
    pub(crate) publish: Option<Vec<Selector>>,
    pub(crate) subscribe: Vec<Selector>,
    /// Included in its subscriptions for those who are authorised to see them.
    pub(crate) payload: Payload,
    /// Seconds since 1970.
    pub(crate) expires: Option<u64>,
    /// Whether it is a token of Mercure 1.0.
    pub(crate) version_1: bool,
}

/// Data that is included in a subscription.
#[derive(Debug)]
pub(crate) enum Payload {
    /// Version 8: the same in each.
    One(Option<Arc<Value>>),
    /// 1.0: that of the first detail with a matcher for the text of the subscription's matcher.
    Details(Vec<DetailPayload>),
}

/// The payload of a detail.
#[derive(Debug)]
pub(crate) struct DetailPayload {
    topics: Vec<Selector>,
    payload: Option<Arc<Value>>,
}

impl Default for Payload {
    fn default() -> Self {
        Self::One(None)
    }
}

impl Payload {
    /// The payload of a subscription by this selector.
    pub(crate) fn of(&self, selector: &Selector) -> Option<Arc<Value>> {
        match self {
            Self::One(payload) => payload.clone(),
            Self::Details(details) => {
                let text = Topic::new(selector.text().to_owned());
                let mut details = details.iter();
                let first =
                    details.find(|detail| detail.topics.iter().any(|own| own.matches(&text)));
                first.and_then(|detail| detail.payload.clone())
            }
        }
    }
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
    #[error("`authorization_details`: {0}")]
    Detail(String),
    #[error("a token with `authorization_details` has no `typ` of `{ACCESS_TOKEN}`")]
    Type,
    #[error("a token with `authorization_details` has no `exp`")]
    NoExpiry,
    #[error("the `aud` of a token with `authorization_details` is not `{0}`")]
    Audience(String),
}

#[derive(Deserialize)]
struct RawToken {
    mercure: Option<RawClaim>,
    #[serde(rename = "https://mercure.rocks/")]
    namespaced: Option<RawClaim>,
    #[serde(default)]
    authorization_details: Value,
    #[serde(default)]
    aud: Value,
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
    // The server ensures that there is one.
    let host = request
        .headers
        .get(HOST)
        .and_then(|host| host.to_str().ok());
    let host = host.unwrap_or_default();
    let mut fields = request.headers.get_all(AUTHORIZATION).iter();
    if let Some(field) = fields.next() {
        let text = field.to_str().map_err(|_| TokenError::Header)?;
        let (scheme, token) = text.split_once(' ').ok_or(TokenError::Header)?;
        if !scheme.eq_ignore_ascii_case("Bearer") {
            return Err(TokenError::Header);
        }
        if fields.next().is_some() {
            return Err(TokenError::Header);
        }
        return claims(token.trim(), key, host).map(Some);
    }
    if let Some(token) = request.query {
        return claims(token, key, host).map(Some);
    }
    // Other hosts and plain HTTP cannot set the cookie of 1.0, so it comes first.
    let own = request.cookie;
    let secure = (own == DEFAULT_COOKIE).then_some(SECURE_COOKIE);
    let mut names = secure.into_iter().chain([own]);
    let Some(token) = names.find_map(|name| cookie(request.headers, name)) else {
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
    claims(token, key, host).map(Some)
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

fn claims(token: &str, key: &Key, host: &str) -> Result<Claims, TokenError> {
    let mut validation = Validation::new(key.algorithm);
    // A token need not expire, but one that has expired or is not valid yet is refused.
    validation.required_spec_claims.clear();
    validation.validate_nbf = true;
    validation.validate_aud = false;
    validation.leeway = 0;
    let decoded = jsonwebtoken::decode::<RawToken>(token, &key.decoding, &validation)
        .map_err(|error| TokenError::Invalid(error.to_string()))?;
    let raw = decoded.claims;
    let details = details(&raw.authorization_details)?;
    if !details.is_empty() {
        if !decoded
            .header
            .typ
            .is_some_and(|kind| is_access_token(&kind))
        {
            return Err(TokenError::Type);
        }
        if raw.exp.is_none() {
            return Err(TokenError::NoExpiry);
        }
        if !is_for(&raw.aud, host) {
            return Err(TokenError::Audience(format!("https://{host}{PATH}")));
        }
        return Ok(granted(details, raw.exp));
    }
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
        payload: Payload::One(own.payload.map(Arc::new)),
        expires: raw.exp,
        version_1: false,
    })
}

/// Tokens for other purposes, such as ID tokens, may have the same key.
fn is_access_token(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    kind.strip_prefix("application/").unwrap_or(&kind) == ACCESS_TOKEN
}

/// Whether the hub's URL is in `aud`. A proxy in front may have ended TLS, so both schemes are the hub's.
fn is_for(audience: &Value, host: &str) -> bool {
    let is_own = |audience: &Value| {
        let rest = audience.as_str().and_then(|text| {
            let text = text
                .strip_prefix("https://")
                .or_else(|| text.strip_prefix("http://"))?;
            text.strip_suffix(PATH)
        });
        !host.is_empty() && rest.is_some_and(|own| own.eq_ignore_ascii_case(host))
    };
    match audience {
        Value::Array(several) => several.iter().any(is_own),
        one => is_own(one),
    }
}

/// A detail for Mercure.
struct Detail {
    publish: bool,
    subscribe: bool,
    topics: Vec<Selector>,
    payload: Option<Arc<Value>>,
}

/// The details for Mercure. An invalid one makes the whole token invalid: without it the token would mean something
/// else.
fn details(claim: &Value) -> Result<Vec<Detail>, TokenError> {
    let invalid = |problem: &str| TokenError::Detail(problem.to_owned());
    let entries = match claim {
        Value::Null => return Ok(Vec::new()),
        Value::Array(entries) => entries,
        _ => return Err(invalid("not an array")),
    };
    let mut budget = Budget::default();
    let mut left = SELECTORS_MAX;
    let mut details = Vec::new();
    for entry in entries {
        let entry = entry
            .as_object()
            .ok_or_else(|| invalid("an entry is not an object"))?;
        match entry.get("type") {
            Some(Value::String(kind)) if kind == DETAIL => {}
            Some(Value::String(_)) => continue,
            _ => return Err(invalid("an entry has no `type`")),
        }
        let array = |name: &str| {
            let array = entry.get(name).and_then(Value::as_array);
            let array = array.filter(|array| !array.is_empty());
            array.ok_or_else(|| invalid(&format!("an entry has no `{name}`")))
        };
        let (mut publish, mut subscribe) = (false, false);
        for action in array("actions")? {
            match action.as_str() {
                Some("publish") => publish = true,
                Some("subscribe") => subscribe = true,
                // Other actions may be defined, and permit nothing here.
                Some(_) => {}
                None => return Err(invalid("an action is not a string")),
            }
        }
        let matchers = array("topics")?;
        left = left
            .checked_sub(matchers.len())
            .ok_or(TokenError::TooMany)?;
        let topics = matchers
            .iter()
            .map(|matcher| read_matcher(matcher, &mut budget));
        details.push(Detail {
            publish,
            subscribe,
            topics: topics.collect::<Result<_, _>>()?,
            payload: entry
                .get("payload")
                .filter(|own| !own.is_null())
                .cloned()
                .map(Arc::new),
        });
    }
    Ok(details)
}

fn read_matcher(matcher: &Value, budget: &mut Budget) -> Result<Selector, TokenError> {
    let invalid = |problem: &str| TokenError::Detail(problem.to_owned());
    let matcher = matcher
        .as_object()
        .ok_or_else(|| invalid("a topic is not an object"))?;
    let text = matcher.get("match").and_then(Value::as_str);
    let text = text.filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| invalid("a topic has no `match`"))?;
    let kind = match matcher.get("match_type") {
        None => MatchType::Exact,
        Some(kind) => {
            let kind = kind.as_str().and_then(MatchType::named);
            kind.ok_or_else(|| invalid("unknown `match_type`"))?
        }
    };
    Selector::matcher(kind, text, budget).map_err(|error| TokenError::Detail(error.to_string()))
}

fn granted(details: Vec<Detail>, expires: Option<u64>) -> Claims {
    let mut claims = Claims {
        expires,
        version_1: true,
        ..Claims::default()
    };
    let mut payloads = Vec::new();
    for detail in details {
        if detail.publish {
            let publish = claims.publish.get_or_insert_default();
            publish.extend(detail.topics.iter().cloned());
        }
        if detail.subscribe {
            claims.subscribe.extend(detail.topics.iter().cloned());
            payloads.push(DetailPayload {
                topics: detail.topics,
                payload: detail.payload,
            });
        }
    }
    // Without any of them the matchers need not be kept.
    if payloads.iter().any(|detail| detail.payload.is_some()) {
        claims.payload = Payload::Details(payloads);
    }
    claims
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
        super::claims(&token, &key, "a")
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
