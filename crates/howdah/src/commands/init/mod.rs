//! `howdah init`: finds the application in a folder and writes a Caddyfile with safe settings for it, and a worker script
//! if the application has none and one can be made. `--undo` removes exactly what was written.

pub(super) mod application;
mod front_controller;
pub(super) mod settings;
mod tokens;
pub(super) mod worker_script;

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::application::{Application, ROOTS};
use self::settings::Mode;
use self::worker_script::WorkerScript;
use crate::cli;
use crate::failure::{Failure, Outcome, setup};
use crate::output::printed;

const CADDYFILE: &str = "Caddyfile";
/// Record of the written files, for `--undo`.
const RECORD: &str = ".howdah-init.json";
const WORKER: &str =
    "worker mode: it boots once, and its processes handle one request after another";

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
    let mut files = vec![WrittenFile {
        name: CADDYFILE.to_owned(),
        text: settings.caddyfile(&application),
    }];
    if let WorkerScript::Made { path, text } = &application.script {
        files.push(WrittenFile {
            name: path.clone(),
            text: text.clone(),
        });
    }
    write(folder, &Record { files })?;
    let (mode, written) = match (settings.mode, &application.script) {
        (
            Mode::Worker,
            WorkerScript::RoadRunner {
                path,
                is_pool: true,
            },
        ) => (
            format!(
                "RoadRunner's workers: processes of `php {path}` handle one request after another"
            ),
            format!("{CADDYFILE} was"),
        ),
        (Mode::Worker, WorkerScript::Made { path, .. }) => {
            (WORKER.to_owned(), format!("{CADDYFILE} and {path} were"))
        }
        (Mode::Worker, _) => (WORKER.to_owned(), format!("{CADDYFILE} was")),
        (Mode::Classic { reason }, _) => (
            format!("classic mode: {reason}"),
            format!("{CADDYFILE} was"),
        ),
    };
    let removes = if written.ends_with("were") {
        "them"
    } else {
        "it"
    };
    printed(format!(
        "{}: {application}\n{mode}\n\
         {written} written; `howdah init --undo` removes {removes}\n\
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

/// Writes files that do not exist yet, and records them. After an error none of them is left.
fn write(folder: &Path, record: &Record) -> Result<(), Failure> {
    let mut written = Vec::new();
    let result = write_each(folder, record, &mut written);
    if result.is_err() {
        for path in written {
            // The error to report is the first one.
            let _ = std::fs::remove_file(path);
        }
    }
    result
}

fn write_each(folder: &Path, record: &Record, written: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for file in &record.files {
        let path = folder.join(&file.name);
        let created = create(&path, &file.text);
        let error = match created {
            Ok(()) => {
                written.push(path);
                continue;
            }
            Err(error) => error,
        };
        let exists = error.kind() == ErrorKind::AlreadyExists;
        let hint = match file.name.as_str() {
            CADDYFILE if exists => "; rename it, or serve it with `howdah run`",
            _ => "",
        };
        return Err(setup(format_args!("{}: {error}{hint}", path.display())));
    }
    let noted = serde_json::to_string_pretty(record).map_err(setup)? + "\n";
    let place = folder.join(RECORD);
    // Without a record, `--undo` could not remove them.
    replace(&place, &noted).map_err(|error| setup(format_args!("{}: {error}", place.display())))
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
    // The record is in a folder that other users may write to.
    if !record.files.iter().all(|file| is_own(&file.name)) {
        return Err(setup(format_args!(
            "{}: not a record of `howdah init`",
            place.display()
        )));
    }
    let mut removed = Vec::new();
    let mut changed = Vec::new();
    for file in &record.files {
        let path = folder.join(&file.name);
        match std::fs::read(&path) {
            Ok(now) if now == file.text.as_bytes() => removed.push(path),
            Ok(_) => changed.push(path),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(setup(format_args!("{}: {error}", path.display()))),
        }
    }
    // A changed Caddyfile needs the script.
    let kept = if changed.iter().any(|path| path.ends_with(CADDYFILE)) {
        std::mem::take(&mut removed)
    } else {
        Vec::new()
    };
    let mut lines = Vec::new();
    for path in &removed {
        std::fs::remove_file(path)
            .map_err(|error| setup(format_args!("{}: {error}", path.display())))?;
        lines.push(format!("{} was removed\n", path.display()));
    }
    let printed = printed(lines.concat())?;
    if changed.is_empty() {
        std::fs::remove_file(&place)
            .map_err(|error| setup(format_args!("{}: {error}", place.display())))?;
        return Ok(printed);
    }
    let list = |paths: &[PathBuf]| {
        let names = paths.iter().map(|path| path.display().to_string());
        names.collect::<Vec<_>>().join(" and ")
    };
    let (was, stays) = match changed.len() {
        1 => ("was", "it stays"),
        _ => ("were", "they stay"),
    };
    let with = match kept.len() {
        0 => String::new(),
        _ => format!(", with {}", list(&kept)),
    };
    Err(Failure::Runtime(format!(
        "{} {was} changed since `howdah init`: {stays}{with}",
        list(&changed)
    )))
}

/// Whether `howdah init` writes files of this name.
fn is_own(name: &str) -> bool {
    let (folder, file) = name.rsplit_once('/').unwrap_or((".", name));
    match file {
        CADDYFILE => folder == ".",
        worker_script::OWN | worker_script::FRANKENPHP => ROOTS.contains(&folder),
        _ => false,
    }
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

    #[test]
    fn a_worker_script_for_roadrunner_is_as_before_after_undo() {
        for package in ["howdah/psr7-worker", "spiral/roadrunner-http"] {
            let dir = tempfile::tempdir().expect("a directory");
            let folder = dir.path();
            let composer = format!(r#"{{"require": {{"{package}": "^3.5"}}}}"#);
            std::fs::write(folder.join("composer.json"), composer).expect("written");
            std::fs::write(folder.join("worker.php"), "<?php new PSR7Worker();").expect("written");
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

    const FRONT: &str = "<?php\n$app = AppFactory::create();\n$app->run();\n";

    /// A folder with an application of Slim, for which `howdah init` was run.
    fn slim() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = dir.path();
        let composer = r#"{"require": {"slim/slim": "^4.12"}}"#;
        std::fs::write(folder.join("composer.json"), composer).expect("written");
        std::fs::create_dir(folder.join("public")).expect("made");
        std::fs::write(folder.join("public/index.php"), FRONT).expect("written");
        run(&options(folder, false)).expect("written");
        dir
    }

    #[test]
    fn a_worker_script_is_written_and_removed() {
        let dir = slim();
        let folder = dir.path();
        let script = folder.join("public/howdah-worker.php");
        let text = std::fs::read_to_string(&script).expect("a script");
        assert!(text.contains("while (frankenphp_handle_request("), "{text}");
        let file = std::fs::read_to_string(folder.join(CADDYFILE)).expect("a file");
        assert!(file.contains("file public/howdah-worker.php\n"), "{file}");
        run(&options(folder, true)).expect("removed");
        let names: Vec<_> = tree(folder).into_iter().map(|(path, _)| path).collect();
        let left = ["composer.json", "public/index.php"].map(|name| folder.join(name));
        assert_eq!(names, left);
    }

    #[test]
    fn a_changed_script_stays_and_is_used_again() {
        let dir = slim();
        let folder = dir.path();
        let script = folder.join("public/howdah-worker.php");
        std::fs::write(&script, "<?php // changed").expect("written");
        let error = run(&options(folder, true)).expect_err("it was changed");
        let named = "public/howdah-worker.php was changed";
        assert!(error.to_string().contains(named), "{error}");
        assert!(!folder.join(CADDYFILE).exists());
        run(&options(folder, false)).expect("written");
        run(&options(folder, true)).expect("removed");
        let left = std::fs::read_to_string(&script).expect("it stays");
        assert_eq!(left, "<?php // changed");
    }

    #[test]
    fn a_changed_caddyfile_keeps_its_script() {
        let dir = slim();
        let folder = dir.path();
        std::fs::write(folder.join(CADDYFILE), ":9000\n").expect("written");
        let error = run(&options(folder, true)).expect_err("it was changed");
        assert!(
            error.to_string().ends_with("/public/howdah-worker.php"),
            "{error}"
        );
        assert!(folder.join("public/howdah-worker.php").exists());
    }

    #[test]
    fn a_forged_record_removes_nothing() {
        let dir = slim();
        let folder = dir.path();
        let names = ["public/index.php", "../Caddyfile", "../howdah-worker.php"];
        for name in names {
            let record = Record {
                files: vec![WrittenFile {
                    name: name.to_owned(),
                    text: FRONT.to_owned(),
                }],
            };
            let text = serde_json::to_string(&record).expect("JSON");
            std::fs::write(folder.join(RECORD), text).expect("written");
            let error = run(&options(folder, true)).expect_err(name);
            assert!(error.to_string().contains("not a record"), "{error}");
        }
        assert!(folder.join("public/index.php").exists());
    }
}
