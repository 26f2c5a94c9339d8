//! Which PHP a server runs.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The value of `php` in the Caddyfile and of `--php`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhpExecutable {
    /// `8.3`: the package of that version, as `howdah-php8.3` installs it.
    Version(String),
    /// The path of a `howdah-php`.
    File(PathBuf),
}

impl FromStr for PhpExecutable {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let is_version = text.split_once('.').is_some_and(|(major, minor)| {
            let is_number =
                |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number(major) && is_number(minor)
        });
        Ok(if is_version {
            Self::Version(text.to_owned())
        } else {
            Self::File(text.into())
        })
    }
}

impl fmt::Display for PhpExecutable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => f.write_str(version),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_numbers_with_a_dot_are_a_version_and_all_else_is_a_file() {
        for (text, is_version) in [
            ("8.3", true),
            ("10.12", true),
            ("./8.3", false),
            ("8", false),
            ("8.", false),
            ("8.3.1", false),
            ("/usr/bin/howdah-php", false),
        ] {
            let Ok(php) = text.parse::<PhpExecutable>();
            assert_eq!(
                matches!(php, PhpExecutable::Version(_)),
                is_version,
                "{text}"
            );
            assert_eq!(php.to_string(), text);
        }
    }
}
