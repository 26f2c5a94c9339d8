//! The root zygote: the one PHP process that the front starts itself. It loads PHP and its extensions
//! once; pools and workers are forked from it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::control::{Control, ControlError, Kind};
use crate::options::RootOptions;
use crate::preload::{Plan, PreloadResult};

/// What a service manager tells this process alone: sockets that it hands over, and how to talk to it.
pub const FROM_SERVICE_MANAGER: [&str; 6] = [
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
];

/// What a process needs whatever it does, and what PHP and the dynamic linker read when they start.
const NEEDED: [&str; 9] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "TMPDIR",
    "TZ",
    "USE_ZEND_ALLOC",
    "USER",
];
/// Beginnings of the names of others: sanitizers' options are of them.
const NEEDED_PREFIXES: [&str; 5] = ["LD_", "HOWDAH_", "ASAN_", "LSAN_", "UBSAN_"];

/// Those of these environment variables that PHP does not inherit when the configuration withholds them: what PHP
/// needs cannot be withheld.
pub fn withheld_from_php<'n>(
    names: impl IntoIterator<Item = &'n String>,
) -> impl Iterator<Item = &'n str> {
    let names = names.into_iter().map(String::as_str);
    names.filter(|name| !is_always_inherited(OsStr::new(name)))
}

/// Whether PHP's processes inherit an environment variable whatever the configuration says.
fn is_always_inherited(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let begins = |prefix: &&str| name.starts_with(*prefix);
    NEEDED.contains(&name) || NEEDED_PREFIXES.iter().any(begins)
}

/// The environment variable with the user of a server whose configuration names none, for images and units. PHP does
/// not get it.
pub const USER_OF_SERVER: &str = "HOWDAH_USER";

/// What PHP says of itself when it is up.
#[derive(Debug, Clone, Deserialize)]
pub struct PhpInfo {
    /// `8.2.35`.
    pub php: String,
    /// Whether it is a thread-safe build.
    #[serde(default)]
    pub zts: bool,
    /// Whether OPcache is on.
    #[serde(default)]
    pub opcache: bool,
    /// The php.ini that was read.
    #[serde(default)]
    pub ini_file: Option<String>,
    /// The folder whose ini files were read after it.
    #[serde(default)]
    pub ini_scanned: Option<String>,
    /// PHP's own executable, which runs this one.
    #[serde(default)]
    pub binary: Option<String>,
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
    /// PHP ended and said why.
    #[error("PHP did not start: {0}")]
    Refused(String),
    /// PHP ended without a word.
    #[error("PHP did not start: {0} exited with {1}")]
    Ended(PathBuf, ExitStatus),
    /// PHP is alive and says nothing.
    #[error("PHP did not start within {0} seconds; does a preload script or an extension hang?")]
    Timeout(u64),
    /// The executable could not be run.
    #[error("cannot run {0}: {1}")]
    Io(PathBuf, std::io::Error),
    /// A pool's boot failed again and again.
    #[error("pool {pool} did not start, {failures} times in a row: {text}")]
    Boot {
        /// Name of the pool.
        pool: String,
        /// Boots that failed.
        failures: u32,
        /// What the last of them wrote.
        text: String,
    },
    /// Another start was asked for meanwhile.
    #[error("another reload was requested")]
    Overtaken,
    /// The executable is not of this version.
    #[error("{0} belongs to a different version of howdah: {1}; run `make build`")]
    Protocol(PathBuf, ControlError),
}

/// A running root zygote.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) child: Child,
    pub(crate) control: Control,
    pub(crate) info: PhpInfo,
    /// What became of the files that were to be preloaded.
    pub(crate) preloaded: Option<PreloadResult>,
}

/// Asks an executable which PHP it runs, without starting anything.
pub fn php_info(executable: &Path) -> Result<PhpInfo, StartError> {
    let output = std::process::Command::new(executable).arg("info").output();
    let output = output.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => StartError::Missing(executable.to_owned()),
        _ => StartError::Io(executable.to_owned(), error),
    })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        return Err(why_ended(executable, output.status, &lines));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|_| StartError::Protocol(executable.to_owned(), ControlError::Malformed))
}

/// What the process wrote before it was ready: the reason, if it fails.
type EarlyOutput = Arc<Mutex<Option<Vec<String>>>>;

impl Root {
    /// Starts PHP and waits until its modules are up.
    pub(crate) async fn start(options: &RootOptions) -> Result<Self, StartError> {
        let path = &options.executable;
        let io = |error| StartError::Io(path.clone(), error);
        let (control, theirs) =
            Control::pair().map_err(|error| io(std::io::Error::other(error)))?;
        let (output, output_writer) = std::io::pipe().map_err(io)?;
        let mut command = Command::new(path);
        // The control socket travels as standard input: the one way to hand over a descriptor that
        // needs no code between fork and exec.
        command
            .args(["zygote", "--control-fd", "0"])
            .stdin(Stdio::from(theirs));
        if options.concurrent {
            command.arg("--concurrent");
        }
        if options.booted {
            command.arg("--booted");
        }
        let plan = options.preload.as_ref().map(Plan::new);
        let plan = plan.transpose().map_err(io)?;
        if plan.is_some() {
            command.arg("--preload");
        }
        command
            .stdout(output_writer.try_clone().map_err(io)?)
            .stderr(output_writer);
        if options.clear_env {
            command.env_clear();
            command.envs(std::env::vars_os().filter(|(name, _)| is_always_inherited(name)));
        }
        for name in FROM_SERVICE_MANAGER.iter().chain([&USER_OF_SERVER]) {
            command.env_remove(name);
        }
        for name in withheld_from_php(&options.withheld) {
            command.env_remove(name);
        }
        for (name, value) in &options.ini {
            command.arg("-d").arg(format!("{name}={value}"));
        }
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => StartError::Missing(path.clone()),
            _ => io(error),
        })?;
        drop(command); // and with it our copies of the descriptors that only the child may hold
        let early: EarlyOutput = Arc::new(Mutex::new(Some(Vec::new())));
        let reader = tokio::spawn(read_output(output.into(), early.clone()));
        if let Some(plan) = &plan {
            // An error means that it has ended, which is told below.
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
                    child,
                    control,
                    info,
                    preloaded: plan.map(Plan::result),
                })
            }
            Err(StartError::Protocol(_, ControlError::Closed)) => {
                let status = child.wait().await.map_err(io)?;
                // All it had to say is in the pipe by now.
                let _ = reader.await;
                Err(why_ended(path, status, &take_early(&early)))
            }
            Err(error) => {
                let _ = child.kill().await;
                Err(error)
            }
        }
    }
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

/// Lines of the root's own stdout and stderr: kept until it is ready, logged afterwards.
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

fn why_ended(path: &Path, status: ExitStatus, output: &[String]) -> StartError {
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

    async fn start(script: &str) -> Result<Root, StartError> {
        let dir = tempfile::tempdir().expect("a directory");
        let executable = dir.path().join("howdah-php");
        std::fs::write(&executable, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o755))
            .expect("mode");
        let options = RootOptions {
            executable,
            withheld: vec![],
            clear_env: false,
            ini: vec![],
            concurrent: false,
            booted: false,
            preload: None,
            fronts: 1,
            start_timeout: Duration::from_secs(20),
        };
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
        let options = RootOptions {
            executable: "/nonexistent/howdah-php".into(),
            withheld: vec![],
            clear_env: false,
            ini: vec![],
            concurrent: false,
            booted: false,
            preload: None,
            fronts: 1,
            start_timeout: Duration::from_secs(20),
        };
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
    async fn a_php_that_our_object_does_not_fit_is_told_from_others() {
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
