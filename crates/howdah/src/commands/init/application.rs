//! Detects the application in a folder, by the packages that Composer installed and by
//! characteristic files.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde_json::Value;

use super::worker_script::{Psr7Packages, WorkerScript};

/// An application that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct Application {
    pub(in crate::commands) framework: Framework,
    /// Its version, if Composer knows it.
    version: Option<String>,
    /// The document root below the folder.
    pub(in crate::commands) root: &'static str,
    /// There is an `index.php` in it.
    has_front: bool,
    /// The script for worker mode.
    pub(in crate::commands) script: WorkerScript,
    /// A file in its folder, or the environment, sets CodeIgniter's environment: development or production.
    has_environment: bool,
    /// `howdah/runtime` is installed.
    pub(in crate::commands) has_runtime: bool,
}

/// Frameworks and applications that are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Framework {
    CakePhp,
    CodeIgniter,
    Drupal,
    Laminas,
    Laravel,
    MediaWiki,
    Mezzio,
    Nextcloud,
    Plain,
    Slim,
    Symfony,
    WordPress,
    Yii,
}

use Framework::{
    CakePhp, CodeIgniter, Drupal, Laminas, Laravel, MediaWiki, Mezzio, Nextcloud, Plain, Slim,
    Symfony, WordPress, Yii,
};

/// Packages that identify a framework, the more specific first: applications of one may use parts of another.
const PACKAGES: &[(&str, Framework)] = &[
    ("drupal/core", Drupal),
    ("drupal/core-recommended", Drupal),
    ("laravel/framework", Laravel),
    ("codeigniter4/framework", CodeIgniter),
    ("codeigniter4/codeigniter4", CodeIgniter),
    ("cakephp/cakephp", CakePhp),
    ("yiisoft/yii2", Yii),
    ("yiisoft/yii-runner-http", Yii),
    ("laminas/laminas-mvc", Laminas),
    ("mezzio/mezzio", Mezzio),
    ("slim/slim", Slim),
    ("roots/wordpress", WordPress),
    ("johnpbloch/wordpress", WordPress),
    ("symfony/framework-bundle", Symfony),
];

/// Files below the document root that identify an application.
const FILES: &[(&str, Framework)] = &[
    ("core/lib/Drupal.php", Drupal),
    ("wp-includes/version.php", WordPress),
    ("includes/Defines.php", MediaWiki),
    ("lib/versioncheck.php", Nextcloud),
];

/// Folders that may be document roots, the most usual first.
pub(super) const ROOTS: &[&str] = &["public", "web", "webroot", "docroot", "frontend/web", "."];

const CODEIGNITER_ENVIRONMENT: &str = "CI_ENVIRONMENT";

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.framework {
            CakePhp => "CakePHP",
            CodeIgniter => "CodeIgniter",
            Drupal => "Drupal",
            Laminas => "Laminas",
            Laravel => "Laravel",
            MediaWiki => "MediaWiki",
            Mezzio => "Mezzio",
            Nextcloud => "Nextcloud",
            Plain => "plain PHP",
            Slim => "Slim",
            Symfony => "Symfony",
            WordPress => "WordPress",
            Yii => "Yii",
        })?;
        match &self.version {
            Some(version) => write!(f, " {version}"),
            None => Ok(()),
        }
    }
}

impl Application {
    /// Detects the application in a folder. `None`: there is no PHP application.
    pub(in crate::commands) fn find(folder: &Path) -> io::Result<Option<Self>> {
        let packages = packages(folder)?;
        let named = PACKAGES
            .iter()
            .find_map(|(name, framework)| Some((*framework, packages.get(*name)?)));
        let by_file = || {
            ROOTS.iter().find_map(|root| {
                let own = |(file, _): &&(&str, Framework)| folder.join(root).join(file).is_file();
                let (_, framework) = FILES.iter().find(own)?;
                Some((*framework, *root))
            })
        };
        let front = |root: &&&str| folder.join(root).join("index.php").is_file();
        let psr7 = Psr7Packages::of(&packages);
        let of_roadrunner = || {
            WorkerScript::of_roadrunner(folder, psr7)?;
            let is_public = folder.join("public").is_dir();
            Some(if is_public { "public" } else { "." })
        };
        let root = ROOTS.iter().find(front).copied().or_else(of_roadrunner);
        let (framework, version, root) = match (by_file(), named, root) {
            (Some((framework, root)), named, _) => {
                let version = named.filter(|(other, _)| *other == framework);
                (framework, version.map(|(_, version)| version), root)
            }
            (None, Some((framework, version)), root) => {
                (framework, Some(version), root.unwrap_or("public"))
            }
            (None, None, Some(root)) => (Plain, None, root),
            (None, None, None) => return Ok(None),
        };
        let version = version.map(|version| version.trim_start_matches('v').to_owned());
        let version =
            version.filter(|version| version.starts_with(|char: char| char.is_ascii_digit()));
        let is_old = version
            .as_deref()
            .is_some_and(|version| number(version) < Some((4, 0)));
        Ok(Some(Self {
            framework,
            script: WorkerScript::find(folder, root, framework, !is_old, psr7),
            version,
            root,
            has_front: front(&&root),
            has_environment: std::env::var_os(CODEIGNITER_ENVIRONMENT).is_some()
                || sets(&folder.join(".env"), CODEIGNITER_ENVIRONMENT),
            has_runtime: packages.contains_key("howdah/runtime"),
        }))
    }

