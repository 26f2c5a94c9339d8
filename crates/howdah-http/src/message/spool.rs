//! Request bodies that are too large for memory, in files of a private directory.
//!
//! The directory belongs to one server instance and only its user may read it. It contains a `lock`
//! file under flock(2), by which the next instance recognises whether the owner still runs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};

const PREFIX: &str = "howdah-";
const LOCK: &str = "lock";

/// Why there is no spool directory.
#[derive(Debug, thiserror::Error)]
#[error("{} in {}: set TMPDIR to a directory that this user can write to", source, base.display())]
pub struct SpoolError {
    /// Where it should be created.
    base: PathBuf,
    source: io::Error,
}

/// The directory of one server instance. Clones share it; the last one removes it.
#[derive(Debug, Clone)]
pub struct SpoolDir {
    inner: Arc<Directory>,
}

#[derive(Debug)]
struct Directory {
    path: PathBuf,
    descriptor: OwnedFd,
    /// Held, never read: closing it releases the lock.
    _lock: File,
}

impl SpoolDir {
    /// Creates a directory under `$TMPDIR` (default `/tmp`) and removes those of instances that no
    /// longer run.
    pub fn create() -> Result<Self, SpoolError> {
        Self::create_in(&std::env::temp_dir())
    }

    /// Creates it under `base`.
    pub fn create_in(base: &Path) -> Result<Self, SpoolError> {
        remove_dead(base);
        Self::try_create(base).map_err(|source| SpoolError {
            base: base.to_owned(),
            source,
        })
    }

    fn try_create(base: &Path) -> io::Result<Self> {
        // The lock is taken under a name that other instances ignore. Then the directory is renamed
        // to its final name, already locked.
        let hidden = tempfile::Builder::new()
            .prefix(".howdah-new-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(base)?;
        let lock = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(hidden.path().join(LOCK))?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let random = hidden
            .path()
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_prefix(".howdah-new-"))
            .unwrap_or("0")
            .to_owned();
        let path = base.join(format!("{PREFIX}{}-{random}", std::process::id()));
        fs::rename(hidden.path(), &path)?;
        // It has another name now; nothing is left for the guard to remove.
        let _ = hidden.keep();
        let descriptor = rustix::fs::open(
            &path,
            OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(Self {
            inner: Arc::new(Directory {
                path,
                descriptor,
                _lock: lock,
            }),
        })
    }

    /// The directory's descriptor for the PHP processes, which open bodies relative to it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.inner.descriptor.as_fd()
    }

    /// Lets other users open the files that they are given by name; they cannot list the directory. Otherwise only its
    /// user has access.
    pub fn open_to_users(&self) -> io::Result<()> {
        let mode = Mode::RWXU | Mode::XGRP | Mode::XOTH;
        Ok(rustix::fs::fchmod(&self.inner.descriptor, mode)?)
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Creates an empty file for the body of the request `id`.
    pub(crate) fn file(&self, id: u64) -> io::Result<SpoolFile> {
        let file = rustix::fs::openat(
            &self.inner.descriptor,
            name(id),
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        )?;
        Ok(SpoolFile {
            directory: Arc::clone(&self.inner),
            id,
            file: file.into(),
            length: 0,
        })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "spool directory was not removed");
        }
    }
}

/// A request body in a file of the spool directory. Dropping it removes the file.
#[derive(Debug)]
pub struct SpoolFile {
    directory: Arc<Directory>,
    id: u64,
    file: File,
    length: u64,
}

impl SpoolFile {
    /// The request it belongs to.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its name in the spool directory: the id as 16 hexadecimal digits.
    pub fn name(&self) -> String {
        name(self.id)
    }

    /// Its full path.
    pub fn path(&self) -> PathBuf {
        self.directory.path.join(self.name())
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn open(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(
            &self.directory.descriptor,
            self.name(),
            flags,
            Mode::empty(),
        )?;
        Ok(file.into())
    }

    /// Appends bytes. Blocks only if the disk cannot keep up: otherwise the page cache takes them.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

/// The descriptor, with which the file can be given to another user, who alone can read it then.
impl AsFd for SpoolFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        let name = self.name();
        match rustix::fs::unlinkat(&self.directory.descriptor, &name, AtFlags::empty()) {
            // PHP may have moved it: `move_uploaded_file` of a raw body.
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => tracing::warn!(%name, %error, "spool file was not removed"),
        }
    }
}

fn name(id: u64) -> String {
    format!("{id:016x}")
}

/// Removes directories of instances that did not shut down cleanly. After a failure, the next start
/// tries again.
fn remove_dead(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    let user = rustix::process::geteuid().as_raw();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some((pid, random)) = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('-'))
        else {
            continue;
        };
        if pid.parse::<u32>().is_err() || random.is_empty() {
            continue;
        }
        let path = entry.path();
        // Symbolic links are not followed: anyone may write to the directory above.
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if !metadata.is_dir() || metadata.uid() != user {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let Ok(lock) = rustix::fs::open(path.join(LOCK), flags, Mode::empty()) else {
            continue;
        };
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        match fs::remove_dir_all(&path) {
            Ok(()) => {
                tracing::info!(path = %path.display(), "removed the spool of a crashed instance");
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the spool of a crashed instance cannot be removed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::DirBuilderExt;

    use super::*;

    #[test]
    fn files_and_directory_go_with_their_owners() {
        let base = tempfile::tempdir().unwrap();
        let spool = SpoolDir::create_in(base.path()).unwrap();
        let metadata = fs::metadata(spool.path()).unwrap();
        assert_eq!(metadata.mode() & 0o777, 0o700);

        let mut file = spool.file(0xabc).unwrap();
        file.append(b"hello").unwrap();
        assert_eq!(file.name(), "0000000000000abc");
        assert_eq!(fs::read(file.path()).unwrap(), b"hello");
        assert_eq!(file.len(), 5);
        let (file_path, directory) = (file.path(), spool.path().to_owned());
        drop(spool);
        assert!(
            file_path.exists(),
            "a body outlives the handle of the directory"
        );
        drop(file);
        assert!(!file_path.exists());
        assert!(!directory.exists());
    }

    #[test]
    fn only_dead_instances_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let living = SpoolDir::create_in(base.path()).unwrap();
        let dead = base.path().join("howdah-1-dead");
        fs::DirBuilder::new().mode(0o700).create(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        fs::write(dead.join("0000000000000001"), "left").unwrap();
        let stranger = base.path().join("howdah-notes");
        fs::create_dir(&stranger).unwrap();

        let next = SpoolDir::create_in(base.path()).unwrap();
        assert!(!dead.exists());
        assert!(stranger.exists());
        assert!(living.path().exists());
        assert!(next.path().exists());
    }
}
