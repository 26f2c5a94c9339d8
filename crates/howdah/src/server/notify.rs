//! Reports the server's state to the service manager (`NOTIFY_SOCKET`), and readiness to `howdah start`.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sd_notify::NotifyState;

/// Status of a server that works as expected.
pub(crate) const SERVING: &str = "serving";
/// Status of a server whose last reload failed.
pub(crate) const NOT_RELOADED: &str =
    "serving the previous configuration: the last reload failed, see the log";

/// Pipe to `howdah start`, if that has started this server, until readiness is reported.
static STARTER: Mutex<Option<File>> = Mutex::new(None);

/// `howdah start` waits at the other end of the standard input: keeps it for [`ready`] alone.
pub(crate) fn keep_start_pipe() -> io::Result<()> {
    let pipe = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    *STARTER.lock().unwrap_or_else(PoisonError::into_inner) = Some(pipe.into());
    Ok(())
}

/// The server serves, with one of the above.
pub(crate) fn ready(status: &str) {
    let starter = STARTER
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(mut starter) = starter {
        // A caller that has stopped waiting needs no report.
        let _ = starter.write_all(b"\n");
    }
    notify(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// The server is about to reload; [`ready`] must follow, whatever the result.
pub(crate) fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        notify(&[NotifyState::Reloading, now]);
    }
}

/// The server will stop, and serves as before for `delay`, in which load balancers stop sending
/// requests.
pub(crate) fn leaving(delay: Duration) {
    let status = format!("leaving: requests are served as before for {delay:?}");
    notify(&[NotifyState::Stopping, NotifyState::Status(&status)]);
}

/// The server finishes its requests and exits.
pub(crate) fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
}

/// Regularly reports that the main thread is alive, twice as often as required; returns immediately if that is not
/// requested (`WATCHDOG_USEC`). Never returns otherwise.
pub(crate) async fn watchdog() {
    let limit = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero());
    let Some(limit) = limit else {
        return;
    };
    let mut tick = tokio::time::interval((limit / 2).max(Duration::from_millis(1)));
    loop {
        tick.tick().await;
        notify(&[NotifyState::Watchdog]);
    }
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(target: "howdah", "the service manager cannot be notified: {error}");
    }
}
