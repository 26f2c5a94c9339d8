//! HTTPS options of the global block.

pub(crate) mod options;
pub(crate) mod pki;
pub(crate) mod storage;
