//! `howdah healthcheck`: whether a server on this machine accepts requests, for containers.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::remote;
use crate::cli;
use crate::failure::{Failure, Outcome, setup};

const PORT: u16 = 80;
/// Maximum length of the first line of a response.
const MAX_LINE: usize = 1024;

pub(crate) fn run(options: &cli::HealthCheck) -> Outcome {
    let Some(url) = &options.url else {
        let client = remote::client(&options.server)?;
        remote::success(client.request("GET", "/readyz", Some(options.timeout)))?;
        return Ok(ExitCode::SUCCESS);
    };
    let status = request_status(&Target::parse(url)?, options.timeout)
        .map_err(|error| Failure::Runtime(format!("{url}: {error}")))?;
    if (200..400).contains(&status) {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Runtime(format!("{url}: status {status}")))
}

/// The target of an `http://` URL.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    /// The value of the `Host` header.
    authority: String,
    host: String,
    port: u16,
    path: String,
}

impl Target {
    fn parse(url: &str) -> Result<Self, Failure> {
        let wrong = || {
            setup(format_args!(
                "`{url}` is not the URL of a health check; write for example http://localhost:8080/up"
            ))
        };
        let is_forbidden = |char: char| char.is_whitespace() || char.is_control();
        let rest = url
            .strip_prefix("http://")
            .filter(|_| !url.contains(is_forbidden));
        let rest = rest.ok_or_else(wrong)?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| wrong())?)
            }
            _ => (authority, PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            authority: authority.to_owned(),
            host: host.to_owned(),
            port,
            path: path.to_owned(),
        })
    }
}

/// The status of the response to a GET request.
fn request_status(target: &Target, limit: Duration) -> std::io::Result<u16> {
    let end = Instant::now() + limit;
    let left = || {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::Error::from(std::io::ErrorKind::TimedOut));
        }
        Ok(left)
    };
    let mut last = std::io::ErrorKind::NotFound.into();
    let mut stream = None;
    for address in (target.host.as_str(), target.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left()?) {
            Ok(connected) => {
                stream = Some(connected);
                break;
            }
            Err(error) => last = error,
        }
    }
    let mut stream = stream.ok_or(last)?;
    stream.set_write_timeout(Some(left()?))?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: howdah-healthcheck\r\nConnection: close\r\n\r\n",
        target.path, target.authority
    );
    stream.write_all(request.as_bytes())?;
    let mut line = Vec::new();
    while !line.contains(&b'\n') && line.len() < MAX_LINE {
        stream.set_read_timeout(Some(left()?))?;
        let mut bytes = [0; 256];
        match stream.read(&mut bytes)? {
            0 => break,
            count => line.extend_from_slice(&bytes[..count]),
        }
    }
    let line = String::from_utf8_lossy(&line);
    let status = line
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1)?.get(..3)?.parse().ok());
    status.ok_or_else(|| std::io::Error::other("the response is not HTTP/1"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn urls() {
        let target = |url: &str| {
            let target = Target::parse(url).expect(url);
            (target.host, target.port, target.path)
        };
        let of = |host: &str, port, path: &str| (host.to_owned(), port, path.to_owned());
        assert_eq!(target("http://a"), of("a", 80, "/"));
        assert_eq!(target("http://a:81/up?x"), of("a", 81, "/up?x"));
        assert_eq!(target("http://[::1]/"), of("::1", 80, "/"));
        assert_eq!(target("http://[::1]:8080"), of("::1", 8080, "/"));
        for wrong in ["a", "https://a", "http://", "http://a:x/", "http://a/ b"] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_status_is_read_and_a_silent_server_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("bound");
        let target = Target::parse(&format!("http://{address}/up")).expect("a URL");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut bytes = [0; 512];
            let count = stream.read(&mut bytes).expect("a request");
            stream
                .write_all(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
                .expect("sent");
            let request = String::from_utf8_lossy(&bytes[..count]).into_owned();
            (request, listener)
        });
        let limit = Duration::from_secs(30);
        assert_eq!(request_status(&target, limit).expect("a status"), 503);
        let (request, _listener) = server.join().expect("served");
        assert!(
            request.starts_with("GET /up HTTP/1.1\r\nHost: 127.0.0.1:"),
            "{request}"
        );
        // The kernel connects, and no response follows.
        let error = request_status(&target, Duration::from_millis(50)).expect_err("no answer");
        let kinds = [std::io::ErrorKind::TimedOut, std::io::ErrorKind::WouldBlock];
        assert!(kinds.contains(&error.kind()), "{error}");
    }
}
