//! Static files: types, validators, ranges, index files.
//!
//! A path must be below its root by its text. Symbolic links are followed wherever they point, as in nginx and Caddy,
//! unless `symlinks` restricts them or PHP of a different user can have created them. Names that start with a dot are
//! not served, except `.well-known`.

mod browse;
mod cache;
mod conditional;
pub(crate) mod job;
mod links;
mod multipart;
mod open;
mod options;
mod precompressed;
mod range;
pub(crate) mod stat;

use std::fs::File;

use bytes::Bytes;
use howdah_config::model::ContentCoding;
use http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue, IF_MATCH,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED, RANGE,
};
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};

pub(crate) use self::cache::FileCache;
use self::conditional::{Verdict, Version};
use self::job::FileJob;
use self::links::Links;
use self::multipart::Multipart;
use self::open::{OpenOutcome, open};
pub(crate) use self::options::FileOptions;
use self::range::RangeOutcome;
use crate::encode::vary;
use crate::message::file_origin::Origin;
use crate::message::file_stream::{FileStream, read_whole};
use crate::message::reply;
use crate::message::response::Content;

const ALLOW: &str = "GET, HEAD, OPTIONS";
/// Files up to this size are read before the response starts, and may be cached.
const SMALL: u64 = 64 << 10;

/// A request for a file.
#[derive(Clone, Copy)]
struct FileRequest<'r> {
    parts: &'r Parts,
    cache: &'r FileCache,
    precompressed: &'r [ContentCoding],
    links: Links<'r>,
    /// The response has to carry its [`Origin`].
    with_origin: bool,
}

impl FileRequest<'_> {
    fn cached(&self, path: &str) -> Option<(Version, Bytes)> {
        let path = self.links.policy.may_cache().then_some(path)?;
        self.cache.get(path)
    }

    fn store(&self, path: &str, version: &Version, contents: &Bytes) {
        if self.links.policy.may_cache() {
            self.cache.put(path, version, contents);
        }
    }
}

/// Responds with the file of `job`, with its status in place of 200. With `with_origin` the response to a file has an
/// [`Origin`].
pub(crate) async fn serve(
    job: FileJob,
    parts: &Parts,
    cache: &FileCache,
    with_origin: bool,
) -> Response<Content> {
    let Some(status) = job.status else {
        return serve_file(job, parts, cache, with_origin).await;
    };
    // An error page is sent completely, whatever conditions or ranges the request has.
    let mut plain = parts.clone();
    if plain.method != Method::HEAD {
        plain.method = Method::GET;
    }
    for name in [
        RANGE,
        IF_RANGE,
        IF_MATCH,
        IF_NONE_MATCH,
        IF_MODIFIED_SINCE,
        IF_UNMODIFIED_SINCE,
    ] {
        plain.headers.remove(name);
    }
    let mut response = serve_file(job, &plain, cache, with_origin).await;
    if response.status() == StatusCode::OK {
        *response.status_mut() = status;
        response.headers_mut().remove(ACCEPT_RANGES);
    }
    response
}

async fn serve_file(
    job: FileJob,
    parts: &Parts,
    cache: &FileCache,
    with_origin: bool,
) -> Response<Content> {
    let prefix = job.root.prefix();
    let links = Links {
        policy: &job.options.links,
        root: prefix.len(),
    };
    let file_request = FileRequest {
        parts,
        cache,
        precompressed: &job.options.precompressed,
        links,
        with_origin,
    };
    if job.options.hides(prefix, &job.path) {
        return reply::not_found();
    }
    let mut full = String::with_capacity(prefix.len() + job.path.len() + 16);
    full.push_str(prefix);
    full.push_str(&job.path);
    let slash = job.path.ends_with('/');
    if !slash && let Some((version, contents)) = file_request.cached(&full) {
        return found(Source::Kept(contents), version, &full, file_request).await;
    }
    match open(&full, file_request.links) {
        Ok(OpenOutcome::File(file)) if !slash => {
            let version = Version::new(file.identity);
            found(Source::File(file.file), version, &full, file_request).await
        }
        Ok(OpenOutcome::Directory) => directory(&job, full, file_request).await,
        Ok(OpenOutcome::File(_) | OpenOutcome::Other) => reply::not_found(),
        Err(error) => open_error(error, &full),
    }
}

async fn directory(
    job: &FileJob,
    mut full: String,
    file_request: FileRequest<'_>,
) -> Response<Content> {
    // Only where there is something to show: the server does not reveal which folders exist.
    let redirect = || {
        let redirect = job.redirect.as_ref()?;
        let path = redirect.path.as_deref().unwrap_or(&job.path);
        Some(reply::directory_redirect(path, &redirect.query))
    };
    if !full.ends_with('/') {
        full.push('/');
    }
    let length = full.len();
    for index in &job.options.index {
        full.truncate(length);
        full.push_str(index);
        if job
            .options
            .hides(job.root.prefix(), &full[job.root.prefix().len()..])
        {
            continue;
        }
        if let Some((version, contents)) = file_request.cached(&full) {
            return match redirect() {
                Some(redirect) => redirect,
                None => found(Source::Kept(contents), version, &full, file_request).await,
            };
        }
        match open(&full, file_request.links) {
            Ok(OpenOutcome::File(file)) => {
                if let Some(redirect) = redirect() {
                    return redirect;
                }
                let version = Version::new(file.identity);
                return found(Source::File(file.file), version, &full, file_request).await;
            }
            Ok(OpenOutcome::Directory | OpenOutcome::Other) => {}
            Err(error) if error == rustix::io::Errno::NOENT => {}
            Err(error) => return open_error(error, &full),
        }
    }
    if job.options.browse {
        if let Some(redirect) = redirect() {
            return redirect;
        }
        if let Some(response) = other_method(file_request.parts) {
            return response;
        }
        full.truncate(length);
        return browse::list(job, full, file_request).await;
    }
    reply::not_found()
}

