//! Active checks: each front thread asks its upstreams whether they are well, from its first request on.

use std::rc::{Rc, Weak};

use howdah_config::model::HealthCheck;
use http::{Method, Request};

use super::upload::{Source, Upload};
use super::{Upstreams, failure};

impl Upstreams {
    /// Starts the checks, if there are any and they are not under way.
    pub(super) fn watch(self: &Rc<Self>) {
        let Some(check) = &self.health else { return };
        if self.is_watched.replace(true) {
            return;
        }
        for index in 0..self.balancer.len() {
            tokio::task::spawn_local(watch(Rc::downgrade(self), index, check.clone()));
        }
    }

    /// `Err`: why it is not well.
    async fn ask(&self, index: usize, check: &HealthCheck) -> Result<(), String> {
        let source = Source::new(None, 0, check.timeout);
        let request = Request::builder()
            .method(Method::GET)
            .uri(format!("http://u{index}{}", check.uri))
            .header(http::header::HOST, self.balancer.name(index))
            .header(http::header::USER_AGENT, "Howdah")
            .body(Upload(source));
        let request = request.map_err(|error| error.to_string())?;
        let asked = tokio::time::timeout(check.timeout, self.client.request(request));
        let answer = asked
            .await
            .map_err(|_| "it did not answer in time".to_owned())?
            .map_err(|error| failure(&error).to_string())?;
        let status = answer.status();
        let (first, last) = check.status;
        if (first..=last).contains(&status.as_u16()) {
            Ok(())
        } else {
            Err(format!("it answered {status}"))
        }
    }
}

/// Ends with the upstreams.
async fn watch(upstreams: Weak<Upstreams>, index: usize, check: HealthCheck) {
    while let Some(upstreams) = upstreams.upgrade() {
        let asked = upstreams.ask(index, &check).await;
        if upstreams.balancer.note_health(index, asked.is_err()) {
            let upstream = upstreams.balancer.name(index);
            match asked {
                Err(reason) => {
                    tracing::warn!(target: "howdah::proxy", %upstream, "an upstream is not well and gets no requests: {reason}");
                }
                Ok(()) => {
                    tracing::info!(target: "howdah::proxy", %upstream, "an upstream is well again");
                }
            }
        }
        drop(upstreams);
        tokio::time::sleep(check.interval).await;
    }
}
