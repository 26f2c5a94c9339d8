//! The root zygote: the one PHP process that the front starts itself. It loads PHP and its extensions
//! once; pools and workers are forked from it.

use std::io::{ErrorKind, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::control::{Control, ControlError, Kind};
use super::root_process::RootProcess;
use crate::options::RootOptions;
use crate::preload::{Plan, PreloadResult};

/// What PHP reports once it has started.
#[derive(Debug, Clone, Deserialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct PhpInfo {
    /// `8.2.35`.
    pub php: String,
    /// Whether it is a thread-safe build.
    #[serde(default)]
    pub zts: bool,
    #[serde(default)]
    pub opcache: bool,
    /// The php.ini that was read.
    #[serde(default)]
    pub ini_file: Option<String>,
    /// The folder whose ini files were read after it.
    #[serde(default)]
    pub ini_scanned: Option<String>,
    /// All ini files that were read, in this order.
    #[serde(default)]
    pub ini_files: Vec<PathBuf>,
    /// PHP's own executable, which runs this one.
    #[serde(default)]
    pub binary: Option<String>,
    /// Names of its extensions.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// What it reported while it started, such as a missing extension; only of [`php_info`].
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Why PHP did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such file.
    #[error(
        "PHP executable {0} not found: build it with `make build`, or name another with `php` in the Caddyfile"
    )]
    Missing(PathBuf),
    /// The dynamic linker did not find a library that PHP needs.
    #[error("PHP needs {library}, which is missing: install the package that contains it")]
    Library {
        /// File name of the library.
        library: String,
    },
    /// The dynamic linker did not get howdah-php.so into PHP's executable; what it wrote.
    #[error(
        "howdah-php.so does not match this PHP ({0}): build it for the installed PHP with `make build`"
    )]
    Misfit(String),
    /// PHP exited and reported the reason.
    #[error("PHP did not start: {0}")]
    Refused(String),
    /// PHP exited without a message.
    #[error("PHP did not start: {0} exited with {1}")]
    Ended(PathBuf, ExitStatus),
    /// PHP runs but does not report.
    #[error("PHP did not start within {0} seconds; does a preload script or an extension hang?")]
    Timeout(u64),
    /// The executable could not be run.
    #[error("cannot run {0}: {1}")]
    Io(PathBuf, std::io::Error),
    /// A pool's boot failed repeatedly.
    #[error("pool {pool} did not start, {failures} times in a row: {text}")]
    Boot {
        /// Name of the pool.
        pool: String,
        /// Boots that failed.
        failures: u32,
        /// The output of the last boot.
        text: String,
    },
    /// The monitor has read a different configuration.
    #[error(
        "the monitor starts PHP for other users only as the configuration files say: write this configuration to the \
         file that the server was started with, and reload"
    )]
    NotGranted,
    /// Another start was requested meanwhile.
    #[error("another reload was requested")]
    Overtaken,
    /// The executable is not of this version.
    #[error("{0} belongs to a different version of howdah: {1}; run `make build`")]
    Protocol(PathBuf, ControlError),
}

/// A running root zygote.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) process: RootProcess,
    pub(crate) control: Control,
    pub(crate) info: PhpInfo,
    pub(crate) preloaded: Option<PreloadResult>,
}

/// Queries which PHP an executable runs, without starting anything.
pub fn php_info(executable: &Path) -> Result<PhpInfo, StartError> {
    let output = std::process::Command::new(executable).arg("info").output();
    let output = output.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => StartError::Missing(executable.to_owned()),
        _ => StartError::Io(executable.to_owned(), error),
    })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        return Err(start_error(executable, output.status, &lines));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let printed = printed.trim_end();
    // `display_errors` prints warnings of the start before.
    let (before, json) = printed.rsplit_once('\n').unwrap_or(("", printed));
    let mut info: PhpInfo = serde_json::from_str(json)
        .map_err(|_| StartError::Protocol(executable.to_owned(), ControlError::Malformed))?;
    let logged = String::from_utf8_lossy(&output.stderr);
    // Without `error_log` they are on both.
    let is_new = |line: &String| {
        let (_, text) = line.split_once(':').unwrap_or(("", line));
        !logged.contains(text.trim())
    };
    info.warnings = (logged.lines().map(plain))
        .chain(before.lines().map(plain).filter(is_new))
        .filter(|line| !line.is_empty())
        .collect();
    Ok(info)
}

