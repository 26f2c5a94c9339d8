//! Tells the service manager how the server is, if it wants to know (`NOTIFY_SOCKET`).

use std::time::Duration;

use sd_notify::NotifyState;

/// What is shown of a server that does what it should.
pub(crate) const SERVING: &str = "serving";
/// And of one whose last reload failed.
pub(crate) const NOT_RELOADED: &str =
    "serving what was there before: the last reload failed, see the log";

/// It serves, with one of the above.
pub(crate) fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// It is about to reload; [`ready`] is to follow, however that goes.
pub(crate) fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
}

/// It is about to end, and serves as before for `delay`, in which load balancers turn away from it.
pub(crate) fn leaving(delay: Duration) {
    let status = format!("leaving: requests are served as before for {delay:?}");
    tell(&[NotifyState::Stopping, NotifyState::Status(&status)]);
}

/// It answers what it works on and ends.
pub(crate) fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
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
        tell(&[NotifyState::Watchdog]);
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(target: "howdah", "the service manager cannot be notified: {error}");
    }
}
