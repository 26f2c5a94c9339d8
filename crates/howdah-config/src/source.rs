//! The files that `import` reads, and the working directory, behind a trait so that parsing needs no input and output.

use std::io;
use std::path::{Component, Path, PathBuf};

/// Reads the imports of a configuration, and resolves their paths.
pub trait Files {
    /// The text of a file.
    ///
    /// # Errors
    /// Errors of reading; text that is not UTF-8 is `InvalidData`.
    fn read(&self, path: &Path) -> io::Result<String>;

    /// The files that match a pattern with `*` or `?`, sorted. A name that starts with a dot is
    /// only matched by a pattern that starts with one.
    ///
    /// # Errors
    /// A malformed pattern, or a folder that cannot be read.
    fn glob(&self, pattern: &str) -> io::Result<Vec<PathBuf>>;

    /// The working directory, an absolute path, where relative paths in a configuration start. Default:
    /// the root of the file system.
    ///
    /// # Errors
    /// The working directory no longer exists.
    fn working_directory(&self) -> io::Result<PathBuf> {
        Ok("/".into())
    }
}

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<String> {
        std::fs::read_to_string(path)
    }

    fn glob(&self, pattern: &str) -> io::Result<Vec<PathBuf>> {
        let options = glob::MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: true,
        };
        glob::glob_with(pattern, options)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?
            .map(|entry| entry.map_err(io::Error::from))
            .collect()
    }

    fn working_directory(&self) -> io::Result<PathBuf> {
        std::env::current_dir()
    }
}

/// No files: every import of a file fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn glob(&self, _: &str) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }
}

/// `path` below `folder`, without `.` and repeated slashes. A `..` stays, since the part before it may be a symbolic
/// link.
pub(crate) fn absolute(folder: &Path, path: &str) -> String {
    let mut clean = PathBuf::new();
    for part in folder.join(path).components() {
        if part != Component::CurDir {
            clean.push(part);
        }
    }
    clean.to_string_lossy().into_owned()
}
