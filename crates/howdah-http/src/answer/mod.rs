//! Responders: static files, upstreams over HTTP, upstreams over FastCGI.

pub(crate) mod challenge;
pub(crate) mod fastcgi;
pub(crate) mod files;
pub(crate) mod forwarded;
pub(crate) mod hints;
pub(crate) mod php;
pub(crate) mod proxy;
pub(crate) mod upstream;
