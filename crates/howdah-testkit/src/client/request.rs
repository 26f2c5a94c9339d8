/// A request that is sent byte for byte as described. Nothing is checked, so invalid requests can
/// be sent too.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: Vec<u8>,
    version: &'static str,
    headers: Vec<(String, Vec<u8>)>,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    None,
    Sized(Vec<u8>),
    Chunked {
        chunks: Vec<Vec<u8>>,
        trailers: Vec<(String, String)>,
    },
}

impl Request {
    /// Creates a request with `Host: localhost` and no body.
    pub fn new(method: &str, target: impl AsRef<[u8]>) -> Self {
        Self {
            method: method.to_owned(),
            target: target.as_ref().to_vec(),
            version: "HTTP/1.1",
            headers: vec![("Host".to_owned(), b"localhost".to_vec())],
            body: Body::None,
        }
    }

    /// Creates a `GET` request.
    pub fn get(target: impl AsRef<[u8]>) -> Self {
        Self::new("GET", target)
    }

    /// Creates a `POST` request with a form.
    pub fn form(target: impl AsRef<[u8]>, form: &str) -> Self {
        Self::new("POST", target)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(form)
    }

    /// Adds a header field.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers
            .push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Removes all header fields with this name, including `Host`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        self
    }

    /// Replaces the `Host` header.
    #[must_use]
    pub fn host(self, host: &str) -> Self {
        self.without("Host").header("Host", host)
    }

    /// Adds `Connection: close`.
    #[must_use]
    pub fn close(self) -> Self {
        self.header("Connection", "close")
    }

    /// Changes the version to HTTP/1.0.
    #[must_use]
    pub fn http10(mut self) -> Self {
        self.version = "HTTP/1.0";
        self
    }

    /// Sets a body with `Content-Length`.
    #[must_use]
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = Body::Sized(body.as_ref().to_vec());
        self
    }

    /// Sets a chunked body. Empty chunks are skipped, because they would end it.
    #[must_use]
    pub fn chunked<C: AsRef<[u8]>>(mut self, chunks: impl IntoIterator<Item = C>) -> Self {
        let chunks = chunks
            .into_iter()
            .map(|c| c.as_ref().to_vec())
            .filter(|c| !c.is_empty())
            .collect();
        self.body = Body::Chunked {
            chunks,
            trailers: Vec::new(),
        };
        self
    }

    /// Adds a trailer field after a chunked body. Makes the body chunked if it is not.
    #[must_use]
    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        let trailer = (name.to_owned(), value.to_owned());
        match &mut self.body {
            Body::Chunked { trailers, .. } => trailers.push(trailer),
            Body::None => {
                self.body = Body::Chunked {
                    chunks: Vec::new(),
                    trailers: vec![trailer],
                }
            }
            Body::Sized(body) => {
                let chunks = vec![std::mem::take(body)];
                self.body = Body::Chunked {
                    chunks,
                    trailers: vec![trailer],
                };
            }
        }
        self
    }

    /// Method of the request: a response to `HEAD` has no body.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Path and query as sent. Invalid UTF-8 is replaced.
    pub fn target(&self) -> String {
        String::from_utf8_lossy(&self.target).into_owned()
    }

    /// The header fields that were added, including `Host`. Invalid UTF-8 is replaced.
    pub fn headers(&self) -> Vec<(String, String)> {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        self.headers
            .iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect()
    }

    /// Request line and header fields, including the empty line after them.
    pub fn head_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(&self.target);
        out.push(b' ');
        out.extend_from_slice(self.version.as_bytes());
        out.extend_from_slice(b"\r\n");
        for (name, value) in &self.headers {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        match &self.body {
            Body::None => {}
            Body::Sized(body) => {
                out.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
            }
            Body::Chunked { .. } => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        }
        out.extend_from_slice(b"\r\n");
        out
    }

    /// The body as it is sent.
    pub fn body_bytes(&self) -> Vec<u8> {
        match &self.body {
            Body::None => Vec::new(),
            Body::Sized(body) => body.clone(),
            Body::Chunked { chunks, trailers } => {
                let mut out = Vec::new();
                for chunk in chunks {
                    out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    out.extend_from_slice(chunk);
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"0\r\n");
                for (name, value) in trailers {
                    out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
                }
                out.extend_from_slice(b"\r\n");
                out
            }
        }
    }

    /// The whole request as it is sent.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.head_bytes();
        out.extend_from_slice(&self.body_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_configured_lines() {
        let request = Request::form("/a?b=c", "x=1")
            .header("X-Odd", b"\xff")
            .close();
        assert_eq!(
            request.to_bytes(),
            b"POST /a?b=c HTTP/1.1\r\nHost: localhost\r\n\
              Content-Type: application/x-www-form-urlencoded\r\nX-Odd: \xff\r\n\
              Connection: close\r\nContent-Length: 3\r\n\r\nx=1"
        );
    }

    #[test]
    fn writes_chunks_and_trailers() {
        let request = Request::new("PUT", "/")
            .without("host")
            .chunked(["ab", "", "c"]);
        let request = request.trailer("X-Sum", "7");
        assert_eq!(
            request.to_bytes(),
            b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX-Sum: 7\r\n\r\n"
        );
    }
}
