//! `howdah top`: shows a server's activity, in a terminal or as text.

mod app;
mod details;
mod draw;
mod plain;
mod server;
mod snapshot;
mod source;
mod tab;
mod table;
mod tables;
mod terminal;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal};
use std::time::Duration;

use super::remote::client;
use crate::cli;
use crate::failure::Outcome;

/// Draws until the user quits, or once.
pub(crate) fn top(options: &cli::Top) -> Outcome {
    let client = client(&options.server)?;
    let interval = Duration::from_secs(options.interval.into());
    let is_screen = io::stdout().is_terminal() && io::stdin().is_terminal() && !is_dumb();
    if options.once || !is_screen {
        return plain::print(&client, (!options.once).then_some(interval));
    }
    terminal::run(client, interval)
}

/// Whether the terminal has no cursor that can be moved, as that of an editor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
