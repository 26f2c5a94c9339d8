//! A server with one worker and `--detect-leaks`, and requests to it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long a server may take to boot its application.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a response may take.
const RESPONSE_LIMIT: Duration = Duration::from_secs(30);
/// Maximum length of a response that is compared.
const MAX_RESPONSE: u64 = 16 << 20;
/// The logger of findings.
const LOGGER: &str = "howdah::leaks";

/// The application that the server runs.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) script: PathBuf,
    pub(super) root: Option<PathBuf>,
    pub(super) php: PathBuf,
    pub(super) ini: Vec<(String, String)>,
    pub(super) env: Vec<(String, String)>,
}

/// A page to request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The URL as given by the user.
    pub(super) url: String,
    host: String,
    path: String,
}

impl Target {
    /// A path, or a URL whose host is sent.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let uri: http::Uri = url.parse().ok()?;
        let path = uri.path_and_query()?.as_str();
        path.starts_with('/').then(|| Self {
            url: url.to_owned(),
            host: uri
                .authority()
                .map_or_else(|| "localhost".to_owned(), ToString::to_string),
            path: path.to_owned(),
        })
    }
}

/// A response, its header names in lower case.
#[derive(Debug, Default, Clone)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Response {
    fn parse(bytes: &[u8]) -> io::Result<Self> {
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

/// State that a request left behind, as the server logs it.
#[derive(Debug)]
pub(super) struct Leak(Value);

impl Leak {
    fn field(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    pub(super) fn text(&self) -> String {
        let (kind, path, why) = (self.field("kind"), self.field("path"), self.field("why"));
        let (method, uri, value) = (self.field("method"), self.field("uri"), self.field("value"));
        let member = self.field("member");
        let member = if member.is_empty() || member == path {
            String::new()
        } else {
            format!(" ({member})")
        };
        format!("{kind} {path}{member} {why}: {value}, by {method} {uri}")
    }

    pub(super) fn places(&self) -> Vec<String> {
        let file = self.field("file");
        let line = self.0["line"].as_u64().unwrap_or(0);
        let is_known = !file.is_empty();
        is_known
            .then(|| format!("{file}:{line}"))
            .into_iter()
            .collect()
    }
}

/// A server for the leak check. It is stopped when it is dropped.
#[derive(Debug)]
pub(super) struct TestServer {
    child: Child,
    address: SocketAddr,
    log: Receiver<Value>,
    reader: Option<JoinHandle<()>>,
    leaks: Vec<Leak>,
}

impl TestServer {
    pub(super) fn start(options: &Options) -> io::Result<Self> {
        let mut worker = options.script.clone().into_os_string();
        worker.push(",1");
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["php-server", "--listen", "127.0.0.1:0", "--no-compress"])
            .args(["--detect-leaks", "--worker"])
            .arg(worker)
            .arg("--php")
            .arg(&options.php);
        if let Some(root) = &options.root {
            command.arg("--root").arg(root);
        }
        for (name, value) in &options.ini {
            command.arg("--php-ini").arg(format!("{name}={value}"));
        }
        command.envs(options.env.iter().map(|(name, value)| (name, value)));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let (sender, log) = channel();
        let errors = child.stderr.take();
        let reader = std::thread::spawn(move || {
            for line in errors
                .into_iter()
                .flat_map(|errors| BufReader::new(errors).lines())
            {
                let Ok(line) = line else { return };
                let record = serde_json::from_str(&line).unwrap_or(Value::String(line));
                // Nothing reads it after the check.
                if sender.send(record).is_err() {
                    return;
                }
            }
        });
        let mut server = Self {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            log,
            reader: Some(reader),
            leaks: Vec::new(),
        };
        server.wait_ready()?;
        Ok(server)
    }

    fn wait_ready(&mut self) -> io::Result<()> {
        let mut output = String::new();
        loop {
            let record = self
                .log
                .recv_timeout(START_LIMIT)
                .map_err(|error| match error {
                    RecvTimeoutError::Timeout => io::Error::new(
                        io::ErrorKind::TimedOut,
                        format!("it is not ready in time. {output}"),
                    ),
                    RecvTimeoutError::Disconnected => io::Error::other(output.clone()),
                })?;
            let text = match &record {
                Value::String(line) => line.clone(),
                record => message(record).to_owned(),
            };
            match &*text {
                "listening" => {
                    let address = record["address"].as_str();
                    self.address = address
                        .and_then(|address| address.parse().ok())
                        .ok_or_else(|| io::Error::other("it listens nowhere"))?;
                }
                "ready" => return Ok(()),
                _ => {
                    output.push_str(&text);
                    output.push('\n');
                    self.note(record);
                }
            }
        }
    }

    /// Sends one request, on a separate connection.
    pub(super) fn get(&self, target: &Target) -> io::Result<Response> {
        let mut stream = TcpStream::connect_timeout(&self.address, RESPONSE_LIMIT)?;
        stream.set_read_timeout(Some(RESPONSE_LIMIT))?;
        // HTTP/1.0 responses end with the connection, and are not chunked.
        let Target { host, path, .. } = target;
        let request =
            format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: howdah-doctor\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut bytes = Vec::new();
        stream.take(MAX_RESPONSE).read_to_end(&mut bytes)?;
        Response::parse(&bytes)
    }

    /// Stops it, and returns the leaks that it has logged.
    pub(super) fn stop(&mut self) -> Vec<Leak> {
        self.end();
        while let Ok(record) = self.log.try_recv() {
            self.note(record);
        }
        std::mem::take(&mut self.leaks)
    }

    fn note(&mut self, record: Value) {
        if record["logger"] == LOGGER && record["kind"].is_string() {
            self.leaks.push(Leak(record));
        }
    }

    /// Stops the process and reads its log to the end.
    fn end(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            // It may have exited.
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if self.reader.is_some() {
            self.end();
        }
    }
}

fn message(record: &Value) -> &str {
    record["msg"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_paths_or_urls() {
        let target = |url| Target::parse(url).map(|target| (target.host, target.path));
        let of = |host: &str, path: &str| Some((host.to_owned(), path.to_owned()));
        assert_eq!(target("/cart?a=b"), of("localhost", "/cart?a=b"));
        assert_eq!(target("https://shop.test/a"), of("shop.test", "/a"));
        assert_eq!(target("https://shop.test"), of("shop.test", "/"));
        for wrong in ["", "cart", "*"] {
            assert_eq!(Target::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_leak_of_a_service_has_its_declaration() {
        let leak = |path: &str, member: &str| {
            Leak(
                serde_json::json!({"kind": "object property", "path": path, "member": member, "why": "grows",
                "value": "array(4)", "method": "GET", "uri": "/a"}),
            )
        };
        assert_eq!(
            leak("$GLOBALS['app']->lines", r"App\Logger::$lines").text(),
            r"object property $GLOBALS['app']->lines (App\Logger::$lines) grows: array(4), by GET /a"
        );
        let own = r"App\Logger::$lines";
        assert_eq!(
            leak(own, own).text(),
            r"object property App\Logger::$lines grows: array(4), by GET /a"
        );
    }

    #[test]
    fn responses_are_split() {
        let response = Response::parse(b"HTTP/1.0 302 Found\r\nLocation: /a\r\n\r\nmoved");
        let response = response.expect("valid");
        assert_eq!((response.status, &*response.body), (302, "moved"));
        assert_eq!(response.headers, [("location".into(), "/a".into())]);
        assert!(Response::parse(b"nonsense").is_err());
    }
}
