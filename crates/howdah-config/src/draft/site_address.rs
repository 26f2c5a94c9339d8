//! Addresses of sites.

use super::Binding;
use crate::error::Position;
use crate::model::Address;

/// An address of a site, and its position.
pub(crate) struct SiteAddress {
    pub(crate) site: usize,
    /// Its number in [`Site::addresses`](crate::model::Site::addresses).
    pub(crate) address: usize,
    pub(crate) resolved: Address,
    pub(crate) bind: Binding,
    /// It has a scheme.
    pub(crate) fixed: bool,
    /// Its site has `tls`.
    pub(crate) has_tls: bool,
    /// Path of the requests that are for the site; `None`: all requests of the address.
    pub(crate) path: Option<String>,
    pub(crate) text: String,
    pub(crate) position: Position,
}
