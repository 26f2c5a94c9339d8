//! Contents of small files that are asked for again and again.
//!
//! Nothing is trusted: each hit asks the disk for the file's identity, size and times, which is one
//! system call in place of four. A file that changed a moment ago is not kept, since a second change
//! within the clock's tick would not show.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use rustix::fs::Stat;

/// Bytes of contents that a front thread keeps; beyond, it starts anew.
const CAPACITY: usize = 8 << 20;
/// A file must have been left alone for so long. Some file systems tick in two seconds.
const SETTLED: Duration = Duration::from_secs(3);

/// What tells whether a file is still the same. Seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    pub(super) size: u64,
    pub(super) modified: (i64, u64),
    /// Changes even when the time of modification is set back.
    changed: (i64, u64),
}

impl Identity {
    pub(super) fn new(stat: &Stat) -> Self {
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

    /// Whether the file was left alone for long enough that a further change would show.
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

/// The small files of one front thread.
#[derive(Debug, Default)]
pub(crate) struct FileCache {
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    files: HashMap<Box<str>, (Identity, Bytes)>,
    bytes: usize,
}

impl FileCache {
    /// The contents, if the file at `path` is the one that was kept.
    pub(super) fn get(&self, path: &str) -> Option<(Identity, Bytes)> {
        let mut inner = self.inner.borrow_mut();
        let (identity, contents) = inner.files.get(path)?;
        if rustix::fs::stat(path).is_ok_and(|stat| Identity::new(&stat) == *identity) {
            return Some((*identity, contents.clone()));
        }
        if let Some((_, contents)) = inner.files.remove(path) {
            inner.bytes -= contents.len();
        }
        None
    }

    /// Keeps the contents that the file had when it was `identity`.
    pub(super) fn put(&self, path: &str, identity: Identity, contents: &Bytes) {
        if !identity.is_settled() {
            return;
        }
        let mut inner = self.inner.borrow_mut();
        if inner.bytes + contents.len() > CAPACITY {
            *inner = Inner::default();
        }
        inner.bytes += contents.len();
        if let Some((_, old)) = inner
            .files
            .insert(path.into(), (identity, contents.clone()))
        {
            inner.bytes -= old.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    fn identity(path: &str) -> Identity {
        Identity::new(&rustix::fs::stat(path).unwrap())
    }

    #[test]
    fn only_the_very_file_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a").to_str().unwrap().to_owned();
        fs::write(&path, "one").unwrap();
        let cache = FileCache::default();
        let contents = Bytes::from_static(b"one");
        cache.put(&path, identity(&path), &contents);
        assert!(
            cache.get(&path).is_none(),
            "a file that changed a moment ago was kept"
        );

        // As if the file had been there for a while.
        cache
            .inner
            .borrow_mut()
            .files
            .insert(path.as_str().into(), (identity(&path), contents));
        cache.inner.borrow_mut().bytes = 3;
        assert_eq!(cache.get(&path).unwrap().1, "one");
        // Another file of the same size and time in its place.
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let other = directory.path().join("b");
        fs::write(&other, "two").unwrap();
        File::options()
            .write(true)
            .open(&other)
            .unwrap()
            .set_modified(modified)
            .unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(cache.get(&path).is_none());
        assert_eq!(cache.inner.borrow().bytes, 0);
        assert!(cache.get("/none").is_none());
    }

    #[test]
    fn settled_files_are_kept_within_the_capacity() {
        // The executable of the test was built before it was started.
        let path = std::env::current_exe()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let settled = Identity {
            modified: (1, 0),
            changed: (1, 0),
            ..identity(&path)
        };
        assert!(settled.is_settled());
        let cache = FileCache::default();
        let large = Bytes::from(vec![0; CAPACITY / 2]);
        for name in ["/1", "/2", "/2", "/3"] {
            cache.put(name, settled, &large);
            let inner = cache.inner.borrow();
            assert_eq!(inner.bytes, inner.files.len() * large.len());
            assert!(inner.bytes <= CAPACITY);
        }
    }
}
