//! Active health checks of upstreams.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use howdah_config::model::HealthCheck;
use http::Request;
use http::header::HOST;
use http_body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;

use super::failure::Failure;
use super::http2;
use super::upload::{Source, Upload, UploadLimits};
use super::{ConnectionKey, Upstreams};
use crate::answer::upstream::balance::Balancer;
use crate::answer::upstream::health::{
    self, BODY_MAX, ProbeRequest, ProbeResponse, probe_headers, redirect_target,
};
use crate::answer::upstream::{Connector, PROBED};
use crate::message::incoming::Incoming;

impl health::Upstreams for Upstreams {
    fn balancer(&self) -> &Balancer {
        &self.balancer
    }

    async fn probe(
        &self,
        index: usize,
        check: &HealthCheck,
        ProbeRequest { method, uri, body }: &ProbeRequest,
    ) -> Result<ProbeResponse, String> {
        let host = self.probe_hosts[index].clone();
        let headers = probe_headers(host, check, self.balancer.name(index));
        let probe = async |client: &Client<Connector, Upload>| {
            let body = Bytes::from(body.clone());
            let limits = UploadLimits::of(body.len() as u64, check.timeout);
            let source = Source::new(Some(Incoming::Read(body)), limits);
            let mut headers = headers.clone();
            source.frame(method, &mut headers);
            if let Some(http2) = &self.http2 {
                let body = Upload(source);
                let request = http2::request((method, uri), headers, body, self.is_encrypted)?;
                let key = ConnectionKey {
                    host: format!("{PROBED}{index}"),
                    is_kept: true,
                };
                return http2.send(&key, request).await;
            }
            let mut request = Request::builder()
                .method(method)
                .uri(format!("http://{PROBED}{index}{uri}"))
                .body(Upload(source))
                .map_err(Failure::Request)?;
            *request.headers_mut() = headers;
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
        let status = answer.status();
        let redirect = redirect_target(answer.headers(), headers.get(HOST));
        let mut content = answer.into_body();
        let mut body = Vec::new();
        while check.body.is_some()
            && body.len() < BODY_MAX
            && let Some(frame) = poll_fn(|cx| Pin::new(&mut content).poll_frame(cx)).await
        {
            let frame = frame.map_err(|error| error.to_string())?;
            if let Ok(data) = frame.into_data() {
                body.extend_from_slice(&data);
            }
        }
        body.truncate(BODY_MAX);
        Ok(ProbeResponse {
            status,
            redirect,
            body,
        })
    }
}
