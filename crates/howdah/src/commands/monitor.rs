//! `howdah monitor`: the process that stays root for a server that does not. The configuration determines what it may
//! open and start.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use howdah_config::model::{Config, LogOutput};
use howdah_config::{Disk, Files};
use howdah_monitor::Grants;
use howdah_pool::User;
use nix::sys::signal::SigSet;

use super::{development, php_server, pid_file};
use crate::cli::{self, Cli};
use crate::crash_folder;
use crate::failure::{Failure, Outcome, setup};
use crate::paths::absolute;
use crate::php::root_options::tree_options;
use crate::php::{pools, roadrunner};
use crate::rights::{privileges, users};

/// `howdah monitor COMMAND…`: the monitor of a server with this command line.
pub(crate) fn run(options: &cli::Monitor) -> Outcome {
    let line = [OsString::from("howdah")];
    let line = line.into_iter().chain(options.arguments.iter().cloned());
    let command = Cli::try_parse_from(line).map_err(setup)?.into_command();
    // The server's owner stops the server, not this process.
    SigSet::all().thread_block().map_err(setup)?;
    // PHP inherits the limit, as it does from a server that starts it.
    privileges::raise_file_limit();
    let parent = std::os::unix::process::parent_id();
    let signals = howdah_pool::worker_signals();
    let served = howdah_monitor::serve(std::io::stdin(), &signals, || grants(&command));
    // The server waits for this process to exit, so the file is gone when the server is.
    if let cli::Command::Run(options) = &command
        && let Some(file) = &options.pidfile
    {
        pid_file::remove(&absolute(file), parent);
    }
    served.map_err(|error| Failure::Runtime(format!("monitor: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Everything that the configuration names. If it has errors, its own files are included, so that the server can report
/// them.
fn grants(command: &cli::Command) -> Grants {
    let files = RecordingFiles::default();
    let config = match command {
        cli::Command::Run(options) => {
            let read =
                howdah_config::load_from(&options.file.config, &files, options.file.strictness());
            read.ok().map(|parsed| parsed.config)
        }
        cli::Command::PhpServer(options) => php_server::config((**options).clone()).ok(),
        cli::Command::Dev(options) => development::grants(options),
        _ => None,
    };
    let config = config.map(|mut config| {
        match command {
            cli::Command::PhpServer(_) | cli::Command::Dev(_) => {
                users::settle_php_server(&mut config);
            }
            cli::Command::Run(options) => users::settle(&mut config, &options.file.config),
            _ => {}
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
        .chain(config.global.log_outputs());
    let logs = outputs.filter_map(|output| match output {
        LogOutput::File(file) => Some(absolute(&file.path)),
        _ => None,
    });
    let storage = config.global.https.storage.iter();
    let php = pools::options(config).map(|pools| tree_options(config, pools, 1));
    // The server reports the same error when it looks up the users itself.
    let trees = php.unwrap_or_default();
    let roots = || trees.iter().map(|tree| &tree.root);
    let programs = roots().flat_map(|root| root.programs().unwrap_or_default());
    let of_roadrunner = roadrunner::options(config).unwrap_or_default();
    let of_roadrunner = of_roadrunner.iter().filter_map(|pool| pool.user.as_ref());
    let users = roots().flat_map(|root| &root.users).chain(of_roadrunner);
    let receivers = users.map(User::receiver);
    let server = config.global.user.as_ref();
    let server = server.and_then(|user| privileges::pool_user(config, Some(user)).ok()?);
    Grants {
        files: config
            .certificate_files()
            .iter()
            .map(|file| absolute(file))
            .collect(),
        folders: storage
            .map(|folder| absolute(folder))
            .chain(crash_folder::path(config))
            .collect(),
        logs: logs.collect(),
        receivers: receivers.collect(),
        programs: programs.chain(roadrunner::programs(config)).collect(),
        servers: server.iter().map(|user| user.uid).collect(),
    }
}

/// Reads files from disk, and records which ones were requested.
#[derive(Default)]
struct RecordingFiles(RefCell<BTreeSet<PathBuf>>);

impl Files for RecordingFiles {
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
    fn paths_of_a_configuration_are_granted() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let text = format!(
            "{{\nstorage file_system {0}/store\ncrash_reports {0}/crashes\n}}\nimport more\n\
             a.example {{\ntls {0}/a.crt {0}/a.key\nlog {{\noutput file {0}/access.log\n}}\n}}\n",
            directory.path().display()
        );
        std::fs::write(path("Caddyfile"), text).expect("written");
        std::fs::write(path("more"), "b.example {\n}\n").expect("written");
        let file = path("Caddyfile");
        let line = ["howdah", "run", "--config", file.to_str().expect("UTF-8")];
        let command = Cli::try_parse_from(line).expect("valid").into_command();
        let names = |names: &[&str]| names.iter().map(|name| path(name)).collect();
        let found = grants(&command);
        assert_eq!(found.files, names(&["Caddyfile", "more", "a.crt", "a.key"]));
        assert_eq!(found.folders, names(&["crashes", "store"]));
        assert_eq!(found.logs, names(&["access.log"]));
        // With and without files to preload.
        assert_eq!(found.programs.len(), 2);
        std::fs::write(path("more"), "nonsense {{{").expect("written");
        assert_eq!(grants(&command).files, names(&["Caddyfile", "more"]));
    }
}
