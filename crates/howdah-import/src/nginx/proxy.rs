//! `proxy_pass` and `grpc_pass`, and their options.

use super::body::Body;
use super::settings::Context;
use super::upstream::{Upstreams, address};
use super::value::placeholders;
use crate::directive::Directive;
use crate::output::{Lines, block, word};
use crate::proxy::{duration, is_sent_anyway};

/// Directives about upstreams.
pub(super) const PROXY: &[&str] = &[
    "grpc_buffer_size",
    "grpc_connect_timeout",
    "grpc_hide_header",
    "grpc_intercept_errors",
    "grpc_next_upstream",
    "grpc_pass_header",
    "grpc_read_timeout",
    "grpc_send_timeout",
    "grpc_set_header",
    "grpc_ssl_server_name",
    "grpc_ssl_verify",
    "proxy_buffer_size",
    "proxy_buffering",
    "proxy_buffers",
    "proxy_busy_buffers_size",
    "proxy_cache_bypass",
    "proxy_connect_timeout",
    "proxy_intercept_errors",
    "proxy_hide_header",
    "proxy_http_version",
    "proxy_max_temp_file_size",
    "proxy_next_upstream",
    "proxy_pass_header",
    "proxy_pass_request_headers",
    "proxy_read_timeout",
    "proxy_redirect",
    "proxy_request_buffering",
    "proxy_send_timeout",
    "proxy_set_header",
    "proxy_ssl_server_name",
    "proxy_ssl_verify",
];

/// The directives that pass requests on.
const PASS: &[&str] = &["proxy_pass", "grpc_pass"];

/// What a location with `proxy_pass` or `grpc_pass` does.
pub(super) fn proxy(
    path: &str,
    is_exact: bool,
    children: &[Directive],
    upstreams: &Upstreams,
    cx: &mut Context<'_>,
) -> Option<Body> {
    let is_pass = |own: &&Directive| PASS.contains(&own.name.as_str());
    let pass = children.iter().find(is_pass)?;
    let is_grpc = pass.name == "grpc_pass";
    let failed = |cx: &mut Context<'_>, why: &str| {
        Some(vec![cx.note(pass, why), "error 502".to_owned()].into())
    };
    let url = match placeholders(pass.argument(0), cx.constants) {
        Ok(url) => url,
        Err(unknown) => return failed(cx, &format!("{unknown} has no placeholder")),
    };
    let Target { scheme, host, uri } = Target::parse(&url, is_grpc);
    if host.is_empty() || host.contains('{') {
        return failed(cx, "the upstream depends on the request");
    }
    let (servers, mut options) = match upstreams.get(&host) {
        Some(group) => (group.servers.clone(), group.options.clone()),
        None => (
            vec![if scheme == Scheme::Http {
                address(&host)
            } else {
                host.replacen("unix:", "unix/", 1)
            }],
            Vec::new(),
        ),
    };
    if servers.is_empty() {
        return failed(cx, "its group has no server");
    }
    let servers: Vec<_> = servers
        .iter()
        .map(|server| scheme.address(server))
        .collect();
    let mut body = rewrite(uri, path, is_exact);
    options.extend(proxy_options(children, (scheme, is_grpc), cx));
    body.lines.extend(block(
        &format!("reverse_proxy {}", servers.join(" ")),
        options,
    ));
    Some(body)
}

/// The protocol to the upstreams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    H2c,
}

impl Scheme {
    /// The address of an upstream.
    fn address(self, server: &str) -> String {
        match (self, server.strip_prefix("unix/")) {
            (Self::Http, _) => server.to_owned(),
            (Self::Https, _) => format!("https://{server}"),
            (Self::H2c, Some(path)) => format!("unix+h2c/{path}"),
            (Self::H2c, None) => format!("h2c://{server}"),
        }
    }
}

/// The parts of the URL of `proxy_pass` or `grpc_pass`.
struct Target<'a> {
    scheme: Scheme,
    host: String,
    uri: &'a str,
}

