//! `mercure`.

use std::time::Duration;

use super::reject_extra;
use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::model::{Handler, JwtKey, Mercure, Part, Placeholder, Template};
use crate::syntax::tree::Word;
use crate::table::template::{literal, template};
use crate::table::value::{is_token, number, unless_zero};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};

const JWKS: &str = "use `publisher_jwt` and `subscriber_jwt` with a key";

/// A hub while it is read.
pub(crate) struct Draft {
    publisher: Option<JwtKey>,
    subscriber: Option<JwtKey>,
    anonymous: bool,
    subscriptions: bool,
    cors_origins: Vec<String>,
    publish_origins: Vec<String>,
    heartbeat: Option<Duration>,
    write_timeout: Option<Duration>,
    history: Option<usize>,
    cookie: Option<String>,
    version_7: bool,
}

impl Default for Draft {
    fn default() -> Self {
        let hub = Mercure::default();
        Self {
            publisher: None,
            subscriber: None,
            anonymous: false,
            subscriptions: false,
            cors_origins: Vec::new(),
            publish_origins: Vec::new(),
            heartbeat: hub.heartbeat,
            write_timeout: hub.write_timeout,
            history: None,
            cookie: None,
            version_7: false,
        }
    }
}

/// Names of the block of `mercure`.
pub(crate) const MERCURE: Table<Draft> = Table {
    kind: "subdirective of `mercure`",
    items: &[
        Item::Supported(
            Entry {
                name: "publisher_jwt",
                syntax: "publisher_jwt KEY [ALGORITHM]",
                default: "none: PHP publishes by `mercure_publish()` alone; ALGORITHM is `HS256`",
                about: "Key that verifies the tokens of publishers: a secret for `HS256`, `HS384` and `HS512`, a \
                    public key in PEM for `RS…`, `PS…`, `ES…` and `EdDSA`. Without it, publishing by HTTP always \
                    gets a 401.",
                differs: "Of placeholders only `{env.NAME}` and `{file.PATH}`.",
                example: "publisher_jwt {env.MERCURE_PUBLISHER_JWT_KEY}",
            },
            |_, call, hub| {
                let key = key(call)?;
                call.set(&mut hub.publisher, key)
            },
        ),
        Item::Supported(
            Entry {
                name: "subscriber_jwt",
                syntax: "subscriber_jwt KEY [ALGORITHM]",
                default: "none; `anonymous` is then required",
                about: "Same for subscribers, who need a token for private updates.",
                differs: "As `publisher_jwt`.",
                example: "subscriber_jwt secret HS256",
            },
            |_, call, hub| {
                let key = key(call)?;
                call.set(&mut hub.subscriber, key)
            },
        ),
        Item::Supported(
            Entry {
                name: "anonymous",
                syntax: "anonymous",
                default: "off",
                about: "Subscribers need no token for public updates.",
                differs: "",
                example: "anonymous",
            },
            |_, call, hub| {
                hub.anonymous = true;
                call.arguments(0, 0).map(drop)
            },
        ),
        Item::Supported(
            Entry {
                name: "subscriptions",
                syntax: "subscriptions",
                default: "off",
                about: "Enables the subscriptions API below `/.well-known/mercure/subscriptions`, and a private \
                    update at each subscribe and unsubscribe.",
                differs: "",
                example: "subscriptions",
            },
            |_, call, hub| {
                hub.subscriptions = true;
                call.arguments(0, 0).map(drop)
            },
        ),
        Item::Supported(
            Entry {
                name: "cors_origins",
                syntax: "cors_origins ORIGIN…",
                default: "none",
                about: "Origins of web pages that may subscribe with the visitor's cookie; `*` allows all, but \
                    without the cookie.",
                differs: "",
                example: "cors_origins https://example.com",
            },
            |_, call, hub| {
                hub.cors_origins = origins(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "publish_origins",
                syntax: "publish_origins ORIGIN…",
                default: "none",
                about: "Origins of web pages that may publish with a cookie; `*` for all, which lets every page \
                        publish in the visitor's name and causes a warning.",
                differs: "",
                example: "publish_origins https://example.com",
            },
            |cx, call, hub| {
                hub.publish_origins = origins(call)?;
                if hub.publish_origins.iter().any(|origin| origin == "*") {
                    cx.warn(
                        &call.name.position,
                        "with `publish_origins *` every web page can publish in the name of a visitor who has \
                         the hub's cookie; name the origins",
                    );
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "heartbeat",
                syntax: "heartbeat DURATION|0",
                default: "`40s`",
                about: "Interval between heartbeats to a subscriber without updates; `0` sends none.",
                differs: "",
                example: "heartbeat 20s",
            },
            |_, call, hub| {
                let time = unless_zero(call)?;
                hub.heartbeat = time;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "write_timeout",
                syntax: "write_timeout DURATION|0",
                default: "`10m`",
                about: "Maximum duration of a subscriber's connection; the subscriber then reconnects. `0`: no limit.",
                differs: "",
                example: "write_timeout 1h",
            },
            |_, call, hub| {
                let time = unless_zero(call)?;
                hub.write_timeout = time;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "transport",
                syntax: "transport local|bolt [{ size NUMBER … }]",
                default: "the last 1000 updates, up to 16 MiB, are stored in memory",
                about: "Which updates are stored for subscribers that reconnect: `local` stores none, `size` of \
                    `bolt` is their number.",
                differs: "`bolt` keeps them in memory and not in a file, with a warning: a restart loses them.",
                example: "transport local",
            },
            transport,
        ),
        Item::Supported(
            Entry {
                name: "transport_url",
                syntax: "transport_url URL",
                default: "",
                about: "Older form of `transport`: `local://local` or \
                        `bolt://FILE?size=NUMBER`.",
                differs: "As `transport`.",
                example: "transport_url local://local",
            },
            transport_url,
        ),
        Item::Supported(
            Entry {
                name: "cookie_name",
                syntax: "cookie_name NAME",
                default: "`mercureAuthorization`, and `__Secure-mercure_access_token` before it",
                about: "The cookie that may hold a token.",
                differs: "",
                example: "cookie_name token",
            },
            |_, call, hub| {
                let word = call.one()?;
                let name = literal(word, "the name of a cookie")?;
                if !is_token(&name) {
                    let message = format!("`{name}` is not the name of a cookie");
                    return Err(bad_value(&word.position, message, ""));
                }
                hub.cookie = Some(name);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "protocol_version_compatibility",
                syntax: "protocol_version_compatibility 7|8",
                default: "`8`",
                about: "With `7`, `Last-Event-ID` counts in the query too.",
                differs: "The hub always accepts subscribers of version 8, which send `topic`, and of Mercure 1.0, \
                    which send `match`.",
                example: "protocol_version_compatibility 7",
            },
            |_, call, hub| {
                let word = call.one()?;
                hub.version_7 = match word.text.as_str() {
                    "7" => true,
                    "8" => false,
                    _ => return Err(unsupported(word, "versions are 7 and 8")),
                };
                Ok(())
            },
        ),
        Item::Unsupported("publisher_jwks_url", JWKS),
        Item::Unsupported("subscriber_jwks_url", JWKS),
        Item::Unsupported("issuer", JWKS),
        Item::Unsupported("max_request_body_size", "an update is limited to 1 MiB"),
        Item::Unsupported("public_urls", ""),
        Item::Unsupported("resource_identifier", ""),
    ],
};

/// `mercure [MATCHER] { … }`.
pub(super) fn mercure(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (matcher, rest) = scope.matcher(call.arguments)?;
    reject_extra(call, rest)?;
    let errors = cx.errors.len();
    let mut draft = Draft::default();
    cx.read(&MERCURE, call.block()?, &mut draft);
    if cx.errors.len() > errors {
        return Ok(());
    }
    if draft.subscriber.is_none() && !draft.anonymous {
        return Err(call.error(
            ErrorKind::Arguments,
            "`mercure` has neither `subscriber_jwt` nor `anonymous`".to_owned(),
            "write one of them, or both",
        ));
    }
    let plain = Mercure::default();
    cx.hubs.push(Mercure {
        publisher: draft.publisher,
        subscriber: draft.subscriber,
        anonymous: draft.anonymous,
        subscriptions: draft.subscriptions,
        cors_origins: draft.cors_origins,
        publish_origins: draft.publish_origins,
        heartbeat: draft.heartbeat,
        write_timeout: draft.write_timeout,
        history: draft.history.unwrap_or(plain.history),
        cookie: draft.cookie.unwrap_or(plain.cookie),
        version_7: draft.version_7,
    });
    scope.push(matcher, Handler::Mercure(cx.hubs.len() - 1));
    Ok(())
}

fn key(call: &Call<'_>) -> Result<JwtKey, Error> {
    let words = call.arguments(1, 2)?;
    Ok(JwtKey {
        key: environment(&words[0])?,
        algorithm: words
            .get(1)
            .map(environment)
            .transpose()?
            .unwrap_or_default(),
    })
}

/// A text whose placeholders are resolved when the server starts.
fn environment(word: &Word) -> Result<Template, Error> {
    let template = template(word)?;
    let known =
        |part: &Part| matches!(part, Part::Text(_) | Part::Placeholder(Placeholder::Env(_)));
    if template.parts.iter().all(known) {
        return Ok(template);
    }
    Err(bad_value(
        &word.position,
        format!("a key cannot depend on the request: `{}`", word.text),
        "write it, `{env.NAME}` or `{file.PATH}`",
    ))
}

fn origins(call: &Call<'_>) -> Result<Vec<String>, Error> {
    let words = call.arguments(1, usize::MAX)?;
    let origin = |word: &Word| {
        let text = literal(word, "an origin")?;
        let valid = text.split_once("://").is_some_and(|(scheme, host)| {
            !scheme.is_empty() && !host.is_empty() && !host.contains('/')
        });
        // Also `null`, which pages without an origin send.
        if valid || matches!(text.as_str(), "*" | "null") {
            return Ok(text);
        }
        let message = format!("`{text}` is not an origin");
        Err(bad_value(
            &word.position,
            message,
            "write for example `https://example.com`, without a path",
        ))
    };
    words.iter().map(origin).collect()
}

/// Names of the block of `transport bolt`.
pub(crate) const BOLT: Table<Draft> = Table {
    kind: "option of `transport bolt`",
    items: &[
        Item::Supported(
            Entry {
                name: "size",
                syntax: "size NUMBER",
                default: "`1000`",
                about: "Number of stored updates.",
                differs: "",
                example: "size 100",
            },
            |_, call, hub| {
                hub.history = Some(number(call, 0)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "path",
                syntax: "path FILE",
                default: "",
                about: "The file.",
                differs: "Not written.",
                example: "path mercure.db",
            },
            |_, call, _| call.one().map(drop),
        ),
        Item::Supported(
            Entry {
                name: "bucket_name",
                syntax: "bucket_name NAME",
                default: "",
                about: "A name in the file.",
                differs: "Not used.",
                example: "bucket_name updates",
            },
            |_, call, _| call.one().map(drop),
        ),
        Item::Supported(
            Entry {
                name: "cleanup_frequency",
                syntax: "cleanup_frequency NUMBER",
                default: "",
                about: "How often updates beyond `size` are removed.",
                differs: "Always immediately.",
                example: "cleanup_frequency 0.3",
            },
            |_, call, _| call.one().map(drop),
        ),
    ],
};

fn transport(cx: &mut Context, call: &Call<'_>, hub: &mut Draft) -> Result<(), Error> {
    let (name, rest) = match call.arguments {
        [name] => (name, None),
        [name, rest] if name.text == "bolt" => (name, Some(rest)),
        _ => return call.one().map(drop),
    };
    // A URL behind the name is ignored by the hub too.
    if let Some(rest) = rest {
        let message = format!("`{}` has no effect here", rest.text);
        cx.warn(&rest.position, message);
    }
    check_single_transport(call, hub)?;
    match name.text.as_str() {
        "local" => {
            call.no_block()?;
            hub.history = Some(0);
        }
        "bolt" => {
            in_memory(cx, name);
            hub.history = Some(Mercure::HISTORY);
            cx.read(&BOLT, call.block.unwrap_or_default(), hub);
        }
        _ => return Err(unsupported(name, "transports are `local` and `bolt`")),
    }
    Ok(())
}

fn transport_url(cx: &mut Context, call: &Call<'_>, hub: &mut Draft) -> Result<(), Error> {
    let word = call.one()?;
    call.no_block()?;
    check_single_transport(call, hub)?;
    let url = literal(word, "the URL of a transport")?;
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("local") => hub.history = Some(0),
        Some("bolt") => {
            in_memory(cx, word);
            let query = url.split_once('?').map_or("", |(_, query)| query);
            let size = query.split('&').find_map(|pair| pair.strip_prefix("size="));
            hub.history = Some(match size {
                None => Mercure::HISTORY,
                Some(size) => size.parse().map_err(|_| {
                    let message = format!("`{size}` is not a number of updates");
                    bad_value(&word.position, message, "")
                })?,
            });
        }
        _ => {
            return Err(unsupported(
                word,
                "transports are `local://local` and `bolt://FILE`",
            ));
        }
    }
    Ok(())
}

fn check_single_transport(call: &Call<'_>, hub: &Draft) -> Result<(), Error> {
    if hub.history.is_none() {
        return Ok(());
    }
    Err(call.error(
        ErrorKind::Conflict,
        "the transport is given twice".into(),
        "remove one of them",
    ))
}

fn in_memory(cx: &mut Context, word: &Word) {
    cx.warn(
        &word.position,
        "in this version updates are stored in memory, not in a file: a restart discards them",
    );
}
