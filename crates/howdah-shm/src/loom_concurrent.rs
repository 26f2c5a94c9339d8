//! Models of a pool whose workers have several requests at the same time: they differ in what they sleep on, and when
//! they announce it.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p howdah-shm --release --lib loom_concurrent`

use crate::loom_tests::{finish, model, next_event, push};
use crate::sync::{Mutant, catches};
use crate::worker::{Claim, ResponseWriter, Worker, WorkerStep};
use crate::{Event, Exit, Frame, Front, Geometry, Segment, WorkerId};
use loom::sync::Mutex;
use loom::thread;
use std::sync::Arc;

fn pool(workers: u32, slots: u32) -> (Arc<Segment>, Front, Vec<Worker>) {
    let geometry = Geometry::new(1, workers, slots, 4096, 4096).unwrap();
    let (segment, mut fronts) = Segment::create_concurrent(geometry).unwrap();
    let workers = (0..workers as u16)
        .map(|worker| {
            let indices = segment.admit(WorkerId(worker)).unwrap();
            Worker::attach(&segment, WorkerId(worker), &indices)
        })
        .collect();
    (segment, fronts.remove(0), workers)
}

/// The next request, or `None` if the worker has to exit.
fn get(worker: &mut Worker) -> Option<Claim> {
    loop {
        match worker.next(true, false) {
            WorkerStep::Claim(claim) => return Some(claim),
            WorkerStep::Woken => {}
            WorkerStep::Stop => return None,
        }
    }
}

fn push_and_park() {
    model(3, || {
        let (_segment, mut front, mut workers) = pool(1, 1);
        let mut worker = workers.remove(0);
        let thread = thread::spawn(move || get(&mut worker).unwrap().request_id);
        push(&mut front, 1);
        assert_eq!(thread.join().unwrap(), 1);
    });
}

#[test]
fn a_push_wakes_a_worker_that_parks() {
    push_and_park();
}

#[test]
fn mutant_push_without_barrier_is_caught() {
    assert!(catches(Mutant::PushWithoutBarrier, push_and_park));
}

/// A worker without a free place sleeps: a wake that another passes on when it exits is not for it. Its request ends
/// when the other one has been served, for which it is then woken.
fn full_worker() {
    model(2, || {
        let (segment, mut front, mut workers) = pool(3, 2);
        let mut free = workers.remove(2);
        let mut full = workers.remove(1);
        let mut leaving = workers.remove(0);
        push(&mut front, 1);
        let claim = full.search().unwrap();
        let served = Arc::new(Mutex::new(false));
        let serve = |claim: &Claim, segment: &Segment, served: &Mutex<bool>| {
            assert_eq!(claim.request_id, 2);
            *served.lock().unwrap() = true;
            segment.wake_worker(WorkerId(1));
        };
        let threads = {
            let (segment, served) = (Arc::clone(&segment), Arc::clone(&served));
            let waits = Arc::clone(&served);
            [
                thread::spawn(move || {
                    while !*waits.lock().unwrap() {
                        assert!(matches!(full.next(false, false), WorkerStep::Woken));
                    }
                    finish(&mut full, claim);
                }),
                thread::spawn(move || {
                    if let Some(claim) = get(&mut free) {
                        serve(&claim, &segment, &served);
                    }
                }),
            ]
        };
        let leave = {
            let (segment, served) = (Arc::clone(&segment), Arc::clone(&served));
            thread::spawn(move || {
                let claim = get(&mut leaving);
                claim
                    .inspect(|claim| serve(claim, &segment, &served))
                    .is_none()
            })
        };
        push(&mut front, 2);
        segment.stop(WorkerId(0));
        if !leave.join().unwrap() {
            segment.stop(WorkerId(2));
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_worker_without_a_free_place_is_not_woken_for_a_request() {
    full_worker();
}

#[test]
fn mutant_parked_when_full_is_caught() {
    assert!(catches(Mutant::ParkedWhenFull, full_worker));
}

/// A worker with another free place takes a second request while it has one.
#[test]
fn one_worker_has_two_requests_at_a_time() {
    model(3, || {
        let (segment, mut front, mut workers) = pool(1, 2);
        let mut worker = workers.remove(0);
        let thread = thread::spawn(move || {
            let first = get(&mut worker).unwrap();
            let second = get(&mut worker).unwrap();
            finish(&mut worker, second);
            finish(&mut worker, first);
        });
        push(&mut front, 1);
        push(&mut front, 2);
        for _ in 0..2 {
            let Event::Done { slot, .. } = next_event(&segment, &mut front) else {
                panic!()
            };
            front.release(slot).unwrap();
        }
        thread.join().unwrap();
    });
}

/// A worker that sleeps while it has a request is notified that it has to end it.
fn abort() {
    model(3, || {
        let (_segment, mut front, mut workers) = pool(1, 1);
        let mut worker = workers.remove(0);
        let slot = push(&mut front, 1);
        let claim = get(&mut worker).unwrap();
        let thread = thread::spawn(move || {
            while worker.aborted(&claim) == 0 {
                assert!(matches!(worker.next(false, false), WorkerStep::Woken));
            }
        });
        front.expire(slot).unwrap();
        thread.join().unwrap();
    });
}

#[test]
fn a_request_whose_time_is_over_is_woken() {
    abort();
}

#[test]
fn mutant_abort_without_wake_is_caught() {
    assert!(catches(Mutant::AbortWithoutWake, abort));
}

/// A worker that waits for space gets it when the front reads.
#[test]
fn a_worker_that_waits_for_space_is_woken() {
    model(3, || {
        let (segment, mut front, mut workers) = pool(1, 1);
        let mut worker = workers.remove(0);
        let slot = push(&mut front, 1);
        let thread = thread::spawn(move || {
            let claim = worker.search().unwrap();
            let mut response = ResponseWriter::new(&mut worker, claim);
            assert!(response.headers(200, &[]));
            assert!(response.body(&[1; 4096]));
            response.end(Exit::Normal, 0);
        });
        let mut ended = false;
        while !ended {
            next_event(&segment, &mut front);
            for frame in front.response(slot).unwrap() {
                ended |= matches!(frame.unwrap(), Frame::End(_));
            }
        }
        thread.join().unwrap();
    });
}

/// A request that is pushed while a worker is ordered to exit reaches the other worker.
fn stop_and_push() {
    model(2, || {
        let (segment, mut front, mut workers) = pool(2, 1);
        let mut staying = workers.remove(1);
        let mut leaving = workers.remove(0);
        let stay = thread::spawn(move || get(&mut staying).unwrap().request_id);
        let leave = thread::spawn(move || get(&mut leaving).is_none());
        segment.stop(WorkerId(0));
        push(&mut front, 1);
        if !leave.join().unwrap() {
            // It had claimed the request before: the other gets it.
            for torn in front.recover(WorkerId(0)).unwrap().torn {
                front.requeue(torn.slot).unwrap();
            }
        }
        assert_eq!(stay.join().unwrap(), 1);
    });
}

#[test]
fn a_worker_that_exits_passes_its_wake_on() {
    stop_and_push();
}

#[test]
fn mutant_stop_keeps_wake_is_caught() {
    assert!(catches(Mutant::StopKeepsWake, stop_and_push));
}
