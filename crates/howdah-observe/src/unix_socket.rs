//! Unix sockets that are listened on, with a file that has its permissions from the first moment on.

use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::fs::{Mode, fchmod};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::trusted;

/// Listens at `path`, in place of a socket that a server which was killed has left there. `mode` has the
/// permissions of the file, whatever the umask is; `backlog` clients may wait. The listener does not
/// block. Who ends has to remove the file. A folder in which anybody may rename it is refused.
///
/// # Errors
/// [`ErrorKind::AddrInUse`] if another process listens there.
pub fn listen(path: &Path, mode: u32, backlog: i32) -> io::Result<UnixListener> {
    trusted::folder(path)?;
    remove_stale(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM.cloexec(), None)?;
    // Before it has a name, so that there is no moment at which more may connect. The umask takes
    // from it.
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

/// A server that was killed leaves its socket behind. One that answers is in use.
fn remove_stale(path: &Path) -> io::Result<()> {
    match inspect(path)? {
        Place::Free => Ok(()),
        Place::Stale => std::fs::remove_file(path),
    }
}

/// What is at a path that can be listened at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Nothing.
    Free,
    /// A socket without a listener; [`listen`] puts its own in its place.
    Stale,
}

/// Looks what is at `path` and changes nothing. Whether a file can be made there is not known by it.
///
/// # Errors
/// [`ErrorKind::AddrInUse`] if a process listens there, [`ErrorKind::AlreadyExists`] if what is there is no
/// socket, and any other that keeps one from finding out.
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
