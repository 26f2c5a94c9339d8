//! The server's handle of a pool.

use std::fs::File;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use howdah_pool::PoolStatus;
use http::Method;
use http::header::CONTENT_TYPE;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::body::Body;
use crate::boot::BootError;
use crate::call_error::CallError;
use crate::exchange::{Exchange, InFlightGuard, Observer, Outcome, Payload, PayloadBody};
use crate::form;
use crate::frame;
use crate::options::PoolOptions;
use crate::plugins;
use crate::pool::{PoolInner, add};
use crate::request::{BodyFacts, RequestHead};
use crate::response::Head;
use crate::rpc::Rpc;
use crate::status::status;
use crate::supervisor::{start_all, supervise, take_over};
use crate::upload::{self, Form, Source, UploadOptions};

/// Maximum number of workers that stop or decline a request, one after the other.
const ATTEMPTS: u32 = 5;

/// A request, as a front thread passes it to the pool.
pub struct Request<'r> {
    /// Unique for the lifetime of the server.
    pub id: u64,
    /// Everything except the body.
    pub head: RequestHead<'r>,
    /// The whole body.
    pub body: RequestBody,
    /// The request may be repeated if a worker crashes before it responds.
    pub is_repeatable: bool,
    /// Is notified of its progress.
    pub observer: Option<Rc<dyn Observer>>,
}

/// A request body that was read in full.
#[derive(Debug)]
pub enum RequestBody {
    /// The body is missing or empty.
    Empty,
    /// Small enough for memory.
    Memory(Bytes),
    /// The body is in a file of this size.
    File(File, u64),
}

/// Why a pool does not start, or is not reloaded.
#[derive(Debug, thiserror::Error)]
#[error("pool {pool}: {text}")]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub struct StartError {
    pub pool: String,
    pub text: String,
}

