//! Which responses are compressed: `match`.

use howdah_config::model::{ResponseMatcher, StatusRange};
use http::header::{CONTENT_TYPE, HeaderName};
use http::response::Parts;

use crate::message::pattern::Pattern;
use crate::message::route_error::{RouteError, RouteErrorKind, header_name};

/// A compiled [`ResponseMatcher`].
#[derive(Debug)]
pub(crate) struct Matcher {
    statuses: Box<[StatusRange]>,
    headers: Box<[Field]>,
}

#[derive(Debug)]
struct Field {
    name: HeaderName,
    /// `None`: the field is absent.
    values: Box<[Option<Pattern>]>,
}

impl Matcher {
    pub(crate) fn compile(matcher: &ResponseMatcher) -> Result<Self, RouteError> {
        let headers = matcher.headers.iter().map(|(name, values)| {
            let header = header_name(name)?;
            // Media types are case-insensitive.
            let lower = header == CONTENT_TYPE;
            let pattern = |text: &String| {
                if lower {
                    Pattern::ends(&text.to_ascii_lowercase())
                } else {
                    Pattern::ends(text)
                }
            };
            Ok(Field {
                name: header,
                values: values
                    .iter()
                    .map(|value| value.as_ref().map(pattern))
                    .collect(),
            })
        });
        Ok(Self {
            statuses: matcher.statuses.clone().into(),
            headers: headers.collect::<Result<_, RouteErrorKind>>()?,
        })
    }

    pub(crate) fn matches(&self, head: &Parts) -> bool {
        let status = head.status.as_u16();
        (self.statuses.is_empty() || self.statuses.iter().any(|range| range.contains(status)))
            && self.headers.iter().all(|field| field.matches(head))
    }
}

impl Field {
    fn matches(&self, head: &Parts) -> bool {
        let mut found = head.headers.get_all(&self.name).iter().peekable();
        if found.peek().is_none() {
            return self.values.iter().any(Option::is_none);
        }
        found.any(|value| {
            let text = String::from_utf8_lossy(value.as_bytes());
            let fits = |text: &str| {
                let mut patterns = self.values.iter().flatten();
                patterns.any(|pattern| pattern.matches(text))
            };
            // First without conversion: nearly all types are in lower case, except their
            // parameters.
            fits(&text)
                || (self.name == CONTENT_TYPE
                    && text.bytes().any(|byte| byte.is_ascii_uppercase())
                    && fits(&text.to_ascii_lowercase()))
        })
    }
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    #[test]
    fn statuses_and_fields() {
        let own = ResponseMatcher {
            statuses: vec![StatusRange::new(200, 299), StatusRange::one(404)],
            headers: vec![
                (
                    "X-A".into(),
                    vec![Some("one*".into()), Some("*two".into()), None],
                ),
                ("X-B".into(), vec![Some("*".into())]),
            ],
        };
        let own = Matcher::compile(&own).unwrap();
        let default = Matcher::compile(&ResponseMatcher::default()).unwrap();
        for (matcher, status, fields, expected) in [
            (&own, 200, &[("x-b", "")][..], true),
            (&own, 404, &[("x-b", ""), ("x-a", "one more")], true),
            (&own, 404, &[("x-b", ""), ("x-a", "part two")], true),
            (
                &own,
                404,
                &[("x-b", ""), ("x-a", "no"), ("x-a", "one")],
                true,
            ),
            (&own, 404, &[("x-b", ""), ("x-a", "no")], false),
            (&own, 500, &[("x-b", "")], false),
            (&own, 200, &[], false),
            (&default, 500, &[("content-type", "text/html")], true),
            (
                &default,
                200,
                &[("content-type", "Text/HTML; charset=UTF-8")],
                true,
            ),
            (
                &default,
                200,
                &[("content-type", "application/problem+json")],
                false,
            ),
            (&default, 200, &[("content-type", "image/svg+xml")], true),
            (&default, 200, &[("content-type", "image/png")], false),
            (&default, 200, &[("content-type", "font/woff2")], false),
            (&default, 200, &[], false),
        ] {
            let mut response = Response::builder().status(status);
            for (name, value) in fields {
                response = response.header(*name, *value);
            }
            let (head, ()) = response.body(()).unwrap().into_parts();
            assert_eq!(matcher.matches(&head), expected, "{status} {fields:?}");
        }
    }
}
