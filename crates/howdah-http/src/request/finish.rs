//! The last phase: connection-specific fields, the header changes of the routes, compression, and the body for the
//! connection.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALT_SVC, CONNECTION, CONTENT_LENGTH, HeaderValue, SERVER, TRANSFER_ENCODING};
use http::response::Parts;
use http::{Method, Response, StatusCode, Version};
use http_body::Body;
use hyper::ext::ReasonPhrase;

use super::discard::discard;
use super::exchange::{Exchange, ResponseBody};
use super::pending::PendingRequest;
use super::receive::ReceivedRequest;
use super::scope::RequestScope;
use crate::encode::{Encodings, Negotiation};
use crate::message::header_change::{Changes, ResponseSoFar};
use crate::message::page;
use crate::message::reply::Failure;
use crate::message::response::{Content, ExternalResponse, Source};
use crate::message::upstream_note::UpstreamNote;
use crate::socket::executor;
use crate::socket::state::ConnectionState;

const NAME: HeaderValue = HeaderValue::from_static("Howdah");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// The data of its request that the end of a response needs.
#[expect(
    clippy::struct_excessive_bools,
    reason = "properties of a request that have nothing to do with each other"
)]
pub(super) struct Finish {
    version: Version,
    is_head: bool,
    has_body: bool,
    is_misframed: bool,
    /// Errors are sent as pages.
    wants_page: bool,
    /// What client and routes request for compression.
    compression: Option<Negotiation>,
}

impl Finish {
    pub(super) fn new(received: &ReceivedRequest, encodings: Encodings) -> Self {
        let parts = &received.parts;
        Self {
            version: parts.version,
            is_head: parts.method == Method::HEAD,
            has_body: received.has_body,
            is_misframed: received.is_misframed,
            wants_page: page::accepts_html(&parts.headers),
            compression: encodings.negotiate(&parts.method, &parts.headers),
        }
    }

    pub(super) fn compresses(&self) -> bool {
        self.compression.is_some()
    }

    /// Completes the response for the connection.
    pub(super) fn finish<A, B>(
        &mut self,
        scope: &RequestScope<A>,
        response: Response<Source<B>>,
        request: &PendingRequest,
        changes: Changes,
        mut exchange: Exchange,
    ) -> Response<ResponseBody<B>>
    where
        B: Body<Data = Bytes, Error = io::Error> + Unpin + 'static,
    {
        let (mut head, mut source) = response.into_parts();
        if self.wants_page && head.extensions.get::<Failure>().is_some() {
            page::describe_error(&mut head.headers);
            let page = page::error(head.status, scope.id);
            source = Source::Content(Content::Bytes(page.into()));
        }
        let own_fields = if changes.has_immediate() {
            [SERVER, ALT_SVC].map(|name| (!head.headers.contains_key(&name)).then_some(name))
        } else {
            [None, None]
        };
        self.frame(scope, request, &mut head);
        let is_application = matches!(source, Source::Application(_));
        let is_foreign = is_application || head.extensions.remove::<ExternalResponse>().is_some();
        head.headers.entry(SERVER).or_insert(NAME);
        let upstream = head.extensions.remove::<Arc<UpstreamNote>>();
        let so_far = ResponseSoFar {
            status: head.status.as_u16(),
            php: head.extensions.remove(),
            upstream: upstream.as_deref(),
            own_fields: &own_fields,
        };
        changes.apply(&mut head.headers, is_foreign, &so_far);
        exchange.set_upstream(upstream);
        let source = match source {
            Source::Application(body) => {
                // The log has the header of an application as it was before compression.
                exchange.set_response(head.status, &head.headers);
                let source = self.application_body(&mut head, body);
                self.compress(scope, &mut head, source)
            }
            Source::Content(Content::Tunnel(tunnel)) => {
                scope.state.set_tunnel(tunnel);
                exchange.set_response(head.status, &head.headers);
                Source::Content(Content::Empty)
            }
            source => {
                let mut source = self.compress(scope, &mut head, source);
                self.send_by_kernel(scope, &head, &mut source);
                exchange.set_response(head.status, &head.headers);
                source
            }
        };
        exchange.finished = self.is_head || source.is_end_stream();
        executor::note_response();
        Response::from_parts(head, ResponseBody::new(source, exchange))
    }

    /// Sets the fields that concern the connection.
    fn frame<A>(&self, scope: &RequestScope<A>, request: &PendingRequest, head: &mut Parts) {
        let is_http1 = self.version < Version::HTTP_2;
        let alt_svc = scope.snapshot().alt_svc(scope.listener);
        if let Some(alt_svc) = alt_svc.filter(|_| self.version < Version::HTTP_3) {
            let field = head.headers.entry(ALT_SVC);
            field.or_insert_with(|| alt_svc.clone());
        }
        if is_http1
            && head.status.canonical_reason().is_none()
            && head.extensions.get::<ReasonPhrase>().is_none()
        {
            // hyper would add its own.
            head.extensions.insert(ReasonPhrase::from_static(b""));
        }
        if is_http1 && scope.snapshot().life.shutdown.closes_connections() {
            // The order came while the request was in flight.
            scope.state.set_closes();
        }
        if scope.state.closes() && head.status != StatusCode::SWITCHING_PROTOCOLS {
            head.headers.insert(CONNECTION, CLOSE);
        }
        let is_unread = self.has_body && !request.is_body_read();
        if (is_unread || self.is_misframed) && is_http1 {
            // The body was not read to its end, or its end is unknown. The connection cannot be
            // reused, and it must not be closed so abruptly that the client loses the response.
            scope.state.set_linger();
            head.headers.insert(CONNECTION, CLOSE);
        }
    }

    /// The application's body. Where HTTP allows none, the application still runs to its end: if its body were dropped,
    /// it would assume that the client has disconnected.
    fn application_body<B>(&self, head: &mut Parts, body: B) -> Source<B>
    where
        B: Body<Data = Bytes, Error = io::Error> + Unpin + 'static,
    {
        let is_bodiless = matches!(
            head.status,
            StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
        );
        if !self.is_head && !is_bodiless {
            return Source::Application(body);
        }
        if !is_bodiless
            && let Some(length) = body.size_hint().exact()
            && length > 0
        {
            head.headers
                .entry(CONTENT_LENGTH)
                .or_insert(HeaderValue::from(length));
        }
        if !body.is_end_stream() {
            tokio::task::spawn_local(discard(body));
        }
        Source::Content(Content::Empty)
    }

    fn compress<A, B>(
        &mut self,
        scope: &RequestScope<A>,
        head: &mut Parts,
        source: Source<B>,
    ) -> Source<B>
    where
        B: Body<Data = Bytes, Error = io::Error> + Unpin + 'static,
    {
        match self.compression.take() {
            Some(wanted) => wanted.apply(head, source, &scope.snapshot().compressed),
            None => source,
        }
    }

    /// Lets the kernel send a file, if `Content-Length` frames its body: then every byte reaches the socket unchanged.
    fn send_by_kernel<A, B>(&self, scope: &RequestScope<A>, head: &Parts, source: &mut Source<B>) {
        if let Source::Content(Content::File(file)) = source
            && self.version < Version::HTTP_2
            && scope.connection.tls.is_none()
            && !head.headers.contains_key(CONTENT_LENGTH)
            && !head.headers.contains_key(TRANSFER_ENCODING)
        {
            file.send_by_kernel(Rc::<ConnectionState>::clone(&scope.state));
        }
    }
}
