//! `concurrency` of a `worker`, and the options that mean nothing without it.

use super::Draft;
use crate::error::{Error, ErrorKind};
use crate::model::{
    CONCURRENCY_MAX, CONCURRENT_WORKERS_MAX, Concurrency, Isolation, Statics, WorkersMax,
};
use crate::table::{Call, bad_value};
use crate::value::{number, optional_duration, size};

const STACK_MIN: u32 = 64 << 10;
const STACK_MAX: u32 = 64 << 20;

/// What is given, in any order.
#[derive(Debug)]
pub(super) struct Concurrent {
    requests: Option<u32>,
    /// All but `requests`.
    options: Concurrency,
    /// The last of them that was given.
    option: Option<&'static str>,
}

impl Default for Concurrent {
    fn default() -> Self {
        Self {
            requests: None,
            options: Concurrency::new(1),
            option: None,
        }
    }
}

pub(super) fn requests(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
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

pub(super) fn statics(call: &Call<'_>, draft: &mut Draft, statics: Statics) {
    draft.concurrent.option = Some(call.entry.name);
    draft.concurrent.options.statics = statics;
}

pub(super) fn stack_size(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let size = u32::try_from(size(call)?)
        .ok()
        .filter(|size| (STACK_MIN..=STACK_MAX).contains(size))
        .ok_or_else(|| {
            bad_value(
                &call.arguments[0].position,
                format!("`{}` is no stack for a request", call.arguments[0].text),
                "give a size from `64KiB` to `64MiB`",
            )
        })?;
    draft.concurrent.option = Some(call.entry.name);
    call.set(&mut draft.concurrent.options.stack_size, size)
}

pub(super) fn hog_threshold(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.concurrent.option = Some(call.entry.name);
    draft.concurrent.options.hog_threshold = optional_duration(call)?;
    Ok(())
}

pub(super) fn time_slice(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.concurrent.option = Some(call.entry.name);
    draft.concurrent.options.time_slice = optional_duration(call)?;
    Ok(())
}

/// Puts what was given together, when the whole block has been read.
pub(super) fn finish(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
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
    let most = match draft.pool.workers_max {
        WorkersMax::Number(max) => max,
        WorkersMax::Same | WorkersMax::Auto => 0,
    };
    let most = most.max(draft.pool.workers.unwrap_or(0));
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
