//! `bind`: the addresses that a site listens on.

use crate::draft::{BindProtocols, Binding, ListenerProtocols, Protocols, SiteAddress};
use crate::error::{Error, ErrorKind};
use crate::listen::servers;
use crate::model::UnixSocket;
use crate::syntax::tree::Word;
use crate::table::{Call, Context, Entry, Item, Table, bad_value};
use std::net::IpAddr;

const DEFAULT_MODE: u32 = 0o200;

/// Names of the block of `bind` and `default_bind`.
pub(crate) const BIND: Table<Option<Protocols>> = Table {
    kind: "option of `bind`",
    items: &[Item::Supported(
        Entry {
            name: "protocols",
            syntax: "protocols h1 [h2] [h2c] [h3]",
            default: "those of the global option `servers`",
            about: "The versions of HTTP on these addresses, for all sites that listen there.",
            differs: "As in `servers`.",
            example: "protocols h1 h2",
        },
        |_, call, draft| {
            let protocols = servers::protocols(call)?;
            call.set(draft, protocols)
        },
    )],
};

/// `bind` and `default_bind`.
pub(crate) fn read(cx: &mut Context, call: &Call<'_>) -> Result<Binding, Error> {
    let mut binding = Binding::default();
    for word in call.count(1, usize::MAX)? {
        binding.add(match word.text.strip_prefix("unix/") {
            Some(rest) => Binding {
                sockets: vec![socket(word, rest, call.entry.name)?],
                ..Binding::default()
            },
            None => Binding {
                ips: vec![ip(word, call.entry.name)?],
                ..Binding::default()
            },
        });
    }
    let mut protocols = None;
    cx.read(&BIND, call.block.unwrap_or_default(), &mut protocols);
    if let Some(protocols) = protocols {
        binding.protocols.push(BindProtocols {
            ips: binding.ips.clone(),
            sockets: binding.sockets.clone(),
            protocols,
            position: call.name.position.clone(),
        });
    }
    Ok(binding)
}

/// An IP address; an IPv6 address may be in brackets, and `tcp/`, `tcp4/` or `tcp6/` may be in front of it.
pub(crate) fn parse_ip(text: &str) -> Option<IpAddr> {
    let (network, text) = text.split_once('/').unwrap_or(("tcp", text));
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let ip: IpAddr = inner.unwrap_or(text).parse().ok()?;
    let is_of_network = match network {
        "tcp" => true,
        "tcp4" => ip.is_ipv4(),
        "tcp6" => ip.is_ipv6(),
        _ => false,
    };
    is_of_network.then_some(ip)
}

fn ip(word: &Word, name: &str) -> Result<IpAddr, Error> {
    parse_ip(&word.text).ok_or_else(|| {
        bad_value(
            &word.position,
            format!("`{}` is not an IP address", word.text),
            format!("write for example `{name} 127.0.0.1`"),
        )
    })
}

/// `/PATH|MODE`; the mode is optional.
pub(crate) fn socket(word: &Word, text: &str, name: &str) -> Result<UnixSocket, Error> {
    let (path, mode) = match text.split_once('|') {
        Some((path, mode)) => (path, Some(mode)),
        None => (text, None),
    };
    if !path.starts_with('/') || path.ends_with('/') {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not the absolute path of a Unix socket", word.text),
            format!("write for example `{name} unix//run/howdah.sock`"),
        ));
    }
    let mode = match mode {
        None => DEFAULT_MODE,
        Some(mode) => u32::from_str_radix(mode, 8)
            .ok()
            .filter(|mode| *mode <= 0o777 && mode & 0o200 != 0)
            .ok_or_else(|| {
                bad_value(
                    &word.position,
                    format!("`{mode}` are not permissions with which the owner of a Unix socket can use it"),
                    format!(
                        "write for example `{name} unix/{path}|0222`, with which all may connect"
                    ),
                )
            })?,
    };
    Ok(UnixSocket {
        path: path.into(),
        mode,
    })
}

/// Stores `protocols` for the listeners of all addresses.
pub(crate) fn list_protocols(cx: &mut Context, listed: &[SiteAddress]) {
    for one in listed {
        for own in &one.bind.protocols {
            for listener in own.listeners(one.resolved.port) {
                cx.listener_protocols.push(ListenerProtocols {
                    listener,
                    protocols: own.protocols,
                    position: own.position.clone(),
                });
            }
        }
    }
}

/// Checks Unix sockets: they have no TLS, each host is there only once, and the file has one mode.
pub(crate) fn check(cx: &mut Context, listed: &[SiteAddress]) {
    for (index, one) in listed.iter().enumerate() {
        if one.resolved.tls && !one.bind.sockets.is_empty() {
            let host = one.resolved.host.as_deref().unwrap_or_default();
            cx.errors.push(Error::new(
                ErrorKind::Conflict,
                &one.position,
                format!(
                    "the address `{}` has HTTPS, which a Unix socket cannot have",
                    one.text
                ),
                format!("write `http://{host}` in a separate site"),
            ));
        }
        let conflict = listed[..index].iter().find_map(|other| {
            let (socket, mode) = one.bind.shared(&other.bind)?;
            let path = socket.path.display();
            // Ports have no meaning there. Equal ports were reported above.
            let twice = other.resolved.host == one.resolved.host
                && (other.resolved != one.resolved || !other.bind.is_same(&one.bind));
            let message = if socket.mode != mode {
                format!(
                    "the Unix socket `{path}` has the mode {:04o} here",
                    socket.mode
                )
            } else if twice {
                format!(
                    "the address `{}` is served twice on the Unix socket `{path}`",
                    one.text
                )
            } else {
                return None;
            };
            let hint = if socket.mode == mode {
                format!("the other one is at {}", other.position)
            } else {
                format!("it is {mode:04o} for the address at {}", other.position)
            };
            Some((message, hint))
        });
        if let Some((message, hint)) = conflict {
            cx.errors.push(Error::new(
                ErrorKind::Conflict,
                &one.position,
                message,
                hint,
            ));
        }
    }
}