/// A pool of workers. They stop when this is dropped.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<PoolInner>,
    rpc: Arc<Rpc>,
    /// Ends with the last worker.
    supervisor: std::sync::Mutex<Option<JoinHandle<()>>>,
    /// One reload at a time.
    reloads: Mutex<()>,
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Pool {
    /// Starts the workers, on the runtime of the caller. They are ready when this returns.
    ///
    /// # Errors
    /// A worker does not start.
    pub async fn start(options: PoolOptions) -> Result<Self, StartError> {
        let pool = options.name.clone();
        let failed = |text: String| StartError {
            pool: pool.clone(),
            text,
        };
        plugins::warn(&pool, &options.command);
        let rpc = Rpc::start(pool.clone()).await;
        let rpc = rpc.map_err(|error| failed(format!("no port for calls of plugins: {error}")))?;
        let shared = PoolInner::new(options, tokio::runtime::Handle::current());
        let shared =
            shared.map_err(|error| failed(format!("no folder for uploaded files: {error}")))?;
        let shared = Arc::new(shared);
        let generation = shared.generation.load(Ordering::Relaxed);
        let workers = start_all(&shared, &rpc.address, generation).await;
        let workers = match workers {
            Ok(workers) => workers,
            Err(error) => return Err(failed(not_started(&error))),
        };
        take_over(&shared, workers, generation);
        let supervisor = tokio::spawn(supervise(Arc::clone(&shared), rpc.address.clone()));
        Ok(Self {
            shared,
            rpc: Arc::new(rpc),
            supervisor: std::sync::Mutex::new(Some(supervisor)),
            reloads: Mutex::default(),
        })
    }

    /// The options, as configured.
    pub fn options(&self) -> &PoolOptions {
        &self.shared.options
    }

    /// Starts new workers, and stops the previous ones when all of the new ones are ready.
    ///
    /// # Errors
    /// A worker does not start. The previous ones continue.
    pub async fn reload(&self) -> Result<(), StartError> {
        let _alone = self.reloads.lock().await;
        let shared = &self.shared;
        let generation = shared.generation.load(Ordering::Relaxed) + 1;
        shared.lock().reloading = true;
        let workers = start_all(shared, &self.rpc.address, generation).await;
        shared.lock().reloading = false;
        match workers {
            Ok(workers) => {
                add(&shared.counts.reloads);
                take_over(shared, workers, generation);
                Ok(())
            }
            Err(error) => {
                add(&shared.counts.reloads_failed);
                let (pool, text) = (shared.options.name.clone(), not_started(&error));
                Err(StartError { pool, text })
            }
        }
    }

    /// Stops all workers, and returns when they have exited.
    pub async fn stop(&self) {
        self.shared.close();
        let supervisor = self
            .supervisor
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(supervisor) = supervisor {
            // A panic was reported by the panic hook.
            let _ = supervisor.await;
        }
    }

    /// Runs the request in a worker. If the future or the body is dropped, the worker continues without the client.
    /// `interim` gets the responses before the one that is returned. Must be called in a local runtime.
    ///
    /// # Errors
    /// There is no response.
    pub async fn call(
        &self,
        request: Request<'_>,
        mut interim: impl FnMut(&Head),
    ) -> Result<(Head, Body), CallError> {
        let mut in_flight = Some(InFlightGuard::new(&self.shared));
        let mut payload = self.payload(&request).await?;
        if frame::message(payload.context.len(), payload.body.len()).is_none() {
            return Err(CallError::TooLarge);
        }
        let mut attempt = 1;
        let mut unavailable = 0;
        loop {
            let worker = self.shared.acquire().await?;
            let shared = Arc::clone(&self.shared);
            let exchange = Exchange::new(shared, worker, request.id, request.observer.clone());
            let outcome = match exchange.await? {
                Some(exchange) => {
                    exchange
                        .run(&mut payload, &mut in_flight, &mut interim)
                        .await?
                }
                // Each of the workers can be about to be replaced.
                None if unavailable < self.shared.options.workers => {
                    unavailable += 1;
                    continue;
                }
                None => Outcome::Declined,
            };
            match outcome {
                Outcome::Response(response) => return Ok(*response),
                Outcome::Declined if attempt < ATTEMPTS => {}
                Outcome::Declined => {
                    let text = format!("{attempt} workers exited before they took the request");
                    return Err(CallError::Response(text));
                }
                Outcome::Lost(_) if request.is_repeatable && attempt == 1 => {}
                Outcome::Lost(error) => return Err(error),
            }
            attempt += 1;
        }
    }

    async fn payload(&self, request: &Request<'_>) -> Result<Payload, CallError> {
        let options = &self.shared.options;
        let empty = || PayloadBody::Memory(Bytes::new());
        let content_type = request.head.headers.get(CONTENT_TYPE);
        let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()));
        let content_type = content_type.unwrap_or_default();
        let has_none = matches!(*request.head.method, Method::HEAD | Method::OPTIONS);
        let is = |kind: &str| !options.raw_body && content_type.contains(kind);
        let mut parsed: Option<Form> = None;
        let mut is_parsed = false;
        let body = if has_none {
            empty()
        } else if is("application/x-www-form-urlencoded") {
            is_parsed = true;
            let fields = match &request.body {
                RequestBody::Empty => form::urlencoded(b"")?,
                RequestBody::Memory(bytes) => form::urlencoded(bytes)?,
                RequestBody::File(file, size) => form::urlencoded(&read(file, *size)?)?,
            };
            let json = serde_json::to_vec(&fields).map_err(std::io::Error::from)?;
            PayloadBody::Memory(json.into())
        } else if is("multipart/form-data") {
            is_parsed = true;
            let source = match &request.body {
                RequestBody::Empty => Source::Memory(Bytes::new()),
                RequestBody::Memory(bytes) => Source::Memory(bytes.clone()),
                RequestBody::File(file, _) => Source::File(file.try_clone()?),
            };
            let uploads = UploadOptions {
                forbidden: options.forbidden_uploads.clone(),
                folder: self.shared.uploads.clone(),
            };
            let kind = content_type.into_owned();
            // It writes files, which blocks.
            let read = tokio::task::spawn_blocking(move || upload::read(&kind, source, &uploads));
            let mut form = read.await.map_err(std::io::Error::other)??;
            let fields = std::mem::take(&mut form.fields);
            parsed = Some(form);
            PayloadBody::Memory(fields.into())
        } else {
            match &request.body {
                RequestBody::Empty => empty(),
                RequestBody::Memory(bytes) => PayloadBody::Memory(bytes.clone()),
                RequestBody::File(file, size) => PayloadBody::File(file.try_clone()?, *size),
            }
        };
        let mut context = Vec::with_capacity(1024);
        let facts = BodyFacts {
            is_parsed,
            uploads: parsed.as_ref().map(|form| &*form.uploads),
        };
        request.head.encode(facts, &mut context);
        Ok(Payload {
            context,
            body,
            files: parsed.map(|form| form.files).unwrap_or_default(),
        })
    }

    /// Counters and processes at the moment.
    pub fn status(&self) -> PoolStatus {
        status(&self.shared)
    }
}

/// A form has a few kilobytes, which are in the page cache.
fn read(file: &File, size: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).map_err(std::io::Error::other)?];
    std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, 0)?;
    Ok(bytes)
}

fn not_started(error: &BootError) -> String {
    format!("a worker did not start: {error}")
}
