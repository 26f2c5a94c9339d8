//! The file that a response was made from, and its validators.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

/// A file must not have changed for so long. Some file systems have a resolution of two seconds.
const SETTLED: Duration = Duration::from_secs(3);

/// Identity of a version of a file. Seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    pub(crate) modified: (i64, u64),
    /// Changes even when the time of modification is set back.
    changed: (i64, u64),
}

impl Identity {
    pub(crate) fn new(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    #[cfg(test)]
    pub(crate) fn of_test(size: u64, seconds: i64) -> Self {
        Self {
            device: 1,
            inode: 1,
            size,
            modified: (seconds, 0),
            changed: (seconds, 0),
        }
    }

    /// Whether the file has been unchanged long enough that a further change would show.
    pub(crate) fn is_settled(&self) -> bool {
        let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else {
            return false;
        };
        let settled = |seconds: i64| {
            u64::try_from(seconds).is_ok_and(|seconds| Duration::from_secs(seconds) + SETTLED < now)
        };
        settled(self.modified.0) && settled(self.changed.0)
    }
}

/// The file of a response, in its extensions.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) path: Box<str>,
    pub(crate) identity: Identity,
}
