//! Compressed responses: which ones, in what format, and with which header fields.
//!
//! ```text
//! response ── can it be? ──no──> as it is
//!               │ Vary
//!             does the client take a format? ──no──> as it is
//!               │
//!             does it become smaller? ──no──> as it is
//!               ├─ whole, small ──> compressed at once, with its length
//!               └─ else ──────────> compressed while it is sent
//! ```

mod accept;
mod body;
mod cache;
mod coder;
mod header;
mod matcher;
mod stream;

use std::io;
use std::rc::Rc;
use std::task::{Context, Waker};

use bytes::Bytes;
use howdah_config::model;
use http::header::{CONTENT_LENGTH, IF_NONE_MATCH};
use http::response::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body::Body;

pub(crate) use self::accept::AcceptedCodings;
use self::body::SLICE;
use self::body::{EncodedBody, PeekedBody};
pub(crate) use self::cache::CompressedFiles;
use self::cache::{CachedForm, Recorder};
use self::coder::Coder;
pub(crate) use self::header::{set_encoding, vary};
pub(crate) use self::matcher::Matcher as ResponseMatcher;
use self::matcher::Matcher;
use crate::message::file_origin::Origin;
use crate::message::response::{Content, Source};
use crate::message::route_error::RouteError;

/// Length of the start that is read before the header is sent, if the body is not complete.
const SAMPLE: usize = 8 << 10;

/// A compiled [`model::Encode`].
#[derive(Debug)]
pub(crate) struct Encoding {
    coders: Box<[Rc<Coder>]>,
    minimum_length: u64,
    matcher: Matcher,
}

impl Encoding {
    pub(crate) fn compile(encode: &model::Encode) -> Result<Self, RouteError> {
        let coders = encode.formats.iter();
        Ok(Self {
            coders: coders.map(|format| Rc::new(Coder::new(*format))).collect(),
            minimum_length: encode.minimum_length,
            matcher: Matcher::compile(&encode.matches)?,
        })
    }
}

/// The `encode` directives that apply to a response. The innermost `encode` comes first.
#[derive(Debug, Default)]
pub(crate) struct Encodings {
    innermost: Option<Rc<Encoding>>,
    /// Nearly always empty, which needs no memory.
    outer: Vec<Rc<Encoding>>,
}

