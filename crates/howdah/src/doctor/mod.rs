//! `howdah doctor`: checks for operators before the server starts, and whether the application is safe with
//! `concurrency`. It starts nothing, changes nothing and runs no code of the application, except to search for leaks.

mod advice;
mod coroutines;
mod database;
mod extension_table;
mod extensions;
mod frameworks;
mod leaks;
mod limits;
mod network;
mod opcache;
mod opcache_cost;
mod permissions;
mod php;
mod report;
mod system;
mod users;
mod writable;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use howdah_config::Strictness;
use howdah_config::model::{Config, Handler, Part, Route, Statics};

use crate::cli::{self, Cli};
use crate::commands::report::Status;
use crate::commands::validate::Findings;
use crate::commands::{php_server, remote};
use crate::config::source;
use crate::failure::Outcome;
use crate::output::print;
use crate::php::root_options::withheld_variables;
use crate::php_executable::{executable, executables};
use php::Php;
use report::{Area, Level, PathRequirement, Report};

/// Most PHP files that are counted; OPcache has no space for more.
const FILES_MAX: usize = 1_000_000;

/// The variable that makes `howdah/runtime` give each request a kernel.
const KERNEL_PER_REQUEST: &str = "HOWDAH_KERNEL_PER_REQUEST";

/// Whether the value is true for PHP's `FILTER_VALIDATE_BOOL`.
fn is_true(value: &str) -> bool {
    ["1", "true", "on", "yes"]
        .iter()
        .any(|yes| value.eq_ignore_ascii_case(yes))
}

/// `howdah doctor`.
pub(crate) fn doctor(options: &cli::Doctor) -> Outcome {
    let mut report = Report::default();
    let config = config(options, &mut report);
    if options.leaks.is_empty() {
        run_checks(options, &config, &mut report);
    } else {
        leaks::check(&config, &options.leaks, &options.header, &mut report);
    }
    let page = if options.json {
        report.json() + "\n"
    } else {
        report.text()
    };
    print(page)?;
    Ok(ExitCode::from(u8::from(report.worst(None) == Level::Error)))
}

/// All checks that start nothing.
fn run_checks(options: &cli::Doctor, config: &Config, report: &mut Report) {
    let roots = roots(config);
    // `php-server` serves nothing but its root.
    let without_root = if file(options).is_none() {
        Level::Error
    } else {
        Level::Warning
    };
    files(config, &roots, without_root, report);
    users::check(config, &roots, report);
    limits::check(config, report);
    let script = config.workers.first().map(|pool| PathBuf::from(&pool.file));
    let application = application(script.as_deref(), &roots);
    permissions::check(application.as_deref(), &roots, report);
    writable::check(config, report);
    let php = check_php(config, application.as_deref(), report);
    let running = remote::running(config);
    running_opcache(running.as_ref(), report);
    certificates(config, report);
    network::check(config, running.as_ref(), report);
    system::check(config, php.as_ref().map(|(_, facts)| facts), report);
    let workers = config.workers.iter();
    let concurrent: Vec<_> = workers
        .filter(|pool| pool.options.is_concurrent())
        .collect();
    if let Some((php, facts)) = &php {
        let modes = extension_table::Modes {
            worker: !config.workers.is_empty(),
            coroutines: options.coroutines || !concurrent.is_empty(),
        };
        extension_table::check(&facts.extensions, modes, report);
        for dsn in &options.dsn {
            database::check(php, config, dsn, report);
        }
    }
    if let Some((php, facts)) = &php
        && (options.coroutines || !concurrent.is_empty())
    {
        let shares = concurrent
            .iter()
            .any(|pool| pool.options.statics == Statics::Share);
        let statics = if shares {
            Statics::Share
        } else {
            Statics::Isolate
        };
        let script = concurrent
            .first()
            .map(|pool| PathBuf::from(&pool.file))
            .or(script);
        match &application {
            Some(folder) => {
                let kernel_per_request = concurrent.iter().any(|pool| {
                    let mut env = pool.options.env.iter();
                    env.any(|(name, value)| name == KERNEL_PER_REQUEST && is_true(value))
                });
                let application = coroutines::Application {
                    folder,
                    script: script.as_deref(),
                    statics,
                    kernel_per_request,
                };
                coroutines::check(php, facts, &application, report);
            }
            None => report.error(
                Area::Coroutines,
                "no application to check",
                "name its worker script with --worker, or its document root with --root",
            ),
        }
    }
}

