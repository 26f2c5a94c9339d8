//! What authentication has decided about a request, whose routes are run again with it.

use std::rc::Rc;

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

/// The fields that a `forward_auth` copies: the one of the response, and the one of the request.
#[derive(Debug)]
pub(crate) struct CopiedFields(pub(crate) Box<[(HeaderName, HeaderName)]>);

/// What was found out for one request, whose routes are run again with it.
pub(crate) enum Verdict {
    /// A password was checked.
    Password { key: u128, good: bool },
    /// The response of an authentication server.
    Granted(Grant),
}

/// The server of a `forward_auth` has let a request go on.
pub(crate) struct Grant {
    /// Those of its `forward_auth`, which it is known by.
    copy: Rc<CopiedFields>,
    /// What is copied, of each field of `copy`.
    values: Vec<Vec<HeaderValue>>,
}

impl Grant {
    pub(crate) fn new(copy: &Rc<CopiedFields>, values: Vec<Vec<HeaderValue>>) -> Self {
        Self {
            copy: Rc::clone(copy),
            values,
        }
    }

    /// Whether it is the verdict of the `forward_auth` with these fields, and not of another one.
    pub(super) fn belongs_to(&self, copy: &Rc<CopiedFields>) -> bool {
        Rc::ptr_eq(&self.copy, copy)
    }

    /// What the client itself sent in these fields is not believed.
    pub(super) fn copy_to(&self, headers: &mut HeaderMap) {
        for ((_, to), values) in self.copy.0.iter().zip(&self.values) {
            headers.remove(to);
            for value in values {
                headers.append(to, value.clone());
            }
        }
    }
}
