use super::ClientError;

/// Status line and header fields of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Head {
    /// `HTTP/1.1`.
    pub version: String,
    pub status: u16,
    /// Reason phrase. It may be empty.
    pub reason: String,
    /// Header fields in the order in which they were sent, with names as sent.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// Parses the lines of a response head, without the empty line at its end.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, ClientError> {
        let text = String::from_utf8_lossy(text);
        let mut lines = text.split("\r\n");
        let line = lines.next().unwrap_or_default();
        let wrong = || ClientError::malformed("status line", line.as_bytes());
        let mut parts = line.splitn(3, ' ');
        let version = parts
            .next()
            .filter(|v| v.starts_with("HTTP/1."))
            .ok_or_else(wrong)?;
        let status = parts
            .next()
            .filter(|s| s.len() == 3)
            .and_then(|s| s.parse().ok());
        let status = status.ok_or_else(wrong)?;
        let reason = parts.next().unwrap_or_default();
        let headers = parse_fields(lines)?;
        Ok(Self {
            version: version.to_owned(),
            status,
            reason: reason.to_owned(),
            headers,
        })
    }

    /// Value of the first header field with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }

    /// Values of all header fields with this name.
    pub fn header_all(&self, name: &str) -> Vec<&str> {
        self.headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
            .collect()
    }

    /// Whether a comma-separated header field contains this token.
    pub(crate) fn has_token(&self, name: &str, token: &str) -> bool {
        self.header_all(name)
            .iter()
            .flat_map(|value| value.split(','))
            .any(|word| word.trim().eq_ignore_ascii_case(token))
    }
}

pub(crate) fn parse_fields<'a>(
    lines: impl Iterator<Item = &'a str>,
) -> Result<Vec<(String, String)>, ClientError> {
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            line.split_once(':')
                .filter(|(name, _)| !name.is_empty() && !name.contains([' ', '\t', '\r', '\n']))
                .map(|(name, value)| (name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
                .ok_or_else(|| ClientError::malformed("header field", line.as_bytes()))
        })
        .collect()
}

/// A complete response.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Response {
    pub head: Head,
    /// 1xx responses that preceded it.
    pub informational: Vec<Head>,
    /// Decoded body.
    pub body: Vec<u8>,
    /// Trailer fields of a chunked body.
    pub trailers: Vec<(String, String)>,
}

impl Response {
    /// Status of the head.
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// Value of the first header field with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// The body as text. Invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// Panics with the body if it is not JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!(
                "no JSON ({error}) in a {} response: {}",
                self.status(),
                self.text()
            )
        })
    }

    /// Checks status and text. A failure shows the whole response.
    ///
    /// # Panics
    /// Panics if one differs.
    #[track_caller]
    pub fn assert(&self, status: u16, text: &str) {
        assert!(
            self.status() == status && self.text() == text,
            "wanted {status} {text:?}, got {} {:?} with {:?}",
            self.status(),
            self.text(),
            self.head.headers,
        );
    }

    /// Checks the status. A failure shows the whole response.
    ///
    /// # Panics
    /// Panics if it differs.
    #[track_caller]
    pub fn assert_status(&self, status: u16) {
        assert!(
            self.status() == status,
            "wanted status {status}, got {} {:?} with {:?}",
            self.status(),
            self.text(),
            self.head.headers,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_head() {
        let head =
            Head::parse(b"HTTP/1.1 418 I'm a teapot\r\nSet-Cookie: a\r\nset-cookie:b \r\n\r\n");
        let head = head.expect("it is well formed");
        assert_eq!((head.status, head.reason.as_str()), (418, "I'm a teapot"));
        assert_eq!(head.header_all("SET-COOKIE"), ["a", "b"]);
        assert_eq!(head.header("absent"), None);
    }

    #[test]
    fn refuses_invalid_responses() {
        for wrong in [
            "",
            "HTTP/2 200",
            "HTTP/1.1 2000 x",
            "HTTP/1.1 abc",
            "HTTP/1.1 200 OK\r\nbad name: x",
            "HTTP/1.1 200 OK\r\nnone",
        ] {
            assert!(
                Head::parse(wrong.as_bytes()).is_err(),
                "{wrong:?} was taken"
            );
        }
    }

    #[test]
    fn finds_tokens() {
        let head =
            Head::parse(b"HTTP/1.1 200 OK\r\nConnection: keep-alive, Close").expect("well formed");
        assert!(head.has_token("connection", "close"));
        assert!(!head.has_token("connection", "alive"));
    }
}
