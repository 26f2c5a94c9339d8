//! Addresses of upstreams.

use std::ops::RangeInclusive;

use crate::error::Error;
use crate::model::{ReverseProxy, Upstream, UpstreamVersions};
use crate::syntax::tree::Word;
use crate::table::template::template;
use crate::table::value::port;
use crate::table::value::split_port;
use crate::table::{Call, Context, Entry, bad_value, unsupported};

pub(super) const DIAL_TIMEOUT: Entry = Entry {
    name: "dial_timeout",
    syntax: "dial_timeout DURATION",
    default: "`3s`",
    about: "How long connecting to an upstream may take.",
    differs: "",
    example: "dial_timeout 1s",
};

/// The scheme before `://`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
    H2c,
}

impl Scheme {
    fn port(self) -> u16 {
        match self {
            Self::Http | Self::H2c => 80,
            Self::Https => 443,
        }
    }
}

/// The upstreams of a `reverse_proxy` while they are read. All of them must use the same protocol.
#[derive(Debug, Default)]
pub(super) struct Upstreams {
    list: Vec<Upstream>,
    /// The first with `https://`.
    encrypted: Option<Word>,
    /// The first without it, the first with `http://`, and the first Unix socket.
    others: Option<Word>,
    plain: Option<Word>,
    socket: Option<Word>,
    /// The first upstream, and whether it has `h2c://`.
    first: Option<(Word, bool)>,
}

impl Upstreams {
    pub(super) fn add(&mut self, word: &Word) -> Result<(), Error> {
        let Some((host, ports)) = port_range(word) else {
            return self.add_one(word);
        };
        for port in ports {
            let text = format!("{host}:{port}");
            self.add_one(&Word {
                text,
                ..word.clone()
            })?;
        }
        Ok(())
    }

