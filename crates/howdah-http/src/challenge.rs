//! Answers to the challenges by which an authority checks that a name is this server's: RFC 8555, 8.3.

use std::path::Path;
use std::rc::Rc;

use howdah_config::model::FileServer;

use crate::files::FileOptions;
use crate::lookup::{Kind, Lookup, Root};
use crate::route::FileJob;

const PREFIX: &str = "/.well-known/acme-challenge/";

/// A directory with a file for each token.
pub(crate) struct Challenges {
    root: Rc<Root>,
    options: Rc<FileOptions>,
}

impl Challenges {
    pub(crate) fn new(directory: &Path) -> Self {
        let files = FileServer {
            index: Vec::new(),
            ..FileServer::default()
        };
        Self {
            root: Rc::new(Root::new(&directory.to_string_lossy())),
            options: Rc::new(FileOptions::compile(&files, Rc::default())),
        }
    }

    /// The answer, if this is a challenge that the server has asked for.
    pub(crate) fn find(&self, path: &str, lookup: &Lookup) -> Option<FileJob> {
        let token = path.strip_prefix(PREFIX)?;
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if token.is_empty() || !token.bytes().all(valid) {
            return None;
        }
        let path = format!("/{token}");
        (lookup.kind(&self.root, &path) == Kind::File).then(|| FileJob {
            root: Rc::clone(&self.root),
            path,
            redirect_query: None,
            options: Rc::clone(&self.options),
            status: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_that_are_asked_for() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("tok-en_1"), "answer").expect("written");
        let challenges = Challenges::new(directory.path());
        let lookup = Lookup::default();
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
    }
}