fn open_error(error: rustix::io::Errno, path: &str) -> Response<Content> {
    use rustix::io::Errno;
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG | Errno::INVAL => {
            reply::not_found()
        }
        Errno::ACCESS | Errno::PERM => reply::plain(StatusCode::FORBIDDEN),
        Errno::NXIO => reply::not_found(), // a socket, or a FIFO without a reader
        _ => {
            tracing::error!(path, %error, "a file cannot be opened");
            reply::plain(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

/// The response to a method that reads no file. A missing file is a 404 for all methods.
fn other_method(parts: &Parts) -> Option<Response<Content>> {
    match parts.method {
        Method::GET | Method::HEAD => None,
        Method::OPTIONS => Some(reply::options(ALLOW)),
        _ => Some(reply::method_not_allowed(ALLOW)),
    }
}

/// Where the contents come from.
enum Source {
    File(File),
    Kept(Bytes),
}

/// Opens the file itself, or a precompressed file next to it in a coding that the client accepts.
async fn found(
    source: Source,
    version: Version,
    path: &str,
    file_request: FileRequest<'_>,
) -> Response<Content> {
    if let Some(response) = other_method(file_request.parts) {
        return response;
    }
    if file_request.precompressed.is_empty() {
        return file_response(source, version, (path, path), file_request).await;
    }
    let precompressed_file = precompressed::find(path, file_request);
    let mut response = match precompressed_file {
        None => file_response(source, version, (path, path), file_request).await,
        Some(precompressed_file) => precompressed_file.respond(path, file_request).await,
    };
    vary(response.headers_mut());
    response
}

/// `paths`: the file that is sent, and the one that determines its type.
async fn file_response(
    source: Source,
    version: Version,
    (path, named): (&str, &str),
    file_request: FileRequest<'_>,
) -> Response<Content> {
    let FileRequest {
        parts, with_origin, ..
    } = file_request;
    let total = version.identity.size;
    let verdict = conditional::evaluate(&parts.headers, &version);
    if verdict == Verdict::PreconditionFailed {
        return reply::plain(StatusCode::PRECONDITION_FAILED);
    }
    let mut response = reply::empty(StatusCode::OK);
    let headers = response.headers_mut();
    headers.reserve(6);
    if let Some(etag) = &version.etag {
        headers.insert(ETAG, etag.clone());
    }
    if let Some(date) = &version.last_modified {
        headers.insert(LAST_MODIFIED, date.clone());
    }
    if verdict == Verdict::NotModified {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_TYPE, content_type(named));
    // RFC 9110: ranges are only defined for GET.
    let wanted =
        if parts.method == Method::GET && conditional::range_applies(&parts.headers, &version) {
            range::evaluate(&parts.headers, total)
        } else {
            RangeOutcome::Whole
        };
    let (start, length) = match wanted {
        RangeOutcome::Whole => (0, total),
        RangeOutcome::Parts(ranges) => {
            let multipart = Multipart::new(&ranges, total, &content_type(named));
            // Small parts with their headers may be longer than the whole. And a content coding applies to the file:
            // its meaning for a body around parts of it is not defined.
            if multipart.length() < total && path == named {
                return multipart.respond(source, response);
            }
            (0, total)
        }
        RangeOutcome::Part { first, last } => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            insert(
                &mut response,
                CONTENT_RANGE,
                format!("bytes {first}-{last}/{total}"),
            );
            (first, last - first + 1)
        }
        RangeOutcome::None => {
            let mut response = reply::plain(StatusCode::RANGE_NOT_SATISFIABLE);
            insert(&mut response, CONTENT_RANGE, format!("bytes */{total}"));
            return response;
        }
    };
    if with_origin && length == total {
        let origin = Origin {
            path: path.into(),
            identity: version.identity,
        };
        response.extensions_mut().insert(origin);
    }
    if parts.method == Method::HEAD {
        response
            .headers_mut()
            .insert(CONTENT_LENGTH, HeaderValue::from(length));
        return response;
    }
    *response.body_mut() = match source {
        _ if length == 0 => Content::Empty,
        Source::Kept(contents) => {
            // A range lies within the size, which is the length of the contents.
            let start = usize::try_from(start).unwrap_or(0);
            Content::Bytes(contents.slice(start..start + length as usize))
        }
        Source::File(file) if length <= SMALL => match read_whole(file, start, length).await {
            Ok(bytes) => {
                if length == total {
                    file_request.store(path, &version, &bytes);
                }
                Content::Bytes(bytes)
            }
            Err(error) => {
                tracing::error!(path, %error, "a file cannot be read");
                return reply::plain(StatusCode::INTERNAL_SERVER_ERROR);
            }
        },
        Source::File(file) => Content::File(Box::new(FileStream::new(file, start, length))),
    };
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

/// Joins the values of a header into one list.
fn joined(headers: &HeaderMap, name: http::HeaderName) -> Option<String> {
    let mut values = headers
        .get_all(name)
        .iter()
        .map(|value| value.to_str().unwrap_or(""));
    let first = values.next()?.to_owned();
    Some(values.fold(first, |list, value| list + ", " + value))
}
