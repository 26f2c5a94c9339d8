//! Privilege separation. A server that root has started runs as a different user; beside it runs a *monitor*, which
//! stays root and does only what needs it: it reads keys and the configuration, writes logs and the storage of
//! certificates, and, if pools have their own users, starts PHP, which changes to them, and sends signals to PHP's
//! processes.
//!
//! The two share a socket (`protocol`). The monitor has one thread, handles one request after the other, and reads
//! nothing that a client or PHP wrote. Its actions are limited to the paths and programs that the configuration names,
//! which it reads itself ([`Grants`]). The server uses [`fs`] and [`process`], whose functions act themselves where
//! they can, and send a request to the monitor where the server lacks the right.
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
