//! A response as a worker sends it: status and header in JSON.

use std::fmt;

use howdah_pool::{FIELDS_MAX, HOP_BY_HOP};
use http::header::TRAILER;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Status and header of a response.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Head {
    pub status: StatusCode,
    /// The header fields, without connection-specific ones.
    pub headers: HeaderMap,
    /// Fields that follow the body: those that `Trailer` names.
    pub trailers: Option<HeaderMap>,
}

/// The contents of a context in a worker's frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Context {
    /// Status and header.
    Head(Head),
    /// The worker requests its replacement, and has not handled the request.
    Stop,
}

/// An invalid context.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// It cannot be read.
    #[error("status and header of the response are not the expected JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// HTTP has 100 to 599.
    #[error("the worker sent the status {0}, which is not between 100 and 599")]
    Status(i64),
}

impl Context {
    /// Reads a context.
    ///
    /// # Errors
    /// It is not the JSON of a response.
    pub fn decode(json: &[u8]) -> Result<Self, ContextError> {
        if json.is_empty() {
            // A response of a body alone, as `Worker::respond()` sends a text.
            return Ok(Self::Head(Head::default()));
        }
        let Wire {
            status,
            headers,
            stop,
        } = serde_json::from_slice(json)?;
        if stop && status.is_none() {
            return Ok(Self::Stop);
        }
        let number = status.unwrap_or(0);
        let status = u16::try_from(number)
            .ok()
            .filter(|status| (100..600).contains(status));
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        let mut head = Head {
            status: status.ok_or(ContextError::Status(number))?,
            headers: headers.0,
            trailers: None,
        };
        head.split_trailers();
        Ok(Self::Head(head))
    }
}

impl Head {
    fn split_trailers(&mut self) {
        let mut trailers = HeaderMap::new();
        let announced: Vec<HeaderValue> = self.headers.get_all(TRAILER).iter().cloned().collect();
        self.headers.remove(TRAILER);
        for names in announced.iter().filter_map(|names| names.to_str().ok()) {
            for name in names.split(',') {
                let Ok(name) = HeaderName::try_from(name.trim()) else {
                    continue;
                };
                for value in self.headers.get_all(&name) {
                    trailers.append(&name, value.clone());
                }
                self.headers.remove(&name);
            }
        }
        if trailers.is_empty() {
            return;
        }
        // hyper compares them with the names as they are sent, which are in lower case.
        let names: Vec<&str> = trailers.keys().map(HeaderName::as_str).collect();
        if let Ok(names) = HeaderValue::try_from(names.join(", ")) {
            self.headers.insert(TRAILER, names);
            self.trailers = Some(trailers);
        }
    }
}

#[derive(Deserialize)]
struct Wire {
    #[serde(default)]
    status: Option<i64>,
    #[serde(default)]
    headers: Fields,
    #[serde(default)]
    stop: bool,
}

/// The fields that HTTP allows; PHP's empty array is a list.
#[derive(Default)]
struct Fields(HeaderMap);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fields of a header by their names")
    }

    fn visit_unit<E: Error>(self) -> Result<Fields, E> {
        Ok(Fields::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Fields, A::Error> {
        // Fields without names.
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Fields::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut headers = HeaderMap::with_capacity(8);
        while let Some(name) = map.next_key::<String>()? {
            let Values(values) = map.next_value()?;
            let Ok(name) = HeaderName::try_from(name) else {
                continue;
            };
            if HOP_BY_HOP.contains(&name.as_str()) {
                continue;
            }
            for value in values {
                if headers.len() < FIELDS_MAX
                    && let Ok(value) = HeaderValue::try_from(value)
                {
                    headers.append(&name, value);
                }
            }
        }
        Ok(Fields(headers))
    }
}

/// The values of a field: a list, or one of them.
struct Values(Vec<String>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Scalar {
            Text(String),
            Whole(i64),
            Number(f64),
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum HeaderValues {
            List(Vec<Scalar>),
            One(Scalar),
        }
        let text = |scalar| match scalar {
            Scalar::Text(text) => text,
            Scalar::Whole(number) => number.to_string(),
            Scalar::Number(number) => number.to_string(),
        };
        Ok(Self(match HeaderValues::deserialize(deserializer)? {
            HeaderValues::List(list) => list.into_iter().map(text).collect(),
            HeaderValues::One(one) => vec![text(one)],
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(json: &str) -> Head {
        match Context::decode(json.as_bytes()) {
            Ok(Context::Head(head)) => head,
            other => panic!("{json}: {other:?}"),
        }
    }

    fn shown(headers: &HeaderMap) -> Vec<(&str, &str)> {
        let fields = headers.iter();
        fields
            .map(|(name, value)| (name.as_str(), value.to_str().expect("text")))
            .collect()
    }

    #[test]
    fn responses() {
        for (json, status, fields) in [
            (r#"{"status":200,"headers":{}}"#, 200, &[][..]),
            (r#"{"status":599,"headers":[]}"#, 599, &[]),
            (r#"{"status":404,"headers":null}"#, 404, &[]),
            (r#"{"status":103}"#, 103, &[]),
            (
                r#"{"status":201,"headers":{"Set-Cookie":["a=1","b=2"],"X":"y","N":[7]}}"#,
                201,
                &[
                    ("set-cookie", "a=1"),
                    ("set-cookie", "b=2"),
                    ("x", "y"),
                    ("n", "7"),
                ],
            ),
            (
                r#"{"status":200,"headers":{"Connection":["close"],"a b":["x"],"C":["x\r\ny"],"D":["1"]}}"#,
                200,
                &[("d", "1")],
            ),
        ] {
            let head = head(json);
            assert_eq!(
                (head.status.as_u16(), &shown(&head.headers)[..]),
                (status, fields),
                "{json}"
            );
        }
    }

    #[test]
    fn fields_that_trailer_names_follow_the_body() {
        let with = head(
            r#"{"status":200,"headers":{"Trailer":["X-Sum, X-Other\t"],"x-sum":["abc"],"Y":["z"]}}"#,
        );
        assert_eq!(shown(&with.headers), [("y", "z"), ("trailer", "x-sum")]);
        assert_eq!(shown(&with.trailers.expect("one")), [("x-sum", "abc")]);
        let without = head(r#"{"status":200,"headers":{"Trailer":["X-Sum"]}}"#);
        assert_eq!((shown(&without.headers), without.trailers), (vec![], None));
    }

    #[test]
    fn invalid_responses() {
        assert!(matches!(
            Context::decode(br#"{"stop":true}"#),
            Ok(Context::Stop)
        ));
        assert_eq!(head("").status, StatusCode::OK);
        for json in [
            "{",
            r#"{"status":"200"}"#,
            r#"{"status":200,"headers":{"A":{}}}"#,
        ] {
            let error = Context::decode(json.as_bytes()).expect_err(json);
            assert!(matches!(error, ContextError::Json(_)), "{json}");
        }
        for status in ["0", "99", "600", "700", "-1", "65736"] {
            let json = format!("{{\"status\":{status},\"headers\":{{}}}}");
            let error = Context::decode(json.as_bytes()).expect_err(&json);
            assert!(error.to_string().contains(status), "{error}");
        }
        for json in ["{}", "[]"] {
            let error = Context::decode(json.as_bytes()).expect_err(json);
            assert!(matches!(error, ContextError::Status(0)), "{json}");
        }
    }
}
