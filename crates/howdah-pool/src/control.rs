//! Control sockets: `SOCK_SEQPACKET` pairs that carry one message and its file descriptors at a time
//! between the front and the zygotes (`worker/include/howdah_shm.h`, "control messages").

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use howdah_shm::layout;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::AbortHandle;

use crate::readiness::register;

/// Largest data part of a message (`HOWDAH_CONTROL_SIZE_MAX`).
pub(crate) const DATA_SIZE_MAX: usize = layout::CONTROL_SIZE_MAX;
const HEADER_SIZE: usize = layout::CONTROL_HEADER_SIZE;
/// Control socket, segment, spool directory, log pipe, one eventfd for each front thread, and one for each
/// place of a concurrent pool.
const FDS_MAX: usize = 4 + (layout::FRONTS_MAX + layout::CONCURRENT_PLACES_MAX) as usize;

/// A message came without the descriptor that belongs to it: the kernel leaves out those for which the
/// receiver has no room.
pub(crate) const NO_DESCRIPTOR: &str =
    "the server has as many files open as it may: raise the limit of open files (ulimit -n)";

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// front -> root: start a zygote of a pool.
    Pool = 1,
    /// root -> front: PHP is up.
    Ready = 2,
    /// root -> front: the pool's zygote runs.
    PoolStarted = 3,
    /// root -> front: the pool's zygote is gone.
    PoolExited = 4,
    /// front -> pool: fork a worker.
    Spawn = 5,
    /// pool -> front: it runs.
    Spawned = 6,
    /// pool -> front: it was reaped.
    Exited = 7,
    /// either zygote -> front: what was asked for could not be done.
    Failed = 8,
    /// pool -> front: the zygote takes SPAWN from now on, or cannot.
    Booted = 9,
}

impl Kind {
    fn from_u32(value: u32) -> Option<Self> {
        Some(match value {
            1 => Self::Pool,
            2 => Self::Ready,
            3 => Self::PoolStarted,
            4 => Self::PoolExited,
            5 => Self::Spawn,
            6 => Self::Spawned,
            7 => Self::Exited,
            8 => Self::Failed,
            9 => Self::Booted,
            _ => return None,
        })
    }
}

/// One message. Fields that a kind does not use are 0.
#[derive(Debug)]
pub(crate) struct Message {
    /// What it is about.
    pub(crate) kind: Kind,
    /// Worker, or number of a zygote, by kind.
    pub(crate) worker: u32,
    /// Process id.
    pub(crate) pid: i32,
    /// Wait status or errno, by kind.
    pub(crate) status: i32,
    /// The data part.
    pub(crate) data: Vec<u8>,
    /// File descriptors that came with it.
    pub(crate) fds: Vec<OwnedFd>,
}

/// Why a control socket cannot be used any longer.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The zygote has closed its end: it is gone.
    #[error("the PHP process has closed its control socket")]
    Closed,
    /// The operating system refused.
    #[error("control socket: {0}")]
    Io(#[from] std::io::Error),
    /// The peer does not speak this contract.
    #[error("the PHP process sent a control message that is not of this version of howdah")]
    Malformed,
}

/// The front's end of a control socket.
#[derive(Debug)]
pub(crate) struct Control {
    fd: AsyncFd<OwnedFd>,
}

impl Control {
    /// A connected pair: this end, and the one to hand to the zygote. Must be called in a runtime.
    pub(crate) fn pair() -> Result<(Self, OwnedFd), ControlError> {
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(std::io::Error::from)?;
        rustix::io::ioctl_fionbio(&ours, true).map_err(std::io::Error::from)?;
        let fd = register(ours, Interest::READABLE | Interest::WRITABLE)?;
        Ok((Self { fd }, theirs))
    }

