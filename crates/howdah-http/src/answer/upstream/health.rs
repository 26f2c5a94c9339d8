//! Active health checks: the front thread of a directive's first request checks its upstreams, for all threads.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use howdah_config::model::HealthCheck;
use http::StatusCode;

use crate::answer::upstream::balance::Balancer;

/// Upstreams that can be probed.
pub(crate) trait Upstreams: 'static {
    fn balancer(&self) -> &Balancer;

    /// Sends a request for `health_uri` to one upstream. `Err`: why it failed. The future is
    /// dropped after the timeout.
    fn probe(
        &self,
        index: usize,
        check: &HealthCheck,
    ) -> impl Future<Output = Result<StatusCode, String>>;
}

/// The checks of a directive.
#[derive(Debug)]
pub(crate) struct Checks {
    check: Option<HealthCheck>,
    /// By this front thread or another.
    is_started: Cell<bool>,
}

impl Checks {
    pub(crate) fn new(check: Option<&HealthCheck>) -> Self {
        Self {
            check: check.cloned(),
            is_started: Cell::new(false),
        }
    }

    /// Starts the checks, if there are any and they do not run yet. They end with the upstreams.
    pub(crate) fn start<U: Upstreams>(&self, upstreams: &Rc<U>) {
        let Some(check) = &self.check else { return };
        if self.is_started.replace(true) || !upstreams.balancer().claim_checks() {
            return;
        }
        for index in 0..upstreams.balancer().len() {
            tokio::task::spawn_local(watch(Rc::downgrade(upstreams), index, check.clone()));
        }
    }
}

async fn watch<U: Upstreams>(upstreams: Weak<U>, index: usize, check: HealthCheck) {
    while let Some(upstreams) = upstreams.upgrade() {
        let outcome = tokio::time::timeout(check.timeout, upstreams.probe(index, &check));
        let outcome = outcome
            .await
            .unwrap_or_else(|_| Err("it did not respond in time".to_owned()))
            .and_then(|status| expect(status, check.status));
        let balancer = upstreams.balancer();
        if balancer.note_health(index, outcome.is_err()) {
            let upstream = balancer.name(index);
            match outcome {
                Err(reason) => {
                    tracing::warn!(target: "howdah::proxy", %upstream, "upstream marked unhealthy: {reason}");
                }
                Ok(()) => {
                    tracing::info!(target: "howdah::proxy", %upstream, "upstream marked healthy again");
                }
            }
        }
        drop(upstreams);
        tokio::time::sleep(check.interval).await;
    }
}

fn expect(status: StatusCode, (first, last): (u16, u16)) -> Result<(), String> {
    if (first..=last).contains(&status.as_u16()) {
        Ok(())
    } else {
        Err(format!("it responded with {status}"))
    }
}
