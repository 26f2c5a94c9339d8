//! The process that stays root beside a server that is not: started by it, with the same command line, and
//! ended by the end of their socket. See `howdah_monitor` for what it does.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use clap::Parser;
use howdah_config::model::{Config, LogOutput};
use howdah_config::{Disk, Files};
use howdah_monitor::Grants;
use nix::sys::signal::SigSet;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::cli::{self, Cli};
use crate::commands::{Failure, Outcome, setup};
use crate::source::absolute;
use crate::{php_server, users};

/// What `ps` shows.
const NAME: &str = "howdah: monitor";

/// The monitor of this process. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Monitor(Child);

impl Drop for Monitor {
    fn drop(&mut self) {
        howdah_monitor::disconnect();
        // It ends by that.
        let _ = self.0.wait();
    }
}

impl Monitor {
    /// Waits until it has ended although nobody told it to.
    pub(crate) async fn gone(&self) -> std::io::Result<()> {
        let pid = Pid::from_child(&self.0);
        let (tell, told) = tokio::sync::oneshot::channel();
        let wait = move || {
            // It stays to be waited for by its owner.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
            let _ = tell.send(());
        };
        std::thread::Builder::new()
            .name("monitor".into())
            .spawn(wait)?;
        told.await.map_err(std::io::Error::other)
    }
}

/// Starts the monitor of this process, which is root for the last time.
pub(crate) fn start() -> Result<Monitor, Failure> {
    let failed = |error: std::io::Error| setup(format_args!("cannot start the monitor: {error}"));
    let kind = SocketType::SEQPACKET;
    let pair = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
    let (ours, theirs) = pair.map_err(|error| failed(error.into()))?;
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0(NAME)
        .arg("monitor")
        .args(std::env::args_os().skip(1))
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        // Not of a terminal's foreground: an interrupt is for the server.
        .process_group(0);
    for name in howdah_pool::FROM_SERVICE_MANAGER {
        command.env_remove(name);
    }
    let child = command.spawn().map_err(failed)?;
    drop(command);
    howdah_monitor::connect(ours).map_err(failed)?;
    Ok(Monitor(child))
}

/// `howdah monitor COMMAND…`: the monitor of a server with this command line.
pub(crate) fn run(options: &cli::Monitor) -> Outcome {
    let line = [OsString::from("howdah")];
    let line = line.into_iter().chain(options.arguments.iter().cloned());
    let command = Cli::try_parse_from(line).map_err(setup)?.command;
    // Whoever ends a server ends it, not this.
    SigSet::all().thread_block().map_err(setup)?;
    let served = howdah_monitor::serve(std::io::stdin(), || grants(&command));
    served.map_err(|error| Failure::Runtime(format!("monitor: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// What the configuration names. Of one with mistakes it is its own files, so that the server can tell them.
fn grants(command: &cli::Command) -> Grants {
    let files = Recorded::default();
    let config = match command {
        cli::Command::Run(options) => {
            let read = howdah_config::load_from(&options.file.config, &files);
            read.ok().map(|parsed| parsed.config)
        }
        cli::Command::PhpServer(options) => php_server::config((**options).clone()).ok(),
        _ => None,
    };
    let config = config.map(|mut config| {
        match command {
            cli::Command::PhpServer(_) => users::settle_php_server(&mut config),
            _ => users::settle(&mut config),
        }
        config
    });
    let mut grants = config.as_ref().map(of).unwrap_or_default();
    grants.files.extend(files.0.into_inner());
    grants
}

fn of(config: &Config) -> Grants {
    let of_sites = config.sites.iter().flat_map(|site| &site.access_logs);
    let outputs = of_sites
        .map(|log| &log.output)
        .chain([&config.global.log.output]);
    let logs = outputs.filter_map(|output| match output {
        LogOutput::File(file) => Some(absolute(&file.path)),
        _ => None,
    });
    let storage = config.global.https.storage.iter();
    Grants {
        files: config
            .certificate_files()
            .iter()
            .map(|file| absolute(file))
            .collect(),
        folders: storage.map(|folder| absolute(folder)).collect(),
        logs: logs.collect(),
    }
}

/// The disk, and which of its files were asked for.
#[derive(Default)]
struct Recorded(RefCell<BTreeSet<PathBuf>>);

impl Files for Recorded {
    fn read(&self, path: &Path) -> std::io::Result<String> {
        self.0.borrow_mut().insert(absolute(path));
        Disk.read(path)
    }

    fn glob(&self, pattern: &str) -> std::io::Result<Vec<PathBuf>> {
        Disk.glob(pattern)
    }

    fn working_directory(&self) -> std::io::Result<PathBuf> {
        Disk.working_directory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_names_is_granted() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let text = format!(
            "{{\nstorage file_system {0}/store\n}}\nimport more\n\
             a.example {{\ntls {0}/a.crt {0}/a.key\nlog {{\noutput file {0}/access.log\n}}\n}}\n",
            directory.path().display()
        );
        std::fs::write(path("Caddyfile"), text).expect("written");
        std::fs::write(path("more"), "b.example {\n}\n").expect("written");
        let file = path("Caddyfile");
        let line = ["howdah", "run", "--config", file.to_str().expect("UTF-8")];
        let command = Cli::try_parse_from(line).expect("valid").command;
        let names = |names: &[&str]| names.iter().map(|name| path(name)).collect();
        let expected = Grants {
            files: names(&["Caddyfile", "more", "a.crt", "a.key"]),
            folders: names(&["store"]),
            logs: names(&["access.log"]),
        };
        assert_eq!(grants(&command), expected);
        std::fs::write(path("more"), "nonsense {{{").expect("written");
        assert_eq!(grants(&command).files, names(&["Caddyfile", "more"]));
    }
}
