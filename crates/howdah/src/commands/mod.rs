//! The commands other than servers, and how the two server commands find their configuration.

pub(crate) mod background;
pub(crate) mod crashes;
pub(crate) mod describe;
pub(crate) mod development;
pub(crate) mod hash_password;
pub(crate) mod health_check;
pub(crate) mod import;
pub(crate) mod init;
mod lines;
pub(crate) mod monitor;
pub(crate) mod php_server;
mod pid_file;
mod preload_report;
pub(crate) mod profile;
pub(crate) mod remote;
pub(crate) mod report;
mod requests;
pub(crate) mod roadrunner_worker;
pub(crate) mod top;
pub(crate) mod trust;
pub(crate) mod validate;

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::config::document_roots::missing_roots;
use crate::config::source::Source;
use crate::failure::{Failure, Outcome, setup};
use crate::output::print;
use crate::paths::absolute;
use crate::php_executable::executable;
use crate::rights::users;
use crate::server::notify;
use crate::{cli, startup};

/// `howdah php-server`.
pub(crate) fn php_server(options: cli::PhpServer) -> Outcome {
    let mut config = php_server::config(options)?;
    // The command exists for this folder: if it is missing, it was mistyped.
    if let Some(wrong) = missing_roots(&config).into_iter().next() {
        return Err(setup(wrong));
    }
    users::settle_php_server(&mut config);
    startup::serve(&config, None)
}

/// `howdah run`.
pub(crate) fn run(options: &cli::Run) -> Outcome {
    if let Some(file) = options.envfile.first() {
        let text = std::fs::read_to_string(file)
            .map_err(|error| setup(format_args!("{}: {error}", file.display())))?;
        // The variables must be in our own environment, which PHP inherits. Executing the program again is the only
        // safe way to set it, since a library may have started threads.
        return restart_with(&env_lines(&text, file)?, options);
    }
    if options.detached {
        // When the session leader of a terminal exits, the processes of the session are terminated.
        rustix::process::setsid().map_err(setup)?;
        notify::keep_start_pipe().map_err(setup)?;
    }
    if options.environ {
        print(describe::variables())?;
    }
    let reading = options.file.reading(options.watch);
    let read = Source::read(&options.file.config, reading).map_err(setup)?;
    for warning in &read.warnings {
        eprintln!("howdah: warning: {warning}");
    }
    let Some(file) = &options.pidfile else {
        return startup::serve(&read.config, Some(read.source));
    };
    let file = absolute(file);
    let own = std::process::id();
    pid_file::write(&file, own)
        .map_err(|error| setup(format_args!("{}: {error}", file.display())))?;
    let ended = startup::serve(&read.config, Some(read.source));
    // If the server's user lacks the right, the monitor has removed it.
    pid_file::remove(&file, own);
    ended
}

/// `howdah fmt`.
pub(crate) fn fmt(options: &cli::Fmt) -> Outcome {
    let from_stdin = options.file.as_os_str() == "-";
    let named = |error| setup(format_args!("{}: {error}", options.file.display()));
    let text = if from_stdin {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(named)?;
        text
    } else {
        std::fs::read_to_string(&options.file).map_err(named)?
    };
    let formatted = howdah_config::fmt(&text);
    if options.diff {
        print(lines::diff(&text, &formatted))?;
        return Ok(ExitCode::from(u8::from(formatted != text)));
    }
    if options.overwrite && !from_stdin {
        if formatted != text {
            std::fs::write(&options.file, &formatted).map_err(named)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    print(&formatted)?;
    // As in `caddy fmt`: status 1 means that the file is not formatted, so that scripts can check
    // it.
    Ok(ExitCode::from(u8::from(!from_stdin && formatted != text)))
}

/// `howdah php-cli`: executes PHP.
pub(crate) fn php_cli(options: &cli::PhpCli) -> Outcome {
    let executable = executable(None);
    let error = Command::new(&executable)
        .arg("cli")
        .args(&options.arguments)
        .exec();
    Err(setup(format_args!(
        "cannot run {}: {error}; build it with `make build`",
        executable.display()
    )))
}

/// The name under which programs made for `FrankenPHP` call this one: a link of that name.
const FRANKENPHP: &str = "frankenphp";

fn called_as_frankenphp() -> bool {
    std::env::args_os()
        .next()
        .is_some_and(|name| Path::new(&name).file_name() == Some(FRANKENPHP.as_ref()))
}

/// `NAME=VALUE` lines; `#` starts a comment line, quotes around a value are removed.
fn env_lines(text: &str, file: &Path) -> Result<Vec<(String, String)>, Failure> {
    let mut variables = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else {
            return Err(setup(format_args!(
                "{}:{}: expected NAME=VALUE",
                file.display(),
                number + 1
            )));
        };
        let value = value.trim();
        let unquoted = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
            .unwrap_or(value);
        variables.push((name.trim().to_owned(), unquoted.to_owned()));
    }
    Ok(variables)
}

/// Executes this program again with additional variables and without the files that they came from.
fn restart_with(variables: &[(String, String)], options: &cli::Run) -> Outcome {
    let own: PathBuf = std::env::current_exe().map_err(setup)?;
    let mut command = Command::new(own);
    command
        .arg("run")
        .args(options.arguments_after_first_envfile());
    if called_as_frankenphp() {
        command.arg0(FRANKENPHP);
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    Err(setup(command.exec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn env_files() {
        let text = "# comment\n\nA=1\nexport B=\"two words\"\nC='x=y'\n";
        let variables = env_lines(text, Path::new(".env")).expect("valid");
        let expected = [("A", "1"), ("B", "two words"), ("C", "x=y")];
        assert_eq!(
            variables,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        let error = env_lines("A=1\nnonsense\n", Path::new(".env")).expect_err("no value");
        assert_eq!(error.to_string(), ".env:2: expected NAME=VALUE");
    }
}
