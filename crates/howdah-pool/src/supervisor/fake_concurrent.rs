//! A worker with several requests at a time, for tests.

use howdah_shm::worker::{Claim, Worker, WorkerStep};

/// Serves until the worker has been ordered to exit and has no request left. Whenever it has one more, or was woken,
/// `react` gets those that it has; it answers some, and gives the others back. `None`: it dies with them.
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
