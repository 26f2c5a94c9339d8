//! The queue of spans and the thread that exports them.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::otlp::document;
use super::settings::{Sampler, Settings};
use super::span::Span;

/// How long the server waits at its end for spans that are still to be exported.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);
/// Tries of one export, and the pause before the second, which doubles.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
/// Bytes of an answer that are read, so that the connection can end in order.
const MAX_ANSWER: usize = 64 << 10;
/// Between two words about spans that were lost.
const COMPLAIN: Duration = Duration::from_secs(60);

/// The exporter cannot run.
#[derive(Debug, thiserror::Error)]
#[error("traces cannot be exported: {0}")]
pub struct StartError(#[from] io::Error);

/// Takes spans and exports them. When it is dropped, what is queued is exported; that takes at most 2 s.
#[derive(Debug)]
pub struct Tracer {
    queue: Arc<Queue>,
    sampler: Sampler,
    exports: bool,
}

/// Counts spans that were lost; outlives the tracer.
#[derive(Debug, Clone, Default)]
pub struct SpanLosses(Option<Arc<Queue>>);

impl SpanLosses {
    /// Since the start.
    pub fn spans(&self) -> u64 {
        self.0.as_ref().map_or(0, |queue| queue.lost.load(Relaxed))
    }
}

#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    lost: AtomicU64,
    most: usize,
    batch: usize,
}

#[derive(Debug, Default)]
struct State {
    spans: VecDeque<Span>,
    closed: bool,
    ended: bool,
}

impl Tracer {
    /// Starts the exporter, unless nothing is to be exported.
    pub fn start(settings: Settings) -> Result<Self, StartError> {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            changed: Condvar::new(),
            lost: AtomicU64::new(0),
            most: settings.queue,
            batch: settings.batch.min(settings.queue),
        });
        let tracer = Self {
            queue: Arc::clone(&queue),
            sampler: settings.sampler,
            exports: settings.exports,
        };
        if settings.exports {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            std::thread::Builder::new()
                .name("trace-export".into())
                .spawn(move || run(&queue, &settings, &runtime))?;
        }
        Ok(tracer)
    }

    /// Which traces are exported.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// Whether spans go anywhere.
    pub fn exports(&self) -> bool {
        self.exports
    }

    /// Counts what was lost.
    pub fn losses(&self) -> SpanLosses {
        SpanLosses(Some(Arc::clone(&self.queue)))
    }

    /// Queues the spans of a request; all are lost if there is no room for all. Never waits.
    pub fn push(&self, spans: impl IntoIterator<Item = Span, IntoIter: ExactSizeIterator>) {
        let spans = spans.into_iter();
        let count = spans.len();
        let mut state = self.queue.lock();
        if state.closed || state.spans.len() + count > self.queue.most {
            drop(state);
            self.queue.lost.fetch_add(count as u64, Relaxed);
            return;
        }
        let before = state.spans.len();
        state.spans.extend(spans);
        // The exporter wakes by itself after its delay; sooner only for a full batch.
        let full = before < self.queue.batch && state.spans.len() >= self.queue.batch;
        drop(state);
        if full {
            self.queue.changed.notify_all();
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        if !self.exports {
            return;
        }
        let until = Instant::now() + FLUSH_LIMIT;
        let mut state = self.queue.lock();
        state.closed = true;
        self.queue.changed.notify_all();
        while !state.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!(target: "howdah::trace", "the last spans were not exported in time");
                return;
            }
            let waited = self.queue.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A batch, after the delay or when it is full; `None`: nothing comes any more.
    fn take(&self, delay: Duration) -> Option<(Vec<Span>, bool)> {
        let due = Instant::now() + delay;
        let mut state = self.lock();
        while state.spans.len() < self.batch && !state.closed {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.closed && state.spans.is_empty() {
            return None;
        }
        let count = state.spans.len().min(self.batch);
        let spans = state.spans.drain(..count).collect();
        Some((spans, state.closed))
    }
}

fn run(queue: &Queue, settings: &Settings, runtime: &tokio::runtime::Runtime) {
    let mut warned_at: Option<Instant> = None;
    while let Some((spans, closed)) = queue.take(settings.delay) {
        if spans.is_empty() {
            continue;
        }
        let tries = if closed { 1 } else { TRIES };
        let Err(error) = runtime.block_on(export(settings, &spans, tries)) else {
            continue;
        };
        queue.lost.fetch_add(spans.len() as u64, Relaxed);
        if warned_at.is_none_or(|warned_at| warned_at.elapsed() >= COMPLAIN) {
            warned_at = Some(Instant::now());
            let lost = queue.lost.load(Relaxed);
            tracing::warn!(target: "howdah::trace", endpoint = %settings.endpoint, lost, "spans were not exported: {error}");
        }
    }
    queue.lock().ended = true;
    queue.changed.notify_all();
}

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("{0}")]
    Request(#[from] http::Error),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("the collector responded with {0}")]
    Status(StatusCode),
    #[error("the collector did not respond within {0:?}")]
    Timeout(Duration),
}

impl ExportError {
    /// Whether another try may help, as OTLP says.
    fn passes(&self) -> bool {
        match self {
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
            Self::Io(_) | Self::Http(_) | Self::Timeout(_) => true,
            Self::Request(_) | Self::Json(_) => false,
        }
    }
}

async fn export(settings: &Settings, spans: &[Span], tries: u32) -> Result<(), ExportError> {
    let body = Bytes::from(serde_json::to_vec(&document(&settings.resource, spans))?);
    let mut pause = PAUSE;
    let mut left = tries;
    loop {
        left -= 1;
        let sent = tokio::time::timeout(settings.timeout, post(settings, body.clone()));
        let error = match sent.await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(_) => ExportError::Timeout(settings.timeout),
        };
        if left == 0 || !error.passes() {
            return Err(error);
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
}

/// A connection for each export: they are seconds apart.
async fn post(settings: &Settings, body: Bytes) -> Result<(), ExportError> {
    let endpoint = &settings.endpoint;
    let host = endpoint.host().unwrap_or("localhost");
    let port = endpoint.port_u16().unwrap_or(80);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((bare, port)).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let target = endpoint
        .path_and_query()
        .map_or("/", http::uri::PathAndQuery::as_str);
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(target)
        .header(HOST, format!("{host}:{port}"))
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .body(Full::new(body))?;
    for (name, value) in &settings.headers {
        request.headers_mut().insert(name.clone(), value.clone());
    }
    let answered = async {
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        // What it says is of no use; that it is read lets the connection end in order.
        let _ = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        drop(sender);
        Ok::<_, ExportError>(status)
    };
    let (status, _) = tokio::join!(answered, connection);
    let status = status?;
    if status.is_success() {
        Ok(())
    } else {
        Err(ExportError::Status(status))
    }
}
