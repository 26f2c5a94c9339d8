//! Listening Unix sockets, whose file has its permissions from the first moment on.

use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::fs::{Mode, fchmod};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::trusted;

/// Listens at `path`; replaces a socket that a killed server has left there. `mode` has the permissions of the file,
/// whatever the umask; `backlog` clients may wait. The listener is non-blocking. The caller must remove the file at the
/// end. A folder in which anybody may rename the file is refused.
///
/// # Errors
/// [`ErrorKind::AddrInUse`] if another process listens there.
pub fn listen(path: &Path, mode: u32, backlog: i32) -> io::Result<UnixListener> {
    trusted::folder(path)?;
    remove_stale(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM.cloexec(), None)?;
    // Before it has a name, so that there is no moment at which more users can connect. The umask
    // may remove bits.
    fchmod(&socket, Mode::from_raw_mode(mode))?;
    socket.bind(&SockAddr::unix(path)?)?;
    let prepare = || {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode))?;
        socket.listen(backlog)?;
        socket.set_nonblocking(true)
    };
    prepare().inspect_err(|_| drop(std::fs::remove_file(path)))?;
    Ok(socket.into())
}

/// Removes the socket of a killed server. One that accepts connections is in use.
fn remove_stale(path: &Path) -> io::Result<()> {
    match inspect(path)? {
        Place::Free => Ok(()),
        Place::Stale => std::fs::remove_file(path),
    }
}

/// The state of a path for a listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Nothing.
    Free,
    /// A socket without a listener; [`listen`] puts its own in its place.
    Stale,
}

/// Inspects `path` and changes nothing. It does not check whether a file can be created there.
///
/// # Errors
/// [`ErrorKind::AddrInUse`] if a process listens there, [`ErrorKind::AlreadyExists`] if the path is not a socket, and
/// any other error of inspecting it.
pub fn inspect(path: &Path) -> io::Result<Place> {
    // A path can be too long for a socket.
    SockAddr::unix(path)?;
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(Place::Stale),
            Ok(_) => Err(ErrorKind::AddrInUse.into()),
            Err(error) => Err(error),
        },
        Ok(_) => Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "a file of this name exists and is not a socket; remove it or choose another name",
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Place::Free),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_socket_file_is_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.sock");
        for mode in [0o200, 0o222, 0o660] {
            let listener = listen(&path, mode, 1).expect("it listens");
            let own = std::fs::metadata(&path).expect("it is there");
            assert_eq!(own.permissions().mode() & 0o777, mode);
            let error = listen(&path, mode, 1).expect_err("in use");
            assert_eq!(error.kind(), ErrorKind::AddrInUse);
            UnixStream::connect(&path).expect("its own still");
            drop(listener);
            assert_eq!(inspect(&path).expect("as after a kill"), Place::Stale);
        }
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(inspect(&path).expect("nothing"), Place::Free);
        let long = directory.path().join("a".repeat(108));
        let error = inspect(&long).expect_err("too long");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let file = directory.path().join("file");
        std::fs::write(&file, "kept").expect("written");
        let error = listen(&file, 0o200, 1).expect_err("no socket");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(file.exists());
    }
}