    /// The end of a zygote, for tests that play one.
    #[cfg(test)]
    pub(crate) fn adopt(fd: OwnedFd) -> std::io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        let fd = register(fd, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self { fd })
    }

    /// Sends one message with a pid and a status, as zygotes do.
    #[cfg(test)]
    pub(crate) async fn report(
        &self,
        (kind, worker): (Kind, u32),
        (pid, status): (i32, i32),
        data: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), ControlError> {
        self.transmit((kind, worker), (pid, status), data, fds)
            .await
    }

    /// Sends one message; waits when the socket is full.
    pub(crate) async fn send(
        &self,
        kind: Kind,
        worker: u32,
        data: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), ControlError> {
        self.transmit((kind, worker), (0, 0), data, fds).await
    }

    async fn transmit(
        &self,
        (kind, worker): (Kind, u32),
        (pid, status): (i32, i32),
        data: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), ControlError> {
        debug_assert!(data.len() <= DATA_SIZE_MAX && fds.len() <= FDS_MAX);
        let mut header = [0; HEADER_SIZE];
        header[0..4].copy_from_slice(&(kind as u32).to_le_bytes());
        header[4..8].copy_from_slice(&worker.to_le_bytes());
        header[8..12].copy_from_slice(&pid.to_le_bytes());
        header[12..16].copy_from_slice(&status.to_le_bytes());
        header[16..20].copy_from_slice(&(data.len() as u32).to_le_bytes());
        let io = self.fd.async_io(Interest::WRITABLE, |socket| {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
                return Err(Errno::TOOBIG.into());
            }
            let parts = [IoSlice::new(&header), IoSlice::new(data)];
            rustix::net::sendmsg(socket, &parts, &mut ancillary, SendFlags::NOSIGNAL)?;
            Ok(())
        });
        io.await.map_err(
            |error| match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::PIPE | Errno::CONNRESET) => ControlError::Closed,
                _ => ControlError::Io(error),
            },
        )
    }

    /// Waits for the next message.
    pub(crate) async fn receive(&self) -> Result<Message, ControlError> {
        self.receive_in(&mut receive_buffer()).await
    }

    /// The same with a buffer that is used again and again.
    async fn receive_in(&self, buffer: &mut [u8]) -> Result<Message, ControlError> {
        let (size, fds) = self
            .fd
            .async_io(Interest::READABLE, |socket| {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
                let mut ancillary = RecvAncillaryBuffer::new(&mut space);
                let received = rustix::net::recvmsg(
                    socket,
                    &mut [IoSliceMut::new(buffer)],
                    &mut ancillary,
                    RecvFlags::CMSG_CLOEXEC,
                )?;
                let mut fds = Vec::new();
                for message in ancillary.drain() {
                    if let RecvAncillaryMessage::ScmRights(rights) = message {
                        fds.extend(rights);
                    }
                }
                Ok((received.bytes, fds))
            })
            .await?;
        if size == 0 {
            return Err(ControlError::Closed);
        }
        decode(&buffer[..size], fds)
    }
}

/// A control socket and the task that listens to it. Dropping it closes the socket, which tells the
/// zygote to leave.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) control: Arc<Control>,
    listener: AbortHandle,
}

impl Link {
    /// Reports each message, and the end of the socket, to `report`; stops when that returns false.
    pub(crate) fn listen(
        control: Control,
        report: impl Fn(Result<Message, ControlError>) -> bool + Send + 'static,
    ) -> Self {
        let control = Arc::new(control);
        let listening = control.clone();
        let task = tokio::spawn(async move {
            let mut buffer = receive_buffer();
            loop {
                let message = listening.receive_in(&mut buffer).await;
                let end = message.is_err();
                if !report(message) || end {
                    return;
                }
            }
        });
        Self {
            control,
            listener: task.abort_handle(),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// Room for the largest message.
fn receive_buffer() -> Vec<u8> {
    vec![0; HEADER_SIZE + DATA_SIZE_MAX]
}

fn decode(bytes: &[u8], fds: Vec<OwnedFd>) -> Result<Message, ControlError> {
    let (header, data) = bytes
        .split_at_checked(HEADER_SIZE)
        .ok_or(ControlError::Malformed)?;
    let word = |index: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&header[index * 4..index * 4 + 4]);
        u32::from_le_bytes(word)
    };
    if word(4) as usize != data.len() {
        return Err(ControlError::Malformed);
    }
    Ok(Message {
        kind: Kind::from_u32(word(0)).ok_or(ControlError::Malformed)?,
        worker: word(1),
        pid: word(2).cast_signed(),
        status: word(3).cast_signed(),
        data: data.to_vec(),
        fds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    #[tokio::test]
    async fn a_message_arrives_whole_with_its_descriptors() {
        let (ours, theirs) = Control::pair().expect("a socket pair");
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        ours.send(Kind::Spawn, 3, b"data", &[writer.as_fd()])
            .await
            .expect("sent");
        drop(writer);
        let peer = Control {
            fd: register(theirs, Interest::READABLE).expect("registered"),
        };
        let message = peer.receive().await.expect("received");
        assert_eq!(
            (message.kind, message.worker, &message.data[..]),
            (Kind::Spawn, 3, &b"data"[..])
        );
        let mut received =
            std::fs::File::from(message.fds.into_iter().next().expect("a descriptor"));
        received.write_all(b"through").expect("written");
        drop(received);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "through");
    }

    #[tokio::test]
    async fn a_closed_peer_is_told_apart() {
        let (ours, theirs) = Control::pair().expect("a socket pair");
        drop(theirs);
        assert!(matches!(ours.receive().await, Err(ControlError::Closed)));
        assert!(matches!(
            ours.send(Kind::Spawn, 0, b"", &[]).await,
            Err(ControlError::Closed)
        ));
    }

    #[test]
    fn messages_of_another_shape_are_refused() {
        assert!(matches!(
            decode(b"short", vec![]),
            Err(ControlError::Malformed)
        ));
        let mut bytes = vec![0; HEADER_SIZE];
        bytes[0] = 99;
        assert!(matches!(
            decode(&bytes, vec![]),
            Err(ControlError::Malformed)
        ));
        bytes[0] = 5;
        bytes[16] = 1;
        assert!(matches!(
            decode(&bytes, vec![]),
            Err(ControlError::Malformed)
        ));
    }
}
