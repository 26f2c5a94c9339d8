//! Reports of PHP processes that crashed.

use std::fmt;
use std::path::PathBuf;

/// `crash_reports`: where they are stored, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashReports {
    /// Reports are written.
    pub on: bool,
    /// The folder; `None`: the server chooses one.
    pub folder: Option<PathBuf>,
    /// Maximum number of reports; the oldest are removed.
    pub keep: usize,
    /// Maximum total size in bytes.
    pub max_size: u64,
}

impl Default for CrashReports {
    fn default() -> Self {
        Self {
            on: true,
            folder: None,
            keep: 100,
            max_size: 20 << 20,
        }
    }
}

/// Formats it in the syntax of a Caddyfile.
impl fmt::Display for CrashReports {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keep, max_size, .. } = self;
        match &self.folder {
            _ if !self.on => out.write_str("off"),
            Some(folder) => write!(
                out,
                "{} (keep {keep}, max_size {max_size})",
                folder.display()
            ),
            None => write!(out, "the default (keep {keep}, max_size {max_size})"),
        }
    }
}
