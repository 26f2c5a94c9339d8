//! The global options.

use crate::error::{Error, ErrorKind};
use crate::logs;
use crate::model::{Admin, AdminAddress, Global, Limits};
use crate::php_options::{self, PHP};
use crate::site::split_port;
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};
use crate::tree::Word;
use crate::value::{duration, memory_size, number, port, size};

const DEFAULT_ADMIN_PORT: u16 = 2019;
/// Of the operating system: `sun_path` less its NUL.
const MAX_SOCKET_PATH: usize = 107;
const TLS: &str = "it belongs to TLS, which this version does not have";

/// The options while they are read.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) global: Global,
    php_block: bool,
}

/// Names of the global block.
pub(crate) const OPTIONS: Table<Draft> = Table {
    kind: "global option",
    items: &[
        Item::Supported(
            Entry {
                name: "debug",
                syntax: "debug",
                default: "off",
                about: "Writes entries of level `DEBUG` to the server's log.",
                differs: "",
                example: "debug",
            },
            |_, call, draft| {
                call.arguments(0, 0)?;
                draft.global.debug = true;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "http_port",
                syntax: "http_port PORT",
                default: "`80`",
                about: "The port of `http://` addresses that name none.",
                differs: "",
                example: "http_port 8080",
            },
            |_, call, draft| {
                let word = call.one()?;
                draft.global.http_port = Some(port(word, &word.text)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "grace_period",
                syntax: "grace_period DURATION",
                default: "`30s`",
                about: "How long requests may go on after the order to stop.",
                differs: "Caddy waits without a limit by default; here `0` is an error.",
                example: "grace_period 10s",
            },
            |_, call, draft| {
                draft.global.grace_period = Some(duration(call)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "log",
                syntax: "log [default] { … }",
                default: "",
                about: "The server's own log.",
                differs: "One log, without a name.",
                example: "log {\n\tlevel INFO\n}",
            },
            |cx, call, draft| {
                draft.global.log = logs::read(cx, call, &logs::GLOBAL)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "servers",
                syntax: "servers { … }",
                default: "",
                about: "Limits of connections and requests, for all listeners.",
                differs: "Takes no listener address.",
                example: "servers {\n\tmax_header_size 16KiB\n}",
            },
            |cx, call, draft| {
                if let Some(address) = call.arguments.first() {
                    return Err(unsupported(
                        address,
                        "`servers` without an address is for all",
                    ));
                }
                cx.read(&SERVERS, call.block()?, &mut draft.global.limits);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "frankenphp",
                syntax: "frankenphp { … }",
                default: "",
                about: "PHP processes and their limits. The block may be empty or left out.",
                differs: "",
                example: "frankenphp {\n\tnum_threads 8\n}",
            },
            php_block,
        ),
        Item::Supported(
            Entry {
                name: "howdah",
                syntax: "howdah { … }",
                default: "",
                about: "The same block as `frankenphp`; a file has one of them.",
                differs: "Not in Caddy or FrankenPHP.",
                example: "howdah {\n\tworkers 8\n}",
            },
            php_block,
        ),
        Item::Supported(
            Entry {
                name: "admin",
                syntax: "admin off|ADDRESS",
                default: "`localhost:2019`; with `howdah php-server` it is `off`",
                about: "Where the server takes orders such as `howdah reload`, and tells about itself: \
                        `HOST:PORT`, `HOST`, `:PORT`, or `unix//PATH` for a Unix socket.",
                differs: "No block with `origins`; the configuration cannot be changed through it.",
                example: "admin localhost:2020",
            },
            |_, call, draft| {
                let word = call.one()?;
                draft.global.admin = if word.text == "off" {
                    Admin::Off
                } else {
                    Admin::On(admin_address(word)?)
                };
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "auto_https",
                syntax: "auto_https off|disable_redirects",
                default: "`off`",
                about: "Accepted so that files for other servers run.",
                differs: "There is no TLS in this version, so nothing is redirected to it.",
                example: "auto_https off",
            },
            |_, call, _| {
                only(
                    call,
                    &["off", "disable_redirects"],
                    "write `auto_https off`",
                )
            },
        ),
        Item::Supported(
            Entry {
                name: "persist_config",
                syntax: "persist_config off",
                default: "`off`",
                about: "Accepted so that files for other servers run.",
                differs: "The configuration is never saved elsewhere.",
                example: "persist_config off",
            },
            |_, call, _| only(call, &["off"], "write `persist_config off`"),
        ),
        Item::Supported(
            Entry {
                name: "skip_install_trust",
                syntax: "skip_install_trust",
                default: "",
                about: "Accepted so that FrankenPHP's own file runs.",
                differs: "No certificate is ever installed.",
                example: "skip_install_trust",
            },
            |_, call, _| call.arguments(0, 0).map(drop),
        ),
        Item::Supported(
            Entry {
                name: "order",
                syntax: "order php_server|php before file_server",
                default: "the order of the list of directives",
                about: "Accepted so that files for other servers run: this is their order anyway.",
                differs: "Nothing else is supported; a `route` block keeps the order of the file.",
                example: "order php_server before file_server",
            },
            |_, call, _| {
                let words = call.arguments(3, 3)?;
                let words: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
                if let ["php_server" | "php", "before", "file_server"] = words[..] {
                    return Ok(());
                }
                Err(unsupported(
                    call.name,
                    "use a `route` block to set the order of directives",
                ))
            },
        ),
        Item::Elsewhere(
            "worker",
            "put it in `frankenphp { … }` or `php_server { … }`",
        ),
        Item::Unsupported("acme_ca", TLS),
        Item::Unsupported("acme_ca_root", TLS),
        Item::Unsupported("acme_dns", TLS),
        Item::Unsupported("acme_eab", TLS),
        Item::Unsupported("cert_issuer", TLS),
        Item::Unsupported("cert_lifetime", TLS),
        Item::Unsupported("default_bind", "use `bind` in each site"),
        Item::Unsupported("default_sni", TLS),
        Item::Unsupported("dns", TLS),
        Item::Unsupported("ech", TLS),
        Item::Unsupported("email", TLS),
        Item::Unsupported("events", ""),
        Item::Unsupported("fallback_sni", TLS),
        Item::Unsupported("filesystem", ""),
        Item::Unsupported("https_port", TLS),
        Item::Unsupported("key_type", TLS),
        Item::Unsupported("local_certs", TLS),
        Item::Unsupported("mercure", ""),
        Item::Unsupported("metrics", ""),
        Item::Unsupported("ocsp_interval", TLS),
        Item::Unsupported("ocsp_stapling", TLS),
        Item::Unsupported("on_demand_tls", TLS),
        Item::Unsupported("pki", TLS),
        Item::Unsupported("preferred_chains", TLS),
        Item::Unsupported("renew_interval", TLS),
        Item::Unsupported("renewal_window_ratio", TLS),
        Item::Unsupported("shutdown_delay", "use `grace_period`"),
        Item::Unsupported("storage", TLS),
        Item::Unsupported("storage_check", TLS),
        Item::Unsupported("storage_clean_interval", TLS),
        Item::Unsupported("tls_resolvers", TLS),
    ],
};

/// Names of `servers`.
pub(crate) const SERVERS: Table<Limits> = Table {
    kind: "option of `servers`",
    items: &[
        Item::Supported(
            Entry {
                name: "timeouts",
                syntax: "timeouts { … }",
                default: "",
                about: "How long a client may take.",
                differs: "",
                example: "timeouts {\n\tidle 30s\n}",
            },
            |cx, call, limits| {
                call.count(0, 0)?;
                cx.read(&TIMEOUTS, call.block()?, limits);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "max_header_size",
                syntax: "max_header_size SIZE",
                default: "`32KiB`",
                about: "Bytes of request line and header fields; more is answered 431, or 414 if the \
                        request line alone is too long.",
                differs: "Caddy's default is 1 MiB.",
                example: "max_header_size 16KiB",
            },
            |_, call, limits| {
                limits.max_header_size = memory_size(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "max_body_size",
                syntax: "max_body_size SIZE",
                default: "`128MiB`",
                about: "Bytes of a request body; more is answered 413.",
                differs: "Not in Caddy, whose default is no limit.",
                example: "max_body_size 1GB",
            },
            |_, call, limits| {
                limits.max_body_size = size(call)?;
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
            |_, call, limits| {
                limits.memory_body_size = memory_size(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "max_connections",
                syntax: "max_connections NUMBER",
                default: "`50000`",
                about: "Connections at a time for the whole server; further ones wait to be accepted.",
                differs: "Not in Caddy.",
                example: "max_connections 1000",
            },
            |_, call, limits| {
                limits.max_connections = number(call, 1)?;
                Ok(())
            },
        ),
        Item::Unsupported("0rtt", TLS),
        Item::Unsupported(
            "client_ip_headers",
            "the client is the peer of the connection",
        ),
        Item::Unsupported("enable_full_duplex", ""),
        Item::Unsupported("keepalive_count", ""),
        Item::Unsupported("keepalive_idle", ""),
        Item::Unsupported("keepalive_interval", ""),
        Item::Unsupported("listener_wrappers", ""),
        Item::Unsupported("log_credentials", ""),
        Item::Unsupported("metrics", ""),
        Item::Unsupported("name", ""),
        Item::Unsupported("packet_conn_wrappers", ""),
        Item::Unsupported("protocols", "HTTP/1.1 and HTTP/2 without TLS are always on"),
        Item::Unsupported("strict_sni_host", TLS),
        Item::Unsupported("trace", ""),
        Item::Unsupported(
            "trusted_proxies",
            "the client is the peer of the connection",
        ),
        Item::Unsupported(
            "trusted_proxies_strict",
            "the client is the peer of the connection",
        ),
        Item::Unsupported(
            "trusted_proxies_unix",
            "the client is the peer of the connection",
        ),
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
                about: "Between two writes that the client takes.",
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

fn php_block(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    call.count(0, 0)?;
    if draft.php_block {
        return Err(call.error(
            ErrorKind::Conflict,
            "`frankenphp` and `howdah` are the same block".into(),
            "put all options in one of them",
        ));
    }
    draft.php_block = true;
    let options = &mut draft.global.php;
    cx.read(&PHP, call.block.unwrap_or_default(), options);
    php_options::check(call, options)
}

/// An option of which only some values mean something here.
fn only(call: &Call<'_>, values: &[&str], hint: &str) -> Result<(), Error> {
    match call.arguments {
        [word, ..] if !values.contains(&word.text.as_str()) => Err(Error::new(
            ErrorKind::Unsupported,
            &word.position,
            format!(
                "`{} {}` is not supported in this version",
                call.entry.name, word.text
            ),
            hint,
        )),
        _ => call.one().map(drop),
    }
}

/// `HOST:PORT`, `HOST`, `:PORT` or `unix//PATH`.
fn admin_address(word: &Word) -> Result<AdminAddress, Error> {
    let wrong = |message: String| {
        bad_value(
            &word.position,
            message,
            "write for example `admin localhost:2019`, `admin unix//run/howdah.sock` or `admin off`",
        )
    };
    let not_one = || wrong(format!("`{}` is not an address to listen on", word.text));
    if let Some(path) = word.text.strip_prefix("unix/") {
        if !path.starts_with('/') || path.len() > MAX_SOCKET_PATH || path.contains(['\0', '|']) {
            return Err(wrong(format!(
                "`{path}` is not the absolute path of a socket, of at most {MAX_SOCKET_PATH} bytes"
            )));
        }
        return Ok(AdminAddress::Unix(path.into()));
    }
    let text = word.text.strip_prefix("tcp/").unwrap_or(&word.text);
    if text.is_empty() {
        return Err(not_one());
    }
    let (host, number) = split_port(text);
    let port = match number {
        Some(number) => port(word, number)?,
        None => DEFAULT_ADMIN_PORT,
    };
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let valid = match bare {
        Some(bare) => bare.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)),
    };
    if !valid {
        return Err(not_one());
    }
    Ok(AdminAddress::Tcp {
        host: bare.unwrap_or(host).to_ascii_lowercase(),
        port,
    })
}
