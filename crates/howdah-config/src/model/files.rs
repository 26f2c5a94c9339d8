//! Static files.

use super::compression::ContentCoding;
use super::placeholder::Template;
use super::response::Status;

/// `try_files`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TryFiles {
    /// Candidates relative to the root; one that ends in `/` must be a directory.
    pub candidates: Vec<Template>,
    /// The last candidate was `=CODE`: the status if none exists.
    pub fallback_status: Option<u16>,
}

/// Choice among several files: `policy` and `try_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum TryPolicy {
    #[default]
    FirstExist,
    /// The first that exists; the last one is used without a check.
    FirstExistFallback,
    /// The smallest that exists; of several the first.
    SmallestSize,
    /// The largest that exists; of several the first.
    LargestSize,
    /// The one that exists and was changed last; of several the first.
    MostRecentlyModified,
}

/// `file_server { root index hide … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct FileServer {
    /// `root`: overrides the site's.
    pub root: Option<Template>,
    /// `index`: default `index.html index.txt`, as Caddy.
    pub index: Vec<String>,
    /// `hide`: files that get a 404. Without a slash it is a name (or a pattern of names) in any
    /// folder; with a slash it is a path, relative to the working directory. The configuration's
    /// own files are always included.
    pub hide: Vec<String>,
    /// `precompressed`: codings of files next to a file that are sent in its place, the preferred
    /// first. Default none.
    pub precompressed: Vec<ContentCoding>,
    /// `browse`: folders without an index file are listed.
    pub browse: Option<Browse>,
    /// `pass_thru`: the next handler gets requests for missing files. Default false.
    pub pass_thru: bool,
    /// `disable_canonical_uris` sets this to false: a folder's path gets no slash, and a file's
    /// keeps it.
    pub canonical: bool,
    /// `symlinks`: which symbolic links below the root are followed.
    pub symlinks: Symlinks,
    /// `status`: of the response with a file.
    pub status: Status,
}

impl Default for FileServer {
    fn default() -> Self {
        Self {
            root: None,
            index: vec!["index.html".into(), "index.txt".into()],
            hide: Vec::new(),
            precompressed: Vec::new(),
            browse: None,
            pass_thru: false,
            canonical: true,
            symlinks: Symlinks::default(),
            status: Status::Default,
        }
    }
}

/// `browse { sort … file_limit … }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Browse {
    /// `sort`.
    pub order: BrowseOrder,
    /// `sort ORDER desc`. Default false.
    pub is_descending: bool,
    /// `file_limit`: maximum number of entries; a folder with more is listed in part. Default 10,000.
    pub limit: usize,
}

impl Default for Browse {
    fn default() -> Self {
        Self {
            order: BrowseOrder::default(),
            is_descending: false,
            limit: 10_000,
        }
    }
}

/// The order of a list of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum BrowseOrder {
    Name,
    #[default]
    NameDirectoriesFirst,
    Size,
    Time,
}

impl BrowseOrder {
    /// The order with this name in `sort` and in a query.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "name" => Some(Self::Name),
            "namedirfirst" => Some(Self::NameDirectoriesFirst),
            "size" => Some(Self::Size),
            "time" => Some(Self::Time),
            _ => None,
        }
    }
}

/// The symbolic links below a root that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Symlinks {
    /// `auto`: all, but links of users of PHP pools only to files of the same user.
    #[default]
    Auto,
    /// `on`: all.
    Follow,
    /// `if_owner_match`: links whose owner also owns the target.
    IfOwnerMatch,
    /// `off`: none.
    Off,
}
