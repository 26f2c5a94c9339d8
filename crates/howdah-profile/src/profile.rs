//! A profile: the measured data, and its settings.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use howdah_shm::{FrameKind, ProfileFrame, SampleCounts, WorkerProfile};

use crate::call_tree::{CallTree, Weight};
use crate::route_pattern::RoutePattern;

/// The time by which stacks are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Wall time, waits included.
    Wall,
    /// Processor time.
    Cpu,
}

impl Metric {
    pub(crate) fn of(self, weight: Weight) -> u64 {
        match self {
            Self::Wall => weight.wall_ns,
            Self::Cpu => weight.cpu_ns,
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Wall => "wall time",
            Self::Cpu => "CPU time",
        }
    }
}

/// How a profile is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileSettings {
    /// Names of the pools.
    pub pools: Vec<String>,
    /// The duration of the profile.
    pub duration: Duration,
    /// Samples of a worker in a second.
    pub hz: u32,
    /// The routes that it shows; `None`: all.
    pub routes: Option<RoutePattern>,
    /// When it began.
    pub began: SystemTime,
}

/// The stacks of the workers of one pool or several.
#[derive(Debug)]
pub struct Profile {
    pub(crate) settings: ProfileSettings,
    pub(crate) tree: CallTree,
    counts: SampleCounts,
    workers: usize,
}

impl Profile {
    /// A profile without workers.
    pub fn new(settings: ProfileSettings) -> Self {
        Self {
            settings,
            tree: CallTree::default(),
            counts: SampleCounts::default(),
            workers: 0,
        }
    }

    /// Adds the counts of a worker of the pool.
    pub fn add(&mut self, pool: &str, worker: &WorkerProfile) {
        let pool = (self.settings.pools.len() > 1).then_some(pool);
        let routes = self.settings.routes.as_ref();
        let dropped = self.tree.add(pool, worker, routes);
        self.counts.add(&worker.counts);
        // A sample of a concurrent worker is at several nodes, so more of them may be dropped than were taken.
        let dropped = dropped.min(self.counts.taken);
        self.counts.taken -= dropped;
        self.counts.full = self.counts.full.saturating_add(dropped);
        self.workers += 1;
    }

    /// Results of all samples.
    pub fn counts(&self) -> SampleCounts {
        self.counts
    }

    /// Number of workers in it.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// How many samples were taken, in one line.
    pub fn summary(&self) -> String {
        let counts = self.counts;
        let (due, had) = (counts.due, counts.taken.saturating_add(counts.idle));
        // Tenths of a percent, rounded down.
        let tenths = u128::from(had) * 1000 / u128::from(due.max(1));
        let dropped = due.saturating_sub(had);
        let mut text = format!(
            "{} workers, {} s at {} Hz: {due} samples due, {} taken, {} idle, {dropped} dropped ({}.{} % seen)",
            self.workers,
            self.settings.duration.as_secs(),
            self.settings.hz,
            counts.taken,
            counts.idle,
            tenths / 10,
            tenths % 10,
        );
        let causes = [
            (counts.late, "late"),
            (counts.unreadable, "unreadable"),
            (counts.full, "without room"),
        ];
        let causes = causes.iter().filter(|(count, _)| *count > 0);
        let causes: Vec<_> = causes
            .map(|(count, cause)| format!("{count} {cause}"))
            .collect();
        if !causes.is_empty() {
            text.push_str("; dropped: ");
            text.push_str(&causes.join(", "));
        }
        if self.settings.routes.is_some() {
            let shown = self.tree.nodes.iter().map(|node| node.own.samples);
            let shown = shown.fold(0, u64::saturating_add);
            // Writing to a `String` cannot fail.
            let _ = write!(text, "; {shown} in the chosen routes");
        }
        text
    }
}

/// `Class::function /srv/file.php:12`.
pub(crate) fn label(frame: &ProfileFrame) -> String {
    match (frame.kind, &*frame.file, frame.line) {
        (FrameKind::Function, file, line) if !file.is_empty() => {
            format!("{} {file}:{line}", frame.name)
        }
        _ => frame.name.clone(),
    }
}
