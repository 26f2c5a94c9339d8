//! `concurrency` of a `worker`, and the options that mean nothing without it.

use crate::draft::WorkerDraft;
use crate::error::{Error, ErrorKind};
use crate::model::{CONCURRENCY_MAX, CONCURRENT_WORKERS_MAX, Concurrency, Isolation, WorkersMax};
use crate::table::value::{number, size};
use crate::table::{Call, bad_value};

const STACK_MIN: u32 = 64 << 10;
const STACK_MAX: u32 = 64 << 20;

pub(super) fn requests(call: &Call<'_>, draft: &mut WorkerDraft) -> Result<(), Error> {
    let requests = number(call, 1)?;
    if requests > CONCURRENCY_MAX {
        return Err(bad_value(
            &call.one()?.position,
            format!("{requests} requests are too many for one process"),
            format!("give a number of at most {CONCURRENCY_MAX}, and more workers with `num`"),
        ));
    }
    call.set(&mut draft.concurrent.requests, requests)
}

/// The options that need `concurrency`, one of which this call gives.
pub(super) fn options<'d>(call: &Call<'_>, draft: &'d mut WorkerDraft) -> &'d mut Concurrency {
    draft.concurrent.option = Some(call.entry.name);
    &mut draft.concurrent.options
}

pub(super) fn stack_size(call: &Call<'_>, draft: &mut WorkerDraft) -> Result<(), Error> {
    let size = u32::try_from(size(call)?)
        .ok()
        .filter(|size| (STACK_MIN..=STACK_MAX).contains(size))
        .ok_or_else(|| {
            bad_value(
                &call.arguments[0].position,
                format!("`{}` is not a valid stack size", call.arguments[0].text),
                "give a size from `64KiB` to `64MiB`",
            )
        })?;
    call.set(&mut options(call, draft).stack_size, size)
}

/// Puts what was given together, when the whole block has been read.
pub(super) fn finish(call: &Call<'_>, draft: &mut WorkerDraft) -> Result<(), Error> {
    let given = &draft.concurrent;
    // One request at a time is what every worker has.
    let Some(requests) = given.requests.filter(|requests| *requests > 1) else {
        return match given.option {
            Some(option) => Err(call.error(
                ErrorKind::Conflict,
                format!("`{option}` means nothing for a worker with one request at a time"),
                "write `concurrency NUMBER` too, or take it out",
            )),
            None => Ok(()),
        };
    };
    if draft.pool.isolation == Isolation::Request {
        return Err(call.error(
            ErrorKind::Conflict,
            "with `isolation request` each request has a process of its own, and with `concurrency` \
             many share one"
                .into(),
            "take one of them out",
        ));
    }
    let most = match draft.own.settings.workers_max {
        WorkersMax::Number(max) => max,
        WorkersMax::Same | WorkersMax::Auto => 0,
    };
    let most = most.max(draft.own.settings.workers.unwrap_or(0));
    if most > CONCURRENT_WORKERS_MAX {
        return Err(call.error(
            ErrorKind::Conflict,
            format!("{most} processes with `concurrency` are too many for one pool"),
            "with `concurrency` one process for each core is enough, and there may be 111",
        ));
    }
    draft.pool.concurrency = Some(Concurrency {
        requests,
        ..given.options
    });
    Ok(())
}
