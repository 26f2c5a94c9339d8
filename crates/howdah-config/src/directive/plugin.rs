//! Directives of Caddy's plugins. Howdah has none of them; the messages name the plugin and what to write instead.

use super::scope::Scope;
use crate::table::Item;

/// What to do without a plugin that decides who may come in.
const ACCESS: &str = "it is a plugin of Caddy that restricts access, so `--lenient` does not leave it out; write \
    `forward_auth`, `basic_auth` or a matcher with `error 403` in its place";
const FIREWALL: &str = "it is a plugin of Caddy that refuses requests, so `--lenient` does not leave it out; put a \
    firewall in front of the server and remove the line";
const LEFT_OUT: &str = "it is a plugin of Caddy; `--lenient` leaves it out";
const REPLACE: &str = "it is Caddy's plugin `replace-response`: change the text in the application, or start with \
    `--lenient`, which leaves it out";
const RATE_LIMIT: &str = "it is a plugin of Caddy that is coming to Howdah; until then limit in the application or \
     in front of it, or start with `--lenient`, which leaves it out";
pub(crate) const CACHE: &str = "it is a plugin of Caddy that is coming to Howdah; until then remove it, or start with \
     `--lenient`, which leaves it out: responses are the same without it";

/// The directives of plugins.
pub(super) const PLUGINS: &[Item<Scope>] = &[
    Item::Unsupported("rate_limit", RATE_LIMIT),
    Item::Unsupported("cache", CACHE),
    Item::Unsupported("souin", CACHE),
    Item::Unsupported("replace", REPLACE),
    Item::Unsupported("psl", LEFT_OUT),
    Item::Unsupported("minify", LEFT_OUT),
    Item::Unsupported("webdav", LEFT_OUT),
    Item::Unsupported("appsec", FIREWALL),
    Item::Unsupported("authenticate", ACCESS),
    Item::Unsupported("authorize", ACCESS),
    Item::Unsupported("authp", ACCESS),
    Item::Unsupported("coraza_waf", FIREWALL),
    Item::Unsupported("crowdsec", FIREWALL),
    Item::Unsupported("jwt", ACCESS),
    Item::Unsupported("jwtauth", ACCESS),
];
