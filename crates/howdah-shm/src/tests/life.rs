//! The life of a slot without crashes.

use std::time::Duration;

use super::{WORKER, done, frames, pool, push, serve, worker};
use crate::slot::Body;
use crate::sync::Ordering;
use crate::{
    Cancel, End, EnlistError, Event, Exit, FillError, Frame, Geometry, GeometryError, QueueError,
    SlotError, SlotState, WorkerId,
};

#[test]
fn a_request_goes_round() {
    let (segment, mut front) = pool(4);
    let mut worker = worker(&segment, WORKER);
    let slot = push(&mut front, 7);
    assert_eq!(front.slot(slot).unwrap().state, SlotState::Queued);
    assert_eq!(front.claimed_ns(slot), 0);

    let claim = worker.search().unwrap();
    assert_eq!(
        (claim.request_id, &claim.vars[..], &claim.body[..]),
        (7, &b"variables"[..], &b"body"[..])
    );
    let running = |started| SlotState::Running {
        worker: WORKER,
        started,
    };
    assert_eq!(front.slot(slot).unwrap().state, running(false));
    assert_ne!(front.claimed_ns(slot), 0);
    worker.started(&claim);
    assert_eq!(front.slot(slot).unwrap().state, running(true));
    assert_eq!(segment.worker(WORKER).unwrap().request_id.unwrap().get(), 7);

    let mut response = crate::worker::ResponseWriter::new(&mut worker, claim);
    response.headers(404, &[("a", "1"), ("b", "")]);
    response.body(b"gone");
    response.end(Exit::Fatal, 255);
    assert_eq!(front.poll(), Some(done(slot, WORKER)));
    assert_eq!(front.poll(), None);

    let read = frames(&mut front, slot);
    let Frame::Headers(head) = &read[0] else {
        panic!("{read:?}")
    };
    assert_eq!(head.status, 404);
    let headers: Vec<_> = head.headers().collect();
    assert_eq!(headers, [("a".into(), "1".into()), ("b".into(), "".into())]);
    assert_eq!(read[1], Frame::Body("gone".into()));
    let end = End {
        exit: Exit::Fatal,
        exit_status: 255,
        memory_peak: 0,
        cpu_us: 0,
        database_us: 0,
        queries: 0,
    };
    assert_eq!(read[2..], [Frame::End(end)]);
    front.release(slot).unwrap();
    assert_eq!(front.free(), 4);
    assert_eq!(segment.worker(WORKER).unwrap().requests, 1);
}

#[test]
fn a_stale_or_misused_id_is_refused() {
    let (segment, mut front) = pool(2);
    let slot = push(&mut front, 1);
    let queued = SlotError::State {
        found: "queued",
        expected: "done, torn or not pushed",
    };
    assert_eq!(front.release(slot), Err(queued));
    assert!(matches!(front.push(slot), Err(QueueError::Slot(_))));
    assert_eq!(front.cancel(slot), Ok(Cancel::Removed));
    assert_eq!(front.cancel(slot), Err(SlotError::Stale));
    assert_eq!(front.abort(slot), Err(SlotError::Stale));
    let again = front.acquire().unwrap();
    assert_eq!(again.index(), slot.index());
    assert_eq!(front.release(slot), Err(SlotError::Stale));
    assert!(front.response(again).is_err());
    assert!(segment.admit(WorkerId(9)).is_err());
}

#[test]
fn a_request_that_does_not_fit_is_refused() {
    let (_segment, mut front) = pool(2);
    let slot = front.acquire().unwrap();
    let refused = front.fill(slot, 1, &[0; 4090], Body::Inline(b"x"), 0);
    assert_eq!(
        refused,
        Err(FillError::TooLarge {
            needed: 4097,
            room: 4096
        })
    );
    assert_eq!(
        front.fill(slot, 0, b"", Body::None, 0),
        Err(FillError::NoId)
    );
    front
        .fill(slot, 1, &[0; 4096], Body::File(1 << 40), 0)
        .unwrap();
    front.push(slot).unwrap();
}

#[test]
fn slots_run_out_and_come_back_last_in_first_out() {
    let (_segment, mut front) = pool(2);
    let (first, second) = (front.acquire().unwrap(), front.acquire().unwrap());
    assert!(front.acquire().is_none());
    front.release(first).unwrap();
    front.release(second).unwrap();
    assert_eq!(front.acquire().unwrap().index(), second.index());
}

#[test]
fn a_cancelled_request_is_never_claimed() {
    let (segment, mut front) = pool(4);
    let mut worker = worker(&segment, WORKER);
    let first = push(&mut front, 1);
    let second = push(&mut front, 2);
    assert_eq!(front.cancel(first), Ok(Cancel::Removed));
    let claim = worker.search().unwrap();
    assert_eq!(claim.request_id, 2);
    assert_eq!(front.cancel(second), Ok(Cancel::Claimed));
    assert!(worker.search().is_none());
}

#[test]
fn a_ring_full_of_cancelled_requests_keeps_the_order_of_the_others() {
    let (segment, mut front) = pool(4);
    let oldest = push(&mut front, 1);
    push(&mut front, 2);
    for id in 3..100 {
        let slot = push(&mut front, id);
        assert_eq!(front.cancel(slot), Ok(Cancel::Removed));
    }
    push(&mut front, 100);
    assert_eq!(front.slot(oldest).unwrap().state, SlotState::Queued);
    let mut worker = worker(&segment, WORKER);
    let order: Vec<_> = std::iter::from_fn(|| worker.search())
        .map(|claim| claim.request_id)
        .collect();
    assert_eq!(order, [1, 2, 100]);
}

