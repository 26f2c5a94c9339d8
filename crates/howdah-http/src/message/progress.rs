//! Progress of a request in an application, for observers.

use std::rc::Rc;

use howdah_observe::usage::ScriptUsage;

/// Receives the progress of a request.
pub(crate) trait ProgressSink {
    fn on_claim(&self, claimed_ns: u64, worker: u16);
    fn on_crash(&self);
    fn on_usage(&self, usage: ScriptUsage);
    fn on_done(&self);
}

/// The application's side of an observed request: reports its progress.
#[derive(Clone)]
pub struct Progress(Rc<dyn ProgressSink>);

impl Progress {
    pub(crate) fn new(sink: Rc<dyn ProgressSink>) -> Self {
        Self(sink)
    }

    /// A PHP process has claimed the request, at this time of `CLOCK_MONOTONIC` in nanoseconds.
    pub fn on_claim(&self, claimed_ns: u64, worker: u16) {
        self.0.on_claim(claimed_ns, worker);
    }

    /// Reports that the process crashed, and the request is queued again.
    pub fn on_crash(&self) {
        self.0.on_crash();
    }

    /// Reports what the request cost, which is known at the end of its response.
    pub fn on_usage(&self, usage: ScriptUsage) {
        self.0.on_usage(usage);
    }

    /// PHP has finished the request.
    pub fn on_done(&self) {
        self.0.on_done();
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").finish_non_exhaustive()
    }
}
