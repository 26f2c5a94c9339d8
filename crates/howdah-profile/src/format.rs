//! The formats and their names.

use std::str::FromStr;

use crate::profile::{Metric, Profile};
use crate::render_error::{RenderError, SIZE_MAX};
use crate::{flame_graph, folded, pprof, speedscope};

/// Format of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A flame graph that a browser shows.
    Svg,
    /// The protobuf of pprof, compressed: `go tool pprof`, Grafana, Parca.
    Pprof,
    /// JSON for <https://speedscope.app>.
    Speedscope,
    /// A line for each stack: for flamegraph.pl and similar tools.
    Folded,
}

impl Format {
    const NAMES: [(&str, Self); 4] = [
        ("svg", Self::Svg),
        ("pprof", Self::Pprof),
        ("speedscope", Self::Speedscope),
        ("folded", Self::Folded),
    ];

    /// The format for a file of this name.
    pub fn of_file(name: &str) -> Option<Self> {
        let name = name.rsplit('/').next().unwrap_or_default();
        let has = |end: &str| name == &end[1..] || name.ends_with(end);
        if has(".svg") {
            Some(Self::Svg)
        } else if has(".pprof") || has(".pb.gz") || has(".pprof.gz") {
            Some(Self::Pprof)
        } else if has(".json") {
            Some(Self::Speedscope)
        } else if has(".folded") || has(".txt") {
            Some(Self::Folded)
        } else {
            None
        }
    }

    /// Its name in queries and options.
    pub fn name(self) -> &'static str {
        let named = Self::NAMES.iter().find(|(_, format)| *format == self);
        named.map_or("", |(name, _)| name)
    }

    /// Its media type for HTTP.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Svg => "image/svg+xml",
            Self::Pprof => "application/octet-stream",
            Self::Speedscope => "application/json",
            Self::Folded => "text/plain; charset=utf-8",
        }
    }

    /// Renders the profile in this format. Fails if the document is larger than [`SIZE_MAX`].
    pub fn render(self, profile: &Profile, metric: Metric) -> Result<Vec<u8>, RenderError> {
        let bytes = match self {
            Self::Svg => flame_graph::render(profile, metric).into_bytes(),
            Self::Pprof => pprof::render(profile, metric)?,
            Self::Speedscope => speedscope::render(profile, metric)?,
            Self::Folded => folded::render(profile, metric).into_bytes(),
        };
        if bytes.len() > SIZE_MAX {
            return Err(RenderError::TooLarge(bytes.len()));
        }
        Ok(bytes)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::NAMES.iter().find(|(name, _)| *name == text);
        named
            .map(|(_, format)| *format)
            .ok_or_else(|| "expected svg, pprof, speedscope or folded".to_owned())
    }
}
