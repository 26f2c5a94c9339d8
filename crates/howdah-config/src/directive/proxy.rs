//! `reverse_proxy`.

use super::balance;
use super::dynamic;
use super::health;
use super::intercept::{self, HANDLE_RESPONSE, REPLACE_STATUS};
use super::policy;
use super::scope::Scope;
use super::transport::TRANSPORT;
use super::upstream::{self, Upstreams};
use super::upstream_options::{self, HasUpstreams, UpstreamDraft};
use crate::error::{Error, ErrorKind};
use crate::model::{Figure, Handler, HeaderChange, Part, Placeholder, ReverseProxy, Upstream};
use crate::syntax::tree::Word;
use crate::table::template::{EvaluationTime, template};
use crate::table::value::duration;
use crate::table::{Call, Context, Entry, Item, Table, bad_value, joined, unsupported};

/// A block while it is read.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(super) proxy: ReverseProxy,
    upstreams: Upstreams,
    intercept: intercept::Draft,
    options: UpstreamDraft,
}

pub(super) const TRUSTED_PROXIES: Entry = Entry {
    name: "trusted_proxies",
    syntax: "trusted_proxies RANGE…",
    default: "those of the global option `servers`",
    about: "Proxies in front of this server whose `X-Forwarded-*` are forwarded; `private_ranges` is \
                    all private ones.",
    differs: "",
    example: "trusted_proxies private_ranges",
};

impl HasUpstreams for Draft {
    fn options(&mut self) -> &mut UpstreamDraft {
        &mut self.options
    }

    fn add_upstream(&mut self, word: &Word) -> Result<(), Error> {
        self.upstreams.add(word)
    }
}

/// Names of the block of `reverse_proxy`.
pub(crate) const REVERSE_PROXY: Table<Draft> = Table {
    kind: "subdirective of `reverse_proxy`",
    items: &joined::<_, { TO.len() + UPSTREAM_OPTIONS.len() + OWN.len() }>(&[
        TO,
        UPSTREAM_OPTIONS,
        OWN,
    ]),
};

const UPSTREAM_OPTIONS: &[Item<Draft>] =
    &upstream_options::options(policy::POLICY, balance::RETRIES, health::URI);

const TO: &[Item<Draft>] = &[upstream_options::to()];

const OWN: &[Item<Draft>] = &[
    Item::Supported(
        Entry {
            name: "header_up",
            syntax: "header_up [+|-|?]NAME [VALUE|FIND REPLACE]",
            default: "",
            about: "Changes the header of the request to the upstream, as `header` does that of \
                        responses. May be given several times.",
            differs: "",
            example: "header_up Host {upstream_hostport}",
        },
        |_, call, draft| {
            let (field, values) = split(call)?;
            let change = super::header::change(field, values, EvaluationTime::Request)?;
            draft.proxy.header_up.push(change);
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "header_down",
            syntax: "header_down [+|-|?]NAME [VALUE|FIND REPLACE]",
            default: "",
            about: "Changes the header of the upstream's response. May be given several times. \
                        `{rp.status_code}` is its status, and `{rp.header.NAME}` as the whole VALUE one of its fields.",
            differs: "All other placeholders, except those of the upstream, refer to the request.",
            example: "header_down -Server",
        },
        |_, call, draft| {
            let (field, values) = split(call)?;
            let mut change = super::header::change(field, values, EvaluationTime::Response)?;
            resolve_response_values(&mut change, field)?;
            draft.proxy.header_down.push(change);
            Ok(())
        },
    ),
    Item::Supported(HANDLE_RESPONSE, |cx, call, draft| {
        intercept::handle_response(cx, call, &mut draft.intercept)
    }),
    Item::Supported(REPLACE_STATUS, |cx, call, draft| {
        intercept::replace_status(cx, call, &mut draft.intercept)
    }),
    Item::Supported(
        Entry {
            name: "transport",
            syntax: "transport http|fastcgi { … }",
            default: "`http`",
            about: "The protocol to the upstreams, and its options. `fastcgi` has those of `php_fastcgi`, and \
                    means the same with `index off`.",
            differs: "`fastcgi` is for paths with a script.",
            example: "transport http {\n\tdial_timeout 1s\n}",
        },
        |cx, call, draft| {
            let word = &call.count(1, 1)?[0];
            match word.text.as_str() {
                "http" => {}
                _ => {
                    return Err(bad_value(
                        &word.position,
                        format!("`{}` is not a transport", word.text),
                        "write `transport http` or `transport fastcgi`",
                    ));
                }
            }
            cx.read(&TRANSPORT, call.block.unwrap_or_default(), &mut draft.proxy);
            let tls = draft.proxy.tls.as_ref();
            if tls.is_some_and(|tls| tls.insecure && !tls.roots.is_empty()) {
                cx.warn(
                        &call.name.position,
                        "`tls_insecure_skip_verify` takes any certificate, whatever authorities are named",
                    );
            }
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "flush_interval",
            syntax: "flush_interval -1",
            default: "the request is cancelled when its client disconnects",
            about: "Waits for the upstream's response although the client has disconnected. By default the \
                        connection to the upstream is then closed, once a request that arrived whole was sent. \
                        Responses are streamed without a delay in both cases.",
            differs: "Only `-1`: responses are never buffered.",
            example: "flush_interval -1",
        },
        |_, call, draft| {
            let word = call.one()?;
            if word.text == "-1" {
                draft.proxy.outlasts_client = true;
                return Ok(());
            }
            Err(unsupported(
                word,
                "responses are never buffered: write `-1`",
            ))
        },
    ),
    Item::Supported(dynamic::DYNAMIC, dynamic::read),
    Item::Supported(
        Entry {
            name: "stream_timeout",
            syntax: "stream_timeout DURATION",
            default: "no limit",
            about: "How long a WebSocket may last.",
            differs: "",
            example: "stream_timeout 24h",
        },
        |_, call, draft| call.set(&mut draft.proxy.stream_timeout, duration(call)?),
    ),
    Item::Supported(TRUSTED_PROXIES, |_, call, draft| {
        let ranges = crate::matcher::networks(call.arguments(1, usize::MAX)?)?;
        call.set(&mut draft.proxy.trusted_proxies, ranges)
    }),
    Item::Supported(
        Entry {
            name: "method",
            syntax: "method METHOD",
            default: "",
            about: "Method of the request to the upstream. With GET and HEAD the body is dropped.",
            differs: "",
            example: "method GET",
        },
        |_, call, draft| {
            let method = super::request::method_name(call.one()?)?;
            call.set(&mut draft.proxy.method, method)
        },
    ),
    Item::Supported(
        Entry {
            name: "rewrite",
            syntax: "rewrite TO",
            default: "",
            about: "Another path of the request to the upstream, as by the directive `rewrite`.",
            differs: "",
            example: "rewrite /verify?from={uri}",
        },
        |_, call, draft| {
            let to = call.one()?;
            if to.text.is_empty() {
                return Err(bad_value(&to.position, "the target is empty".into(), ""));
            }
            call.set(&mut draft.proxy.rewrite, template(to)?)
        },
    ),
];

