//! `php_fastcgi`: PHP-FPM (or its like) runs the script in place of this server's PHP.
//!
//! One connection a request, as nginx does it by default. The body of the request is sent by a task of its
//! own, so that an upstream may answer before it has read everything.

mod body;
mod head;
mod record;

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use howdah_config::model;
use http::header::TRANSFER_ENCODING;
use http::{Response, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf};

use self::body::{Output, Problems};
use self::record::{Decoder, Record, RecordError};
use crate::answer;
use crate::application::{AppRequest, RequestBody};
use crate::files::FileStream;
use crate::response::Content;
use crate::upstream::{Stream, connect};

/// A compiled [`model::FastCgi`].
#[derive(Debug)]
pub(crate) struct FastCgi {
    options: model::FastCgi,
    turn: Cell<usize>,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Variables(#[from] howdah_cgi::Error),
    #[error("the variables cannot be read back: {0}")]
    Decode(#[from] howdah_cgi::DecodeError),
    #[error("it ended the request without a response")]
    Nothing,
    #[error("it refused the request (protocol status {0})")]
    Refused(u8),
    #[error("the header of its response is larger than {} bytes", head::SIZE_MAX)]
    HeaderSize,
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
                StatusCode::GATEWAY_TIMEOUT
            }
            Self::Variables(_) => StatusCode::BAD_REQUEST,
            _ => StatusCode::BAD_GATEWAY,
        }
    }
}

impl FastCgi {
    pub(crate) fn new(options: &model::FastCgi) -> Self {
        Self {
            options: options.clone(),
            turn: Cell::new(0),
        }
    }

    /// Errors are responses too; their cause is logged.
    pub(crate) async fn call(self: Rc<Self>, request: AppRequest) -> Response<Content> {
        let id = request.id;
        match self.run(request).await {
            Ok(response) => response,
            Err(failure) => {
                let request_id = format_args!("{id:016x}");
                let status = failure.status();
                tracing::warn!(target: "howdah::php", %request_id, status = status.as_u16(), "the FastCGI server did not answer: {failure}");
                answer::plain(status)
            }
        }
    }

    async fn run(&self, request: AppRequest) -> Result<Response<Content>, Failure> {
        let id = request.id;
        let start = opening(&request)?;
        let stream = self.connect().await?;
        let (mut reader, mut writer) = tokio::io::split(stream);
        let limit = self.options.write_timeout;
        let sending = tokio::task::spawn_local(async move {
            let sent = send(&mut writer, &start, request.body, limit).await;
            if let Err(error) = sent {
                // An upstream that has answered need not read the rest.
                let request_id = format_args!("{id:016x}");
                tracing::debug!(target: "howdah::php", %request_id, %error, "a request body was not read to its end");
            }
        });
        let mut problems = Problems::new(id, self.options.capture_stderr, sending);
        let mut decoder = Decoder::default();
        let mut output: Vec<u8> = Vec::new();
        let end = loop {
            match next(&mut reader, &mut decoder, self.options.read_timeout).await? {
                None | Some(Record::End(0)) => return Err(Failure::Nothing),
                Some(Record::Error(text)) => problems.add(&text),
                Some(Record::End(status)) => return Err(Failure::Refused(status)),
                Some(Record::Output(part)) => {
                    output.extend_from_slice(&part);
                    let end = head::end(&output);
                    if end.unwrap_or(output.len()) > head::SIZE_MAX {
                        return Err(Failure::HeaderSize);
                    }
                    if let Some(end) = end {
                        break end;
                    }
                }
            }
        };
        let (status, headers, bad) = head::parse(&output[..end]);
        if bad > 0 {
            let request_id = format_args!("{id:016x}");
            tracing::warn!(target: "howdah::php", %request_id, lines = bad, "lines of a response's header are no fields and were left out");
        }
        problems.note_status(status);
        let mut response = answer::empty(status);
        *response.headers_mut() = headers;
        // The length of the body is this server's business.
        response.headers_mut().remove(TRANSFER_ENCODING);
        let first = Bytes::from(output).slice(end..);
        let body = Output::new(first, reader, decoder, self.options.read_timeout, problems);
        *response.body_mut() = Content::Endpoint(Box::pin(body));
        Ok(response)
    }

    /// Upstreams are taken in turns; one that cannot be reached is passed over.
    async fn connect(&self) -> io::Result<Stream> {
        let upstreams = &self.options.upstreams;
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for step in 0..upstreams.len() {
            let upstream = &upstreams[turn.wrapping_add(step) % upstreams.len()];
            match connect(upstream, self.options.dial_timeout).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = io::Error::new(error.kind(), format!("{upstream}: {error}")),
            }
        }
        Err(last)
    }
}

/// The start of the request with all variables.
fn opening(request: &AppRequest) -> Result<Vec<u8>, Failure> {
    let mut encoded = Vec::with_capacity(2048);
    howdah_cgi::encode(&request.input(), &mut encoded)?;
    let variables = howdah_cgi::decode(&encoded)?;
    let mut out = Vec::with_capacity(encoded.len() + 64);
    record::begin(&mut out);
    let pairs = variables
        .iter()
        .map(|variable| (variable.name, variable.value));
    record::params(pairs, &mut out);
    Ok(out)
}

async fn send(
    writer: &mut (impl AsyncWrite + Unpin),
    start: &[u8],
    body: RequestBody,
    limit: Option<Duration>,
) -> io::Result<()> {
    write(writer, start, limit).await?;
    match body {
        RequestBody::Empty => {}
        RequestBody::Memory(bytes) => send_part(writer, &bytes, limit).await?,
        RequestBody::Spooled(file) => {
            let mut stream = FileStream::new(file.open()?, 0, file.len());
            while let Some(part) = std::future::poll_fn(|cx| stream.poll_chunk(cx)).await {
                send_part(writer, &part?, limit).await?;
            }
        }
    }
    write(writer, &record::stdin_end(), limit).await?;
    writer.flush().await
}

async fn send_part(
    writer: &mut (impl AsyncWrite + Unpin),
    part: &Bytes,
    limit: Option<Duration>,
) -> io::Result<()> {
    for (header, content) in record::stdin(part) {
        write(writer, &header, limit).await?;
        write(writer, &content, limit).await?;
    }
    Ok(())
}

async fn write(
    writer: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    limit: Option<Duration>,
) -> io::Result<()> {
    let Some(limit) = limit else {
        return writer.write_all(bytes).await;
    };
    while !bytes.is_empty() {
        let written = tokio::time::timeout(limit, writer.write(bytes))
            .await
            .map_err(|_| timed_out())??;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
    }
    Ok(())
}

fn timed_out() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it said nothing for too long")
}

/// The next record; `None` at the end of the connection.
async fn next(
    reader: &mut ReadHalf<Stream>,
    decoder: &mut Decoder,
    limit: Option<Duration>,
) -> Result<Option<Record>, Failure> {
    let mut scratch = Box::new([0; body::READ]);
    loop {
        if let Some(record) = decoder.next()? {
            return Ok(Some(record));
        }
        let reading = reader.read(&mut scratch[..]);
        let read = match limit {
            None => reading.await?,
            Some(limit) => tokio::time::timeout(limit, reading)
                .await
                .map_err(|_| timed_out())??,
        };
        if read == 0 {
            return if decoder.is_partial() {
                Err(RecordError::Size.into())
            } else {
                Ok(None)
            };
        }
        decoder.push(&scratch[..read]);
    }
}
