//! Options of a hub.

use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey};

/// Bytes of a secret.
const SECRET_MIN: usize = 32;

/// Options of a hub.
#[derive(Debug, Clone)]
pub struct Options {
    /// Key of publishers by HTTP; `None`: publishing by HTTP is off.
    pub publisher: Option<Key>,
    /// Key of subscribers; `None`: only `anonymous` subscribers, or all.
    pub subscriber: Option<Key>,
    /// Subscribers need no token; without one they get no private updates.
    pub anonymous: bool,
    /// The subscriptions API is there, and subscriptions are updates themselves.
    pub subscriptions: bool,
    /// Origins of web pages that may subscribe.
    pub cors_origins: Origins,
    /// Origins of web pages that may publish with a cookie.
    pub publish_origins: Origins,
    /// Interval between heartbeats to a subscriber without updates; `None`: none. Default 40 s.
    pub heartbeat: Option<Duration>,
    /// After this a subscriber has to come back; `None`: never. Default 10 min.
    pub write_timeout: Option<Duration>,
    /// Updates that are kept for those who come back. Default 1,000, and 16 MiB of them.
    pub history: usize,
    /// Updates that may wait for one subscriber. Default 4,096, and 16 MiB of them: PHP code may publish many at a
    /// time.
    pub queue: usize,
    /// Subscribers at a time. Default 50,000.
    pub subscribers: usize,
    /// The cookie with a token. Default `mercureAuthorization`.
    pub cookie: String,
    /// `Last-Event-ID` counts in a query too, as in version 7 of the protocol.
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
            cookie: "mercureAuthorization".into(),
            version_7: false,
        }
    }
}

/// Origins of web pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origins(pub Vec<String>);

impl Origins {
    /// Whether this one is among them.
    pub fn allow(&self, origin: &str) -> bool {
        self.include_all() || self.name(origin)
    }

    /// Whether `*` is among them.
    pub(crate) fn include_all(&self) -> bool {
        self.0.iter().any(|known| known == "*")
    }

    /// Whether one is among them that is not `*`.
    pub(crate) fn include_named(&self) -> bool {
        self.0.iter().any(|known| known != "*")
    }

    /// Whether this one is among them by its name.
    pub(crate) fn name(&self, origin: &str) -> bool {
        let names = |known: &String| known != "*" && known.eq_ignore_ascii_case(origin);
        self.0.iter().any(names)
    }
}

/// What a token is checked with.
#[derive(Clone)]
pub struct Key {
    pub(crate) algorithm: Algorithm,
    pub(crate) decoding: DecodingKey,
    short: Option<usize>,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A secret does not belong into a log.
        f.debug_struct("Key")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is empty.
    #[error("the key is empty")]
    Empty,
    /// No such algorithm.
    #[error(
        "unknown algorithm `{0}`: use HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA"
    )]
    Algorithm(String),
    /// It is not of that algorithm.
    #[error("it is not a public key for {algorithm} in PEM: {reason}")]
    Pem {
        /// The algorithm.
        algorithm: String,
        /// Why not.
        reason: String,
    },
}

impl Key {
    /// The bytes of a secret that is shorter than the hash of HS256, and can be guessed (RFC 7518, 3.2).
    pub fn is_short(&self) -> Option<usize> {
        self.short
    }

    /// A secret for HS256 and its like, a public key in PEM for the others. No algorithm is HS256.
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
