//! The `howdah` command: reads the command line and the configuration, starts the parts, joins them.
//! Decisions live in the crates that this one wires together.
#![forbid(unsafe_code)]

mod application;
mod cli;
mod commands;
mod php;
#[cfg(test)]
mod reference;
mod serve;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::PhpServer(options) => commands::php_server(options),
        Command::Run(options) => commands::run(&options),
        Command::PhpCli(options) => commands::php_cli(&options),
        Command::Validate(options) => commands::validate(&options),
        Command::Fmt(options) => commands::fmt(&options),
        Command::Version => Ok(commands::version()),
    };
    match result {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("howdah: {failure}");
            failure.exit_code()
        }
    }
}
