//! Contents of small files that are requested often.
//!
//! Every hit is verified: it reads the file's identity, size and times from the disk, which is one system call in place
//! of four, and none for further hits in the same tick of the coarse clock, 1 to 10 ms. A file that has just changed is
//! not cached, since a second change within the clock's tick would not show.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use bytes::Bytes;

use super::conditional::Version;
use crate::clock;
use crate::message::file_origin::Identity;
use crate::message::path::on_disk;

/// Bytes of contents that a front thread caches; when full, the cache is emptied.
const CAPACITY: usize = 8 << 20;
/// The small files of one front thread.
#[derive(Debug, Default)]
pub(crate) struct FileCache {
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    files: HashMap<Box<str>, CachedFile>,
    bytes: usize,
}

#[derive(Debug)]
struct CachedFile {
    version: Version,
    contents: Bytes,
    /// Time of the last check of the disk, on the coarse clock.
    seen: Cell<u64>,
}

impl FileCache {
    /// The contents, if the file at `path` is the cached one.
    pub(super) fn get(&self, path: &str) -> Option<(Version, Bytes)> {
        let mut inner = self.inner.borrow_mut();
        let kept = inner.files.get(path)?;
        let now = clock::now();
        if kept.seen.get() == now || is_at(path, &kept.version.identity) {
            kept.seen.set(now);
            return Some((kept.version.clone(), kept.contents.clone()));
        }
        if let Some(kept) = inner.files.remove(path) {
            inner.bytes -= kept.contents.len();
        }
        None
    }

    /// Caches the contents that the file had in this version.
    pub(super) fn put(&self, path: &str, version: &Version, contents: &Bytes) {
        if !version.identity.is_settled() {
            return;
        }
        let mut inner = self.inner.borrow_mut();
        if inner.bytes + contents.len() > CAPACITY {
            *inner = Inner::default();
        }
        inner.bytes += contents.len();
        let kept = CachedFile {
            version: version.clone(),
            contents: contents.clone(),
            seen: Cell::new(0),
        };
        if let Some(old) = inner.files.insert(path.into(), kept) {
            inner.bytes -= old.contents.len();
        }
    }
}

fn is_at(path: &str, identity: &Identity) -> bool {
    rustix::fs::stat(&*on_disk(path)).is_ok_and(|stat| Identity::new(&stat) == *identity)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    fn identity(path: &str) -> Identity {
        Identity::new(&rustix::fs::stat(path).unwrap())
    }

    /// Makes the last check of the disk look old.
    fn expire_lookup(cache: &FileCache, path: &str) {
        cache.inner.borrow().files[path].seen.set(0);
    }

    #[test]
    fn only_the_very_file_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a").to_str().unwrap().to_owned();
        fs::write(&path, "one").unwrap();
        let cache = FileCache::default();
        let contents = Bytes::from_static(b"one");
        let version = Version::new(identity(&path));
        cache.put(&path, &version, &contents);
        assert!(
            cache.get(&path).is_none(),
            "a file that changed a moment ago was kept"
        );

        // Makes the file look old.
        let kept = CachedFile {
            version,
            contents,
            seen: Cell::new(0),
        };
        let mut inner = cache.inner.borrow_mut();
        inner.files.insert(path.as_str().into(), kept);
        inner.bytes = 3;
        drop(inner);
        assert_eq!(cache.get(&path).unwrap().1, "one");
        // A different file of the same size and time replaces it.
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
        expire_lookup(&cache, &path);
        assert!(cache.get(&path).is_none());
        assert_eq!(cache.inner.borrow().bytes, 0);
        assert!(cache.get("/none").is_none());
    }

    #[test]
    fn settled_files_are_kept_within_the_capacity() {
        // The test's executable was built before it was started.
        let path = std::env::current_exe()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let settled = Identity::of_test(identity(&path).size, 1);
        assert!(settled.is_settled());
        let settled = Version::new(settled);
        let cache = FileCache::default();
        let large = Bytes::from(vec![0; CAPACITY / 2]);
        for name in ["/1", "/2", "/2", "/3"] {
            cache.put(name, &settled, &large);
            let inner = cache.inner.borrow();
            assert_eq!(inner.bytes, inner.files.len() * large.len());
            assert!(inner.bytes <= CAPACITY);
        }
    }
}
