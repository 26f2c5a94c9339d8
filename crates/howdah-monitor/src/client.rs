//! The server's side.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;

use crate::protocol::{Operation, Reply, Request, receive_reply};

/// A process has one monitor, as it has one user.
static MONITOR: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// From now on a monitor replies at this socket.
///
/// # Errors
/// No monitor replies; no further request will be sent.
pub fn connect(socket: OwnedFd) -> io::Result<()> {
    *lock() = Some(socket);
    renew().inspect_err(|_| disconnect())
}

/// Stops the monitor.
pub fn disconnect() {
    drop(lock().take());
}

/// Whether there is a monitor: only it can open some files.
#[must_use]
pub fn is_connected() -> bool {
    lock().is_some()
}

/// Makes the monitor read the configuration again, whose paths and programs it grants from then on.
///
/// # Errors
/// The monitor has exited.
pub fn renew() -> io::Result<()> {
    ask(&Request::of_numbers(Operation::Renew, 0, 0), None).map(drop)
}

/// The monitor's reply; without a monitor, an error for lack of rights.
pub(crate) fn ask(request: &Request<'_>, descriptor: Option<BorrowedFd<'_>>) -> io::Result<Reply> {
    let absolute = |path: &Path| -> io::Result<PathBuf> {
        if path.as_os_str().is_empty() {
            Ok(path.to_owned())
        } else {
            std::path::absolute(path)
        }
    };
    let monitor = lock();
    let Some(socket) = monitor.as_ref() else {
        return Err(Errno::ACCESS.into());
    };
    let request = Request {
        path: &absolute(request.path)?,
        other: &absolute(request.other)?,
        ..*request
    };
    request.send(socket, descriptor)?;
    receive_reply(socket)
}

fn lock() -> std::sync::MutexGuard<'static, Option<OwnedFd>> {
    MONITOR.lock().unwrap_or_else(PoisonError::into_inner)
}
