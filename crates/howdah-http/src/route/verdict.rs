//! What routes have waited for, with which they run again.

use std::rc::Rc;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

/// The fields that a `forward_auth` copies: the field of the response, and the field of the
/// request.
#[derive(Debug)]
pub(crate) struct CopiedFields(pub(crate) Box<[(HeaderName, HeaderName)]>);

/// A result that a request waited for before its routes could continue.
pub(crate) enum Verdict {
    /// A password was checked.
    Password { key: u128, good: bool },
    /// The response of an authentication server.
    Granted(Grant),
    /// The body of the request was read.
    Body(Bytes),
}

/// The server of a `forward_auth` has allowed the request.
pub(crate) struct Grant {
    /// The fields of its `forward_auth`, by which it is identified.
    copy: Rc<CopiedFields>,
    /// The values to copy, for each field of `copy`.
    values: Vec<Vec<HeaderValue>>,
}

impl Grant {
    pub(crate) fn new(copy: &Rc<CopiedFields>, values: Vec<Vec<HeaderValue>>) -> Self {
        Self {
            copy: Rc::clone(copy),
            values,
        }
    }

    /// Whether it is the verdict of the `forward_auth` with these fields.
    pub(super) fn belongs_to(&self, copy: &Rc<CopiedFields>) -> bool {
        Rc::ptr_eq(&self.copy, copy)
    }

    /// Sets the fields; values from the client are replaced.
    pub(super) fn copy_to(&self, headers: &mut HeaderMap) {
        for ((_, to), values) in self.copy.0.iter().zip(&self.values) {
            headers.remove(to);
            for value in values {
                headers.append(to, value.clone());
            }
        }
    }
}
