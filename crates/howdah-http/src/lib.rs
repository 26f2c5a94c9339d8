//! The web server in front of the PHP processes: listeners, TLS handshakes, HTTP/1.1, HTTP/2 and HTTP/3,
//! timeouts and limits, request bodies, routes, static files and the access log.
//!
//! It runs no PHP and links no pool: a request whose script has been found and whose body has been read goes to an
//! [`Application`]; this crate responds to everything else.
//!
//! Its folders are layers, each of which uses those below it:
//!
//! ```text
//! front        front threads: start, accept, reload; the server
//! connection   HTTP/1, HTTP/2 and HTTP/3: from bytes to requests, timeouts, shutdown
//! request      the phases of one request, in order
//! route        sites, matchers, directives (one file each), placeholders
//! observe      counters, the access log, the record of a request
//! listen       addresses: sockets, limits, trusted proxies
//! answer       who answers: files, upstreams, FastCGI, PHP
//! encode       compression
//! socket       the socket of a connection, and what the connection does on it
//! message      requests, responses, their bodies and errors; imports nothing of the crate
//! ```
//!
//! - [`Server::bind`] listens, [`Server::run_thread`] serves on the calling thread until [`Shutdown`]
//!   orders it to stop; [`Stats`] shows its state to other threads.
//! - The disk is checked at most once a second per path (`answer/files/stat.rs`): a new file is seen at
//!   once, a removed one within a second.
//! - Nothing here crosses threads while it serves: `Rc` and `Cell`, no locks.
#![forbid(unsafe_code)]

mod answer;
mod clock;
mod connection;
mod date;
mod encode;
mod front;
mod listen;
mod message;
mod observe;
mod request;
mod route;
mod shutdown;
mod socket;

pub use answer::upstream::board::{UpstreamStatus, upstreams};
pub use front::server::{
    Hooks, LostSpans, POOLS_MAX, PreparedConfiguration, RequestCounters, RunError, Server,
    SwitchError, check, front_threads,
};
pub use listen::error::BindError;
pub use listen::inherited::InheritedSockets;
pub use message::application::Application;
pub use message::connection::{Connection, Tls, TlsClient};
pub use message::interim::{Interim, InterimError};
pub use message::progress::Progress;
pub use message::reply::Failure;
pub use message::request::{AppRequest, RequestBody, RoadRunnerTarget, Script};
pub use message::route_error::RouteError;
pub use message::running_pools::RunningPools;
pub use message::{endpoint, spool};
pub use observe::finished_request::{FinishedBatch, FinishedRequest, FinishedRequests};
pub use observe::record::{ClientState, LiveRequest, LiveRequests};
pub use observe::stats::Stats;
pub use shutdown::Shutdown;
