//! A private PHP-FPM: the reference of the conformance tests.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::process::{Signal, getuid};
use tempfile::TempDir;

use crate::PATIENCE;
use crate::process::{self, Process};

/// A PHP-FPM with a static pool on a Unix socket in a separate directory. It is stopped when
/// dropped.
#[derive(Debug)]
pub struct Fpm {
    master: Child,
    directory: TempDir,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

/// Options for starting PHP-FPM.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// Number of children of the pool. Default: 2.
    pub children: usize,
    /// `php.ini` instead of the distribution's. PHP still reads the directory of additional files.
    pub ini: Option<&'a Path>,
    /// Variables added to the environment in which `php.ini` is read (`${NAME}`). Scripts do not
    /// see them.
    pub env: &'a [(&'a str, &'a str)],
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            children: 2,
            ini: None,
            env: &[],
        }
    }
}

impl Fpm {
    /// Starts PHP-FPM as the current user and waits until it accepts requests.
    ///
    /// # Panics
    /// Panics with its log if `/usr/sbin/php-fpm8.*` is missing, or if PHP-FPM does not become
    /// ready.
    pub fn start(options: &Options<'_>) -> Self {
        let program = program().expect("no /usr/sbin/php-fpm8.*: install php-fpm");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let config = directory.path().join("fpm.conf");
        fs::write(&config, configuration(directory.path(), options.children))
            .expect("the configuration is written");
        let mut command = Command::new(&program);
        command
            .arg("--nodaemonize")
            .arg("--fpm-config")
            .arg(&config);
        if getuid().is_root() {
            command.arg("--allow-to-run-as-root");
        }
        if let Some(ini) = options.ini {
            command.arg("-c").arg(ini);
        }
        command.envs(options.env.iter().copied());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut master = command.spawn().expect("php-fpm starts");
        let stderr = BufReader::new(master.stderr.take().expect("stderr is piped"));
        let log = Arc::new(Mutex::new(String::new()));
        let (ready, is_ready) = mpsc::channel();
        let reader = thread::spawn({
            let log = Arc::clone(&log);
            move || {
                for line in stderr.split(b'\n').map_while(Result::ok) {
                    let line = String::from_utf8_lossy(&line);
                    if line.contains("ready to handle connections") {
                        // The receiver is dropped after the first message.
                        _ = ready.send(());
                    }
                    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                    log.push_str(&line);
                    log.push('\n');
                }
            }
        });
        let fpm = Self {
            master,
            directory,
            log,
            reader: Some(reader),
        };
        match is_ready.recv_timeout(PATIENCE) {
            Ok(()) => fpm,
            Err(RecvTimeoutError::Timeout) => panic!("php-fpm does not get ready:\n{}", fpm.log()),
            Err(RecvTimeoutError::Disconnected) => panic!("php-fpm ended:\n{}", fpm.log()),
        }
    }

    /// Path of the socket, for [`crate::fastcgi::send`].
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join(SOCKET)
    }

    /// Process id of the master process.
    pub fn pid(&self) -> u32 {
        self.master.id()
    }

    /// The log so far: messages of PHP-FPM, and those of PHP if `log_errors` is on.
    pub fn log(&self) -> String {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Fpm {
    fn drop(&mut self) {
        // SIGTERM also terminates the children. The master waits for them.
        let pid = self.master.id();
        let ended = process::kill(pid, Signal::TERM).is_ok()
            && Process::find(pid).is_none_or(|process| process.wait_exited(PATIENCE));
        if !ended && let Err(error) = self.master.kill() {
            eprintln!("php-fpm {pid} cannot be ended: {error}");
        }
        if let Err(error) = self.master.wait() {
            eprintln!("php-fpm {pid} cannot be waited for: {error}");
        }
        // All processes have exited, so the pipe is closed and the reader is at its end.
        if ended
            && self
                .reader
                .take()
                .is_some_and(|reader| reader.join().is_err())
        {
            eprintln!("the reader of php-fpm's log panicked");
        }
    }
}

const SOCKET: &str = "fpm.sock";

/// Path for which PHP-FPM responds with `pong` without a script.
pub const PING: &str = "/fpm-ping";

/// The latest `/usr/sbin/php-fpm8.*`.
fn program() -> Option<PathBuf> {
    fs::read_dir("/usr/sbin")
        .ok()?
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let minor: u32 = path
                .file_name()?
                .to_str()?
                .strip_prefix("php-fpm8.")?
                .parse()
                .ok()?;
            Some((minor, path))
        })
        .max()
        .map(|(_, path)| path)
}

fn configuration(directory: &Path, children: usize) -> String {
    let socket = directory.join(SOCKET);
    // As root, FPM requires a user for its pool.
    let user = if getuid().is_root() {
        "user = root\ngroup = root\n"
    } else {
        ""
    };
    format!(
        "[global]\n\
         error_log = /proc/self/fd/2\n\
         [www]\n\
         {user}\
         listen = {}\n\
         pm = static\n\
         pm.max_children = {children}\n\
         ping.path = {PING}\n\
         catch_workers_output = yes\n\
         decorate_workers_output = no\n",
        socket.display()
    )
}
