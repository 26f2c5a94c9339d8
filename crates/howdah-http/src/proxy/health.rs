//! Active checks: each front thread asks its upstreams whether they are well, from its first request on.

use std::rc::{Rc, Weak};

use howdah_config::model::HealthCheck;
use http::{Method, Request};

use super::Upstreams;
use super::upload::{Source, Upload};

impl Upstreams {
    /// Starts the checks, if there are any and they are not under way.
    pub(super) fn watch(self: &Rc<Self>) {
        let Some(check) = &self.health else { return };
        if self.is_watched.replace(true) {
            return;
        }
        for index in 0..self.states.len() {
            tokio::task::spawn_local(watch(Rc::downgrade(self), index, check.clone()));
        }
    }

    async fn is_well(&self, index: usize, check: &HealthCheck) -> bool {
        let source = Source::new(None, 0, check.timeout);
        let request = Request::builder()
            .method(Method::GET)
            .uri(format!("http://u{index}{}", check.uri))
            .header(http::header::HOST, self.states[index].name.as_str())
            .header(http::header::USER_AGENT, "Howdah")
            .body(Upload(source));
        let Ok(request) = request else { return false };
        let asked = tokio::time::timeout(check.timeout, self.client.request(request)).await;
        let (first, last) = check.status;
        asked.is_ok_and(|answer| {
            answer.is_ok_and(|answer| (first..=last).contains(&answer.status().as_u16()))
        })
    }
}

/// Ends with the upstreams.
async fn watch(upstreams: Weak<Upstreams>, index: usize, check: HealthCheck) {
    while let Some(upstreams) = upstreams.upgrade() {
        let is_ill = !upstreams.is_well(index, &check).await;
        let state = &upstreams.states[index];
        if state.is_ill.replace(is_ill) != is_ill {
            let upstream = &state.name;
            if is_ill {
                tracing::warn!(target: "howdah::proxy", %upstream, "an upstream is not well and gets no requests");
            } else {
                tracing::info!(target: "howdah::proxy", %upstream, "an upstream is well again");
            }
        }
        drop(upstreams);
        tokio::time::sleep(check.interval).await;
    }
}
