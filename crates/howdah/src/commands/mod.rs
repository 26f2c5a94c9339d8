//! The commands that are not a server, and how the two that are find their configuration.

pub(crate) mod crashes;
pub(crate) mod monitor;
pub(crate) mod php_server;
mod preload_report;
pub(crate) mod remote;
pub(crate) mod report;
mod requests;
pub(crate) mod top;
pub(crate) mod trust;
pub(crate) mod validate;

use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::config::document_roots::missing_roots;
use crate::config::source::Source;
use crate::failure::{Failure, Outcome, setup};
use crate::php_executable::executable;
use crate::rights::users;
use crate::{cli, startup};

/// `howdah php-server`.
pub(crate) fn php_server(options: cli::PhpServer) -> Outcome {
    let mut config = php_server::config(options)?;
    // It is what the command is about: a folder that is not there is a slip of the pen.
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
        // The variables must be in our own environment: PHP inherits it. Starting over is the one way
        // to set it that is safe whatever threads a library may have started.
        return restart_with(&env_lines(&text, file)?, options);
    }
    if options.environ {
        print_environment().map_err(setup)?;
    }
    let read = Source::read(&options.file.config, options.watch).map_err(setup)?;
    for warning in &read.warnings {
        eprintln!("howdah: warning: {warning}");
    }
    startup::serve(&read.config, Some(read.source))
}

fn print_environment() -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    for (name, value) in std::env::vars_os() {
        stdout.write_all(name.as_bytes())?;
        stdout.write_all(b"=")?;
        stdout.write_all(value.as_bytes())?;
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
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
    if options.overwrite && !from_stdin {
        if formatted != text {
            std::fs::write(&options.file, &formatted).map_err(named)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    std::io::stdout()
        .write_all(formatted.as_bytes())
        .map_err(|error| Failure::Runtime(error.to_string()))?;
    // As `caddy fmt`: 1 says that the file is not formatted, so that scripts can check it.
    Ok(ExitCode::from(u8::from(!from_stdin && formatted != text)))
}

/// `howdah php-cli`: becomes PHP.
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

/// `howdah version`.
pub(crate) fn version() -> ExitCode {
    println!("howdah {}", env!("CARGO_PKG_VERSION"));
    print_php();
    ExitCode::SUCCESS
}

/// `howdah build-info`, a name and a value on each line.
pub(crate) fn build_info() -> ExitCode {
    println!("path\thowdah");
    println!("mod\thowdah\tv{}", env!("CARGO_PKG_VERSION"));
    if called_as_frankenphp() {
        // Laravel Octane looks for this line and wants a version that is new enough.
        println!("dep\tgithub.com/dunglas/frankenphp\tv1.99.0");
    }
    ExitCode::SUCCESS
}

/// The name by which programs that drive `FrankenPHP` call this one: a link of that name.
const FRANKENPHP: &str = "frankenphp";

fn called_as_frankenphp() -> bool {
    std::env::args_os()
        .next()
        .is_some_and(|name| Path::new(&name).file_name() == Some(FRANKENPHP.as_ref()))
}

fn print_php() {
    match howdah_pool::php_info(&executable(None)) {
        Ok(info) => println!(
            "PHP {} ({})",
            info.php,
            if info.zts { "ZTS" } else { "NTS" }
        ),
        // Still an answer: what is missing is what one wants to know.
        Err(error) => println!("no PHP: {error}"),
    }
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

/// Runs this program again with further variables and without the files they came from.
fn restart_with(variables: &[(String, String)], options: &cli::Run) -> Outcome {
    let own: PathBuf = std::env::current_exe().map_err(setup)?;
    let mut command = Command::new(own);
    command.arg("run").arg("--config").arg(&options.file.config);
    for file in options.envfile.iter().skip(1) {
        command.arg("--envfile").arg(file);
    }
    for (given, name) in [(options.watch, "--watch"), (options.environ, "--environ")] {
        if given {
            command.arg(name);
        }
    }
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
