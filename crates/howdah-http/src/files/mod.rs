//! Static files: types, validators, ranges, index files.
//!
//! A path is below its root by its text; symbolic links are followed wherever they lead, as nginx
//! and Caddy do. Names that start with a dot are not served, `.well-known` excepted.

mod browse;
mod cache;
mod conditional;
mod multipart;
mod open;
mod precompressed;
mod range;
mod stream;

use std::fs::File;
use std::rc::Rc;

use bytes::Bytes;
use howdah_cgi::split_path;
use howdah_config::model::{ContentCoding, FileServer};
use http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue, IF_MATCH,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED, RANGE,
};
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};

pub(crate) use self::cache::{FileCache, Identity};
use self::conditional::{Verdict, Version};
use self::multipart::Multipart;
use self::open::{Opened, open};
use self::range::Wanted;
pub(crate) use self::stream::FileStream;
use crate::answer;
use crate::encode::{Origin, vary};
use crate::path::has_hidden_segment;
use crate::response::Content;
use crate::route::FileJob;
use crate::route::pattern::matches_glob;

const ALLOW: &str = "GET, HEAD, OPTIONS";
/// Files up to this size are read before the response starts, and may be kept.
const SMALL: u64 = 64 << 10;

/// A compiled [`FileServer`].
#[derive(Debug)]
pub(crate) struct FileOptions {
    pub(crate) index: Box<[String]>,
    hide: Box<[Hidden]>,
    /// Extensions that are never sent: they would show source code.
    scripts: Rc<[String]>,
    /// Formats of files beside the file that may be sent in its place.
    precompressed: Box<[ContentCoding]>,
    /// Paths without their slash are redirected.
    pub(crate) canonical: bool,
    /// Folders are listed.
    browse: bool,
}

/// A `hide` entry.
#[derive(Debug)]
enum Hidden {
    /// Of any file or folder.
    Name(String),
    /// Absolute; everything below it too.
    Path(String),
}

impl FileOptions {
    pub(crate) fn compile(files: &FileServer, scripts: Rc<[String]>) -> Self {
        let hide = files.hide.iter().map(|text| {
            if !text.contains('/') {
                return Hidden::Name(text.clone());
            }
            let absolute = std::path::absolute(text).ok();
            let absolute = absolute
                .as_deref()
                .and_then(std::path::Path::to_str)
                .unwrap_or(text);
            Hidden::Path(
                crate::path::clean(absolute)
                    .trim_end_matches('/')
                    .to_owned(),
            )
        });
        Self {
            index: files.index.clone().into(),
            hide: hide.collect(),
            scripts,
            precompressed: files.precompressed.clone().into(),
            canonical: files.canonical,
            browse: files.browse,
        }
    }

    /// Whether folders without an index file are listed.
    pub(crate) fn lists(&self) -> bool {
        self.browse
    }

