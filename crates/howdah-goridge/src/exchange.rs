//! One request on one worker.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use tempfile::TempPath;
use tokio::time::{Instant, timeout, timeout_at};

use crate::body::{Body, Chunks};
use crate::call_error::CallError;
use crate::frame::{self, Kind, PING, PONG, Part, STREAM};
use crate::link::{Link, LinkError};
use crate::orphan::Orphan;
use crate::pool::{PoolInner, add};
use crate::response::{Context, Head};
use crate::worker::Worker;

/// Bytes of a spooled body that are sent at a time.
const PIECE: usize = 64 << 10;
/// Bytes of an error that a worker reports; the rest is dropped.
const ERROR_MAX: usize = 64 << 10;
/// How long a worker may leave requested pongs unread.
const PONG_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the rest of a frame may take that a worker has begun without a request.
const REPLACEMENT_TIMEOUT: Duration = Duration::from_millis(50);

/// Is notified of the progress of a request.
pub trait Observer {
    /// The worker at this place has it.
    fn on_claim(&self, place: u16);
    /// The worker is done with it.
    fn on_done(&self);
}

/// A request as it is sent.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) context: Vec<u8>,
    pub(crate) body: PayloadBody,
    /// Uploaded files, removed when the worker is done.
    pub(crate) files: Vec<TempPath>,
}

#[derive(Debug)]
pub(crate) enum PayloadBody {
    Memory(Bytes),
    File(File, u64),
}

impl PayloadBody {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, size) => *size,
        }
    }
}

/// The outcome of a request on one worker.
pub(crate) enum Outcome {
    Response(Box<(Head, Body)>),
    /// Another worker can take the request: this one has not begun it.
    Declined,
    /// The worker crashed before it sent anything.
    Lost(CallError),
}

/// The first part of a response, up to the start of its body.
struct ResponseStart {
    head: Head,
    /// The marks of its frame.
    marks: u8,
    /// Size of the body, or of its first part.
    size: u32,
}

/// A request that counts as in flight.
pub(crate) struct InFlightGuard(Arc<PoolInner>);

