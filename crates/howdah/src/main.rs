//! The `howdah` command: reads the command line and the configuration, starts the parts, joins them.
//! Decisions live in the crates that this one wires together.
#![forbid(unsafe_code)]

mod activation;
mod admin;
mod application;
mod certificates;
mod changes;
mod cli;
mod commands;
mod configuration;
mod control;
mod doctor;
mod document_roots;
mod failure;
mod hubs;
mod limit_flags;
mod monitor;
mod notify;
mod observed;
mod opcache;
mod opcache_watch;
mod paths;
mod php;
mod php_server;
mod pools;
mod preload;
mod preload_report;
mod privileges;
mod readiness;
mod readiness_page;
#[cfg(test)]
mod reference;
mod renewal;
mod report;
mod serve;
mod server_log;
mod signals;
mod source;
mod stop;
mod trees;
mod unchangeable;
mod users;
mod vulnerabilities;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::PhpServer(options) => commands::php_server(*options),
        Command::Run(options) => commands::run(&options),
        Command::PhpCli(options) => commands::php_cli(&options),
        Command::Validate(options) => commands::validate::run(&options),
        Command::Fmt(options) => commands::fmt(&options),
        Command::Doctor(options) => doctor::doctor(&options),
        Command::Reload(options) => commands::remote::reload(&options),
        Command::Stop(options) => commands::remote::stop(&options),
        Command::Status(options) => commands::remote::status(&options),
        Command::Top(options) => commands::top::top(&options),
        Command::Trust(options) => commands::trust::trust(&options),
        Command::Untrust => commands::trust::untrust(),
        Command::Version => Ok(commands::version()),
        Command::BuildInfo => Ok(commands::build_info()),
        Command::Monitor(options) => commands::monitor::run(&options),
    };
    match result {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("howdah: {failure}");
            failure.exit_code()
        }
    }
}
