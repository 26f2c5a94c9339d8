//! `dynamic`: upstreams at the addresses of a name, or those that SRV records name.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::proxy::Draft;
use crate::error::{Error, ErrorKind};
use crate::model::{DynamicRecords, DynamicUpstreams, ReverseProxy};
use crate::syntax::tree::Word;
use crate::table::template::literal;
use crate::table::value::{duration, port, split_port};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};

/// As in Caddy.
const REFRESH: Duration = Duration::from_secs(60);

/// Port of DNS servers.
const DNS_PORT: u16 = 53;

/// What to write without a source.
const FORMS: &str = "write `dynamic a NAME PORT` or `dynamic srv NAME`";

pub(super) const DYNAMIC: Entry = Entry {
    name: "dynamic",
    syntax: "dynamic a [NAME PORT] [{ … }]  or  dynamic srv [NAME] [{ … }]",
    default: "off",
    about: "The upstreams are all addresses of a name (`a`), or the servers that the SRV records of a name list (`srv`), \
            for example those of a service in Docker Compose, Kubernetes or Consul. \
            The name is resolved again after `refresh`. Upstreams that are named too are used as long as it has no \
            address; the options `health_…` are for these alone. SRV records are in the order of their priority, which \
            `lb_policy first` follows.",
    differs: "No `multi`. Addresses that were known stay in use while the name cannot be resolved.",
    example: "dynamic a app 9000",
};

const REFRESH_ENTRY: Entry = Entry {
    name: "refresh",
    syntax: "refresh DURATION",
    default: "`1m`",
    about: "How long the upstreams are used before the name is resolved again.",
    differs: "",
    example: "refresh 10s",
};

const RESOLVERS: Entry = Entry {
    name: "resolvers",
    syntax: "resolvers ADDRESS…",
    default: "those of the system",
    about: "DNS servers that resolve the name.",
    differs: "",
    example: "resolvers 10.0.0.2 10.0.0.3:5353",
};

const DIAL_TIMEOUT: Entry = Entry {
    name: "dial_timeout",
    syntax: "dial_timeout DURATION",
    default: "`5s`",
    about: "How long a DNS server may take; the `dial_timeout` of the transport limits the whole lookup.",
    differs: "",
    example: "dial_timeout 1s",
};

/// The block while it is read.
#[derive(Debug, Default)]
pub(crate) struct DynamicDraft {
    name: Option<String>,
    port: Option<u16>,
    refresh: Option<Duration>,
    versions: Option<(bool, bool)>,
    service: Option<String>,
    protocol: Option<String>,
    resolvers: Option<Vec<SocketAddr>>,
    dial_timeout: Option<Duration>,
}

/// Names of the block of `dynamic a`.
pub(crate) const DYNAMIC_A: Table<DynamicDraft> = Table {
    kind: "option of `dynamic a`",
    items: &[
        Item::Supported(
            Entry {
                name: "name",
                syntax: "name NAME",
                default: "",
                about: "The name that is resolved, if it does not follow `a`.",
                differs: "No placeholders.",
                example: "name app",
            },
            |_, call, draft| {
                let name = host(call.one()?)?;
                call.set(&mut draft.name, name)
            },
        ),
        Item::Supported(
            Entry {
                name: "port",
                syntax: "port PORT",
                default: "80, or 443 with `transport http { tls }`",
                about: "The port of the upstreams, if it does not follow the name.",
                differs: "No placeholders.",
                example: "port 9000",
            },
            |_, call, draft| {
                let port = number(call.one()?)?;
                call.set(&mut draft.port, port)
            },
        ),
        Item::Supported(REFRESH_ENTRY, |_, call, draft| {
            call.set(&mut draft.refresh, duration(call)?)
        }),
        Item::Supported(
            Entry {
                name: "versions",
                syntax: "versions ipv4|ipv6…",
                default: "`ipv4 ipv6`",
                about: "The kinds of addresses that are used.",
                differs: "",
                example: "versions ipv4",
            },
            |_, call, draft| {
                let (mut ipv4, mut ipv6) = (false, false);
                for word in call.arguments(1, usize::MAX)? {
                    match word.text.as_str() {
                        "ipv4" => ipv4 = true,
                        "ipv6" => ipv6 = true,
                        other => {
                            return Err(bad_value(
                                &word.position,
                                format!("`{other}` is not a version of IP"),
                                "write `versions ipv4`, `versions ipv6` or both",
                            ));
                        }
                    }
                }
                call.set(&mut draft.versions, (ipv4, ipv6))
            },
        ),
        Item::Supported(RESOLVERS, |_, call, draft| {
            call.set(&mut draft.resolvers, dns_servers(call)?)
        }),
        Item::Supported(DIAL_TIMEOUT, |_, call, draft| {
            call.set(&mut draft.dial_timeout, duration(call)?)
        }),
    ],
};

