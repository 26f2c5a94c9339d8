//! A FastCGI client. It sends requests to PHP-FPM as nginx does, for tests that compare responses.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use crate::PATIENCE;

/// A request as nginx sees it before `fastcgi_pass`.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// Path and query as sent.
    pub target: &'a str,
    /// Header fields in order. Names may have any case.
    pub headers: &'a [(String, String)],
    /// The whole body.
    pub body: &'a [u8],
    /// Document root, absolute, without a trailing slash.
    pub root: &'a str,
}

/// Response of the FastCGI application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Value of the `Status` field, or 200 without it.
    pub status: u16,
    /// The remaining header fields in order, as sent.
    pub headers: Vec<(String, String)>,
    /// Response body.
    pub body: Vec<u8>,
    /// Messages that PHP-FPM sent for the web server's log.
    pub stderr: Vec<u8>,
}

/// Reason why there is no response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The socket failed, or it was closed before the end of the request.
    #[error("PHP-FPM's socket: {0}")]
    Io(#[from] io::Error),
    /// The peer does not speak FastCGI.
    #[error("not a FastCGI response: {0}")]
    Protocol(String),
    /// The application's header is invalid.
    #[error("not a CGI header: {0:?}")]
    Header(String),
}

const VERSION: u8 = 1;
const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;
const REQUEST_ID: u16 = 1;
const RESPONDER: [u8; 8] = [0, 1, 0, 0, 0, 0, 0, 0];
const RECORD_MAX: usize = 65_535;

/// Sends the request on a new connection and waits for the whole response.
pub fn send(socket: &Path, query: &Query<'_>) -> Result<Answer, Error> {
    send_params(socket, &nginx_params(query), query.body)
}

/// Like [`send`], with the given parameters.
pub fn send_params(
    socket: &Path,
    params: &[(String, String)],
    body: &[u8],
) -> Result<Answer, Error> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // PHP may respond before it has read the body. Both directions run at the same time to avoid a
    // deadlock.
    let (written, answer) = thread::scope(|scope| {
        let writer = scope.spawn(|| write_request(&stream, params, body));
        let answer = read_answer(BufReader::new(&stream));
        (writer.join(), answer)
    });
    let answer = answer?;
    match written {
        Ok(Ok(())) => Ok(answer),
        // The response is complete, and PHP did not need the rest of the body.
        Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(answer),
        Ok(Err(error)) => Err(Error::Io(error)),
        Err(_) => Err(Error::Protocol(
            "the writer of the request panicked".to_owned(),
        )),
    }
}

