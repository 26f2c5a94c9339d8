//! The Laravel application of `tests/apps` with Octane's own worker script. `HOWDAH_OCTANE` names a
//! checkout of branch `2.x` of `laravel/octane`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::worker::scripts;

const WANTED: &str = "HOWDAH_OCTANE";
const LARAVEL: &str = "HOWDAH_LARAVEL";

/// Creates the application in this folder and returns its document root. Returns `None` if Octane
/// is missing.
///
/// # Panics
/// Panics if the application cannot be created from the folder.
pub fn install(folder: &Path) -> Option<PathBuf> {
    if std::env::var_os(WANTED).is_none() {
        println!("skipped: {WANTED} does not name a folder of Laravel Octane");
        return None;
    }
    Some(set_up(folder, LARAVEL))
}

/// Like [`install`], with `php/octane` and the Laravel and Octane of the application that
/// `HOWDAH_LARAVEL` names.
///
/// # Panics
/// As [`install`].
pub fn install_laravel(folder: &Path) -> Option<PathBuf> {
    if std::env::var_os(LARAVEL).is_none() {
        println!("skipped: {LARAVEL} does not name an application with Laravel and Octane");
        return None;
    }
    Some(set_up(folder, WANTED))
}

fn set_up(folder: &Path, without: &str) -> PathBuf {
    let setup = scripts().join("../apps/laravel/setup.sh");
    let done = Command::new("bash")
        .arg(setup)
        .arg(folder)
        .env_remove(without)
        .output()
        .expect("bash can be run");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}");
    folder.join("public")
}
