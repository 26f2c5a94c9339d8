//! Addresses of upstreams.

use crate::error::Error;
use crate::model::Upstream;
use crate::site::split_port;
use crate::table::{Entry, bad_value, unsupported};
use crate::tree::Word;
use crate::value::port;

pub(super) const DIAL_TIMEOUT: Entry = Entry {
    name: "dial_timeout",
    syntax: "dial_timeout DURATION",
    default: "`3s`",
    about: "How long connecting to an upstream may take.",
    differs: "",
    example: "dial_timeout 1s",
};

/// `HOST:PORT`, `:PORT`, `http://HOST`, `unix//PATH`; without `default_port` there must be a port.
pub(super) fn upstream(word: &Word, default_port: Option<u16>) -> Result<Upstream, Error> {
    let text = word.text.as_str();
    if text.contains('{') {
        return Err(unsupported(
            word,
            "an upstream has no placeholders; write `{$NAME}` for an environment variable",
        ));
    }
    if let Some(path) = text
        .strip_prefix("unix/")
        .or_else(|| text.strip_prefix("unix+h1/"))
    {
        if !path.starts_with('/') {
            return Err(bad_value(
                &word.position,
                format!("`{text}` is not the path of a socket"),
                "write for example `unix//run/app.sock`",
            ));
        }
        return Ok(Upstream::Unix(path.into()));
    }
    let rest = match text.split_once("://") {
        None => text,
        Some(("http", rest)) => rest,
        Some(("https" | "h2c", _)) => {
            return Err(unsupported(
                word,
                "upstreams are talked to in HTTP/1.1 without TLS in this version",
            ));
        }
        Some((scheme, _)) => {
            return Err(bad_value(
                &word.position,
                format!("the upstream `{text}` has the unknown scheme `{scheme}`"),
                "write `http://` or no scheme",
            ));
        }
    };
    if rest.is_empty() {
        return Err(bad_value(
            &word.position,
            "the upstream is empty".into(),
            "write for example `localhost:9000`",
        ));
    }
    if rest.contains('/') {
        return Err(bad_value(
            &word.position,
            format!("the upstream `{text}` has a path"),
            "use `rewrite` to change the path of requests",
        ));
    }
    let (host, number) = split_port(rest);
    let number = match number {
        Some(number) => Some(port(word, number)?).filter(|number| *number > 0),
        None => default_port,
    };
    let Some(number) = number else {
        return Err(bad_value(
            &word.position,
            format!("the upstream `{text}` has no port"),
            "write for example `localhost:9000` or `unix//run/php/php-fpm.sock`",
        ));
    };
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
    Ok(Upstream::Tcp {
        host: host.to_owned(),
        port: number,
    })
}
