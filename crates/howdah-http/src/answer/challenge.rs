//! Responses to HTTP challenges, with which a certificate authority verifies control of a name: RFC 8555, 8.3.

use std::rc::Rc;
use std::sync::Arc;

use howdah_config::model::FileServer;
use howdah_tls::{HttpProofs, SharedProofs};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};

use crate::answer::files::FileOptions;
use crate::answer::files::job::FileJob;
use crate::answer::files::stat::{Kind, Root, StatCache};
use crate::message::response::Content;

const PREFIX: &str = "/.well-known/acme-challenge/";

/// Where the responses are stored.
pub(crate) enum Challenges {
    /// A directory with a file for each token.
    Files {
        root: Rc<Root>,
        options: Rc<FileOptions>,
    },
    /// The proof is on another machine.
    Shared(SharedProofs),
}

impl Challenges {
    pub(crate) fn new(proofs: &HttpProofs) -> Self {
        let directory = match proofs {
            HttpProofs::Directory(directory) => directory,
            HttpProofs::Shared(shared) => return Self::Shared(shared.clone()),
        };
        let files = FileServer {
            index: Vec::new(),
            ..FileServer::default()
        };
        Self::Files {
            root: Rc::new(Root::new(&directory.to_string_lossy())),
            options: Rc::new(FileOptions::compile(&files, Rc::default(), &Arc::default())),
        }
    }

    /// The file with the response, if this is a challenge of a pending order.
    pub(crate) fn find(&self, path: &str, lookup: &StatCache) -> Option<FileJob> {
        let Self::Files { root, options } = self else {
            return None;
        };
        let path = format!("/{}", token(path)?);
        (lookup.kind(root, &path) == Kind::File).then(|| FileJob {
            root: Rc::clone(root),
            path,
            redirect: None,
            options: Rc::clone(options),
            status: None,
        })
    }

    /// The servers to request the response to such a challenge from, if it is on another machine.
    pub(crate) fn shared<'p>(&self, path: &'p str) -> Option<(&SharedProofs, &'p str)> {
        match self {
            Self::Files { .. } => None,
            Self::Shared(shared) => Some((shared, token(path)?)),
        }
    }
}

/// The response with a proof that another machine has sent.
pub(crate) fn answer(proof: Vec<u8>) -> Response<Content> {
    let mut response = Response::new(Content::Bytes(proof.into()));
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn token(path: &str) -> Option<&str> {
    let token = path.strip_prefix(PREFIX)?;
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (!token.is_empty() && token.len() <= 200 && token.bytes().all(valid)).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_of_pending_orders() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("tok-en_1"), "answer").expect("written");
        let challenges = Challenges::new(&HttpProofs::Directory(directory.path().to_owned()));
        let lookup = StatCache::default();
        let finds = |path: &str| challenges.find(path, &lookup).is_some();
        assert!(finds("/.well-known/acme-challenge/tok-en_1"));
        for other in [
            "tok-en_2",
            "",
            "../tok-en_1",
            "tok-en_1/",
            "%74ok-en_1",
            ".",
        ] {
            assert!(!finds(&format!("{PREFIX}{other}")), "{other}");
        }
        assert!(!finds("/tok-en_1"));
        assert!(
            challenges
                .shared("/.well-known/acme-challenge/tok-en_1")
                .is_none()
        );
    }
}
