//! `hot_reload` in `php_server` and `php`: notifies browsers of changed files.

use std::fmt::Write as _;

use super::php;
use crate::error::{Error, Position};
use crate::model::{HotReload, Template};
use crate::pool::worker_options::patterns;
use crate::table::template::literal;
use crate::table::{Call, Context, Entry, Item, Table, bad_value};

/// What `FrankenPHP` watches by default.
const DEFAULT_WATCH: &str =
    "./**/*.{css,env,gif,htm,html,jpg,jpeg,js,mjs,php,png,svg,twig,webp,xml,yaml,yml}";
/// The variable in which scripts find the URL that browsers subscribe to.
const VARIABLE: &str = "FRANKENPHP_HOT_RELOAD";

pub(super) const ENTRY: Entry = Entry {
    name: "hot_reload",
    syntax: "hot_reload [PATTERN…] [{ … }]",
    default: "off; without PATTERN and `watch` \
              `./**/*.{css,env,gif,htm,html,jpg,jpeg,js,mjs,php,png,svg,twig,webp,xml,yaml,yml}`",
    about: "For development: when a file that matches a pattern changes, an update is published to the \
            site's Mercure hub, whose data is the list of changed files as JSON. Pools whose `watch` has \
            the file are reloaded before. `$_SERVER['FRANKENPHP_HOT_RELOAD']` is the URL to subscribe to. \
            Patterns are those of `watch`.",
    differs: "The default topic has a different form.",
    example: "hot_reload",
};

/// A `hot_reload` as written.
#[derive(Debug)]
pub(crate) struct Draft {
    position: Position,
    topic: Option<String>,
    watch: Vec<String>,
}

/// Names of the block of `hot_reload`.
pub(crate) const HOT_RELOAD: Table<Draft> = Table {
    kind: "subdirective of `hot_reload`",
    items: &[
        Item::Supported(
            Entry {
                name: "topic",
                syntax: "topic TEXT",
                default: "a separate one for each `hot_reload`",
                about: "The topic of the updates.",
                differs: "",
                example: "topic hot-reload",
            },
            |_, call, draft| {
                let word = call.one()?;
                let topic = literal(word, "a topic")?;
                if topic.is_empty() || topic.contains(char::is_control) {
                    return Err(bad_value(
                        &word.position,
                        "the topic is empty or has control characters".into(),
                        "write for example `topic hot-reload`",
                    ));
                }
                call.set(&mut draft.topic, topic)
            },
        ),
        Item::Supported(
            Entry {
                name: "watch",
                syntax: "watch PATTERN…",
                default: "",
                about: "Patterns of files. May be given several times.",
                differs: "",
                example: "watch templates/**/*.twig public/**/*.css",
            },
            |_, call, draft| {
                let words = call.arguments(1, usize::MAX)?;
                draft.watch.append(&mut patterns(words)?);
                Ok(())
            },
        ),
    ],
};

pub(super) fn read(cx: &mut Context, call: &Call<'_>, draft: &mut php::Draft) -> Result<(), Error> {
    let mut own = Draft {
        position: call.name.position.clone(),
        topic: None,
        watch: patterns(call.arguments)?,
    };
    cx.read(&HOT_RELOAD, call.block.unwrap_or_default(), &mut own);
    call.set(&mut draft.hot_reload, own)
}

/// The variable for scripts. The hub is known when the whole site has been read.
pub(super) fn finish(cx: &mut Context, draft: Option<Draft>) -> Option<(String, Template)> {
    let draft = draft?;
    let number = cx.hot_reloads.len() + 1;
    let topic = draft
        .topic
        .unwrap_or_else(|| format!("urn:howdah:hot-reload:{number}"));
    let mut url = "/.well-known/mercure?topic=".to_owned();
    for byte in topic.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(url, "%{byte:02X}");
        }
    }
    let mut watch = draft.watch;
    if watch.is_empty() {
        watch.push(DEFAULT_WATCH.into());
    }
    let own = HotReload {
        hub: 0,
        topic,
        watch,
    };
    cx.hot_reloads.push((own, draft.position));
    Some((VARIABLE.to_owned(), Template::text(url)))
}