/// Names of the block of `dynamic srv`.
pub(crate) const DYNAMIC_SRV: Table<DynamicDraft> = Table {
    kind: "option of `dynamic srv`",
    items: &[
        Item::Supported(
            Entry {
                name: "name",
                syntax: "name NAME",
                default: "",
                about: "The name whose SRV records are used, if it does not follow `srv`; with `service` and `proto` \
                        only its last part.",
                differs: "No placeholders.",
                example: "name service.consul",
            },
            |_, call, draft| {
                let name = host(call.one()?)?;
                call.set(&mut draft.name, name)
            },
        ),
        Item::Supported(
            Entry {
                name: "service",
                syntax: "service NAME",
                default: "part of the name",
                about: "The service: `service http`, `proto tcp` and `name example.com` are \
                        `_http._tcp.example.com`.",
                differs: "No placeholders.",
                example: "service http",
            },
            |_, call, draft| {
                let name = host(call.one()?)?;
                call.set(&mut draft.service, name)
            },
        ),
        Item::Supported(
            Entry {
                name: "proto",
                syntax: "proto NAME",
                default: "part of the name",
                about: "The protocol of the service.",
                differs: "No placeholders.",
                example: "proto tcp",
            },
            |_, call, draft| {
                let name = host(call.one()?)?;
                call.set(&mut draft.protocol, name)
            },
        ),
        Item::Supported(REFRESH_ENTRY, |_, call, draft| {
            call.set(&mut draft.refresh, duration(call)?)
        }),
        Item::Supported(RESOLVERS, |_, call, draft| {
            call.set(&mut draft.resolvers, dns_servers(call)?)
        }),
        Item::Supported(DIAL_TIMEOUT, |_, call, draft| {
            call.set(&mut draft.dial_timeout, duration(call)?)
        }),
    ],
};

pub(super) fn read(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let words = call.count(1, 3)?;
    let errors = cx.errors.len();
    let block = call.block.unwrap_or_default();
    let mut own = DynamicDraft {
        name: words.get(1).map(host).transpose()?,
        ..DynamicDraft::default()
    };
    let is_srv = match words[0].text.as_str() {
        "a" => {
            own.port = words.get(2).map(number).transpose()?;
            cx.read(&DYNAMIC_A, block, &mut own);
            false
        }
        "srv" => {
            call.count(1, 2)?;
            cx.read(&DYNAMIC_SRV, block, &mut own);
            true
        }
        _ => return Err(unsupported(&words[0], FORMS)),
    };
    let Some(name) = own.name else {
        if cx.errors.len() > errors {
            return Ok(());
        }
        return Err(call.error(
            ErrorKind::Value,
            "the name of the upstreams is missing".into(),
            FORMS,
        ));
    };
    let name = match (own.service, own.protocol) {
        (None, None) => name,
        (Some(service), Some(protocol)) => format!("_{service}._{protocol}.{name}"),
        _ => {
            return Err(call.error(
                ErrorKind::Value,
                "`service` and `proto` belong together".into(),
                "write both, or the whole name: `dynamic srv _http._tcp.example.com`",
            ));
        }
    };
    let (ipv4, ipv6) = own.versions.unwrap_or((true, true));
    let dynamic = DynamicUpstreams {
        name,
        records: if is_srv {
            DynamicRecords::Services
        } else {
            DynamicRecords::Addresses {
                // The transport may follow.
                port: own.port.unwrap_or(0),
                ipv4,
                ipv6,
            }
        },
        refresh: own.refresh.unwrap_or(REFRESH),
        resolvers: own.resolvers.unwrap_or_default(),
        resolver_timeout: own.dial_timeout,
    };
    call.set(&mut draft.proxy.dynamic, dynamic)
}

/// Completes it once the whole block is known.
pub(super) fn finish(proxy: &mut ReverseProxy) {
    if let Some(dynamic) = &mut proxy.dynamic
        && let DynamicRecords::Addresses { port, .. } = &mut dynamic.records
        && *port == 0
    {
        *port = if proxy.tls.is_some() { 443 } else { 80 };
    }
}

fn host(word: &Word) -> Result<String, Error> {
    let name = literal(word, "the name of the upstreams")?;
    super::upstream::host_name(word, &name)
}

fn number(word: &Word) -> Result<u16, Error> {
    port(word, &word.text)
}

/// `ADDRESS` and `ADDRESS:PORT`, also with `udp/` and `tcp/` in front: both are used in any case.
fn dns_servers(call: &Call<'_>) -> Result<Vec<SocketAddr>, Error> {
    let words = call.arguments(1, usize::MAX)?;
    let read = |word: &Word| {
        let text = literal(word, "the address of a DNS server")?;
        let address = ["udp/", "tcp/"]
            .iter()
            .find_map(|network| text.strip_prefix(network))
            .unwrap_or(&text);
        if let Ok(address) = address.parse::<IpAddr>() {
            return Ok(SocketAddr::new(address, DNS_PORT));
        }
        let (ip, number) = split_port(address);
        let ip = ip.trim_start_matches('[').trim_end_matches(']').parse();
        let (Ok(ip), Some(number)) = (ip, number) else {
            return Err(bad_value(
                &word.position,
                format!("`{address}` is not the IP address of a DNS server"),
                "write for example `resolvers 10.0.0.2` or `resolvers 10.0.0.2:5353`",
            ));
        };
        Ok(SocketAddr::new(ip, port(word, number)?))
    };
    words.iter().map(read).collect()
}
