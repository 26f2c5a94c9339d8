//! `howdah init`: finds the application in a folder and writes a Caddyfile with safe settings for it. `--undo` removes
//! exactly what was written.

pub(super) mod application;
pub(super) mod settings;

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use self::application::{Application, ROOTS};
use self::settings::Mode;
use crate::cli;
use crate::failure::{Failure, Outcome, setup};
use crate::output::printed;

const CADDYFILE: &str = "Caddyfile";
/// Record of the written files, for `--undo`.
const RECORD: &str = ".howdah-init.json";

/// The files that were written.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    files: Vec<WrittenFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WrittenFile {
    /// Path relative to the folder.
    name: String,
    text: String,
}

pub(crate) fn run(options: &cli::Init) -> Outcome {
    let folder = options.folder.as_path();
    if options.undo {
        return undo(folder);
    }
    let Some(application) = Application::find(folder).map_err(setup)? else {
        return Err(setup(no_application(folder)));
    };
    let settings = application.settings();
    let text = settings.caddyfile(&application);
    write(folder, CADDYFILE, &text)?;
    let mode = match settings.mode {
        Mode::Worker => {
            "worker mode: it boots once, and its processes handle one request after another"
                .to_owned()
        }
        Mode::Classic { reason } => format!("classic mode: {reason}"),
    };
    printed(format!(
        "{}: {application}\n{mode}\n\
         Caddyfile was written; `howdah init --undo` removes it\n\
         next: `howdah run`, then open http://localhost:8080\n",
        folder.display()
    ))
}

/// The message about a folder without an application.
fn no_application(folder: &Path) -> String {
    let roots = ROOTS.iter().copied().filter(|root| *root != ".");
    let roots = roots.collect::<Vec<_>>().join(", ");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let inner = entries.map(|entry| entry.path());
    let inner = inner.filter(|path| path.join("index.php").is_file()).min();
    let hint = if let Some(inner) = inner {
        let shown = inner.display();
        format!("; {shown} has one: `howdah init {shown}`")
    } else if folder.join("index.html").is_file() {
        "; `howdah php-server` serves the files here".to_owned()
    } else {
        String::new()
    };
    format!(
        "{}: there is no PHP application: no index.php, here or in {roots}{hint}",
        folder.display()
    )
}

/// Writes a file that does not exist yet, and records it.
fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    let failed = |error: io::Error| {
        let hint = if error.kind() == ErrorKind::AlreadyExists {
            "; rename it, or serve it with `howdah run`"
        } else {
            ""
        };
        setup(format_args!("{}: {error}{hint}", path.display()))
    };
    create(&path, text).map_err(failed)?;
    let record = Record {
        files: vec![WrittenFile {
            name: name.to_owned(),
            text: text.to_owned(),
        }],
    };
    let noted = serde_json::to_string_pretty(&record).map_err(setup)? + "\n";
    let place = folder.join(RECORD);
    replace(&place, &noted).map_err(|error| {
        // Without a record, `--undo` could not remove it. The error to report is that of the record.
        let _ = std::fs::remove_file(&path);
        setup(format_args!("{}: {error}", place.display()))
    })
}

/// Writes a file that does not exist yet; a link of its name exists.
fn create(path: &Path, text: &str) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file?.write_all(text.as_bytes())
}

/// Writes a file in place of an earlier one. What an earlier link leads to stays as it is: other users may write to the
/// folder.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => create(path, text),
    }
}

