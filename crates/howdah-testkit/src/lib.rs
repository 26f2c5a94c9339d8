//! Test support: runs the real `howdah` program on a free port with a separate temporary directory,
//! and checks its log for unexpected lines. It has a raw HTTP/1.1 client, and gates at which PHP
//! scripts and tests wait for each other.
//!
//! ```no_run
//! use howdah_testkit::{Server, Www};
//!
//! let www = Www::new().file("index.php", "<?php echo 'hello';");
//! let server = Server::builder(&www).workers(2).start();
//! server.get("/").assert(200, "hello");
//! ```
//!
//! A failed step panics, because only tests use this crate. It depends only on the interfaces of
//! the program: its commands, its log and its responses.
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

/// Time after which a test considers a step hung. It is generous, because machines that run tests
/// are busy, and a test that passes never waits for it.
pub const PATIENCE: Duration = Duration::from_secs(120);
