//! `howdah start`: `howdah run` in the background. The server's standard input is one end of a pipe, to which it writes
//! when it is ready; this command waits at the other end. A pipe works whatever user the server changes to.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::cli;
use crate::failure::{Failure, Outcome, setup};
use crate::output::printed;
use crate::paths::absolute;

/// Bytes of the log's end that are shown if a server does not start.
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
    let (mut child, mut report) = server(options, &file)?;
    let pid = child.id();
    if !is_ready(&mut report) {
        let status = child.wait();
        let status = status.map_err(|error| Failure::Runtime(error.to_string()))?;
        let log_text = end_of(&log, before).unwrap_or_default();
        let text = format!(
            "the server did not start ({status}); its log is {}\n{log_text}",
            log.display()
        );
        let text = text.trim_end().to_owned();
        return Err(match status.code() {
            Some(2) => Failure::Setup(text),
            _ => Failure::Runtime(text),
        });
    }
    printed(format!(
        "howdah runs in the background: process {pid}, log {}\n`howdah stop{}` stops it\n",
        log.display(),
        of_config(&options.run.file.config)
    ))
}

/// Options with which the other commands find the same server.
fn of_config(config: &Path) -> String {
    if config == Path::new("Caddyfile") {
        return String::new();
    }
    format!(" --config {}", config.display())
}

/// The command that starts the server; it reports through its standard input.
fn server(options: &cli::Start, log: &File) -> Result<(Child, PipeReader), Failure> {
    let own = std::env::current_exe().map_err(setup)?;
    let copy = || log.try_clone().map_err(setup);
    let (report, starter) = io::pipe().map_err(setup)?;
    let mut command = Command::new(own);
    command.arg("run").arg("--detached");
    command.args(options.run.arguments());
    command.stdin(starter).stdout(copy()?).stderr(copy()?);
    let child = command
        .spawn()
        .map_err(|error| Failure::Runtime(format!("the server cannot be started: {error}")))?;
    Ok((child, report))
}

/// Waits until the server serves or has exited. Whether it serves.
fn is_ready(report: &mut impl Read) -> bool {
    report.read_exact(&mut [0]).is_ok()
}

fn append(log: &Path) -> io::Result<File> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(log)
}

/// The default folder for logs: the user's state folder, for root the system's folder of logs.
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

/// The part of the log from `start` on, or its end.
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

#[cfg(test)]
mod tests {
    use super::*;

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
