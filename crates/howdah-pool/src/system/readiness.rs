//! Descriptors in tokio's reactor. The one place of this crate with unsafe code.

use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the current runtime.
///
/// # Errors
/// The kernel cannot report its readiness, or there are too many descriptors.
#[expect(
    unsafe_code,
    reason = "tokio requires a promise that the type system cannot express"
)]
pub fn register(fd: OwnedFd, interest: Interest) -> std::io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the `AsyncFd` owns the `OwnedFd`, which keeps one file description open under one number
    // until it is dropped. This crate only ever borrows it from there, and nothing in it replaces a
    // descriptor by number (no dup2).
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}