/// Returns the parameters of nginx's `fastcgi_params`, then the script's file name and `PATH_INFO`
/// as in nginx's documentation (`fastcgi_split_path_info ^(.+?\.php)(/.*)$`, `fastcgi_index
/// index.php`), then the header fields.
pub fn nginx_params(query: &Query<'_>) -> Vec<(String, String)> {
    let (raw_path, arguments) = query.target.split_once('?').unwrap_or((query.target, ""));
    let mut path = percent_decode(raw_path);
    if path.ends_with('/') && !path.to_ascii_lowercase().contains(".php/") {
        path.push_str("index.php");
    }
    let (script, path_info) = match path.find(".php/") {
        Some(at) => path.split_at(at + ".php".len()),
        None => (path.as_str(), ""),
    };
    let field = |name: &str| {
        query
            .headers
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value.as_str())
    };
    let length = if query.body.is_empty() && field("content-length").is_empty() {
        String::new()
    } else {
        query.body.len().to_string()
    };
    let server_name = field("host").split(':').next().unwrap_or_default();
    let mut params: Vec<(String, String)> = [
        (
            "SCRIPT_FILENAME",
            format!("{}{script}", query.root).as_str(),
        ),
        ("PATH_INFO", path_info),
        ("QUERY_STRING", arguments),
        ("REQUEST_METHOD", query.method),
        ("CONTENT_TYPE", field("content-type")),
        ("CONTENT_LENGTH", &length),
        ("SCRIPT_NAME", script),
        ("REQUEST_URI", query.target),
        ("DOCUMENT_URI", &path),
        ("DOCUMENT_ROOT", query.root),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("REQUEST_SCHEME", "http"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("SERVER_SOFTWARE", "nginx/1.22.1"),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("REMOTE_PORT", "40000"),
        ("SERVER_ADDR", "127.0.0.1"),
        ("SERVER_PORT", "80"),
        ("SERVER_NAME", server_name),
        ("REDIRECT_STATUS", "200"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    for (name, value) in query.headers {
        // As with nginx's `ignore_invalid_headers on` and `underscores_in_headers off`.
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            continue;
        }
        let variable = format!("HTTP_{}", name.to_ascii_uppercase().replace('-', "_"));
        match params.iter_mut().find(|(known, _)| *known == variable) {
            Some((_, joined)) => {
                let separator = if variable == "HTTP_COOKIE" {
                    "; "
                } else {
                    ", "
                };
                *joined = [joined, separator, value].concat();
            }
            None => params.push((variable, value.clone())),
        }
    }
    params
}

fn percent_decode(path: &str) -> String {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = |at: usize| tail.get(at).and_then(|b| char::from(*b).to_digit(16));
        if first == b'%'
            && let (Some(high), Some(low)) = (hex(0), hex(1))
        {
            decoded.extend(u8::try_from(high * 16 + low));
            rest = &tail[2..];
        } else {
            decoded.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn write_request(
    mut stream: &UnixStream,
    params: &[(String, String)],
    body: &[u8],
) -> io::Result<()> {
    let mut bytes = Vec::new();
    push_record(&mut bytes, BEGIN_REQUEST, &RESPONDER)?;
    let mut pairs = Vec::new();
    for (name, value) in params {
        push_length(&mut pairs, name.len())?;
        push_length(&mut pairs, value.len())?;
        pairs.extend_from_slice(name.as_bytes());
        pairs.extend_from_slice(value.as_bytes());
    }
    push_stream(&mut bytes, PARAMS, &pairs)?;
    push_stream(&mut bytes, STDIN, body)?;
    stream.write_all(&bytes)
}

fn push_stream(out: &mut Vec<u8>, kind: u8, content: &[u8]) -> io::Result<()> {
    for part in content.chunks(RECORD_MAX) {
        push_record(out, kind, part)?;
    }
    push_record(out, kind, &[])
}

fn push_record(out: &mut Vec<u8>, kind: u8, content: &[u8]) -> io::Result<()> {
    let size = u16::try_from(content.len())
        .map_err(io::Error::other)?
        .to_be_bytes();
    let id = REQUEST_ID.to_be_bytes();
    out.extend_from_slice(&[VERSION, kind, id[0], id[1], size[0], size[1], 0, 0]);
    out.extend_from_slice(content);
    Ok(())
}

/// Writes one byte for a length below 128, otherwise four bytes with the highest bit set.
fn push_length(out: &mut Vec<u8>, length: usize) -> io::Result<()> {
    if let Some(short) = u8::try_from(length).ok().filter(|short| *short < 0x80) {
        out.push(short);
    } else {
        let long = u32::try_from(length).ok().filter(|long| *long < 1 << 31);
        let long = long.ok_or_else(|| io::Error::other("a parameter is longer than 2 GiB"))?;
        out.extend_from_slice(&(long | 1 << 31).to_be_bytes());
    }
    Ok(())
}

fn read_answer(mut stream: impl Read) -> Result<Answer, Error> {
    let (mut output, mut stderr) = (Vec::new(), Vec::new());
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header)?;
        let [version, kind, _, _, size_high, size_low, padding, _] = header;
        if version != VERSION {
            return Err(Error::Protocol(format!("version {version}")));
        }
        let size = usize::from(u16::from_be_bytes([size_high, size_low]));
        let mut content = vec![0; size + usize::from(padding)];
        stream.read_exact(&mut content)?;
        content.truncate(size);
        match kind {
            STDOUT => output.append(&mut content),
            STDERR => stderr.append(&mut content),
            // The content starts with the application status (4 bytes) and the protocol status.
            END_REQUEST if content.get(4) == Some(&0) => break,
            END_REQUEST => {
                return Err(Error::Protocol(format!(
                    "the request was refused: {content:?}"
                )));
            }
            _ => return Err(Error::Protocol(format!("record of type {kind}"))),
        }
    }
    let (status, headers, body) = parse_output(&output)?;
    Ok(Answer {
        status,
        headers,
        body,
        stderr,
    })
}

type Output = (u16, Vec<(String, String)>, Vec<u8>);

fn parse_output(output: &[u8]) -> Result<Output, Error> {
    let invalid = |line: &[u8]| Error::Header(String::from_utf8_lossy(line).into_owned());
    let (mut status, mut headers, mut rest) = (200, Vec::new(), output);
    loop {
        let at = rest
            .iter()
            .position(|b| *b == b'\n')
            .ok_or_else(|| invalid(rest))?;
        let (line, tail) = rest.split_at(at);
        rest = &tail[1..];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Ok((status, headers, rest.to_vec()));
        }
        let text = String::from_utf8_lossy(line);
        let (name, value) = text.split_once(':').ok_or_else(|| invalid(line))?;
        let value = value.trim_start();
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().and_then(|code| code.parse().ok());
            status = code.ok_or_else(|| invalid(line))?;
        } else {
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(params: &'a [(String, String)], name: &str) -> Option<&'a str> {
        params
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    #[test]
    fn parameters_are_those_of_nginx() {
        let headers = [
            ("Host", "a.test:81"),
            ("X-Two", "1"),
            ("x-two", "2"),
            ("X_Two", "spoofed"),
            ("Content-Type", "text/plain"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let query = Query {
            method: "POST",
            target: "/s/a%20b.php/x/%C3%A9?q=%31",
            headers: &headers,
            body: b"12345",
            root: "/srv",
        };
        let params = nginx_params(&query);
        for (name, expected) in [
            ("SCRIPT_FILENAME", "/srv/s/a b.php"),
            ("SCRIPT_NAME", "/s/a b.php"),
            ("PATH_INFO", "/x/\u{e9}"),
            ("REQUEST_URI", "/s/a%20b.php/x/%C3%A9?q=%31"),
            ("QUERY_STRING", "q=%31"),
            ("CONTENT_LENGTH", "5"),
            ("CONTENT_TYPE", "text/plain"),
            ("SERVER_NAME", "a.test"),
            ("HTTP_X_TWO", "1, 2"),
        ] {
            assert_eq!(value(&params, name), Some(expected), "{name}");
        }
        let index = nginx_params(&Query {
            target: "/dir/",
            method: "GET",
            body: b"",
            ..query
        });
        assert_eq!(value(&index, "SCRIPT_NAME"), Some("/dir/index.php"));
        assert_eq!(value(&index, "CONTENT_LENGTH"), Some(""));
    }

    #[test]
    fn lengths_have_one_or_four_bytes() {
        for (length, expected) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[128, 0, 0, 128]),
            (65_536, &[128, 1, 0, 0]),
        ] {
            let mut out = Vec::new();
            push_length(&mut out, length).unwrap();
            assert_eq!(out, expected);
        }
        assert!(push_length(&mut Vec::new(), 1 << 31).is_err());
    }

    fn record(kind: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        push_record(&mut bytes, kind, content).unwrap();
        bytes
    }

    #[test]
    fn answers_are_put_together_from_records() {
        let bytes = [
            record(STDOUT, b"Status: 404 Not Found\r\nX-A: 1\r\nX-"),
            record(STDERR, b"a warning"),
            record(STDOUT, b"A: 2\r\n\r\nbo"),
            record(STDOUT, b"dy\n"),
            record(STDOUT, b""),
            record(END_REQUEST, &[0; 8]),
        ]
        .concat();
        let answer = read_answer(bytes.as_slice()).unwrap();
        assert_eq!(answer.status, 404);
        let fields = [("X-A", "1"), ("X-A", "2")];
        assert_eq!(
            answer.headers,
            fields.map(|(n, v)| (n.to_owned(), v.to_owned()))
        );
        assert_eq!(answer.body, b"body\n");
        assert_eq!(answer.stderr, b"a warning");
        for end in 0..bytes.len() {
            assert!(
                matches!(read_answer(&bytes[..end]), Err(Error::Io(_))),
                "cut at {end}"
            );
        }
    }

    #[test]
    fn wrong_answers_are_errors() {
        let refused = record(END_REQUEST, &[0, 0, 0, 0, 2, 0, 0, 0]);
        assert!(matches!(
            read_answer(refused.as_slice()),
            Err(Error::Protocol(_))
        ));
        assert!(matches!(
            read_answer(&b"HTTP/1.1 400"[..]),
            Err(Error::Protocol(_))
        ));
        assert!(matches!(
            read_answer(record(9, b"x").as_slice()),
            Err(Error::Protocol(_))
        ));
        for output in [
            &b"no colon\r\n\r\n"[..],
            b"X: 1\r\n",
            b"",
            b"Status: x\r\n\r\n",
        ] {
            let bytes = [record(STDOUT, output), record(END_REQUEST, &[0; 8])].concat();
            assert!(matches!(
                read_answer(bytes.as_slice()),
                Err(Error::Header(_))
            ));
        }
    }
}
