//! Control sockets: `SOCK_SEQPACKET` pairs that carry one message and its file descriptors at a time
//! between the front and the zygotes (`worker/include/howdah_shm.h`, "control messages").

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use howdah_shm::layout;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use crate::system::readiness::register;

/// Largest data part of a message (`HOWDAH_CONTROL_SIZE_MAX`).
pub(crate) const DATA_SIZE_MAX: usize = layout::CONTROL_SIZE_MAX;
const HEADER_SIZE: usize = layout::CONTROL_HEADER_SIZE;
/// Descriptors of one message: control socket, segment, spool directory, log pipe, one eventfd for each front thread,
/// one for each place of a concurrent pool, and the record of files.
const FDS_MAX: usize = 5 + (layout::FRONTS_MAX + layout::CONCURRENT_PLACES_MAX) as usize;

/// Descriptors that are accepted with a received message: a zygote sends one, and a second one is an error. Tests play
/// zygotes, which receive more.
const FDS_RECEIVED: usize = if cfg!(test) { FDS_MAX } else { 2 };
/// Messages of a peer that may wait to be handled; more wait in its socket.
const WAITING_MAX: usize = 64;

/// A message came without its descriptor: the kernel drops those for which the receiver has no room.
pub(crate) const NO_DESCRIPTOR: &str =
    "the server has as many files open as it may: raise the limit of open files (ulimit -n)";

/// Set in the reserved word of a test's message.
#[cfg(test)]
const LEFT_OUT: u32 = 1;

/// The kind of a message (`HOWDAH_CONTROL_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// front -> root: start a zygote of a pool.
    Pool = layout::CONTROL_POOL,
    /// root -> front: PHP has started.
    Ready = layout::CONTROL_READY,
    /// root -> front: the pool's zygote runs.
    PoolStarted = layout::CONTROL_POOL_STARTED,
    /// root -> front: the pool's zygote has exited.
    PoolExited = layout::CONTROL_POOL_EXITED,
    /// front -> pool: fork a worker.
    Spawn = layout::CONTROL_SPAWN,
    /// pool -> front: it runs.
    Spawned = layout::CONTROL_SPAWNED,
    /// pool -> front: it was reaped.
    Exited = layout::CONTROL_EXITED,
    /// either zygote -> front: a request failed.
    Failed = layout::CONTROL_FAILED,
    /// pool -> front: the zygote accepts SPAWN from now on, or cannot.
    Booted = layout::CONTROL_BOOTED,
    /// front -> root: inspect or change OPcache.
    Opcache = layout::CONTROL_OPCACHE,
    /// front -> root: the files to preload, as the first message.
    Preload = layout::CONTROL_PRELOAD,
    /// front -> either zygote: kill a child that I cannot watch.
    Kill = layout::CONTROL_KILL,
    /// monitor -> root: the users of the pools' processes, as the first message.
    Users = layout::CONTROL_USERS,
}

impl Kind {
    pub(crate) fn from_u32(value: u32) -> Option<Self> {
        Some(match value {
            layout::CONTROL_POOL => Self::Pool,
            layout::CONTROL_READY => Self::Ready,
            layout::CONTROL_POOL_STARTED => Self::PoolStarted,
            layout::CONTROL_POOL_EXITED => Self::PoolExited,
            layout::CONTROL_SPAWN => Self::Spawn,
            layout::CONTROL_SPAWNED => Self::Spawned,
            layout::CONTROL_EXITED => Self::Exited,
            layout::CONTROL_FAILED => Self::Failed,
            layout::CONTROL_BOOTED => Self::Booted,
            layout::CONTROL_OPCACHE => Self::Opcache,
            layout::CONTROL_PRELOAD => Self::Preload,
            layout::CONTROL_KILL => Self::Kill,
            layout::CONTROL_USERS => Self::Users,
            _ => return None,
        })
    }
}

/// The header of a message that is sent. Fields that a kind does not use are 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    /// What the message is about.
    pub(crate) kind: Kind,
    /// Worker, or number of a zygote, by kind.
    pub(crate) worker: u32,
    pub(crate) pid: i32,
    /// Wait status or errno, by kind.
    pub(crate) status: i32,
}

impl Header {
    /// A header without pid and status, as the front sends it.
    pub(crate) fn new(kind: Kind, worker: u32) -> Self {
        Self {
            kind,
            worker,
            pid: 0,
            status: 0,
        }
    }

