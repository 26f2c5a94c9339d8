//! Queries the admin API of a running server. For commands, so it blocks.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::Value;

use super::AdminAddress;
use super::address::resolve;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a response. A status of 512 workers has some hundred KiB, a profile of deep stacks many MiB.
const MAX_RESPONSE: u64 = 160 << 20;
/// Bytes of a response's header.
const MAX_HEAD: usize = 64 << 10;

/// A client of the admin API.
#[derive(Debug, Clone)]
pub struct Client {
    address: AdminAddress,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Bytes as received.
    pub body: Vec<u8>,
    head: String,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum ClientError {
    /// No server listens there.
    #[error(
        "no server answers at {address}; is it running, and is `admin` on? Start `howdah dev` and \
             `howdah php-server` with `--admin {address}`, or name the server's address with `--address` ({source})"
    )]
    NoServer {
        address: AdminAddress,
        #[source]
        source: io::Error,
    },
    /// The user may not connect to the Unix socket.
    #[error(
        "no permission to connect to {address}: only the server's user and root may; run the command as one of them"
    )]
    Denied { address: AdminAddress },
    /// The connection was closed, or a time limit passed.
    #[error("the server at {address} did not respond: {source}")]
    Io {
        address: AdminAddress,
        #[source]
        source: io::Error,
    },
    /// Something else listens there.
    #[error("the server at {0} is not an admin API")]
    NotHttp(AdminAddress),
}

