//! Active health checks: a GET request for `health_uri`. PHP-FPM responds itself at its `ping.path`
//! and `pm.status_path`; for other paths it runs a script.

use std::rc::Rc;

use howdah_cgi::{Input, split_path};
use howdah_config::model::{HealthCheck, Upstream};
use http::header::{HOST, HeaderValue, USER_AGENT};
use http::{HeaderMap, Method, StatusCode, Uri, Version};

use super::{FastCgi, opening};
use crate::answer::upstream::balance::Balancer;
use crate::answer::upstream::health;
use crate::listen::unix;
use crate::message::path;
use crate::message::request::RequestBody;

impl health::Upstreams for FastCgi {
    fn balancer(&self) -> &Balancer {
        &self.balancer
    }

    async fn probe(&self, index: usize, check: &HealthCheck) -> Result<StatusCode, String> {
        let start = self.encode_request(index, check)?;
        let sent = (start.into(), Rc::new(RequestBody::Empty));
        let response = self.exchange(index, (None, &Method::GET), sent, None).await;
        let response = response.map_err(|failure| failure.to_string())?;
        let (head, mut body) = response.into_parts();
        // A response that is cut off does not count.
        while let Some(part) = std::future::poll_fn(|cx| body.poll(cx)).await {
            part.map_err(|error| error.to_string())?;
        }
        Ok(head.status)
    }
}

impl FastCgi {
    /// Encodes the start of the request with all variables. `Err`: what is invalid.
    fn encode_request(&self, index: usize, check: &HealthCheck) -> Result<Vec<u8>, String> {
        let uri: Uri = check
            .uri
            .parse()
            .map_err(|error: http::uri::InvalidUri| error.to_string())?;
        let path = path::normalise(uri.path()).map_err(|error| error.to_string())?;
        let (name, info) = split_path(&path, &self.split).unwrap_or((&*path, ""));
        let mut headers = HeaderMap::new();
        let host = match &self.options.upstreams[index] {
            Upstream::Tcp { .. } => self.balancer.name(index),
            Upstream::Unix(_) => "localhost",
        };
        // Any printable name is a valid value.
        if let Ok(host) = HeaderValue::from_str(host) {
            headers.insert(HOST, host);
        }
        headers.insert(USER_AGENT, HeaderValue::from_static("Howdah"));
        let input = Input {
            id: 0,
            method: &Method::GET,
            target: &uri,
            query: uri.query().unwrap_or_default(),
            version: Version::HTTP_11,
            headers: &headers,
            remote: unix::CLIENT,
            local: unix::ADDRESS,
            scheme: "http",
            root: self.root.get().map_or("/", |root| root),
            script_name: name,
            path_info: info,
            script_filename: None,
            body_size: 0,
            tls_protocol: "",
            tls_cipher: "",
            remote_user: None,
            env: &self.env,
        };
        opening(&input).map_err(|error| error.to_string())
    }
}
