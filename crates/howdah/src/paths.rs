//! Paths of files.

use std::path::{Path, PathBuf};

/// The absolute path; symbolic links are not resolved.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
