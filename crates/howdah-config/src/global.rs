//! The global options.

use crate::error::{Error, ErrorKind};
use crate::logs;
use crate::model::{Global, Limits, Php};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};
use crate::template::literal;
use crate::value::{duration, memory_size, number, port, size};

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
                syntax: "admin off",
                default: "`off`",
                about: "Accepted so that files for other servers run.",
                differs: "There is no admin API in this version, so `off` is the only value.",
                example: "admin off",
            },
            |_, call, _| {
                only(
                    call,
                    &["off"],
                    "there is no admin API in this version; write `admin off`",
                )
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
        Item::Unsupported(
            "order",
            "use a `route` block to set the order of directives",
        ),
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

/// Names of `frankenphp` and `howdah`.
pub(crate) const PHP: Table<Php> = Table {
    kind: "option of `frankenphp`",
    items: &[
        Item::Supported(
            Entry {
                name: "num_threads",
                syntax: "num_threads NUMBER",
                default: "from the number of cores",
                about: "FrankenPHP's name of `workers`.",
                differs: "PHP runs in processes, not in threads.",
                example: "num_threads 8",
            },
            |_, call, php| call.set(&mut php.workers, number(call, 1)?),
        ),
        Item::Supported(
            Entry {
                name: "workers",
                syntax: "workers NUMBER",
                default: "from the number of cores",
                about: "PHP processes, each with one request at a time.",
                differs: "Not in FrankenPHP.",
                example: "workers 8",
            },
            |_, call, php| call.set(&mut php.workers, number(call, 1)?),
        ),
        Item::Supported(
            Entry {
                name: "max_requests",
                syntax: "max_requests NUMBER",
                default: "`0`",
                about: "A PHP process is replaced after so many requests; with `0` never.",
                differs: "",
                example: "max_requests 1000",
            },
            |_, call, php| {
                php.max_requests = number(call, 0)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "max_wait_time",
                syntax: "max_wait_time DURATION",
                default: "`30s`",
                about: "How long a request may wait for a PHP process; then it is answered 503.",
                differs: "FrankenPHP has no limit by default.",
                example: "max_wait_time 10s",
            },
            |_, call, php| {
                php.max_wait_time = duration(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "queue_length",
                syntax: "queue_length NUMBER",
                default: "`1024`",
                about: "Requests that may wait for a PHP process; more are answered 503.",
                differs: "Not in FrankenPHP.",
                example: "queue_length 100",
            },
            |_, call, php| {
                php.queue_length = number(call, 1)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "request_timeout",
                syntax: "request_timeout DURATION|off",
                default: "`off`: PHP's `max_execution_time` counts",
                about: "Wall time of a request in PHP; then it is answered 504 and its process is \
                        replaced.",
                differs: "Not in FrankenPHP.",
                example: "request_timeout 1m",
            },
            |_, call, php| {
                let off = call.one()?.text == "off";
                php.request_timeout = if off { None } else { Some(duration(call)?) };
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "response_buffer",
                syntax: "response_buffer SIZE",
                default: "`1MiB`",
                about: "Bytes of a response that are held for a slow client before PHP has to wait.",
                differs: "Not in FrankenPHP.",
                example: "response_buffer 4MiB",
            },
            |_, call, php| {
                php.response_buffer = memory_size(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "front_threads",
                syntax: "front_threads NUMBER",
                default: "half the cores, 1 to 16",
                about: "Threads that serve connections.",
                differs: "Not in FrankenPHP.",
                example: "front_threads 2",
            },
            |_, call, php| call.set(&mut php.front_threads, number(call, 1)?),
        ),
        Item::Supported(
            Entry {
                name: "php",
                syntax: "php FILE",
                default: "`howdah-php` beside `howdah`, then on `PATH`",
                about: "The PHP executable.",
                differs: "Not in FrankenPHP.",
                example: "php /usr/lib/howdah/howdah-php8.2",
            },
            |_, call, php| {
                let word = call.one()?;
                let path = literal(word, "the path of the PHP executable")?;
                if path.is_empty() {
                    return Err(bad_value(&word.position, "the path is empty".into(), ""));
                }
                php.executable = Some(path.into());
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "php_ini",
                syntax: "php_ini NAME VALUE  or  php_ini { NAME VALUE … }",
                default: "",
                about: "Settings on top of `php.ini`. Of two with the same name the last counts.",
                differs: "",
                example: "php_ini memory_limit 256M",
            },
            php_ini,
        ),
        Item::Unsupported(
            "worker",
            "PHP starts fresh for each request; use `php_server`",
        ),
        Item::Unsupported(
            "max_threads",
            "the number of PHP processes is fixed; use `num_threads`",
        ),
        Item::Unsupported("max_idle_time", "the number of PHP processes is fixed"),
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
    cx.read(&PHP, call.block.unwrap_or_default(), &mut draft.global.php);
    Ok(())
}

fn php_ini(cx: &mut Context, call: &Call<'_>, php: &mut Php) -> Result<(), Error> {
    match (call.arguments, call.block) {
        ([name, value], None) => ini_setting(php, name, value),
        ([], Some(block)) => {
            for statement in block {
                let result = match (statement.arguments.as_slice(), &statement.block) {
                    ([value], None) => ini_setting(php, &statement.name, value),
                    _ => Err(Error::new(
                        ErrorKind::Arguments,
                        &statement.name.position,
                        format!("the setting `{}` needs one value", statement.name.text),
                        "write `NAME VALUE`, with quotes around a value with spaces",
                    )),
                };
                cx.keep(result);
            }
            Ok(())
        }
        (_, Some(_)) => call.count(0, 0).map(drop),
        _ => call.count(2, 2).map(drop),
    }
}

fn ini_setting(
    php: &mut Php,
    name: &crate::tree::Word,
    value: &crate::tree::Word,
) -> Result<(), Error> {
    let valid = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
    if name.text.is_empty() || !name.text.chars().all(valid) {
        return Err(bad_value(
            &name.position,
            format!("`{}` is not the name of a PHP setting", name.text),
            "write for example `php_ini memory_limit 256M`",
        ));
    }
    if value.text.contains(['\n', '\r', '\0']) {
        let message = format!("the value of `{}` has more than one line", name.text);
        return Err(bad_value(&value.position, message, "write it on one line"));
    }
    php.ini.retain(|(other, _)| *other != name.text);
    php.ini.push((name.text.clone(), value.text.clone()));
    Ok(())
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
