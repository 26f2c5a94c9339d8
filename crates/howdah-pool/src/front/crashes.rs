//! What a front thread does about crashes by route: counts them, and refuses requests of routes in quarantine.

use std::rc::Rc;
use std::time::Instant;

use super::Inner;
use super::exchange::ExchangeState;
use crate::crashes::Target;
use crate::response::CallError;

impl Inner {
    /// A process crashed while it ran this request. Whether its route is in quarantine now.
    pub(super) fn count_crash(self: &Rc<Self>, state: &ExchangeState) -> bool {
        let Some(target) = &state.target else {
            return false;
        };
        let now = Instant::now();
        let crash = self.load.crashes.count(target, &self.options.limits, now);
        let (pool, route, crashes) = (&*self.options.name, &*crash.route, crash.count);
        let request_id = format!("{:016x}", state.request_id);
        tracing::info!(target: "howdah::pool", pool, request_id, route, crashes, "a PHP process crashed while \
            running a request of this route");
        let Some(until) = crash.quarantine else {
            return self.load.crashes.quarantine(target, now).is_some();
        };
        let seconds = (until - now).as_secs();
        tracing::warn!(
            target: "howdah::pool", pool, route, crashes, seconds,
            "the route is in quarantine: its requests get a 503, because PHP processes crashed while running them \
            (`max_route_crashes`); see the log of the crashes"
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
        match target.and_then(|target| crashes.quarantine(target, Instant::now())) {
            Some(left) => Err(CallError::Quarantined(left)),
            None => Ok(()),
        }
    }
}
