//! `dynamic a`: upstreams at the addresses of a name.

use std::time::Duration;

use super::proxy::Draft;
use crate::error::{Error, ErrorKind};
use crate::model::{DynamicUpstreams, ReverseProxy};
use crate::syntax::tree::Word;
use crate::table::template::literal;
use crate::table::value::{duration, port};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};

/// As in Caddy.
const REFRESH: Duration = Duration::from_secs(60);

const RESOLVER: &str =
    "names are resolved as the system does: see `/etc/resolv.conf` and `/etc/hosts`";

pub(super) const DYNAMIC: Entry = Entry {
    name: "dynamic",
    syntax: "dynamic a [NAME PORT] [{ … }]",
    default: "off",
    about: "The upstreams are all addresses of a name, for example of a service in Docker Compose or Kubernetes. \
            The name is resolved again after `refresh`. Upstreams that are named too are used as long as it has no \
            address; the options `health_…` are for these alone.",
    differs: "No `srv` and `multi`. Addresses that were known stay in use while the name cannot be resolved.",
    example: "dynamic a app 9000",
};

/// The block while it is read.
#[derive(Debug, Default)]
pub(crate) struct DynamicDraft {
    name: Option<String>,
    port: Option<u16>,
    refresh: Option<Duration>,
    versions: Option<(bool, bool)>,
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
        Item::Supported(
            Entry {
                name: "refresh",
                syntax: "refresh DURATION",
                default: "`1m`",
                about: "How long addresses are used before the name is resolved again.",
                differs: "",
                example: "refresh 10s",
            },
            |_, call, draft| call.set(&mut draft.refresh, duration(call)?),
        ),
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
        Item::Unsupported("resolvers", RESOLVER),
        Item::Unsupported("dial_timeout", RESOLVER),
        Item::Unsupported("dial_fallback_delay", RESOLVER),
    ],
};

pub(super) fn read(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let words = call.count(1, 3)?;
    match words[0].text.as_str() {
        "a" => {}
        "srv" => {
            return Err(unsupported(
                &words[0],
                "write `dynamic a NAME PORT`, which uses all addresses of a name with one port",
            ));
        }
        _ => {
            return Err(unsupported(&words[0], "write `dynamic a NAME PORT`"));
        }
    }
    let mut own = DynamicDraft {
        name: words.get(1).map(host).transpose()?,
        port: words.get(2).map(number).transpose()?,
        ..DynamicDraft::default()
    };
    let errors = cx.errors.len();
    cx.read(&DYNAMIC_A, call.block.unwrap_or_default(), &mut own);
    let Some(name) = own.name else {
        if cx.errors.len() > errors {
            return Ok(());
        }
        return Err(call.error(
            ErrorKind::Value,
            "the name of the upstreams is missing".into(),
            "write `dynamic a NAME PORT`",
        ));
    };
    let (ipv4, ipv6) = own.versions.unwrap_or((true, true));
    let dynamic = DynamicUpstreams {
        name,
        // The transport may follow.
        port: own.port.unwrap_or(0),
        refresh: own.refresh.unwrap_or(REFRESH),
        ipv4,
        ipv6,
    };
    call.set(&mut draft.proxy.dynamic, dynamic)
}

/// Completes it once the whole block is known.
pub(super) fn finish(proxy: &mut ReverseProxy) {
    if let Some(dynamic) = &mut proxy.dynamic
        && dynamic.port == 0
    {
        dynamic.port = if proxy.tls.is_some() { 443 } else { 80 };
    }
}

fn host(word: &Word) -> Result<String, Error> {
    let name = literal(word, "the name of the upstreams")?;
    super::upstream::host_name(word, &name)
}

fn number(word: &Word) -> Result<u16, Error> {
    port(word, &word.text)
}
