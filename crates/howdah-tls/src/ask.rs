//! The `ask` endpoint, which permits or denies certificates for names: `on_demand_tls { ask URL }`.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use howdah_config::model::UpstreamTls;
use http_body_util::Empty;
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

use crate::{TlsError, server_config, upstream};

/// Limit of the whole exchange: connection, request and status.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long idle connections are kept, for names that are requested together.
const IDLE: Duration = Duration::from_secs(10);

/// The response of the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    Given,
    Refused,
    /// It does not respond.
    Unknown,
}

/// An endpoint of the user that permits names.
#[derive(Debug)]
pub(crate) struct AskEndpoint {
    url: String,
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    /// It did not respond the last time.
    silent: AtomicBool,
}

impl AskEndpoint {
    /// `url`: `http://` or `https://`, without a fragment.
    pub(crate) fn new(url: &str) -> Result<Self, TlsError> {
        let wrong = |reason: String| TlsError::Ask {
            url: url.to_owned(),
            reason,
        };
        url.parse::<Uri>()
            .map_err(|error| wrong(error.to_string()))?;
        let roots = if url.starts_with("https:") {
            let roots = upstream::roots(&UpstreamTls::default());
            roots.map_err(|error| wrong(error.to_string()))?
        } else {
            RootCertStore::empty()
        };
        let config = ClientConfig::builder_with_provider(server_config::provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self {
            url: url.to_owned(),
            client: Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE)
                .build(connector),
            silent: AtomicBool::new(false),
        })
    }

    /// Queries a host, which contains no characters that a query would have to encode.
    pub(crate) async fn ask(&self, host: &str) -> Permission {
        let answer = match tokio::time::timeout(TIMEOUT, self.exchange(host)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("it did not respond within {} s", TIMEOUT.as_secs())),
        };
        match answer {
            Ok(status) => {
                if self.silent.swap(false, Relaxed) {
                    tracing::info!(target: "howdah::tls", url = self.url, "the `ask` endpoint responds again");
                }
                if status.is_success() {
                    return Permission::Given;
                }
                tracing::debug!(target: "howdah::tls", host, %status, "the `ask` endpoint does not allow a certificate for this name");
                Permission::Refused
            }
            Err(error) => {
                // Once, and not for each name that a client may invent.
                if !self.silent.swap(true, Relaxed) {
                    tracing::warn!(
                        target: "howdah::tls",
                        url = self.url,
                        host,
                        error,
                        "`on_demand_tls`: the `ask` endpoint does not respond; no new name gets a certificate until \
                        it does",
                    );
                }
                Permission::Unknown
            }
        }
    }

    async fn exchange(&self, host: &str) -> Result<StatusCode, String> {
        let separator = if self.url.contains('?') { '&' } else { '?' };
        let request = Request::get(format!("{}{separator}domain={host}", self.url))
            .body(Empty::new())
            .map_err(|error| error.to_string())?;
        let response = self.client.request(request).await;
        Ok(response.map_err(|error| cause(&error))?.status())
    }
}

/// The root cause of a client error, which itself only names the step that failed.
pub(crate) fn cause(mut error: &dyn Error) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
pub(crate) mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Responds to one request with this status line; returns its target.
    pub(crate) async fn answer(listener: &TcpListener, status: &str) -> String {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a byte"));
        }
        let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.expect("sent");
        let head = String::from_utf8(head).expect("text");
        head.lines().next().unwrap_or_default().to_owned()
    }

    #[tokio::test]
    async fn the_status_decides() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        for (path, status, asked, expected) in [
            (
                "/ask",
                "200 OK",
                "GET /ask?domain=a.test HTTP/1.1",
                Permission::Given,
            ),
            (
                "/?key=1",
                "204 No Content",
                "GET /?key=1&domain=a.test HTTP/1.1",
                Permission::Given,
            ),
            (
                "",
                "404 Not Found",
                "GET /?domain=a.test HTTP/1.1",
                Permission::Refused,
            ),
            // Whatever the redirect leads to: it is not a permission.
            (
                "/ask",
                "302 Found",
                "GET /ask?domain=a.test HTTP/1.1",
                Permission::Refused,
            ),
            (
                "/ask",
                "500 Oops",
                "GET /ask?domain=a.test HTTP/1.1",
                Permission::Refused,
            ),
        ] {
            let endpoint = AskEndpoint::new(&format!("http://{address}{path}")).expect("valid");
            let (answer, error) = tokio::join!(endpoint.ask("a.test"), answer(&listener, status));
            assert_eq!(
                (error.as_str(), answer),
                (asked, expected),
                "{path} {status}"
            );
        }
        drop(listener);
        let endpoint = AskEndpoint::new(&format!("http://{address}/")).expect("valid");
        assert_eq!(endpoint.ask("a.test").await, Permission::Unknown);
        assert!(endpoint.silent.load(Relaxed));
    }

    #[test]
    fn an_invalid_url_is_reported() {
        let error = AskEndpoint::new("http://[::1/")
            .expect_err("no URL")
            .to_string();
        assert!(
            error.starts_with("`on_demand_tls { ask http://[::1/ }`: "),
            "{error}"
        );
    }
}
