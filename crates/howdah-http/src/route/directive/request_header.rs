//! `request_header`: changes of the request header.

use http::header::HOST;

use crate::message::header_change::ResponseSoFar;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::header::{FieldChange, prepare};
use crate::route::outcome::Outcome;

#[derive(Debug)]
pub(super) struct RequestHeader(pub(super) Box<[FieldChange]>);

impl Handler for RequestHeader {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let pending = prepare(&self.0, context);
        let headers = &mut context.parts_mut().headers;
        for change in pending {
            change.apply(headers, &ResponseSoFar::default());
        }
        // A request has at most one `Host`.
        if headers.get_all(HOST).iter().nth(1).is_some()
            && let Some(last) = headers.get_all(HOST).iter().next_back().cloned()
        {
            headers.insert(HOST, last);
        }
        Outcome::Next
    }
}
