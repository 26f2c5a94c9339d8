//! The seam between the web server and whatever runs the application's code.

use std::rc::Rc;

use bytes::Bytes;
use http::Response;

use super::interim::Interim;
use super::request::AppRequest;

/// Answers the requests that the routes hand to PHP. One value per front thread; never crosses threads.
pub trait Application: 'static {
    /// The body of its responses.
    type Body: http_body::Body<Data = Bytes, Error = std::io::Error> + Unpin + 'static;

    /// Answers one request. Errors are responses too (502, 503, 504): the implementation logs their cause.
    /// Dropping the future or the body means that the client disconnected: a complete request runs nevertheless,
    /// if the application does that. `interim` is for what the client is
    /// to know before.
    fn call(
        self: Rc<Self>,
        request: AppRequest,
        interim: Interim<'_>,
    ) -> impl Future<Output = Response<Self::Body>>;

    /// Ends when no request waits any more, those included whose clients have left; the thread ends then. The
    /// default: there are none.
    fn settled(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// The application of a further configuration, on the same thread. Requests that have begun stay with this
    /// one, which is dropped when the last has its response. `None` (the default): it is the same.
    fn next(&self) -> std::io::Result<Option<Rc<Self>>> {
        Ok(None)
    }
}
