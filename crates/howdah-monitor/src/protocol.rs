//! The socket between server and monitor: a request of fixed numbers and up to two paths, and a reply of an error
//! number and another number. Each is one message, which may carry descriptors.
//!
//! ```text
//! request   operation, two numbers, size of the first path: 4 bytes each; both paths
//! reply     error number (0: done), result: 4 bytes each
//! ```

use std::ffi::OsStr;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

use crate::receiver::Receiver;

const PATH_MAX: usize = 4096;
const HEADER: usize = 16;
/// Maximum size of a request.
pub(crate) const REQUEST_MAX: usize = HEADER + 2 * PATH_MAX;
/// Descriptors of a message: the socket and the pidfd of a started program, or the ends of a pipe.
const DESCRIPTORS_MAX: usize = 2;

/// The requested operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Operation {
    /// A descriptor of the first path, by `flags` and `mode`.
    Open = 1,
    /// Renames the first path to the second.
    Rename = 2,
    /// Links the second path to the first.
    Link = 3,
    Remove = 4,
    /// Including its parents.
    MakeFolder = 5,
    /// Reads the configuration again. Without paths.
    Renew = 6,
    /// Gives the file of a descriptor to the user `flags` and the group `mode`.
    Give = 7,
    /// Starts the program with the key of `flags` and `mode`, which writes to the descriptor. The result is its pid;
    /// its socket and its pidfd come with it.
    Start = 8,
    /// Sends the signal `flags` to the process of a pidfd.
    Signal = 9,
    /// The result is the wait status of the program with the pid `flags`, which has exited.
    Reap = 10,
    /// A descriptor of the file `mode` ([`ProcFile`](crate::process::ProcFile)) of the process with the pid `flags`.
    Inspect = 11,
    /// A descriptor of a new file of the user `flags` and the group `mode`, with the first path as its name in the folder
    /// of a descriptor.
    CreateFor = 12,
    /// Both ends of a pipe that the group `mode` can open for writing.
    PipeFor = 13,
}

