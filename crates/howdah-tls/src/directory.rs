//! A directory of small files, which several servers may share. A file is replaced completely or not at all. Only the
//! owner has access to directories.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use howdah_monitor::fs;

use crate::storage::unique;

const DIRECTORY: u32 = 0o700;

/// The readers of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    Owner,
    All,
}

impl Readers {
    fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::All => 0o644,
        }
    }
}

/// An error with its path. Many functions pass the storage on, and few of them know it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
struct PathError {
    path: PathBuf,
    error: io::Error,
}

impl PathError {
    /// An error of the same kind, with the path.
    fn of(path: &Path, error: io::Error) -> io::Error {
        let path = path.to_owned();
        io::Error::new(error.kind(), Self { path, error })
    }
}

/// An error without its path, for messages that already contain it.
pub(crate) fn reason(error: &io::Error) -> &(dyn std::error::Error + 'static) {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<PathError>());
    inner.map_or(error, |at| &at.error)
}

/// A directory of small files.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    root: PathBuf,
}

impl Directory {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// The file's bytes; `None` if it does not exist.
    pub(crate) fn read(&self, relative: impl AsRef<Path>) -> io::Result<Option<Vec<u8>>> {
        let path = self.path(relative);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(PathError::of(&path, error)),
        }
    }

    /// Creates or replaces a file.
    pub(crate) fn write(
        &self,
        relative: impl AsRef<Path>,
        bytes: &[u8],
        readers: Readers,
    ) -> io::Result<()> {
        let path = self.path(relative);
        let temporary = Self::temporary(&path, bytes, readers)?;
        fs::rename(&temporary, &path)
            .inspect_err(|_| drop(fs::remove_file(&temporary)))
            .map_err(|error| PathError::of(&path, error))
    }

    /// Creates a file unless it exists; returns whether it did.
    pub(crate) fn create(&self, relative: impl AsRef<Path>, bytes: &[u8]) -> io::Result<bool> {
        let path = self.path(relative);
        let temporary = Self::temporary(&path, bytes, Readers::Owner)?;
        // A link is created or not, also on network file systems, and never half.
        let linked = fs::hard_link(&temporary, &path);
        let removed = fs::remove_file(&temporary);
        match linked {
            Ok(()) => removed
                .map(|()| true)
                .map_err(|error| PathError::of(&temporary, error)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(PathError::of(&path, error)),
        }
    }

    /// Removes a file; it may already be gone.
    pub(crate) fn remove(&self, relative: impl AsRef<Path>) -> io::Result<()> {
        let path = self.path(relative);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(PathError::of(&path, error))
            }
            _ => Ok(()),
        }
    }

    /// A new file next to `path`, written to the disk.
    fn temporary(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<PathBuf> {
        if let Some(directory) = path.parent() {
            let made = fs::create_dir_all(directory, DIRECTORY);
            made.map_err(|error| PathError::of(directory, error))?;
        }
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.new", unique()));
        let temporary = PathBuf::from(name);
        let mut file = fs::create(&temporary, readers.mode(), false)
            .map_err(|error| PathError::of(path, error))?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        written
            .inspect_err(|_| drop(fs::remove_file(&temporary)))
            .map_err(|error| PathError::of(path, error))?;
        Ok(temporary)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_are_secret_and_whole() {
        let temporary = tempfile::tempdir().expect("a directory");
        let directory = Directory::new(temporary.path().join("data"));
        assert_eq!(directory.read("a/b.pem").expect("readable"), None);
        directory
            .write("a/b.pem", b"one", Readers::Owner)
            .expect("written");
        directory
            .write("a/b.pem", b"two", Readers::Owner)
            .expect("replaced");
        directory
            .write("a/c.crt", b"three", Readers::All)
            .expect("written");
        assert_eq!(
            directory.read("a/b.pem").expect("readable"),
            Some(b"two".to_vec())
        );
        let mode = |path: &str| {
            let metadata = fs::metadata(directory.path(path)).expect("it is there");
            metadata.permissions().mode() & 0o777
        };
        assert_eq!(
            (mode("a"), mode(""), mode("a/b.pem")),
            (0o700, 0o700, 0o600)
        );
        assert_eq!(mode("a/c.crt") & 0o700, 0o600);
        assert!(!directory.create("a/b.pem", b"four").expect("asked"));
        assert!(directory.create("a/d.pem", b"five").expect("asked"));
        let left = fs::read_dir(directory.path("a")).expect("readable").count();
        assert_eq!(left, 3, "no temporary file is left");
        directory.remove("a/d.pem").expect("removed");
        directory.remove("a/d.pem").expect("gone already");
        // An error contains its path.
        let wrong = directory.write("a/b.pem/c", b"six", Readers::Owner);
        let error = wrong.expect_err("that is a file");
        let path = directory.path("a/b.pem").display().to_string();
        assert!(error.to_string().starts_with(&path), "{error}");
        assert!(!reason(&error).to_string().contains(&path), "{error}");
    }
}
