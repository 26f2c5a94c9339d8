//! Checks that a zygote can have forked a process. A control message that names a process brings its pidfd, but a
//! process of the pool's user may have taken over the zygote and send the pidfd of any process: signals are sent only
//! to processes that the kernel confirms as ours.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use howdah_monitor::process::{self, Identity};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::control::{Message, NO_DESCRIPTOR};

/// A wrapper around `howdah-php` that does not `exec` it adds a process in between.
const LEVELS_OF_ROOT: usize = 3;

/// Why a process is not accepted as one of ours.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdentityError {
    /// The descriptor is not a pidfd.
    #[error("a descriptor that is not a pidfd")]
    NotAProcess,
    /// The message names one process and brings the pidfd of another.
    #[error("process {claimed} with the descriptor of process {is}")]
    Another { claimed: i32, is: i32 },
    /// A different process forked it.
    #[error("process {pid}, which is not a child of process {parent}")]
    NotAChild { pid: i32, parent: i32 },
    /// Its user is not the pool's.
    #[error("process {pid}, which does not run as user {uid}")]
    OtherUser { pid: i32, uid: u32 },
    /// The system did not report it.
    #[error("{0}")]
    Unknown(String),
}

/// Expected parent and user of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessIdentity {
    parent: i32,
    levels: usize,
    uid: Option<u32>,
}

/// Decides whether a pidfd and a pid belong to a process that the sender can have forked. Tests that play zygotes with
/// tasks replace it.
pub(crate) type IdentityCheck =
    fn(ProcessIdentity, BorrowedFd<'_>, i32) -> Result<(), IdentityError>;

impl ProcessIdentity {
    /// A pool's zygote, forked by the root.
    pub(crate) fn of_root(root: i32) -> Self {
        Self {
            parent: root,
            levels: LEVELS_OF_ROOT,
            uid: None,
        }
    }

    /// A worker, forked by its pool's zygote. `uid`: the pool's user, if it has one.
    pub(crate) fn of_zygote(zygote: i32, uid: Option<u32>) -> Self {
        Self {
            parent: zygote,
            levels: 1,
            uid,
        }
    }

    /// Queries the kernel. The pidfd of a process that has exited and was reaped signals no
    /// process.
    pub(crate) fn identify(self, pidfd: BorrowedFd<'_>, claimed: i32) -> Result<(), IdentityError> {
        let Some(is) = pid_of(pidfd)? else {
            return Ok(());
        };
        if is != claimed {
            return Err(IdentityError::Another { claimed, is });
        }
        let found = self.verify(is);
        // Only data that was read while the process had its number is valid.
        match (pid_of(pidfd)?, found) {
            (None, _) => Ok(()),
            // The process exists, but the kernel hides it.
            (Some(_), Err(IdentityError::Unknown(text))) => Err(IdentityError::Unknown(format!(
                "{text}; if /proc is mounted with `hidepid`, start the server as root, or write \
                 `ProtectProc=default` in its systemd unit"
            ))),
            (Some(_), found) => found,
        }
    }

    fn verify(self, pid: i32) -> Result<(), IdentityError> {
        let mut status = process::status(pid)?;
        if let Some(uid) = self.uid
            && !status.uids.iter().all(|own| *own == uid)
        {
            return Err(IdentityError::OtherUser { pid, uid });
        }
        for _ in 1..self.levels {
            if status.parent == self.parent || status.parent <= 1 {
                break;
            }
            status = process::status(status.parent)?;
        }
        if status.parent == self.parent {
            Ok(())
        } else {
            let parent = self.parent;
            Err(IdentityError::NotAChild { pid, parent })
        }
    }
}

/// The pidfd of the process that a message names. The inner error says why the process cannot be watched; the outer
/// one, why the message cannot be true.
pub(crate) fn take_process(
    message: &mut Message,
    identity: ProcessIdentity,
    check: IdentityCheck,
) -> Result<Result<OwnedFd, String>, String> {
    let Some(fd) = message.fds.pop() else {
        return Ok(Err(NO_DESCRIPTOR.into()));
    };
    match check(identity, fd.as_fd(), message.pid) {
        Ok(()) => Ok(Ok(fd)),
        Err(IdentityError::Unknown(text)) => Ok(Err(text)),
        Err(stranger) => Err(format!("{:?} with {stranger}", message.kind)),
    }
}

/// Whether a pidfd shows that its process has exited.
pub(crate) fn has_ended(pidfd: BorrowedFd<'_>) -> bool {
    let now = Timespec::try_from(Duration::ZERO).ok();
    matches!(poll(&mut [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)], now.as_ref()), Ok(count) if count > 0)
}