/// The configuration file; without one the flags are used.
fn file(options: &cli::Doctor) -> Option<&Path> {
    let default = Path::new("Caddyfile");
    let is_named = options.worker.is_some() || options.root.is_some();
    let found = (!is_named && default.is_file()).then_some(default);
    options.config.as_deref().or(found)
}

/// The configuration; an empty one if it has errors.
fn config(options: &cli::Doctor, report: &mut Report) -> Config {
    let area = Area::Configuration;
    let mut config = match file(options) {
        Some(file) => match source::look(file, Strictness::Strict) {
            Ok(parsed) => {
                for warning in &parsed.warnings {
                    report.warning(area, warning.to_string(), "see docs/reference/caddyfile.md");
                }
                let mut found = Findings::default();
                found.parts(&parsed.config, None);
                for warning in found.warnings {
                    report.warning(area, warning, "see docs/reference/caddyfile.md");
                }
                if found.wrong.is_empty() {
                    report.ok(area, format!("{} is valid", file.display()));
                }
                for wrong in found.wrong {
                    report.error(
                        area,
                        wrong,
                        "fix it: the server does not start with this error",
                    );
                }
                if let Some(variables) = withheld_variables(&parsed.config) {
                    report.ok(area, variables);
                }
                parsed.config
            }
            Err(error) => {
                report.error(
                    area,
                    error.to_string(),
                    "fix it; the other checks use the defaults meanwhile",
                );
                Config::default()
            }
        },
        None => flags(options, report),
    };
    if options.php.is_some() {
        config.global.php.executable.clone_from(&options.php);
    }
    config
}

/// The configuration of `howdah php-server` with the same flags.
fn flags(options: &cli::Doctor, report: &mut Report) -> Config {
    let mut words: Vec<std::ffi::OsString> = vec!["howdah".into(), "php-server".into()];
    for (flag, value) in [("--worker", &options.worker), ("--root", &options.root)] {
        if let Some(value) = value {
            words.extend([flag.into(), value.into()]);
        }
    }
    let result = Cli::try_parse_from(words).map_err(|error| error.to_string());
    let config = result.and_then(|cli| match cli.into_command() {
        cli::Command::PhpServer(options) => {
            php_server::config(*options).map_err(|failure| failure.to_string())
        }
        _ => Ok(Config::default()),
    });
    match config {
        Ok(config) => {
            let text = "no Caddyfile: checked as `howdah php-server` would serve it";
            report.ok(Area::Configuration, text);
            config
        }
        Err(error) => {
            report.error(Area::Configuration, error, "fix the flags");
            Config::default()
        }
    }
}

/// Certificate files and names of HTTPS.
fn certificates(config: &Config, report: &mut Report) {
    for error in howdah_tls::check(config) {
        if error.is_forbidden() {
            let advice =
                "run doctor as the user that runs the server, and let this user read the file";
            report.warning(Area::Configuration, error.to_string(), advice);
        } else {
            let advice = "fix it: the server does not start with this error";
            report.error(Area::Configuration, error.to_string(), advice);
        }
    }
}

/// Document roots that do not depend on the request.
fn roots(config: &Config) -> Vec<PathBuf> {
    fn of(routes: &[Route], roots: &mut Vec<PathBuf>) {
        for route in routes {
            match &route.handler {
                Handler::Root(template) => {
                    if let [Part::Text(root)] = &template.parts[..] {
                        let root = PathBuf::from(root);
                        if !roots.contains(&root) {
                            roots.push(root);
                        }
                    }
                }
                Handler::Chain(inner) => of(inner, roots),
                _ => {}
            }
        }
    }
    let mut roots = Vec::new();
    for site in &config.sites {
        of(&site.routes, &mut roots);
    }
    roots
}

/// Files that the configuration needs. `without_root`: the consequence of a missing document root.
fn files(config: &Config, roots: &[PathBuf], without_root: Level, report: &mut Report) {
    for root in roots {
        let level = if root.is_dir() {
            Level::Error
        } else {
            without_root
        };
        report.path_or(
            "document root",
            root,
            PathRequirement::ReadableFolder,
            level,
        );
    }
    for pool in &config.workers {
        report.path(
            "worker script",
            Path::new(&pool.file),
            PathRequirement::ReadableFile,
        );
    }
    // Large request bodies and responses to slow clients are written here.
    let spool = std::env::temp_dir();
    report.path("request bodies", &spool, PathRequirement::WritableFolder);
}

