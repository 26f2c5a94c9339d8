//! Paths of files.

use std::path::{Path, PathBuf};

/// The path from the root; symbolic links stay.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
