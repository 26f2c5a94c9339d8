use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::log::{LogBook, LogLine};
use crate::server::{Server, ServerProcess};
use crate::{PATIENCE, binary, process};

/// Environment variable that identifies all processes of one server.
const TAG: &str = "HOWDAH_TEST_SERVER";

/// Configuration of a server that is to be started.
#[derive(Debug)]
pub struct ServerBuilder {
    program: Option<PathBuf>,
    source: Source,
    wrapper: Vec<OsString>,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: Option<PathBuf>,
    keeps_files: bool,
    unprivileged: bool,
}

#[derive(Debug)]
enum Source {
    Root(PathBuf),
    Caddyfile(String),
    Command,
}

/// Result of a server that did not start, or of a command that exited.
#[derive(Debug)]
pub struct ExitReport {
    /// Exit code. `None` if a signal terminated the process or it was killed because it did not
    /// exit.
    pub code: Option<i32>,
    /// Standard output and standard error, in the order in which the lines arrived.
    pub lines: Vec<LogLine>,
}

impl ExitReport {
    /// The whole output.
    pub fn text(&self) -> String {
        self.lines
            .iter()
            .flat_map(|line| [line.raw.as_str(), "\n"])
            .collect()
    }

    /// Checks exit code and output.
    ///
    /// # Panics
    /// Panics if the code differs or the output does not contain `text`.
    #[track_caller]
    pub fn assert(&self, code: i32, text: &str) {
        assert!(
            self.code == Some(code) && self.text().contains(text),
            "wanted exit code {code} and {text:?}, got {:?} and:\n{}",
            self.code,
            self.text()
        );
    }
}

impl ServerBuilder {
    /// `howdah php-server -r root -l 127.0.0.1:0`.
    pub fn php_server(root: impl AsRef<Path>) -> Self {
        Self::of(Source::Root(root.as_ref().to_owned()))
    }

    /// `howdah run -c FILE` with this text. `{tmp}` in the text is replaced by the server's
    /// temporary directory. Sites must listen on port 0 of a loopback address: `http://:0 { bind
    /// 127.0.0.1 … }`.
    pub fn caddyfile(text: impl Into<String>) -> Self {
        Self::of(Source::Caddyfile(text.into()))
    }

    /// `howdah ARGS…` with any arguments.
    pub fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Self {
        Self::of(Source::Command).args(args)
    }

    fn of(source: Source) -> Self {
        Self {
            program: None,
            source,
            wrapper: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            dir: None,
            keeps_files: false,
            unprivileged: false,
        }
    }

