//! Privilege separation. A server that root has started serves as another user; beside it runs a *monitor*,
//! which stays root and does the few things that need it: it reads keys and the configuration, writes logs
//! and the storage of certificates, and where pools have users of their own it starts PHP, which changes to them,
//! and sends signals to PHP's processes.
//!
//! The two share a socket (`protocol`). The monitor has one thread, handles one request after the other, and
//! reads nothing that a client or PHP wrote. What it does is limited to the paths and programs that the
//! configuration names, which it reads itself ([`Grants`]). The server uses [`fs`] and [`process`], whose
//! functions act themselves where they can, and send a request to the monitor where the server lacks the right.
#![forbid(unsafe_code)]

mod acl;
mod acting;
mod children;
mod client;
pub mod fs;
mod grants;
pub mod process;
mod protocol;
mod receiver;
mod serve;
mod walk;

pub use client::{connect, disconnect, is_connected, renew};
pub use grants::Grants;
pub use process::Program;
pub use receiver::Receiver;
pub use serve::serve;
