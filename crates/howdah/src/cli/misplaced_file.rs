//! A tip for `howdah validate Caddyfile`: the file of these commands comes after `--config`, as with Caddy.

use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{CommandFactory, Parser};

use super::Cli;

/// Parses the arguments like [`Parser::parse`], and adds the tip to errors.
pub(crate) fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        let command = std::env::args().nth(1).unwrap_or_default();
        with_tip(error, &command).exit()
    })
}

fn with_tip(mut error: Error, command: &str) -> Error {
    let takes_config = Cli::command()
        .find_subcommand(command)
        .is_some_and(|found| found.get_opts().any(|own| own.get_long() == Some("config")));
    let Some(ContextValue::String(file)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    if error.kind() == ErrorKind::UnknownArgument && takes_config && Path::new(file).is_file() {
        let tip = StyledStr::from(format!("name the Caddyfile with '--config {file}'"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_argument_of_the_command_gets_a_tip() {
        let message = |words: &[&str]| {
            let error = Cli::try_parse_from([&["howdah"], words].concat()).expect_err("rejected");
            with_tip(error, words[0]).to_string()
        };
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
}
