//! What is done with the requests of a location.

use crate::output::Lines;

/// What a location does: the inner lines of its `handle`.
pub(super) struct Body {
    pub(super) lines: Lines,
    /// The path of the location is removed from that of the request.
    pub(super) strips: bool,
}

impl From<Lines> for Body {
    fn from(lines: Lines) -> Self {
        Self {
            lines,
            strips: false,
        }
    }
}
