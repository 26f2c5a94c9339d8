//! A pool whose workers have several requests at the same time: which one is woken, and how.

use super::{RING, WORKER, done, frames, pool, push, worker};
use crate::layout::{ABORTED_CLIENT, ABORTED_TIME};
use crate::sync::Ordering;
use crate::worker::ResponseWriter;
use crate::{Exit, Front, Geometry, Segment, WorkerId};
use rustix::fd::BorrowedFd;
use std::sync::Arc;

fn concurrent(workers: u32, slots: u32) -> (Arc<Segment>, Front) {
    let geometry = Geometry::new(1, workers, slots, 4096, RING).unwrap();
    let (segment, mut fronts) = Segment::create_concurrent(geometry).unwrap();
    (segment, fronts.remove(0))
}

fn event(segment: &Segment, worker: WorkerId) -> BorrowedFd<'_> {
    segment.worker_eventfds().nth(worker.index()).unwrap()
}

/// How often the worker was woken since the last call.
fn rings(segment: &Segment, worker: WorkerId) -> u64 {
    let mut counter = [0; 8];
    match rustix::io::read(event(segment, worker), &mut counter) {
        Ok(_) => u64::from_ne_bytes(counter),
        Err(error) => {
            assert_eq!(error, rustix::io::Errno::AGAIN);
            0
        }
    }
}

fn park(segment: &Segment, worker: WorkerId, in_flight: u32) {
    let words = segment.memory.worker(worker.0);
    words.own.in_flight.store(in_flight, Ordering::Relaxed);
    let parked = segment.memory.parked(worker.word());
    parked.fetch_or(worker.bit(), Ordering::SeqCst);
}

#[test]
fn only_a_concurrent_pool_has_eventfds_of_workers() {
    assert_eq!(pool(1).0.worker_eventfds().count(), 0);
    assert_eq!(concurrent(3, 1).0.worker_eventfds().count(), 3);
}

#[test]
fn a_push_wakes_the_parked_worker_with_the_fewest_requests() {
    let (segment, mut front) = concurrent(70, 8);
    let [first, second, last] = [WorkerId(0), WorkerId(1), WorkerId(69)];
    park(&segment, first, 5);
    park(&segment, second, 2);
    park(&segment, last, 2);
    // The bit of a worker that does not exist: a broken one set it.
    segment.memory.parked(1).fetch_or(1 << 63, Ordering::SeqCst);
    for woken in [second, last, first] {
        push(&mut front, 1);
        let all = [first, second, last].map(|worker| rings(&segment, worker));
        let expected = [first, second, last].map(|worker| u64::from(worker == woken));
        assert_eq!(all, expected);
        let wake = &segment.memory.worker(woken.0).front.wake;
        assert_eq!(wake.load(), 1);
    }
    push(&mut front, 1);
    assert_eq!(rings(&segment, second), 0, "no worker sleeps");
}

#[test]
fn the_worker_of_the_request_is_notified_of_its_abort() {
    let (segment, mut front) = concurrent(2, 2);
    let mut worker = worker(&segment, WORKER);
    let slot = push(&mut front, 1);
    assert_eq!(front.hold(slot), None, "no worker has it");
    front.abort(slot).unwrap();
    assert_eq!(rings(&segment, WORKER), 0, "no worker has it");

    let claim = worker.search().unwrap();
    assert_eq!(worker.aborted(&claim), ABORTED_CLIENT);
    front.expire(slot).unwrap();
    assert_eq!(worker.aborted(&claim), ABORTED_TIME);
    assert_eq!(rings(&segment, WORKER), 1);
    front.abort(slot).unwrap();
    assert_eq!(
        worker.aborted(&claim),
        ABORTED_TIME,
        "the stronger word stays"
    );
    assert_eq!(rings(&segment, WORKER), 1);
    assert_eq!(rings(&segment, WorkerId(1)), 0);

    let hold = front.hold(slot).unwrap();
    assert!(segment.is_held(hold));
    ResponseWriter::new(&mut worker, claim).end(Exit::Normal, 0);
    assert_eq!(front.poll(), Some(done(slot, WORKER)));
    front.release(slot).unwrap();
    assert!(!segment.is_held(hold));

    // The slot's next request is not aborted, nor is it the held one.
    let slot = push(&mut front, 2);
    let claim = worker.search().unwrap();
    assert_eq!(worker.aborted(&claim), 0);
    assert!(front.hold(slot).is_some_and(|hold| segment.is_held(hold)));
    assert!(!segment.is_held(hold));
}

#[test]
fn space_is_reported_to_the_worker_that_waits_for_it() {
    let (segment, mut front) = concurrent(1, 2);
    let mut worker = worker(&segment, WORKER);
    let slots = [push(&mut front, 1), push(&mut front, 2)];
    let claims = [worker.search().unwrap(), worker.search().unwrap()];
    assert_eq!(segment.worker(WORKER).unwrap().in_flight, 2);
    for claim in claims {
        let mut response = ResponseWriter::new(&mut worker, claim);
        assert!(response.headers(200, &[]));
        response.flush();
    }
    let waiting = &super::slot_words(&segment, slots[1]).worker.waiting;
    waiting.store(1, Ordering::SeqCst);
    assert_eq!(frames(&mut front, slots[0]).len(), 1);
    assert_eq!(rings(&segment, WORKER), 0, "it does not wait for this one");
    assert_eq!(frames(&mut front, slots[1]).len(), 1);
    assert_eq!(rings(&segment, WORKER), 1);
}

#[test]
fn all_requests_of_a_dead_worker_are_torn() {
    let (segment, mut front) = concurrent(2, 4);
    let mut worker = worker(&segment, WORKER);
    for id in 1..=3 {
        push(&mut front, id);
    }
    let claims: Vec<_> = (0..3).map(|_| worker.search().unwrap()).collect();
    worker.started(&claims[1]);
    park(&segment, WorkerId(1), 0);
    let queued = push(&mut front, 4);
    assert_eq!(rings(&segment, WorkerId(1)), 1);
    park(&segment, WorkerId(1), 0);
    let recovery = front.recover(WORKER).unwrap();
    let started: Vec<_> = recovery.torn.iter().map(|torn| torn.started).collect();
    assert_eq!(started, [false, true, false]);
    assert_eq!(rings(&segment, WorkerId(1)), 1, "for the one that waits");
    front.requeue(recovery.torn[0].slot).unwrap();
    assert!(front.slot(queued).is_some());
    segment.admit(WORKER).unwrap();
    assert_eq!(segment.worker(WORKER).unwrap().in_flight, 0);
}

#[test]
fn a_worker_that_is_to_exit_is_woken() {
    let (segment, _front) = concurrent(1, 1);
    segment.stop(WORKER);
    assert_eq!(rings(&segment, WORKER), 1);
}

#[test]
fn the_longest_hold_is_taken_once() {
    let (segment, _front) = concurrent(1, 1);
    let words = &segment.memory.worker(0).own;
    words.hog_ns.store(7, Ordering::Relaxed);
    assert_eq!(segment.take_hog_ns(WORKER), 7);
    assert_eq!(segment.take_hog_ns(WORKER), 0);
    assert_eq!(segment.take_hog_ns(WorkerId(9)), 0);
}
