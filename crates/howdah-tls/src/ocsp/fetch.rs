//! One request to one responder, over HTTP as is usual for OCSP: the response is signed.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use crate::ask::cause;

/// Limit of the whole exchange: resolving, connecting, sending and reading.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Responses have one or two KiB, more with certificates in them.
const MAX_ANSWER: usize = 64 * 1024;

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("the responder does not respond: {0}")]
    Connection(String),
    #[error("the responder returned status {0}")]
    Status(StatusCode),
    #[error("the response cannot be read: {0}; the limit is {MAX_ANSWER} bytes")]
    Body(String),
    #[error("the responder did not respond within {} s", TIMEOUT.as_secs())]
    Timeout,
}

/// Sends a request and reads the response.
pub(crate) async fn post(responder: &Uri, question: Vec<u8>) -> Result<Vec<u8>, FetchError> {
    match tokio::time::timeout(TIMEOUT, exchange(responder, question)).await {
        Ok(result) => result,
        Err(_) => Err(FetchError::Timeout),
    }
}

async fn exchange(responder: &Uri, question: Vec<u8>) -> Result<Vec<u8>, FetchError> {
    let client = Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(0)
        .build_http();
    let request = Request::builder()
        .method(Method::POST)
        .uri(responder)
        .header(CONTENT_TYPE, "application/ocsp-request")
        .header(ACCEPT, "application/ocsp-response")
        .body(Full::new(Bytes::from(question)))
        .map_err(|error| FetchError::Connection(error.to_string()))?;
    let response = client.request(request).await;
    let response = response.map_err(|error| FetchError::Connection(cause(&error)))?;
    if response.status() != StatusCode::OK {
        return Err(FetchError::Status(response.status()));
    }
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect();
    let body = body
        .await
        .map_err(|error| FetchError::Body(cause(&*error)))?;
    Ok(body.to_bytes().into())
}
