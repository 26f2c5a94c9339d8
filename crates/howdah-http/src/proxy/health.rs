//! How upstreams are asked whether they are well.

use howdah_config::model::HealthCheck;
use http::header::{HOST, USER_AGENT};
use http::{Method, Request, StatusCode};

use super::upload::{Source, Upload};
use super::{Upstreams, failure};
use crate::balance::Balancer;
use crate::health;

impl health::Upstreams for Upstreams {
    fn balancer(&self) -> &Balancer {
        &self.balancer
    }

    async fn ask(&self, index: usize, check: &HealthCheck) -> Result<StatusCode, String> {
        let source = Source::new(None, 0, check.timeout);
        let request = Request::builder()
            .method(Method::GET)
            .uri(format!("http://u{index}{}", check.uri))
            .header(HOST, self.hosts[index].name.clone())
            .header(USER_AGENT, "Howdah")
            .body(Upload(source))
            .map_err(|error| error.to_string())?;
        let answer = self.client.request(request).await;
        let answer = answer.map_err(|error| failure(&error).to_string())?;
        Ok(answer.status())
    }
}
