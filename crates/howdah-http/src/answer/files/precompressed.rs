//! Files that were compressed in advance, next to the file itself: `app.js.br`.

use howdah_config::model::ContentCoding;
use http::header::{CONTENT_ENCODING, HeaderValue};
use http::{Response, StatusCode};

use super::conditional::Version;
use super::open::{OpenOutcome, open};
use super::request::{FileRequest, Source};
use super::response::FoundFile;
use crate::encode::AcceptedCodings;
use crate::message::response::Content;

/// A precompressed file next to the requested one.
pub(super) struct Sidecar {
    source: Source,
    version: Version,
    path: String,
    coding: ContentCoding,
}

/// Searches for the formats that the client accepts, in the order of its preference, then of the configuration.
pub(super) fn find(path: &str, file_request: FileRequest<'_>) -> Option<Sidecar> {
    let accepted = AcceptedCodings::new(&file_request.parts.headers);
    let mut left = file_request.precompressed.to_vec();
    while let Some(coding) = accepted.best(left.iter().copied(), |coding| *coding) {
        left.retain(|other| *other != coding);
        let precompressed_file = format!("{path}{}", coding.suffix());
        if let Some((source, version)) = contents(&precompressed_file, file_request) {
            return Some(Sidecar {
                source,
                version,
                path: precompressed_file,
                coding,
            });
        }
    }
    None
}

/// A precompressed file that cannot be opened is ignored: the file itself exists.
fn contents(path: &str, file_request: FileRequest<'_>) -> Option<(Source, Version)> {
    if let Some((version, contents)) = file_request.cached(path) {
        return Some((Source::Kept(contents), version));
    }
    match open(path, file_request.links) {
        Ok(OpenOutcome::File(file)) => Some((Source::File(file.file), Version::new(file.identity))),
        Ok(OpenOutcome::Directory | OpenOutcome::Other) | Err(_) => None,
    }
}

impl Sidecar {
    /// The response, with the content type of the file at `path`.
    pub(super) async fn respond(
        self,
        path: &str,
        file_request: FileRequest<'_>,
    ) -> Response<Content> {
        let Self {
            source,
            version,
            path: own,
            coding,
        } = self;
        let file = FoundFile {
            version,
            path: &own,
            type_path: path,
        };
        let mut response = file.respond(source, file_request).await;
        if matches!(
            response.status(),
            StatusCode::OK | StatusCode::PARTIAL_CONTENT
        ) {
            response
                .headers_mut()
                .insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        }
        response
    }
}
