//! The web server in front of the PHP processes: listeners, TLS handshakes, HTTP/1.1, HTTP/2 and HTTP/3,
//! timeouts and limits, request bodies, routes, static files and the access log.
//!
//! It knows no PHP. A request whose script has been found and whose body has been read goes to an
//! [`application::Application`]; everything else is answered here.
//!
//! ```text
//! front thread (one runtime, own sockets)
//!   accept ─> connection ─> hyper ─> check ─> routes ─┬─> answer
//!             (timeouts)                              ├─> static file
//!                                                     └─> body ─> Application
//! ```
//!
//! - [`Server::bind`] listens, [`Server::run_thread`] serves on the calling thread until [`Shutdown`]
//!   orders it to stop; [`Stats`] tells other threads what goes on.
//! - What exists on disk is asked at most once a second and path (`lookup`): a new file is seen at
//!   once, a removed one within a second.
//! - Nothing here crosses threads while it serves: `Rc` and `Cell`, no locks.
#![forbid(unsafe_code)]

mod answer;
pub mod application;
mod auth;
mod balance;
mod body;
mod challenge;
mod check;
mod clock;
mod connection;
mod credentials;
mod date;
mod encode;
pub mod endpoint;
mod executor;
mod fastcgi;
mod files;
mod health;
mod hints;
mod http2;
mod http3;
mod incoming;
mod inherited;
mod later;
mod life;
mod limits;
mod listener;
mod log;
mod lookup;
mod multiplexed;
mod path;
mod perform;
mod proxy;
mod record;
mod response;
mod route;
mod server;
mod service;
mod serving;
mod setup;
mod shutdown;
pub mod spool;
mod stats;
mod thread;
mod unix;
mod upstream;

pub use answer::Failure;
pub use application::{
    AppRequest, Application, Connection, Interim, InterimError, Progress, RequestBody, Script,
};
pub use inherited::Inherited;
pub use listener::BindError;
pub use record::{LiveRequest, LiveRequests};
pub use route::RouteError;
pub use server::{
    Counted, Hooks, LostSpans, POOLS_MAX, Prepared, RunError, Server, SwitchError, front_threads,
};
pub use shutdown::Shutdown;
pub use stats::Stats;