/// A line without the tags of `html_errors`.
fn plain(line: &str) -> String {
    let tags = ["<br />", "<b>", "</b>"];
    let text = tags
        .iter()
        .fold(line.to_owned(), |text, tag| text.replace(tag, ""));
    text.trim().to_owned()
}

/// The output of the process before it was ready: the reason, if it fails.
type EarlyOutput = Arc<Mutex<Option<Vec<String>>>>;

impl Root {
    /// Starts PHP and waits until its modules are up.
    pub(crate) async fn start(options: &RootOptions) -> Result<Self, StartError> {
        let path = &options.executable;
        let io = |error| StartError::Io(path.clone(), error);
        let (output, output_writer) = std::io::pipe().map_err(io)?;
        let plan = options.preload.as_ref().map(Plan::new);
        let plan = plan.transpose().map_err(io)?;
        let (mut process, control) = execute(options, plan.is_some(), output_writer)?;
        let early: EarlyOutput = Arc::new(Mutex::new(Some(Vec::new())));
        let reader = tokio::spawn(read_output(output.into(), early.clone()));
        if let Some(plan) = &plan {
            // An error means that it has exited, which is reported below.
            let _ = control.send(Kind::Preload, 0, &[], &[plan.fd()]).await;
        }
        let info = tokio::select! {
            info = ready(&control, path) => info,
            () = tokio::time::sleep(options.start_timeout) => {
                Err(StartError::Timeout(options.start_timeout.as_secs()))
            }
        };
        match info {
            Ok(info) => {
                for line in take_early(&early) {
                    tracing::warn!(target: "howdah::php", "{line}");
                }
                Ok(Self {
                    process,
                    control,
                    info,
                    preloaded: plan.map(Plan::result),
                })
            }
            Err(StartError::Protocol(_, ControlError::Closed)) => {
                let status = process.wait().await.map_err(io)?;
                // All its output is in the pipe by now.
                let _ = reader.await;
                Err(start_error(path, status, &take_early(&early)))
            }
            Err(error) => {
                let _ = process.kill().await;
                Err(error)
            }
        }
    }
}

/// Executes the process with its output in the pipe. No copy of its ends of pipe and socket remains here.
fn execute(
    options: &RootOptions,
    preloads: bool,
    output: PipeWriter,
) -> Result<(RootProcess, Control), StartError> {
    let path = &options.executable;
    let io = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => StartError::Missing(path.clone()),
        ErrorKind::PermissionDenied if options.by_monitor => StartError::NotGranted,
        _ => StartError::Io(path.clone(), error),
    };
    if options.by_monitor {
        let started = howdah_monitor::process::start(options.key(preloads), output.as_fd());
        let (process, socket) = RootProcess::of_monitor(started.map_err(io)?).map_err(io)?;
        return Ok((process, Control::adopt(socket).map_err(io)?));
    }
    let (control, theirs) = Control::pair().map_err(|error| io(std::io::Error::other(error)))?;
    let mut command = Command::new(path);
    command
        .args(options.arguments(preloads))
        .env_clear()
        .envs(options.environment())
        .stdin(Stdio::from(theirs))
        .stdout(output.try_clone().map_err(io)?)
        .stderr(output);
    let child = command.spawn().map_err(io)?;
    Ok((RootProcess::Child(child), control))
}

async fn ready(control: &Control, path: &Path) -> Result<PhpInfo, StartError> {
    let protocol = |error| StartError::Protocol(path.to_owned(), error);
    let message = control.receive().await.map_err(protocol)?;
    match message.kind {
        Kind::Ready => {
            serde_json::from_slice(&message.data).map_err(|_| protocol(ControlError::Malformed))
        }
        Kind::Failed => Err(StartError::Refused(
            String::from_utf8_lossy(&message.data).into_owned(),
        )),
        _ => Err(protocol(ControlError::Malformed)),
    }
}