    /// Runs another program instead of `howdah`.
    #[must_use]
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = Some(path.into());
        self
    }

    /// Number of PHP processes: `--workers N`.
    #[must_use]
    pub fn workers(self, count: usize) -> Self {
        self.arg("--workers").arg(count.to_string())
    }

    /// PHP setting: `--php-ini NAME=VALUE`.
    #[must_use]
    pub fn ini(self, name: &str, value: &str) -> Self {
        self.arg("--php-ini").arg(format!("{name}={value}"))
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable of the server.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Working directory of the server. Default: that of the test.
    #[must_use]
    pub fn current_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Command that starts the server, such as `unshare`. The server must be its only child.
    #[must_use]
    pub fn through<S: AsRef<OsStr>>(mut self, command: impl IntoIterator<Item = S>) -> Self {
        self.wrapper = command
            .into_iter()
            .map(|arg| arg.as_ref().to_owned())
            .collect();
        self
    }

    /// Allows files that remain in the temporary directory, for example because the test kills PHP
    /// during an upload. The spool directory is still checked.
    #[must_use]
    pub fn keeps_files(mut self) -> Self {
        self.keeps_files = true;
        self
    }

    /// Serves as `www-data` if the test runs as root. Otherwise the server stays root unless its
    /// configuration names a user, because only their owner can read the directories of tests.
    #[must_use]
    pub fn unprivileged(mut self) -> Self {
        self.unprivileged = true;
        self
    }

    /// Starts the server and waits until it accepts requests.
    ///
    /// # Panics
    /// Panics with the output if the server does not start.
    #[track_caller]
    pub fn start(self) -> Server {
        match self.try_start() {
            Ok(server) => server,
            Err(ended) => panic!("the server ended with {:?}:\n{}", ended.code, ended.text()),
        }
    }

    /// Starts the server and waits until it accepts requests or exits.
    ///
    /// # Panics
    /// Panics if the program cannot be run, or if neither happens in time.
    #[track_caller]
    pub fn try_start(self) -> Result<Server, ExitReport> {
        let keeps_files = self.keeps_files;
        let wrapped = !self.wrapper.is_empty();
        let mut running = self.spawn();
        let ready = running.log.wait(PATIENCE, |line| line.message() == "ready");
        if ready.is_some() {
            let pid = if wrapped {
                only_child(running.child.id())
            } else {
                running.child.id()
            };
            return Ok(Server::new(running, pid, keeps_files));
        }
        let ended = end(&mut running);
        assert!(
            ended.code.is_some(),
            "the server was not ready in time:\n{}",
            ended.text()
        );
        Err(ended)
    }

    /// Runs a command that exits by itself.
    ///
    /// # Panics
    /// Panics if the command cannot be run. A command that does not exit in time is killed and has
    /// no exit code.
    #[track_caller]
    pub fn run(self) -> ExitReport {
        end(&mut self.spawn())
    }

    #[track_caller]
    fn spawn(self) -> ServerProcess {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let tag = format!(
            "{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let dir = tempfile::Builder::new().prefix("howdah-test-").tempdir();
        let dir = dir.expect("a temporary directory can be made");
        let tmp = dir.path().join("tmp");
        let sessions = dir.path().join("sessions");
        for folder in [&tmp, &sessions] {
            std::fs::create_dir(folder).expect("a directory can be made");
        }
        let program = self.program.unwrap_or_else(binary::howdah);
        let mut words = self
            .wrapper
            .iter()
            .map(OsString::as_os_str)
            .chain([program.as_os_str()]);
        let mut command = Command::new(words.next().expect("there is at least the program"));
        command.args(words);
        match &self.source {
            Source::Root(root) => {
                command
                    .arg("php-server")
                    .arg("-r")
                    .arg(root)
                    .args(["-l", "127.0.0.1:0"]);
                command.arg("--php-ini");
                command.arg(format!("session.save_path={}", sessions.display()));
            }
            Source::Caddyfile(text) => {
                command
                    .arg("run")
                    .arg("-c")
                    .arg(write_caddyfile(&dir, &tmp, text));
            }
            Source::Command => {}
        }
        command.args(&self.args).env("TMPDIR", &tmp).env(TAG, &tag);
        let user = if self.unprivileged {
            "www-data"
        } else {
            "root"
        };
        command.env("HOWDAH_USER", user);
        // Not the directory that an installed server of this machine uses.
        command.env("STATE_DIRECTORY", dir.path().join("state"));
        command.envs(self.env);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let log = LogBook::default();
        // Tests run at the same time, and only one of their servers gets the default address.
        log.allow("the admin API is off");
        log.collect(child.stdout.take().expect("it is piped"));
        log.collect(child.stderr.take().expect("it is piped"));
        ServerProcess {
            child,
            log,
            dir,
            tag: format!("{TAG}={tag}"),
        }
    }
}

fn write_caddyfile(dir: &TempDir, tmp: &Path, text: &str) -> PathBuf {
    let path = dir.path().join("Caddyfile");
    let text = text.replace("{tmp}", &tmp.display().to_string());
    std::fs::write(&path, text).expect("the Caddyfile can be written");
    path
}

fn end(running: &mut ServerProcess) -> ExitReport {
    let ended = process::wait_until(PATIENCE, || matches!(running.child.try_wait(), Ok(Some(_))));
    let mut code = None;
    if ended {
        code = running.child.wait().ok().and_then(|status| status.code());
    } else {
        running.child.kill().expect("it is ours");
        running.child.wait().expect("it is ours");
    }
    // Remaining processes would keep the log open.
    for left in process::with_environment(&running.tag) {
        if ended && left.wait_exited(PATIENCE / 4) {
            continue;
        }
        code = None;
        drop(process::kill(left.pid, Signal::KILL));
    }
    running.log.wait_end(PATIENCE);
    ExitReport {
        code,
        lines: running.log.lines(),
    }
}

#[track_caller]
fn only_child(parent: u32) -> u32 {
    let children: Vec<_> = process::all()
        .into_iter()
        .filter(|process| process.parent == parent)
        .collect();
    match children.as_slice() {
        [child] => child.pid,
        other => panic!("the wrapper has {} children: {other:?}", other.len()),
    }
}
