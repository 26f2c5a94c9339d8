//! `ProxyPass`, and PHP-FPM on another machine.

use crate::output::{Lines, block};

/// The requests below `path` go to the upstream `to`; `None`: it has no counterpart.
pub(super) fn reverse_proxy(path: &str, to: &str) -> Option<Lines> {
    let (scheme, rest) = to.split_once("://")?;
    let (host, uri) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let mut inner = Lines::new();
    let strips = uri.trim_end_matches('/') != path.trim_end_matches('/');
    let prefix = uri.trim_end_matches('/');
    if strips && !prefix.is_empty() {
        inner.push(format!("rewrite * {prefix}{{uri}}"));
    }
    inner.push(match scheme {
        "http" | "ws" if host.contains(':') => format!("reverse_proxy {host}"),
        "http" | "ws" => format!("reverse_proxy {host}:80"),
        "https" | "wss" => format!("reverse_proxy https://{host}"),
        _ => return None,
    });
    let head = match path {
        "/" => "handle".to_owned(),
        _ if strips => format!("handle_path {}*", path.trim_end_matches('/')),
        _ => format!("handle {path}*"),
    };
    Some(block(&head, inner))
}

/// Host and port of PHP-FPM on another machine.
pub(super) fn remote_fcgi(text: &str) -> Option<&str> {
    let (_, rest) = text
        .split_once("fcgi://")
        .filter(|_| !text.contains("unix:"))?;
    let host = rest.split('/').next().unwrap_or_default();
    let name = host.split(':').next().unwrap_or_default();
    let is_here = name == "localhost"
        || name
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback());
    (!is_here).then_some(host)
}