/// The application's folder: that of the nearest `composer.json`, else the parent of `public`, else the document root.
fn application(script: Option<&Path>, roots: &[PathBuf]) -> Option<PathBuf> {
    let folder = match script {
        Some(script) => script.parent()?.to_owned(),
        None => roots.first()?.clone(),
    };
    let folder = fs::canonicalize(folder).ok()?;
    let composer = folder
        .ancestors()
        .find(|above| above.join("composer.json").is_file());
    let found = match composer {
        Some(above) => above,
        None if folder.ends_with("public") => folder.parent()?,
        None => &folder,
    };
    // The root of the file system is never an application.
    found.parent().is_some().then(|| found.to_owned())
}

/// OPcache of the server that runs with this configuration, if there is one.
fn running_opcache(running: Option<&Status>, report: &mut Report) {
    let Some(opcache) = running.and_then(|status| status.opcache.as_ref()) else {
        return;
    };
    if opcache.advice.is_empty() {
        report.ok(Area::Php, "OPcache of the running server has room");
    }
    for advice in &opcache.advice {
        report.warning(
            Area::Php,
            format!("the running server: {advice}"),
            "set it with php_ini, and reload",
        );
    }
}

fn check_php(
    config: &Config,
    application: Option<&Path>,
    report: &mut Report,
) -> Option<(Php, php::Facts)> {
    let settings = &config.global.php;
    let path = executable(settings.executable.as_ref());
    let php = match Php::find(path, &settings.ini.all()) {
        Ok(php) => php,
        Err(error) => {
            report.error(
                Area::Php,
                error.to_string(),
                "PHP is needed for all further checks of it",
            );
            return None;
        }
    };
    let others = other_phps(config, report);
    let of_workers = executables(config).split_off(1 + config.pools.len());
    for (pool, executable) in config.workers.iter().zip(of_workers) {
        let file = Path::new(&pool.file);
        let own = others.iter().find(|other| other.is_at(&executable));
        if fs::File::open(file).is_ok() {
            own.unwrap_or(&php).worker_script(file, report);
        }
    }
    php.check_files(report);
    let facts = php.check(report)?;
    writable::php_folders(config, &facts.folders(), report);
    let count = application.map_or(0, php_files);
    opcache::check(&php, &facts, count, report);
    Some((php, facts))
}

/// Versions of PHP in pools other than that of the global block.
fn other_phps(config: &Config, report: &mut Report) -> Vec<Php> {
    let mut known = executables(config);
    let mut others = Vec::new();
    let first = known.remove(0);
    known.retain(|executable| *executable != first);
    known.sort_unstable();
    known.dedup();
    for executable in known {
        match Php::find(executable, &config.global.php.ini.all()) {
            Ok(php) => {
                if let Some(facts) = php.check(report) {
                    writable::php_folders(config, &facts.folders(), report);
                }
                others.push(php);
            }
            Err(error) => report.error(
                Area::Php,
                error.to_string(),
                "install the package howdah-phpVERSION that a pool names with `php`",
            ),
        }
    }
    others
}

/// PHP files below a folder; links are not followed.
fn php_files(folder: &Path) -> usize {
    let mut count = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // PHP cannot read what this user cannot read.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind)
                    if kind.is_file() && path.extension().is_some_and(|name| name == "php") =>
                {
                    count += 1;
                }
                _ => {}
            }
            if count >= FILES_MAX {
                return count;
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_application_is_where_composer_json_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("there");
        fs::create_dir_all(top.join("app/public")).expect("made");
        let script = top.join("app/public/worker.php");
        fs::write(&script, "<?php").expect("written");
        assert_eq!(application(Some(&script), &[]), Some(top.join("app")));
        let root = [top.join("app/public")];
        assert_eq!(application(None, &root), Some(top.join("app")));
        fs::write(top.join("composer.json"), "{}").expect("written");
        assert_eq!(application(Some(&script), &[]), Some(top.clone()));
        assert_eq!(application(None, &[]), None);
        assert_eq!(php_files(&top), 1);
    }
}
