//! The directory of certificates and keys, which several servers may share.
//!
//! ```text
//! authority/root.pem, intermediate.pem   the internal authority, each with its key
//! authority/root.crt                     its root, for clients
//! acme/SERVER/account-….json             the account at an ACME server
//! acme/SERVER/HOST.pem                   a certificate with its key
//! acme/SERVER/HOST.failed                how often in a row it was not to be had, and until when
//!                                        nobody asks again
//! challenges/http/TOKEN                  what an authority is to read at the HTTP port
//! challenges/tls/HOST.pem                the certificate that it is to see at the HTTPS port
//! locks/NAME.lock                        see `lock`
//! ```
//!
//! Directories are for the owner alone, and so are files but `root.crt`. A file is replaced as a whole
//! or not at all.

use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const SECRET: u32 = 0o600;
const PUBLIC: u32 = 0o644;
const DIRECTORY: u32 = 0o700;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    root: PathBuf,
}

impl Storage {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// The file's bytes; `None` if there is no such file.
    pub(crate) fn read(&self, relative: impl AsRef<Path>) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path(relative)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates or replaces a file that is for the owner alone.
    pub(crate) fn write(&self, relative: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        self.put(relative.as_ref(), bytes, SECRET)
    }

    /// The same for one that all may read.
    pub(crate) fn write_public(&self, relative: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        self.put(relative.as_ref(), bytes, PUBLIC)
    }

    fn put(&self, relative: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        let path = self.path(relative);
        let temporary = Self::temporary(&path, bytes, mode)?;
        fs::rename(&temporary, &path).inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    /// Creates a file unless there is one; answers whether it did.
    pub(crate) fn create(&self, relative: impl AsRef<Path>, bytes: &[u8]) -> io::Result<bool> {
        let path = self.path(relative);
        let temporary = Self::temporary(&path, bytes, SECRET)?;
        // A link is made or not, on file systems of networks too, and never half.
        let linked = fs::hard_link(&temporary, &path);
        let removed = fs::remove_file(&temporary);
        match linked {
            Ok(()) => removed.map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a file; it may be gone already.
    pub(crate) fn remove(&self, relative: impl AsRef<Path>) -> io::Result<()> {
        match fs::remove_file(self.path(relative)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// A new file beside `path`, written to the disk.
    fn temporary(path: &Path, bytes: &[u8], mode: u32) -> io::Result<PathBuf> {
        if let Some(directory) = path.parent() {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(DIRECTORY).create(directory)?;
        }
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.new", unique()));
        let temporary = PathBuf::from(name);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&temporary)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        written.inspect_err(|_| drop(fs::remove_file(&temporary)))?;
        Ok(temporary)
    }
}

/// 16 digits that nobody else has.
pub(crate) fn unique() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// A text as the name of a file: what is no letter, digit, dot or hyphen becomes an underscore.
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

/// Where certificates are kept unless the configuration says it.
pub(crate) fn default_root() -> Option<PathBuf> {
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_are_secret_and_whole() {
        let directory = tempfile::tempdir().expect("a directory");
        let storage = Storage::new(directory.path().join("data"));
        assert_eq!(storage.read("a/b.pem").expect("readable"), None);
        storage.write("a/b.pem", b"one").expect("written");
        storage.write("a/b.pem", b"two").expect("replaced");
        storage.write_public("a/c.crt", b"three").expect("written");
        assert_eq!(
            storage.read("a/b.pem").expect("readable"),
            Some(b"two".to_vec())
        );
        let mode = |path: &str| {
            let metadata = fs::metadata(storage.path(path)).expect("it is there");
            metadata.permissions().mode() & 0o777
        };
        assert_eq!(
            (mode("a"), mode(""), mode("a/b.pem")),
            (0o700, 0o700, 0o600)
        );
        assert_eq!(mode("a/c.crt") & 0o700, 0o600);
        assert!(!storage.create("a/b.pem", b"four").expect("asked"));
        assert!(storage.create("a/d.pem", b"five").expect("asked"));
        let left = fs::read_dir(storage.path("a")).expect("readable").count();
        assert_eq!(left, 3, "no temporary file is left");
        storage.remove("a/d.pem").expect("removed");
        storage.remove("a/d.pem").expect("gone already");
    }

    #[test]
    fn names_of_files_stay_where_they_are() {
        assert_eq!(file_name("*.Example.com"), "_.example.com");
        assert_eq!(file_name("../x"), "_._x");
        assert_eq!(file_name("::1"), "__1");
    }
}
