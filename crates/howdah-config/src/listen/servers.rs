//! `servers`: limits of connections and requests, of one listener or of all others.

use crate::draft::{ListenerProtocols, Protocols};
use crate::error::{Error, ErrorKind, Position};
use crate::listen::bind;
use crate::listen::proxy_protocol::{ListenerWrappers, WRAPPERS};
use crate::model::ListenerAddress;
use crate::model::{Alpn, Global, Limits, Site};
use crate::syntax::tree::Word;
use crate::table::value::split_port;
use crate::table::value::{duration, memory_size, number, only_option, port, size};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};

/// All `servers` blocks of a file while they are read.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    blocks: Vec<(Block, Position)>,
}

/// One `servers`.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// `None`: for all listeners without their own block.
    listener: Option<NamedListener>,
    limits: Limits,
    max_connections: Option<usize>,
}

/// A listener as named by a block.
#[derive(Debug)]
struct NamedListener {
    address: ListenerAddress,
    /// Mode of a Unix socket, if given.
    mode: Option<u32>,
}

impl Servers {
    /// Reads a block.
    pub(crate) fn read(&mut self, cx: &mut Context, call: &Call<'_>) -> Result<(), Error> {
        let (listener, position) = match call.count(0, 1)? {
            [word] => (Some(named(word)?), &word.position),
            _ => (None, &call.name.position),
        };
        let address = |own: &Option<NamedListener>| own.as_ref().map(|own| own.address.clone());
        let mut others = self.blocks.iter();
        if let Some((_, other)) =
            others.find(|(other, _)| address(&other.listener) == address(&listener))
        {
            let message = match &listener {
                Some(own) => format!("`servers {}` is given twice", own.address),
                None => "`servers` without an address is given twice".to_owned(),
            };
            return Err(Error::new(
                ErrorKind::Conflict,
                position,
                message,
                format!("put all options in the one at {other}"),
            ));
        }
        let mut block = Block {
            listener,
            ..Block::default()
        };
        cx.read(&SERVERS, call.block()?, &mut block);
        self.blocks.push((block, position.clone()));
        Ok(())
    }

    /// Stores the limits of listeners that sites use.
    pub(crate) fn apply(self, cx: &mut Context, sites: &mut [Site], global: &mut Global) {
        let listeners: Vec<NamedListener> = sites.iter().flat_map(listeners).collect();
        for (block, position) in self.blocks {
            let Some(own) = block.listener else {
                global.limits = block.limits;
                global.max_connections = block.max_connections;
                continue;
            };
            let same = |other: &&NamedListener| {
                other.address == own.address && (own.mode.is_none() || other.mode == own.mode)
            };
            if listeners.iter().any(|other| same(&other)) {
                global.listener_limits.push((own.address, block.limits));
            } else {
                cx.warn(&position, no_effect_warning(&own, &listeners));
            }
        }
        apply_bind(cx, global);
        offer(sites, global);
    }
}

/// Why a block has no effect.
fn no_effect_warning(own: &NamedListener, listeners: &[NamedListener]) -> String {
    let mut known: Vec<String> = Vec::new();
    for listener in listeners {
        let text = format!("`{listener}`");
        if !known.contains(&text) {
            known.push(text);
        }
    }
    let mut message = vec![format!(
        "no site listens on `{own}`, so these options of `servers` have no effect"
    )];
    if !known.is_empty() {
        message.push(format!("sites listen on {}", known.join(", ")));
    }
    message.join("; ")
}

impl std::fmt::Display for NamedListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(f)?;
        match self.mode {
            Some(mode) => write!(f, "|{mode:04o}"),
            None => Ok(()),
        }
    }
}

fn listeners(site: &Site) -> Vec<NamedListener> {
    let mut ips: Vec<_> = site.bind.iter().copied().map(Some).collect();
    if ips.is_empty() && site.unix_sockets.is_empty() {
        ips.push(None);
    }
    let ports = site.addresses.iter().flat_map(|address| {
        let port = address.port;
        ips.iter().map(move |ip| NamedListener {
            address: ListenerAddress::Tcp { ip: *ip, port },
            mode: None,
        })
    });
    let sockets = site.unix_sockets.iter().map(|socket| NamedListener {
        address: ListenerAddress::Unix(socket.path.clone()),
        mode: Some(socket.mode),
    });
    ports.chain(sockets).collect()
}