    pub(crate) fn encode(self, data: &[u8]) -> [u8; HEADER_SIZE] {
        debug_assert!(data.len() <= DATA_SIZE_MAX);
        let mut header = [0; HEADER_SIZE];
        header[0..4].copy_from_slice(&(self.kind as u32).to_le_bytes());
        header[4..8].copy_from_slice(&self.worker.to_le_bytes());
        header[8..12].copy_from_slice(&self.pid.to_le_bytes());
        header[12..16].copy_from_slice(&self.status.to_le_bytes());
        header[16..20].copy_from_slice(&(data.len() as u32).to_le_bytes());
        header
    }
}

/// One message that was received. Fields that a kind does not use are 0.
#[derive(Debug)]
pub(crate) struct Message {
    /// What it is about.
    pub(crate) kind: Kind,
    /// Worker, or number of a zygote, by kind.
    pub(crate) worker: u32,
    pub(crate) pid: i32,
    /// Wait status or errno, by kind.
    pub(crate) status: i32,
    pub(crate) data: Vec<u8>,
    /// File descriptors that came with it.
    pub(crate) fds: Vec<OwnedFd>,
    /// A descriptor was dropped, since this process has no room for it.
    pub(crate) cut: bool,
    /// Held until the message has been handled: only a limited number per peer may wait.
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

/// Why a control socket cannot be used any longer.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The zygote has closed its end: it has exited.
    #[error("the PHP process has closed its control socket")]
    Closed,
    /// The operating system refused.
    #[error("control socket: {0}")]
    Io(#[from] std::io::Error),
    /// The peer does not follow the protocol.
    #[error("the PHP process sent a control message of a different version of howdah")]
    Malformed,
    /// The message is well-formed, but contradicts the state.
    #[error("invalid control message from the PHP process: {0}")]
    Unmeant(String),
    /// The peer does not read.
    #[error("the PHP process does not read control messages")]
    Full,
}

impl ControlError {
    /// The error of a failed send. The kernel reports whether the peer has closed its end.
    fn of_send(error: std::io::Error) -> Self {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::PIPE | Errno::CONNRESET) => Self::Closed,
            _ => Self::Io(error),
        }
    }

    /// The peer runs, and violates the protocol.
    pub(crate) fn is_breach(&self) -> bool {
        matches!(self, Self::Malformed | Self::Unmeant(_) | Self::Full)
    }
}

/// The front's end of a control socket.
#[derive(Debug)]
pub(crate) struct Control {
    fd: AsyncFd<OwnedFd>,
}

impl Control {
    /// A connected pair: this end, and the end for the zygote. Must be called in a runtime.
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

    /// Adopts the end of a pair that the monitor created, or that a test uses to play a zygote.
    /// Must be called in a runtime.
    pub(crate) fn adopt(fd: OwnedFd) -> std::io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        let fd = register(fd, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self { fd })
    }

    /// Sends one message with a pid and a status, as zygotes do.
    #[cfg(test)]
    pub(crate) async fn report(
        &self,
        header: Header,
        data: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), ControlError> {
        self.transmit(header, data, fds).await
    }

    /// Like [`report`](Self::report), as it arrives when there is no room for its descriptor.
    #[cfg(test)]
    pub(crate) async fn report_cut(&self, header: Header) -> Result<(), ControlError> {
        let mut header = header.encode(b"");
        header[20..24].copy_from_slice(&LEFT_OUT.to_le_bytes());
        let io = self.fd.async_io(Interest::WRITABLE, |socket| {
            Ok(write(socket, &header, b"", &[])?)
        });
        Ok(io.await?)
    }

    /// Sends one message; waits when the socket is full.
    pub(crate) async fn send(
        &self,
        kind: Kind,
        worker: u32,
        data: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), ControlError> {
        self.transmit(Header::new(kind, worker), data, fds).await
    }

    async fn transmit(
        &self,
        header: Header,
        data: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), ControlError> {
        let header = header.encode(data);
        let io = self.fd.async_io(Interest::WRITABLE, |socket| {
            Ok(write(socket, &header, data, fds)?)
        });
        io.await.map_err(ControlError::of_send)
    }

    /// Sends one message if there is room for it: waiting for a peer that does not read would block the caller.
    pub(crate) fn offer(
        &self,
        kind: Kind,
        worker: u32,
        data: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), ControlError> {
        let header = Header::new(kind, worker).encode(data);
        loop {
            return match write(self.fd.get_ref(), &header, data, fds) {
                Ok(()) => Ok(()),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => Err(ControlError::Full),
                Err(error) => Err(ControlError::of_send(error.into())),
            };
        }
    }

    /// Waits for the next message.
    pub(crate) async fn receive(&self) -> Result<Message, ControlError> {
        self.receive_in(&mut receive_buffer()).await
    }

    /// Like [`receive`](Self::receive), with a buffer that is reused.
    async fn receive_in(&self, buffer: &mut [u8]) -> Result<Message, ControlError> {
        let (size, flags, fds) = self
            .fd
            .async_io(Interest::READABLE, |socket| {
                let mut space =
                    [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_RECEIVED))];
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
                Ok((received.bytes, received.flags, fds))
            })
            .await?;
        if size == 0 {
            return Err(ControlError::Closed);
        }
        if flags.contains(ReturnFlags::TRUNC) {
            return Err(ControlError::Malformed);
        }
        let cut = flags.contains(ReturnFlags::CTRUNC) && fds.is_empty();
        decode(&buffer[..size], fds, cut)
    }
}

