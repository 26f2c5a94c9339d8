//! Compressed forms of static files, each for one version of the file and one format.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use howdah_config::model::Compression;

use crate::message::file_origin::{Identity, Origin};

/// Bytes that a front thread caches; when full, the cache is emptied.
const CAPACITY: usize = 16 << 20;
/// The largest compressed form that is cached.
const LARGEST: usize = 2 << 20;
/// Bytes that an entry needs in addition to its contents.
const ENTRY: usize = 128;

/// The compressed files of one front thread.
#[derive(Debug, Default)]
pub(crate) struct CompressedFiles {
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    files: HashMap<Box<str>, Vec<Form>>,
    bytes: usize,
}

#[derive(Debug)]
struct Form {
    compression: Compression,
    identity: Identity,
    /// `None`: compression does not make it smaller.
    contents: Option<Bytes>,
}

/// The cached form of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CachedForm {
    Nothing,
    NotSmaller,
    Contents(Bytes),
}

impl Form {
    fn cost(&self, path: &str) -> usize {
        ENTRY + path.len() + self.contents.as_ref().map_or(0, Bytes::len)
    }
}

impl CompressedFiles {
    pub(super) fn get(&self, origin: &Origin, compression: Compression) -> CachedForm {
        let inner = self.inner.borrow();
        let form = inner.files.get(&origin.path).and_then(|forms| {
            forms
                .iter()
                .find(|form| form.compression == compression && form.identity == origin.identity)
        });
        match form {
            None => CachedForm::Nothing,
            Some(form) => match &form.contents {
                None => CachedForm::NotSmaller,
                Some(contents) => CachedForm::Contents(contents.clone()),
            },
        }
    }

    /// Caches a form, unless the file may still change.
    pub(super) fn put(&self, origin: &Origin, compression: Compression, contents: Option<Bytes>) {
        let form = Form {
            compression,
            identity: origin.identity,
            contents,
        };
        let cost = form.cost(&origin.path);
        if !origin.identity.is_settled() || cost > LARGEST {
            return;
        }
        let inner = &mut *self.inner.borrow_mut();
        if inner.bytes + cost > CAPACITY {
            *inner = Inner::default();
        }
        let forms = inner.files.entry(origin.path.clone()).or_default();
        let bytes = &mut inner.bytes;
        // Forms of an earlier version of the file are useless.
        forms.retain(|old| {
            let stays = old.identity == form.identity && old.compression != compression;
            if !stays {
                *bytes -= old.cost(&origin.path);
            }
            stays
        });
        *bytes += cost;
        forms.push(form);
    }
}

/// Collects the compressed form while it is sent.
pub(super) struct Recorder {
    pub(super) cache: Rc<CompressedFiles>,
    pub(super) origin: Origin,
    pub(super) compression: Compression,
    frames: Vec<Bytes>,
    length: usize,
}

impl Recorder {
    pub(super) fn new(
        cache: &Rc<CompressedFiles>,
        origin: Origin,
        compression: Compression,
    ) -> Self {
        Self {
            cache: Rc::clone(cache),
            origin,
            compression,
            frames: Vec::new(),
            length: 0,
        }
    }

    /// Returns whether it continues: not when the form is too large.
    pub(super) fn add(&mut self, frame: &Bytes) -> bool {
        self.length += frame.len();
        self.frames.push(frame.clone());
        self.length <= LARGEST
    }

    /// Caches the form, which is complete.
    pub(super) fn finish(self) {
        let mut contents = BytesMut::with_capacity(self.length);
        for frame in &self.frames {
            contents.extend_from_slice(frame);
        }
        let contents = Some(contents.freeze());
        self.cache.put(&self.origin, self.compression, contents);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GZIP: Compression = Compression::Gzip(1);

    fn origin(path: &str, size: u64, age: i64) -> Origin {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        let identity = Identity::of_test(size, now.as_secs().cast_signed() - age);
        Origin {
            path: path.into(),
            identity,
        }
    }

    #[test]
    fn only_the_very_version_and_format_is_found() {
        let cache = CompressedFiles::default();
        let file = origin("/a", 10, 100);
        cache.put(&file, GZIP, Some(Bytes::from_static(b"gzip")));
        cache.put(&file, Compression::Zstd(3), None);
        let found = cache.get(&file, GZIP);
        assert_eq!(found, CachedForm::Contents(Bytes::from_static(b"gzip")));
        assert_eq!(
            cache.get(&file, Compression::Zstd(3)),
            CachedForm::NotSmaller
        );
        assert_eq!(cache.get(&file, Compression::Gzip(2)), CachedForm::Nothing);
        assert_eq!(cache.get(&origin("/b", 10, 100), GZIP), CachedForm::Nothing);
        let changed = origin("/a", 11, 100);
        assert_eq!(cache.get(&changed, GZIP), CachedForm::Nothing);
        cache.put(&changed, GZIP, None);
        assert_eq!(cache.get(&file, GZIP), CachedForm::Nothing);
        assert_eq!(cache.get(&changed, GZIP), CachedForm::NotSmaller);
        assert_eq!(cache.inner.borrow().bytes, ENTRY + 2);
    }

    #[test]
    fn a_file_that_changed_a_moment_ago_is_not_kept() {
        let cache = CompressedFiles::default();
        let file = origin("/a", 10, 0);
        cache.put(&file, GZIP, None);
        assert_eq!(cache.get(&file, GZIP), CachedForm::Nothing);
    }

    #[test]
    fn memory_is_bounded() {
        let cache = CompressedFiles::default();
        let mebibyte = Bytes::from(vec![0; 1 << 20]);
        for number in 0..40 {
            let file = origin(&number.to_string(), 10, 100);
            cache.put(&file, GZIP, Some(mebibyte.clone()));
            assert_ne!(cache.get(&file, GZIP), CachedForm::Nothing);
            assert!(cache.inner.borrow().bytes <= CAPACITY);
        }
        let large = origin("/large", 10, 100);
        cache.put(&large, GZIP, Some(vec![0; LARGEST].into()));
        assert_eq!(cache.get(&large, GZIP), CachedForm::Nothing);
    }
}
