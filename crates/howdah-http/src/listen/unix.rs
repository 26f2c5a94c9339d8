//! Unix sockets that sites listen on.
//!
//! For the kernel a connection is a stream socket, whatever its family, and everything that is done with an accepted
//! [`TcpStream`] is done with its descriptor. So connections over a Unix socket are wrapped in this type too, and the
//! code that serves them handles one type. They have no addresses: see [`ADDRESS`].

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use howdah_config::model::UnixSocket;
use howdah_observe::unix_socket;
use tokio::net::{TcpStream, UnixStream};

use super::error::BindError;

/// Connections that the kernel may queue until they are accepted; `net.core.somaxconn` caps it.
pub(crate) const BACKLOG: i32 = 4096;

/// Local address of a connection over a Unix socket: this machine, on the port of plain HTTP.
pub(crate) const ADDRESS: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 80));
/// Remote address of such a connection: this machine, no port.
pub(crate) const CLIENT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

/// The file of a socket that is listened on. It is removed when its last listener closes.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode, which distinguish it from the socket of another server at the same path.
    identity: Option<(u64, u64)>,
    removed: AtomicBool,
}

impl SocketFile {
    fn new(path: PathBuf) -> Self {
        let identity = identity(&path);
        Self {
            path,
            identity,
            removed: AtomicBool::new(false),
        }
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Removes the file: clients can no longer connect.
    pub(crate) fn remove(&self) {
        if self.removed.swap(true, Relaxed) {
            return;
        }
        if self.identity.is_some()
            && identity(&self.path) == self.identity
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::warn!(file = %self.path.display(), %error, "the file of a Unix socket cannot be removed");
        }
    }

    /// Changes its mode.
    pub(crate) fn permit(&self, mode: u32) {
        if let Err(error) = std::fs::set_permissions(&self.path, PermissionsExt::from_mode(mode)) {
            tracing::warn!(file = %self.path.display(), %error, "the permissions of a Unix socket cannot be changed");
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        self.remove();
    }
}

fn identity(path: &PathBuf) -> Option<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Listens for all front threads, which accept from the one queue.
pub(crate) fn listen(
    socket: &UnixSocket,
    threads: usize,
) -> Result<(SocketFile, Vec<UnixListener>), BindError> {
    let failed = |source: io::Error| {
        let path = socket.path.clone();
        match source.kind() {
            ErrorKind::AddrInUse => BindError::UnixInUse { path },
            _ => BindError::Unix { path, source },
        }
    };
    let first = unix_socket::listen(&socket.path, socket.mode, BACKLOG).map_err(failed)?;
    let file = SocketFile::new(socket.path.clone());
    Ok((file, adopt(first, socket, threads)?))
}

/// Uses a socket that already listens; its creator owns the file.
pub(crate) fn adopt(
    first: UnixListener,
    socket: &UnixSocket,
    threads: usize,
) -> Result<Vec<UnixListener>, BindError> {
    let prepare = || {
        first.set_nonblocking(true)?;
        (1..threads).map(|_| first.try_clone()).collect()
    };
    let clones: io::Result<Vec<_>> = prepare();
    let mut listeners = clones.map_err(|source| BindError::Unix {
        path: socket.path.clone(),
        source,
    })?;
    listeners.push(first);
    Ok(listeners)
}

/// The Unix sockets of all sites.
pub(crate) fn as_tcp(stream: UnixStream) -> io::Result<TcpStream> {
    let descriptor = OwnedFd::from(stream.into_std()?);
    TcpStream::from_std(descriptor.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_with_its_listener_and_no_other() {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = UnixSocket {
            path: directory.path().join("a.sock"),
            mode: 0o200,
        };
        let (file, listeners) = listen(&socket, 3).expect("it listens");
        assert_eq!(listeners.len(), 3);
        let error = listen(&socket, 1).expect_err("its own");
        assert!(matches!(error, BindError::UnixInUse { .. }), "{error}");
        file.permit(0o222);
        let metadata = std::fs::metadata(file.path()).expect("it is there");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o222);
        // Another process took the path.
        let aside = directory.path().join("aside");
        std::fs::rename(file.path(), &aside).expect("moved");
        std::fs::write(file.path(), "another").expect("written");
        drop(file);
        assert!(socket.path.exists());
        std::fs::remove_file(&socket.path).expect("removed");
        let (file, _listeners) = listen(&socket, 1).expect("it listens");
        drop(file);
        assert!(!socket.path.exists());
        let nowhere = UnixSocket {
            path: directory.path().join("none/a.sock"),
            mode: 0o200,
        };
        let error = listen(&nowhere, 1).expect_err("no such folder");
        assert!(
            error.to_string().contains("none/a.sock: No such file"),
            "{error}"
        );
    }
}
