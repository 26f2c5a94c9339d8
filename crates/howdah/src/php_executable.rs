//! Where the PHP executable is.

use std::path::{Path, PathBuf};

/// Its file name.
const NAME: &str = "howdah-php";

/// The `howdah-php` to run: the one that was named, else the one beside this executable, else the first
/// on PATH. If it is missing, the place next to this executable, so that an error names it.
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
