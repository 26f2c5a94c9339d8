use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A document root for one test. It is removed when it is dropped.
#[derive(Debug)]
pub struct Www {
    dir: TempDir,
}

impl Default for Www {
    fn default() -> Self {
        Self::new()
    }
}

impl Www {
    /// Creates an empty document root.
    ///
    /// # Panics
    /// Panics if the directory cannot be created.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("howdah-www-").tempdir();
        Self {
            dir: dir.expect("a temporary directory can be made"),
        }
    }

    /// Adds a file and its parent directories.
    ///
    /// # Panics
    /// Panics if the file cannot be written.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// Adds or replaces a file while the server runs.
    ///
    /// # Panics
    /// Panics if the file cannot be written.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(path.trim_start_matches('/'));
        let parent = path.parent().expect("it is below the root");
        fs::create_dir_all(parent).expect("the directory can be made");
        fs::write(&path, content).expect("the file can be written");
        path
    }

    /// Path of the document root.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl AsRef<Path> for Www {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}
