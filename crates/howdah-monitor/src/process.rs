//! Processes: what the kernel reports about them, and programs that the monitor starts for the server, since they need
//! rights that the server lacks. The monitor starts only programs that the configuration names ([`Program`]), and
//! sends signals only to these and to processes below them.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use crate::client::{ask, is_connected};
use crate::protocol::{Operation, Request};

/// A program that the monitor starts when the server sends its key. Its standard input is one end of a
/// `SOCK_SEQPACKET` pair, and the server gets the other end. Its output is a pipe of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file to execute.
    pub executable: PathBuf,
    /// Arguments after the name.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The first message in its socket, which the server can neither change nor precede.
    pub first_message: Vec<u8>,
}

/// A program that the monitor started.
#[derive(Debug)]
pub struct SpawnedProgram {
    /// The server's end of its socket.
    pub socket: OwnedFd,
    /// Readable once the process has exited.
    pub pidfd: OwnedFd,
    /// Its number, which is not reused before [`reap`].
    pub pid: i32,
}

/// Makes the monitor start the program with this key.
///
/// # Errors
/// The configuration that the monitor has read does not name it (`PermissionDenied`), or it cannot be executed.
pub fn start(key: u64, output: BorrowedFd<'_>) -> io::Result<SpawnedProgram> {
    let [low, high] = halves(key);
    let reply = ask(
        &Request::of_numbers(Operation::Start, low, high),
        Some(output),
    )?;
    let mut descriptors = reply.descriptors.into_iter();
    match (descriptors.next(), descriptors.next()) {
        (Some(socket), Some(pidfd)) => Ok(SpawnedProgram {
            socket,
            pidfd,
            pid: reply.result,
        }),
        // This process has reached its limit of descriptors.
        _ => Err(Errno::MFILE.into()),
    }
}

/// A key in the form of the protocol.
pub(crate) fn halves(key: u64) -> [u32; 2] {
    let bytes = key.to_le_bytes();
    [0, 4].map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte])))
}

/// Sends a signal to a process. The monitor does it if this process lacks the right.
///
/// # Errors
/// Those of `pidfd_send_signal`.
pub fn signal(pidfd: BorrowedFd<'_>, signal: Signal) -> io::Result<()> {
    match pidfd_send_signal(pidfd, signal) {
        Err(Errno::PERM) => {
            let number = signal.as_raw().cast_unsigned();
            let request = Request::of_numbers(Operation::Signal, number, 0);
            ask(&request, Some(pidfd)).map(drop)
        }
        sent => Ok(sent?),
    }
}

/// The exit status of a program that the monitor has started, after its pidfd has reported the exit.
///
/// # Errors
/// It still runs, or has been reaped.
pub fn reap(pid: i32) -> io::Result<ExitStatus> {
    let request = Request::of_numbers(Operation::Reap, pid.cast_unsigned(), 0);
    Ok(ExitStatus::from_raw(ask(&request, None)?.result))
}

/// Result of identifying a pidfd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// It runs, or was not reaped yet.
    Pid(i32),
    /// It has exited and was reaped.
    Reaped,
    /// The descriptor is not a pidfd, or its process is not visible to this one.
    NotAProcess,
}

/// The process of a pidfd.
///
/// # Errors
/// `/proc` cannot be read.
pub fn identity(pidfd: impl AsFd) -> io::Result<Identity> {
    let path = format!("/proc/self/fdinfo/{}", pidfd.as_fd().as_raw_fd());
    let text = std::fs::read_to_string(&path).map_err(|error| unread(&path, &error))?;
    Ok(
        match value(&text, "Pid:").and_then(|pid| pid.parse().ok()) {
            None | Some(0) => Identity::NotAProcess,
            Some(-1) => Identity::Reaped,
            Some(pid) => Identity::Pid(pid),
        },
    )
}

/// A file in `/proc/PID` that everybody may read. If `/proc` is mounted with `hidepid`, as with systemd's
/// `ProtectProc=`, it is hidden from everyone except root, including the server, since PHP is not dumpable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcFile {
    /// Its parent and users.
    Status,
    /// Its state.
    Stat,
    /// Its time on processors.
    Schedstat,
}

impl ProcFile {
    fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Stat => "stat",
            Self::Schedstat => "schedstat",
        }
    }

    pub(crate) fn from_u32(value: u32) -> Option<Self> {
        let all = [Self::Status, Self::Stat, Self::Schedstat];
        all.into_iter().find(|file| *file as u32 == value)
    }

    pub(crate) fn open(self, pid: i32) -> io::Result<File> {
        File::open(format!("/proc/{pid}/{}", self.name()))
    }

    /// Opens it. The monitor does it where the kernel hides it from this process.
    ///
    /// # Errors
    /// The process does not exist, or it is hidden and there is no monitor.
    pub fn of(self, pid: i32) -> io::Result<File> {
        let own = self.open(pid);
        let Err(error) = &own else { return own };
        let hidden = [ErrorKind::NotFound, ErrorKind::PermissionDenied];
        if !hidden.contains(&error.kind()) || !is_connected() {
            return own;
        }
        let request = Request::of_numbers(Operation::Inspect, pid.cast_unsigned(), self as u32);
        let file = ask(&request, None)?.descriptors.into_iter().next();
        file.map(File::from).ok_or_else(|| Errno::MFILE.into())
    }
}

/// What the kernel reports about a process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Status {
    pub parent: i32,
    /// Real, effective, saved, and that of the file system.
    pub uids: Vec<u32>,
}

/// The status of a process.
///
/// # Errors
/// It does not exist, or `/proc` cannot be read.
pub fn status(pid: i32) -> io::Result<Status> {
    let path = format!("/proc/{pid}/status");
    let file = ProcFile::Status.of(pid);
    let text = file.and_then(io::read_to_string);
    let text = text.map_err(|error| unread(&path, &error))?;
    parse(&text).ok_or_else(|| unread(&path, &"it lacks PPid and Uid"))
}

fn parse(text: &str) -> Option<Status> {
    let parent = value(text, "PPid:")?.parse().ok()?;
    let uids = value(text, "Uid:")?.split_ascii_whitespace();
    let uids: Vec<u32> = uids.map(str::parse).collect::<Result<_, _>>().ok()?;
    (uids.len() == 4).then_some(Status { parent, uids })
}

fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    // The kernel escapes a newline in a process's name.
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

fn unread(path: &str, error: &dyn Display) -> io::Error {
    io::Error::other(format!("cannot read {path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_does_not_pass_for_a_field() {
        let text = "Name:\tPPid:\\nUid: 0\nPPid:\t7\nUid:\t1\t2\t3\t4\n";
        let status = parse(text).expect("a status");
        assert_eq!((status.parent, status.uids), (7, vec![1, 2, 3, 4]));
        for text in [
            "",
            "PPid:\t7\n",
            "PPid:\t7\nUid:\t1\n",
            "PPid:\tx\nUid:\t1\t2\t3\t4\n",
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