impl InFlightGuard {
    pub(crate) fn new(shared: &Arc<PoolInner>) -> Self {
        shared.in_flight.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a worker's unread data is the frame by which it asks for its replacement, and nothing more.
async fn asks_for_replacement(link: &mut Link) -> bool {
    let frame = async {
        let Ok(Part::Start {
            kind: Kind::Message,
            context,
            body: 0,
            ..
        }) = link.next().await
        else {
            return false;
        };
        matches!(Context::decode(&context), Ok(Context::Stop))
            && matches!(link.next().await, Ok(Part::End(0)))
    };
    let is_asked = timeout(REPLACEMENT_TIMEOUT, frame).await;
    is_asked.unwrap_or(false) && !link.has_unread()
}

/// A worker with a request. If it is dropped before the response has ended, the worker continues without the client.
pub(crate) struct Exchange {
    shared: Arc<PoolInner>,
    worker: Option<Worker>,
    deadline: Option<Instant>,
    /// All of the request has been sent.
    is_sent: bool,
    /// The response has parts, so the worker can be ordered to stop it.
    is_stream: bool,
    files: Vec<TempPath>,
    observer: Option<Rc<dyn Observer>>,
}

impl Exchange {
    /// `None`: the worker takes no request, because it has sent something since its last one: it
    /// asks for its replacement, or is killed.
    pub(crate) async fn new(
        shared: Arc<PoolInner>,
        mut worker: Worker,
        id: u64,
        observer: Option<Rc<dyn Observer>>,
    ) -> Result<Option<Self>, CallError> {
        let pid = worker.process.pid;
        worker.link = worker.link.here().map_err(|error| CallError::Crashed {
            pid,
            text: error.to_string(),
        })?;
        if worker.link.has_unread() {
            if asks_for_replacement(&mut worker.link).await {
                shared.replace(worker);
                return Ok(None);
            }
            let pool = &*shared.options.name;
            tracing::warn!(target: "howdah::php", pool, pid, "a worker was killed: it sent something without a request, such as a second response to the previous one");
            add(&shared.counts.killed);
            worker.process.kill();
            return Ok(None);
        }
        let now = Instant::now();
        *worker
            .process
            .request
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some((id, now.into_std()));
        if let Some(observer) = &observer {
            observer.on_claim(worker.process.place);
        }
        let deadline = shared.options.limits.request_timeout.map(|time| now + time);
        Ok(Some(Self {
            shared,
            deadline,
            is_sent: false,
            is_stream: false,
            files: Vec::new(),
            observer,
            worker: Some(worker),
        }))
    }

    fn link(&mut self) -> &mut Link {
        &mut self
            .worker
            .as_mut()
            .expect("it has a worker until it ends")
            .link
    }

    /// Sends the request, and reads the response up to its head, or to its end if that follows
    /// soon.
    pub(crate) async fn run(
        mut self,
        payload: &mut Payload,
        in_flight: &mut Option<InFlightGuard>,
        interim: &mut impl FnMut(&Head),
    ) -> Result<Outcome, CallError> {
        if let Err(error) = self.send_in_time(payload).await? {
            // Its end of the pipe is closed: it has read none of it, or not all.
            drop(self.worker_lost(&LinkError::Io(error)));
            return Ok(Outcome::Declined);
        }
        self.is_sent = true;
        loop {
            let start = match self.next_start().await? {
                Ok(start) => start,
                Err(outcome) => return Ok(outcome),
            };
            let status = start.head.status;
            if !status.is_informational() {
                self.files = std::mem::take(&mut payload.files);
                return self.body(start, in_flight).await;
            }
            if start.marks & STREAM == 0 {
                let status = status.as_u16();
                self.finish();
                let text = format!("the worker ended its response with the status {status}");
                return Err(CallError::Response(text));
            }
            if status == StatusCode::SWITCHING_PROTOCOLS {
                tracing::warn!(target: "howdah::php", pool = self.shared.options.name, "the worker sent the status 101, which was ignored");
            } else {
                interim(&start.head);
            }
        }
    }

    /// Reads up to the next head, which may be that of an interim response. `Err`: no head follows.
    async fn next_start(&mut self) -> Result<Result<ResponseStart, Outcome>, CallError> {
        loop {
            let part = match self.part().await? {
                Ok(part) => part,
                Err(error @ LinkError::Closed) => {
                    return Ok(Err(Outcome::Lost(self.worker_lost(&error))));
                }
                Err(error) => return Err(self.worker_lost(&error)),
            };
            let is_mark = part.is_mark();
            let (kind, marks, context, size) = match part {
                Part::Start {
                    kind,
                    marks,
                    context,
                    body,
                } => (kind, marks, context, body),
                // The body of an interim response, which is empty.
                Part::Body(_) => continue,
                Part::End(marks) => {
                    self.pong(marks).await?;
                    continue;
                }
            };
            self.is_stream |= marks & STREAM != 0;
            match kind {
                Kind::Control => {
                    return Err(self.protocol_error("it sent an order in place of a response"));
                }
                Kind::Error => return Err(self.error().await),
                Kind::Message if is_mark => continue,
                Kind::Message => {}
            }
            return match Context::decode(&context) {
                Ok(Context::Head(head)) => Ok(Ok(ResponseStart { head, marks, size })),
                Ok(Context::Stop) => {
                    self.decline();
                    Ok(Err(Outcome::Declined))
                }
                Err(error) => Err(CallError::Response(error.to_string())),
            };
        }
    }

    /// The rest of a response whose head was read.
    async fn body(
        mut self,
        start: ResponseStart,
        in_flight: &mut Option<InFlightGuard>,
    ) -> Result<Outcome, CallError> {
        let ResponseStart { head, marks, size } = start;
        let trailers = head.trailers.clone();
        let buffer = self.shared.options.limits.response_buffer;
        if marks & STREAM != 0 || size as usize > buffer {
            let length = (marks & STREAM == 0).then_some(u64::from(size));
            let (chunks, body) = Body::stream((buffer / PIECE).max(1), length, trailers);
            tokio::task::spawn_local(self.pump(chunks, in_flight.take()));
            return Ok(Outcome::Response(Box::new((head, body))));
        }
        let mut first = Bytes::new();
        let mut rest = BytesMut::new();
        loop {
            match self.part().await? {
                Ok(Part::Body(piece)) if first.is_empty() => first = piece,
                Ok(Part::Body(piece)) => {
                    rest.reserve(size as usize - first.len());
                    rest.extend_from_slice(&piece);
                }
                Ok(Part::End(marks)) => {
                    self.pong(marks).await?;
                    self.finish();
                    break;
                }
                Ok(Part::Start { .. }) => {
                    return Err(self.protocol_error("it sent a frame within another"));
                }
                Err(error) => return Err(self.worker_lost(&error)),
            }
        }
        let whole = if rest.is_empty() {
            first
        } else {
            [&first[..], &rest].concat().into()
        };
        let body = Body::whole(whole, trailers);
        Ok(Outcome::Response(Box::new((head, body))))
    }

    /// Passes on the rest of a response, as fast as the client reads.
    async fn pump(mut self, mut chunks: Chunks, _in_flight: Option<InFlightGuard>) {
        loop {
            let part = tokio::select! {
                part = self.part() => part,
                // Without this check, a disconnect would be detected only when the worker sends something.
                () = chunks.closed() => return,
            };
            let error = match part {
                Ok(Ok(Part::Body(piece))) => {
                    let began = Instant::now();
                    if chunks.send(piece).await.is_err() {
                        // The client has disconnected.
                        return;
                    }
                    // The deadline does not include waits for the client.
                    self.deadline = self.deadline.map(|deadline| deadline + began.elapsed());
                    continue;
                }
                Ok(Ok(Part::End(marks))) => match self.pong(marks).await {
                    Ok(()) if marks & STREAM == 0 => {
                        self.finish();
                        return chunks.end().await;
                    }
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Ok(Ok(Part::Start {
                    kind: Kind::Message,
                    ..
                })) => continue,
                Ok(Ok(Part::Start {
                    kind: Kind::Error, ..
                })) => self.error().await,
                Ok(Ok(Part::Start {
                    kind: Kind::Control,
                    ..
                })) => self.protocol_error("it sent an order in place of a response"),
                Ok(Err(error)) => self.worker_lost(&error),
                Err(error) => error,
            };
            tracing::warn!(target: "howdah::php", pool = self.shared.options.name, "a response was cut off: {error}");
            return chunks.fail(error).await;
        }
    }

    /// Sends the request before the deadline. The inner result is that of the pipe.
    async fn send_in_time(&mut self, payload: &Payload) -> Result<io::Result<()>, CallError> {
        let Some(deadline) = self.deadline else {
            return Ok(self.send(payload).await);
        };
        match timeout_at(deadline, self.send(payload)).await {
            Ok(sent) => Ok(sent),
            Err(_) => Err(self.timed_out()),
        }
    }

    async fn send(&mut self, payload: &Payload) -> io::Result<()> {
        let Payload { context, body, .. } = payload;
        // Checked before.
        let head = frame::message(context.len(), body.len()).ok_or(io::ErrorKind::InvalidInput)?;
        let link = self.link();
        let bytes: &[u8] = match body {
            PayloadBody::Memory(bytes) => bytes,
            PayloadBody::File(..) => &[],
        };
        let parts = &mut [&head[..], context, bytes].map(IoSlice::new);
        link.write(parts).await?;
        if let PayloadBody::File(file, size) = body {
            let mut piece = vec![0; PIECE];
            let mut at = 0;
            while at < *size {
                // The page cache has it: it was written a moment ago.
                let read = file.read_at(&mut piece, at)?;
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                let read = read.min(usize::try_from(*size - at).unwrap_or(read));
                link.write(&mut [IoSlice::new(&piece[..read])]).await?;
                at += read as u64;
            }
        }
        Ok(())
    }

    /// The next part of the response, before the deadline.
    async fn part(&mut self) -> Result<Result<Part, LinkError>, CallError> {
        let Some(deadline) = self.deadline else {
            return Ok(self.link().next().await);
        };
        match timeout_at(deadline, self.link().next()).await {
            Ok(part) => Ok(part),
            Err(_) => Err(self.timed_out()),
        }
    }

    fn timed_out(&mut self) -> CallError {
        self.kill();
        let limit = self.shared.options.limits.request_timeout;
        CallError::RequestTimeout(limit.unwrap_or_default())
    }

    /// Kills the worker for a reason that the caller of the request gets.
    fn kill(&mut self) {
        if let Some(worker) = self.worker.take() {
            add(&self.shared.counts.killed);
            worker.process.kill();
        }
    }

    async fn pong(&mut self, marks: u8) -> Result<(), CallError> {
        if marks & PING == 0 {
            return Ok(());
        }
        let latest = Instant::now() + PONG_TIMEOUT;
        let end = self
            .deadline
            .map_or(latest, |deadline| deadline.min(latest));
        let pong = frame::mark(PONG);
        match timeout_at(end, self.link().write(&mut [IoSlice::new(&pong)])).await {
            // If it fails, the next read does too.
            Ok(_) => Ok(()),
            Err(_) if end < latest => Err(self.timed_out()),
            Err(_) => Err(self.protocol_error("it pings and does not read the pongs")),
        }
    }

    /// Reads the error that the worker reports. The worker can handle other requests.
    async fn error(&mut self) -> CallError {
        let mut text = Vec::new();
        loop {
            match self.part().await {
                Ok(Ok(Part::Body(piece))) => {
                    let room = ERROR_MAX - text.len();
                    text.extend_from_slice(&piece[..piece.len().min(room)]);
                }
                Ok(Ok(Part::End(_))) => break,
                Ok(Ok(Part::Start { .. })) => {
                    return self.protocol_error("it sent a frame within another");
                }
                Ok(Err(error)) => return self.worker_lost(&error),
                Err(error) => return error,
            }
        }
        self.finish();
        CallError::Worker(String::from_utf8_lossy(&text).into_owned())
    }

    /// The response has ended, and the worker can have another request.
    fn finish(&mut self) {
        self.files.clear();
        if let Some(observer) = self.observer.take() {
            observer.on_done();
        }
        if let Some(worker) = self.worker.take() {
            self.shared.finish(worker);
        }
    }

    /// The worker requests its replacement.
    fn decline(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.shared.replace(worker);
        }
    }

    /// The worker has exited, or its pipes are unusable.
    fn worker_lost(&mut self, error: &LinkError) -> CallError {
        let Some(worker) = self.worker.take() else {
            return CallError::Response(error.to_string());
        };
        if matches!(error, LinkError::Frame { .. }) {
            add(&self.shared.counts.killed);
            worker.process.kill();
        } else {
            worker.process.end();
        }
        CallError::Crashed {
            pid: worker.process.pid,
            text: error.to_string(),
        }
    }

    fn protocol_error(&mut self, text: &str) -> CallError {
        let pid = self.worker.as_ref().map_or(0, |worker| worker.process.pid);
        self.kill();
        CallError::Crashed {
            pid,
            text: text.to_owned(),
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let Some(worker) = self.worker.take() else {
            return;
        };
        if !self.is_sent {
            // The worker would read the next request as the rest of this one.
            add(&self.shared.counts.killed);
            worker.process.kill();
            return;
        }
        let shared = Arc::clone(&self.shared);
        let files = std::mem::take(&mut self.files);
        let (deadline, is_stream) = (self.deadline, self.is_stream);
        self.shared.runtime.spawn(async move {
            let process = Arc::clone(&worker.process);
            let ended = Orphan::new(worker, is_stream).end(deadline).await;
            drop(files);
            match ended {
                Some(Ok(worker)) => shared.finish(worker),
                Some(Err(LinkError::Closed)) => process.end(),
                Some(Err(error)) => {
                    let (pool, pid) = (&*shared.options.name, process.pid);
                    tracing::warn!(target: "howdah::php", pool, pid, "a worker was killed: {error}");
                    add(&shared.counts.killed);
                    process.kill();
                }
                None => {
                    let (pool, pid) = (&*shared.options.name, process.pid);
                    tracing::warn!(target: "howdah::php", pool, pid, "a worker was killed: it did not end its response after the client disconnected");
                    add(&shared.counts.killed);
                    process.kill();
                }
            }
        });
    }
}
