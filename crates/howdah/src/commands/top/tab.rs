//! The tabs.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Overview,
    Workers,
    Requests,
    Routes,
    Slow,
    Leaks,
    Log,
    Server,
}

/// In order; the keys 1 to 8 select them.
pub(super) const TABS: [Tab; 8] = [
    Tab::Overview,
    Tab::Workers,
    Tab::Requests,
    Tab::Routes,
    Tab::Slow,
    Tab::Leaks,
    Tab::Log,
    Tab::Server,
];

impl Tab {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Workers => "Workers",
            Self::Requests => "Requests",
            Self::Routes => "Routes",
            Self::Slow => "Slow",
            Self::Leaks => "Leaks",
            Self::Log => "Log",
            Self::Server => "Server",
        }
    }

    pub(super) fn index(self) -> usize {
        TABS.iter().position(|tab| *tab == self).unwrap_or(0)
    }

    /// The tab so many places to the right; wraps around.
    pub(super) fn step(self, places: usize) -> Self {
        TABS[(self.index() + places) % TABS.len()]
    }
}
