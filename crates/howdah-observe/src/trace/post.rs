//! One export: a request to the collector, encoded as configured, over HTTP or HTTPS.

use std::io::{self, Write as _};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use prost::Message as _;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::otlp::{document, rejected_spans};
use super::protobuf::{ExportResponse, message};
use super::settings::{Protocol, Settings};
use super::span::Span;

/// Maximum attempts at one export, and the pause before the second, which doubles.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause that a collector may request.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Bytes of a response that are read.
const MAX_RESPONSE: usize = 64 << 10;

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("{0}")]
    Request(#[from] http::Error),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("the collector responded with {status}")]
    Status {
        status: StatusCode,
        /// When it accepts the next attempt.
        after: Option<Duration>,
    },
    #[error("the collector did not respond within {0:?}")]
    Timeout(Duration),
}

impl ExportError {
    /// Whether another attempt may help, according to OTLP.
    fn is_temporary(&self) -> bool {
        match self {
            Self::Status { status, .. } => matches!(status.as_u16(), 429 | 502 | 503 | 504),
            Self::Io(_) | Self::Http(_) | Self::Timeout(_) => true,
            Self::Request(_) | Self::Json(_) => false,
        }
    }

    fn after(&self) -> Option<Duration> {
        match self {
            Self::Status { after, .. } => after.map(|after| after.min(MAX_PAUSE)),
            _ => None,
        }
    }
}

/// The destination of spans.
pub(super) struct Collector {
    settings: Settings,
    /// Connector of an `https` endpoint.
    tls: Option<TlsConnector>,
}

impl Collector {
    /// Reads the certificates of HTTPS.
    pub(super) fn new(settings: Settings) -> Result<Self, howdah_tls::TlsError> {
        let is_https = settings.endpoint.scheme_str() == Some("https");
        let config = is_https
            .then(|| howdah_tls::upstream_config(&settings.tls))
            .transpose()?;
        Ok(Self {
            tls: config.map(|config| TlsConnector::from(std::sync::Arc::new(config))),
            settings,
        })
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Exports spans, in several attempts unless this is the `last` one. Returns how many of them the collector
    /// rejected.
    pub(super) async fn export(&self, spans: &[Span], last: bool) -> Result<u64, ExportError> {
        let body = self.encode(spans)?;
        let mut pause = PAUSE;
        let mut left = if last { 1 } else { TRIES };
        loop {
            left -= 1;
            let limit = self.settings.timeout;
            let sent = tokio::time::timeout(limit, self.post(body.clone()));
            let error = match sent.await {
                Ok(Ok(rejected)) => return Ok(rejected),
                Ok(Err(error)) => error,
                Err(_) => ExportError::Timeout(limit),
            };
            if left == 0 || !error.is_temporary() {
                return Err(error);
            }
            tokio::time::sleep(error.after().unwrap_or(pause)).await;
            pause *= 2;
        }
    }

    fn encode(&self, spans: &[Span]) -> Result<Bytes, ExportError> {
        let resource = &self.settings.resource;
        let body = match self.settings.protocol {
            Protocol::Json => serde_json::to_vec(&document(resource, spans))?,
            Protocol::Protobuf => message(resource, spans).encode_to_vec(),
        };
        if !self.settings.gzip {
            return Ok(body.into());
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&body)?;
        Ok(encoder.finish()?.into())
    }

    /// A connection for each export: they are seconds apart.
    async fn post(&self, body: Bytes) -> Result<u64, ExportError> {
        let endpoint = &self.settings.endpoint;
        let host = endpoint.host().unwrap_or("localhost");
        let default = if self.tls.is_some() { 443 } else { 80 };
        let port = endpoint.port_u16().unwrap_or(default);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((bare, port)).await?;
        let request = self.request(&format!("{host}:{port}"), body)?;
        match &self.tls {
            None => self.send(stream, request).await,
            Some(tls) => {
                let name = ServerName::try_from(bare.to_owned()).map_err(io::Error::other)?;
                let stream = tls.connect(name, stream).await?;
                self.send(stream, request).await
            }
        }
    }

    fn request(&self, authority: &str, body: Bytes) -> Result<Request<Full<Bytes>>, ExportError> {
        let path = self.settings.endpoint.path_and_query();
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(path.map_or("/", http::uri::PathAndQuery::as_str))
            .header(HOST, authority)
            .header(CONTENT_TYPE, self.settings.protocol.media_type())
            .body(Full::new(body))?;
        let headers = request.headers_mut();
        if self.settings.gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        for (name, value) in &self.settings.headers {
            headers.insert(name.clone(), value.clone());
        }
        Ok(request)
    }

    async fn send(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        request: Request<Full<Bytes>>,
    ) -> Result<u64, ExportError> {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let responded = async {
            let response = sender.send_request(request).await?;
            let (head, body) = response.into_parts();
            // It is read to its end, so that the connection can be closed cleanly.
            let body = Limited::new(body, MAX_RESPONSE).collect().await;
            drop(sender);
            let body = body.map(http_body_util::Collected::to_bytes);
            Ok::<_, ExportError>((head, body.unwrap_or_default()))
        };
        let (responded, _) = tokio::join!(responded, connection);
        let (head, body) = responded?;
        if !head.status.is_success() {
            return Err(ExportError::Status {
                status: head.status,
                after: retry_after(&head.headers),
            });
        }
        Ok(match self.settings.protocol {
            Protocol::Json => rejected_spans(&body),
            Protocol::Protobuf => {
                let response = ExportResponse::decode(body).unwrap_or_default();
                let partial = response.partial_success.unwrap_or_default();
                u64::try_from(partial.rejected_spans).unwrap_or(0)
            }
        })
    }
}

/// Reads the pause in seconds; a date is not supported, and the default pause is used.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}