/// Reads the root's own stdout and stderr: lines are stored until it is ready, and logged
/// afterwards.
async fn read_output(pipe: OwnedFd, early: EarlyOutput) {
    let Ok(file) = tokio::net::unix::pipe::Receiver::from_owned_fd(pipe) else {
        return;
    };
    let mut lines = BufReader::new(file).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if line.is_empty() {
            continue;
        }
        let mut early = early
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(lines) = early.as_mut() {
            lines.push(line);
        } else {
            tracing::warn!(target: "howdah::php", "{line}");
        }
    }
}

fn take_early(early: &EarlyOutput) -> Vec<String> {
    early
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .take()
        .unwrap_or_default()
}

fn start_error(path: &Path, status: ExitStatus, output: &[String]) -> StartError {
    for line in output {
        // ld.so: "…: error while loading shared libraries: libphp8.2.so: cannot open shared object …"
        if let Some((_, rest)) = line.split_once("error while loading shared libraries: ") {
            let library = rest.split(':').next().unwrap_or(rest).to_owned();
            return StartError::Library { library };
        }
        // ld.so: "…: symbol lookup error: …/howdah-php.so: undefined symbol: …", or "ERROR: ld.so: object
        // '…/howdah-php.so' from LD_PRELOAD cannot be preloaded (…): ignored."
        if line.contains("howdah-php.so")
            && (line.contains("symbol lookup error") || line.contains("cannot be preloaded"))
        {
            return StartError::Misfit(line.clone());
        }
    }
    if output.is_empty() {
        StartError::Ended(path.to_owned(), status)
    } else {
        StartError::Refused(output.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    fn options(executable: PathBuf) -> RootOptions {
        RootOptions {
            executable,
            withheld: vec![],
            clear_env: false,
            ini: vec![],
            concurrent: false,
            booted: false,
            preload: None,
            fronts: 1,
            start_timeout: Duration::from_secs(20),
            users: vec![],
            by_monitor: false,
            crashes: None,
        }
    }

    async fn start(script: &str) -> Result<Root, StartError> {
        let dir = tempfile::tempdir().expect("a directory");
        let executable = dir.path().join("howdah-php");
        std::fs::write(&executable, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o755))
            .expect("mode");
        let options = options(executable);
        loop {
            // A fork of another test has the file open for writing until its exec.
            match Root::start(&options).await {
                Err(StartError::Io(_, error))
                    if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
                result => return result,
            }
        }
    }

    #[tokio::test]
    async fn a_missing_executable_is_named() {
        let options = options("/nonexistent/howdah-php".into());
        let error = Root::start(&options).await.expect_err("no such file");
        assert!(
            error
                .to_string()
                .contains("/nonexistent/howdah-php not found"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_missing_library_is_named() {
        let script = "echo 'howdah-php: error while loading shared libraries: libxml2.so.2: \
                      cannot open shared object file: No such file or directory' >&2; exit 127";
        let error = start(script).await.expect_err("no library");
        assert!(
            error.to_string().starts_with("PHP needs libxml2.so.2,"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn an_incompatible_php_is_distinguished() {
        for line in [
            "howdah-php: symbol lookup error: /x/howdah-php.so: undefined symbol: executor_globals",
            "ERROR: ld.so: object \"/x/howdah-php.so\" from LD_PRELOAD cannot be preloaded (failed to map \
             segment from shared object): ignored.",
        ] {
            let script = format!("echo '{line}' >&2; echo 'Usage: php'; exit 1");
            let error = start(&script).await.expect_err("a misfit");
            assert!(
                matches!(&error, StartError::Misfit(said) if said == line),
                "{error}"
            );
        }
        let other = "echo 'ERROR: ld.so: object other.so from LD_PRELOAD cannot be preloaded: ignored.' >&2; exit 2";
        let error = start(other).await.expect_err("refused");
        assert!(matches!(error, StartError::Refused(_)), "{error}");
    }

    #[tokio::test]
    async fn the_reason_that_php_gives_is_passed_on() {
        let error = start("echo 'cannot read /x.ini' >&2; exit 2")
            .await
            .expect_err("refused");
        assert_eq!(error.to_string(), "PHP did not start: cannot read /x.ini");
        let error = start("exit 3").await.expect_err("ended");
        assert!(error.to_string().contains("exit status: 3"), "{error}");
    }
}