impl Operation {
    fn from_u32(value: u32) -> Option<Self> {
        Some(match value {
            1 => Self::Open,
            2 => Self::Rename,
            3 => Self::Link,
            4 => Self::Remove,
            5 => Self::MakeFolder,
            6 => Self::Renew,
            7 => Self::Give,
            8 => Self::Start,
            9 => Self::Signal,
            10 => Self::Reap,
            11 => Self::Inspect,
            12 => Self::CreateFor,
            13 => Self::PipeFor,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request<'r> {
    pub(crate) operation: Operation,
    pub(crate) flags: u32,
    pub(crate) mode: u32,
    pub(crate) path: &'r Path,
    pub(crate) other: &'r Path,
}

impl<'r> Request<'r> {
    /// A request without paths.
    pub(crate) fn of_numbers(operation: Operation, flags: u32, mode: u32) -> Self {
        Self {
            operation,
            flags,
            mode,
            path: Path::new(""),
            other: Path::new(""),
        }
    }

    /// The user and group that the two numbers name.
    pub(crate) fn receiver(&self) -> Receiver {
        let (uid, gid) = (self.flags, self.mode);
        Receiver { uid, gid }
    }

    pub(crate) fn send(
        &self,
        socket: impl AsFd,
        descriptor: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        let (path, other) = (self.path.as_os_str(), self.other.as_os_str());
        if path.len() > PATH_MAX || other.len() > PATH_MAX {
            return Err(Errno::NAMETOOLONG.into());
        }
        let numbers = [
            self.operation as u32,
            self.flags,
            self.mode,
            u32::try_from(path.len()).unwrap_or(u32::MAX),
        ];
        let header = numbers.map(u32::to_le_bytes).concat();
        let parts = [&header[..], path.as_bytes(), other.as_bytes()].map(IoSlice::new);
        let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
        send(socket, &parts, &descriptors)
    }

    /// `None`: the message is invalid.
    pub(crate) fn decode(bytes: &'r [u8]) -> Option<Self> {
        let (header, paths) = bytes.split_at_checked(HEADER)?;
        let word = |index: usize| {
            let word = header.get(4 * index..4 * index + 4)?;
            Some(u32::from_le_bytes(word.try_into().ok()?))
        };
        let size = usize::try_from(word(3)?).ok()?;
        let (path, other) = paths.split_at_checked(size)?;
        let path_of = |bytes: &'r [u8]| Path::new(OsStr::from_bytes(bytes));
        (path.len() <= PATH_MAX && other.len() <= PATH_MAX && !paths.contains(&0)).then_some(Self {
            operation: Operation::from_u32(word(0)?)?,
            flags: word(1)?,
            mode: word(2)?,
            path: path_of(path),
            other: path_of(other),
        })
    }
}

/// The result of an operation.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) result: i32,
    pub(crate) descriptors: Vec<OwnedFd>,
}

impl From<OwnedFd> for Reply {
    fn from(descriptor: OwnedFd) -> Self {
        Self {
            result: 0,
            descriptors: vec![descriptor],
        }
    }
}

/// Replies to a request.
pub(crate) fn reply(socket: impl AsFd, done: &io::Result<Reply>) -> io::Result<()> {
    let unknown = Errno::IO.raw_os_error();
    let (code, result, descriptors) = match done {
        Ok(reply) => (0, reply.result, &reply.descriptors[..]),
        Err(error) => (error.raw_os_error().unwrap_or(unknown), 0, &[][..]),
    };
    let numbers = [code, result].map(i32::to_le_bytes).concat();
    let descriptors: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
    send(socket, &[IoSlice::new(&numbers)], &descriptors)
}

/// Waits for the reply to a request.
pub(crate) fn receive_reply(socket: impl AsFd) -> io::Result<Reply> {
    let mut numbers = [0; 8];
    let received = receive(socket, &mut numbers)?;
    if received.size != numbers.len() {
        return Err(Errno::CONNRESET.into());
    }
    let [code, result] =
        [0, 4].map(|at| i32::from_le_bytes([0, 1, 2, 3].map(|byte| numbers[at + byte])));
    match code {
        0 => Ok(Reply {
            result,
            descriptors: received.descriptors,
        }),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

pub(crate) fn send(
    socket: impl AsFd,
    parts: &[IoSlice<'_>],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    loop {
        match rustix::net::sendmsg(&socket, parts, &mut ancillary, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return sent.map(drop).map_err(io::Error::from),
        }
    }
}

#[derive(Debug)]
pub(crate) struct ReceivedMessage {
    /// Its length; 0 at the end.
    pub(crate) size: usize,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// The next message.
pub(crate) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<ReceivedMessage> {
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(buffer)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = match rustix::net::recvmsg(&socket, &mut parts, &mut ancillary, flags) {
            Err(Errno::INTR) => continue,
            received => received?,
        };
        let rights = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(rights) => Some(rights),
            _ => None,
        });
        return Ok(ReceivedMessage {
            size: received.bytes,
            descriptors: rights.flatten().collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    fn pair() -> (OwnedFd, OwnedFd) {
        let kind = SocketType::SEQPACKET;
        socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("a pair")
    }

    #[test]
    fn a_request_arrives_as_it_was_sent() {
        let (one, other) = pair();
        let request = Request {
            operation: Operation::Rename,
            flags: 7,
            mode: 0o600,
            path: Path::new("/a b"),
            other: Path::new("/c"),
        };
        let mut buffer = [0; REQUEST_MAX];
        for count in [0, 1] {
            let sent = (count == 1).then(|| one.as_fd());
            request.send(&one, sent).expect("sent");
            let received = receive(&other, &mut buffer).expect("received");
            assert_eq!(received.descriptors.len(), count);
            assert_eq!(Request::decode(&buffer[..received.size]), Some(request));
        }
        drop(one);
        assert_eq!(receive(&other, &mut buffer).expect("the end").size, 0);
    }

    #[test]
    fn invalid_requests_are_none() {
        let valid = |operation: u32, size: u32, paths: &[u8]| {
            let header = [operation, 0, 0, size].map(u32::to_le_bytes).concat();
            let bytes = [&header[..], paths].concat();
            Request::decode(&bytes).is_some()
        };
        assert!(valid(1, 2, b"/a"));
        assert!(!valid(0, 2, b"/a") && !valid(99, 2, b"/a"));
        assert!(!valid(1, 3, b"/a") && !valid(1, u32::MAX, b"/a"));
        assert!(!valid(1, 3, b"/\0a"));
        assert!(!valid(1, 5000, &[b'a'; 5000]));
        assert!(Request::decode(b"short").is_none());
    }

    #[test]
    fn a_reply_has_descriptors_or_an_error() {
        let (one, other) = pair();
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let done = Reply {
            result: -7,
            descriptors: vec![writer.into(), other.try_clone().expect("a descriptor")],
        };
        reply(&one, &Ok(done)).expect("sent");
        let received = receive_reply(&other).expect("done");
        assert_eq!((received.result, received.descriptors.len()), (-7, 2));
        let writer = received.descriptors.into_iter().next();
        std::fs::File::from(writer.expect("two"))
            .write_all(b"through")
            .expect("written");
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "through");
        reply(&one, &Err(Errno::ACCESS.into())).expect("sent");
        let error = receive_reply(&other).expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        drop(one);
        assert!(receive_reply(&other).is_err());
    }
}
