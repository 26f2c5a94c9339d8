//! Where the PHP executable is.
//!
//! A build has it beside `howdah`. Packages have one for each version of PHP, at
//! `../lib/howdah/phpVERSION/howdah-php` as seen from the folder of `howdah`.

use std::fs;
use std::path::{Path, PathBuf};

use howdah_config::model::PhpExecutable;

/// Its file name.
const NAME: &str = "howdah-php";

/// The `howdah-php` to run: the one that was named, else the one beside this executable, else the newest version that
/// is installed, else the first on PATH. If there is none, the place where it was expected, so that an error names it.
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
    let beside = own_folder.join(NAME);
    if beside.is_file() {
        return beside;
    }
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join(NAME))
            .find(|file| file.is_file())
    };
    newest(&versions).or_else(on_path).unwrap_or(beside)
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
