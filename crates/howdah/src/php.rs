//! Finds the PHP executable, and says how it is started.

use std::path::{Path, PathBuf};
use std::time::Duration;

use howdah_config::model::Config;
use howdah_pool::RootOptions;

/// Its file name.
const NAME: &str = "howdah-php";
/// PHP's modules and a preload script may take a while on a cold machine.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// How a configuration has PHP started, in a server with so many front threads.
pub(crate) fn root_options(config: &Config, fronts: usize) -> RootOptions {
    let settings = &config.global.php;
    RootOptions {
        executable: executable(settings.executable.as_deref()),
        ini: settings.ini.clone(),
        concurrent: config.workers.iter().any(|pool| pool.concurrency.is_some()),
        fronts,
        start_timeout: START_TIMEOUT,
    }
}

/// The `howdah-php` to run: the one that was named, else the one beside this executable, else the first
/// on PATH. When there is none, the place beside this executable, so that an error names it.
pub(crate) fn executable(named: Option<&Path>) -> PathBuf {
    if let Some(named) = named {
        return named.to_owned();
    }
    let beside = std::env::current_exe()
        .and_then(std::fs::canonicalize)
        .ok()
        .and_then(|own| own.parent().map(|dir| dir.join(NAME)));
    if let Some(beside) = &beside
        && beside.is_file()
    {
        return beside.clone();
    }
    let on_path = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path)
            .map(|dir| dir.join(NAME))
            .find(|file| file.is_file())
    });
    on_path.or(beside).unwrap_or_else(|| NAME.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_executable_is_taken_as_it_is() {
        assert_eq!(executable(Some(Path::new("/opt/x"))), Path::new("/opt/x"));
    }

    #[test]
    fn without_one_the_answer_still_names_a_place() {
        assert!(executable(None).ends_with(NAME));
    }
}
