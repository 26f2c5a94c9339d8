//! A lock among servers that share a storage: see `file_lock` and `lease` for the protocols.

use std::io;
use std::path::PathBuf;

use crate::file_lock::{self, Lock as FileLock};
use crate::lease::{self, Lease};
use crate::storage::{Storage, file_name};

/// Released when it is dropped.
#[derive(Debug)]
pub(crate) enum Lock {
    File(FileLock),
    Lease(Lease),
}

/// Waits until it has acquired the lock of this name.
pub(crate) async fn lock(storage: &Storage, name: &str) -> io::Result<Lock> {
    let file = format!("locks/{}.lock", file_name(name));
    Ok(match storage {
        Storage::Directory(directory) => {
            let pace = file_lock::LockTiming::default();
            Lock::File(file_lock::lock(directory, PathBuf::from(file), pace).await?)
        }
        Storage::Shared(shared) => {
            Lock::Lease(lease::lease(shared.remote(), file, lease::LeaseTiming::default()).await?)
        }
    })
}

impl Lock {
    /// Whether another server took it because this one did not renew it in time.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::File(lock) => lock.is_lost(),
            Self::Lease(lease) => lease.is_lost(),
        }
    }
}
