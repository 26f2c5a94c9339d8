//! Commands that describe this program: `environ`, `adapt`, `list-directives`, `completions`, `manpage`, `version` and
//! `build-info`.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{self, Cli};
use crate::config::source::Source;
use crate::failure::{Outcome, setup};
use crate::output::printed;
use crate::php_executable::executable;

/// `howdah environ`.
pub(crate) fn environ() -> Outcome {
    let mut text = Vec::new();
    let mut line = |name: &str, value: &OsStr| {
        text.extend_from_slice(name.as_bytes());
        text.push(b'=');
        text.extend_from_slice(value.as_bytes());
        text.push(b'\n');
    };
    line("howdah.version", env!("CARGO_PKG_VERSION").as_ref());
    line("howdah.php", executable(None).as_os_str());
    if let Ok(folder) = std::env::current_dir() {
        line("howdah.working_directory", folder.as_os_str());
    }
    line("howdah.os", std::env::consts::OS.as_ref());
    line("howdah.arch", std::env::consts::ARCH.as_ref());
    text.extend_from_slice(&variables());
    printed(&text)
}

/// `NAME=VALUE` of each environment variable.
pub(super) fn variables() -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in std::env::vars_os() {
        for part in [name.as_bytes(), b"=", value.as_bytes(), b"\n"] {
            text.extend_from_slice(part);
        }
    }
    text
}

/// `howdah adapt`: the configuration as JSON, as the admin API shows it.
pub(crate) fn adapt(options: &cli::Adapt) -> Outcome {
    let read = Source::read(&options.file.config, options.file.reading(false)).map_err(setup)?;
    for warning in &read.warnings {
        eprintln!("howdah: warning: {warning}");
    }
    let shown = read.source.to_json();
    let text = if options.pretty {
        serde_json::to_string_pretty(&shown)
    } else {
        serde_json::to_string(&shown)
    };
    let mut text = text.map_err(setup)?;
    text.push('\n');
    printed(&text)
}

/// `howdah list-directives`.
pub(crate) fn list_directives(options: &cli::ListDirectives) -> Outcome {
    let mut text = String::new();
    let names = howdah_config::directives();
    let width = names.iter().map(|one| one.name.len()).max().unwrap_or(0);
    for directive in names {
        if options.about {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{:width$}  {}", directive.name, directive.summary);
        } else {
            text.push_str(directive.name);
            text.push('\n');
        }
    }
    printed(&text)
}

/// `howdah completions`.
pub(crate) fn completions(options: &cli::Completions) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "howdah", &mut text);
    printed(&text)
}

/// `howdah manpage`: a page for the program and one for each command.
pub(crate) fn manpage(options: &cli::ManPage) -> Outcome {
    let folder = &options.directory;
    let failed = |error: io::Error| setup(format_args!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut root = Cli::command();
    root.build();
    write_page(&root, "howdah", folder).map_err(failed)?;
    for command in root.get_subcommands() {
        let name = command.get_name();
        if !command.is_hide_set() && name != "help" {
            write_page(command, &format!("howdah-{name}"), folder).map_err(failed)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_page(command: &clap::Command, title: &str, folder: &Path) -> io::Result<()> {
    let page = clap_mangen::Man::new(command.clone())
        .title(title)
        .section("1")
        .source(format!("howdah {}", env!("CARGO_PKG_VERSION")))
        .manual("Howdah");
    let mut text = Vec::new();
    page.render(&mut text)?;
    std::fs::write(folder.join(format!("{title}.1")), text)
}

/// `howdah version`.
pub(crate) fn version() -> Outcome {
    printed(format!(
        "howdah {}\n{}\n",
        env!("CARGO_PKG_VERSION"),
        php_version()
    ))
}

/// `howdah build-info`, a name and a value on each line.
pub(crate) fn build_info() -> Outcome {
    // Set in builds of packages and releases.
    let commit = option_env!("HOWDAH_COMMIT");
    printed(build_text(super::called_as_frankenphp(), commit))
}

fn build_text(is_frankenphp: bool, commit: Option<&str>) -> String {
    let mut lines = vec![
        "path\thowdah".to_owned(),
        format!("mod\thowdah\tv{}", env!("CARGO_PKG_VERSION")),
    ];
    if is_frankenphp {
        // Laravel Octane reads this line and requires a recent version.
        lines.push("dep\tgithub.com/dunglas/frankenphp\tv1.99.0".to_owned());
    }
    if let Some(commit) = commit.filter(|commit| !commit.is_empty()) {
        lines.push(format!("build\tvcs.revision={commit}"));
    }
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    lines.extend([
        format!("build\tarch={}", std::env::consts::ARCH),
        format!("build\tos={}", std::env::consts::OS),
        format!("build\tprofile={profile}\n"),
    ]);
    lines.join("\n")
}

fn php_version() -> String {
    match howdah_pool::php_info(&executable(None)) {
        Ok(info) => format!(
            "PHP {} ({})",
            info.php,
            if info.zts { "ZTS" } else { "NTS" }
        ),
        // Still a result: the missing version is the information.
        Err(error) => format!("no PHP: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().expect("a directory");
        let options = cli::ManPage {
            directory: folder.path().join("man1"),
        };
        manpage(&options).expect("written");
        let read = |name: &str| std::fs::read_to_string(options.directory.join(name)).expect(name);
        let page = read("howdah-run.1");
        assert!(page.contains("\\-\\-lenient"), "{page}");
        assert!(read("howdah.1").contains(".TH howdah 1"));
        assert!(!options.directory.join("howdah-monitor.1").exists());
    }

    #[test]
    fn directives_are_listed_with_what_they_do() {
        let names = howdah_config::directives();
        let php = names.iter().find(|one| one.name == "php_server");
        let php = php.expect("php_server");
        assert!(php.summary.ends_with('.') && !php.summary.contains('\n'));
    }

    #[test]
    fn build_info_has_the_commit_if_it_is_known() {
        let text = build_text(false, Some("0123abc"));
        assert!(text.contains("\nbuild\tvcs.revision=0123abc\n"), "{text}");
        for unknown in [None, Some("")] {
            assert!(!build_text(false, unknown).contains("vcs.revision"));
        }
    }
}
