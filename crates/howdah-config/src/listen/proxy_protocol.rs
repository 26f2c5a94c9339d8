//! `listener_wrappers { proxy_protocol { … } }` in `servers`.

use crate::error::ErrorKind;
use crate::matcher::networks;
use crate::model::{ProxyPolicy, ProxyProtocol};
use crate::table::value::unless_zero;
use crate::table::{Entry, Item, Table, bad_value};
use std::time::Duration;

/// `listener_wrappers` while it is read.
#[derive(Debug, Default)]
pub(crate) struct ListenerWrappers {
    pub(crate) proxy_protocol: Option<ProxyProtocol>,
    is_tls_named: bool,
}

/// Names of `listener_wrappers`.
pub(crate) const WRAPPERS: Table<ListenerWrappers> = Table {
    kind: "listener wrapper",
    items: &[
        Item::Supported(
            Entry {
                name: "proxy_protocol",
                syntax: "proxy_protocol [{ … }]",
                default: "off",
                about: "TCP load balancers send the client's address by the PROXY protocol, version 1 or 2: \
                    `REMOTE_ADDR`, `{remote_host}`, logs and matchers then have that address.",
                differs: "`SERVER_ADDR` and `{http.request.local.host}` stay this server's. A \
                    connection that sends nothing within `timeout` is closed. Not for HTTP/3.",
                example: "proxy_protocol {\n\tallow 10.0.0.0/8\n}",
            },
            |cx, call, wrappers| {
                call.count(0, 0)?;
                if wrappers.is_tls_named {
                    return Err(call.error(
                        ErrorKind::Conflict,
                        "`proxy_protocol` comes after `tls`".into(),
                        "a load balancer sends the header before TLS begins: put it first",
                    ));
                }
                let mut protocol = ProxyProtocol::default();
                cx.read(
                    &PROXY_PROTOCOL,
                    call.block.unwrap_or_default(),
                    &mut protocol,
                );
                wrappers.proxy_protocol = Some(protocol);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "tls",
                syntax: "tls",
                default: "after `proxy_protocol`",
                about: "The place of TLS among the wrappers.",
                differs: "It need not be named.",
                example: "tls",
            },
            |_, call, wrappers| {
                call.arguments(0, 0)?;
                wrappers.is_tls_named = true;
                Ok(())
            },
        ),
        Item::Unsupported(
            "http_redirect",
            "plain HTTP on a port for HTTPS gets a 400; `http_port` redirects",
        ),
    ],
};

/// Names of `proxy_protocol`.
pub(crate) const PROXY_PROTOCOL: Table<ProxyProtocol> = Table {
    kind: "option of `proxy_protocol`",
    items: &[
        Item::Supported(
            Entry {
                name: "timeout",
                syntax: "timeout DURATION|0",
                default: "`5s`",
                about: "How long a client may take to send the header, or the first bytes without one. `0`: as long as \
                        a connection may be idle.",
                differs: "",
                example: "timeout 2s",
            },
            |_, call, protocol| {
                protocol.timeout = unless_zero(call)?.unwrap_or(Duration::MAX);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "allow",
                syntax: "allow RANGE…",
                default: "nobody",
                about: "The load balancers, by the addresses that they connect from: their headers are trusted. Their \
                        connections without a header, such as health checks, are served too.",
                differs: "`private_ranges` is allowed here.",
                example: "allow 10.0.0.0/8 fd00::/8",
            },
            |_, call, protocol| {
                protocol
                    .allow
                    .extend(networks(call.arguments(1, usize::MAX)?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "deny",
                syntax: "deny RANGE…",
                default: "nobody",
                about: "Connections from these addresses are closed if they send a header, even if `allow` contains \
                        them.",
                differs: "`private_ranges` is allowed here.",
                example: "deny 10.0.9.0/24",
            },
            |_, call, protocol| {
                protocol
                    .deny
                    .extend(networks(call.arguments(1, usize::MAX)?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "fallback_policy",
                syntax: "fallback_policy ignore|use|reject|require|skip",
                default: "`ignore`",
                about: "For connections from elsewhere: a header is read and discarded (`ignore`), trusted (`use`), a \
                        reason to close the connection (`reject`), trusted and required (`require`), or not looked for \
                        (`skip`). With `use` and `require` any client can forge its address. Case does not matter.",
                differs: "",
                example: "fallback_policy reject",
            },
            |_, call, protocol| {
                let word = call.one()?;
                protocol.fallback = match word.text.to_ascii_lowercase().as_str() {
                    "ignore" => ProxyPolicy::Ignore,
                    "use" => ProxyPolicy::Use,
                    "reject" => ProxyPolicy::Reject,
                    "require" => ProxyPolicy::Require,
                    "skip" => ProxyPolicy::Skip,
                    _ => {
                        return Err(bad_value(
                            &word.position,
                            format!("unknown policy `{}`", word.text),
                            "policies are `ignore`, `use`, `reject`, `require` and `skip`",
                        ));
                    }
                };
                Ok(())
            },
        ),
    ],
};
