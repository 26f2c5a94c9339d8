//! Names of other servers that are accepted although they have no effect in this version, so that files with them work.
//! Each use is a warning: nothing is ignored silently. Their arguments and blocks are not checked.

pub(crate) struct NameWithoutEffect {
    /// [`Table::kind`](crate::table::Table::kind) of the table that the name belongs to.
    pub(crate) kind: &'static str,
    pub(crate) name: &'static str,
    /// The consequence, after "`NAME` has no effect: ".
    pub(crate) warning: &'static str,
}

const PAGES: &str = "the hub has no built-in pages";

const SAMPLING: &str = "every entry is written";
const KEEPALIVE: &str = "`timeouts { idle … }` closes connections without requests";
const BUFFERS: &str = "bodies are streamed in both directions";
const CHAINS: &str = "the chain is the one that the authority sends first";
const NAMES: &str = "the names of the internal authority are fixed";
const INTERMEDIATE: &str = "the internal authority renews its intermediate certificate itself";
const IDLE: &str = "`keepalive DURATION` closes connections without requests";

/// All of them.
pub(crate) const NO_EFFECT: &[NameWithoutEffect] = &[
    NameWithoutEffect {
        kind: "directive",
        name: "vulcain",
        warning: "Vulcain is not part of this version",
    },
    NameWithoutEffect {
        kind: "directive",
        name: "push",
        warning: "browsers no longer support server push; PHP can send a `Link` header as 103 Early Hints instead",
    },
    NameWithoutEffect {
        kind: "option of `log`",
        name: "sampling",
        warning: SAMPLING,
    },
    NameWithoutEffect {
        kind: "subdirective of `log`",
        name: "sampling",
        warning: SAMPLING,
    },
    NameWithoutEffect {
        kind: "option of `admin`",
        name: "origins",
        warning: "web pages may only send requests to the address itself, and only from there",
    },
    NameWithoutEffect {
        kind: "option of `ca`",
        name: "name",
        warning: NAMES,
    },
    NameWithoutEffect {
        kind: "option of `ca`",
        name: "root_cn",
        warning: NAMES,
    },
    NameWithoutEffect {
        kind: "option of `ca`",
        name: "intermediate_cn",
        warning: NAMES,
    },
    NameWithoutEffect {
        kind: "option of `ca`",
        name: "intermediate_lifetime",
        warning: INTERMEDIATE,
    },
    NameWithoutEffect {
        kind: "option of `ca`",
        name: "maintenance_interval",
        warning: INTERMEDIATE,
    },
    NameWithoutEffect {
        kind: "option of `ca`",
        name: "renewal_window_ratio",
        warning: INTERMEDIATE,
    },
    NameWithoutEffect {
        kind: "option of `servers`",
        name: "name",
        warning: "the label `server` of metrics is always `howdah`",
    },
    NameWithoutEffect {
        kind: "option of `servers`",
        name: "keepalive_interval",
        warning: KEEPALIVE,
    },
    NameWithoutEffect {
        kind: "option of `servers`",
        name: "keepalive_idle",
        warning: KEEPALIVE,
    },
    NameWithoutEffect {
        kind: "option of `servers`",
        name: "keepalive_count",
        warning: KEEPALIVE,
    },
    NameWithoutEffect {
        kind: "global option",
        name: "key_type",
        warning: "keys of certificates are ECDSA on P-256",
    },
    NameWithoutEffect {
        kind: "global option",
        name: "ocsp_interval",
        warning: "a response is fetched again at half of its lifetime",
    },
    NameWithoutEffect {
        kind: "global option",
        name: "renew_interval",
        warning: "certificates are renewed when the authority advises it, or after two thirds of their life",
    },
    NameWithoutEffect {
        kind: "global option",
        name: "renewal_window_ratio",
        warning: "certificates are renewed when the authority advises it, or after two thirds of their life",
    },
    NameWithoutEffect {
        kind: "global option",
        name: "storage_check",
        warning: "the storage is checked in any case",
    },
    NameWithoutEffect {
        kind: "global option",
        name: "storage_clean_interval",
        warning: "expired certificates are kept in the storage",
    },
    NameWithoutEffect {
        kind: "subdirective of `tls`",
        name: "key_type",
        warning: "keys of certificates are ECDSA on P-256",
    },
    NameWithoutEffect {
        kind: "subdirective of `reverse_proxy`",
        name: "request_buffers",
        warning: BUFFERS,
    },
    NameWithoutEffect {
        kind: "subdirective of `reverse_proxy`",
        name: "response_buffers",
        warning: BUFFERS,
    },
    NameWithoutEffect {
        kind: "subdirective of `reverse_proxy`",
        name: "stream_buffer_size",
        warning: BUFFERS,
    },
    NameWithoutEffect {
        kind: "subdirective of `reverse_proxy`",
        name: "stream_close_delay",
        warning: "a reload closes no WebSocket",
    },
    NameWithoutEffect {
        kind: "subdirective of `request_body`",
        name: "read_timeout",
        warning: "`read_body` in the global `servers { timeouts { … } }` is the limit",
    },
    NameWithoutEffect {
        kind: "subdirective of `request_body`",
        name: "write_timeout",
        warning: "`write` in the global `servers { timeouts { … } }` is the limit",
    },
    NameWithoutEffect {
        kind: "subdirective of `reverse_proxy`",
        name: "verbose_logs",
        warning: "the log has each failure of an upstream in any case",
    },
    NameWithoutEffect {
        kind: "option of `transport http`",
        name: "compression",
        warning: "`Accept-Encoding` is forwarded unchanged, as with `compression off`",
    },
    NameWithoutEffect {
        kind: "option of `transport http`",
        name: "expect_continue_timeout",
        warning: "an upstream gets the body at once",
    },
    NameWithoutEffect {
        kind: "option of `transport http`",
        name: "read_buffer",
        warning: BUFFERS,
    },
    NameWithoutEffect {
        kind: "option of `transport http`",
        name: "write_buffer",
        warning: BUFFERS,
    },
    NameWithoutEffect {
        kind: "option of `transport http`",
        name: "keepalive_interval",
        warning: IDLE,
    },
    NameWithoutEffect {
        kind: "option of `transport http`",
        name: "keepalive_idle_conns",
        warning: IDLE,
    },
    NameWithoutEffect {
        kind: "option of `transport http`",
        name: "keepalive_idle_conns_per_host",
        warning: IDLE,
    },
    NameWithoutEffect {
        kind: "option of `transport http`",
        name: "dial_fallback_delay",
        warning: "the addresses of an upstream are tried in order",
    },
    NameWithoutEffect {
        kind: "subdirective of `php_server`",
        name: "request_body_timeout",
        warning: "`read_body` in the global `servers { timeouts { … } }` is the limit",
    },
    NameWithoutEffect {
        kind: "subdirective of `php`",
        name: "request_body_timeout",
        warning: "`read_body` in the global `servers { timeouts { … } }` is the limit",
    },
    NameWithoutEffect {
        kind: "global option",
        name: "preferred_chains",
        warning: CHAINS,
    },
    NameWithoutEffect {
        kind: "option of `issuer acme`",
        name: "preferred_chains",
        warning: CHAINS,
    },
    NameWithoutEffect {
        kind: "option of `output file`",
        name: "roll_local_time",
        warning: "times in names are in UTC",
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "name",
        warning: "hubs have no names",
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "dispatch_timeout",
        warning: "a subscriber is dropped when 4,096 updates or 16 MiB wait for it",
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "topic_selector_cache",
        warning: "nothing is cached",
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "subscriber_list_cache_size",
        warning: "nothing is cached",
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "demo",
        warning: PAGES,
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "ui",
        warning: PAGES,
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "debugger",
        warning: PAGES,
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "playground",
        warning: PAGES,
    },
];

/// The entry of a name, if it is accepted without effect in that kind of block.
pub(crate) fn find(kind: &str, name: &str) -> Option<&'static NameWithoutEffect> {
    NO_EFFECT
        .iter()
        .find(|accepted| accepted.kind == kind && accepted.name == name)
}
