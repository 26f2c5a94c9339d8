//! The monitor, which stays root beside a server that does not: the server starts it with the same command line, and it
//! exits when their socket is closed. See `howdah_monitor` for its work.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::failure::{Failure, setup};

/// Its name in `ps`.
const NAME: &str = "howdah: monitor";

/// The monitor of this process. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Monitor(Child);

impl Drop for Monitor {
    fn drop(&mut self) {
        howdah_monitor::disconnect();
        // The closed socket stops the monitor.
        let _ = self.0.wait();
    }
}

impl Monitor {
    /// Waits until it has exited unexpectedly.
    pub(crate) async fn exited(&self) -> std::io::Result<()> {
        let pid = Pid::from_child(&self.0);
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let wait = move || {
            // Not reaped here: its owner does that.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
            let _ = sender.send(());
        };
        std::thread::Builder::new()
            .name("monitor".into())
            .spawn(wait)?;
        receiver.await.map_err(std::io::Error::other)
    }
}

/// Starts the monitor of this process, which then gives up root.
pub(crate) fn start() -> Result<Monitor, Failure> {
    let failed = |error: std::io::Error| setup(format_args!("cannot start the monitor: {error}"));
    let kind = SocketType::SEQPACKET;
    let pair = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
    let (ours, theirs) = pair.map_err(|error| failed(error.into()))?;
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0(NAME)
        .arg("monitor")
        .args(std::env::args_os().skip(1))
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        // Not in the terminal's foreground group: an interrupt is for the server.
        .process_group(0);
    for name in howdah_pool::FROM_SERVICE_MANAGER {
        command.env_remove(name);
    }
    let child = command.spawn().map_err(failed)?;
    drop(command);
    howdah_monitor::connect(ours).map_err(failed)?;
    Ok(Monitor(child))
}
