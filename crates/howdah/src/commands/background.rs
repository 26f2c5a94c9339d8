//! `howdah start`: `howdah run` in the background. The server reports as to a service manager, by datagrams to a
//! socket that waits here until it is ready or has ended.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use crate::cli;
use crate::failure::{Failure, Outcome, setup};
use crate::paths::absolute;

/// Between two looks whether the server has ended.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of the end of the log that are shown of a server that did not start.
const SHOWN: i64 = 4096;

pub(crate) fn start(options: &cli::Start) -> Outcome {
    let log = match &options.log {
        Some(log) => absolute(log),
        None => default_log()?,
    };
    let file = append(&log).map_err(|error| {
        setup(format_args!(
            "{}: {error}; choose one with --log",
            log.display()
        ))
    })?;
    let before = file.metadata().map_or(0, |file| file.len());
    let socket = ReportSocket::bind().map_err(|error| Failure::Runtime(error.to_string()))?;
    let mut child = server(options, &file, &socket.path)?;
    let pid = child.id();
    loop {
        if socket.is_ready() {
            break;
        }
        let ended = child.try_wait();
        if let Some(status) = ended.map_err(|error| Failure::Runtime(error.to_string()))? {
            let said = end_of(&log, before).unwrap_or_default();
            let text = format!(
                "the server did not start ({status}); its log is {}\n{said}",
                log.display()
            );
            let text = text.trim_end().to_owned();
            return Err(match status.code() {
                Some(2) => Failure::Setup(text),
                _ => Failure::Runtime(text),
            });
        }
    }
    if let Some(file) = &options.pidfile {
        std::fs::write(file, format!("{pid}\n"))
            .map_err(|error| Failure::Runtime(format!("{}: {error}", file.display())))?;
    }
    println!(
        "howdah runs in the background: process {pid}, log {}",
        log.display()
    );
    println!(
        "`howdah stop{}` ends it",
        of_config(&options.run.file.config)
    );
    Ok(ExitCode::SUCCESS)
}

/// How the other commands find the same server.
fn of_config(config: &Path) -> String {
    if config == Path::new("Caddyfile") {
        return String::new();
    }
    format!(" --config {}", config.display())
}

fn server(options: &cli::Start, log: &File, socket: &Path) -> Result<Child, Failure> {
    let own = std::env::current_exe().map_err(setup)?;
    let copy = || log.try_clone().map_err(setup);
    let mut command = Command::new(own);
    command.arg("run").arg("--detached");
    command.args(options.run.arguments());
    command
        .env("NOTIFY_SOCKET", socket)
        .stdin(Stdio::null())
        .stdout(copy()?)
        .stderr(copy()?);
    command
        .spawn()
        .map_err(|error| Failure::Runtime(format!("the server cannot be started: {error}")))
}

fn append(log: &Path) -> io::Result<File> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(log)
}

/// Where programs keep what is not worth a backup: for root the folder of logs.
fn default_log() -> Result<PathBuf, Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok("/var/log/howdah.log".into());
    }
    let absolute = |name: &str| {
        let folder = std::env::var_os(name).map(PathBuf::from);
        folder.filter(|folder| folder.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let state = state
        .ok_or_else(|| setup("there is no home directory for the log: choose a file with --log"))?;
    Ok(state.join("howdah/howdah.log"))
}

/// What was written to the log from `start` on, or the end of it.
fn end_of(log: &Path, start: u64) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    let written = i64::try_from(length.saturating_sub(start)).unwrap_or(SHOWN);
    file.seek(SeekFrom::End(-written.min(SHOWN)))?;
    let mut text = Vec::new();
    file.take(u64::try_from(SHOWN).unwrap_or_default())
        .read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The socket that the server reports to, in a directory that only this user may enter.
struct ReportSocket {
    socket: UnixDatagram,
    path: PathBuf,
    folder: PathBuf,
}

impl ReportSocket {
    fn bind() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let mut number = 0_u32;
        let folder = loop {
            let name = format!("howdah-start-{}-{number}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => break folder,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => {
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        };
        let path = folder.join("notify");
        let socket = UnixDatagram::bind(&path);
        let socket = socket.and_then(|socket| {
            socket.set_read_timeout(Some(LOOK))?;
            Ok(socket)
        });
        match socket {
            Ok(socket) => Ok(Self {
                socket,
                path,
                folder,
            }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&folder);
                Err(error)
            }
        }
    }

    /// Whether the server has reported that it serves. Waits a moment for it.
    fn is_ready(&self) -> bool {
        let mut bytes = [0; 1024];
        let Ok(count) = self.socket.recv(&mut bytes) else {
            return false;
        };
        bytes[..count]
            .split(|byte| *byte == b'\n')
            .any(|line| line == b"READY=1")
    }
}

impl Drop for ReportSocket {
    fn drop(&mut self) {
        // A directory that is gone is as good.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_told_from_others() {
        let socket = ReportSocket::bind().expect("bound");
        let sender = UnixDatagram::unbound().expect("a socket");
        let send = |text: &str| sender.send_to(text.as_bytes(), &socket.path).expect("sent");
        assert!(!socket.is_ready(), "nothing was sent");
        send("STATUS=READY=1\n");
        assert!(!socket.is_ready());
        send("STATUS=serving\nREADY=1\n");
        assert!(socket.is_ready());
        let folder = socket.folder.clone();
        drop(socket);
        assert!(!folder.exists());
    }

    #[test]
    fn the_end_of_a_log_begins_where_the_server_did() {
        let folder = tempfile::tempdir().expect("a directory");
        let log = folder.path().join("logs/howdah.log");
        drop(append(&log).expect("made"));
        std::fs::write(&log, "before\n").expect("written");
        std::fs::write(&log, "before\nafter\n").expect("written");
        assert_eq!(end_of(&log, 7).expect("read"), "after\n");
        std::fs::write(&log, "x".repeat(10_000)).expect("written");
        assert_eq!(end_of(&log, 0).expect("read").len(), 4096);
    }
}
