//! What exists on disk at a path; existing files are checked at most once a second.
//!
//! The cache of a front thread is small: an entry lives for less than a second. Missing files are
//! not cached: a script may create a file and redirect the client to it immediately.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::rc::Rc;

use crate::clock;
use crate::message::path::{absolute, from_disk, on_disk};

/// Lifetime of an entry in milliseconds: a second, minus the coarse clock's tick.
const LIFE: u64 = 980;
/// Entries of a thread, about 100 bytes each.
const CAPACITY: usize = 4096;

/// The object that a path names, with symbolic links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    /// Nothing, or nothing that is served: a socket, a FIFO, a device.
    Missing,
}

impl Kind {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        if metadata.is_file() {
            Self::File
        } else if metadata.is_dir() {
            Self::Directory
        } else {
            Self::Missing
        }
    }
}

/// The file-system checks of one front thread.
#[derive(Debug, Default)]
pub(crate) struct StatCache {
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    known: HashMap<Box<str>, (Kind, u64)>,
    /// Files with their symbolic links resolved.
    real: HashMap<Box<str>, (Rc<str>, u64)>,
    /// Buffer for the key, so that a hit allocates nothing.
    key: String,
}

impl StatCache {
    /// What `path`, which starts with a slash, names under `root`.
    pub(crate) fn kind(&self, root: &Root, path: &str) -> Kind {
        let now = clock::now();
        let mut inner = self.inner.borrow_mut();
        let Inner { known, key, .. } = &mut *inner;
        key.clear();
        key.push_str(root.prefix());
        key.push_str(path);
        if let Some((kind, seen)) = known.get(key.as_str())
            && now.saturating_sub(*seen) < LIFE
        {
            return *kind;
        }
        let kind = fs::metadata(on_disk(key)).map_or(Kind::Missing, |metadata| Kind::of(&metadata));
        if kind == Kind::Missing {
            return kind;
        }
        if known.len() >= CAPACITY {
            known.clear();
        }
        known.insert(key.as_str().into(), (kind, now));
        kind
    }

    /// `path`, which starts with a slash, below `root` with all symbolic links resolved. `None` if
    /// it does not exist.
    pub(crate) fn real_path(&self, root: &Root, path: &str) -> Option<Rc<str>> {
        let now = clock::now();
        let mut inner = self.inner.borrow_mut();
        let Inner { real, key, .. } = &mut *inner;
        key.clear();
        key.push_str(root.prefix());
        key.push_str(path);
        if let Some((found, seen)) = real.get(key.as_str())
            && now.saturating_sub(*seen) < LIFE
        {
            return Some(Rc::clone(found));
        }
        let found: Rc<str> = from_disk(fs::canonicalize(on_disk(key)).ok()?.as_os_str()).into();
        if real.len() >= CAPACITY {
            real.clear();
        }
        real.insert(key.as_str().into(), (Rc::clone(&found), now));
        Some(found)
    }
}

/// A document root: absolute, and with its symbolic links resolved.
#[derive(Debug)]
pub(crate) struct Root {
    path: Rc<str>,
    resolved: RefCell<(Rc<str>, u64)>,
}

impl Root {
    /// A relative `path` is relative to the working directory.
    pub(crate) fn new(path: &str) -> Self {
        let absolute = absolute(if path.is_empty() { "." } else { path });
        let path: Rc<str> = without_slash(absolute.as_deref().unwrap_or(path)).into();
        Self {
            resolved: RefCell::new((Rc::clone(&path), 0)),
            path,
        }
    }

    /// The prefix of a path with a leading slash: empty for `/`.
    pub(crate) fn prefix(&self) -> &str {
        if &*self.path == "/" { "" } else { &self.path }
    }

    /// The configured path, made absolute.
    pub(crate) fn path(&self) -> &Rc<str> {
        &self.path
    }

    /// With symbolic links resolved. Checked once a second: a deployment may switch a link to the
    /// new release. As long as the text does not change, neither does the allocation.
    pub(crate) fn resolved(&self) -> Rc<str> {
        let now = clock::now();
        let mut resolved = self.resolved.borrow_mut();
        if resolved.1 == 0 || now.saturating_sub(resolved.1) >= LIFE {
            // A missing root stays as configured.
            let fresh = fs::canonicalize(on_disk(&self.path)).ok();
            let fresh = fresh.as_ref().map(|fresh| from_disk(fresh.as_os_str()));
            let text = fresh.as_deref().unwrap_or(&self.path);
            if *resolved.0 != *text {
                resolved.0 = text.into();
            }
            resolved.1 = now.max(1);
        }
        Rc::clone(&resolved.0)
    }
}

/// Roots that depend on the request, such as `/srv/{host}`.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    known: RefCell<HashMap<Box<str>, Rc<Root>>>,
}

impl Roots {
    pub(crate) fn get(&self, path: &str) -> Rc<Root> {
        let mut known = self.known.borrow_mut();
        if let Some(root) = known.get(path) {
            return Rc::clone(root);
        }
        if known.len() >= CAPACITY {
            known.clear();
        }
        let root = Rc::new(Root::new(path));
        known.insert(path.into(), Rc::clone(&root));
        root
    }
}

fn without_slash(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() { "/" } else { trimmed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_hit_causes_no_lookup() {
        let base = tempfile::tempdir().unwrap();
        let root = Root::new(base.path().to_str().unwrap());
        let lookup = StatCache::default();
        fs::write(base.path().join("a"), "").unwrap();
        assert_eq!(lookup.kind(&root, "/a"), Kind::File);
        assert_eq!(lookup.kind(&root, "/"), Kind::Directory);
        assert_eq!(lookup.kind(&root, "/b"), Kind::Missing);
        assert_eq!(lookup.kind(&root, "/a/b"), Kind::Missing);
        assert_eq!(lookup.kind(&root, "/a\0"), Kind::Missing);
        fs::remove_file(base.path().join("a")).unwrap();
        assert_eq!(lookup.kind(&root, "/a"), Kind::File);
    }

    #[test]
    fn roots() {
        assert_eq!(Root::new("/").prefix(), "");
        assert_eq!(&**Root::new("/").path(), "/");
        assert_eq!(Root::new("/srv/www//").prefix(), "/srv/www");
        let base = tempfile::tempdir().unwrap();
        let real = base.path().canonicalize().unwrap().join("release");
        fs::create_dir(&real).unwrap();
        let link = base.path().join("current");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let root = Root::new(link.to_str().unwrap());
        assert_eq!(&*root.resolved(), real.to_str().unwrap());
        assert!(Rc::ptr_eq(&root.resolved(), &root.resolved()));
    }
}
