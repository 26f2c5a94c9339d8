use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::client::{Connection, Request, Response};
use crate::log::{LogBook, LogLine};
use crate::process::{self, Process};
use crate::{Gate, PATIENCE, ServerBuilder};

/// How much of a log is shown when a test fails.
const LINES_SHOWN: usize = 100;

/// A server that was started, and what belongs to it.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    pub(crate) child: Child,
    pub(crate) log: LogBook,
    pub(crate) dir: TempDir,
    /// `NAME=VALUE` in the environment of all its processes.
    pub(crate) tag: String,
}

/// A running server. When it is dropped it is ended by SIGTERM, and the test fails unless
///
/// - it ended in time with the exit code that the test expects (0),
/// - no process, spool directory, temporary file or shared memory of it is left,
/// - its log holds no warning, error, panic or sanitizer report that was not announced with
///   [`expect_log`](Self::expect_log) or [`allow_log`](Self::allow_log), and all that was expected.
#[derive(Debug)]
pub struct Server {
    child: Mutex<Child>,
    pid: u32,
    addresses: Vec<SocketAddr>,
    log: LogBook,
    dir: TempDir,
    tag: String,
    keeps_files: bool,
    exit: Mutex<ExpectedExit>,
    checked: bool,
}

#[derive(Debug, Clone, Copy)]
enum ExpectedExit {
    Code(i32),
    Killed,
}

impl Server {
    /// A server of the files in `root`, to be configured and started.
    pub fn builder(root: impl AsRef<Path>) -> ServerBuilder {
        ServerBuilder::php_server(root)
    }

    /// A server configured by a Caddyfile, see [`ServerBuilder::caddyfile`].
    pub fn caddyfile(text: impl Into<String>) -> ServerBuilder {
        ServerBuilder::caddyfile(text)
    }

    pub(crate) fn new(running: ServerProcess, pid: u32, keeps_files: bool) -> Self {
        let ServerProcess {
            child,
            log,
            dir,
            tag,
        } = running;
        let listening = log.lines();
        let listening = listening
            .iter()
            .filter(|line| line.message() == "listening");
        let addresses = listening
            .filter_map(|line| line.text("address")?.parse().ok())
            .collect();
        Self {
            child: Mutex::new(child),
            pid,
            addresses,
            log,
            dir,
            tag,
            keeps_files,
            exit: Mutex::new(ExpectedExit::Code(0)),
            checked: false,
        }
    }

    /// Process id of the front.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Where it listens.
    ///
    /// # Panics
    /// If its log did not tell.
    #[track_caller]
    pub fn address(&self) -> SocketAddr {
        *self
            .addresses()
            .first()
            .expect("the log tells an address with `listening`")
    }

    /// All addresses that it listens on, in the order of the log.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Its temporary directory: `TMPDIR` of all its processes.
    pub fn temp_dir(&self) -> std::path::PathBuf {
        self.dir.path().join("tmp")
    }

    /// A gate for its scripts, in a directory that is not checked for left files.
    ///
    /// # Panics
    /// If it cannot be made.
    #[track_caller]
    pub fn gate(&self, name: &str) -> Gate {
        Gate::new(self.dir.path(), name).expect("the gate's FIFOs can be made")
    }

    /// A new connection.
    ///
    /// # Panics
    /// If it is not accepted.
    #[track_caller]
    pub fn connect(&self) -> Connection {
        Connection::open(self.address()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The response to one request on a new connection.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn send(&self, request: &Request) -> Response {
        match self.connect().exchange(request) {
            Ok(response) => response,
            Err(error) => panic!(
                "{error}; request: {:?}",
                String::from_utf8_lossy(&request.head_bytes())
            ),
        }
    }

    /// The response to a `GET` on a new connection.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn get(&self, target: &str) -> Response {
        self.send(&Request::get(target))
    }

    /// Lines with this text are expected, and one must come before the test ends.
    pub fn expect_log(&self, text: &str) {
        self.log.expect(text);
    }

    /// Lines with this text are expected, but need not come.
    pub fn allow_log(&self, text: &str) {
        self.log.allow(text);
    }

    /// A request that kept the others of its worker waiting is expected: a busy machine may give the
    /// process no time for as long as a hog takes.
    pub fn allow_hogs(&self) {
        self.allow_log("kept the others of this worker waiting");
    }

    /// Waits for a line with this text, past ones included. It is expected.
    ///
    /// # Panics
    /// If none comes in time.
    #[track_caller]
    pub fn wait_log(&self, text: &str) -> LogLine {
        self.log.allow(text);
        self.wait_line(text, |line| line.raw.contains(text))
    }

    /// Waits for a line that `matches`, past ones included.
    ///
    /// # Panics
    /// If none comes in time.
    #[track_caller]
    pub fn wait_line(&self, what: &str, matches: impl Fn(&LogLine) -> bool) -> LogLine {
        self.log
            .wait(PATIENCE, matches)
            .unwrap_or_else(|| panic!("no log line: {what}"))
    }

    /// Its log.
    pub fn log(&self) -> &LogBook {
        &self.log
    }

    /// Its living PHP workers.
    pub fn workers(&self) -> Vec<Process> {
        self.processes()
            .into_iter()
            .filter(|p| p.command.contains("worker") && !p.command.starts_with("howdah: monitor"))
            .collect()
    }

    /// All its living processes but the front.
    pub fn processes(&self) -> Vec<Process> {
        process::descendants(self.pid)
    }

    /// Sends a signal to the front.
    ///
    /// # Panics
    /// If it is gone.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        process::kill(self.pid, signal).expect("the server is still there");
    }