    /// `path` is normalised, below `prefix`.
    pub(crate) fn hides(&self, prefix: &str, path: &str) -> bool {
        if has_hidden_segment(path) || split_path(path, &self.scripts).is_some() {
            return true;
        }
        if self.hide.is_empty() {
            return false;
        }
        let full = format!("{prefix}{path}");
        let full = full.trim_end_matches('/');
        self.hide.iter().any(|hidden| match hidden {
            Hidden::Name(name) => path.split('/').any(|segment| matches_glob(name, segment)),
            Hidden::Path(hidden) => {
                matches_glob(hidden, full)
                    || full
                        .strip_prefix(hidden.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        })
    }
}

/// A request for a file.
#[derive(Clone, Copy)]
struct Asked<'r> {
    parts: &'r Parts,
    cache: &'r FileCache,
    precompressed: &'r [ContentCoding],
    /// The response is to tell its [`Origin`].
    with_origin: bool,
}

/// Answers with the file of `job`, in place of 200 with its status. With `with_origin` the response has an [`Origin`] if it is a file.
pub(crate) async fn serve(
    job: FileJob,
    parts: &Parts,
    cache: &FileCache,
    with_origin: bool,
) -> Response<Content> {
    let Some(status) = job.status else {
        return serve_file(job, parts, cache, with_origin).await;
    };
    // A page of an error is sent as a whole, whatever the client has already or asks for.
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
    let head = parts.method == Method::HEAD;
    if !head && parts.method != Method::GET {
        return if parts.method == Method::OPTIONS {
            answer::options(ALLOW)
        } else {
            answer::method_not_allowed(ALLOW)
        };
    }
    let asked = Asked {
        parts,
        cache,
        precompressed: &job.options.precompressed,
        with_origin,
    };
    let prefix = job.root.prefix();
    if job.options.hides(prefix, &job.path) {
        return answer::not_found();
    }
    let mut full = String::with_capacity(prefix.len() + job.path.len() + 16);
    full.push_str(prefix);
    full.push_str(&job.path);
    let slash = job.path.ends_with('/');
    if !slash && let Some((version, contents)) = cache.get(&full) {
        return found(Source::Kept(contents), version, &full, asked).await;
    }
    match open(&full) {
        Ok(Opened::File(file)) if !slash => {
            let version = Version::new(file.identity);
            found(Source::File(file.file), version, &full, asked).await
        }
        Ok(Opened::Directory) => directory(&job, full, asked).await,
        Ok(Opened::File(_) | Opened::Other) => answer::not_found(),
        Err(error) => open_error(error, &full),
    }
}

async fn directory(job: &FileJob, mut full: String, asked: Asked<'_>) -> Response<Content> {
    // Only where there is something to see: which folders exist is nobody's business.
    let redirect = || {
        let redirect = job.redirect.as_ref()?;
        let path = redirect.path.as_deref().unwrap_or(&job.path);
        Some(answer::directory_redirect(path, &redirect.query))
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
        if let Some((version, contents)) = asked.cache.get(&full) {
            return match redirect() {
                Some(redirect) => redirect,
                None => found(Source::Kept(contents), version, &full, asked).await,
            };
        }
        match open(&full) {
            Ok(Opened::File(file)) => {
                if let Some(redirect) = redirect() {
                    return redirect;
                }
                let version = Version::new(file.identity);
                return found(Source::File(file.file), version, &full, asked).await;
            }
            Ok(Opened::Directory | Opened::Other) => {}
            Err(error) if error == rustix::io::Errno::NOENT => {}
            Err(error) => return open_error(error, &full),
        }
    }
    if job.options.browse {
        if let Some(redirect) = redirect() {
            return redirect;
        }
        full.truncate(length);
        return browse::list(job, full, asked.parts).await;
    }
    answer::not_found()
}

fn open_error(error: rustix::io::Errno, path: &str) -> Response<Content> {
    use rustix::io::Errno;
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG | Errno::INVAL => {
            answer::not_found()
        }
        Errno::ACCESS | Errno::PERM => answer::plain(StatusCode::FORBIDDEN),
        Errno::NXIO => answer::not_found(), // a socket, or a FIFO without a reader
        _ => {
            tracing::error!(path, %error, "a file cannot be opened");
            answer::plain(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

/// Where the contents come from.
enum Source {
    File(File),
    Kept(Bytes),
}

/// The file itself, or what stands beside it in a format that the client takes.
async fn found(
    source: Source,
    version: Version,
    path: &str,
    asked: Asked<'_>,
) -> Response<Content> {
    if asked.precompressed.is_empty() {
        return file_response(source, version, (path, path), asked).await;
    }
    let beside = precompressed::find(path, asked.precompressed, asked.parts, asked.cache);
    let mut response = match beside {
        None => file_response(source, version, (path, path), asked).await,
        Some(beside) => beside.respond(path, asked).await,
    };
    vary(response.headers_mut());
    response
}

/// `paths`: the file that is sent, and the one that its type is told by.
async fn file_response(
    source: Source,
    version: Version,
    (path, named): (&str, &str),
    Asked {
        parts,
        cache,
        with_origin,
        ..
    }: Asked<'_>,
) -> Response<Content> {
    let total = version.identity.size;
    let verdict = conditional::evaluate(&parts.headers, &version);
    if verdict == Verdict::PreconditionFailed {
        return answer::plain(StatusCode::PRECONDITION_FAILED);
    }
    let mut response = answer::empty(StatusCode::OK);
    let headers = response.headers_mut();
    headers.reserve(6);
    headers.insert(ETAG, version.etag.clone());
    if let Some(date) = &version.last_modified {
        headers.insert(LAST_MODIFIED, date.clone());
    }
    if verdict == Verdict::NotModified {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_TYPE, content_type(named));
    // RFC 9110: a range is defined for GET alone.
    let wanted =
        if parts.method == Method::GET && conditional::range_applies(&parts.headers, &version) {
            range::evaluate(&parts.headers, total)
        } else {
            Wanted::Whole
        };
    let (start, length) = match wanted {
        Wanted::Whole => (0, total),
        Wanted::Parts(ranges) => {
            let multipart = Multipart::new(&ranges, total, &content_type(named));
            // Small parts with their headers may be more than the whole. And a content coding is that of the
            // file: nobody agrees what it means for something around parts of it.
            if multipart.length() < total && path == named {
                return multipart.respond(source, response);
            }
            (0, total)
        }
        Wanted::Part { first, last } => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            insert(
                &mut response,
                CONTENT_RANGE,
                format!("bytes {first}-{last}/{total}"),
            );
            (first, last - first + 1)
        }
        Wanted::None => {
            let mut response = answer::plain(StatusCode::RANGE_NOT_SATISFIABLE);
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
            // A range lies within the size, which is that of the contents.
            let start = usize::try_from(start).unwrap_or(0);
            Content::Bytes(contents.slice(start..start + length as usize))
        }
        Source::File(file) if length <= SMALL => {
            match stream::read_whole(file, start, length).await {
                Ok(bytes) => {
                    if length == total {
                        cache.put(path, &version, &bytes);
                    }
                    Content::Bytes(bytes)
                }
                Err(error) => {
                    tracing::error!(path, %error, "a file cannot be read");
                    return answer::plain(StatusCode::INTERNAL_SERVER_ERROR);
                }
            }
        }
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

/// By the extension; text is UTF-8.
fn content_type(path: &str) -> HeaderValue {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    // The frequent ones without a search.
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

/// The values of a header as one list.
fn joined(headers: &HeaderMap, name: http::HeaderName) -> Option<String> {
    let mut values = headers
        .get_all(name)
        .iter()
        .map(|value| value.to_str().unwrap_or(""));
    let first = values.next()?.to_owned();
    Some(values.fold(first, |list, value| list + ", " + value))
}
