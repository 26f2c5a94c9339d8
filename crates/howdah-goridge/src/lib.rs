//! Pools of RoadRunner HTTP workers: processes of PHP's command line that use goridge over their standard input and
//! output, each with one request at a time.
//!
//! ```text
//!   main runtime                         front threads
//!   supervisor ── processes              Pool::call ── takes a worker, sends, reads, gives it back
//!       └────────────── the workers that wait, behind a lock ──────────────┘
//! ```
//!
//! # Layers
//!
//! Each may use those below it and no others:
//!
//! | | |
//! |---|---|
//! | `handle` | the server's handle of a pool |
//! | `supervisor`, `exchange` | all workers; one request on one worker |
//! | `boot`, `orphan` | from the start of a process to its exit; the rest of a response whose client has disconnected |
//! | `pool` | what supervisor and front threads share |
//! | `worker` | a process and its pipes |
//! | `link`, `launch`, `stderr`, `rpc`, `plugins`, `body`, `call_error` | pipes, processes, the log, calls of plugins |
//! | `request`, `response`, `upload`, `form`, `frame` | what is sent; pure, except for uploaded files |
//! | `options`, `status` | options and figures |
#![forbid(unsafe_code)]

mod body;
mod boot;
mod call_error;
mod exchange;
pub mod form;
pub mod frame;
mod handle;
mod launch;
mod link;
mod options;
mod orphan;
mod plugins;
mod pool;
mod request;
mod response;
mod rpc;
mod status;
mod stderr;
mod supervisor;
mod upload;
mod worker;

pub use body::Body;
pub use call_error::CallError;
pub use exchange::Observer;
pub use handle::{Pool, Request, RequestBody, StartError};
pub use launch::COMMAND;
pub use options::PoolOptions;
pub use request::RequestHead;
pub use response::{Context, ContextError, Head};
pub use upload::FormError;