impl Reply {
    /// Its JSON, if it is JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    fn pid(&self) -> Option<u64> {
        self.json()?.get("pid")?.as_u64()
    }

    /// The message of a failure.
    pub fn error(&self) -> String {
        let text = self
            .json()
            .and_then(|body| Some(body.get("error")?.as_str()?.to_owned()));
        text.unwrap_or_else(|| format!("the server responded with {}", self.status))
    }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Client {
    /// A client of the server at this address.
    pub fn new(address: AdminAddress) -> Self {
        Self { address }
    }

    /// Sends a request without a body and reads the response. `limit` is how long the server may stay silent; `None`:
    /// no limit, as for a reload.
    ///
    /// # Errors
    /// No server, no response, or not HTTP.
    pub fn request(
        &self,
        method: &str,
        target: &str,
        limit: Option<Duration>,
    ) -> Result<Reply, ClientError> {
        self.exchange(method, target, "", limit)
    }

    /// Makes the server serve a Caddyfile with this text, and waits for the result.
    ///
    /// # Errors
    /// Those of [`request`](Self::request).
    pub fn load(&self, caddyfile: &str) -> Result<Reply, ClientError> {
        self.exchange("POST", "/load", caddyfile, None)
    }

    fn exchange(
        &self,
        method: &str,
        target: &str,
        caddyfile: &str,
        limit: Option<Duration>,
    ) -> Result<Reply, ClientError> {
        let mut stream = self.connect(limit)?;
        self.send(&mut *stream, method, target, caddyfile)?;
        self.receive(&mut *stream)
    }

    /// Orders the server to stop and waits until it has exited.
    ///
    /// # Errors
    /// Those of [`request`](Self::request). A status that is not a success is the reply.
    pub fn stop(&self) -> Result<Reply, ClientError> {
        let limit = Some(Duration::from_secs(10));
        let reply = self.request("POST", "/stop", limit)?;
        if reply.status != 200 {
            return Ok(reply);
        }
        // A connection lives until the server exits, or its idle timeout passes; then the client must check whether it
        // is still the same server.
        let pid = reply.pid();
        while let Ok(mut stream) = self.connect(None) {
            // Closed or reset, which makes no difference here.
            let _ = stream.read(&mut [0]);
            match self.request("GET", "/health", limit) {
                Ok(now) if now.pid() == pid => {}
                _ => break,
            }
        }
        Ok(reply)
    }

    fn connect(&self, limit: Option<Duration>) -> Result<Box<dyn Stream>, ClientError> {
        let connected: io::Result<Box<dyn Stream>> = match &self.address {
            AdminAddress::Unix(path) => UnixStream::connect(path).and_then(|stream| {
                stream.set_read_timeout(limit)?;
                Ok(Box::new(stream) as Box<dyn Stream>)
            }),
            AdminAddress::Tcp { host, port } => connect_tcp(host, *port).and_then(|stream| {
                stream.set_read_timeout(limit)?;
                Ok(Box::new(stream) as Box<dyn Stream>)
            }),
        };
        connected.map_err(|source| {
            let address = self.address.clone();
            // A timeout means that a server listens there.
            match source.kind() {
                ErrorKind::TimedOut => ClientError::Io { address, source },
                ErrorKind::PermissionDenied => ClientError::Denied { address },
                _ => ClientError::NoServer { address, source },
            }
        })
    }

    fn send(
        &self,
        stream: &mut dyn Stream,
        method: &str,
        target: &str,
        caddyfile: &str,
    ) -> Result<(), ClientError> {
        let host = match &self.address {
            AdminAddress::Tcp { host, port } if host.is_empty() => format!("localhost:{port}"),
            AdminAddress::Tcp { .. } => self.address.to_string(),
            AdminAddress::Unix(_) => "localhost".to_owned(),
        };
        let kind = if caddyfile.is_empty() {
            ""
        } else {
            "Content-Type: text/caddyfile\r\n"
        };
        let length = caddyfile.len();
        let message = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{kind}Content-Length: {length}\r\n\r\n{caddyfile}"
        );
        stream
            .write_all(message.as_bytes())
            .map_err(|error| self.connection_error(error))
    }

    /// Reads to the end of the connection.
    fn receive(&self, stream: &mut dyn Stream) -> Result<Reply, ClientError> {
        let mut bytes = Vec::new();
        stream
            .take(MAX_RESPONSE)
            .read_to_end(&mut bytes)
            .map_err(|error| self.connection_error(error))?;
        if bytes.is_empty() {
            // It has exited, or closes connections when it does.
            let closed = io::Error::new(ErrorKind::UnexpectedEof, "it closed the connection");
            return Err(self.connection_error(closed));
        }
        let not_http = || ClientError::NotHttp(self.address.clone());
        let head_end =
            find(&bytes[..bytes.len().min(MAX_HEAD)], b"\r\n\r\n").ok_or_else(not_http)?;
        let head = std::str::from_utf8(&bytes[..head_end]).map_err(|_| not_http())?;
        let status = status(head).ok_or_else(not_http)?;
        let body = &bytes[head_end + 4..];
        let length = header(head, "content-length").and_then(|value| value.parse::<usize>().ok());
        if length.is_some_and(|length| length != body.len()) {
            return Err(self.connection_error(ErrorKind::UnexpectedEof.into()));
        }
        let (body, head) = (body.to_vec(), head.to_owned());
        Ok(Reply { status, body, head })
    }

    fn connection_error(&self, source: io::Error) -> ClientError {
        let source = match source.kind() {
            // What a socket's read reports after its time limit.
            ErrorKind::WouldBlock => io::Error::new(ErrorKind::TimedOut, "it sent nothing in time"),
            _ => source,
        };
        ClientError::Io {
            address: self.address.clone(),
            source,
        }
    }
}

fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = ErrorKind::AddrNotAvailable.into();
    for address in resolve(host, port, IpAddr::from([127, 0, 0, 1]))? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn status(head: &str) -> Option<u16> {
    let (version, rest) = head.lines().next()?.split_once(' ')?;
    let code = rest.get(..3)?;
    version.starts_with("HTTP/1.").then(|| code.parse().ok())?
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_server_that_exits_or_hangs_is_no_other_program() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let client = Client::new(address.to_string().parse().expect("an address"));
        let limit = Some(Duration::from_millis(50));
        let error = |result: Result<Reply, ClientError>| {
            result
                .map(|reply| reply.status)
                .expect_err("an error")
                .to_string()
        };
        // The backlog of the listener accepts the connection.
        let silent = error(client.request("GET", "/", limit));
        assert!(
            silent.ends_with("did not respond: it sent nothing in time"),
            "{silent}"
        );
        let listens = std::thread::spawn(move || {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().expect("a client");
                // The first client has gone; the second one's request must be read, or the connection is reset.
                let _ = stream.read(&mut [0; 4096]);
            }
        });
        let closed = error(client.request("GET", "/", None));
        assert!(
            closed.ends_with("did not respond: it closed the connection"),
            "{closed}"
        );
        listens.join().expect("no panic");
    }
}
