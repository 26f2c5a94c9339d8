//! A configuration that was read: its files, what changed in it, and what can be checked before it is served.

pub(crate) mod changes;
pub(crate) mod document_roots;
pub(crate) mod server_log;
pub(crate) mod source;
pub(crate) mod unchangeable;
