//! The header fields that `howdah doctor --leaks` sends with each request.

use std::str::FromStr;

use http::{HeaderName, HeaderValue};

/// A header field. Its value may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestHeader {
    name: HeaderName,
    value: HeaderValue,
}

/// Why a text is not a header field.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeaderError {
    #[error("expected 'NAME: VALUE', such as 'Cookie: session=4711'")]
    Syntax,
    #[error("give the host in a URL, such as http://shop.test/cart")]
    Host,
    #[error("{0} belongs to the connection, which doctor controls")]
    Connection(HeaderName),
}

impl FromStr for RequestHeader {
    type Err = HeaderError;

    fn from_str(text: &str) -> Result<Self, HeaderError> {
        let (name, value) = text.split_once(':').ok_or(HeaderError::Syntax)?;
        let name: HeaderName = name.parse().map_err(|_| HeaderError::Syntax)?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| HeaderError::Syntax)?;
        value.set_sensitive(true);
        match name {
            http::header::HOST => Err(HeaderError::Host),
            http::header::CONNECTION
            | http::header::CONTENT_LENGTH
            | http::header::EXPECT
            | http::header::TRANSFER_ENCODING
            | http::header::UPGRADE => Err(HeaderError::Connection(name)),
            _ => Ok(Self { name, value }),
        }
    }
}

impl RequestHeader {
    pub(crate) fn is(&self, name: &HeaderName) -> bool {
        self.name == *name
    }

    /// The field as it is sent.
    pub(crate) fn write(&self, request: &mut Vec<u8>) {
        request.extend_from_slice(self.name.as_str().as_bytes());
        request.extend_from_slice(b": ");
        request.extend_from_slice(self.value.as_bytes());
        request.extend_from_slice(b"\r\n");
    }

    /// The value and what an application takes from it: the values of cookies, and a token after `Bearer`.
    fn values(&self) -> Vec<String> {
        let whole = String::from_utf8_lossy(self.value.as_bytes());
        let parts: Vec<&str> = if self.is(&http::header::COOKIE) {
            let cookies = whole.split(';').filter_map(|cookie| cookie.split_once('='));
            cookies.map(|(_, value)| value.trim()).collect()
        } else {
            whole.split(' ').collect()
        };
        parts
            .into_iter()
            .chain([&*whole])
            .map(str::to_owned)
            .collect()
    }
}

/// Shortest value that is hidden: a page may have shorter ones by chance.
const HIDDEN_MIN: usize = 5;

/// Hides values of the fields in a text, which an application may have in its page.
pub(crate) fn hide_values(headers: &[RequestHeader], text: &str) -> String {
    let mut values: Vec<String> = headers.iter().flat_map(RequestHeader::values).collect();
    values.retain(|value| value.len() >= HIDDEN_MIN);
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values.iter().fold(text.to_owned(), |text, value| {
        text.replace(value, "(hidden)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_fields_are_checked_and_their_values_hidden() {
        let header = |text: &str| text.parse::<RequestHeader>();
        let valid = header("Cookie:  session=s3cret; lang=de").expect("valid");
        let mut sent = Vec::new();
        valid.write(&mut sent);
        assert_eq!(sent, b"cookie: session=s3cret; lang=de\r\n");
        assert!(!format!("{valid:?}").contains("s3cret"), "{valid:?}");
        for wrong in ["", "Cookie", ": a", "A B: c", "A: b\r\nC: d", "A: b\0"] {
            assert_eq!(header(wrong), Err(HeaderError::Syntax), "{wrong:?}");
        }
        assert_eq!(header("host: a.test"), Err(HeaderError::Host));
        let length = HeaderError::Connection(http::header::CONTENT_LENGTH);
        assert_eq!(header("Content-Length: 5"), Err(length));
        let token = header("Authorization: Bearer t0ken").expect("valid");
        assert_eq!(
            hide_values(&[valid, token], "Hello s3cret, t0ken de"),
            "Hello (hidden), (hidden) de"
        );
    }
}
