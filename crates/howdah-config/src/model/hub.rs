//! Configuration of `mercure`, as types.

use std::time::Duration;

use super::placeholder::Template;

/// A Mercure hub.
#[derive(Debug, Clone, PartialEq)]
pub struct Mercure {
    /// `publisher_jwt`: key of publishers; `None`: no client may publish.
    pub publisher: Option<JwtKey>,
    /// `subscriber_jwt`: who may subscribe to private updates.
    pub subscriber: Option<JwtKey>,
    /// `anonymous`: subscribers need no token.
    pub anonymous: bool,
    /// `subscriptions`: the subscriptions API.
    pub subscriptions: bool,
    /// `cors_origins`: origins of web pages that may subscribe.
    pub cors_origins: Vec<String>,
    /// `publish_origins`: origins of web pages that may publish with a cookie.
    pub publish_origins: Vec<String>,
    /// `heartbeat`; `None`: `0`. Default 40 s.
    pub heartbeat: Option<Duration>,
    /// `write_timeout`: the longest connection; `None`: `0`. Default 10 min.
    pub write_timeout: Option<Duration>,
    /// Updates that are stored for subscribers who reconnect: `transport bolt { size N }`, 0 with `transport local`.
    /// Default 1,000.
    pub history: usize,
    /// `cookie_name`. Default `mercureAuthorization`.
    pub cookie: String,
    /// `protocol_version_compatibility 7`.
    pub version_7: bool,
}

impl Mercure {
    /// Updates that are stored by default.
    pub const HISTORY: usize = 1_000;
}

impl Default for Mercure {
    /// The hub of an empty `mercure`.
    fn default() -> Self {
        Self {
            publisher: None,
            subscriber: None,
            anonymous: false,
            subscriptions: false,
            cors_origins: Vec::new(),
            publish_origins: Vec::new(),
            heartbeat: Some(Duration::from_secs(40)),
            write_timeout: Some(Duration::from_secs(600)),
            history: Self::HISTORY,
            cookie: "mercureAuthorization".to_owned(),
            version_7: false,
        }
    }
}

/// `hot_reload`: notifies browsers of changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotReload {
    /// Index in [`Config::hubs`](crate::model::Config::hubs).
    pub hub: usize,
    /// The topic of the updates.
    pub topic: String,
    /// Patterns of files; relative ones are relative to the working directory.
    pub watch: Vec<String>,
}

/// A key and its algorithm. Placeholders in them are environment variables, read when the server starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JwtKey {
    /// A secret, or a public key in PEM.
    pub key: Template,
    /// Empty: HS256.
    pub algorithm: Template,
}
