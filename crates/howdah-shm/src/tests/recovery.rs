//! The exit of a worker at chosen states, and proofs that the checks would detect a defect.

use super::{WORKER, done, frames, pool, push, serve, worker};
use crate::slot::WorkerId;
use crate::sync::{Mutant, Ordering, catches};
use crate::worker::ResponseWriter;
use crate::{Event, Frame, SlotError};

const OTHER: WorkerId = WorkerId(1);

/// Sets the bit of a worker that sleeps.
fn park(segment: &crate::Segment, worker: WorkerId) {
    segment
        .memory
        .parked(worker.word())
        .fetch_or(worker.bit(), Ordering::SeqCst);
}

fn is_parked(segment: &crate::Segment, worker: WorkerId) -> bool {
    segment.worker(worker).unwrap().parked
}

#[test]
fn a_request_that_was_not_started_is_queued_again() {
    let (segment, mut front) = pool(2);
    let mut first = worker(&segment, WORKER);
    let slot = push(&mut front, 3);
    drop(first.search().unwrap());
    let recovery = front.recover(WORKER).unwrap();
    assert!(recovery.completed.is_empty() && recovery.vacant);
    let [torn] = recovery.torn[..] else {
        panic!("{recovery:?}")
    };
    assert_eq!((torn.slot, torn.started, torn.read), (slot, false, false));
    front.requeue(slot).unwrap();
    assert!(matches!(
        front.requeue(slot),
        Err(crate::QueueError::Slot(SlotError::State { .. }))
    ));
    let mut second = worker(&segment, WORKER);
    serve(&mut second);
    assert_eq!(front.poll(), Some(done(slot, WORKER)));
    assert_eq!(frames(&mut front, slot).len(), 3);
}

#[test]
fn a_started_request_is_torn_and_its_committed_frames_are_whole() {
    let (segment, mut front) = pool(2);
    let mut first = worker(&segment, WORKER);
    let slot = push(&mut front, 3);
    let claim = first.search().unwrap();
    first.started(&claim);
    let mut response = ResponseWriter::new(&mut first, claim);
    response.headers(200, &[]);
    response.body(b"part");
    response.flush();
    response.body(b"never flushed");
    let recovery = front.recover(WORKER).unwrap();
    assert_eq!(
        recovery.completed,
        [Event::Progress {
            slot,
            worker: WORKER
        }]
    );
    assert!(recovery.torn[0].started && !recovery.torn[0].ended);
    assert_eq!(frames(&mut front, slot)[1..], [Frame::Body("part".into())]);
    front.release(slot).unwrap();
    assert_eq!(front.free(), 2);
}

#[test]
fn a_worker_that_exits_because_of_a_request_reports_it() {
    let (segment, mut front) = pool(2);
    let mut first = worker(&segment, WORKER);
    push(&mut front, 3);
    let claim = first.search().unwrap();
    first.started(&claim);
    first.too_long(&claim);
    let torn = front.recover(WORKER).unwrap().torn[0];
    assert!(torn.started && torn.too_long);
}

fn a_published_completion_survives_its_worker() {
    let (segment, mut front) = pool(2);
    let mut first = worker(&segment, WORKER);
    let slot = push(&mut front, 3);
    serve(&mut first);
    let recovery = front.recover(WORKER).unwrap();
    assert_eq!(
        recovery.completed,
        [Event::Done {
            slot,
            worker: WORKER
        }]
    );
    assert!(recovery.torn.is_empty());
    assert_eq!(frames(&mut front, slot).len(), 3);
    front.release(slot).unwrap();
    // The successor continues where its predecessor was read to.
    let mut second = worker(&segment, WORKER);
    let slot = push(&mut front, 4);
    serve(&mut second);
    assert_eq!(front.poll(), Some(done(slot, WORKER)));
}

#[test]
fn completions_come_before_torn_slots() {
    a_published_completion_survives_its_worker();
    assert!(catches(
        Mutant::ScanBeforeDrain,
        a_published_completion_survives_its_worker
    ));
}

fn a_wake_that_died_with_its_worker_is_given_to_another() {
    let (segment, mut front) = pool(2);
    for id in [WORKER, OTHER] {
        segment.admit(id).unwrap();
        park(&segment, id);
    }
    push(&mut front, 1);
    assert!(!is_parked(&segment, WORKER) && is_parked(&segment, OTHER));
    let wakes = segment.memory.worker(1).front.wake.load();
    front.recover(WORKER).unwrap();
    assert!(!is_parked(&segment, OTHER));
    assert_eq!(segment.memory.worker(1).front.wake.load(), wakes + 1);
}

#[test]
fn a_lost_wake_is_repeated() {
    a_wake_that_died_with_its_worker_is_given_to_another();
    assert!(catches(
        Mutant::NoRewake,
        a_wake_that_died_with_its_worker_is_given_to_another
    ));
}

fn a_worker_that_exits_passes_its_wake_on() {
    let (segment, mut front) = pool(2);
    let mut leaving = worker(&segment, WORKER);
    segment.admit(OTHER).unwrap();
    let thread = std::thread::spawn(move || assert!(leaving.get().is_none()));
    while !is_parked(&segment, WORKER) {
        std::thread::yield_now();
    }
    // Like `stop`, but without its own wake: the push's must be enough.
    segment
        .memory
        .worker(0)
        .front
        .stop
        .store(1, Ordering::SeqCst);
    park(&segment, OTHER);
    push(&mut front, 1);
    thread.join().unwrap();
    assert!(
        !is_parked(&segment, OTHER),
        "the other worker sleeps on a queued request"
    );
}

#[test]
fn hand_on() {
    a_worker_that_exits_passes_its_wake_on();
}

#[test]
fn a_dead_worker_is_not_woken() {
    let (segment, mut front) = pool(2);
    for id in [WORKER, OTHER] {
        segment.admit(id).unwrap();
        park(&segment, id);
    }
    front.recover(WORKER).unwrap();
    push(&mut front, 1);
    assert!(!is_parked(&segment, OTHER));
}

#[test]
fn the_head_advances_over_cells_that_a_dead_worker_claimed() {
    let (segment, mut front) = pool(2);
    let mut first = worker(&segment, WORKER);
    let slot = push(&mut front, 1);
    drop(first.search().unwrap());
    // As if it had exited between its claim and moving the head.
    segment.memory.ring(0).head.0.store(0, Ordering::SeqCst);
    let mut second = worker(&segment, OTHER);
    let next = push(&mut front, 2);
    serve(&mut second);
    assert_eq!(front.poll(), Some(done(next, OTHER)));
    assert_eq!(front.recover(WORKER).unwrap().torn[0].slot, slot);
}

#[test]
fn each_front_thread_recovers_its_own() {
    let geometry = crate::Geometry::new(2, 1, 2, 4096, 4096).unwrap();
    let (segment, mut fronts) = crate::Segment::create(geometry).unwrap();
    let mut worker = worker(&segment, WORKER);
    for (front, id) in fronts.iter_mut().zip(1..) {
        push(front, id);
    }
    assert!(worker.search().is_some() && worker.search().is_some());
    let first = fronts[0].recover(WORKER).unwrap();
    assert!(first.torn.len() == 1 && !first.vacant);
    assert!(segment.admit(WORKER).is_err() && segment.is_enlisted(WORKER));
    let second = fronts[1].recover(WORKER).unwrap();
    assert!(second.torn.len() == 1 && second.vacant);
    segment.admit(WORKER).unwrap();
}