fn write(
    socket: &OwnedFd,
    header: &[u8],
    data: &[u8],
    fds: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::TOOBIG);
    }
    let parts = [IoSlice::new(header), IoSlice::new(data)];
    rustix::net::sendmsg(socket, &parts, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// A control socket and the task that listens to it. Dropping it closes the socket, which notifies the
/// zygote to exit.
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
            let room = Arc::new(Semaphore::new(WAITING_MAX));
            loop {
                // It is never closed.
                let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
                    return;
                };
                let mut message = listening.receive_in(&mut buffer).await;
                if let Ok(message) = &mut message {
                    message.room = Some(permit);
                }
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

/// Space for the largest message.
fn receive_buffer() -> Vec<u8> {
    vec![0; HEADER_SIZE + DATA_SIZE_MAX]
}

fn decode(bytes: &[u8], fds: Vec<OwnedFd>, cut: bool) -> Result<Message, ControlError> {
    let (header, data) = bytes
        .split_at_checked(HEADER_SIZE)
        .ok_or(ControlError::Malformed)?;
    let word = |index: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&header[index * 4..index * 4 + 4]);
        u32::from_le_bytes(word)
    };
    // Set by a test that plays a server without room for descriptors.
    #[cfg(test)]
    let cut = cut || word(5) == LEFT_OUT;
    if word(4) as usize != data.len() || (word(5) != 0 && !cut) {
        return Err(ControlError::Malformed);
    }
    Ok(Message {
        kind: Kind::from_u32(word(0)).ok_or(ControlError::Malformed)?,
        worker: word(1),
        pid: word(2).cast_signed(),
        status: word(3).cast_signed(),
        data: data.to_vec(),
        fds,
        cut,
        room: None,
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
    async fn a_closed_peer_is_distinguished() {
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
            decode(b"short", vec![], false),
            Err(ControlError::Malformed)
        ));
        let mut bytes = vec![0; HEADER_SIZE];
        bytes[0] = 99;
        assert!(matches!(
            decode(&bytes, vec![], false),
            Err(ControlError::Malformed)
        ));
        bytes[0] = 5;
        bytes[16] = 1;
        assert!(matches!(
            decode(&bytes, vec![], false),
            Err(ControlError::Malformed)
        ));
    }

    proptest::proptest! {
        #[test]
        fn any_input_is_refused_or_read_unchanged(
            mut bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
            kind in 0u8..16, fit: bool,
        ) {
            // Most random headers would be refused because of their first word.
            if let Some(size) = bytes.len().checked_sub(HEADER_SIZE) {
                bytes[0..4].copy_from_slice(&u32::from(kind).to_le_bytes());
                if fit {
                    bytes[16..20].copy_from_slice(&(size as u32).to_le_bytes());
                    bytes[20..24].fill(0);
                }
            }
            if let Ok(message) = decode(&bytes, vec![], false) {
                proptest::prop_assert_eq!(message.data, &bytes[HEADER_SIZE..]);
                proptest::prop_assert_eq!(message.kind as u32, u32::from(kind));
                proptest::prop_assert_eq!(message.worker.to_le_bytes(), &bytes[4..8]);
            }
        }
    }
}