fn undo(folder: &Path) -> Outcome {
    let place = folder.join(RECORD);
    let text = std::fs::read_to_string(&place).map_err(|error| match error.kind() {
        ErrorKind::NotFound => setup(format_args!(
            "{}: `howdah init` has written nothing here",
            folder.display()
        )),
        _ => setup(format_args!("{}: {error}", place.display())),
    })?;
    let record: Record = serde_json::from_str(&text)
        .map_err(|error| setup(format_args!("{}: {error}", place.display())))?;
    let mut removed = Vec::new();
    for file in &record.files {
        // The record is in a folder that other users may write to.
        if file.name != CADDYFILE {
            return Err(setup(format_args!(
                "{}: not a record of `howdah init`",
                place.display()
            )));
        }
        let path = folder.join(&file.name);
        match std::fs::read_to_string(&path) {
            Ok(now) if now == file.text => {
                std::fs::remove_file(&path)
                    .map_err(|error| setup(format_args!("{}: {error}", path.display())))?;
                removed.push(format!("{} was removed\n", path.display()));
            }
            Ok(_) => {
                return Err(Failure::Runtime(format!(
                    "{} was changed since `howdah init` wrote it: it stays",
                    path.display()
                )));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(setup(format_args!("{}: {error}", path.display()))),
        }
    }
    std::fs::remove_file(&place)
        .map_err(|error| setup(format_args!("{}: {error}", place.display())))?;
    printed(removed.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(folder: &Path, undo: bool) -> cli::Init {
        cli::Init {
            folder: folder.to_owned(),
            undo,
        }
    }

    #[test]
    fn written_files_are_removed_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = dir.path();
        assert!(run(&options(folder, false)).is_err(), "there is nothing");
        std::fs::write(folder.join("index.php"), "<?php echo 1;").expect("written");
        run(&options(folder, false)).expect("written");
        let again = run(&options(folder, false)).expect_err("it exists");
        assert!(again.to_string().contains("rename it"), "{again}");
        run(&options(folder, true)).expect("removed");
        let left = std::fs::read_dir(folder).expect("readable").count();
        assert_eq!(left, 1);
        assert!(run(&options(folder, true)).is_err(), "there is nothing");
    }

    #[test]
    fn each_framework_is_as_before_after_undo() {
        let composer = |package: &str| format!(r#"{{"require": {{"{package}": "^7.4"}}}}"#);
        let frameworks = [
            ("codeigniter4/framework", "public/index.php"),
            ("laravel/framework", "public/index.php"),
            ("symfony/framework-bundle", "public/index.php"),
            ("slim/slim", "public/index.php"),
            ("mezzio/mezzio", "public/index.php"),
            ("yiisoft/yii2", "web/index.php"),
            ("cakephp/cakephp", "webroot/index.php"),
            ("laminas/laminas-mvc", "public/index.php"),
            ("none/of-them", "wp-includes/version.php"),
            ("drupal/core", "web/core/lib/Drupal.php"),
            ("none/of-them", "includes/Defines.php"),
            ("none/of-them", "lib/versioncheck.php"),
            ("none/of-them", "index.php"),
        ];
        for (package, file) in frameworks {
            let dir = tempfile::tempdir().expect("a directory");
            let folder = dir.path();
            let file = folder.join(file);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(&file, "<?php").expect("written");
            std::fs::write(folder.join("composer.json"), composer(package)).expect("written");
            let before = tree(folder);
            run(&options(folder, false)).expect(package);
            assert_eq!(tree(folder).len(), before.len() + 2, "{package}");
            run(&options(folder, true)).expect(package);
            assert_eq!(tree(folder), before, "{package}");
        }
    }

    /// All files below a folder, with their contents.
    fn tree(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                all.extend(tree(&path));
            } else {
                let text = std::fs::read(&path).expect("readable");
                all.push((path, text));
            }
        }
        all.sort();
        all
    }

    #[test]
    fn what_to_do_without_php_is_said() {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = dir.path();
        assert!(no_application(folder).ends_with("frontend/web"));
        std::fs::write(folder.join("index.html"), "").expect("written");
        assert!(no_application(folder).ends_with("`howdah php-server` serves the files here"));
        std::fs::create_dir(folder.join("app")).expect("made");
        std::fs::write(folder.join("app/index.php"), "").expect("written");
        let inner = folder.join("app").display().to_string();
        assert!(no_application(folder).ends_with(&format!("`howdah init {inner}`")));
    }

    #[test]
    fn a_link_in_the_place_of_the_record_is_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = dir.path().join("app");
        std::fs::create_dir(&folder).expect("made");
        std::fs::write(folder.join("index.php"), "<?php echo 1;").expect("written");
        let other = dir.path().join("other");
        std::fs::write(&other, "kept").expect("written");
        std::os::unix::fs::symlink(&other, folder.join(RECORD)).expect("linked");
        run(&options(&folder, false)).expect("written");
        assert_eq!(std::fs::read_to_string(&other).expect("read"), "kept");
        run(&options(&folder, true)).expect("removed");
        assert_eq!(std::fs::read_dir(&folder).expect("readable").count(), 1);
    }

    #[test]
    fn nothing_is_left_where_the_record_cannot_be_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = dir.path();
        std::fs::write(folder.join("index.php"), "<?php echo 1;").expect("written");
        std::fs::create_dir(folder.join(RECORD)).expect("made");
        let error = run(&options(folder, false)).expect_err("a folder is in the way");
        assert!(error.to_string().contains(RECORD), "{error}");
        assert!(!folder.join(CADDYFILE).exists());
    }

    #[test]
    fn changed_files_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = dir.path();
        std::fs::write(folder.join("index.php"), "<?php echo 1;").expect("written");
        run(&options(folder, false)).expect("written");
        std::fs::write(folder.join(CADDYFILE), ":9000\n").expect("written");
        let error = run(&options(folder, true)).expect_err("it was changed");
        assert!(error.to_string().contains("it stays"), "{error}");
        assert!(folder.join(CADDYFILE).exists());
    }
}
