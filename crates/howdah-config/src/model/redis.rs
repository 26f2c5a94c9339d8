//! The Redis server that stores certificates.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// `storage redis`: a Redis or Valkey server that several machines share.
#[derive(Clone, PartialEq, Eq)]
pub struct Redis {
    /// Name or address. Default `127.0.0.1`.
    pub host: String,
    /// Default 6379.
    pub port: u16,
    /// A user of Redis's access control list. Default: its default user.
    pub username: Option<String>,
    /// Default: none is sent.
    pub password: Option<String>,
    /// Number of the database. Default 0.
    pub db: u32,
    /// Prefix of all keys, without the slash after it. Default `howdah`.
    pub key_prefix: String,
    /// Timeout of connecting and of each reply. Default 5 s.
    pub timeout: Duration,
    /// TLS is used and the server's certificate verified. Default false.
    pub tls: bool,
    /// PEM file with the authorities for the server's certificate. Default: the system's.
    pub tls_roots: Option<PathBuf>,
}

impl Default for Redis {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 6379,
            username: None,
            password: None,
            db: 0,
            key_prefix: "howdah".into(),
            timeout: Duration::from_secs(5),
            tls: false,
            tls_roots: None,
        }
    }
}

/// Where the keys are, as a URL; without the password.
impl fmt::Display for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "rediss" } else { "redis" };
        let (open, close) = if self.host.contains(':') {
            ("[", "]")
        } else {
            ("", "")
        };
        write!(
            f,
            "{scheme}://{open}{}{close}:{}/{}/{}",
            self.host, self.port, self.db, self.key_prefix
        )
    }
}

/// Omits the password, since messages show configurations.
impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
