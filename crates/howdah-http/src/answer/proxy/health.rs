//! Active health checks of upstreams.

use howdah_config::model::HealthCheck;
use http::header::{HOST, USER_AGENT};
use http::{Method, Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;

use super::Upstreams;
use super::failure::Failure;
use super::upload::{Source, Upload, UploadLimits};
use crate::answer::upstream::Connector;
use crate::answer::upstream::balance::Balancer;
use crate::answer::upstream::health;

impl health::Upstreams for Upstreams {
    fn balancer(&self) -> &Balancer {
        &self.balancer
    }

    async fn probe(&self, index: usize, check: &HealthCheck) -> Result<StatusCode, String> {
        let probe = async |client: &Client<Connector, Upload>| {
            let source = Source::new(None, UploadLimits::bodiless(check.timeout));
            let mut request = Request::builder()
                .method(Method::GET)
                .uri(format!("http://u{index}{}", check.uri))
                .header(HOST, self.hosts[index].name.clone())
                .header(USER_AGENT, "Howdah")
                .body(Upload(source))
                .map_err(Failure::Request)?;
            let connection = capture_connection(&mut request);
            let answer = client.request(request).await;
            answer.map_err(|error| Failure::of(&error, &connection))
        };
        let answer = match probe(&self.client).await {
            // An upstream that has closed an idle connection is not unhealthy.
            Err(Failure::Lost { .. }) => probe(&self.fresh).await,
            answer => answer,
        };
        let answer = answer.map_err(|failure| failure.to_string())?;
        Ok(answer.status())
    }
}
