//! What a connection is doing, with its deadline. Shared by its socket, its requests and its
//! driver, all on one thread.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use http::{Response, StatusCode};

use super::framing::Framing;
use super::interim;
use crate::clock;
use crate::message::disconnect::DisconnectGuard;
use crate::message::sendfile::{self, SendfileTarget};
use crate::message::tunnel::Tunnel;

/// Between requests, in the header of one, or busy with requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Idle,
    Header,
    Busy,
}

/// When the protocol gets the end of the client's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EofDelivery {
    Now,
    /// The state changes in the next poll of the connection, which must be scheduled.
    NextTurn,
    /// When the connection is polled again, which the request in flight causes.
    Later,
}

/// The activity of a connection, and its deadline.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    phase: Cell<Phase>,
    /// When the phase began, on the coarse clock.
    since: Cell<u64>,
    /// Since when a write has been waiting for the client; 0: none waits.
    blocked: Cell<u64>,
    /// Exchanges in flight: at most one on HTTP/1.
    active: Cell<u32>,
    /// Bytes received since the last request ended.
    header_bytes: Cell<usize>,
    /// Whether they contain the end of a line.
    line_ended: Cell<bool>,
    /// Several concurrent requests, on streams: HTTP/2 and HTTP/3.
    multiplexed: Cell<bool>,
    /// Whether the end of the client's bytes was held back since the last request began.
    end_held: Cell<bool>,
    /// Guard of the current HTTP/1 request.
    pub(crate) hold: DisconnectGuard,
    /// How often the connection was polled, and when the end of its bytes was found. HTTP/2 only.
    turn: Cell<u64>,
    end_found: Cell<Option<u64>>,
    refusal: Cell<Option<StatusCode>>,
    linger: Cell<bool>,
    /// A response announces the close of the connection, since the server shuts down.
    closes: Cell<bool>,
    /// The tunnel that the connection becomes.
    tunnel: RefCell<Option<Box<Tunnel>>>,
    framing: RefCell<Framing>,
    pub(crate) interim: interim::Queue,
    /// Queue of files for HTTP/1 without TLS.
    pub(crate) files: sendfile::Queue,
    /// Requests that have begun.
    requests: Cell<u64>,
    max_header_size: usize,
}

impl ConnectionState {
    pub(crate) fn new(max_header_size: usize) -> Self {
        Self {
            phase: Cell::new(Phase::Idle),
            since: Cell::new(clock::now()),
            blocked: Cell::new(0),
            active: Cell::new(0),
            header_bytes: Cell::new(0),
            line_ended: Cell::new(false),
            multiplexed: Cell::new(false),
            end_held: Cell::new(false),
            hold: DisconnectGuard::default(),
            turn: Cell::new(0),
            end_found: Cell::new(None),
            refusal: Cell::new(None),
            linger: Cell::new(false),
            closes: Cell::new(false),
            tunnel: RefCell::default(),
            framing: RefCell::default(),
            interim: interim::Queue::default(),
            files: sendfile::Queue::default(),
            requests: Cell::new(0),
            max_header_size,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase.get()
    }

    pub(crate) fn phase_start(&self) -> u64 {
        self.since.get()
    }

    pub(crate) fn blocked_since(&self) -> Option<u64> {
        Some(self.blocked.get()).filter(|since| *since != 0)
    }

    /// HTTP/2 and HTTP/3: their libraries limit headers, which arrive in frames.
    pub(crate) fn set_multiplexed(&self) {
        self.multiplexed.set(true);
        self.framing.borrow_mut().stop();
        self.phase.set(Phase::Idle);
    }

    pub(crate) fn is_multiplexed(&self) -> bool {
        self.multiplexed.get()
    }

    /// Takes the interim responses of the request that has just been polled. HTTP/2 and HTTP/3.
    pub(crate) fn take_interim(&self) -> Vec<Response<()>> {
        self.interim.take_heads()
    }

    /// The client may send its first request from now on.
    pub(crate) fn connected(&self) {
        self.enter(Phase::Idle);
    }

    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since.set(clock::now());
    }

    /// A request's header is complete.
    pub(crate) fn begin(&self) {
        self.active.set(self.active.get() + 1);
        self.requests.set(self.requests.get() + 1);
        self.end_held.set(false);
        self.phase.set(Phase::Busy);
    }

    /// A request's response is over.
    pub(crate) fn end(&self) {
        let active = self.active.get().saturating_sub(1);
        self.active.set(active);
        if active == 0 {
            self.header_bytes.set(0);
            self.line_ended.set(false);
            self.enter(Phase::Idle);
        }
    }

    /// Bytes that arrived before the last request's header was complete.
    pub(crate) fn header_bytes(&self) -> usize {
        self.header_bytes.get()
    }

