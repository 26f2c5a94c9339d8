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

/// Number of log lines that are shown when a test fails.
const LINES_SHOWN: usize = 100;

/// A started server and its resources.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    pub(crate) child: Child,
    pub(crate) log: LogBook,
    pub(crate) dir: TempDir,
    /// `NAME=VALUE` in the environment of all processes of the server.
    pub(crate) tag: String,
}

/// A running server. Dropping it sends SIGTERM. The test fails unless
///
/// - the server exited in time with the exit code that the test expects (0),
/// - it left no process, spool directory, temporary file or shared memory,
/// - its log contains all expected lines, and no warning, error, panic or sanitizer report that was
///   not announced with [`expect_log`](Self::expect_log) or [`allow_log`](Self::allow_log).
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
    /// Returns a builder for a server of the files in `root`.
    pub fn builder(root: impl AsRef<Path>) -> ServerBuilder {
        ServerBuilder::php_server(root)
    }

    /// Returns a builder for a server with this Caddyfile, see [`ServerBuilder::caddyfile`].
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

    /// Process id of the front process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Address that the server listens on.
    ///
    /// # Panics
    /// Panics if the log does not contain the address.
    #[track_caller]
    pub fn address(&self) -> SocketAddr {
        *self
            .addresses()
            .first()
            .expect("the log has an address with `listening`")
    }

    /// All addresses that the server listens on, in the order of the log.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Temporary directory of the server: `TMPDIR` of all its processes.
    pub fn temp_dir(&self) -> std::path::PathBuf {
        self.dir.path().join("tmp")
    }

    /// Creates a gate for scripts, in a directory that is not checked for files left in it.
    ///
    /// # Panics
    /// Panics if the gate cannot be created.
    #[track_caller]
    pub fn gate(&self, name: &str) -> Gate {
        Gate::new(self.dir.path(), name).expect("the gate's FIFOs can be made")
    }

    /// Opens a new connection.
    ///
    /// # Panics
    /// Panics if the server does not accept it.
    #[track_caller]
    pub fn connect(&self) -> Connection {
        Connection::open(self.address()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends one request on a new connection and returns the response.
    ///
    /// # Panics
    /// Panics if there is no valid response.
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

    /// Sends a `GET` request on a new connection and returns the response.
    ///
    /// # Panics
    /// Panics if there is no valid response.
    #[track_caller]
    pub fn get(&self, target: &str) -> Response {
        self.send(&Request::get(target))
    }

    /// Expects log lines with this text. At least one must be logged before the test ends.
    pub fn expect_log(&self, text: &str) {
        self.log.expect(text);
    }

    /// Allows log lines with this text.
    pub fn allow_log(&self, text: &str) {
        self.log.allow(text);
    }

    /// Allows the warning about a request that made the other requests of its worker wait: on a
    /// busy machine, the process may get no CPU time for that long.
    pub fn allow_hogs(&self) {
        self.allow_log("kept the others of this worker waiting");
    }

    /// Waits for a line with this text. Earlier lines count. The line is then expected.
    ///
    /// # Panics
    /// Panics if no such line is logged in time.
    #[track_caller]
    pub fn wait_log(&self, text: &str) -> LogLine {
        self.log.allow(text);
        self.wait_line(text, |line| line.raw.contains(text))
    }

    /// Waits for a line for which `matches` is true. Earlier lines count.
    ///
    /// # Panics
    /// Panics if no such line is logged in time.
    #[track_caller]
    pub fn wait_line(&self, what: &str, matches: impl Fn(&LogLine) -> bool) -> LogLine {
        self.log
            .wait(PATIENCE, matches)
            .unwrap_or_else(|| panic!("no log line: {what}"))
    }

    /// Log of the server.
    pub fn log(&self) -> &LogBook {
        &self.log
    }

    /// Living PHP workers of the server.
    pub fn workers(&self) -> Vec<Process> {
        self.processes()
            .into_iter()
            .filter(|p| p.command.contains("worker") && !p.command.starts_with("howdah: monitor"))
            .collect()
    }

    /// All living processes of the server except the front process.
    pub fn processes(&self) -> Vec<Process> {
        process::descendants(self.pid)
    }

    /// Sends a signal to the front process.
    ///
    /// # Panics
    /// Panics if the process has already exited.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        process::kill(self.pid, signal).expect("the server is still there");
    }

    /// Expects this exit code instead of 0.
    pub fn expect_exit(&self, code: i32) {
        *self.exit.lock().unwrap_or_else(PoisonError::into_inner) = ExpectedExit::Code(code);
    }

    /// Kills the front process.
    ///
    /// # Panics
    /// Panics if the process has already exited.
    #[track_caller]
    pub fn kill(&self) {
        *self.exit.lock().unwrap_or_else(PoisonError::into_inner) = ExpectedExit::Killed;
        self.signal(Signal::KILL);
    }

    /// Waits until the server has exited.
    ///
    /// # Panics
    /// Panics if it does not exit in time.
    #[track_caller]
    pub fn wait_exit(&self) -> ExitStatus {
        self.exit_within(PATIENCE).expect("the server ends in time")
    }

    /// Whether the server has exited.
    pub fn has_ended(&self) -> bool {
        self.exit_within(Duration::ZERO).is_some()
    }

    /// Stops the server now and runs all checks of [`Server`].
    ///
    /// # Panics
    /// Panics if a check fails.
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

    /// Stops the server and cleans up in all cases. Returns the failed checks.
    fn end(&mut self) -> Vec<String> {
        let failing = std::thread::panicking();
        let limit = if failing { PATIENCE / 6 } else { PATIENCE };
        // Expected lines may not have arrived yet. A failing test does not wait for them.
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
            // A killed front process cannot clean up. The next one does.
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