    /// It is to end with another code than 0.
    pub fn expect_exit(&self, code: i32) {
        *self.exit.lock().unwrap_or_else(PoisonError::into_inner) = ExpectedExit::Code(code);
    }

    /// The test kills the front itself.
    ///
    /// # Panics
    /// If it is gone already.
    #[track_caller]
    pub fn kill(&self) {
        *self.exit.lock().unwrap_or_else(PoisonError::into_inner) = ExpectedExit::Killed;
        self.signal(Signal::KILL);
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// If it does not in time.
    #[track_caller]
    pub fn wait_exit(&self) -> ExitStatus {
        self.exit_within(PATIENCE).expect("the server ends in time")
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.exit_within(Duration::ZERO).is_some()
    }

    /// Ends it now and checks all that [`Server`] promises.
    ///
    /// # Panics
    /// If one of them is broken.
    #[track_caller]
    pub fn stop(mut self) {
        self.check();
    }

    fn exit_within(&self, limit: Duration) -> Option<ExitStatus> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let mut status = None;
        let ended = process::wait_until(limit, || {
            status = child.try_wait().ok().flatten();
            status.is_some()
        });
        if ended { status } else { None }
    }

    #[track_caller]
    fn check(&mut self) {
        if std::mem::replace(&mut self.checked, true) {
            return;
        }
        let complaints = self.end();
        if complaints.is_empty() {
            return;
        }
        self.show_log();
        assert!(
            std::thread::panicking(),
            "the server is not well:\n  {}",
            complaints.join("\n  ")
        );
    }

    /// Ends the server, and leaves nothing behind whatever it did wrong. Answers what it did wrong.
    fn end(&mut self) -> Vec<String> {
        let failing = std::thread::panicking();
        let limit = if failing { PATIENCE / 6 } else { PATIENCE };
        // Expected lines may still be on their way; a failing test does not wait for them.
        let mut complaints = if failing {
            Vec::new()
        } else {
            self.log.complaints(PATIENCE)
        };
        let family = process::descendants(self.pid);
        if self.exit_within(Duration::ZERO).is_none() {
            drop(process::kill(self.pid, Signal::TERM));
        }
        complaints.extend(self.exit_complaint(limit));
        for process in family.iter().chain(&process::with_environment(&self.tag)) {
            if !process.wait_exited(PATIENCE / 6) {
                complaints.push(format!(
                    "left behind: process {} {}",
                    process.pid, process.command
                ));
                drop(process::kill(process.pid, Signal::KILL));
            }
        }
        if !self.log.wait_end(PATIENCE / 6) {
            complaints.push("left behind: something that holds the log open".to_owned());
        }
        complaints.extend(self.leftover_files());
        for complaint in self.log.complaints(Duration::ZERO) {
            if !complaints.contains(&complaint) {
                complaints.push(complaint);
            }
        }
        complaints
    }

    fn exit_complaint(&self, limit: Duration) -> Option<String> {
        let expected = *self.exit.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(status) = self.exit_within(limit) else {
            let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
            drop(process::kill(self.pid, Signal::KILL));
            drop(child.kill());
            drop(child.wait());
            return Some(format!(
                "did not end within {} s of SIGTERM",
                limit.as_secs()
            ));
        };
        let right = match expected {
            ExpectedExit::Code(code) => status.code() == Some(code),
            ExpectedExit::Killed => true,
        };
        (!right).then(|| format!("ended with {status}, expected {expected:?}"))
    }

    fn leftover_files(&self) -> Vec<String> {
        let killed = matches!(
            *self.exit.lock().unwrap_or_else(PoisonError::into_inner),
            ExpectedExit::Killed
        );
        let shm = format!("howdah-{}", self.pid);
        let in_shm = names("/dev/shm".as_ref())
            .into_iter()
            .filter(|name| name.contains(&shm));
        let in_temp = names(&self.temp_dir())
            .into_iter()
            // A killed front cannot clean up; the next one does.
            .filter(|name| {
                if name.starts_with("howdah-") {
                    !killed
                } else {
                    !self.keeps_files
                }
            });
        in_shm
            .map(|name| format!("left behind: /dev/shm/{name}"))
            .chain(in_temp.map(|name| format!("left behind: temporary file {name}")))
            .collect()
    }

    fn show_log(&self) {
        let lines = self.log.lines();
        let skipped = lines.len().saturating_sub(LINES_SHOWN);
        eprintln!(
            "--- log of server {} ({skipped} lines before) ---",
            self.pid
        );
        for line in &lines[skipped..] {
            eprintln!("{}", line.raw);
        }
        eprintln!("--- end of log ---");
    }
}

fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect()
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.checked {
            self.checked = true;
            self.end();
            self.show_log();
        } else {
            self.check();
        }
    }
}
