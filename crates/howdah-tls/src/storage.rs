//! Where certificates and keys are stored: a directory or Redis, either of which several servers may share.
//!
//! ```text
//! authority/root.pem, intermediate.pem   the internal authority, each with its key
//! authority/root.crt                     its root, for clients
//! certificates/ISSUER/…, acme/ISSUER/…   certificates by ACME and accounts: see `layout`
//! ocsp/HOST.der                          the authority's last status of a certificate
//! challenges/http/TOKEN                  what an authority is to read at the HTTP port
//! challenges/tls/HOST.pem                the certificate that it is to see at the HTTPS port
//! locks/NAME.lock                        see `lock`
//! ```
//!
//! In a directory, only the owner has access to files, except `root.crt`.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::directory::{Directory, Readers};
use crate::redis_storage::RedisStorage;

/// Storage of certificates and keys.
#[derive(Debug, Clone)]
pub(crate) enum Storage {
    Directory(Directory),
    /// The storage is in Redis.
    Shared(Arc<RedisStorage>),
}

impl Storage {
    /// Creates a storage in this directory.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self::Directory(Directory::new(root))
    }

    /// The place of a file or value, for messages.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        match self {
            Self::Directory(directory) => directory.path(relative),
            Self::Shared(shared) => shared.path(relative.as_ref()),
        }
    }

    /// The bytes; `None` if it does not exist.
    pub(crate) fn read(&self, relative: impl AsRef<Path>) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Directory(directory) => directory.read(relative),
            Self::Shared(shared) => shared.read(relative.as_ref()),
        }
    }

    /// Creates or replaces a file that only the owner may read.
    pub(crate) fn write(&self, relative: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Directory(directory) => directory.write(relative, bytes, Readers::Owner),
            Self::Shared(shared) => shared.write(relative.as_ref(), bytes),
        }
    }

    /// Writes a file that everybody may read.
    pub(crate) fn write_public(&self, relative: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Directory(directory) => directory.write(relative, bytes, Readers::All),
            Self::Shared(shared) => shared.write(relative.as_ref(), bytes),
        }
    }

    /// Writes a value that is needed for minutes and then removed.
    pub(crate) fn show(&self, relative: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Directory(directory) => directory.write(relative, bytes, Readers::Owner),
            Self::Shared(shared) => shared.show(relative.as_ref(), bytes),
        }
    }

    /// Creates it unless it exists; then read the existing one.
    pub(crate) fn create(&self, relative: impl AsRef<Path>, bytes: &[u8]) -> io::Result<bool> {
        match self {
            Self::Directory(directory) => directory.create(relative, bytes),
            Self::Shared(shared) => shared.create(relative.as_ref(), bytes),
        }
    }

    /// Removes it; it may already be gone.
    pub(crate) fn remove(&self, relative: impl AsRef<Path>) -> io::Result<()> {
        match self {
            Self::Directory(directory) => directory.remove(relative),
            Self::Shared(shared) => shared.remove(relative.as_ref()),
        }
    }
}

/// 16 random digits.
pub(crate) fn unique() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// A random number from 0 to 1.
pub(crate) fn jitter() -> f64 {
    let digits = unique();
    let number = u32::from_str_radix(&digits[..8], 16).unwrap_or_default();
    f64::from(number) / f64::from(u32::MAX)
}

/// A text as the name of a file: characters other than letters, digits, dots and hyphens become
/// underscores.
pub(crate) fn file_name(text: &str) -> String {
    let name: String = text
        .chars()
        .map(|char| match char {
            'a'..='z' | '0'..='9' | '.' | '-' => char,
            'A'..='Z' => char.to_ascii_lowercase(),
            _ => '_',
        })
        .collect();
    // Never hidden, never a parent.
    match name.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => name,
    }
}

/// The default folder for certificates.
#[must_use]
pub fn default_root() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(data) = absolute("XDG_DATA_HOME") {
        return Some(data.join("howdah"));
    }
    if rustix::process::geteuid().is_root() {
        return Some("/var/lib/howdah".into());
    }
    absolute("HOME").map(|home| home.join(".local/share/howdah"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_where_they_are() {
        assert_eq!(file_name("*.Example.com"), "_.example.com");
        assert_eq!(file_name("../x"), "_._x");
        assert_eq!(file_name("::1"), "__1");
    }
}
