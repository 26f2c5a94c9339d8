//! A server with one worker, and requests to it.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::caddyfile::{Application, BRACE, Mode};
use super::leak::Leak;
use super::response::Response;
use super::target::Target;
use crate::request_header::RequestHeader;

/// How long a server may take to boot its application.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a response may take.
const RESPONSE_LIMIT: Duration = Duration::from_secs(30);
/// Maximum length of a response that is compared.
const MAX_RESPONSE: u64 = 16 << 20;

/// A server for the leak check. It is stopped when it is dropped.
#[derive(Debug)]
pub(super) struct TestServer {
    child: Child,
    address: SocketAddr,
    log: Receiver<Value>,
    reader: Option<JoinHandle<()>>,
    leaks: Vec<Leak>,
    requests: Cell<usize>,
}

impl TestServer {
    pub(super) fn start(application: &Application, mode: Mode) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        // In memory: it may contain passwords.
        command
            .args(["run", "--config", "/proc/self/fd/0"])
            .stdin(memory_file(&application.caddyfile(mode))?)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .env(BRACE, "{");
        for name in &application.withheld {
            command.env_remove(name);
        }
        let mut child = command.spawn()?;
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
            requests: Cell::new(0),
        };
        server.wait_ready()?;
        Ok(server)
    }

    fn wait_ready(&mut self) -> io::Result<()> {
        let mut output = Vec::new();
        loop {
            let record = self
                .log
                .recv_timeout(START_LIMIT)
                .map_err(|error| match error {
                    RecvTimeoutError::Timeout => io::Error::new(
                        io::ErrorKind::TimedOut,
                        format!("it is not ready in time. {}", cause(&output)),
                    ),
                    RecvTimeoutError::Disconnected => io::Error::other(cause(&output)),
                })?;
            match message(&record) {
                "listening" => {
                    let address = record["address"].as_str();
                    self.address = address
                        .and_then(|address| address.parse().ok())
                        .ok_or_else(|| io::Error::other("it listens nowhere"))?;
                }
                "ready" => return Ok(()),
                _ => {
                    output.push(message(&record).to_owned());
                    self.note(record);
                }
            }
        }
    }

    /// Sends one request, on a separate connection.
    pub(super) fn get(&self, target: &Target, headers: &[RequestHeader]) -> io::Result<Response> {
        self.requests.set(self.requests.get() + 1);
        let mut stream = TcpStream::connect_timeout(&self.address, RESPONSE_LIMIT)?;
        stream.set_read_timeout(Some(RESPONSE_LIMIT))?;
        stream.write_all(&request(target, headers))?;
        let mut bytes = Vec::new();
        stream.take(MAX_RESPONSE).read_to_end(&mut bytes)?;
        Response::parse(&bytes)
    }

    /// Requests so far.
    pub(super) fn requests(&self) -> usize {
        self.requests.get()
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
        self.leaks.extend(Leak::of(record));
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

/// A file without a name.
fn memory_file(text: &str) -> io::Result<Stdio> {
    let file: OwnedFd = memfd_create("howdah-doctor", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(text.as_bytes())?;
    Ok(file.into())
}

fn request(target: &Target, headers: &[RequestHeader]) -> Vec<u8> {
    let Target { host, path, .. } = target;
    // HTTP/1.0 responses end with the connection, and are not chunked.
    let mut request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n").into_bytes();
    if !headers
        .iter()
        .any(|header| header.is(&http::header::USER_AGENT))
    {
        request.extend_from_slice(b"User-Agent: howdah-doctor\r\n");
    }
    for header in headers {
        header.write(&mut request);
    }
    request.extend_from_slice(b"\r\n");
    request
}

/// The message of a log record, or the text of any other line.
fn message(record: &Value) -> &str {
    let text = record.as_str().or_else(|| record["msg"].as_str());
    text.unwrap_or_default()
}

/// Why the server did not start, from its output: the last message of the program, else the last line.
fn cause(output: &[String]) -> String {
    const END: &str = "howdah: ";
    let lines = output.iter().flat_map(|message| message.lines());
    let lines: Vec<&str> = lines.collect();
    let end = lines.iter().rposition(|line| line.starts_with(END));
    let start = end.unwrap_or(lines.len().saturating_sub(1));
    let is_detail =
        |line: &&&str| line.starts_with("Stack trace:") || line.starts_with("The worker script ");
    let of_message = lines[start..].iter().take_while(|line| !is_detail(line));
    let of_message: Vec<&str> = of_message.map(|line| line.trim()).collect();
    let text = of_message.join(" ");
    let text = text.strip_prefix(END).unwrap_or(&text);
    // PHP's own message names the script.
    match text.split_once("times in a row: ") {
        Some((_, php)) => php.to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::targets;
    use super::*;

    #[test]
    fn the_cause_is_one_message_on_one_line() {
        let of = |lines: &[&str]| cause(&lines.iter().map(ToString::to_string).collect::<Vec<_>>());
        let boot = [
            "PHP Fatal error:  Uncaught Exception: no\ndb in /a.php:2\nStack trace:\n#0 {main}",
            "The worker script /a.php ended with an error",
            "howdah: worker script /a.php: pool a did not start, 1 times in a row: PHP Fatal error:  Uncaught \
             Exception: no",
            "db in /a.php:2",
            "Stack trace:",
            "#0 {main}",
        ];
        let expected = "PHP Fatal error:  Uncaught Exception: no db in /a.php:2";
        assert_eq!(of(&boot), expected);
        let missing = "worker script /a.php: No such file";
        assert_eq!(of(&["info", &format!("howdah: {missing}")]), missing);
        assert_eq!(of(&["one", "killed"]), "killed");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn header_fields_follow_those_of_the_request() {
        let target = &targets(&["http://shop.test/a?b".into()]).expect("valid")[0];
        let sent = |headers: &[&str]| {
            let headers: Vec<RequestHeader> = headers
                .iter()
                .map(|text| text.parse().expect("valid"))
                .collect();
            String::from_utf8(request(target, &headers)).expect("ASCII")
        };
        let head = "GET /a?b HTTP/1.0\r\nHost: shop.test\r\n";
        let agent = "User-Agent: howdah-doctor\r\n";
        assert_eq!(sent(&[]), format!("{head}{agent}\r\n"));
        let own = ["User-Agent: mine", "X-A: 1", "X-A: 2"];
        let fields = "user-agent: mine\r\nx-a: 1\r\nx-a: 2\r\n";
        assert_eq!(sent(&own), format!("{head}{fields}\r\n"));
    }
}
