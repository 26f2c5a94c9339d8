//! Results of the requests of a run, and their errors.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use howdah_testkit::Response;
use howdah_testkit::client::ClientError;

use super::kinds::KINDS;
use super::plan::{Leaves, Plan, complaint, is_hung};

/// Counts of a run.
#[derive(Debug, Default)]
pub struct Report(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    steps: BTreeMap<&'static str, usize>,
    /// Number of requests with at least one step of a kind, in the order of [`KINDS`].
    kinds: [usize; KINDS.len()],
    left_at_once: usize,
    left_later: usize,
    hung: usize,
    mixed: usize,
    gone: usize,
}

impl Report {
    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sent(&self, plan: &Plan) {
        let mut counts = self.counts();
        for step in &plan.ops {
            *counts.steps.entry(step).or_default() += 1;
        }
        for (count, (_, steps)) in counts.kinds.iter_mut().zip(KINDS) {
            *count += usize::from(steps.iter().any(|step| plan.ops.contains(step)));
        }
        match plan.leaves {
            Leaves::Never => {}
            Leaves::AtOnce => counts.left_at_once += 1,
            Leaves::Later => counts.left_later += 1,
        }
    }

    pub(super) fn received(&self, plan: &Plan, result: &Result<Response, ClientError>) {
        if is_hung(result) {
            self.counts().hung += 1;
        } else if complaint(plan, result).is_some() {
            self.counts().mixed += 1;
        }
        let gone = |response: &Response| response.header("x-gone").is_some();
        self.counts().gone += usize::from(result.as_ref().is_ok_and(gone));
    }

    /// Number of requests with this step.
    pub fn count(&self, step: &str) -> usize {
        self.counts().steps.get(step).copied().unwrap_or_default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts();
        writeln!(
            f,
            "{} mixed, {} hung, {} found a shared handle closed; {} clients left at once, {} while their request ran",
            counts.mixed, counts.hung, counts.gone, counts.left_at_once, counts.left_later
        )?;
        for ((kind, steps), count) in KINDS.iter().zip(counts.kinds) {
            let mut line = String::new();
            for step in *steps {
                match counts.steps.get(step) {
                    Some(count) => write!(line, " {step} {count}")?,
                    None => write!(line, " {step} -")?,
                }
            }
            writeln!(f, "{count:9} {kind}:{line}")?;
        }
        Ok(())
    }
}
