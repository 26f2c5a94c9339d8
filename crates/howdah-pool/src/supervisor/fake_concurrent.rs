//! A worker with several concurrent requests, for tests.

use howdah_shm::worker::{Claim, Worker, WorkerStep};

/// Serves until the worker has been ordered to exit and has no request left. After each new request, or when it was
/// woken, `react` gets all its requests; it responds to some, and returns the others. `None`: the worker crashes with
/// them.
pub(crate) fn serve(
    worker: &mut Worker,
    places: usize,
    mut react: impl FnMut(&mut Worker, Vec<Claim>) -> Option<Vec<Claim>>,
) {
    let (mut held, mut stopping) = (Vec::new(), false);
    while !(stopping && held.is_empty()) {
        match worker.next(held.len() < places, stopping) {
            WorkerStep::Claim(claim) => held.push(claim),
            WorkerStep::Woken => {}
            WorkerStep::Stop => stopping = true,
        }
        match react(worker, held) {
            Some(rest) => held = rest,
            None => return,
        }
    }
}
