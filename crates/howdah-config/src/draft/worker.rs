//! A worker while it is read.

use super::PoolDraft;
use crate::error::Position;
use crate::model::WorkerPool;

/// The block that contains a `worker`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is declared in `frankenphp` or `howdah`, for all applications.
    Global,
    /// It is declared in `php_server` or `php`.
    Application,
}

/// A worker as written.
#[derive(Debug)]
pub(crate) struct WorkerDraft {
    /// Position of the word `worker`.
    pub(crate) position: Position,
    pub(crate) place: Place,
    /// Number of the enclosing block; 0: the global one.
    pub(crate) block: usize,
    pub(crate) file: Option<String>,
    pub(crate) name: Option<String>,
    /// The application's name, used if `name` is missing.
    pub(crate) application: Option<String>,
    /// Where a relative `file` starts, if not at the working directory.
    pub(crate) folder: Option<String>,
    /// The last option that needs `concurrency`.
    pub(crate) needs_concurrency: Option<&'static str>,
    pub(crate) own: PoolDraft,
    pub(crate) matches: Vec<String>,
    /// The options in the block; `name`, `file`, `root` and `settings` are still empty.
    pub(crate) pool: WorkerPool,
}

impl WorkerDraft {
    /// The pool with its settings.
    pub(crate) fn pool(&self) -> WorkerPool {
        WorkerPool {
            settings: self.own.settings.clone(),
            ..self.pool.clone()
        }
    }
}
