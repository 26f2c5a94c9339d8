//! The front against fake workers in one thread, step by step, and against hostile workers.

mod concurrent;
mod violations;
// Needs a C compiler.
#[cfg(not(miri))]
mod layout;
mod life;
mod recovery;
// Miri has no poll(2).
#[cfg(not(miri))]
mod responses;
// Miri has no eventfd, which wakes workers of concurrent pools, and would take an hour.
#[cfg(not(miri))]
mod scribbles;

use crate::layout::words;
use crate::slot::{Body, SlotId, WorkerId};
use crate::worker::{ResponseWriter, Worker};
use crate::{Event, Exit, Frame, Front, Geometry, Segment};
use std::sync::Arc;

const RING: u32 = 4096;
const WORKER: WorkerId = WorkerId(0);

/// One front thread, two places for workers.
fn pool(slots: u32) -> (Arc<Segment>, Front) {
    let geometry = Geometry::new(1, 2, slots, 4096, RING).unwrap();
    let (segment, mut fronts) = Segment::create(geometry).unwrap();
    (segment, fronts.remove(0))
}

fn worker(segment: &Arc<Segment>, id: WorkerId) -> Worker {
    let indices = segment.admit(id).unwrap();
    Worker::attach(segment, id, &indices)
}

fn push(front: &mut Front, id: u64) -> SlotId {
    let slot = front.acquire().unwrap();
    front
        .fill(slot, id, b"variables", Body::Inline(b"body"), 0)
        .unwrap();
    front.push(slot).unwrap();
    slot
}

/// Serves one request with a short response.
fn serve(worker: &mut Worker) {
    let claim = worker.search().unwrap();
    worker.started(&claim);
    let mut response = ResponseWriter::new(worker, claim);
    assert!(response.headers(200, &[("content-type", "text/plain")]));
    assert!(response.body(b"hello"));
    response.end(Exit::Normal, 0);
}

fn frames(front: &mut Front, slot: SlotId) -> Vec<Frame> {
    front
        .response(slot)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn slot_words(segment: &Segment, slot: SlotId) -> &words::Slot {
    segment.memory.slot(slot.front, slot.index)
}

const fn done(slot: SlotId, worker: WorkerId) -> Event {
    Event::Done { slot, worker }
}
