//! Options of a hub.

use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey};

/// The path of a hub.
pub const PATH: &str = "/.well-known/mercure";
/// The cookie of version 8, with which that of Mercure 1.0 is accepted too.
pub(crate) const DEFAULT_COOKIE: &str = "mercureAuthorization";
/// Bytes of a secret.
const SECRET_MIN: usize = 32;

/// Options of a hub.
#[derive(Debug, Clone)]
pub struct Options {
    /// Key of publishers by HTTP; `None`: publishing by HTTP is off.
    pub publisher: Option<Key>,
    /// Key of subscribers; `None`: only `anonymous` subscribers, or all.
    pub subscriber: Option<Key>,
    /// Subscribers need no token; without a token they get no private updates.
    pub anonymous: bool,
    /// The subscriptions API is enabled, and subscriptions are published as updates.
    pub subscriptions: bool,
    /// Origins of web pages that may subscribe.
    pub cors_origins: Origins,
    /// Origins of web pages that may publish with a cookie.
    pub publish_origins: Origins,
    /// Interval between heartbeats to a subscriber without updates; `None`: none. Default 40 s.
    pub heartbeat: Option<Duration>,
    /// After this time a subscriber has to reconnect; `None`: never. Default 10 min.
    pub write_timeout: Option<Duration>,
    /// Updates that are stored for subscribers who reconnect. Default 1,000, and at most 16 MiB.
    pub history: usize,
    /// Updates that may be queued for one subscriber. Default 4,096, and at most 16 MiB: PHP code may publish many at a
    /// time.
    pub queue: usize,
    /// Maximum number of subscribers. Default 50,000.
    pub subscribers: usize,
    /// The cookie with a token. Default `mercureAuthorization`; by default `__Secure-mercure_access_token` may have it
    /// too.
    pub cookie: String,
    /// `Last-Event-ID` is accepted in a query too, as in version 7 of the protocol.
    pub version_7: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            publisher: None,
            subscriber: None,
            anonymous: false,
            subscriptions: false,
            cors_origins: Origins::default(),
            publish_origins: Origins::default(),
            heartbeat: Some(Duration::from_secs(40)),
            write_timeout: Some(Duration::from_secs(600)),
            history: 1_000,
            queue: 4_096,
            subscribers: 50_000,
            cookie: DEFAULT_COOKIE.into(),
            version_7: false,
        }
    }
}

/// Origins of web pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origins(pub Vec<String>);

impl Origins {
    /// Whether web pages of this origin may subscribe: `*` allows all.
    pub fn allow(&self, origin: &str) -> bool {
        self.include_all() || self.name(origin)
    }

    /// Whether `*` is among them.
    pub(crate) fn include_all(&self) -> bool {
        self.0.iter().any(|known| known == "*")
    }

    /// Whether an origin other than `*` is listed.
    pub(crate) fn include_named(&self) -> bool {
        self.0.iter().any(|known| known != "*")
    }

    /// Whether this origin is listed by name.
    pub(crate) fn name(&self, origin: &str) -> bool {
        let names = |known: &String| known != "*" && known.eq_ignore_ascii_case(origin);
        self.0.iter().any(names)
    }
}

/// The key that verifies tokens.
#[derive(Clone)]
pub struct Key {
    pub(crate) algorithm: Algorithm,
    pub(crate) decoding: DecodingKey,
    short: Option<usize>,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A secret must not be logged.
        f.debug_struct("Key")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum KeyError {
    #[error("the key is empty")]
    Empty,
    #[error(
        "unknown algorithm `{0}`: use HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA"
    )]
    Algorithm(String),
    /// The key does not fit the algorithm.
    #[error("it is not a public key for {algorithm} in PEM: {reason}")]
    Pem { algorithm: String, reason: String },
}

impl Key {
    /// The length of a secret that is shorter than the hash of HS256, and can be guessed (RFC 7518, 3.2).
    pub fn is_short(&self) -> Option<usize> {
        self.short
    }

    /// A secret for HS256 and similar algorithms, a public key in PEM for the others. Without an
    /// algorithm it is HS256.
    pub fn new(key: &str, algorithm: &str) -> Result<Self, KeyError> {
        if key.is_empty() {
            return Err(KeyError::Empty);
        }
        let name = if algorithm.is_empty() {
            "HS256"
        } else {
            algorithm
        };
        let algorithm: Algorithm = name
            .parse()
            .map_err(|_| KeyError::Algorithm(name.to_owned()))?;
        let pem = key.as_bytes();
        let mut short = None;
        let key = match algorithm {
            Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => {
                short = Some(pem.len()).filter(|length| *length < SECRET_MIN);
                Ok(DecodingKey::from_secret(pem))
            }
            Algorithm::ES256 | Algorithm::ES384 => DecodingKey::from_ec_pem(pem),
            Algorithm::EdDSA => DecodingKey::from_ed_pem(pem),
            _ => DecodingKey::from_rsa_pem(pem),
        };
        let key = key.map_err(|error| KeyError::Pem {
            algorithm: name.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self {
            algorithm,
            decoding: key,
            short,
        })
    }
}
