//! The HTTPS client for ACME authorities, with errors that contain the URL.

use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use howdah_config::model::UpstreamTls;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::RETRY_AFTER;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient, Problem};
use rustls::{ClientConfig, RootCertStore};

use crate::ask::cause;
use crate::{TlsError, server_config, upstream};

/// Timeout: a machine that drops packets would delay a name for minutes.
const CONNECT: Duration = Duration::from_secs(30);
/// Certificates with their chain have some KiB.
const MAX_ANSWER: usize = 1024 * 1024;

/// Why a request to an authority failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("{url}: {reason}{}", hint(.reason))]
    Connection { url: String, reason: String },
    #[error("{url} responded with status {status}, without an ACME problem document")]
    Status { url: String, status: StatusCode },
    #[error("{url} is not an ACME directory: {reason}; set its URL with `acme_ca` or `dir`")]
    Directory { url: String, reason: String },
    /// It sent `Retry-After`.
    #[error("{problem}; retry after {} s", after.as_secs())]
    Later {
        problem: AuthorityReply,
        after: Duration,
    },
}

/// The authority's error, as far as it is known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthorityReply {
    #[error(transparent)]
    Problem(Problem),
    #[error("{url} responded with status {status}")]
    Status { url: String, status: StatusCode },
}

fn hint(reason: &str) -> &'static str {
    if reason.contains("UnknownIssuer") {
        "; if the authority is your own, name the root of its server's certificate with `acme_ca_root`"
    } else {
        ""
    }
}

/// The root certificates for the authority's own server: those of `acme_ca_root` or of the system.
pub(crate) fn roots(file: Option<&Path>) -> Result<RootCertStore, TlsError> {
    match file {
        None => upstream::roots(&UpstreamTls::default()),
        Some(file) => server_config::authorities(&[file.to_owned()], |file, reason| {
            TlsError::AcmeRoot { file, reason }
        }),
    }
}

/// The HTTPS client for ACME authorities.
pub(crate) struct AuthorityClient {
    directory: String,
    client: Client<HttpsConnector<HttpConnector>, BodyWrapper<Bytes>>,
}

impl AuthorityClient {
    /// Creates a client of the authority with this directory.
    pub(crate) fn new(directory: &str, roots: RootCertStore) -> Result<Self, rustls::Error> {
        let config = ClientConfig::builder_with_provider(server_config::provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only()
            .enable_http1()
            .wrap_connector(http);
        Ok(Self {
            directory: directory.to_owned(),
            client: Client::builder(TokioExecutor::new()).build(connector),
        })
    }
}

impl HttpClient for AuthorityClient {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let url = request.uri().to_string();
        let is_directory = url == self.directory;
        let response = self.client.request(request);
        Box::pin(async move {
            let unread = |reason| {
                let url = url.clone();
                ClientError::Connection { url, reason }
            };
            let exchange = async {
                let response = response.await.map_err(|error| unread(cause(&error)))?;
                let (parts, body) = response.into_parts();
                let body = Limited::new(body, MAX_ANSWER).collect().await;
                let body = body.map_err(|error| unread(cause(&*error)))?.to_bytes();
                check(&url, is_directory, parts.status, &parts.headers, &body)?;
                Ok(Response::from_parts(parts, Full::new(body)).into())
            };
            let result: Result<_, ClientError> = exchange.await;
            result.map_err(|error| Error::Other(Box::new(error)))
        })
    }
}

/// Whether the ACME library supports the response.
fn check(
    url: &str,
    is_directory: bool,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(), ClientError> {
    let url = || url.to_owned();
    if status.is_client_error() || status.is_server_error() {
        let problem = serde_json::from_slice::<Problem>(body);
        let problem = problem.map_err(|_| (url(), status));
        let wait = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        let after = wait.contains(&status).then(|| retry_after(headers));
        return match (problem, after.flatten()) {
            (Ok(problem), Some(after)) => Err(ClientError::Later {
                problem: AuthorityReply::Problem(problem),
                after,
            }),
            (Err((url, status)), Some(after)) => Err(ClientError::Later {
                problem: AuthorityReply::Status { url, status },
                after,
            }),
            (Ok(_), None) => Ok(()),
            (Err((url, status)), None) => Err(ClientError::Status { url, status }),
        };
    }
    if is_directory {
        let wrong = |reason: String| ClientError::Directory { url: url(), reason };
        if !status.is_success() {
            return Err(wrong(format!("it responded with status {status}")));
        }
        let whole: serde_json::Value = serde_json::from_slice(body)
            .map_err(|_| wrong("its response is not JSON".to_owned()))?;
        for name in ["newNonce", "newAccount", "newOrder"] {
            if !whole[name].is_string() {
                return Err(wrong(format!("it has no `{name}`")));
            }
        }
    }
    Ok(())
}

/// Reads the pause in seconds or as a date, RFC 9110.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(value).ok()?;
    Some(at.duration_since(SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    const URL: &str = "https://ca.test/dir";

    fn parse_problem(status: u16, retry: Option<&str>, body: &str) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        if let Some(retry) = retry {
            headers.insert(RETRY_AFTER, retry.parse().expect("a value"));
        }
        let status = StatusCode::from_u16(status).expect("a status");
        let checked = check(URL, true, status, &headers, body.as_bytes());
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn a_server_without_acme_is_reported_with_its_url() {
        let good = r#"{"newNonce": "a", "newAccount": "b", "newOrder": "c"}"#;
        assert_eq!(parse_problem(200, None, good), Ok(()));
        // The ACME library reports it.
        assert_eq!(parse_problem(400, None, r#"{"detail": "no"}"#), Ok(()));
        for (status, retry, body, expected) in [
            (
                503,
                None,
                "<html>",
                "https://ca.test/dir responded with status 503 Service Unavailable",
            ),
            (
                404,
                None,
                "",
                "https://ca.test/dir responded with status 404 Not Found",
            ),
            (
                200,
                None,
                "<html>",
                "https://ca.test/dir is not an ACME directory: its response is not JSON",
            ),
            (200, None, r#"{"newNonce": "a"}"#, "it has no `newAccount`"),
            (301, None, "", "it responded with status 301"),
            (
                503,
                Some("120"),
                "busy",
                "https://ca.test/dir responded with status 503 Service Unavailable; retry after 120 s",
            ),
            (
                429,
                Some("7200"),
                r#"{"detail": "too many"}"#,
                "too many; retry after 7200 s",
            ),
            (
                429,
                Some("Fri, 31 Dec 1999 23:59:59 GMT"),
                "{}",
                "retry after 0 s",
            ),
        ] {
            let error = parse_problem(status, retry, body).expect_err(body);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn errors_of_a_connection_are_reported() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        drop(listener);
        let url = format!("https://{address}/dir");
        let client = AuthorityClient::new(&url, RootCertStore::empty()).expect("valid");
        let request = Request::get(&url).body(BodyWrapper::default());
        let error = client.request(request.expect("valid")).await;
        let error = error.err().expect("nobody is there").to_string();
        assert!(
            error.starts_with(&url) && error.contains("Connection refused"),
            "{error}"
        );
    }

    #[test]
    fn invalid_roots_are_reported_with_their_file() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let error = roots(Some(file.path())).expect_err("no PEM");
        assert!(error.source().is_none());
        let error = error.to_string();
        assert!(
            error.starts_with(&file.path().display().to_string())
                && error.contains("there is no certificate in it"),
            "{error}"
        );
    }
}
