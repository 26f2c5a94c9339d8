//! What the routes have decided about a request.

use http::{Response, StatusCode};

use super::auth_request::AuthRequest;
use super::password::PasswordCheck;
use crate::answer::files::job::FileJob;
use crate::answer::php::ScriptJob;
use crate::answer::proxy::job::ProxyJob;
use crate::message::endpoint::EndpointName;
use crate::message::response::Content;

/// What the routes make of a request.
pub(crate) enum Outcome {
    /// No route answered.
    Next,
    Answer(Box<Response<Content>>),
    File(FileJob),
    Script(ScriptJob),
    Endpoint(EndpointName),
    Proxy(Box<ProxyJob>),
    /// A password has to be checked; then the routes are run again.
    CheckPassword(Box<PasswordCheck>),
    /// A `forward_auth` request has to be sent; then the routes run again.
    ForwardAuth(Box<AuthRequest>),
    /// In `handle_response`: the response is sent after all, with this status.
    CopyResponse(Option<StatusCode>),
    /// The connection is closed.
    Abort,
}

/// The answer to a request that cannot be what the configuration makes of it.
pub(super) type Refusal = Box<Response<Content>>;

impl Outcome {
    pub(super) fn answer(response: Response<Content>) -> Self {
        Self::Answer(Box::new(response))
    }

    /// Outcome of a change of the request.
    pub(super) fn of(change: Result<(), Refusal>) -> Self {
        change.map_or_else(Self::Answer, |()| Self::Next)
    }
}
