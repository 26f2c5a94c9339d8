//! The files that a `file_server` serves, and those that it hides.

use std::rc::Rc;
use std::sync::Arc;

use howdah_cgi::split_path;
use howdah_config::model::{Browse, ContentCoding, FileServer};

use super::links::LinkPolicy;
use crate::message::path::{absolute, clean, has_hidden_segment};
use crate::message::pattern::matches_glob;

/// A compiled [`FileServer`].
#[derive(Debug)]
pub(crate) struct FileOptions {
    pub(crate) index: Box<[String]>,
    hide: Box<[HidePattern]>,
    /// Extensions that are never sent: the file would reveal source code.
    scripts: Rc<[String]>,
    /// Codings of precompressed files that may be sent in place of a file.
    pub(super) precompressed: Box<[ContentCoding]>,
    /// Paths without their slash are redirected.
    pub(crate) canonical: bool,
    /// Folders are listed.
    pub(super) browse: Option<Browse>,
    pub(super) links: LinkPolicy,
}

/// A `hide` entry.
#[derive(Debug)]
enum HidePattern {
    /// Matches any file or folder with this name.
    Name(String),
    /// An absolute path; everything below it is hidden too.
    Path(String),
}

impl FileOptions {
    /// `scripts`: extensions that are never sent. `php_users`: users of PHP pools other than the server's user.
    pub(crate) fn compile(
        files: &FileServer,
        scripts: Rc<[String]>,
        php_users: &Arc<[u32]>,
    ) -> Self {
        let hide = files.hide.iter().map(|text| {
            if !text.contains('/') {
                return HidePattern::Name(text.clone());
            }
            let absolute = absolute(text).unwrap_or_else(|| text.clone());
            HidePattern::Path(clean(&absolute).trim_end_matches('/').to_owned())
        });
        Self {
            index: files.index.clone().into(),
            hide: hide.collect(),
            scripts,
            precompressed: files.precompressed.clone().into(),
            canonical: files.canonical,
            browse: files.browse,
            links: LinkPolicy::new(files.symlinks, Arc::clone(php_users)),
        }
    }

    /// Whether folders without an index file are listed.
    pub(crate) fn lists(&self) -> bool {
        self.browse.is_some()
    }

    /// `path` is normalised, below `prefix`.
    pub(crate) fn hides(&self, prefix: &str, path: &str) -> bool {
        if has_hidden_segment(path) || split_path(path, &self.scripts).is_some() {
            return true;
        }
        if self.hide.is_empty() {
            return false;
        }
        let full = format!("{prefix}{path}");
        let full = full.trim_end_matches('/');
        self.hide.iter().any(|hidden| match hidden {
            HidePattern::Name(name) => path.split('/').any(|segment| matches_glob(name, segment)),
            HidePattern::Path(hidden) => {
                matches_glob(hidden, full)
                    || full
                        .strip_prefix(hidden.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        })
    }
}
