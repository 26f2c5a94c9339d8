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
    Hosts,
    Config,
}

/// In order; the keys 1 to 9 and 0 select them.
pub(super) const TABS: [Tab; 10] = [
    Tab::Overview,
    Tab::Workers,
    Tab::Requests,
    Tab::Routes,
    Tab::Slow,
    Tab::Leaks,
    Tab::Log,
    Tab::Server,
    Tab::Hosts,
    Tab::Config,
];

impl Tab {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Workers => "Workers",
            Self::Requests => "Requests",
            Self::Routes => "Routes",
            Self::Hosts => "Hosts",
            Self::Slow => "Slow",
            Self::Leaks => "Leaks",
            Self::Log => "Log",
            Self::Server => "Server",
            Self::Config => "Config",
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