impl<'a> Target<'a> {
    fn parse(url: &'a str, is_grpc: bool) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let scheme = match scheme {
            "https" | "grpcs" => Scheme::Https,
            _ if is_grpc => Scheme::H2c,
            _ => Scheme::Http,
        };
        if let Some(socket) = rest.strip_prefix("unix:") {
            let (file, uri) = socket.split_once(':').unwrap_or((socket, ""));
            let host = format!("unix:{file}");
            return Self { scheme, host, uri };
        }
        let end = rest.find('/').or_else(|| rest.find('{'));
        let (host, uri) = rest.split_at(end.unwrap_or(rest.len()));
        let host = host.to_owned();
        Self { scheme, host, uri }
    }
}

/// What becomes of the path of requests, `uri` that of the upstream and `path` that of the location.
fn rewrite(uri: &str, path: &str, is_exact: bool) -> Body {
    let mut lines = Lines::new();
    let mut strips = false;
    match uri {
        "" | "{orig_uri}" | "{path}{?query}" => {}
        _ if uri.contains('{') => lines.push(format!("rewrite * {}", word(uri))),
        _ if is_exact => lines.push(format!("rewrite * {}", word(uri))),
        _ if uri == path => {}
        _ => {
            strips = path != "/";
            let prefix = uri.trim_end_matches('/');
            if !prefix.is_empty() {
                lines.push(format!("rewrite * {}{{uri}}", word(prefix)));
            }
        }
    }
    Body { lines, strips }
}

fn proxy_options(
    children: &[Directive],
    (scheme, is_grpc): (Scheme, bool),
    cx: &mut Context<'_>,
) -> Lines {
    let mut lines = Lines::new();
    let mut transport = Lines::new();
    if is_grpc && scheme == Scheme::Https {
        transport.push("versions 2".to_owned());
    }
    let mut host = Some("header_up Host {upstream_hostport}".to_owned());
    for own in children {
        let (name, value) = (own.argument(0), own.argument(1));
        let (of_grpc, option) = match own.name.split_once('_') {
            Some(("grpc", option)) => (true, option),
            Some(("proxy", option)) => (false, option),
            _ => continue,
        };
        if of_grpc != is_grpc {
            continue;
        }
        match option {
            "set_header" if name.eq_ignore_ascii_case("host") => {
                host = match value {
                    "$proxy_host" => host,
                    "$host" | "$http_host" => None,
                    _ => Some(set_header(own, cx)),
                };
            }
            "set_header" if is_sent_anyway(name) => {}
            "set_header" if value.is_empty() => lines.push(format!("header_up -{name}")),
            "set_header" => lines.push(set_header(own, cx)),
            "hide_header" => lines.push(format!("header_down -{name}")),
            "buffering" if name == "off" => lines.push("flush_interval -1".to_owned()),
            "connect_timeout" => transport.push(format!("dial_timeout {}", duration(name))),
            "read_timeout" => {
                transport.push(format!("response_header_timeout {}", duration(name)));
            }
            "ssl_verify" if name == "off" => {
                transport.push("tls_insecure_skip_verify".to_owned());
            }
            "redirect" if !["off", "default"].contains(&name) => lines.push(cx.note(own, "")),
            "intercept_errors" if name == "on" => {
                lines.push(cx.note(own, "`handle_response` replaces responses"));
            }
            _ => {}
        }
    }
    let mut all: Lines = host.into_iter().collect();
    all.extend(lines);
    if !transport.is_empty() {
        all.extend(block("transport http", transport));
    }
    all
}

fn set_header(own: &Directive, cx: &mut Context<'_>) -> String {
    match placeholders(own.argument(1), cx.constants) {
        Ok(value) => format!("header_up {} {}", own.argument(0), word(&value)),
        Err(unknown) => cx.note(own, &format!("{unknown} has no placeholder")),
    }
}
