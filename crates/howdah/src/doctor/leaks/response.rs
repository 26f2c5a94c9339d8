//! Responses of the server.

use std::io;

/// A response, its header names in lower case.
#[derive(Debug, Default, Clone)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Response {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The value of the first field with this name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn parse(bytes: &[u8]) -> io::Result<Self> {
        let malformed = || io::Error::new(io::ErrorKind::InvalidData, "no valid response");
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(malformed)?;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        Ok(Self {
            status: status
                .and_then(|status| status.parse().ok())
                .ok_or_else(malformed)?,
            headers: lines.filter_map(header).collect(),
            body: body.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_split() {
        let response = Response::parse(b"HTTP/1.0 302 Found\r\nLocation: /a\r\n\r\nmoved");
        let response = response.expect("valid");
        assert_eq!((response.status, &*response.body), (302, "moved"));
        assert_eq!(response.headers, [("location".into(), "/a".into())]);
        assert!(Response::parse(b"nonsense").is_err());
    }
}
