//! A request on its way through the routes.

use std::borrow::Cow;
use std::rc::Rc;

use howdah_cgi::Host;
use http::request::Parts;

use super::header::Pending;
use crate::application::Connection;
use crate::encode::Encodings;
use crate::lookup::{Lookup, Root, Roots};

/// The request as the routes have left it so far.
pub(crate) struct Context<'r> {
    pub(crate) parts: &'r Parts,
    pub(crate) connection: &'r Connection,
    pub(crate) id: u64,
    /// Name and port of the `Host` header, if it has one.
    pub(crate) host: Option<Host<'r>>,
    /// Decoded and normalised.
    pub(crate) path: Cow<'r, str>,
    /// Whether `path` is no longer that of the request.
    pub(crate) rewritten: bool,
    /// `None`: as sent.
    pub(crate) query: Option<String>,
    /// What `try_files` cut off behind the script.
    pub(crate) path_info: String,
    pub(crate) root: Rc<Root>,
    /// Changes of the response's header, in order.
    pub(crate) headers: Vec<Pending>,
    pub(crate) encodings: Encodings,
    pub(crate) lookup: &'r Lookup,
    pub(crate) roots: &'r Roots,
}

impl Context<'_> {
    /// Raw, without `?`.
    pub(crate) fn query(&self) -> &str {
        match &self.query {
            Some(query) => query,
            None => self.parts.uri.query().unwrap_or(""),
        }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.connection.tls.is_some() {
            "https"
        } else {
            "http"
        }
    }

    pub(crate) fn set_path(&mut self, path: String) {
        if path != self.path {
            self.path = Cow::Owned(path);
            self.rewritten = true;
        }
    }

    /// The path without its trailing slash; `/` becomes empty.
    pub(crate) fn path_without_slash(&self) -> &str {
        self.path.strip_suffix('/').unwrap_or(&self.path)
    }
}
