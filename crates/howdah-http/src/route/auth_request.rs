//! A request to the server of a `forward_auth`, whose response decides whether the client's request continues.

use std::rc::Rc;

use http::Response;
use http::header::HeaderName;

use super::verdict::{CopiedFields, Grant};
use crate::answer::proxy::job::ProxyJob;
use crate::answer::proxy::{self, UploadLimits};
use crate::listen::limits::Limits;
use crate::message::interim::Interim;
use crate::message::reply::{self, Failure};
use crate::message::response::Content;

/// A request to the server of a `forward_auth`.
pub(crate) struct AuthRequest {
    pub(super) copy: Rc<CopiedFields>,
    pub(super) job: Box<ProxyJob>,
}

impl AuthRequest {
    /// `Err`: the response to a request that is denied.
    pub(crate) async fn send(self, limits: &Limits, id: u64) -> Result<Grant, Response<Content>> {
        let limits = UploadLimits::of(0, limits.read_body);
        // There is no body that could be refused.
        let answer = proxy::send(*self.job, None, limits, (id, Interim::NONE), None).await;
        let answer = answer.unwrap_or_else(|_| reply::plain(http::StatusCode::BAD_GATEWAY));
        let is_failure = answer.extensions().get::<Failure>().is_some();
        if is_failure || !answer.status().is_success() {
            return Err(answer);
        }
        let value = |(from, _): &(HeaderName, HeaderName)| {
            let values = answer.headers().get_all(from).iter();
            values.filter(|value| !value.is_empty()).cloned().collect()
        };
        let values = self.copy.0.iter().map(value).collect();
        Ok(Grant::new(&self.copy, values))
    }
}
