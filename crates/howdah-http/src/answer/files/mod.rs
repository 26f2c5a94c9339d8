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
mod request;
mod response;
pub(crate) mod stat;

use http::header::{
    ACCEPT_RANGES, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};

pub(crate) use self::cache::FileCache;
use self::conditional::Version;
use self::job::FileJob;
use self::links::Links;
use self::open::{OpenOutcome, open};
pub(crate) use self::options::FileOptions;
use self::request::{FileRequest, Source};
use self::response::FoundFile;
use crate::encode::vary;
use crate::message::reply;
use crate::message::response::Content;

const ALLOW: &str = "GET, HEAD, OPTIONS";

/// Responds with the file of `job`, with its status in place of 200. With `with_origin` the response to a file has an
/// [`Origin`](crate::message::file_origin::Origin).
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
    // Boxed, like the other rare parts of this module: they are large, and every request would have room for them.
    let mut response = Box::pin(serve_file(job, &plain, cache, with_origin)).await;
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
        Ok(OpenOutcome::Directory) => Box::pin(directory(&job, full, file_request)).await,
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
    if let Some(browse) = job.options.browse {
        if let Some(redirect) = redirect() {
            return redirect;
        }
        if let Some(response) = other_method(file_request.parts) {
            return response;
        }
        full.truncate(length);
        return browse::list(job, browse, full, file_request).await;
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
    let file = FoundFile {
        version,
        path,
        type_path: path,
    };
    if file_request.precompressed.is_empty() {
        return file.respond(source, file_request).await;
    }
    let precompressed_file = precompressed::find(path, file_request);
    let mut response = match precompressed_file {
        None => file.respond(source, file_request).await,
        Some(precompressed_file) => Box::pin(precompressed_file.respond(path, file_request)).await,
    };
    vary(response.headers_mut());
    response
}
