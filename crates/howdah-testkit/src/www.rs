use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A document root of a test's own, removed with it.
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
    /// An empty one.
    ///
    /// # Panics
    /// If the directory cannot be made.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("howdah-www-").tempdir();
        Self {
            dir: dir.expect("a temporary directory can be made"),
        }
    }

    /// Adds a file, with the directories above it.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// Adds or replaces a file while the server runs.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(path.trim_start_matches('/'));
        let parent = path.parent().expect("it is below the root");
        fs::create_dir_all(parent).expect("the directory can be made");
        fs::write(&path, content).expect("the file can be written");
        path
    }

    /// The root.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl AsRef<Path> for Www {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}
