//! The global options.

use std::time::Duration;

use crate::directive::{CACHE, order};
use crate::error::{Error, ErrorKind};
use crate::https::options::{self, ON_DEMAND};
use crate::https::{pki, storage};
use crate::listen::bind;
use crate::listen::servers::Servers;
use crate::logs::{self, crash_reports};
use crate::model::{Admin, AdminAddress, Global, HostMetrics};
use crate::pool;
use crate::pool::global::PHP;
use crate::pool::user;
use crate::syntax::tree::Word;
use crate::table::value::split_port;
use crate::table::value::{port, unless_zero};
use crate::table::{Call, Context, Entry, Item, Table, bad_value};

const DEFAULT_ADMIN_PORT: u16 = 2019;
/// Limit of the operating system: length of `sun_path` without its NUL.
const MAX_SOCKET_PATH: usize = 107;
const DNS: &str = "the DNS challenge is not part of this version";

/// The options while they are read.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) global: Global,
    pub(crate) servers: Servers,
    php_block: bool,
}

/// Names of the block of `admin`.
pub(crate) const ADMIN: Table<Global> = Table {
    kind: "option of `admin`",
    items: &[Item::Unsupported(
        "enforce_origin",
        "requests without `Origin` are those of programs, which need none; web pages are refused in any case",
    )],
};

