//! Errors of the command line, help and version, with tips of our own.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{CommandFactory, Parser};

use super::Cli;
use crate::output;

/// Parses the arguments like [`Parser::parse`], with the tips. Otherwise returns the exit code of the program, which
/// has printed the error or the help.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| {
        let command = std::env::args().nth(1).unwrap_or_default();
        let error = with_tips(error, &command);
        exit_code(&error, error.print())
    })
}

/// The exit code after an error or the help was printed.
fn exit_code(error: &Error, printed: io::Result<()>) -> ExitCode {
    if error.use_stderr() {
        // Nothing can report that standard error is gone.
        return ExitCode::from(2);
    }
    match output::result(printed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("howdah: {failure}");
            failure.exit_code()
        }
    }
}

fn with_tips(mut error: Error, command: &str) -> Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => retain_visible(&mut error),
        ErrorKind::UnknownArgument => add_file_tip(&mut error, command),
        _ => {}
    }
    error
}

/// Removes commands that only the server starts from the suggestions.
fn retain_visible(error: &mut Error) {
    let Some(ContextValue::Strings(mut names)) = error.remove(ContextKind::SuggestedSubcommand)
    else {
        return;
    };
    let commands = Cli::command();
    names.retain(|name| {
        let found = commands.find_subcommand(name);
        found.is_none_or(|command| !command.is_hide_set())
    });
    if !names.is_empty() {
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(names),
        );
    }
}

/// A tip for `howdah validate Caddyfile`: the file of these commands comes after `--config`, as with Caddy.
fn add_file_tip(error: &mut Error, command: &str) {
    let takes_config = Cli::command()
        .find_subcommand(command)
        .is_some_and(|found| found.get_opts().any(|own| own.get_long() == Some("config")));
    let Some(ContextValue::String(file)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    if takes_config && Path::new(file).is_file() {
        let tip = StyledStr::from(format!("name the Caddyfile with '--config {file}'"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &[&str]) -> String {
        let error = Cli::try_parse_from([&["howdah"], words].concat()).expect_err("rejected");
        with_tips(error, words[0]).to_string()
    }

    #[test]
    fn a_file_that_is_no_argument_of_the_command_gets_a_tip() {
        let tip = "name the Caddyfile with '--config Cargo.toml'";
        for command in ["run", "validate", "reload"] {
            assert!(message(&[command, "Cargo.toml"]).contains(tip), "{command}");
        }
        for words in [
            ["run", "missing"],
            ["version", "Cargo.toml"],
            ["run", "--watcher"],
        ] {
            assert!(!message(&words).contains("--config "), "{words:?}");
        }
    }

    #[test]
    fn suggestions_are_commands_that_people_use() {
        for (wrong, hidden) in [("runn", "roadrunner-worker"), ("monitors", "monitor'")] {
            let text = message(&[wrong]);
            assert!(text.contains("tip:") && !text.contains(hidden), "{text}");
        }
        assert!(message(&["runn"]).contains("'run'"));
        assert!(message(&["vertion"]).contains("'version'"));
    }
}
