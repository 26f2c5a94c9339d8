//! The reference pages of the command line and of the PHP functions, and the stubs of the functions, generated from the
//! code. `HOWDAH_BLESS=1 cargo test -p howdah` writes them again.

use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory;

use super::Cli;

fn markdown() -> String {
    let mut page = String::from(
        "# Commands\n\nMade from the code; do not edit.\n\nExit codes: 0 success, or the server stopped on request; \
        1 failure at run time; 2 invalid command line, configuration or installation. Logs go to stderr.\n",
    );
    let mut root = Cli::command();
    root.build();
    let commands = root.get_subcommands_mut();
    // This page contains what `help` prints.
    let shown =
        |command: &&mut clap::Command| !command.is_hide_set() && command.get_name() != "help";
    for command in commands.filter(shown) {
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

/// The stub contains the functions' documentation: a doc comment, then the declaration.
fn functions(stub: &str) -> String {
    let mut page = String::from(
        "# PHP functions\n\nMade from `worker/src/php/howdah.stub.php`; do not edit.\n\n\
         What Howdah adds to PHP's own functions. Names that PHP or an extension has already are left alone.\n",
    );
    let mut namespace = String::new();
    let mut comment = Vec::new();
    for line in stub.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("namespace ") {
            let name = name.trim_end_matches('{').trim();
            namespace = name
                .is_empty()
                .then(String::new)
                .unwrap_or_else(|| format!("{name}\\"));
        } else if let Some(heading) = Heading::of(line) {
            heading.write(&mut page, &namespace);
            comment.drain(..).for_each(|tag: Tag| tag.write(&mut page));
        } else if line.starts_with(['/', '*']) {
            note(line, &mut comment);
        }
    }
    page
}

/// The stub for IDEs in the package `php/stubs`, without annotations for PHP's generator of C code.
fn package(stub: &str) -> String {
    let mut text = String::from(
        "<?php\n\n// Made from worker/src/php/howdah.stub.php; do not edit.\n// What Howdah adds to PHP's own functions. \
         For IDEs and static analysis; never loaded at run time.\n",
    );
    let mut lines = stub.lines().skip(1).peekable();
    while let Some(line) = lines.next() {
        if line.contains("@generate-class-entries") {
            // Including the empty line after it.
            lines.next_if(|next| next.is_empty());
        } else if let Some((before, rest)) = line.split_once("@alias ") {
            let (name, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
            let _ = writeln!(text, "{before}The same as {name}().{after}");
        } else if !line.contains("@cvalue") {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// What a comment documents.
enum Heading<'a> {
    Function(&'a str),
    Method(&'a str),
    Class(&'a str),
}

impl<'a> Heading<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let declared = |text: &'a str| text.trim_end_matches(" {}");
        if let Some(text) = line.strip_prefix("function ") {
            Some(Self::Function(declared(text)))
        } else if let Some(text) = line.strip_prefix("public function ") {
            Some(Self::Method(declared(text)))
        } else if line.starts_with("class ") || line.starts_with("final class ") {
            Some(Self::Class(declared(line)))
        } else {
            None
        }
    }

    fn write(&self, page: &mut String, namespace: &str) {
        let (level, name, text) = match self {
            Self::Function(text) => (2, text.split('('), text),
            Self::Method(text) => (3, text.split('('), text),
            Self::Class(text) => (
                2,
                text.split_once("class ").map_or("", |x| x.1).split(' '),
                text,
            ),
        };
        let name = name.clone().next().unwrap_or_default();
        let namespace = if level == 2 { namespace } else { "" };
        let _ = write!(
            page,
            "\n{} {namespace}{name}\n\n```php\n{text}\n```\n",
            "#".repeat(level)
        );
    }
}

/// A paragraph of a doc comment.
enum Tag {
    Text(String),
    Alias(String),
    Param(String),
    Returns(String),
    Throws(String),
}

/// Adds one line of a comment.
fn note(line: &str, comment: &mut Vec<Tag>) {
    if line.starts_with("/**") {
        comment.clear();
    }
    let text = line
        .trim_start_matches("/**")
        .trim_start_matches("*/")
        .trim_start_matches('*')
        .trim_end_matches("*/")
        .trim();
    let tag = text
        .split_once(' ')
        .map_or((text, ""), |(tag, rest)| (tag, rest));
    let rest = tag.1.to_owned();
    match tag.0 {
        "" => comment.push(Tag::Text(String::new())),
        "@alias" => comment.push(Tag::Alias(rest)),
        "@param" => comment.push(Tag::Param(rest)),
        "@return" => comment.push(Tag::Returns(rest)),
        "@throws" => comment.push(Tag::Throws(rest)),
        other if other.starts_with('@') => {}
        _ => match comment.last_mut() {
            Some(
                Tag::Text(before) | Tag::Param(before) | Tag::Returns(before) | Tag::Throws(before),
            ) if !before.is_empty() => {
                before.push(' ');
                before.push_str(text);
            }
            _ => comment.push(Tag::Text(text.to_owned())),
        },
    }
}

/// A type, which ends at the first space outside of brackets, and its description.
fn typed(text: &str) -> (&str, &str) {
    let mut depth = 0;
    let end = text.char_indices().find(|&(at, letter)| {
        match letter {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            _ => {}
        }
        letter == ' ' && depth == 0 && !text[..at].ends_with(':')
    });
    end.map_or((text, ""), |(at, _)| (&text[..at], text[at..].trim()))
}

impl Tag {
    fn write(self, page: &mut String) {
        let _ = match self {
            Self::Text(text) if text.is_empty() => Ok(()),
            Self::Text(text) => writeln!(page, "\n{text}"),
            Self::Alias(of) => writeln!(page, "\nThe same as [{of}](#{of})."),
            Self::Param(text) => {
                let (kind, rest) = typed(&text);
                let (name, meaning) = typed(rest);
                let colon = if meaning.is_empty() { "" } else { ": " };
                writeln!(page, "\n- `{kind} {name}`{colon}{meaning}")
            }
            Self::Returns(text) => {
                let (kind, meaning) = typed(&text);
                let colon = if meaning.is_empty() { "" } else { ": " };
                writeln!(page, "\nReturns `{kind}`{colon}{meaning}.")
            }
            Self::Throws(text) => {
                let (kind, meaning) = typed(&text);
                let colon = if meaning.is_empty() { "" } else { ": " };
                writeln!(page, "\nThrows `{kind}`{colon}{meaning}.")
            }
        };
    }
}

fn check(name: &str, page: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
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
    check("docs/reference/commands.md", &markdown());
    let stub = include_str!("../../../../worker/src/php/howdah.stub.php");
    check("docs/reference/php-functions.md", &functions(stub));
    check("php/stubs/howdah.stub.php", &package(stub));
}
