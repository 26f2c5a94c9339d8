//! A configuration that was read: its files, its changes, and checks that are possible before it is served.

pub(crate) mod changes;
pub(crate) mod document_roots;
pub(crate) mod server_log;
pub(crate) mod source;
pub(crate) mod unchangeable;
