//! Finds the PHP executable.
//!
//! A build has it next to `howdah`. Packages have one for each version of PHP, at
//! `../lib/howdah/phpVERSION/howdah-php` relative to the folder of `howdah`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use howdah_config::model::{Config, PhpExecutable};

use crate::failure::Failure;

/// Its file name.
const NAME: &str = "howdah-php";

/// The `howdah-php` to run: the named one, else the one next to this executable, else the newest installed version,
/// else the first on PATH. If there is none, the expected path, so that an error names it.
pub(crate) fn executable(named: Option<&PhpExecutable>) -> PathBuf {
    let own_folder = std::env::current_exe()
        .and_then(fs::canonicalize)
        .ok()
        .and_then(|own| own.parent().map(Path::to_owned))
        .unwrap_or_default();
    let versions = own_folder.join("../lib/howdah");
    match named {
        Some(PhpExecutable::File(file)) => return file.clone(),
        Some(PhpExecutable::Version(version)) => return of_version(&versions, version),
        None => {}
    }
    let sibling = own_folder.join(NAME);
    if sibling.is_file() {
        return sibling;
    }
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join(NAME))
            .find(|file| file.is_file())
    };
    newest(&versions).or_else(on_path).unwrap_or(sibling)
}

/// The `howdah-php` of each pool, in the order of [`pools::options`](crate::php::pools::options).
pub(crate) fn executables(config: &Config) -> Vec<PathBuf> {
    let global = config.global.php.executable.as_ref();
    let own = config.own_pool_settings();
    std::iter::once(global)
        .chain(own.map(|settings| settings.php.as_ref().or(global)))
        .map(executable)
        .collect()
}

/// The error for a missing PHP that a pool names, with what to install.
pub(crate) fn check_executables(config: &Config) -> Result<(), Failure> {
    let missing = missing_executables(config).into_iter().next();
    missing.map_or(Ok(()), |missing| Err(Failure::Setup(missing)))
}

/// The errors of all missing ones, each once.
pub(crate) fn missing_executables(config: &Config) -> Vec<String> {
    let global = config.global.php.executable.iter();
    let own = config.own_pool_settings();
    let mut missing: Vec<String> = Vec::new();
    for php in global.chain(own.filter_map(|settings| settings.php.as_ref())) {
        let file = executable(Some(php));
        // A file that may not be inspected is reported when it is run.
        let is_missing =
            fs::metadata(&file).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if !is_missing {
            continue;
        }
        let text = match php {
            PhpExecutable::Version(version) => format!(
                "PHP {version} is not installed for howdah, since {} is missing: install the package \
                 howdah-php{version}, or name another version with `php`{}",
                file.display(),
                known_versions(&file)
            ),
            PhpExecutable::File(_) => format!(
                "PHP executable {} not found: name another with `php` in the Caddyfile",
                file.display()
            ),
        };
        if !missing.contains(&text) {
            missing.push(text);
        }
    }
    missing
}

/// The versions that are installed where this file should be.
fn known_versions(file: &Path) -> String {
    let Some(folder) = file.ancestors().nth(2) else {
        return String::new();
    };
    let mut versions = installed_versions(folder);
    versions.sort_unstable();
    let versions = versions
        .iter()
        .map(|(major, minor)| format!("{major}.{minor}"));
    let versions: Vec<String> = versions.collect();
    if versions.is_empty() {
        return String::new();
    }
    format!(" ({} is installed)", versions.join(", "))
}

fn of_version(versions: &Path, version: &str) -> PathBuf {
    let folder = versions.join(format!("php{version}"));
    // Without `..`, for messages.
    fs::canonicalize(&folder).unwrap_or(folder).join(NAME)
}

fn newest(versions: &Path) -> Option<PathBuf> {
    installed_versions(versions)
        .into_iter()
        .max()
        .map(|(major, minor)| of_version(versions, &format!("{major}.{minor}")))
}

/// Major and minor number of each version that is installed.
fn installed_versions(versions: &Path) -> Vec<(u32, u32)> {
    let folders = fs::read_dir(versions).into_iter().flatten().flatten();
    folders
        .filter(|folder| folder.path().join(NAME).is_file())
        .filter_map(|folder| {
            let name = folder.file_name().into_string().ok()?;
            let (major, minor) = name.strip_prefix("php")?.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use howdah_config::model::WorkerPool;

    use super::*;

    #[test]
    fn a_named_executable_is_taken_as_it_is() {
        let file = PhpExecutable::File("/opt/x".into());
        assert_eq!(executable(Some(&file)), Path::new("/opt/x"));
    }

    #[test]
    fn without_one_the_answer_still_names_a_place() {
        assert!(executable(None).ends_with(NAME));
        let version = PhpExecutable::Version("7.0".into());
        assert!(executable(Some(&version)).ends_with("lib/howdah/php7.0/howdah-php"));
    }

    #[test]
    fn missing_programs_are_named_with_their_package() {
        let mut config = Config::default();
        assert_eq!(missing_executables(&config), Vec::<String>::new());
        let mut pool = WorkerPool::new("app", "/srv/a.php");
        pool.settings.php = Some(PhpExecutable::Version("7.0".into()));
        config.workers = vec![pool.clone(), pool];
        let missing = missing_executables(&config);
        let [missing] = missing.as_slice() else {
            panic!("{missing:?}");
        };
        assert!(
            missing.contains("install the package howdah-php7.0"),
            "{missing}"
        );
        let error = check_executables(&config).expect_err("it is missing");
        assert!(error.to_string().contains("howdah-php7.0"), "{error}");
    }

    #[test]
    fn the_newest_version_that_is_whole_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        for version in ["php8.2", "php8.10", "php8.9", "php", "other"] {
            let version = folder.path().join(version);
            fs::create_dir(&version).expect("made");
            fs::write(version.join(NAME), "").expect("written");
        }
        fs::create_dir(folder.path().join("php9.0")).expect("made");
        let newest = newest(folder.path()).expect("one");
        assert!(newest.ends_with("php8.10/howdah-php"), "{newest:?}");
        assert_eq!(super::newest(&folder.path().join("missing")), None);
    }
}