    /// The variable that enables its error pages, if its default is production and nothing sets it.
    pub(in crate::commands) fn development_variable(&self) -> Option<(&'static str, &'static str)> {
        let missing = self.framework == CodeIgniter && !self.has_environment;
        missing.then_some((CODEIGNITER_ENVIRONMENT, "development"))
    }

    /// Its worker script for RoadRunner, if it has no front controller.
    pub(in crate::commands) fn roadrunner_script(&self) -> Option<&str> {
        match &self.script {
            WorkerScript::RoadRunner { path, .. } if !self.has_front => Some(path),
            _ => None,
        }
    }

    /// Whether its version is at least this one.
    pub(in crate::commands) fn is_at_least(&self, major: u32, minor: u32) -> bool {
        let own = self.version.as_deref().and_then(number);
        own.is_some_and(|own| own >= (major, minor))
    }
}

/// The first two numbers of a version.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Whether a file of `NAME = VALUE` lines sets this name.
fn sets(file: &Path, name: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut names = text.lines().filter_map(|line| line.split_once('='));
    names.any(|(other, _)| other.trim() == name)
}

/// Packages and their versions: the installed ones, else the required ones.
fn packages(folder: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut packages = BTreeMap::new();
    if let Some(lock) = json(&folder.join("composer.lock"))? {
        for package in lock["packages"].as_array().into_iter().flatten() {
            if let (Some(name), Some(version)) =
                (package["name"].as_str(), package["version"].as_str())
            {
                packages.insert(name.to_owned(), version.to_owned());
            }
        }
    }
    if let Some(own) = json(&folder.join("composer.json"))? {
        // A framework's archive is itself the framework.
        if let Some(name) = own["name"].as_str() {
            let version = own["version"].as_str().unwrap_or_default();
            packages.insert(name.to_owned(), version.to_owned());
        }
        for (name, constraint) in own["require"].as_object().into_iter().flatten() {
            let constraint = constraint
                .as_str()
                .unwrap_or_default()
                .trim_start_matches(['^', '~']);
            packages
                .entry(name.clone())
                .or_insert_with(|| constraint.to_owned());
        }
    }
    Ok(packages)
}

fn json(file: &Path) -> io::Result<Option<Value>> {
    let text = match std::fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let value = serde_json::from_slice(&text);
    let value = value.map_err(|error| io::Error::other(format!("{}: {error}", file.display())))?;
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Detects in a folder with these files; Composer's files have the text.
    fn find(files: &[(&str, &str)]) -> Option<Application> {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        Application::find(dir.path()).expect("readable")
    }

    fn locked_version(package: &str, version: &str) -> String {
        format!(r#"{{"packages":[{{"name":"{package}","version":"{version}"}}]}}"#)
    }

    #[test]
    fn applications_are_distinguished() {
        let composer = |package: &str, root: &'static str| {
            let lock = locked_version(package, "v5.2.1");
            let index = format!("{root}/index.php");
            find(&[("composer.lock", &lock), (&index, "")]).expect(package)
        };
        for (package, root, expected) in [
            ("laravel/framework", "public", "Laravel 5.2.1"),
            ("symfony/framework-bundle", "public", "Symfony 5.2.1"),
            ("codeigniter4/framework", "public", "CodeIgniter 5.2.1"),
            ("cakephp/cakephp", "webroot", "CakePHP 5.2.1"),
            ("yiisoft/yii2", "web", "Yii 5.2.1"),
            ("slim/slim", "public", "Slim 5.2.1"),
            ("yiisoft/yii2", "frontend/web", "Yii 5.2.1"),
            ("yiisoft/yii-runner-http", "public", "Yii 5.2.1"),
            ("drupal/core-recommended", "web", "Drupal 5.2.1"),
            ("roots/wordpress", "web", "WordPress 5.2.1"),
            ("mezzio/mezzio", "public", "Mezzio 5.2.1"),
            ("laminas/laminas-mvc", "public", "Laminas 5.2.1"),
        ] {
            let found = composer(package, root);
            assert_eq!((found.to_string().as_str(), found.root), (expected, root));
        }
        for (file, root, expected) in [
            ("wp-includes/version.php", ".", "WordPress"),
            ("web/core/lib/Drupal.php", "web", "Drupal"),
            ("includes/Defines.php", ".", "MediaWiki"),
            ("lib/versioncheck.php", ".", "Nextcloud"),
            ("public/index.php", "public", "plain PHP"),
            ("index.php", ".", "plain PHP"),
        ] {
            let found = find(&[(file, "")]).expect(file);
            assert_eq!((found.to_string().as_str(), found.root), (expected, root));
        }
        assert_eq!(find(&[("README.md", "")]), None);
        // CodeIgniter's archive, without Composer.
        let archive = r#"{"name": "codeigniter4/framework", "require": {"php": "^8.1"}}"#;
        let files = [("composer.json", archive), ("public/index.php", "")];
        let found = find(&files).expect("CodeIgniter");
        assert_eq!(found.to_string(), "CodeIgniter");
    }

    #[test]
    fn versions_are_compared_by_number() {
        let symfony = |version: &str| {
            let lock = locked_version("symfony/framework-bundle", version);
            find(&[("composer.lock", &lock)]).expect("Symfony")
        };
        assert!(symfony("v7.4.0").is_at_least(7, 4));
        assert!(symfony("v8.0.1").is_at_least(7, 4));
        assert!(symfony("v7.10.0").is_at_least(7, 4));
        assert!(!symfony("v7.3.9").is_at_least(7, 4));
        assert!(!symfony("dev-main").is_at_least(7, 4));
    }
}
