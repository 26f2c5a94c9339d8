//! The response with a file or a part of it.

use std::io;

use http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue, LAST_MODIFIED,
};
use http::{Method, Response, StatusCode};

use super::conditional::{self, Verdict, Version};
use super::multipart::Multipart;
use super::range::{self, RangeOutcome};
use super::request::{FileRequest, Source};
use crate::message::file_origin::Origin;
use crate::message::file_stream::{FileStream, read_whole};
use crate::message::reply;
use crate::message::response::Content;

/// Files up to this size are read before the response starts, and may be cached.
const SMALL: u64 = 64 << 10;

/// A file that was found, without its contents.
pub(super) struct FoundFile<'p> {
    pub(super) version: Version,
    pub(super) path: &'p str,
    /// The path that determines its type: of a precompressed file that of the original.
    pub(super) type_path: &'p str,
}

/// Bytes of a file.
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    length: u64,
}

/// The bytes of a response.
enum Selection {
    Span(Span),
    /// Several ranges.
    Multipart(Multipart),
    /// No range is within the file.
    Unsatisfiable,
}

impl FoundFile<'_> {
    pub(super) async fn respond(
        &self,
        source: Source,
        file_request: FileRequest<'_>,
    ) -> Response<Content> {
        let parts = file_request.parts;
        let path = self.path;
        let verdict = conditional::evaluate(&parts.headers, &self.version);
        if verdict == Verdict::PreconditionFailed {
            return reply::plain(StatusCode::PRECONDITION_FAILED);
        }
        let mut response = with_validators(&self.version);
        if verdict == Verdict::NotModified {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        let headers = response.headers_mut();
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(CONTENT_TYPE, content_type(self.type_path));
        let span = match self.select(file_request, &mut response) {
            Selection::Span(span) => span,
            Selection::Multipart(multipart) => return multipart.respond(source, response),
            Selection::Unsatisfiable => {
                let total = self.version.identity.size;
                let mut response = reply::plain(StatusCode::RANGE_NOT_SATISFIABLE);
                insert(&mut response, CONTENT_RANGE, format!("bytes */{total}"));
                return response;
            }
        };
        if file_request.with_origin && span.length == self.version.identity.size {
            let origin = Origin {
                path: path.into(),
                identity: self.version.identity,
            };
            response.extensions_mut().insert(origin);
        }
        if parts.method == Method::HEAD {
            response
                .headers_mut()
                .insert(CONTENT_LENGTH, HeaderValue::from(span.length));
            return response;
        }
        match self.contents(source, span, file_request).await {
            Ok(content) => {
                *response.body_mut() = content;
                response
            }
            Err(error) => {
                tracing::error!(path, %error, "a file cannot be read");
                reply::plain(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }

    /// Selects the bytes that the request is for, and sets status and header of a single part.
    fn select(&self, file_request: FileRequest<'_>, response: &mut Response<Content>) -> Selection {
        let total = self.version.identity.size;
        let whole = Span {
            start: 0,
            length: total,
        };
        let span = match self.requested_range(file_request) {
            RangeOutcome::Whole => whole,
            RangeOutcome::Parts(ranges) => {
                let multipart = Multipart::new(&ranges, total, &content_type(self.type_path));
                // Small parts with their headers may be longer than the whole. And a content coding applies to the file:
                // its meaning for a body around parts of it is not defined.
                if multipart.length() < total && self.path == self.type_path {
                    return Selection::Multipart(multipart);
                }
                whole
            }
            RangeOutcome::Part(range) => {
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                insert(
                    response,
                    CONTENT_RANGE,
                    format!("bytes {}-{}/{total}", range.first, range.last),
                );
                Span {
                    start: range.first,
                    length: range.length(),
                }
            }
            RangeOutcome::None => return Selection::Unsatisfiable,
        };
        Selection::Span(span)
    }

    /// The requested part. RFC 9110: ranges are only defined for GET.
    fn requested_range(&self, file_request: FileRequest<'_>) -> RangeOutcome {
        let parts = file_request.parts;
        if parts.method == Method::GET && conditional::range_applies(&parts.headers, &self.version)
        {
            range::evaluate(&parts.headers, self.version.identity.size)
        } else {
            RangeOutcome::Whole
        }
    }

    async fn contents(
        &self,
        source: Source,
        span: Span,
        file_request: FileRequest<'_>,
    ) -> io::Result<Content> {
        let Span { start, length } = span;
        Ok(match source {
            _ if length == 0 => Content::Empty,
            Source::Kept(contents) => {
                // A range lies within the size, which is the length of the contents.
                let start = usize::try_from(start).unwrap_or(0);
                Content::Bytes(contents.slice(start..start + length as usize))
            }
            Source::File(file) if length <= SMALL => {
                let bytes = read_whole(file, start, length).await?;
                if length == self.version.identity.size {
                    file_request.store(self.path, &self.version, &bytes);
                }
                Content::Bytes(bytes)
            }
            Source::File(file) => Content::File(Box::new(FileStream::new(file, start, length))),
        })
    }
}

/// An empty response with what later requests compare.
fn with_validators(version: &Version) -> Response<Content> {
    let mut response = reply::empty(StatusCode::OK);
    let headers = response.headers_mut();
    headers.reserve(6);
    if let Some(etag) = &version.etag {
        headers.insert(ETAG, etag.clone());
    }
    if let Some(date) = &version.last_modified {
        headers.insert(LAST_MODIFIED, date.clone());
    }
    response
}

fn insert(response: &mut Response<Content>, name: http::HeaderName, value: String) {
    // Digits and punctuation: always a valid value.
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(name, value);
    }
}

/// The content type by the extension; text is UTF-8.
fn content_type(path: &str) -> HeaderValue {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    // The frequent extensions without a search.
    let known = match extension {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "txt" => "text/plain; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        _ => match mime_guess::from_ext(extension).first_raw() {
            None => "application/octet-stream",
            Some(text) if text.starts_with("text/") => {
                return HeaderValue::try_from(format!("{text}; charset=utf-8"))
                    .unwrap_or(HeaderValue::from_static("text/plain; charset=utf-8"));
            }
            Some(other) => other,
        },
    };
    HeaderValue::from_static(known)
}
