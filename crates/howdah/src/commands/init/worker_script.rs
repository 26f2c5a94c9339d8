//! The worker script of an application: its own, or one that `howdah init` writes.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use super::application::Framework;
use super::front_controller;

/// Name of a script that is made from the front controller, in the document root.
pub(super) const OWN: &str = "howdah-worker.php";
/// Name of the scripts of Octane and of CodeIgniter.
pub(super) const FRANKENPHP: &str = "frankenphp-worker.php";

/// Octane's script, without the settings that `octane:install` makes beside it.
const OCTANE: &str = "<?php\n\n// Written by `howdah init`.\n\nrequire __DIR__ . \
                      '/../vendor/laravel/octane/bin/frankenphp-worker.php';\n";

/// What serves the requests of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) enum WorkerScript {
    /// The application has it, at this path below its folder.
    Present { path: String },
    /// The application has it, for RoadRunner; it is not in the document root.
    RoadRunner {
        path: String,
        /// It needs a `roadrunner` pool: `howdah/psr7-worker` is not installed.
        is_pool: bool,
    },
    /// `howdah init` writes it.
    Made { path: String, text: String },
    /// No script can be made. The reason is known for frameworks whose front controller was examined.
    Missing { reason: Option<String> },
}

/// The installed packages for worker scripts of RoadRunner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Psr7Packages {
    None,
    /// `howdah/psr7-worker`.
    Howdah,
    /// Those of RoadRunner alone.
    RoadRunner,
}

impl Psr7Packages {
    pub(super) fn of(packages: &BTreeMap<String, String>) -> Self {
        const ROADRUNNER: [&str; 3] = [
            "spiral/roadrunner",
            "spiral/roadrunner-http",
            "spiral/roadrunner-worker",
        ];
        if packages.contains_key("howdah/psr7-worker") {
            Self::Howdah
        } else if ROADRUNNER.iter().any(|name| packages.contains_key(*name)) {
            Self::RoadRunner
        } else {
            Self::None
        }
    }
}

/// Bytes of a script in which the worker's class is searched.
const SEARCHED: u64 = 64 << 10;

impl WorkerScript {
    /// The worker script for RoadRunner in a folder.
    pub(super) fn of_roadrunner(folder: &Path, packages: Psr7Packages) -> Option<Self> {
        if packages == Psr7Packages::None {
            return None;
        }
        let is_script = |path: &String| {
            let mut text = Vec::new();
            let file = std::fs::File::open(folder.join(path));
            let read = file.and_then(|file| file.take(SEARCHED).read_to_end(&mut text));
            read.is_ok() && String::from_utf8_lossy(&text).contains("PSR7Worker")
        };
        let path = ["", "bin/"].into_iter().find_map(|inner| {
            let entries = std::fs::read_dir(folder.join(inner)).ok()?.flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let mut paths: Vec<_> = names
                .filter(|name| Path::new(name).extension().is_some_and(|end| end == "php"))
                .map(|name| format!("{inner}{name}"))
                .collect();
            paths.sort();
            paths.into_iter().find(is_script)
        })?;
        let is_pool = packages == Psr7Packages::RoadRunner;
        Some(Self::RoadRunner { path, is_pool })
    }

    /// The script for the application in a folder. `has_new_slim`: its Slim, if it has one, is 4 or later.
    pub(super) fn find(
        folder: &Path,
        root: &str,
        framework: Framework,
        has_new_slim: bool,
        psr7: Psr7Packages,
    ) -> Self {
        let below = |name: &str| match root {
            "." => name.to_owned(),
            root => format!("{root}/{name}"),
        };
        let exists = |path: &str| folder.join(path).is_file();
        let present = |path: String| exists(&path).then_some(Self::Present { path });
        let made = |path: String, text: String| Self::Made { path, text };
        // Their scripts name their paths relative to it.
        let is_public = root == "public";
        let found = match framework {
            Framework::Laravel if is_public => present(below(FRANKENPHP)).or_else(|| {
                let octane = "vendor/laravel/octane/bin/frankenphp-worker.php";
                exists(octane).then(|| made(below(FRANKENPHP), OCTANE.to_owned()))
            }),
            Framework::CodeIgniter if is_public => present(below(FRANKENPHP)).or_else(|| {
                let template = "vendor/howdah/codeigniter4/src/Commands/Views/worker.php.tpl";
                let text = std::fs::read_to_string(folder.join(template)).ok()?;
                Some(made(below(FRANKENPHP), text))
            }),
            _ => None,
        };
        if let Some(found) = found {
            return found;
        }
        let index = below("index.php");
        let code = std::fs::read_to_string(folder.join(&index)).unwrap_or_default();
        if matches!(
            framework,
            Framework::CakePhp
                | Framework::Laminas
                | Framework::Mezzio
                | Framework::Plain
                | Framework::Slim
                | Framework::Yii
        ) {
            if code.contains(r"Howdah\Psr15\Runner") {
                return Self::Present { path: index };
            }
            if let Some(script) = Self::of_roadrunner(folder, psr7) {
                return script;
            }
        }
        match framework {
            Framework::Slim if !has_new_slim => Self::Missing {
                reason: Some(
                    "Slim before 4 stores the request in its container; for worker mode update Slim"
                        .to_owned(),
                ),
            },
            Framework::Slim | Framework::Mezzio => {
                present(below(OWN)).unwrap_or_else(|| Self::from_front_controller(below(OWN), &index, &code))
            }
            _ => Self::Missing { reason: None },
        }
    }

    fn from_front_controller(path: String, index: &str, code: &str) -> Self {
        match front_controller::worker_script(index, code) {
            Ok(text) => Self::Made { path, text },
            Err(reason) => Self::Missing {
                reason: Some(format!(
                    "{index} {reason}, so which of its statements may run once is unknown; for worker mode run \
                     `composer require howdah/psr15`, end {index} with `(new Howdah\\Psr15\\Runner($app, \
                     Howdah\\Psr15\\Requests::find()))->run();`, then `howdah init --undo && howdah init`"
                )),
            },
        }
    }

    /// The path of the script below the application's folder.
    pub(super) fn path(&self) -> Option<&str> {
        match self {
            Self::Present { path } | Self::Made { path, .. } | Self::RoadRunner { path, .. } => {
                Some(path)
            }
            Self::Missing { .. } => None,
        }
    }
}