/// The process of a pidfd; `None`: it has exited and was reaped.
fn pid_of(pidfd: BorrowedFd<'_>) -> Result<Option<i32>, IdentityError> {
    match process::identity(pidfd)? {
        Identity::Pid(pid) => Ok(Some(pid)),
        Identity::Reaped => Ok(None),
        Identity::NotAProcess => Err(IdentityError::NotAProcess),
    }
}

impl From<std::io::Error> for IdentityError {
    fn from(error: std::io::Error) -> Self {
        Self::Unknown(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    use std::os::fd::{AsFd, OwnedFd};
    use std::process::{Child, Command, Stdio};

    fn child() -> (Child, OwnedFd, i32) {
        let mut command = Command::new("cat");
        let child = command.stdin(Stdio::piped()).spawn().expect("a process");
        let pid = child.id().cast_signed();
        (child, pidfd(pid), pid)
    }

    fn pidfd(pid: i32) -> OwnedFd {
        let pid = Pid::from_raw(pid).expect("a pid");
        pidfd_open(pid, PidfdFlags::empty()).expect("a pidfd")
    }

    fn own_pid() -> i32 {
        std::process::id().cast_signed()
    }

    fn refused(identity: ProcessIdentity, fd: impl AsFd, claimed: i32) -> String {
        let result = identity.identify(fd.as_fd(), claimed);
        result.expect_err("a stranger").to_string()
    }

    #[test]
    fn a_child_is_known_by_parent_and_user() {
        let (mut process, fd, pid) = child();
        let uid = rustix::process::geteuid().as_raw();
        for identity in [
            ProcessIdentity::of_zygote(own_pid(), Some(uid)),
            ProcessIdentity::of_zygote(own_pid(), None),
            ProcessIdentity::of_root(own_pid()),
        ] {
            identity.identify(fd.as_fd(), pid).expect("a child");
        }
        let text = refused(
            ProcessIdentity::of_zygote(own_pid(), Some(uid + 1)),
            &fd,
            pid,
        );
        assert!(text.contains("does not run as user"), "{text}");
        let text = refused(ProcessIdentity::of_zygote(pid, None), &fd, pid);
        assert!(text.contains("not a child"), "{text}");
        process.kill().expect("killed");
        process.wait().expect("ended");
    }

    #[test]
    fn a_pidfd_of_another_process_is_refused() {
        let (mut process, fd, pid) = child();
        let identity = ProcessIdentity::of_zygote(own_pid(), None);
        assert!(refused(identity, &fd, pid + 1).contains("with the descriptor of process"));
        assert!(refused(identity, pidfd(own_pid()), own_pid()).contains("not a child"));
        assert!(refused(identity, pidfd(1), 1).contains("not a child"));
        let file = std::fs::File::open("/dev/null").expect("a file");
        assert!(refused(identity, &file, pid).contains("not a pidfd"));
        let (reader, _writer) = std::io::pipe().expect("a pipe");
        assert!(refused(identity, &reader, pid).contains("not a pidfd"));
        process.kill().expect("killed");
        process.wait().expect("ended");
    }

    #[test]
    fn a_process_that_exited_gets_no_signal() {
        let (mut process, fd, pid) = child();
        assert!(!has_ended(fd.as_fd()));
        process.kill().expect("killed");
        process.wait().expect("ended");
        assert!(has_ended(fd.as_fd()));
        let identity = ProcessIdentity::of_zygote(1, Some(12345));
        identity.identify(fd.as_fd(), pid).expect("gone");
        pidfd_send_signal(&fd, Signal::KILL).expect_err("nobody is there");
    }
}