#[test]
fn completion_rings_wrap() {
    let (segment, mut front) = pool(1);
    let mut worker = worker(&segment, WORKER);
    for id in 1..50 {
        let slot = push(&mut front, id);
        serve(&mut worker);
        assert_eq!(front.poll(), Some(done(slot, WORKER)));
        assert_eq!(frames(&mut front, slot).len(), 3);
        front.release(slot).unwrap();
    }
}

#[test]
fn progress_is_reported_once_until_it_is_read() {
    let (segment, mut front) = pool(2);
    let mut worker = worker(&segment, WORKER);
    let slot = push(&mut front, 5);
    let claim = worker.search().unwrap();
    let mut response = crate::worker::ResponseWriter::new(&mut worker, claim);
    response.headers(200, &[]);
    response.flush();
    response.body(b"a");
    response.flush();
    assert_eq!(
        front.poll(),
        Some(Event::Progress {
            slot,
            worker: WORKER
        })
    );
    assert_eq!(front.poll(), None);
    assert_eq!(frames(&mut front, slot).len(), 2);
    response.body(b"b");
    response.flush();
    assert_eq!(
        front.poll(),
        Some(Event::Progress {
            slot,
            worker: WORKER
        })
    );
    assert_eq!(frames(&mut front, slot), [Frame::Body("b".into())]);
}

#[test]
fn sleep_is_refused_while_a_completion_is_pending() {
    let (segment, mut front) = pool(2);
    let mut worker = worker(&segment, WORKER);
    assert!(!front.prepare_sleep());
    front.woken();
    push(&mut front, 1);
    serve(&mut worker);
    assert!(front.prepare_sleep());
    assert!(front.poll().is_some());
    assert!(!front.prepare_sleep());
    let sleeping = &segment.memory.ring(0).sleeping.0;
    assert_eq!(sleeping.load(crate::sync::Ordering::Relaxed) % 2, 1);
    push(&mut front, 2);
    serve(&mut worker);
    assert_eq!(sleeping.load(crate::sync::Ordering::Relaxed) % 2, 0);
    let eventfd = segment.eventfds().next().unwrap();
    assert_eq!(rustix::io::read(eventfd, &mut [0; 8]), Ok(8));
}

#[test]
fn a_stopped_worker_claims_nothing_more() {
    let (segment, mut front) = pool(2);
    let mut first = worker(&segment, WORKER);
    push(&mut front, 1);
    segment.stop(WORKER);
    assert!(first.get().is_none());
    let mut second = worker(&segment, WorkerId(1));
    assert_eq!(second.get().unwrap().request_id, 1);
}

#[test]
fn a_place_is_given_once() {
    let (segment, mut front) = pool(2);
    segment.admit(WORKER).unwrap();
    assert_eq!(segment.admit(WORKER), Err(EnlistError::InUse(WORKER)));
    assert!(front.recover(WORKER).unwrap().vacant);
    assert!(front.recover(WORKER).is_err());
    segment.admit(WORKER).unwrap();
}

#[test]
fn impossible_geometries_are_refused() {
    assert_eq!(
        Geometry::new(0, 1, 1, 4096, 4096),
        Err(GeometryError::Fronts(0))
    );
    assert_eq!(
        Geometry::new(1, 513, 1, 4096, 4096),
        Err(GeometryError::Workers(513))
    );
    assert_eq!(
        Geometry::new(1, 1, 3, 4096, 4096),
        Err(GeometryError::Slots(3))
    );
    assert_eq!(
        Geometry::new(1, 1, 1, 100, 4096),
        Err(GeometryError::RequestSize(100))
    );
    assert_eq!(
        Geometry::new(1, 1, 1, 4096, 2048),
        Err(GeometryError::ResponseSize(2048))
    );
}

#[test]
fn a_request_that_is_left_and_not_taken_wakes_a_worker() {
    let (segment, mut front) = pool(4);
    let mut worker = worker(&segment, WORKER);
    front.set_leave_limit(Duration::from_millis(1));
    let parked = segment.memory.parked(0);
    let asleep = || parked.load(Ordering::Relaxed) != 0;
    // Worker 1 sleeps; worker 0 is awake, and reports that its requests take no time.
    for id in 1..=1200 {
        parked.store(WorkerId(1).bit(), Ordering::Relaxed);
        let slot = push(&mut front, id);
        serve(&mut worker);
        assert_eq!(front.poll(), Some(done(slot, WORKER)));
        front.release(slot).unwrap();
    }
    assert!(asleep(), "the last one was left");
    assert!(!front.may_have_left(), "none is queued");
    assert!(!front.recheck_left());

    push(&mut front, 5000);
    assert!(asleep() && front.may_have_left());
    assert!(front.recheck_left(), "it is queued");
    assert!(asleep(), "it was not there at the last look");
    assert!(front.recheck_left());
    assert!(!asleep(), "it has waited too long");
    // No worker is trusted now: each request wakes one.
    parked.store(WorkerId(1).bit(), Ordering::Relaxed);
    push(&mut front, 5001);
    assert!(!asleep());
}

#[test]
fn without_a_leave_limit_each_request_wakes_a_worker() {
    let (segment, mut front) = pool(4);
    let mut worker = worker(&segment, WORKER);
    let parked = segment.memory.parked(0);
    for id in 1..=1200 {
        parked.store(WorkerId(1).bit(), Ordering::Relaxed);
        let slot = push(&mut front, id);
        assert_eq!(parked.load(Ordering::Relaxed), 0, "{id}");
        serve(&mut worker);
        assert_eq!(front.poll(), Some(done(slot, WORKER)));
        front.release(slot).unwrap();
    }
}