    /// Why the request that has just begun is refused before any other check. HTTP/1.
    pub(crate) fn framing_refusal(&self) -> Option<&'static str> {
        self.framing.borrow().refusal(self.requests.get())
    }

    /// Records bytes from the socket. Returns what hyper gets: normally all of them, unchanged.
    pub(crate) fn read<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        self.received(bytes);
        if self.multiplexed.get() {
            return Cow::Borrowed(bytes);
        }
        let mut framing = self.framing.borrow_mut();
        let passed = &bytes[..framing.receive(bytes)];
        if framing.unescaped().is_empty() {
            return Cow::Borrowed(passed);
        }
        let encoded = percent_encoded(passed, framing.unescaped());
        framing.clear_unescaped();
        Cow::Owned(encoded)
    }

    /// Whether the rest of a body cannot be read.
    pub(crate) fn is_broken(&self) -> bool {
        !self.multiplexed.get() && self.framing.borrow().is_broken()
    }

    /// Records that an HTTP/2 connection is about to be polled.
    pub(crate) fn begin_poll(&self) {
        self.turn.set(self.turn.get() + 1);
    }

    /// How to report the end of the client's bytes.
    ///
    /// hyper looks for it as soon as it has a request, and h2 before it returns requests that arrived with it: both
    /// would drop requests unseen.
    pub(crate) fn end_of_bytes(&self) -> EofDelivery {
        if self.multiplexed.get() {
            let turn = self.turn.get();
            let found = self.end_found.get().unwrap_or(turn);
            self.end_found.set(Some(found));
            if found == turn {
                EofDelivery::NextTurn
            } else {
                EofDelivery::Now
            }
        } else if !self.framing.borrow().is_in_body() && self.hold.is_on() {
            EofDelivery::Later
        } else if self.active.get() > 0 && !self.end_held.replace(true) {
            EofDelivery::NextTurn
        } else {
            EofDelivery::Now
        }
    }

    /// Counts bytes that may belong to a header; bytes that hyper returns are counted again.
    pub(crate) fn received(&self, bytes: &[u8]) {
        if self.multiplexed.get() || self.phase.get() == Phase::Busy || bytes.is_empty() {
            return;
        }
        if self.phase.get() == Phase::Idle {
            self.enter(Phase::Header);
        }
        self.header_bytes.set(self.header_bytes.get() + bytes.len());
        if !self.line_ended.get() {
            self.line_ended.set(bytes.contains(&b'\n'));
        }
    }

    /// Called before more is read: whether the header is already too large. The refusal is
    /// permanent.
    pub(crate) fn refuses_more(&self) -> bool {
        if self.phase.get() != Phase::Header || self.header_bytes.get() <= self.max_header_size {
            return false;
        }
        self.refusal.set(Some(if self.line_ended.get() {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        } else {
            StatusCode::URI_TOO_LONG
        }));
        true
    }

    pub(crate) fn refusal(&self) -> Option<StatusCode> {
        self.refusal.get()
    }

    /// Whether a part of a response has not reached the socket, as far as is known.
    pub(crate) fn is_writing(&self) -> bool {
        self.blocked.get() != 0 || !self.files.is_empty()
    }

    pub(crate) fn write_pending(&self) {
        if self.blocked.get() == 0 {
            self.blocked.set(clock::now().max(1));
        }
    }

    pub(crate) fn write_progressed(&self) {
        self.blocked.set(0);
    }

    /// The client may still be sending data that is not read: an immediate close would reset the
    /// connection, and the client could lose the response.
    pub(crate) fn set_linger(&self) {
        self.linger.set(true);
    }

    /// After the current response the connection switches to another protocol. HTTP/1.
    pub(crate) fn set_tunnel(&self, tunnel: Box<Tunnel>) {
        self.tunnel.replace(Some(tunnel));
    }

    pub(crate) fn take_tunnel(&self) -> Option<Box<Tunnel>> {
        self.tunnel.take()
    }

    /// The next response announces the close of the connection, since the server shuts down or the address is removed.
    /// The client may already be sending another request. HTTP/1.
    pub(crate) fn set_closes(&self) {
        self.closes.set(true);
    }

    pub(crate) fn closes(&self) -> bool {
        self.closes.get()
    }

    pub(crate) fn lingers(&self) -> bool {
        self.linger.get()
    }
}

impl SendfileTarget for ConnectionState {
    fn queue(&self) -> &sendfile::Queue {
        &self.files
    }
}

/// `bytes` with those at `places`, in order, percent-encoded.
#[cold]
fn percent_encoded(bytes: &[u8], places: &[usize]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(bytes.len() + 2 * places.len());
    let mut start = 0;
    for place in places {
        encoded.extend_from_slice(&bytes[start..*place]);
        encoded.extend_from_slice(percent_encoding::percent_encode_byte(bytes[*place]).as_bytes());
        start = place + 1;
    }
    encoded.extend_from_slice(&bytes[start..]);
    encoded
}