impl Encodings {
    pub(crate) fn add(&mut self, encoding: &Rc<Encoding>) {
        self.outer
            .extend(self.innermost.replace(Rc::clone(encoding)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.innermost.is_none()
    }

    /// Adds what the request accepts; `None` without any `encode`.
    pub(crate) fn negotiate(self, method: &Method, headers: &HeaderMap) -> Option<Negotiation> {
        // A request may also forbid transformations (RFC 9111 §5.2.1.6).
        (!self.is_empty() && !header::is_untransformed(headers)).then(|| Negotiation {
            encodings: self,
            accepted: AcceptedCodings::new(headers),
            head: *method == Method::HEAD,
            if_none_match: headers.get(IF_NONE_MATCH).cloned(),
        })
    }
}

/// What client and routes request.
pub(crate) struct Negotiation {
    encodings: Encodings,
    accepted: AcceptedCodings,
    head: bool,
    if_none_match: Option<HeaderValue>,
}

impl Negotiation {
    /// Compresses the response, or leaves it as it is. Never waits for more of the body.
    pub(crate) fn apply<B>(
        self,
        head: &mut Parts,
        source: Source<B>,
        files: &Rc<CompressedFiles>,
    ) -> Source<B>
    where
        B: Body<Data = Bytes, Error = io::Error> + Unpin + 'static,
    {
        let origin = head.extensions.remove::<Origin>();
        header::set_revalidated_tag(head, self.if_none_match.as_ref());
        match head.status {
            // Like the whole response (RFC 9110 §15.4.5), except that its type is unknown.
            StatusCode::NOT_MODIFIED => vary(&mut head.headers),
            StatusCode::PARTIAL_CONTENT if !header::is_untransformed(&head.headers) => {
                // Adds `Vary` if the whole could have been compressed.
                self.choose(head, None);
            }
            _ => {}
        }
        if header::is_final(head) {
            return source;
        }
        // A response to HEAD without a length may have any length.
        let exact = source.size_hint().exact();
        let length = exact
            .filter(|length| *length > 0 || !self.head)
            .or_else(|| header::content_length(head));
        let Some((coder, minimum_length)) = self.choose(head, length) else {
            return source;
        };
        if self.head {
            set_encoding(&mut head.headers, coder.coding());
            return Source::Content(Content::Empty);
        }
        let job = Job {
            coder,
            minimum_length,
            is_forced: self.accepted.refuses_identity(),
            origin: origin.map(|origin| (origin, files)),
        };
        job.run(head, source)
    }

    /// How to compress the response, if that is possible; sets `Vary` in that case.
    fn choose(&self, head: &mut Parts, length: Option<u64>) -> Option<(Rc<Coder>, u64)> {
        let Encodings { innermost, outer } = &self.encodings;
        let encoding = innermost
            .iter()
            .chain(outer.iter().rev())
            .find(|encoding| {
                length.is_none_or(|length| length > 0 && length >= encoding.minimum_length)
                    && encoding.matcher.matches(head)
            })?;
        vary(&mut head.headers);
        let coder = self
            .accepted
            .best(encoding.coders.iter(), |coder| coder.coding())?;
        Some((Rc::clone(coder), encoding.minimum_length))
    }
}

/// A response that will be compressed.
struct Job<'f> {
    coder: Rc<Coder>,
    minimum_length: u64,
    /// The client refuses uncompressed responses.
    is_forced: bool,
    origin: Option<(Origin, &'f Rc<CompressedFiles>)>,
}

impl Job<'_> {
    fn run<B>(self, head: &mut Parts, source: Source<B>) -> Source<B>
    where
        B: Body<Data = Bytes, Error = io::Error> + Unpin + 'static,
    {
        if let Some((origin, files)) = &self.origin {
            match files.get(origin, self.coder.compression) {
                CachedForm::Contents(contents) => return self.whole(head, contents),
                CachedForm::NotSmaller if !self.is_forced => return source,
                CachedForm::NotSmaller | CachedForm::Nothing => {}
            }
        }
        let mut started = Box::new(PeekedBody::new(source));
        // The connection polls the body as soon as it has the header: no task needs to be woken.
        started.fill(&mut Context::from_waker(Waker::noop()), SLICE);
        match self.compress(head, started) {
            Ok(source) => source,
            Err((error, started)) => {
                tracing::error!(%error, "a response cannot be compressed and is sent uncompressed");
                Source::Encoded(started)
            }
        }
    }

    /// Compresses the body. If it fails, nothing was changed.
    fn compress<B>(
        self,
        head: &mut Parts,
        mut started: Box<PeekedBody<B>>,
    ) -> Result<Source<B>, (io::Error, Box<PeekedBody<B>>)>
    where
        B: Body<Data = Bytes, Error = io::Error> + Unpin + 'static,
    {
        let whole = started.whole(SLICE);
        let is_short = |body: &Bytes| (body.len() as u64) < self.minimum_length;
        if whole.as_ref().is_some_and(is_short) {
            return Ok(Source::Encoded(started));
        }
        let sample = started.sample(SAMPLE);
        if !self.is_forced && !sample.is_empty() {
            match self.coder.is_compressible(&sample) {
                Ok(true) => {}
                Ok(false) => {
                    self.cache(None);
                    return Ok(Source::Encoded(started));
                }
                Err(error) => return Err((error, started)),
            }
        }
        if let Some(body) = whole {
            let compressed = match self.coder.compress(&body) {
                Ok(compressed) => compressed,
                Err(error) => return Err((error, started)),
            };
            if !self.is_forced && !coder::saves_enough(compressed.len(), body.len()) {
                self.cache(None);
                return Ok(Source::Content(Content::Bytes(body)));
            }
            self.cache(Some(&compressed));
            return Ok(self.whole(head, compressed));
        }
        let recorder = self
            .origin
            .as_ref()
            .filter(|(origin, _)| origin.identity.is_settled())
            .map(|(origin, files)| Recorder::new(files, origin.clone(), self.coder.compression));
        let encoded = EncodedBody::new(started, &self.coder, recorder)?;
        set_encoding(&mut head.headers, self.coder.coding());
        Ok(Source::Encoded(Box::new(encoded)))
    }

    /// Caches the compressed form of a file.
    fn cache(&self, compressed: Option<&Bytes>) {
        if let Some((origin, files)) = &self.origin {
            files.put(origin, self.coder.compression, compressed.cloned());
        }
    }

    fn whole<B>(&self, head: &mut Parts, compressed: Bytes) -> Source<B> {
        set_encoding(&mut head.headers, self.coder.coding());
        head.headers
            .insert(CONTENT_LENGTH, HeaderValue::from(compressed.len()));
        Source::Content(Content::Bytes(compressed))
    }
}