pub(crate) fn read(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let proxy = read_block(cx, call, scope, rest, |_| true)?;
    scope.push(key, Handler::ReverseProxy(Box::new(proxy)));
    Ok(())
}

/// Reads `words`, which are upstreams, and the statements of a block for whose names `is_read` is
/// true.
pub(super) fn read_block(
    cx: &mut Context,
    call: &Call<'_>,
    scope: &Scope,
    words: &[Word],
    is_read: impl Fn(&str) -> bool,
) -> Result<ReverseProxy, Error> {
    let block = call.block.unwrap_or_default();
    let mut draft = Draft {
        proxy: ReverseProxy::new(Vec::new()),
        upstreams: Upstreams::default(),
        intercept: intercept::Draft::new(cx, block, scope),
        options: UpstreamDraft::default(),
    };
    for word in words {
        draft.upstreams.add(word)?;
    }
    let errors = cx.errors.len();
    let statements = block.iter().filter(|statement| {
        let name = statement.name.text.as_str();
        !name.starts_with('@') && is_read(name)
    });
    cx.read(&REVERSE_PROXY, statements, &mut draft);
    let Draft {
        mut proxy,
        upstreams,
        intercept,
        options,
    } = draft;
    let is_empty = upstreams.is_empty() && proxy.dynamic.is_none();
    if is_empty && cx.errors.len() == errors {
        upstream::warn_missing(cx, call, "localhost:9000");
    }
    upstreams.finish(&mut proxy)?;
    warn_versions(cx, call, &proxy);
    proxy.balance = options.balance.finish(call, proxy.upstreams.len())?;
    proxy.health = options.health.finish(call)?;
    dynamic::finish(&mut proxy);
    let is_template = |upstream: &&Upstream| matches!(upstream, Upstream::Template { .. });
    if let (Some(upstream), Some(_)) = (proxy.upstreams.iter().find(is_template), &proxy.health) {
        return Err(call.error(
            ErrorKind::Conflict,
            format!("the upstream `{upstream}` cannot be checked without a request"),
            "remove the options `health_…`, or the placeholders",
        ));
    }
    proxy.intercept = intercept.intercept;
    HeaderChange::sort(&mut proxy.header_up);
    HeaderChange::sort(&mut proxy.header_down);
    Ok(proxy)
}

/// As in Caddy, `2` needs TLS, and `h2c` is without it.
fn warn_versions(cx: &mut Context, call: &Call<'_>, proxy: &ReverseProxy) {
    let versions = proxy.versions;
    if versions.http1 || proxy.uses_http2() {
        return;
    }
    let message = if proxy.tls.is_some() {
        "with TLS `versions h2c` is HTTP/1.1: write `versions 2` for HTTP/2"
    } else {
        "without TLS `versions 2` is HTTP/1.1: write `versions h2c` for HTTP/2"
    };
    cx.warn(&call.name.position, message);
}

/// Makes the placeholders of `handle_response` refer to the response whose header is changed.
fn resolve_response_values(change: &mut HeaderChange, field: &Word) -> Result<(), Error> {
    let is_replacement = matches!(change, HeaderChange::Replace(..));
    let (HeaderChange::Set(_, value)
    | HeaderChange::Add(_, value)
    | HeaderChange::Default(_, value)
    | HeaderChange::Replace(_, _, value)) = change
    else {
        return Ok(());
    };
    let is_field = matches!(
        &value.parts[..],
        [Part::Placeholder(Placeholder::ResponseHeader(_))]
    );
    if is_field && !is_replacement {
        return Ok(());
    }
    for part in &mut value.parts {
        match part {
            Part::Placeholder(Placeholder::ResponseStatus) => {
                *part = Part::Placeholder(Placeholder::Figure(Figure::Status));
            }
            Part::Placeholder(Placeholder::ResponseHeader(_) | Placeholder::ResponseStatusText) => {
                return Err(bad_value(
                    &field.position,
                    format!(
                        "the value of `{}` contains a part of the response that `header_down` does not support",
                        field.text
                    ),
                    "write `{rp.status_code}`, or `{rp.header.NAME}` as the whole value; `handle_response` has all",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The name of a field, and its arguments.
fn split<'a>(call: &'a Call<'_>) -> Result<(&'a Word, &'a [Word]), Error> {
    let words = call.arguments(1, 3)?;
    Ok((&words[0], &words[1..]))
}
