//! Replacements for items of other crates that the files under test use.

use http::{HeaderMap, HeaderName};

/// `howdah_http::message::file_origin`.
pub(crate) mod file_origin {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Identity {
        pub(crate) size: u64,
        pub(crate) modified: (i64, u64),
    }
}

/// `howdah_http::answer::files`.
pub(crate) fn joined(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let values = headers.get_all(name).iter();
    let texts: Vec<&str> = values.map(|value| value.to_str().unwrap_or("")).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// `howdah_http::message::route_error`.
pub(crate) mod route_error {
    #[derive(Debug)]
    pub(crate) enum RouteErrorKind {
        HeaderName {
            #[allow(dead_code, reason = "shown when a target's own name is wrong")]
            text: String,
        },
    }

    #[derive(Debug)]
    pub(crate) struct RouteError(#[allow(dead_code, reason = "shown")] RouteErrorKind);

    impl From<RouteErrorKind> for RouteError {
        fn from(kind: RouteErrorKind) -> Self {
            Self(kind)
        }
    }

    /// Parses the name of a header field, spelled as in the configuration.
    pub(crate) fn header_name(text: &str) -> Result<http::HeaderName, RouteErrorKind> {
        http::HeaderName::from_bytes(text.as_bytes()).map_err(|_| RouteErrorKind::HeaderName {
            text: text.to_owned(),
        })
    }
}

/// `howdah_http::message::interim`.
pub(crate) mod interim {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use http::{HeaderMap, StatusCode};

    /// Records the hints that are sent.
    #[derive(Clone, Copy)]
    pub(crate) struct Interim<'s>(pub(crate) &'s RefCell<Vec<HeaderMap>>);

    impl Interim<'_> {
        pub(crate) fn send(self, status: StatusCode, fields: &HeaderMap) -> Result<(), Infallible> {
            assert_eq!(status, StatusCode::EARLY_HINTS);
            self.0.borrow_mut().push(fields.clone());
            Ok(())
        }
    }
}

/// `howdah_observe::trace::settings`.
pub(crate) mod settings {
    use crate::context::TraceId;

    /// The caller decides about sampling.
    pub struct Sampler;

    impl Sampler {
        pub(crate) fn samples(&self, _: TraceId, caller: Option<bool>) -> bool {
            caller.unwrap_or(true)
        }
    }
}

/// A clock that stands still, so that runs are reproducible.
pub(crate) mod clock {
    /// Seconds since 1970, at a time in 2026.
    pub(crate) fn seconds() -> i64 {
        1_790_000_000
    }
}
