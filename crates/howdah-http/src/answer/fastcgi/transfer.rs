//! A request on its connection to an upstream, from its first byte to the header of the response.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use howdah_config::model;
use http::Method;
use tokio::io::{AsyncReadExt, ReadHalf};

use super::problems::Problems;
use super::record::{Decoder, Record, RecordError};
use super::send::SendTask;
use super::{Failure, head};
use crate::answer::upstream::Stream;
use crate::message::disconnect::DisconnectGuard;
use crate::message::request::RequestBody;

/// Bytes of one read.
pub(super) const READ: usize = 16 << 10;

/// A request as it is sent to an upstream.
pub(super) struct Outgoing<'r> {
    /// `None`: nothing is logged.
    pub(super) id: Option<u64>,
    pub(super) method: &'r Method,
    /// The first records, with all variables.
    pub(super) start: Rc<[u8]>,
    pub(super) body: Rc<RequestBody>,
}

/// A connection with a request.
pub(super) struct Transfer {
    pub(super) reader: ReadHalf<Stream>,
    pub(super) decoder: Decoder,
    pub(super) sending: SendTask,
    pub(super) problems: Problems,
    /// `read_timeout`.
    pub(super) limit: Option<Duration>,
}

/// The output of a script up to the end of its header, and what arrived with it.
pub(super) struct HeaderOutput {
    pub(super) bytes: Vec<u8>,
    /// Where the body starts.
    pub(super) end: usize,
}

impl Transfer {
    /// Starts to send a request.
    pub(super) fn start(stream: Stream, request: &Outgoing<'_>, options: &model::FastCgi) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self {
            reader,
            decoder: Decoder::default(),
            sending: SendTask::start(writer, request, options.write_timeout),
            problems: Problems::new(request.id, options.capture_stderr),
            limit: options.read_timeout,
        }
    }

    /// Reads the header of the response. Releases the `hold` once the request was sent.
    pub(super) async fn read_header(
        &mut self,
        hold: Option<&DisconnectGuard>,
    ) -> Result<HeaderOutput, Failure> {
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let next = next(&mut self.reader, &mut self.decoder, self.limit);
            let record = tokio::select! {
                biased;
                record = next => record?,
                failure = poll_fn(|cx| {
                    let failure = self.sending.poll_failure(cx);
                    if let Some(hold) = hold.filter(|_| self.sending.is_over()) {
                        hold.release(cx);
                    }
                    failure
                }) => return Err(failure),
            };
            match record {
                None | Some(Record::End(0)) => return Err(Failure::Nothing),
                Some(Record::Error(text)) => self.problems.add(&text),
                Some(Record::End(status)) => return Err(Failure::Refused(status)),
                Some(Record::Output(part)) => {
                    bytes.extend_from_slice(&part);
                    let end = head::end(&bytes);
                    if end.unwrap_or(bytes.len()) > head::SIZE_MAX {
                        return Err(Failure::HeaderSize);
                    }
                    if let Some(end) = end {
                        return Ok(HeaderOutput { bytes, end });
                    }
                }
            }
        }
    }
}

pub(super) fn timed_out() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        "it sent nothing before the timeout",
    )
}

/// The next record; `None` at the end of the connection.
async fn next(
    reader: &mut ReadHalf<Stream>,
    decoder: &mut Decoder,
    limit: Option<Duration>,
) -> Result<Option<Record>, Failure> {
    let mut scratch = Box::new([0; READ]);
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
