//! Options that exclude `concurrency` of a `worker`, and options that need it.

use crate::draft::WorkerDraft;
use crate::error::{Error, ErrorKind};
use crate::model::{CONCURRENT_WORKERS_MAX, Isolation, WorkersMax};
use crate::table::Call;

/// The error of options that contradict each other, when the whole block has been read.
pub(super) fn check(call: &Call<'_>, draft: &WorkerDraft) -> Result<(), Error> {
    let conflict =
        |message: String, hint: String| Err(call.error(ErrorKind::Conflict, message, hint));
    if !draft.pool.options.is_concurrent() {
        return match draft.needs_concurrency {
            Some(option) => conflict(
                format!("`{option}` has no effect without `concurrency`"),
                format!("add `concurrency NUMBER`, or remove `{option}`"),
            ),
            None => Ok(()),
        };
    }
    if draft.pool.options.isolation == Isolation::Request {
        return conflict(
            "`isolation request` runs each request in a separate process, `concurrency` runs many in one".into(),
            "remove one of them".into(),
        );
    }
    let settings = &draft.own.settings;
    let most = match settings.workers_max {
        WorkersMax::Number(max) => max,
        WorkersMax::Same | WorkersMax::Auto => 0,
    };
    let most = most.max(settings.workers.unwrap_or(0));
    if most > CONCURRENT_WORKERS_MAX {
        return conflict(
            format!("{most} processes with `concurrency` are too many for one pool"),
            format!(
                "give a number of at most {CONCURRENT_WORKERS_MAX}; one process for each core is enough"
            ),
        );
    }
    Ok(())
}
