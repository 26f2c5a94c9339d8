//! A request for a file, and where its contents come from.

use std::fs::File;

use bytes::Bytes;
use howdah_config::model::ContentCoding;
use http::request::Parts;

use super::cache::FileCache;
use super::conditional::Version;
use super::links::Links;

#[derive(Clone, Copy)]
pub(super) struct FileRequest<'r> {
    pub(super) parts: &'r Parts,
    pub(super) cache: &'r FileCache,
    pub(super) precompressed: &'r [ContentCoding],
    pub(super) links: Links<'r>,
    /// The response has to carry its [`Origin`](crate::message::file_origin::Origin).
    pub(super) with_origin: bool,
}

impl FileRequest<'_> {
    pub(super) fn cached(&self, path: &str) -> Option<(Version, Bytes)> {
        let path = self.links.policy.may_cache().then_some(path)?;
        self.cache.get(path)
    }

    pub(super) fn store(&self, path: &str, version: &Version, contents: &Bytes) {
        if self.links.policy.may_cache() {
            self.cache.put(path, version, contents);
        }
    }
}

/// Where the contents come from.
pub(super) enum Source {
    File(File),
    Kept(Bytes),
}