    fn add_one(&mut self, word: &Word) -> Result<(), Error> {
        let UpstreamAddress { scheme, upstream } = upstream(word, Some(Scheme::Http.port()))?;
        let is_h2c = scheme == Some(Scheme::H2c);
        let (other, other_is_h2c) = self.first.get_or_insert_with(|| (word.clone(), is_h2c));
        if *other_is_h2c != is_h2c {
            return Err(bad_value(
                &word.position,
                format!(
                    "of `{}` and `{}` only one is HTTP/2 without TLS",
                    other.text, word.text
                ),
                "write `h2c://` before all of them, or give the others a `reverse_proxy` of their own",
            ));
        }
        let contradicting = if scheme == Some(Scheme::Https) {
            self.encrypted.get_or_insert_with(|| word.clone());
            &self.others
        } else {
            self.others.get_or_insert_with(|| word.clone());
            if scheme.is_some() {
                self.plain.get_or_insert_with(|| word.clone());
            }
            if matches!(upstream, Upstream::Unix(_)) {
                self.socket.get_or_insert_with(|| word.clone());
            }
            &self.encrypted
        };
        if let Some(other) = contradicting {
            return Err(bad_value(
                &word.position,
                format!(
                    "of `{}` and `{}` one is encrypted and the other is not",
                    other.text, word.text
                ),
                "write `https://` before all of them, or give the others a `reverse_proxy` of their own",
            ));
        }
        self.list.push(upstream);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Moves them to their proxy.
    pub(super) fn finish(self, proxy: &mut ReverseProxy) -> Result<(), Error> {
        if self.encrypted.is_some() {
            proxy.tls.get_or_insert_default();
        }
        if self.first.is_some_and(|(_, is_h2c)| is_h2c) {
            // As in Caddy, the scheme replaces `versions`.
            proxy.versions = UpstreamVersions {
                http1: false,
                http2: true,
                h2c: true,
            };
        }
        if let Some(tls) = &proxy.tls {
            if let Some(word) = self.plain {
                return Err(bad_value(
                    &word.position,
                    format!("`{}` is not encrypted, but the transport is", word.text),
                    "write `https://`, or remove the `tls` options",
                ));
            }
            if let (Some(word), None) = (self.socket, &tls.server_name) {
                return Err(bad_value(
                    &word.position,
                    format!(
                        "the server name for the certificate of `{}` is missing",
                        word.text
                    ),
                    "write `tls_server_name NAME` in `transport http`",
                ));
            }
        }
        proxy.upstreams = self.list;
        Ok(())
    }
}

/// `HOST:FIRST-LAST`.
fn port_range(word: &Word) -> Option<(&str, RangeInclusive<u16>)> {
    let (host, ports) = word.text.rsplit_once(':')?;
    let (first, last) = ports.split_once('-')?;
    let ports = first.parse().ok()?..=last.parse().ok()?;
    (!ports.is_empty()).then_some((host, ports))
}

/// As in Caddy, a directive without upstreams is valid, but all its requests fail.
pub(super) fn warn_missing(cx: &mut Context, call: &Call<'_>, example: &str) {
    let name = call.entry.name;
    let message = format!(
        "`{name}` has no upstream: its requests get 503; write for example `{name} {example}`"
    );
    cx.warn(&call.name.position, message);
}

/// An upstream of `php_fastcgi`.
pub(super) fn fastcgi(word: &Word) -> Result<Upstream, Error> {
    let address = upstream(word, Some(80))?;
    if let Upstream::Template { .. } = address.upstream {
        return Err(unsupported(
            word,
            "a FastCGI server has no placeholders; write `{$NAME}` for an environment variable",
        ));
    }
    if address.scheme == Some(Scheme::H2c) {
        return Err(unsupported(
            word,
            "FastCGI is not HTTP/2; write `HOST:PORT`, or `reverse_proxy` for a server that has HTTP/2",
        ));
    }
    if address.scheme == Some(Scheme::Https) {
        return Err(unsupported(
            word,
            "FastCGI is not encrypted; write `HOST:PORT`, or `reverse_proxy` for a server that has HTTPS",
        ));
    }
    Ok(address.upstream)
}

/// An upstream and the scheme before its address.
struct UpstreamAddress {
    scheme: Option<Scheme>,
    upstream: Upstream,
}

/// `HOST:PORT`, `:PORT`, `http://HOST`, `https://HOST`, `h2c://HOST`, `unix//PATH`, `unix+h2c//PATH`; without scheme and `default_port` there
/// must be a port.
fn upstream(word: &Word, default_port: Option<u16>) -> Result<UpstreamAddress, Error> {
    let text = word.text.as_str();
    if text.contains('{') {
        return with_placeholders(word);
    }
    if let Some(path) = text
        .strip_prefix("unix/")
        .or_else(|| text.strip_prefix("unix+h1/"))
    {
        return Ok(UpstreamAddress {
            scheme: None,
            upstream: unix_socket(word, path)?,
        });
    }
    if let Some(path) = text.strip_prefix("unix+h2c/") {
        return Ok(UpstreamAddress {
            scheme: Some(Scheme::H2c),
            upstream: unix_socket(word, path)?,
        });
    }
    let (scheme, address) = match text.split_once("://") {
        None => (None, text),
        Some((name, address)) => (Some(scheme(word, name)?), address),
    };
    Ok(UpstreamAddress {
        scheme,
        upstream: tcp(word, scheme, address, default_port)?,
    })
}

/// An upstream whose address is known with each request.
fn with_placeholders(word: &Word) -> Result<UpstreamAddress, Error> {
    // As in Caddy. The kind of the upstream must not depend on a request.
    if word.text.contains("://") || word.text.starts_with("unix") {
        return Err(bad_value(
            &word.position,
            format!(
                "the upstream `{}` has placeholders along with a scheme or a socket",
                word.text
            ),
            "write `HOST:PORT`; `tls` and `versions` in `transport http` are for the protocol",
        ));
    }
    Ok(UpstreamAddress {
        scheme: None,
        upstream: Upstream::Template {
            template: template(word)?,
            text: word.text.clone(),
        },
    })
}

fn unix_socket(word: &Word, path: &str) -> Result<Upstream, Error> {
    if path.starts_with('/') {
        return Ok(Upstream::Unix(path.into()));
    }
    Err(bad_value(
        &word.position,
        format!("`{}` is not the path of a socket", word.text),
        "write for example `unix//run/app.sock`",
    ))
}

fn scheme(word: &Word, name: &str) -> Result<Scheme, Error> {
    match name {
        "http" => Ok(Scheme::Http),
        "https" => Ok(Scheme::Https),
        "h2c" => Ok(Scheme::H2c),
        _ => Err(bad_value(
            &word.position,
            format!(
                "the upstream `{}` has the unknown scheme `{name}`",
                word.text
            ),
            "write `http://`, `https://`, `h2c://` or no scheme; WebSockets pass through the first two",
        )),
    }
}

/// `HOST:PORT` after the scheme, whose port is the default.
fn tcp(
    word: &Word,
    scheme: Option<Scheme>,
    address: &str,
    default_port: Option<u16>,
) -> Result<Upstream, Error> {
    let text = &word.text;
    if address.is_empty() {
        return Err(bad_value(
            &word.position,
            "the upstream is empty".into(),
            "write for example `localhost:9000`",
        ));
    }
    if address.contains('/') {
        return Err(bad_value(
            &word.position,
            format!("the upstream `{text}` has a path"),
            "use `rewrite` to change the path of requests",
        ));
    }
    let (host, number) = split_port(address);
    let number = match number {
        Some(number) => Some(port(word, number)?).filter(|number| *number > 0),
        None => scheme.map_or(default_port, |scheme| Some(scheme.port())),
    };
    let Some(port) = number else {
        return Err(bad_value(
            &word.position,
            format!("the upstream `{text}` has no port"),
            "write for example `localhost:9000` or `unix//run/php/php-fpm.sock`",
        ));
    };
    let other = match scheme {
        Some(Scheme::Http | Scheme::H2c) => Some(Scheme::Https),
        Some(Scheme::Https) => Some(Scheme::Http),
        None => None,
    };
    if other.is_some_and(|other| other.port() == port) {
        return Err(bad_value(
            &word.position,
            format!("the scheme of the upstream `{text}` is not that of its port"),
            "write `https://` with port 443 and `http://` with port 80, or no scheme",
        ));
    }
    let host = host_name(word, host)?;
    Ok(Upstream::Tcp { host, port })
}

/// A name or an IP address, IPv6 in brackets; `localhost` if it is empty.
pub(super) fn host_name(word: &Word, host: &str) -> Result<String, Error> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_ipv6 = bare.parse::<std::net::Ipv6Addr>().is_ok();
    if !is_ipv6 && !bare.bytes().all(valid) {
        return Err(bad_value(
            &word.position,
            format!("`{host}` is not a host"),
            "write a name or an IP address, such as `localhost:9000` or `[::1]:9000`",
        ));
    }
    let host = if bare.is_empty() { "localhost" } else { bare };
    Ok(host.to_owned())
}
