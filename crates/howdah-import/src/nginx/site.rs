//! What locations need of their server.

use std::collections::BTreeMap;

use super::fastcgi::Php;
use super::upstream::Upstreams;
use crate::directive::Directive;
use crate::pattern::is_script;

/// Settings of a server that its locations need.
pub(super) struct Site<'a> {
    pub(super) upstreams: &'a Upstreams,
    /// PHP of the location for scripts.
    pub(super) php: Option<Php>,
    /// File names that stand for a directory.
    pub(super) index: Vec<String>,
    /// Directories without one of these are for the front controller.
    pub(super) index_is_front: bool,
    /// `location @name`.
    pub(super) named: BTreeMap<String, &'a [Directive]>,
    /// Access rules of a location without its own.
    pub(super) access: Vec<Directive>,
}

impl Site<'_> {
    pub(super) fn has_script_index(&self) -> bool {
        self.index.iter().any(|name| is_script(name))
    }
}
