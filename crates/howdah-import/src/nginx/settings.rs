//! Directives that a server and a location have in common, and that do not end a request.

use howdah_config::Files;
use howdah_config::model::Network;

use super::geo::geo;
use super::value::{Constants, placeholders};
use crate::directive::Directive;
use crate::http_basic::basic_auth;
use crate::output::{FORBIDDEN, Lines, Notes, block, word};
use crate::proxy::size;

/// Directives that need no conversion: the server does that anyway, or they configure nginx itself.
const SILENT: &[&str] = &[
    "absolute_redirect",
    "aio",
    "charset",
    "charset_types",
    "chunked_transfer_encoding",
    "client_body_buffer_size",
    "client_body_temp_path",
    "client_body_timeout",
    "client_header_buffer_size",
    "client_header_timeout",
    "directio",
    "etag",
    "gzip_buffers",
    "gzip_comp_level",
    "gzip_disable",
    "gzip_http_version",
    "gzip_min_length",
    "gzip_proxied",
    "gzip_types",
    "gzip_vary",
    "brotli_comp_level",
    "brotli_min_length",
    "brotli_types",
    "large_client_header_buffers",
    "log_not_found",
    "log_subrequest",
    "merge_slashes",
    "msie_padding",
    "open_file_cache",
    "open_file_cache_errors",
    "open_file_cache_min_uses",
    "open_file_cache_valid",
    "output_buffers",
    "port_in_redirect",
    "recursive_error_pages",
    "reset_timedout_connection",
    "server_name_in_redirect",
    "tcp_nodelay",
    "types",
    "default_type",
    "error_log",
    "keepalive_timeout",
    "sendfile",
    "server_tokens",
    "send_timeout",
    "resolver",
    "resolver_timeout",
    "tcp_nopush",
    "rewrite_log",
];
const KNOWN: &[&str] = &[
    "access_log",
    "add_header",
    "allow",
    "auth_basic",
    "auth_basic_user_file",
    "auth_request",
    "autoindex",
    "brotli",
    "brotli_static",
    "client_max_body_size",
    "deny",
    "error_page",
    "expires",
    "gzip",
    "gzip_static",
    "index",
    "limit_except",
    "root",
    "satisfy",
    "set",
];

/// Directives of a server that are not allowed in locations.
pub(super) const OF_SERVER: &[&str] = &[
    "http2",
    "http2_push_preload",
    "http3",
    "quic_retry",
    "listen",
    "real_ip_header",
    "real_ip_recursive",
    "server_name",
    "set_real_ip_from",
    "ssl",
    "ssl_buffer_size",
    "ssl_certificate",
    "ssl_certificate_key",
    "ssl_ciphers",
    "ssl_client_certificate",
    "ssl_conf_command",
    "ssl_dhparam",
    "ssl_early_data",
    "ssl_ecdh_curve",
    "ssl_prefer_server_ciphers",
    "ssl_reject_handshake",
    "ssl_protocols",
    "ssl_session_cache",
    "ssl_session_tickets",
    "ssl_session_timeout",
    "ssl_stapling",
    "ssl_stapling_verify",
    "ssl_trusted_certificate",
    "ssl_verify_client",
];

pub(super) fn is_known(name: &str) -> bool {
    KNOWN.contains(&name) || SILENT.contains(&name) || defines_variable(name)
}

/// Whether the directive defines a variable for all blocks within its own.
pub(super) fn defines_variable(name: &str) -> bool {
    matches!(name, "map" | "geo")
}

/// Directives that [`settings`] converts.
pub(super) fn is_setting(name: &str) -> bool {
    const SETTINGS: [&str; 9] = [
        "access_log",
        "add_header",
        "brotli",
        "charset",
        "client_max_body_size",
        "expires",
        "gzip",
        "root",
        "set",
    ];
    SETTINGS.contains(&name)
}

/// The maps whose variables are used in these directives.
pub(super) fn maps(directives: &[Directive], cx: &mut Context<'_>) -> Lines {
    let mut lines = geos(directives, cx);
    for map in directives.iter().filter(|own| own.name == "map") {
        let name = map.argument(1).trim_start_matches('$');
        if !uses(directives, map.argument(1)) {
            continue;
        }
        match entries(map, cx) {
            Ok(own) => {
                cx.constants.insert(name.to_owned(), format!("{{{name}}}"));
                lines.extend(own);
            }
            Err(why) => lines.push(cx.note(map, &why)),
        }
    }
    lines
}

/// The variables by address that are used in these directives.
fn geos(directives: &[Directive], cx: &mut Context<'_>) -> Lines {
    let mut lines = Lines::new();
    for own in directives.iter().filter(|own| own.name == "geo") {
        let Some(variable) = own.arguments.last().filter(|name| uses(directives, name)) else {
            continue;
        };
        match geo(own, cx.names) {
            Ok(found) => {
                let name = variable.trim_start_matches('$');
                cx.constants
                    .insert(name.to_owned(), format!("{{vars.{name}}}"));
                lines.extend(found);
            }
            Err(why) => lines.push(cx.note(own, &why)),
        }
    }
    // In their order, and before the directives that use them.
    if lines.iter().any(|line| line.starts_with("vars")) {
        lines = block("route", lines);
    }
    lines
}

