//! Options of upstreams, balancing and health checks, which `reverse_proxy` and `php_fastcgi` have in common.

use super::{balance, health};
use crate::error::Error;
use crate::syntax::tree::Word;
use crate::table::{Entry, Item};

/// Load balancing options while they are read.
#[derive(Debug, Default)]
pub(super) struct UpstreamDraft {
    pub(super) balance: balance::Draft,
    pub(super) health: health::Draft,
}

/// A block with upstreams.
pub(super) trait HasUpstreams: 'static {
    fn options(&mut self) -> &mut UpstreamDraft;
    fn add_upstream(&mut self, word: &Word) -> Result<(), Error>;
}

/// `to`.
pub(super) const fn to<T: HasUpstreams>() -> Item<T> {
    let entry = Entry {
        name: "to",
        syntax: "to UPSTREAM…",
        default: "",
        about: "Further upstreams. May be given several times.",
        differs: "",
        example: "to 127.0.0.1:9001 127.0.0.1:9002",
    };
    Item::Supported(entry, |_, call, draft| {
        for word in call.arguments(1, usize::MAX)? {
            draft.add_upstream(word)?;
        }
        Ok(())
    })
}

/// Number of options.
pub(super) const COUNT: usize = 23;

/// The options, for the table of a block. Three have different texts in each.
pub(super) const fn options<T: HasUpstreams>(
    policy: Entry,
    retries: Entry,
    health_uri: Entry,
) -> [Item<T>; COUNT] {
    [
        Item::Supported(policy, |cx, call, draft| {
            balance::policy(cx, call, &mut draft.options().balance)
        }),
        Item::Supported(retries, |_, call, draft| {
            balance::retries(call, &mut draft.options().balance)
        }),
        Item::Supported(balance::TRY_DURATION, |_, call, draft| {
            balance::try_duration(call, &mut draft.options().balance)
        }),
        Item::Supported(balance::TRY_INTERVAL, |_, call, draft| {
            balance::try_interval(call, &mut draft.options().balance)
        }),
        Item::Supported(balance::RETRY_MATCH, |cx, call, draft| {
            balance::retry_match(cx, call, &mut draft.options().balance)
        }),
        Item::Supported(balance::FAIL_DURATION, |_, call, draft| {
            balance::fail_duration(call, &mut draft.options().balance)
        }),
        Item::Supported(balance::MAX_FAILS, |_, call, draft| {
            balance::max_fails(call, &mut draft.options().balance)
        }),
        Item::Supported(balance::UNHEALTHY_STATUS, |_, call, draft| {
            balance::unhealthy_status(call, &mut draft.options().balance)
        }),
        Item::Supported(balance::UNHEALTHY_LATENCY, |_, call, draft| {
            balance::unhealthy_latency(call, &mut draft.options().balance)
        }),
        Item::Supported(balance::UNHEALTHY_REQUEST_COUNT, |_, call, draft| {
            balance::unhealthy_request_count(call, &mut draft.options().balance)
        }),
        Item::Supported(health_uri, |_, call, draft| {
            health::uri(call, &mut draft.options().health)
        }),
        Item::Supported(health::INTERVAL, |_, call, draft| {
            health::interval(call, &mut draft.options().health)
        }),
        Item::Supported(health::TIMEOUT, |_, call, draft| {
            health::timeout(call, &mut draft.options().health)
        }),
        Item::Supported(health::STATUS, |_, call, draft| {
            health::status(call, &mut draft.options().health)
        }),
        Item::Supported(health::METHOD, |_, call, draft| {
            health::method(call, &mut draft.options().health)
        }),
        Item::Supported(health::HEADERS, |_, call, draft| {
            health::headers(call, &mut draft.options().health)
        }),
        Item::Supported(health::REQUEST_BODY, |_, call, draft| {
            health::request_body(call, &mut draft.options().health)
        }),
        Item::Supported(health::BODY, |_, call, draft| {
            health::body(call, &mut draft.options().health)
        }),
        Item::Supported(health::PORT, |_, call, draft| {
            health::port(call, &mut draft.options().health)
        }),
        Item::Supported(health::UPSTREAM, |_, call, draft| {
            health::upstream(call, &mut draft.options().health)
        }),
        Item::Supported(health::PASSES, |_, call, draft| {
            health::passes(call, &mut draft.options().health)
        }),
        Item::Supported(health::FAILS, |_, call, draft| {
            health::fails(call, &mut draft.options().health)
        }),
        Item::Supported(health::FOLLOW_REDIRECTS, |_, call, draft| {
            health::follow_redirects(call, &mut draft.options().health)
        }),
    ]
}
