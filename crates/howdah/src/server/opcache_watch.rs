//! Looks after OPcache while the server runs: tells what to set when something of it is full, and has a fresh tree
//! take the place of one whose memory is used up by code that is no longer valid. OPcache's own way, to begin again
//! in place, does not exist under booted code (docs/adr/0012-opcache-under-booted-code.md).

use std::time::{Duration, Instant};

use howdah_pool::OpcacheOrder;

use super::control::ServerControl;
use crate::php::opcache::{OpcacheWarnings, worn_out};

/// Interval between checks. `opcache_reset()` is reported immediately.
const LOOK: Duration = Duration::from_secs(10);
/// Between two fresh trees that nobody asked for.
const BETWEEN: Duration = Duration::from_secs(60);

/// Looks after it until the server ends.
pub(crate) async fn look_after(control: ServerControl) {
    let mut warnings = OpcacheWarnings::default();
    let mut pending = false;
    let mut renewed: Option<Instant> = None;
    loop {
        let trees = control.trees();
        // No reply: PHP is starting, which the supervisor reports.
        let answer = trees.handle().opcache(OpcacheOrder::default()).await;
        let opcache = answer.ok().and_then(|answer| answer.opcache);
        control.server_state().set_opcache(opcache);
        if let Some(opcache) = opcache {
            warnings.report(&opcache);
            let was_pending = std::mem::replace(&mut pending, opcache.restart_pending != 0);
            let reason = worn_out(&opcache, was_pending);
            if let Some(reason) = reason
                && renewed.is_none_or(|renewed| renewed.elapsed() >= BETWEEN)
            {
                renewed = Some(Instant::now());
                // It has logged how it went.
                let _ = control.renew_for(reason).await;
                continue;
            }
        }
        let handle = control.trees().handle();
        let reset = handle.opcache_reset();
        let _ = tokio::time::timeout(LOOK, reset).await;
    }
}
