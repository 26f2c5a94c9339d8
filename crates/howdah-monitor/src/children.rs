//! The programs that the monitor has started for the server.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, Signal, Uid, pidfd_open, pidfd_send_signal};

use crate::acting::as_user;
use crate::process::{Identity, Program, identity, status};
use crate::protocol::{Reply, send};

/// A worker has a pool's zygote and the root zygote above it; what PHP code starts may have some more.
const LEVELS_MAX: u32 = 16;

/// A server has a root zygote, more of them for a while after reloads, and RoadRunner's workers of other users.
const CHILDREN_MAX: usize = 4096;

/// Processes that were not reaped yet: their numbers are not reused.
#[derive(Debug, Default)]
pub(crate) struct Children(Vec<Child>);

impl Children {
    pub(crate) fn start(&mut self, program: &Program, output: OwnedFd) -> io::Result<Reply> {
        if self.0.len() >= CHILDREN_MAX {
            return Err(Errno::AGAIN.into());
        }
        let kind = SocketType::SEQPACKET;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        // It fits into the buffer of a new socket.
        send(&ours, &[IoSlice::new(&program.first_message)], &[])?;
        let child = Command::new(&program.executable)
            .args(&program.arguments)
            .env_clear()
            .envs(
                program
                    .environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(output.try_clone()?))
            .stderr(Stdio::from(output))
            .spawn()?;
        let pid = Pid::from_child(&child);
        self.0.push(child);
        Ok(Reply {
            result: pid.as_raw_nonzero().get(),
            descriptors: vec![ours, pidfd_open(pid, PidfdFlags::empty())?],
        })
    }

    /// Sends a signal to one of these programs, or to a process below it.
    pub(crate) fn signal(&self, pidfd: BorrowedFd<'_>, signal: Signal) -> io::Result<()> {
        let pid = match identity(pidfd)? {
            Identity::Pid(pid) if self.is_above(pid)? => pid,
            Identity::Reaped => return Err(Errno::SRCH.into()),
            Identity::Pid(_) | Identity::NotAProcess => return Err(Errno::ACCESS.into()),
        };
        // The number belongs to this process only until it is reaped; and a reaped process gets no signal.
        let attempt = || pidfd_send_signal(pidfd.as_fd(), signal);
        match attempt() {
            Err(Errno::PERM) => {
                let user = status(pid)?.uids.first().copied().map(Uid::from_raw);
                as_user(user.ok_or(Errno::PERM)?, None, || Ok(attempt()?))
            }
            result => Ok(result?),
        }
    }

    fn is_above(&self, pid: i32) -> io::Result<bool> {
        let mut at = pid;
        for _ in 0..LEVELS_MAX {
            if self.0.iter().any(|own| own.id().cast_signed() == at) {
                return Ok(true);
            }
            if at <= 1 {
                return Ok(false);
            }
            at = status(at)?.parent;
        }
        Ok(false)
    }

    /// The wait status of one that has exited.
    pub(crate) fn reap(&mut self, pid: i32) -> io::Result<Reply> {
        let own = |child: &Child| child.id().cast_signed() == pid;
        let place = self.0.iter().position(own).ok_or(Errno::CHILD)?;
        self.0[place].try_wait()?.ok_or(Errno::AGAIN)?;
        let status = self.0.remove(place).wait()?;
        Ok(Reply {
            result: status.into_raw(),
            ..Reply::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use rustix::net::{RecvFlags, SendFlags, recv};

    use super::*;

    fn shell(script: &str) -> Program {
        Program {
            executable: "/bin/sh".into(),
            arguments: ["-c", script].map(Into::into).into(),
            environment: vec![("NAME".into(), "value".into())],
            first_message: b"first\n".to_vec(),
        }
    }

    /// The socket, and the pidfd.
    fn started(children: &mut Children, script: &str) -> (OwnedFd, OwnedFd, String) {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let reply = children.start(&shell(script), writer.into());
        let mut descriptors = reply.expect("started").descriptors.into_iter();
        let mut both = || descriptors.next().expect("two descriptors");
        let (socket, pidfd) = (both(), both());
        let mut line = [0; 64];
        let size = reader.read(&mut line).expect("a line");
        let line = String::from_utf8_lossy(&line[..size]).trim().to_owned();
        (socket, pidfd, line)
    }

    #[test]
    fn a_program_has_its_environment_and_the_first_message() {
        let mut children = Children::default();
        // A message is read as a whole, which the shell's `read` does not do.
        let script = "PATH=/bin:/usr/bin; first=$(head -c 6); echo $first $NAME ${HOME-none}; echo reply >&0; \
                      head -c 4; exit 7";
        let (socket, pidfd, line) = started(&mut children, script);
        assert_eq!(line, "first value none");
        let mut buffer = [0; 16];
        let (_, size) = recv(&socket, &mut buffer, RecvFlags::empty()).expect("a reply");
        assert_eq!(&buffer[..size], b"reply\n");
        let pid = children.0[0].id().cast_signed();
        assert_eq!(identity(&pidfd).expect("known"), Identity::Pid(pid));
        let running = children.reap(pid).expect_err("it runs");
        assert_eq!(running.kind(), io::ErrorKind::WouldBlock);
        rustix::net::send(&socket, b"end\n", SendFlags::empty()).expect("sent");
        children.0[0].wait().expect("ended");
        let reply = children.reap(pid).expect("it has exited");
        assert_eq!(reply.result, 7 << 8);
        assert!(children.reap(pid).is_err(), "once");
    }

    #[test]
    fn only_its_own_processes_and_their_children_get_signals() {
        let mut children = Children::default();
        // The input of a background command is empty, so it does not wait for input.
        let script = "sh -c 'echo $$; exec sleep 60' & wait";
        let (_socket, pidfd, below) = started(&mut children, script);
        let below = Pid::from_raw(below.parse().expect("a number")).expect("a process");
        let open = |pid| pidfd_open(pid, PidfdFlags::empty()).expect("a pidfd");
        children
            .signal(open(below).as_fd(), Signal::KILL)
            .expect("a descendant");
        let mut stranger = Command::new("sleep").arg("60").spawn().expect("a process");
        let other = open(Pid::from_child(&stranger));
        for refused in [&other, &open(Pid::INIT), &open(rustix::process::getpid())] {
            let error = children
                .signal(refused.as_fd(), Signal::KILL)
                .expect_err("a stranger");
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        }
        assert!(stranger.try_wait().expect("a child").is_none());
        let file = std::fs::File::open("/dev/null").expect("a file");
        assert!(children.signal(file.as_fd(), Signal::KILL).is_err());
        children
            .signal(pidfd.as_fd(), Signal::KILL)
            .expect("its own");
        children.0[0].wait().expect("ended");
        stranger.kill().expect("killed");
        stranger.wait().expect("ended");
    }
}