fn uses(directives: &[Directive], variable: &str) -> bool {
    directives.iter().any(|own| {
        let here = own.arguments.iter().any(|text| text.contains(variable));
        !defines_variable(&own.name) && (here || uses(own.children(), variable))
    })
}

fn entries(map: &Directive, cx: &mut Context<'_>) -> Result<Lines, String> {
    let source =
        placeholders(map.argument(0), cx.constants).map_err(|name| no_placeholder(&name))?;
    let name = map.argument(1).trim_start_matches('$');
    let mut lines = Lines::new();
    for own in map.children() {
        let value = own.argument(0);
        if value.contains('$') || own.arguments.len() != 1 || own.name == "include" {
            return Err(format!("its line `{own}`"));
        }
        let pattern = match own.name.strip_prefix("~*") {
            Some(regex) => format!("~(?i){regex}"),
            None => own.name.clone(),
        };
        lines.push(format!("{} {}", word(&pattern), word(value)));
    }
    Ok(block(&format!("map {source} {{{name}}}"), lines))
}

/// What is needed to convert a directive.
pub(super) struct Context<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) notes: &'a mut Notes,
    pub(super) constants: &'a mut Constants,
    pub(super) names: &'a mut crate::output::MatcherNames,
    /// Variables that only conditions use, with their `$`: `vars` sets them.
    pub(super) flags: std::collections::BTreeSet<String>,
    /// Lines of the named locations that are being converted: one may lead to another.
    pub(super) named: Vec<usize>,
}

impl Context<'_> {
    pub(super) fn note(&mut self, directive: &Directive, why: &str) -> String {
        self.notes.add(directive.line, &directive.to_string(), why)
    }

    /// Denies all requests, with a note that says why.
    pub(super) fn refuse(&mut self, directive: &Directive, why: &str) -> Lines {
        vec![self.note(directive, why), FORBIDDEN.to_owned()]
    }
}

