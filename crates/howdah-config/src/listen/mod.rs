//! Listen addresses and their limits.

pub(crate) mod bind;
pub(crate) mod proxy_protocol;
pub(crate) mod servers;