/// `:PORT`, `IP:PORT` or `unix//PATH|MODE`; the mode is optional.
fn named(word: &Word) -> Result<NamedListener, Error> {
    if let Some(rest) = word.text.strip_prefix("unix/") {
        let socket = bind::socket(word, rest, "servers")?;
        return Ok(NamedListener {
            address: ListenerAddress::Unix(socket.path),
            mode: rest.contains('|').then_some(socket.mode),
        });
    }
    let wrong = || {
        bad_value(
            &word.position,
            format!("`{}` is not an address to listen on", word.text),
            "write for example `servers :443`, `servers 127.0.0.1:8080` or `servers \
             unix//run/howdah.sock`",
        )
    };
    let text = word.text.strip_prefix("tcp/").unwrap_or(&word.text);
    let (host, Some(number)) = split_port(text) else {
        return Err(wrong());
    };
    let ip = match host {
        "" => None,
        host => Some(bind::parse_ip(host).ok_or_else(wrong)?),
    };
    let port = port(word, number)?;
    Ok(NamedListener {
        address: ListenerAddress::Tcp { ip, port },
        mode: None,
    })
}

/// Names of `servers`.
pub(crate) const SERVERS: Table<Block> = Table {
    kind: "option of `servers`",
    items: &[
        Item::Supported(
            Entry {
                name: "timeouts",
                syntax: "timeouts { … }",
                default: "",
                about: "Time limits for clients.",
                differs: "",
                example: "timeouts {\n\tidle 30s\n}",
            },
            |cx, call, block| {
                call.count(0, 0)?;
                cx.read(&TIMEOUTS, call.block()?, &mut block.limits);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "max_header_size",
                syntax: "max_header_size SIZE",
                default: "`32KiB`",
                about: "Maximum size of request line and header fields; larger ones get a 431, or a 414 if the \
                    request line alone is too long. More than 100 fields over HTTP/1.1 get a 431 too.",
                differs: "Caddy's default is 1 MiB, and it does not count fields.",
                example: "max_header_size 16KiB",
            },
            |_, call, block| {
                block.limits.max_header_size = memory_size(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "max_body_size",
                syntax: "max_body_size SIZE",
                default: "`128MiB`",
                about: "Maximum size of a request body; larger ones get a 413.",
                differs: "Caddy has no limit by default.",
                example: "max_body_size 1GB",
            },
            |_, call, block| {
                block.limits.max_body_size = size(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "memory_body_size",
                syntax: "memory_body_size SIZE",
                default: "`64KiB`",
                about: "Request bodies up to this size stay in memory, larger ones go to a temporary \
                        file.",
                differs: "Not in Caddy.",
                example: "memory_body_size 256KiB",
            },
            |_, call, block| {
                block.limits.memory_body_size = memory_size(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "max_connections",
                syntax: "max_connections NUMBER",
                default: "`50000`",
                about: "Maximum number of concurrent connections of the server; further ones wait to be accepted. \
                    Only in `servers` without an address.",
                differs: "Not in Caddy.",
                example: "max_connections 1000",
            },
            |_, call, block| {
                if block.listener.is_some() {
                    return Err(call.error(
                        ErrorKind::Conflict,
                        "`max_connections` is for the whole server".into(),
                        "put it in `servers` without an address",
                    ));
                }
                block.max_connections = Some(number(call, 1)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "0rtt",
                syntax: "0rtt off",
                default: "`off`",
                about: "Early data of HTTP/3 is never accepted, because it can be replayed.",
                differs: "No `on`.",
                example: "0rtt off",
            },
            |_, call, _| match call.one()? {
                word if word.text == "off" => Ok(()),
                word => Err(bad_value(
                    &word.position,
                    format!("`{}` is not a value of `0rtt`", word.text),
                    "write `0rtt off`; early data can be replayed",
                )),
            },
        ),
        Item::Supported(
            Entry {
                name: "enable_full_duplex",
                syntax: "enable_full_duplex",
                default: "always so",
                about: "Accepted so that files for other servers run: a response may start before the body \
                        of its request is read.",
                differs: "PHP gets the body once it is complete.",
                example: "enable_full_duplex",
            },
            |_, call, _| call.arguments(0, 0).map(drop),
        ),
        Item::Supported(
            Entry {
                name: "listener_wrappers",
                syntax: "listener_wrappers { … }",
                default: "",
                about: "The layers between a connection and HTTP.",
                differs: "",
                example: "listener_wrappers {\n\tproxy_protocol {\n\t\tallow 10.0.0.0/8\n\t}\n\ttls\n}",
            },
            |cx, call, block| {
                call.count(0, 0)?;
                let mut wrappers = ListenerWrappers::default();
                cx.read(&WRAPPERS, call.block()?, &mut wrappers);
                block.limits.proxy_protocol = wrappers.proxy_protocol;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "log_credentials",
                syntax: "log_credentials",
                default: "off",
                about: "Access logs contain `Cookie`, `Set-Cookie`, `Authorization` and `Proxy-Authorization`, which \
                        are otherwise replaced by `REDACTED`.",
                differs: "",
                example: "log_credentials",
            },
            |_, call, block| {
                call.arguments(0, 0)?;
                block.limits.log_credentials = true;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "metrics",
                syntax: "metrics [{ per_host }]",
                default: "off",
                about: "The same as the global option `metrics`, which is its newer form.",
                differs: "",
                example: "metrics",
            },
            |cx, call, block| {
                call.count(0, 0)?;
                cx.metrics_per_host |= only_option(
                    call,
                    "per_host",
                    "here there is only `per_host`; others are in the global option `metrics`",
                )?;
                cx.metrics = true;
                if block.listener.is_some() {
                    cx.warn(
                        &call.name.position,
                        "`metrics` counts the requests of all listeners: use the global option of that name",
                    );
                }
                Ok(())
            },
        ),
        Item::Unsupported("packet_conn_wrappers", ""),
        Item::Supported(
            Entry {
                name: "protocols",
                syntax: "protocols h1 [h2] [h2c] [h3]",
                default: "`h1 h2 h2c h3`",
                about: "The versions of HTTP that are served: `h2` is HTTP/2 over TLS, `h2c` the same without. With \
                        `h3` each HTTPS address is listened on by UDP too, unless a host there has \
                        `client_auth`.",
                differs: "`h1` is required. In Caddy `h2c` is off by default. A site that listens on several \
                          addresses offers HTTP/2 over TLS if all of them have `h2`.",
                example: "protocols h1 h2",
            },
            |_, call, block| {
                set_protocols(&mut block.limits, protocols(call)?);
                Ok(())
            },
        ),
        Item::Unsupported("strict_sni_host", "it is on where a site has `client_auth`"),
        Item::Unsupported("trace", ""),
        Item::Supported(
            Entry {
                name: "trusted_proxies",
                syntax: "trusted_proxies static RANGE…",
                default: "none",
                about: "Proxies in front of this server, by the addresses that they connect from; `private_ranges` \
                    is all private ones. The server trusts what they report about the client: it sets `{client_ip}` \
                    and the matcher `client_ip`, and `reverse_proxy` forwards their `X-Forwarded-*`. `REMOTE_ADDR` \
                    remains the proxy.",
                differs: "The only source is `static`.",
                example: "trusted_proxies static 10.0.0.0/8 private_ranges",
            },
            |_, call, block| {
                let (source, ranges) = call.arguments(2, usize::MAX)?.split_at(1);
                if source[0].text != "static" {
                    return Err(unsupported(
                        &source[0],
                        "write `trusted_proxies static RANGE…`",
                    ));
                }
                block.limits.proxies.ranges = crate::matcher::networks(ranges)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "trusted_proxies_strict",
                syntax: "trusted_proxies_strict",
                default: "off: the first address in the field",
                about: "Reads the client's address from the end of the field: the last one that is not a trusted \
                    proxy. For proxies that append to the field.",
                differs: "",
                example: "trusted_proxies_strict",
            },
            |_, call, block| {
                call.arguments(0, 0)?;
                block.limits.proxies.strict = true;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "client_ip_headers",
                syntax: "client_ip_headers FIELD…",
                default: "`X-Forwarded-For`",
                about: "Header fields in which trusted proxies send the client's address; the first one that \
                    contains an address counts.",
                differs: "",
                example: "client_ip_headers X-Real-IP X-Forwarded-For",
            },
            |_, call, block| {
                let words = call.arguments(1, usize::MAX)?;
                block.limits.proxies.headers = words
                    .iter()
                    .map(|word| crate::table::value::header_name(word, &word.text))
                    .collect::<Result<_, _>>()?;
                Ok(())
            },
        ),
        Item::Unsupported("trusted_proxies_unix", ""),
    ],
};

/// Names of `timeouts`.
pub(crate) const TIMEOUTS: Table<Limits> = Table {
    kind: "timeout",
    items: &[
        Item::Supported(
            Entry {
                name: "read_header",
                syntax: "read_header DURATION",
                default: "`10s`",
                about: "From the first byte of a request to the end of its header.",
                differs: "",
                example: "read_header 5s",
            },
            |_, call, limits| {
                limits.read_header = duration(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "read_body",
                syntax: "read_body DURATION",
                default: "`60s`",
                about: "Between two reads of a request body.",
                differs: "In Caddy the limit is for the whole body.",
                example: "read_body 10s",
            },
            |_, call, limits| {
                limits.read_body = duration(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "write",
                syntax: "write DURATION",
                default: "`60s`",
                about: "Between two writes to the client that make progress.",
                differs: "In Caddy the limit is for the whole response.",
                example: "write 10s",
            },
            |_, call, limits| {
                limits.write = duration(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "idle",
                syntax: "idle DURATION",
                default: "`2m`",
                about: "How long a connection stays open without a request.",
                differs: "Caddy's default is 5 minutes.",
                example: "idle 30s",
            },
            |_, call, limits| {
                limits.idle = duration(call)?;
                Ok(())
            },
        ),
        Item::Unsupported(
            "read_body_idle",
            "`read_body` is the time between two reads",
        ),
        Item::Unsupported("write_idle", "`write` is the time between two writes"),
        Item::Unsupported("write_max_chunk", ""),
    ],
};

/// The versions of HTTP that are named.
pub(super) fn protocols(call: &Call<'_>) -> Result<Protocols, Error> {
    let words = call.arguments(1, usize::MAX)?;
    for word in words {
        if !["h1", "h2", "h2c", "h3"].contains(&word.text.as_str()) {
            return Err(bad_value(
                &word.position,
                format!("`{}` is not a supported protocol", word.text),
                "write `protocols h1 h2` or `protocols h1 h2 h3`",
            ));
        }
    }
    let has = |name: &str| words.iter().any(|word| word.text == name);
    if !has("h1") {
        return Err(unsupported(
            call.name,
            "HTTP/1.1 is always served: write `protocols h1 …`",
        ));
    }
    Ok(Protocols {
        http2: has("h2"),
        h2c: has("h2c"),
        http3: has("h3"),
    })
}

fn set_protocols(limits: &mut Limits, protocols: Protocols) {
    limits.http2 = protocols.http2;
    limits.h2c = protocols.h2c;
    limits.http3 = protocols.http3;
}

/// Applies `protocols` of `bind` to their listeners, whatever `servers` says. Sites that share a listener must agree.
fn apply_bind(cx: &mut Context, global: &mut Global) {
    let mut applied: Vec<ListenerProtocols> = Vec::new();
    for own in std::mem::take(&mut cx.listener_protocols) {
        let mut others = applied.iter();
        if let Some(other) = others.find(|other| other.listener == own.listener) {
            if other.protocols != own.protocols {
                cx.errors.push(Error::new(
                    ErrorKind::Conflict,
                    &own.position,
                    format!("`{}` has different `protocols` here", own.listener),
                    format!("write the same as at {}", other.position),
                ));
            }
            continue;
        }
        let known = &mut global.listener_limits;
        let index = known
            .iter()
            .position(|(listener, _)| *listener == own.listener);
        let index = index.unwrap_or_else(|| {
            known.push((own.listener.clone(), global.limits.clone()));
            known.len() - 1
        });
        set_protocols(&mut known[index].1, own.protocols);
        applied.push(own);
    }
}

/// Sites offer HTTP/2 if all their listeners with TLS allow it.
fn offer(sites: &mut [Site], global: &Global) {
    for site in sites {
        let encrypted = site.addresses.iter().filter(|address| address.tls);
        let lacks_http2 = |listener: &NamedListener| !global.limits_of(&listener.address).http2;
        let ports: Vec<u16> = encrypted.map(|address| address.port).collect();
        let mut own = listeners(site).into_iter().filter(|listener| {
            matches!(listener.address, ListenerAddress::Tcp { port, .. } if ports.contains(&port))
        });
        if own.any(|listener| lacks_http2(&listener)) {
            site.tls.alpn = Some(vec![Alpn::Http1]);
        }
    }
}