/// Settings of one block, in the order in which they are written.
pub(super) fn settings(directives: &[Directive], cx: &mut Context<'_>) -> Lines {
    let mut lines = Lines::new();
    let expires_is_set = directives
        .iter()
        .any(|own| own.name == "expires" && own.argument(0) != "off");
    for directive in directives {
        let first = directive.argument(0);
        match directive.name.as_str() {
            // `php_server` splits the path.
            "set" if directive.argument(1) == "$fastcgi_path_info" => {}
            "set" if cx.flags.contains(first) => {}
            "set" => {
                let name = first.trim_start_matches('$').to_owned();
                match placeholders(directive.argument(1), cx.constants) {
                    Ok(value) => drop(cx.constants.insert(name, value)),
                    Err(unknown) => lines.push(cx.note(directive, &no_placeholder(&unknown))),
                }
            }
            "root" => match placeholders(first, cx.constants) {
                Ok(root) => lines.push(format!("root * {}", word(&root))),
                Err(unknown) => lines.push(cx.note(directive, &no_placeholder(&unknown))),
            },
            "gzip" | "brotli" if first == "on" => {
                let line = "encode zstd br gzip".to_owned();
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
            // Both are sent.
            "add_header" if expires_is_set && first.eq_ignore_ascii_case("cache-control") => {
                let line = header(directive, "", cx);
                lines.push(line.replacen("header ", "header +", 1));
            }
            "add_header" => lines.push(header(directive, "", cx)),
            "expires" => lines.extend(expires(directive, cx)),
            "client_max_body_size" => match size(first) {
                Some(size) if !size.starts_with('0') => {
                    lines.extend(block("request_body", vec![format!("max_size {size}")]));
                }
                Some(_) => {
                    // There is always a limit: that of the listener.
                    lines.push("# The limit of bodies is `servers { max_body_size }`.".to_owned());
                }
                None => lines.push(cx.note(directive, "not a size")),
            },
            "access_log" if first == "off" => lines.push("log_skip".to_owned()),
            _ => {}
        }
    }
    lines
}

fn no_placeholder(variable: &str) -> String {
    format!("{variable} has no placeholder")
}

/// `add_header`, for requests of a matcher.
pub(super) fn header(directive: &Directive, matcher: &str, cx: &mut Context<'_>) -> String {
    let value = directive.argument(1);
    match placeholders(value, cx.constants) {
        Ok(value) => format!("header {matcher}{} {}", directive.argument(0), word(&value)),
        Err(unknown) => cx.note(directive, &no_placeholder(&unknown)),
    }
}

fn expires(directive: &Directive, cx: &mut Context<'_>) -> Option<String> {
    let time = directive.argument(0);
    let seconds = match time {
        "off" => return None,
        "epoch" => None,
        "max" => Some(315_360_000),
        _ if time.starts_with('-') => None,
        _ if directive.arguments.len() == 1 => match seconds(time) {
            Some(seconds) => Some(seconds),
            None => return Some(cx.note(directive, "")),
        },
        _ => return Some(cx.note(directive, "")),
    };
    Some(match seconds {
        Some(seconds) => format!("header Cache-Control max-age={seconds}"),
        None => "header Cache-Control no-cache".to_owned(),
    })
}

/// A time such as `1h30m`.
fn seconds(text: &str) -> Option<u64> {
    let mut all = 0_u64;
    let mut number = String::new();
    for c in text.chars() {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let unit = match c {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 7 * 86_400,
            'M' => 30 * 86_400,
            'y' => 365 * 86_400,
            _ => return None,
        };
        all = all.checked_add(number.parse::<u64>().ok()?.checked_mul(unit)?)?;
        number.clear();
    }
    let rest = if number.is_empty() {
        0
    } else {
        number.parse().ok()?
    };
    all.checked_add(rest)
}

/// Names of the directives of `access`, in groups of which one replaces what is inherited.
pub(super) const ACCESS: [&[&str]; 3] = [
    &["allow", "deny"],
    &["auth_basic", "auth_basic_user_file"],
    &["auth_request"],
];

/// Directives about upstreams that locations inherit.
pub(super) fn is_inherited(name: &str) -> bool {
    name.starts_with("proxy_") && name != "proxy_pass"
        || name.starts_with("grpc_") && name != "grpc_pass"
        || name.starts_with("fastcgi_") && name != "fastcgi_pass"
}

pub(super) fn is_access(name: &str) -> bool {
    ACCESS.iter().any(|group| group.contains(&name))
}

/// Access rules. An unknown one denies access.
pub(super) fn access(directives: &[Directive], cx: &mut Context<'_>) -> Lines {
    let named = |name: &str| directives.iter().find(|directive| directive.name == name);
    let mut lines = Lines::new();
    if let Some(any) = named("satisfy")
        && any.argument(0) == "any"
    {
        lines.push(cx.note(any, "both the address and the password are required here"));
    }
    let rules: Vec<_> = directives
        .iter()
        .filter(|directive| ["allow", "deny"].contains(&directive.name.as_str()))
        .collect();
    if !rules.is_empty() {
        lines.extend(addresses(&rules, cx));
    }
    if let Some(limit) = named("limit_except") {
        lines.extend(methods(limit, cx));
    }
    if let Some(request) = named("auth_request")
        && request.argument(0) != "off"
    {
        let why = "`forward_auth` does this; the response is 403 until it is set up";
        lines.extend(cx.refuse(request, why));
    }
    if lines.iter().any(|line| line == FORBIDDEN) {
        // No password is required then.
        return lines;
    }
    if let Some(realm) = named("auth_basic")
        && realm.argument(0) != "off"
    {
        let file = named("auth_basic_user_file").map(|file| file.argument(0));
        let realm_text = Some(realm.argument(0)).filter(|text| !text.contains('$'));
        lines.extend(basic_auth(file, realm_text, realm.line, cx.files, cx.notes));
    }
    lines
}

fn addresses(rules: &[&Directive], cx: &mut Context<'_>) -> Lines {
    let of = |name: &str| -> Vec<&str> {
        let own = rules.iter().filter(|rule| rule.name == name);
        own.map(|rule| rule.argument(0)).collect()
    };
    let is_plain = |list: &[&str]| list.iter().all(|text| text.parse::<Network>().is_ok());
    let (mut allowed, mut denied) = (of("allow"), of("deny"));
    let last = rules
        .last()
        .map(|rule| (rule.name.as_str(), rule.argument(0)));
    match last {
        Some(("deny", "all")) if denied.len() == 1 => {
            if allowed.is_empty() {
                return vec![FORBIDDEN.to_owned()];
            }
            if is_plain(&allowed) {
                let name = cx.names.next("outside");
                return vec![
                    format!("@{name} not remote_ip {}", allowed.join(" ")),
                    format!("error @{name} 403"),
                ];
            }
        }
        Some(("allow", "all")) => {
            allowed.pop();
        }
        _ => {}
    }
    if allowed.is_empty() && is_plain(&denied) {
        if denied.is_empty() {
            return Lines::new();
        }
        denied.dedup();
        let name = cx.names.next("denied");
        return vec![
            format!("@{name} remote_ip {}", denied.join(" ")),
            format!("error @{name} 403"),
        ];
    }
    let why = "mixed rules; the response is 403 until a `remote_ip` matcher allows addresses";
    cx.refuse(rules[0], why)
}

/// `limit_except GET { deny all; }`
fn methods(limit: &Directive, cx: &mut Context<'_>) -> Lines {
    let mut methods = limit.arguments.clone();
    if methods.iter().any(|method| method == "GET") && !methods.iter().any(|m| m == "HEAD") {
        methods.push("HEAD".to_owned());
    }
    let denies = limit
        .children()
        .iter()
        .all(|rule| rule.to_string() == "deny all");
    let name = cx.names.next("method");
    let mut lines = vec![
        format!("@{name} not method {}", methods.join(" ")),
        format!("error @{name} 403"),
    ];
    if !denies {
        lines.push(cx.note(limit, "other methods get 403 from every client"));
    }
    lines
}
