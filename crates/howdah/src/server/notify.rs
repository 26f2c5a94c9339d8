//! Reports the server's state to the service manager (`NOTIFY_SOCKET`), and to `howdah start` that it serves.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sd_notify::NotifyState;

/// What is shown of a server that does what it should.
pub(crate) const SERVING: &str = "serving";
/// And of one whose last reload failed.
pub(crate) const NOT_RELOADED: &str =
    "serving what was there before: the last reload failed, see the log";

/// Pipe to `howdah start`, if that has started this server, until the start is reported.
static STARTER: Mutex<Option<File>> = Mutex::new(None);

/// `howdah start` waits at the other end of the standard input: keeps it for [`ready`] alone.
pub(crate) fn keep_start_pipe() -> io::Result<()> {
    let pipe = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    *STARTER.lock().unwrap_or_else(PoisonError::into_inner) = Some(pipe.into());
    Ok(())
}

/// It serves, with one of the above.
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

/// It is about to reload; [`ready`] is to follow, however that goes.
pub(crate) fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        notify(&[NotifyState::Reloading, now]);
    }
}

/// It is about to end, and serves as before for `delay`, in which load balancers turn away from it.
pub(crate) fn leaving(delay: Duration) {
    let status = format!("leaving: requests are served as before for {delay:?}");
    notify(&[NotifyState::Stopping, NotifyState::Status(&status)]);
}

/// It answers what it works on and ends.
pub(crate) fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
}

/// Tells it again and again that the main thread is alive, twice as often as it asks for; ends at once if it
/// does not (`WATCHDOG_USEC`). Never ends otherwise.
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
