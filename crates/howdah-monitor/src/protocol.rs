//! The socket between server and monitor: a request of fixed numbers and up to two paths, an answer of an
//! error number and a descriptor. Each is one message.
//!
//! ```text
//! request   operation, flags, mode, size of the first path: 4 bytes each; both paths
//! answer    error number (0: done), 4 bytes; the descriptor travels beside it
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

const PATH_MAX: usize = 4096;
const HEADER: usize = 16;
/// Room for the largest request.
pub(crate) const REQUEST_MAX: usize = HEADER + 2 * PATH_MAX;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Operation {
    /// A descriptor of the first path, by `flags` and `mode`.
    Open = 1,
    /// The first path becomes the second.
    Rename = 2,
    /// The second path becomes another name of the first.
    Link = 3,
    Remove = 4,
    /// With the folders above it.
    MakeFolder = 5,
    /// Reads the configuration again. Without paths.
    Renew = 6,
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
            _ => return None,
        })
    }
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request<'r> {
    pub(crate) operation: Operation,
    pub(crate) flags: u32,
    pub(crate) mode: u32,
    pub(crate) path: &'r Path,
    pub(crate) other: &'r Path,
}

impl<'r> Request<'r> {
    pub(crate) fn send(&self, socket: impl AsFd) -> io::Result<()> {
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
        send(socket, &parts, None)
    }

    /// `None`: it is not one.
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

/// Answers a request.
pub(crate) fn answer(socket: impl AsFd, done: &io::Result<Option<OwnedFd>>) -> io::Result<()> {
    let (code, descriptor) = match done {
        Ok(descriptor) => (0, descriptor.as_ref()),
        Err(error) => (
            error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()),
            None,
        ),
    };
    let code = code.to_le_bytes();
    send(socket, &[IoSlice::new(&code)], descriptor.map(AsFd::as_fd))
}

/// Waits for the answer to a request.
pub(crate) fn receive_answer(socket: impl AsFd) -> io::Result<Option<OwnedFd>> {
    let mut code = [0; 4];
    let (size, descriptor) = receive(socket, &mut code)?;
    if size != code.len() {
        return Err(Errno::CONNRESET.into());
    }
    match i32::from_le_bytes(code) {
        0 => Ok(descriptor),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

fn send(
    socket: impl AsFd,
    parts: &[IoSlice<'_>],
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    loop {
        match rustix::net::sendmsg(&socket, parts, &mut ancillary, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return sent.map(drop).map_err(io::Error::from),
        }
    }
}

/// The size of the next message, 0 at the end, and the descriptor that came with it.
pub(crate) fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> io::Result<(usize, Option<OwnedFd>)> {
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
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
        let descriptor = rights.flatten().next();
        return Ok((received.bytes, descriptor));
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
        request.send(&one).expect("sent");
        let mut buffer = [0; REQUEST_MAX];
        let (size, descriptor) = receive(&other, &mut buffer).expect("received");
        assert!(descriptor.is_none());
        assert_eq!(Request::decode(&buffer[..size]), Some(request));
        drop(one);
        assert_eq!(receive(&other, &mut buffer).expect("the end").0, 0);
    }

    #[test]
    fn what_is_no_request_is_none() {
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
    fn an_answer_is_a_descriptor_or_an_error() {
        let (one, other) = pair();
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        answer(&one, &Ok(Some(writer.into()))).expect("sent");
        let writer = receive_answer(&other).expect("done").expect("a descriptor");
        std::fs::File::from(writer)
            .write_all(b"through")
            .expect("written");
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "through");
        answer(&one, &Err(Errno::ACCESS.into())).expect("sent");
        let error = receive_answer(&other).expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        drop(one);
        assert!(receive_answer(&other).is_err());
    }
}
