//! Front threads: each has its runtime, accepts connections, and switches to the next configuration on a reload.

mod accept;
pub(crate) mod server;
pub(crate) mod thread;
