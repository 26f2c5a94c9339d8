//! The start of a worker process. The server executes itself, prepares the process and then executes the worker's
//! command: the process exits with the server, gains no privileges, and runs as the pool's user. If only root can
//! change to that user, the monitor starts the same program, and the three pipes follow in a message.

use std::ffi::OsString;
use std::io::{self, IoSlice, PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use howdah_monitor::process::{self, Program};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::options::PoolOptions;

/// The command of the server that becomes a worker.
pub const COMMAND: &str = "roadrunner-worker";
/// The monitor's first message. A message of the server follows, with the pipes and the address of the plugins.
const FIRST_MESSAGE: &[u8] = b"pipes";

/// A worker process that was started.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    pub(crate) process: OsProcess,
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// The worker's ends of its pipes.
struct WorkerPipes {
    stdin: PipeReader,
    stdout: PipeWriter,
    stderr: PipeWriter,
}

/// A process of the operating system.
#[derive(Debug)]
pub(crate) struct OsProcess {
    pub(crate) pid: i32,
    pub(crate) pidfd: OwnedFd,
    parent: Parent,
}

#[derive(Debug)]
enum Parent {
    This(Child),
    Monitor,
}

impl OsProcess {
    /// Its exit status, after the pidfd has reported the exit.
    pub(crate) fn reap(&mut self) -> io::Result<ExitStatus> {
        match &mut self.parent {
            Parent::This(child) => child.wait(),
            Parent::Monitor => process::reap(self.pid),
        }
    }
}

pub(crate) fn kill(pidfd: BorrowedFd<'_>) {
    // It may have exited.
    let _ = process::signal(pidfd, Signal::KILL);
}

impl PoolOptions {
    /// The program with which a monitor starts a worker of this pool.
    #[must_use]
    pub fn program(&self) -> Program {
        Program {
            executable: "/proc/self/exe".into(),
            arguments: self.arguments(true),
            environment: self.all_variables(None),
            first_message: FIRST_MESSAGE.to_vec(),
        }
    }

    fn arguments(&self, has_socket: bool) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![COMMAND.into()];
        if has_socket {
            arguments.push("--pipes-follow".into());
        }
        if self.limits.no_new_privs {
            arguments.push("--no-new-privs".into());
        }
        if let Some(user) = &self.user {
            let groups: Vec<String> = user.groups.iter().map(u32::to_string).collect();
            arguments.push(format!("--uid={}", user.uid).into());
            arguments.push(format!("--gid={}", user.gid).into());
            arguments.push(format!("--groups={}", groups.join(",")).into());
        }
        arguments.push("--".into());
        arguments.extend(self.command.iter().map(Into::into));
        arguments
    }

    fn all_variables(&self, rpc: Option<&str>) -> Vec<(OsString, OsString)> {
        let relay = [
            ("RR_MODE", Some("http")),
            ("RR_RELAY", Some("pipes")),
            ("RR_RPC", rpc),
        ];
        let relay = relay
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let mut variables: Vec<(OsString, OsString)> = relay
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        variables.extend(self.environment.iter().cloned());
        variables
    }

    pub(crate) fn launch(&self, rpc: &str) -> io::Result<WorkerProcess> {
        let ((their_stdin, stdin), (stdout, their_stdout), (stderr, their_stderr)) =
            (io::pipe()?, io::pipe()?, io::pipe()?);
        let pipes = WorkerPipes {
            stdin: their_stdin,
            stdout: their_stdout,
            stderr: their_stderr,
        };
        let process = match self.monitor_key {
            None => self.launch_here(rpc, pipes)?,
            Some(key) => launch_by_monitor(key, rpc, &pipes)?,
        };
        Ok(WorkerProcess {
            process,
            stdin: stdin.into(),
            stdout: stdout.into(),
            stderr: stderr.into(),
        })
    }

    fn launch_here(&self, rpc: &str, pipes: WorkerPipes) -> io::Result<OsProcess> {
        let child = Command::new("/proc/self/exe")
            .args(self.arguments(false))
            .env_clear()
            .envs(self.all_variables(Some(rpc)))
            .stdin(Stdio::from(pipes.stdin))
            .stdout(Stdio::from(pipes.stdout))
            .stderr(Stdio::from(pipes.stderr))
            // Not of a terminal's foreground: an interrupt is for the server.
            .process_group(0)
            .spawn()?;
        let pid = Pid::from_child(&child);
        Ok(OsProcess {
            pidfd: pidfd_open(pid, PidfdFlags::empty())?,
            pid: pid.as_raw_nonzero().get(),
            parent: Parent::This(child),
        })
    }
}

fn launch_by_monitor(key: u64, rpc: &str, pipes: &WorkerPipes) -> io::Result<OsProcess> {
    let started = process::start(key, pipes.stderr.as_fd())?;
    let pipes = [
        pipes.stdin.as_fd(),
        pipes.stdout.as_fd(),
        pipes.stderr.as_fd(),
    ];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&pipes)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let text = [IoSlice::new(rpc.as_bytes())];
    sendmsg(&started.socket, &text, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(OsProcess {
        pid: started.pid,
        pidfd: started.pidfd,
        parent: Parent::Monitor,
    })
}
