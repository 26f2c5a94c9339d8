//! The decision of the routes about a request.

use http::{Response, StatusCode};

use super::auth_request::AuthRequest;
use super::password::PasswordCheck;
use crate::answer::files::job::FileJob;
use crate::answer::php::ScriptJob;
use crate::answer::proxy::job::ProxyJob;
use crate::message::endpoint::EndpointName;
use crate::message::response::Content;

/// The decision of the routes.
pub(crate) enum Outcome {
    /// No route has responded.
    Next,
    Answer(Box<Response<Content>>),
    File(FileJob),
    Script(Box<ScriptJob>),
    Endpoint(EndpointName),
    Proxy(Box<ProxyJob>),
    /// A password has to be checked; then the routes are run again.
    CheckPassword(Box<PasswordCheck>),
    /// A `forward_auth` request has to be sent; then the routes run again.
    ForwardAuth(Box<AuthRequest>),
    /// A placeholder needs the body of the request, of at most this many bytes; then the routes run again.
    ReadBody(Option<u64>),
    /// In `handle_response`: the original response is sent, with this status.
    CopyResponse(Option<StatusCode>),
    /// The connection is closed.
    Abort,
}

/// The response to a request for which the configured change is not possible.
pub(super) type Refusal = Box<Response<Content>>;

impl Outcome {
    pub(super) fn answer(response: Response<Content>) -> Self {
        Self::Answer(Box::new(response))
    }

    /// The outcome of a change of the request.
    pub(super) fn of(change: Result<(), Refusal>) -> Self {
        change.map_or_else(Self::Answer, |()| Self::Next)
    }
}
