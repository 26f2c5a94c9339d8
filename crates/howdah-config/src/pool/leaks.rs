//! `detect_leaks` of a `worker`.

use crate::draft::WorkerDraft;
use crate::error::{Error, ErrorKind};
use crate::model::{Isolation, LeakDetection};
use crate::table::{Call, Context, bad_value};

/// Total bytes of all patterns: they must fit into a message to the zygote.
const ALLOW_MAX: usize = 4096;

pub(super) fn read(cx: &mut Context, call: &Call<'_>) -> Result<LeakDetection, Error> {
    let mut leaks = LeakDetection::default();
    match call.count(0, 2)? {
        [] => {}
        [word, number] if word.text == "sample" => {
            let sample = number.text.parse::<u32>().ok().filter(|sample| *sample > 0);
            leaks.sample = sample.ok_or_else(|| {
                bad_value(
                    &number.position,
                    format!("`{}` is not a number of requests", number.text),
                    "write for example `detect_leaks sample 500`",
                )
            })?;
        }
        words => {
            return Err(bad_value(
                &words[0].position,
                format!("`{}` is not an argument of `detect_leaks`", words[0].text),
                format!("write `{}`", call.entry.syntax),
            ));
        }
    }
    for statement in call.block.unwrap_or_default() {
        let is_allow = statement.name.text == "allow" && statement.block.is_none();
        if !is_allow || statement.arguments.is_empty() {
            cx.errors.push(bad_value(
                &statement.name.position,
                format!(
                    "`{}` is not an option of `detect_leaks`",
                    statement.name.text
                ),
                "write `allow PATTERN…`",
            ));
            continue;
        }
        let patterns = statement.arguments.iter().map(|word| word.text.clone());
        leaks.allow.extend(patterns);
    }
    let size: usize = leaks.allow.iter().map(|pattern| pattern.len() + 1).sum();
    if size > ALLOW_MAX || leaks.allow.iter().any(|pattern| pattern.contains('\0')) {
        return Err(call.error(
            ErrorKind::Value,
            format!("the patterns of `allow` are longer than {ALLOW_MAX} bytes in total, or contain a NUL byte"),
            "use fewer patterns, with `*`, or give the properties the attribute `#[Howdah\\AllowLeak]`",
        ));
    }
    Ok(leaks)
}

/// The error of a worker whose leaks cannot be attributed to a request.
pub(super) fn check(call: &Call<'_>, draft: &WorkerDraft) -> Result<(), Error> {
    let options = &draft.pool.options;
    if options.detect_leaks.is_none() {
        return Ok(());
    }
    let conflict = if options.is_concurrent() {
        "with `concurrency` several requests change the state of a worker at the same time, so `detect_leaks` \
         cannot attribute a change to a request"
    } else if options.isolation == Isolation::Request {
        "with `isolation request` no request sees the state of an earlier one, so `detect_leaks` has nothing to find"
    } else {
        return Ok(());
    };
    Err(call.error(ErrorKind::Conflict, conflict.into(), "remove one of them"))
}
