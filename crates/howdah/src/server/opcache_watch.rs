//! Watches OPcache while the server runs: logs what to set when a part of it is full, and replaces a tree whose OPcache
//! is filled by code that is no longer valid. OPcache's own restart in place is impossible under booted code
//! (docs/adr/0012-opcache-under-booted-code.md).

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::control::ServerControl;
use crate::php::opcache::{OpcacheWarnings, merged, prefix, renewal_reason};

/// Interval between checks. `opcache_reset()` is reported immediately.
const LOOK: Duration = Duration::from_secs(10);
/// Minimum time between two fresh trees that the server starts by itself.
const BETWEEN: Duration = Duration::from_secs(60);

/// Runs until the server stops.
pub(crate) async fn supervise(control: ServerControl) {
    let mut known: Vec<OpcacheState> = Vec::new();
    let mut renewed: Option<Instant> = None;
    loop {
        // No reply means that PHP is starting, which the supervisor reports.
        let opcaches = control.trees().opcaches().await;
        control.server_state().set_opcache(merged(&opcaches));
        let mut reason = None;
        known.resize_with(opcaches.len(), OpcacheState::default);
        for ((php, opcache), known) in opcaches.iter().zip(&mut known) {
            known.warnings.report(&prefix(php, opcaches.len()), opcache);
            let is_pending = opcache.restart_pending != 0;
            let was_pending = std::mem::replace(&mut known.pending, is_pending);
            reason = reason.or_else(|| renewal_reason(opcache, was_pending));
        }
        if let Some(reason) = reason
            && renewed.is_none_or(|renewed| renewed.elapsed() >= BETWEEN)
        {
            renewed = Some(Instant::now());
            // The result has been logged.
            let _ = control.renew_because(reason).await;
            continue;
        }
        let mut resets = JoinSet::new();
        for handle in control.trees().handles() {
            resets.spawn(async move { handle.opcache_reset().await });
        }
        let _ = tokio::time::timeout(LOOK, resets.join_next()).await;
    }
}

/// The last state of one PHP's OPcache.
#[derive(Default)]
struct OpcacheState {
    warnings: OpcacheWarnings,
    /// It waited for a restart at the last check.
    pending: bool,
}
