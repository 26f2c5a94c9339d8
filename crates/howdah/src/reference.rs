//! The reference page of the command line, made from the code. `HOWDAH_BLESS=1 cargo test -p howdah`
//! writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;

fn markdown() -> String {
    let mut page = String::from(
        "# Commands\n\nMade from the code; do not edit.\n\n\
         Exit codes: 0 it was done, or the server stopped as it was told to; 1 it failed while running; \
         2 the command line, the configuration or the installation is wrong. Logs go to stderr.\n",
    );
    let mut root = Cli::command();
    root.build();
    for command in root.get_subcommands_mut() {
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        let help = command
            .clone()
            .about(None::<&str>)
            .disable_help_flag(true)
            .render_help();
        let help: String = help
            .to_string()
            .lines()
            .fold(String::new(), |mut text, line| {
                let _ = writeln!(text, "{}", line.trim_end());
                text
            });
        let name = command.get_name();
        let _ = write!(
            page,
            "\n## howdah {name}\n\n{about}.\n\n```\n{}\n```\n",
            help.trim()
        );
    }
    page
}

#[test]
fn the_reference_page_is_of_this_code() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
    let page = markdown();
    if std::env::var_os("HOWDAH_BLESS").is_some() {
        std::fs::write(&file, &page).expect("written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == page,
        "run HOWDAH_BLESS=1 cargo test -p howdah and commit {}",
        file.display()
    );
}
