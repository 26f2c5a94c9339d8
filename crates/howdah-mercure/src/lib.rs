//! A Mercure hub in the server's process: version 8 of the protocol and subscribers of Mercure 1.0,
//! <https://mercure.rocks/spec>.
//!
//! ```text
//! POST ─ token, form ─> Update ─> Hub ─┬─ history, with limits
//!                                      └─ queue of each subscriber that it is for ─> EventStream ─> SSE
//! ```
//!
//! - A queue has a limit: a subscriber that does not keep up is dropped, and requests the missed updates with
//!   `Last-Event-ID` when it reconnects.
//! - The text of an event is generated once, whatever the number of subscribers.
//! - [`Hub::answer`] handles requests of any front thread, [`Hub::publish`] updates of the server itself; neither
//!   waits.
//!
//! This crate does not depend on connections or configuration files.
#![forbid(unsafe_code)]

mod answer;
mod hub;
mod options;
mod publish;
mod selector;
mod stream;
mod subscribe;
mod subscriptions;
#[cfg(test)]
mod tests;
mod token;
mod update;
mod url_pattern;

pub use answer::{Body, Request};
pub use hub::{Counts, Hub};
pub use options::{Key, KeyError, Options, Origins, PATH};
pub use stream::EventStream;
pub use update::{Draft, Problem};
