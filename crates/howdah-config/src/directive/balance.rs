//! Choice among several upstreams, and when an upstream is skipped: options that `reverse_proxy` and `php_fastcgi` have
//! in common.

use std::time::Duration;

use super::encode::statuses;
use super::policy;
use crate::error::Error;
use crate::model::{Balance, Policy};
use crate::table::value::{number, unless_zero};
use crate::table::{Call, Context, Entry};

/// Options read so far of a block.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    policy: Option<Policy>,
    retries: Option<u32>,
    try_duration: Option<Duration>,
    try_interval: Option<Duration>,
    /// All other options.
    balance: Balance,
}

impl Draft {
    /// Completes it with Caddy's defaults.
    pub(super) fn finish(self, call: &Call<'_>, upstreams: usize) -> Result<Balance, Error> {
        let default = Balance::default();
        if let Some(policy) = &self.policy {
            policy::check(policy, upstreams, call)?;
        }
        Ok(Balance {
            policy: self.policy.unwrap_or(default.policy),
            retries: self.retries.unwrap_or(default.retries),
            try_duration: self.try_duration.unwrap_or(default.try_duration),
            // As in Caddy: without an end, attempts must not follow each other at once.
            try_interval: match (self.try_interval, self.try_duration) {
                (Some(interval), _) => interval,
                (None, Some(_)) => Duration::from_millis(250),
                (None, None) => default.try_interval,
            },
            ..self.balance
        })
    }

    /// Completes it with the defaults of `php_fastcgi`: round robin, and an unreachable upstream is skipped
    /// immediately.
    pub(super) fn finish_round_robin(
        mut self,
        call: &Call<'_>,
        upstreams: usize,
    ) -> Result<Balance, Error> {
        self.policy.get_or_insert(Policy::RoundRobin);
        if self.retries.is_none() && self.try_duration.is_none() {
            let others = upstreams.saturating_sub(1);
            self.retries = Some(u32::try_from(others).unwrap_or(u32::MAX));
        }
        self.finish(call, upstreams)
    }
}

pub(super) const RETRIES: Entry = Entry {
    name: "lb_retries",
    syntax: "lb_retries NUMBER",
    default: "`0`",
    about: "Number of retries when an upstream is unreachable, or does not respond to a request with a safe method \
        (GET), or one that `lb_retry_match` allows. Retries prefer upstreams that were not tried yet.",
    differs: "",
    example: "lb_retries 2",
};

pub(super) const TRY_DURATION: Entry = Entry {
    name: "lb_try_duration",
    syntax: "lb_try_duration DURATION",
    default: "`0`: `lb_retries` alone limits retries",
    about: "How long to retry until an upstream can be reached; `lb_retries` may end this earlier.",
    differs: "",
    example: "lb_try_duration 5s",
};

pub(super) const TRY_INTERVAL: Entry = Entry {
    name: "lb_try_interval",
    syntax: "lb_try_interval DURATION",
    default: "`250ms` with `lb_try_duration`, otherwise `0`",
    about: "The time between two attempts.",
    differs: "",
    example: "lb_try_interval 100ms",
};

pub(super) const RETRY_MATCH: Entry = Entry {
    name: "lb_retry_match",
    syntax: "lb_retry_match MATCHER  or  lb_retry_match { … }",
    default: "requests with a safe method (GET)",
    about: "Which requests are sent again although an upstream may have begun them: those that this matcher, or the \
        combination of all in the block, matches. May be given several times: one must match. A request whose \
        body was partly sent is not sent again.",
    differs: "",
    example: "lb_retry_match {\n\tmethod GET PUT\n\tpath /api/*\n}",
};

pub(super) const FAIL_DURATION: Entry = Entry {
    name: "fail_duration",
    syntax: "fail_duration DURATION",
    default: "`0`: failures are not remembered",
    about: "How long a failed request counts against its upstream.",
    differs: "",
    example: "fail_duration 30s",
};

pub(super) const MAX_FAILS: Entry = Entry {
    name: "max_fails",
    syntax: "max_fails NUMBER",
    default: "`1`",
    about: "An upstream with this many failures within `fail_duration` is unhealthy.",
    differs: "",
    example: "max_fails 3",
};

pub(super) const UNHEALTHY_STATUS: Entry = Entry {
    name: "unhealthy_status",
    syntax: "unhealthy_status CODE…",
    default: "",
    about: "Statuses of responses that count as failures; `5xx` is 500 to 599.",
    differs: "",
    example: "unhealthy_status 502 503",
};

pub(super) const UNHEALTHY_LATENCY: Entry = Entry {
    name: "unhealthy_latency",
    syntax: "unhealthy_latency DURATION",
    default: "no limit",
    about: "A response whose header takes longer than this is a failure.",
    differs: "The time in which the client sends its body does not count.",
    example: "unhealthy_latency 5s",
};

pub(super) const UNHEALTHY_REQUEST_COUNT: Entry = Entry {
    name: "unhealthy_request_count",
    syntax: "unhealthy_request_count NUMBER",
    default: "no limit",
    about: "An upstream with this many requests in flight gets no further ones.",
    differs: "",
    example: "unhealthy_request_count 100",
};

pub(super) fn policy(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.policy = Some(policy::read(cx, call)?);
    Ok(())
}

pub(super) fn retries(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.retries = Some(number(call, 0)?);
    Ok(())
}

pub(super) fn try_duration(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.try_duration = unless_zero(call)?;
    Ok(())
}

pub(super) fn try_interval(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.try_interval = unless_zero(call)?;
    Ok(())
}

pub(super) fn retry_match(
    cx: &mut Context,
    call: &Call<'_>,
    draft: &mut Draft,
) -> Result<(), Error> {
    let matcher = crate::matcher::inline(cx, call)?;
    draft.balance.retry_match.push(matcher);
    Ok(())
}

pub(super) fn fail_duration(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.balance.fail_duration = unless_zero(call)?.unwrap_or_default();
    Ok(())
}

pub(super) fn max_fails(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.balance.max_fails = number(call, 1)?;
    Ok(())
}

pub(super) fn unhealthy_status(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    for word in call.arguments(1, usize::MAX)? {
        draft.balance.unhealthy_status.push(statuses(word)?);
    }
    Ok(())
}

pub(super) fn unhealthy_latency(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.balance.unhealthy_latency = unless_zero(call)?;
    Ok(())
}

pub(super) fn unhealthy_request_count(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.balance.max_requests = Some(number(call, 1)?);
    Ok(())
}