/// Names of the block of the global `metrics`.
pub(crate) const METRICS: Table<Global> = Table {
    kind: "option of `metrics`",
    items: &[
        Item::Supported(
            Entry {
                name: "per_route",
                syntax: "per_route",
                default: "off",
                about: "Counts the times of requests by route too, as `howdah_http_route_duration_seconds`, with the \
                    trace of a request as exemplar. A route is a method and a path without its query, with numbers, \
                    UUIDs and long hexadecimal strings replaced by `:id`. The first 100 routes that respond with \
                    anything but a client error are counted separately, all others as `(other)`. Each request takes a lock.",
                differs: "Not in Caddy.",
                example: "per_route",
            },
            |_, call, global| {
                call.arguments(0, 0)?;
                global.metrics_per_route = true;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "per_host",
                syntax: "per_host",
                default: "off",
                about: "Counts requests by host too: `caddy_http_requests_total` has the label `host`. Hosts that no \
                        site names are `_other`.",
                differs: "In Caddy the histograms have it too.",
                example: "per_host",
            },
            |_, call, global| {
                call.arguments(0, 0)?;
                if global.host_metrics == HostMetrics::Off {
                    global.host_metrics = HostMetrics::Named;
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "observe_catchall_hosts",
                syntax: "observe_catchall_hosts",
                default: "off",
                about: "As `per_host`, with every host that clients request. Clients can invent hosts: after 1,000, \
                        further ones are `_other`.",
                differs: "Caddy has no limit.",
                example: "observe_catchall_hosts",
            },
            |_, call, global| {
                call.arguments(0, 0)?;
                global.host_metrics = HostMetrics::All;
                Ok(())
            },
        ),
    ],
};

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
                about: "The port of `http://` addresses without one.",
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
                syntax: "grace_period DURATION|0",
                default: "`30s`",
                about: "How long requests may continue after a stop was requested; `0` for no limit. A second \
                    request to stop aborts them immediately.",
                differs: "Without it Caddy waits without a limit.",
                example: "grace_period 10s",
            },
            |_, call, draft| {
                let time = unless_zero(call)?;
                draft.global.grace_period = Some(time.unwrap_or(Duration::MAX));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "shutdown_delay",
                syntax: "shutdown_delay DURATION|0",
                default: "`7s` if readiness is polled, else `0`",
                about: "How long the server keeps serving after a stop was requested, while `/readyz` of the admin \
                    API responds with 503 and `{http.shutting_down}` is `true`, so that load balancers send \
                    requests elsewhere. `grace_period` begins afterwards. A second request to stop exits \
                    immediately. Readiness counts as polled if one of the two was requested at least twice, the \
                    last time within the last minute.",
                differs: "Caddy has no delay by default. It also delays a reload that takes an address away; \
                          here the delay is for stopping alone.",
                example: "shutdown_delay 15s",
            },
            |_, call, draft| {
                let time = unless_zero(call)?;
                draft.global.shutdown_delay = Some(time.unwrap_or(Duration::ZERO));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "log",
                syntax: "log [NAME] { … }",
                default: "",
                about: "The server's own log. With a NAME other than `default` it is an additional log with its own \
                        level, format and output. It contains the same entries and those of all sites with a `log`, \
                        or what `include` and `exclude` select. Entries that it includes are not written to the \
                        default log, nor to that of a site without options.",
                differs: "",
                example: "log requests {\n\tinclude http.log.access\n\toutput file /var/log/howdah/requests.log\n}",
            },
            |cx, call, draft| logs::read_global(cx, call, &mut draft.global),
        ),
        Item::Supported(
            Entry {
                name: "servers",
                syntax: "servers [ADDRESS] { … }",
                default: "",
                about: "Limits of connections and requests. With an ADDRESS, those of one listener, as sites \
                    specify it by port and `bind`: `:443`, `127.0.0.1:8080`, `unix//run/howdah.sock`. Without one, \
                    those of all listeners without a separate block; options that such a block omits have their \
                    default, not the value of the general block. An ADDRESS that no site listens on is a warning.",
                differs: "An ADDRESS is that listener alone; in Caddy it is also the others that have the \
                          same sites. `servers :80` is for the redirects to HTTPS too. Caddy does not \
                          warn about an ADDRESS without a site.",
                example: "servers {\n\tmax_header_size 16KiB\n}\nservers :80 {\n\ttimeouts {\n\t\tidle \
                          10s\n\t}\n}",
            },
            |cx, call, draft| draft.servers.read(cx, call),
        ),
        Item::Supported(
            Entry {
                name: "frankenphp",
                syntax: "frankenphp { … }",
                default: "",
                about: "PHP processes and their limits. The block may be empty or omitted.",
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
        Item::Supported(user::SERVER_USER, |_, call, draft| {
            draft.global.user = Some(user::user(call)?);
            Ok(())
        }),
        Item::Supported(
            Entry {
                name: "admin",
                syntax: "admin off|[ADDRESS] [{ … }]",
                default: "`localhost:2019`, or `unix//run/howdah/admin.sock` if PHP has another user than \
                          the server; with `howdah php-server` it is `off`",
                about: "Address of the admin API, which accepts commands such as `howdah reload` and reports \
                    status: `HOST:PORT`, `HOST`, `:PORT`, or `unix//PATH` for a Unix socket. Everyone who can \
                    connect has the server's rights. Over TCP, only the server's own files are read, and if PHP \
                    runs as a different user, no configuration is accepted or shown.",
                differs: "`origins` has no effect; the configuration cannot be changed through it.",
                example: "admin localhost:2020",
            },
            |cx, call, draft| {
                match (call.count(0, 1)?, call.block) {
                    ([word], None) if word.text == "off" => draft.global.admin = Admin::Off,
                    ([word], _) => draft.global.admin = Admin::On(admin_address(word)?),
                    (_, Some(_)) => {}
                    (_, None) => return call.one().map(drop),
                }
                cx.read(&ADMIN, call.block.unwrap_or_default(), &mut draft.global);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "auto_https",
                syntax: "auto_https off|disable_redirects|disable_certs",
                default: "on",
                about: "`disable_redirects` does not redirect HTTP to HTTPS, `disable_certs` obtains no \
                    certificates, `off` does neither: a name on another port is then served without encryption.",
                differs: "With `off`, a site whose only address is a name on the HTTPS port is an error without `tls`; \
                          in Caddy all of its handshakes fail. If it is given twice, the last one counts, with a warning. \
                          No `ignore_loaded_certs`.",
                example: "auto_https disable_redirects",
            },
            |_, call, draft| options::auto_https(call, &mut draft.global.https),
        ),
        Item::Supported(
            Entry {
                name: "https_port",
                syntax: "https_port PORT",
                default: "`443`",
                about: "The port of addresses with HTTPS that have none.",
                differs: "",
                example: "https_port 8443",
            },
            |_, call, draft| options::https_port(call, &mut draft.global.https),
        ),
        Item::Supported(
            Entry {
                name: "email",
                syntax: "email ADDRESS",
                default: "none",
                about: "Email address for notices of the authority that issues certificates.",
                differs: "",
                example: "email admin@example.com",
            },
            |_, call, draft| {
                let word = call.one()?;
                // An unset variable is an empty word.
                if !word.text.is_empty() {
                    draft.global.https.acme.email = Some(options::email(word)?);
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "acme_ca",
                syntax: "acme_ca DIRECTORY",
                default: "Let's Encrypt",
                about: "URL of the ACME directory that issues certificates.",
                differs: "Caddy falls back to ZeroSSL if Let's Encrypt fails.",
                example: "acme_ca https://acme-staging-v02.api.letsencrypt.org/directory",
            },
            |_, call, draft| {
                let directory = options::directory(call.one()?)?;
                draft.global.https.acme.directory = Some(directory);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "acme_ca_root",
                syntax: "acme_ca_root FILE",
                default: "the roots of the system",
                about: "A PEM file with the root certificate that the ACME server's own certificate is verified with.",
                differs: "",
                example: "acme_ca_root ca.pem",
            },
            |_, call, draft| {
                draft.global.https.acme.root = Some(options::file(call.one()?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "acme_eab",
                syntax: "acme_eab { key_id ID … }",
                default: "",
                about: "The external account binding that some authorities require: lines with `key_id` \
                        and `mac_key`.",
                differs: "",
                example: "acme_eab {\n\tkey_id kid-1\n\tmac_key zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W\n}",
            },
            |_, call, draft| options::acme_eab(call, &mut draft.global.https),
        ),
        Item::Supported(
            Entry {
                name: "on_demand_tls",
                syntax: "on_demand_tls { … }",
                default: "only names in the configuration get certificates",
                about: "Which names of sites with `tls { on_demand }` may have a certificate.",
                differs: "",
                example: "on_demand_tls {\n\task http://localhost:8000/is-a-shop\n}",
            },
            |cx, call, draft| {
                call.count(0, 0)?;
                let ask = &mut draft.global.https.ask;
                cx.read(&ON_DEMAND, call.block()?, ask);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "local_certs",
                syntax: "local_certs",
                default: "off",
                about: "All names get their certificate from the internal authority.",
                differs: "",
                example: "local_certs",
            },
            |cx, call, draft| {
                draft.global.https.local_certs = true;
                options::flag(cx, call)
            },
        ),
        Item::Supported(
            Entry {
                name: "default_sni",
                syntax: "default_sni NAME",
                default: "the address that the client connected to",
                about: "Host whose certificate is sent to clients without SNI.",
                differs: "",
                example: "default_sni example.com",
            },
            |_, call, draft| {
                draft.global.https.default_sni = Some(options::server_name(call)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "fallback_sni",
                syntax: "fallback_sni NAME",
                default: "none: the connection is refused",
                about: "Host whose certificate is sent to clients that request an unknown name.",
                differs: "",
                example: "fallback_sni example.com",
            },
            |_, call, draft| {
                draft.global.https.fallback_sni = Some(options::server_name(call)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "ocsp_stapling",
                syntax: "ocsp_stapling off",
                default: "on, for certificates whose authority has OCSP",
                about: "Turns OCSP stapling off: handshakes do not include the authority's statement that the \
                        certificate is not revoked.",
                differs: "",
                example: "ocsp_stapling off",
            },
            |_, call, draft| {
                draft.global.https.ocsp_stapling = false;
                only(call, &["off"], "it is on unless it is `off`")
            },
        ),
        Item::Supported(
            Entry {
                name: "storage",
                syntax: "storage file_system PATH  or  storage redis { … }",
                default: "`$XDG_DATA_HOME/howdah`, else `~/.local/share/howdah`, for root and with `user` \
                          `/var/lib/howdah`",
                about: "Where certificates and keys are: in a directory, also written `storage file_system { \
                        root PATH }`, or in Redis. Several machines may share it.",
                differs: "Certificates by ACME and accounts are stored in Caddy's layout, the internal authority is \
                    not. `redis` is a module in Caddy, whose names of options these are.",
                example: "storage file_system /var/lib/howdah",
            },
            |cx, call, draft| storage::storage(cx, call, &mut draft.global.https),
        ),
        Item::Supported(
            Entry {
                name: "metrics",
                syntax: "metrics [{ … }]",
                default: "off, unless a site has the directive `metrics`",
                about: "Counts and times requests for `/metrics` of the admin API, which shows processes \
                        and pools without it too.",
                differs: "Requests are labelled by pool, method and class of status. The names are Howdah's own and \
                          FrankenPHP's, and some of Caddy's.",
                example: "metrics",
            },
            |cx, call, draft| {
                call.count(0, 0)?;
                cx.read(&METRICS, call.block.unwrap_or_default(), &mut draft.global);
                draft.global.metrics = true;
                Ok(())
            },
        ),
        Item::Supported(crash_reports::ENTRY, |cx, call, draft| {
            crash_reports::read(cx, call, &mut draft.global.crash_reports)
        }),
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
                default: "always so",
                about: "Accepted so that FrankenPHP's own file runs.",
                differs: "Only `howdah trust` installs the internal authority's root.",
                example: "skip_install_trust",
            },
            |cx, call, _| options::flag(cx, call),
        ),
        Item::Supported(pki::ENTRY, |cx, call, _| pki::read(cx, call)),
        Item::Supported(
            Entry {
                name: "order",
                syntax: "order DIRECTIVE first|last  or  order DIRECTIVE before|after OTHER",
                default: "the order of the list of directives",
                about: "Applies DIRECTIVE at another place in the order. May be given several times.",
                differs: "",
                example: "order php_server before file_server",
            },
            |cx, call, _| order::read(cx, call),
        ),
        Item::Supported(
            Entry {
                name: "default_bind",
                syntax: "default_bind ADDRESS… [{ … }]",
                default: "all addresses of the machine",
                about: "Addresses that sites without `bind` listen on.",
                differs: "As `bind`.",
                example: "default_bind 127.0.0.1 ::1",
            },
            |cx, call, _| {
                cx.default_bind = bind::read(cx, call)?;
                Ok(())
            },
        ),
        Item::Elsewhere("workers", "put it in `howdah { … }`"),
        Item::Elsewhere(
            "worker",
            "put it in `frankenphp { … }` or `php_server { … }`",
        ),
        Item::Unsupported("acme_dns", DNS),
        Item::Unsupported("cache", CACHE),
        Item::Unsupported("cert_issuer", "use `tls { issuer … }` in each site"),
        Item::Unsupported("cert_lifetime", ""),
        Item::Unsupported("dns", DNS),
        Item::Unsupported("ech", ""),
        Item::Unsupported("events", ""),
        Item::Unsupported("filesystem", ""),
        Item::Unsupported("mercure", ""),
        Item::Unsupported("tls_resolvers", DNS),
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
    // Messages use the name that was written.
    let table = Table {
        kind: if call.entry.name == "howdah" {
            "option of `howdah`"
        } else {
            PHP.kind
        },
        items: PHP.items,
    };
    cx.read(&table, call.block.unwrap_or_default(), options);
    pool::global::check(call, options)
}

/// An option of which only some values have a meaning here.
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
