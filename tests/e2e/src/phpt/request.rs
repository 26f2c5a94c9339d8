//! The request of a test, built from several sections.

use howdah_testkit::Request;

use super::parse::Sections;
use super::plan::{Unplanned, skip};

/// CGI variables that a server sets itself. A test that sets them is for php-cgi only.
const MADE_BY_THE_SERVER: [&str; 16] = [
    "REQUEST_URI",
    "SCRIPT_NAME",
    "SCRIPT_FILENAME",
    "PATH_INFO",
    "PATH_TRANSLATED",
    "DOCUMENT_ROOT",
    "SERVER_NAME",
    "SERVER_PORT",
    "SERVER_PROTOCOL",
    "REMOTE_ADDR",
    "CONTENT_LENGTH",
    "REDIRECT_STATUS",
    "GATEWAY_INTERFACE",
    "PHP_SELF",
    "SERVER_ADDR",
    "HTTPS",
];

/// A request under construction.
pub(super) struct RequestParts {
    method: String,
    query: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
    body: Option<Vec<u8>>,
}

impl RequestParts {
    pub(super) fn of(sections: &Sections) -> Result<Self, Unplanned> {
        let trimmed = |name: &str| sections.raw(name).map(|raw| raw.trim_ascii().to_vec());
        let mut parts = Self {
            method: "GET".to_owned(),
            query: trimmed("GET"),
            headers: Vec::new(),
            body: None,
        };
        if let Some(mut cookie) = trimmed("COOKIE") {
            // An environment variable may have several lines, a header field may not.
            for byte in &mut cookie {
                if matches!(byte, b'\r' | b'\n') {
                    *byte = b' ';
                }
            }
            parts.headers.push(("Cookie".to_owned(), cookie));
        }
        for (name, value) in colon_lines(&sections.text("HEADERS").unwrap_or_default()) {
            parts.headers.push((name, value.into_bytes()));
        }
        if let Some(raw) = trimmed("POST_RAW") {
            parts.raw("POST", &raw)?;
        } else if let Some(raw) = trimmed("PUT") {
            parts.raw("PUT", &raw)?;
        } else if let Some(form) = trimmed("POST") {
            "POST".clone_into(&mut parts.method);
            let form_type = b"application/x-www-form-urlencoded".to_vec();
            parts.headers.push(("Content-Type".to_owned(), form_type));
            parts.body = Some(form);
        }
        Ok(parts)
    }

    /// Adds a body. Its first `Content-Type:` line becomes a header field.
    fn raw(&mut self, method: &str, raw: &[u8]) -> Result<(), Unplanned> {
        method.clone_into(&mut self.method);
        let mut body: Option<Vec<u8>> = None;
        for line in raw.split(|byte| *byte == b'\n') {
            let name = line.get(..13).unwrap_or_default();
            let known = self.headers.iter().any(|(n, _)| n == "Content-Type");
            if !known && name.eq_ignore_ascii_case(b"content-type:") {
                self.headers
                    .push(("Content-Type".to_owned(), line[13..].trim_ascii().to_vec()));
                continue;
            }
            match &mut body {
                Some(body) => {
                    body.push(b'\n');
                    body.extend_from_slice(line);
                }
                None => body = Some(line.to_vec()),
            }
        }
        match body.filter(|body| !body.is_empty()) {
            Some(body) => self.body = Some(body),
            None => return Err(Unplanned::Borked(format!("the body of {method} is empty"))),
        }
        Ok(())
    }

    /// Applies an environment variable that php-cgi would read as part of the request. Returns
    /// false for all other variables.
    pub(super) fn take_variable(&mut self, name: &str, value: &str) -> Result<bool, Unplanned> {
        match name {
            "REQUEST_METHOD" => value.clone_into(&mut self.method),
            "QUERY_STRING" => self.query = Some(value.as_bytes().to_vec()),
            "CONTENT_TYPE" => {
                self.headers.retain(|(n, _)| n != "Content-Type");
                self.headers
                    .push(("Content-Type".to_owned(), value.as_bytes().to_vec()));
            }
            name if MADE_BY_THE_SERVER.contains(&name) => {
                return skip(format!("it sets {name}, which a web server makes itself"));
            }
            name if name.starts_with("HTTP_") => {
                self.headers
                    .push((name[5..].replace('_', "-"), value.as_bytes().to_vec()));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn build(self, target: &str) -> Request {
        let mut whole = target.as_bytes().to_vec();
        if let Some(query) = self.query {
            whole.push(b'?');
            for byte in query {
                // Encodes characters that are invalid in a request line. PHP decodes them again.
                if byte.is_ascii_graphic() && byte != b'#' {
                    whole.push(byte);
                } else {
                    whole.extend_from_slice(format!("%{byte:02X}").as_bytes());
                }
            }
        }
        let request = Request::new(&self.method, whole);
        let request = self.headers.iter().fold(request, |r, (name, value)| {
            let r = if name.eq_ignore_ascii_case("host") {
                r.without("host")
            } else {
                r
            };
            r.header(name, value)
        });
        match self.body {
            Some(body) => request.body(body),
            None => request,
        }
    }
}

/// `NAME: VALUE` lines.
pub(super) fn colon_lines(text: &str) -> Vec<(String, String)> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect()
}
