//! The `howdah` command: reads the command line and the configuration, starts the parts and connects them. The other
//! crates make the decisions.
//!
//! # Layers
//!
//! Each may use those below it and no others:
//!
//! | | |
//! |---|---|
//! | `doctor` | checks of an installation |
//! | `commands` | the commands of the command line |
//! | `startup` | start and end of a server |
//! | `server` | the running server: requests for PHP, the admin API's orders, reloads, status |
//! | `watch` | files whose changes reload |
//! | `config` | a configuration that was read |
//! | `php` | options of PHP's processes, trees of them, OPcache |
//! | `rights` | users, and the process that stays root |
//! | `cli` | the command line |
//! | `admin`, `crash_folder`, `failure`, `output`, `paths`, `php_executable` | what all need |
#![forbid(unsafe_code)]

mod admin;
mod cli;
mod commands;
mod config;
mod crash_folder;
mod doctor;
mod failure;
mod output;
mod paths;
mod php;
mod php_executable;
mod request_header;
mod rights;
mod server;
mod startup;
mod watch;

use std::process::ExitCode;

use crate::cli::Command;
use crate::commands::describe;

fn main() -> ExitCode {
    let command = match cli::parse() {
        Ok(cli) => cli.into_command(),
        Err(code) => return code,
    };
    let result = match command {
        Command::PhpServer(options) => commands::php_server(*options),
        Command::Run(options) => commands::run(&options),
        Command::Dev(options) => commands::development::run(&options),
        Command::PhpCli(options) => commands::php_cli(&options),
        Command::Validate(options) => commands::validate::run(&options),
        Command::Fmt(options) => commands::fmt(&options),
        Command::Doctor(options) => doctor::doctor(&options),
        Command::Reload(options) => commands::remote::reload(&options),
        Command::Stop(options) => commands::remote::stop(&options),
        Command::Status(options) => commands::remote::status(&options),
        Command::Profile(options) => commands::profile::profile(&options),
        Command::Crashes(options) => commands::crashes::crashes(&options),
        Command::Top(options) => commands::top::top(&options),
        Command::Trust(options) => commands::trust::trust(&options),
        Command::Untrust => commands::trust::untrust(),
        Command::Version => describe::version(),
        Command::BuildInfo => describe::build_info(),
        Command::Environ => describe::environ(),
        Command::Adapt(options) => describe::adapt(&options),
        Command::ListDirectives(options) => describe::list_directives(&options),
        Command::Completions(options) => describe::completions(&options),
        Command::Manpage(options) => describe::manpage(&options),
        Command::HashPassword(options) => commands::hash_password::run(&options),
        Command::Healthcheck(options) => commands::health_check::run(&options),
        Command::Init(options) => commands::init::run(&options),
        Command::Import(options) => commands::import::run(&options),
        Command::Start(options) => commands::background::start(&options),
        Command::Monitor(options) => commands::monitor::run(&options),
        Command::RoadRunnerWorker(options) => commands::roadrunner_worker::run(&options),
    };
    match result {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("howdah: {failure}");
            failure.exit_code()
        }
    }
}
