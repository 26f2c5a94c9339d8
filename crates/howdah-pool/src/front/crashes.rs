//! Crashes by route on a front thread: counts them, and refuses requests of routes in quarantine.

use std::rc::Rc;
use std::time::Instant;

use super::Inner;
use super::exchange::ExchangeState;
use crate::crash_report::{CrashLink, CrashedRequest, text};
use crate::crashes::Target;
use crate::response::CallError;

impl Inner {
    /// Counts a crash while this request ran. Returns whether its route is now in quarantine.
    pub(super) fn count_crash(
        self: &Rc<Self>,
        state: &ExchangeState,
        report: Option<&CrashLink>,
    ) -> bool {
        let Some(target) = &state.target else {
            return false;
        };
        let now = Instant::now();
        let crash = self.load.crashes.count(target, &self.options.limits, now);
        let (pool, route, crashes) = (&*self.options.name, &*crash.route, crash.count);
        let request_id = format!("{:016x}", state.request_id);
        let report = report.map(|report| report.number.get());
        tracing::info!(target: "howdah::pool", pool, request_id, route, crashes, report, "a PHP process crashed while running a request of this route");
        let Some(until) = crash.quarantine else {
            return self.load.crashes.quarantine(target, now).is_some();
        };
        let seconds = (until - now).as_secs();
        tracing::warn!(
            target: "howdah::pool", pool, route, crashes, seconds, report,
            "the route is in quarantine: its requests get a 503, since PHP processes crashed while running them \
             (`max_route_crashes`); `howdah crashes` shows the reason"
        );
        let (inner, route) = (Rc::clone(self), crash.route);
        tokio::task::spawn_local(async move {
            tokio::time::sleep_until(until.into()).await;
            inner.load.crashes.end_quarantine(&route);
            let pool = &*inner.options.name;
            tracing::info!(target: "howdah::pool", pool, route, "the quarantine of the route has ended");
        });
        true
    }

    /// Refuses a request of a route in quarantine.
    pub(super) fn check_quarantine(&self, target: Option<&Target>) -> Result<(), CallError> {
        let crashes = &self.load.crashes;
        if !crashes.has_quarantine() {
            return Ok(());
        }
        match target.and_then(|target| crashes.quarantine(target, Instant::now())) {
            Some(left) => Err(CallError::Quarantined(left)),
            None => Ok(()),
        }
    }
}

impl ExchangeState {
    /// Data for the crash report. `ran`: its code ran; `blamed`: it caused the crash.
    pub(super) fn crashed(&self, ran: bool, blamed: bool) -> CrashedRequest {
        let target = self.target.as_ref();
        CrashedRequest {
            id: format!("{:016x}", self.request_id),
            method: target
                .map_or_else(String::new, |target| text::line(target.method.as_str(), 40)),
            uri: target.map_or_else(String::new, |target| text::masked_uri(target.path.as_str())),
            route: target.map_or_else(String::new, |target| text::line(&target.route(), 300)),
            ran,
            backtrace: Vec::new(),
            blamed,
        }
    }
}
