//! A request for a file, as routes pass it on.

use std::rc::Rc;

use http::StatusCode;

use super::options::FileOptions;
use super::stat::Root;

/// A file to send.
pub(crate) struct FileJob {
    pub(crate) root: Rc<Root>,
    /// Normalised.
    pub(crate) path: String,
    /// Where a directory without its slash is redirected to.
    pub(crate) redirect: Option<DirectoryRedirect>,
    pub(crate) options: Rc<FileOptions>,
    /// Status of the response with the file, if it is not 200.
    pub(crate) status: Option<StatusCode>,
}

/// A path that gets a slash.
pub(crate) struct DirectoryRedirect {
    /// Normalised; `None`: that of the job.
    pub(crate) path: Option<String>,
    pub(crate) query: String,
}
