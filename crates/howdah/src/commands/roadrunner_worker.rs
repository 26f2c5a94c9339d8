//! `howdah roadrunner-worker`: prepares a process and executes a RoadRunner worker in it. The worker exits with the
//! server, runs as the pool's user, and inherits no descriptors of the server.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::{Gid, Uid, geteuid, setgroups, setresgid, setresuid};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recv, recvmsg};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::set_no_new_privs;

use crate::cli;
use crate::failure::{Failure, Outcome};

/// Maximum length of a message: the address of the plugins.
const MESSAGE_MAX: usize = 256;
/// The required form of that address.
const ADDRESS: &str = "tcp://127.0.0.1:";

/// Returns only if the worker cannot be executed.
pub(crate) fn run(options: &cli::RoadRunnerWorker) -> Outcome {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Failure::Setup(format!("{}: {what}: {error}", howdah_goridge::COMMAND))
    };
    let parent = getppid();
    let rpc = if options.pipes_follow {
        take_pipes().map_err(|error| failed("the pipes did not arrive", &error))?
    } else {
        None
    };
    if let (Some(uid), Some(gid)) = (options.uid, options.gid) {
        let groups: Vec<Gid> = options
            .groups
            .iter()
            .map(|group| Gid::from_raw(*group))
            .collect();
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        let changed = setgroups(&groups)
            .and_then(|()| setresgid(gid, gid, gid))
            .and_then(|()| setresuid(uid, uid, uid));
        changed.map_err(|error| failed("cannot change to the pool's user", &error))?;
    }
    // The server's real user differs from its effective one. A process with that real user could signal the server.
    let own = geteuid();
    setresuid(own, own, own).map_err(|error| failed("cannot become one user", &error))?;
    if options.gains_nothing {
        set_no_new_privs(true).map_err(|error| failed("PR_SET_NO_NEW_PRIVS", &error))?;
    }
    // Set afterwards, since a change of user resets it.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| failed("PR_SET_PDEATHSIG", &error))?;
    if getppid() != parent {
        return Err(failed("not started", &"the server has exited"));
    }
    let Some((program, arguments)) = options.command.split_first() else {
        return Err(failed("no program", &"the command is empty"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(rpc) = rpc {
        command.env("RR_RPC", rpc);
    }
    let error = command.exec();
    Err(failed(&program.to_string_lossy(), &error))
}

/// Takes the standard streams from the socket on standard input, and the address that comes with them.
fn take_pipes() -> io::Result<Option<String>> {
    let socket = io::stdin();
    let mut text = [0; MESSAGE_MAX];
    // The monitor's first message.
    recv(&socket, &mut text, RecvFlags::empty())?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let buffers = &mut [IoSliceMut::new(&mut text)];
    let message = recvmsg(&socket, buffers, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let pipes: Vec<OwnedFd> = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(pipes) => Some(pipes),
            _ => None,
        })
        .flatten()
        .collect();
    let [stdin, stdout, stderr] = &pipes[..] else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    dup2_stdin(stdin)?;
    dup2_stdout(stdout)?;
    dup2_stderr(stderr)?;
    let address = String::from_utf8_lossy(&text[..message.bytes]).into_owned();
    Ok(address.starts_with(ADDRESS).then_some(address))
}
