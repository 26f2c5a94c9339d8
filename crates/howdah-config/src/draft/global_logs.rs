//! The global `log`s, which sites depend on.

use crate::model::{LineFormat, LogOptions, NamedLog};

/// The global `log`s.
#[derive(Debug, Default)]
pub(crate) struct GlobalLogs {
    /// The default log.
    pub(crate) default: LogOptions,
    /// Its `format`, for the lines of requests.
    pub(crate) line_format: LineFormat,
    /// The others.
    pub(crate) named: Vec<NamedLog>,
    /// `log` without a name, or with the name `default`, was read.
    pub(crate) has_default: bool,
}
