//! The interface between the web server and the application.

use std::rc::Rc;

use bytes::Bytes;
use http::Response;

use super::interim::Interim;
use super::request::AppRequest;

/// Handles the requests that the routes pass to PHP. One value per front thread; never crosses threads.
pub trait Application: 'static {
    /// The body of its responses.
    type Body: http_body::Body<Data = Bytes, Error = std::io::Error> + Unpin + 'static;

    /// Handles one request. Errors are responses too (502, 503, 504): the implementation logs their cause. Dropping the
    /// future or the body means that the client has disconnected: whether a complete request still runs is up to the
    /// application. `interim` sends responses before the final one. The request is large and so not moved: the
    /// implementation takes out of it what it keeps.
    fn call(
        self: Rc<Self>,
        request: &mut AppRequest,
        interim: Interim<'_>,
    ) -> impl Future<Output = Response<Self::Body>>;

    /// Completes when no request waits any more, including those whose clients have disconnected; then the thread ends.
    /// By default there are none.
    fn settled(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// The application of a new configuration, on the same thread. Requests in flight stay with this one, which is
    /// dropped when the last has its response. `None` (the default): it does not change.
    fn next(&self) -> std::io::Result<Option<Rc<Self>>> {
        Ok(None)
    }
}
