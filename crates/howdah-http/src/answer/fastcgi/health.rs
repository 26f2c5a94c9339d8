//! Active health checks: a request for `health_uri`. PHP-FPM responds itself at its `ping.path`
//! and `pm.status_path`; for other paths it runs a script.

use std::rc::Rc;

use howdah_cgi::{Input, split_path};
use howdah_config::model::{HealthCheck, Upstream};
use http::header::{HOST, HeaderMap, HeaderValue};
use http::{Uri, Version};

use super::transfer::Outgoing;
use super::{FastCgi, opening};
use crate::answer::upstream::balance::Balancer;
use crate::answer::upstream::health::{
    self, BODY_MAX, ProbeRequest, ProbeResponse, probe_address, probe_headers, redirect_target,
};
use crate::listen::unix;
use crate::message::path;
use crate::message::request::RequestBody;

impl health::Upstreams for FastCgi {
    fn balancer(&self) -> &Balancer {
        &self.balancer
    }

    async fn probe(
        &self,
        index: usize,
        check: &HealthCheck,
        request: &ProbeRequest,
    ) -> Result<ProbeResponse, String> {
        let address = probe_address(&self.options.upstreams[index], check);
        let host = match &address {
            Upstream::Tcp { .. } => address.to_string(),
            Upstream::Unix(_) | Upstream::Template { .. } => "localhost".to_owned(),
        };
        // Any printable name is a valid value.
        let host = HeaderValue::try_from(host).unwrap_or(HeaderValue::from_static("localhost"));
        let headers = probe_headers(host, check, self.balancer.name(index));
        let start = self.encode_request(&headers, request)?;
        let body = match &request.body {
            text if text.is_empty() => RequestBody::Empty,
            text => RequestBody::Memory(text.clone().into()),
        };
        let outgoing = Outgoing {
            id: None,
            method: &request.method,
            start: start.into(),
            body: Rc::new(body),
        };
        let response = self.exchange(&address, &outgoing, None).await;
        let response = response.map_err(|failure| failure.to_string())?;
        let (head, mut content) = response.into_parts();
        let mut body = Vec::new();
        // A response that is cut off does not count.
        while let Some(part) = std::future::poll_fn(|cx| content.poll(cx)).await {
            let part = part.map_err(|error| error.to_string())?;
            if check.body.is_some() {
                let room = BODY_MAX - body.len();
                body.extend_from_slice(&part[..part.len().min(room)]);
            }
        }
        Ok(ProbeResponse {
            status: head.status,
            redirect: redirect_target(&head.headers, headers.get(HOST)),
            body,
        })
    }
}

impl FastCgi {
    /// Encodes the start of the request with all variables. `Err`: what is invalid.
    fn encode_request(
        &self,
        headers: &HeaderMap,
        request: &ProbeRequest,
    ) -> Result<Vec<u8>, String> {
        let uri: Uri = request
            .uri
            .parse()
            .map_err(|error: http::uri::InvalidUri| error.to_string())?;
        let path = path::normalise(uri.path()).map_err(|error| error.to_string())?;
        let (name, info) = split_path(&path, &self.split).unwrap_or((&*path, ""));
        let input = Input {
            id: 0,
            method: &request.method,
            target: &uri,
            query: uri.query().unwrap_or_default(),
            version: Version::HTTP_11,
            headers,
            remote: unix::CLIENT,
            local: unix::ADDRESS,
            scheme: "http",
            root: self.root.get().map_or("/", |root| root),
            script_name: name,
            path_info: info,
            script_filename: None,
            body_size: request.body.len() as u64,
            tls_protocol: "",
            tls_cipher: "",
            remote_user: None,
            env: &self.env,
        };
        opening(&input).map_err(|error| error.to_string())
    }
}
