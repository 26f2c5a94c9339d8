//! The Laravel application of `tests/apps` with Octane's own worker script, from a checkout of `laravel/octane`, branch
//! `2.x`, that `HOWDAH_OCTANE` names.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::worker::scripts;

const WANTED: &str = "HOWDAH_OCTANE";
const LARAVEL: &str = "HOWDAH_LARAVEL";

/// Makes the application in this folder. Answers with its document root, or with nothing where there is no Octane.
///
/// # Panics
/// If it cannot be made of what is there.
pub fn install(folder: &Path) -> Option<PathBuf> {
    if std::env::var_os(WANTED).is_none() {
        println!("skipped: {WANTED} does not name a folder of Laravel Octane");
        return None;
    }
    Some(set_up(folder, LARAVEL))
}

/// The same with `php/octane` on the Laravel and the Octane of the application that `HOWDAH_LARAVEL` names.
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
