//! A page that waits until a test lets it go on: it makes the file `NAME.here` and waits for `NAME`.

use std::path::PathBuf;

use howdah_testkit::{PATIENCE, process};
use tempfile::TempDir;

use crate::encode;

/// The two files.
#[derive(Debug)]
pub struct Gate {
    file: PathBuf,
    _dir: TempDir,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A closed one.
    ///
    /// # Panics
    /// If there is no place for its files.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("gate");
        Self { file, _dir: dir }
    }

    /// `NAME`, for a query.
    pub fn target(&self) -> String {
        encode(&self.file)
    }

    /// Waits until a page waits.
    ///
    /// # Panics
    /// If none does.
    #[track_caller]
    pub fn wait(&self) {
        let here = self.file.with_extension("here");
        assert!(process::wait_until(PATIENCE, || here.exists()));
    }

    /// Lets the page go on.
    ///
    /// # Panics
    /// If the file cannot be made.
    pub fn open(&self) {
        std::fs::write(&self.file, "").expect("written");
    }
}
