//! Development only: the real `howdah` program on a free port, with a temporary directory of its own
//! and a log that no unexpected line passes; a raw HTTP/1.1 client; gates at which PHP scripts and
//! tests wait for each other.
//!
//! ```no_run
//! use howdah_testkit::{Server, Www};
//!
//! let www = Www::new().file("index.php", "<?php echo 'hello';");
//! let server = Server::builder(&www).workers(2).start();
//! server.get("/").assert(200, "hello");
//! ```
//!
//! A failed step panics: this crate is used by tests alone. It knows the program from outside only:
//! its commands, its log, its answers.
#![forbid(unsafe_code)]

use std::time::Duration;

mod binary;
mod builder;
pub mod client;
mod end;
pub mod fastcgi;
pub mod fpm;
mod gate;
pub mod load;
pub mod log;
mod ports;
pub mod process;
mod redis;
mod server;
mod www;

pub use binary::{howdah, howdah_php};
pub use builder::{ExitReport, ServerBuilder};
pub use client::{Connection, Request, Response};
pub use end::EndOnDrop;
pub use gate::Gate;
pub use ports::{ClosedPort, free_ports};
pub use redis::{Redis, RedisTls};
pub use rustix::process::Signal;
pub use server::Server;
pub use www::Www;

/// How long anything may take before a test calls it hung. Never waited for in a test that passes,
/// so it is generous: machines that run tests are busy.
pub const PATIENCE: Duration = Duration::from_secs(120);
