//! The server's side.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;

use crate::protocol::{Operation, Request, receive_answer};

/// A process has one monitor, as it has one user.
static MONITOR: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// From now on a monitor answers at this socket.
///
/// # Errors
/// It does not, and is not asked again.
pub fn connect(socket: OwnedFd) -> io::Result<()> {
    *lock() = Some(socket);
    renew().inspect_err(|_| disconnect())
}

/// Ends the monitor.
pub fn disconnect() {
    drop(lock().take());
}

/// Whether there is a monitor: some files are for it alone.
#[must_use]
pub fn is_connected() -> bool {
    lock().is_some()
}

/// Has the monitor read the configuration again, whose paths it grants from then on.
///
/// # Errors
/// The monitor is gone.
pub fn renew() -> io::Result<()> {
    let nothing = Path::new("");
    ask((Operation::Renew, 0, 0), nothing, nothing).map(drop)
}

/// What the monitor answers; without one that nobody has the right.
pub(crate) fn ask(
    (operation, flags, mode): (Operation, u32, u32),
    path: &Path,
    other: &Path,
) -> io::Result<Option<OwnedFd>> {
    let absolute = |path: &Path| {
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
        operation,
        flags,
        mode,
        path: &absolute(path)?,
        other: &absolute(other)?,
    };
    request.send(socket)?;
    receive_answer(socket)
}

fn lock() -> std::sync::MutexGuard<'static, Option<OwnedFd>> {
    MONITOR.lock().unwrap_or_else(PoisonError::into_inner)
}
