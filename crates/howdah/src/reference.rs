//! The reference pages of the command line and of the PHP functions, made from the code.
//! `HOWDAH_BLESS=1 cargo test -p howdah` writes them anew.

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

/// The stub is where the functions' documentation stands: a doc comment, then the declaration.
fn functions(stub: &str) -> String {
    let mut page = String::from(
        "# PHP functions\n\nMade from `worker/src/howdah.stub.php`; do not edit.\n\n\
         What Howdah adds to PHP's own functions. Names that PHP or an extension has already are left alone.\n",
    );
    let mut comment = Vec::new();
    for line in stub.lines() {
        let line = line.trim();
        if let Some(declaration) = line.strip_prefix("function ") {
            let declaration = declaration.trim_end_matches(" {}");
            let name = declaration.split('(').next().unwrap_or_default();
            let _ = write!(page, "\n## {name}\n\n```php\n{declaration}\n```\n");
            for text in comment.drain(..) {
                let _ = match text {
                    Tag::Text(text) => writeln!(page, "\n{text}"),
                    Tag::Alias(of) => writeln!(page, "\nThe same as [{of}](#{of})."),
                    Tag::Returns(what) => writeln!(page, "\nReturns {what}"),
                };
            }
            continue;
        }
        let text = line
            .trim_start_matches("/**")
            .trim_start_matches("*/")
            .trim_start_matches('*')
            .trim_end_matches("*/")
            .trim();
        if line.starts_with("/**") {
            comment.clear();
        }
        if !line.starts_with(['/', '*']) || text.is_empty() || text.starts_with("@generate") {
            continue;
        }
        if let Some(of) = text.strip_prefix("@alias ") {
            comment.push(Tag::Alias(of));
        } else if let Some(what) = text.strip_prefix("@return ") {
            let (kind, meaning) = what
                .split_once(' ')
                .filter(|_| !what.contains('<'))
                .unwrap_or((what, ""));
            let colon = if meaning.is_empty() { "" } else { ": " };
            comment.push(Tag::Returns(format!("`{kind}`{colon}{meaning}.")));
        } else if let Some(Tag::Text(before)) = comment.last_mut() {
            before.push(' ');
            before.push_str(text);
        } else {
            comment.push(Tag::Text(text.to_owned()));
        }
    }
    page
}

enum Tag<'a> {
    Text(String),
    Alias(&'a str),
    Returns(String),
}

fn check(name: &str, page: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/reference")
        .join(name);
    if std::env::var_os("HOWDAH_BLESS").is_some() {
        std::fs::write(&file, page).expect("written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == page,
        "run HOWDAH_BLESS=1 cargo test -p howdah and commit {}",
        file.display()
    );
}

#[test]
fn the_reference_pages_are_of_this_code() {
    check("commands.md", &markdown());
    check(
        "php-functions.md",
        &functions(include_str!("../../../worker/src/howdah.stub.php")),
    );
}
