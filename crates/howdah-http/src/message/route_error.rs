//! Why a configuration cannot be compiled into routes.

use http::HeaderName;

/// Why a route cannot be executed. Reported when the server starts, never by a request.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RouteError(#[from] RouteErrorKind);

#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteErrorKind {
    #[error("`{text}` is not a valid regular expression: {reason}")]
    Regex { text: String, reason: String },
    #[error("`{text}` is not a valid header name")]
    HeaderName { text: String },
    #[error("the value of the header `{name}` has control characters")]
    HeaderValue { name: String },
    #[error("`{text}` is not a valid HTTP method")]
    Method { text: String },
    #[error("{status} is not a valid response status: use 200 to 599")]
    Status { status: u16 },
    #[error(transparent)]
    Upstream(Box<dyn std::error::Error + Send + Sync>),
}

/// The name of a header field, spelled as configured.
pub(crate) fn header_name(text: &str) -> Result<HeaderName, RouteErrorKind> {
    HeaderName::from_bytes(text.as_bytes()).map_err(|_| RouteErrorKind::HeaderName {
        text: text.to_owned(),
    })
}
