//! What listeners listen on, and their limits.

pub(crate) mod bind;
pub(crate) mod proxy_protocol;
pub(crate) mod servers;
