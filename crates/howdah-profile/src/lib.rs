//! Profiles of PHP: the counts of pools' workers ([`howdah_shm::WorkerProfile`]) as one call tree, rendered in the
//! formats of tools.
//!
//! # Layers
//!
//! Each may use those below it and no others:
//!
//! | | |
//! |---|---|
//! | `format` | the formats by their names |
//! | `flame_graph`, `folded`, `pprof`, `speedscope` | one format each |
//! | `profile` | what was measured, and how |
//! | `call_tree` | stacks of all workers |
//! | `render_error`, `route_pattern` | errors of output; selection of routes |
//!
//! The SVG of flame graphs is written here and not by inferno, because its licence, CDDL-1.0, is refused by `deny.toml`.
//!
//! This crate must not depend on processes, pools' options or HTTP. Names come from PHP code, which may be hostile:
//! each format escapes its special characters.
#![forbid(unsafe_code)]

mod call_tree;
mod flame_graph;
mod folded;
mod format;
mod pprof;
mod profile;
mod render_error;
mod route_pattern;
mod speedscope;
#[cfg(test)]
mod tests;

pub use format::Format;
pub use howdah_shm::{FrameKind, ProfileFrame, SampleCounts};
pub use profile::{Metric, Profile, ProfileSettings};
pub use render_error::RenderError;
pub use route_pattern::RoutePattern;
