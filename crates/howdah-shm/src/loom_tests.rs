//! Models of the algorithm: loom runs every order of their steps, up to a number of preemptions, and every value that
//! the memory model lets a load return. A lost wake-up is a deadlock of the model.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p howdah-shm --release --lib loom_tests`

use crate::sync::{Mutant, catches};
use crate::worker::{Claim, ResponseWriter, Worker};
use crate::{Body, Cancel, Event, Exit, Frame, Front, Geometry, Segment, SlotId, WorkerId};
use loom::cell::UnsafeCell;
use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::sync::Arc;

pub(crate) fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

fn pool(workers: u32, slots: u32) -> (Arc<Segment>, Front, Vec<Worker>) {
    let geometry = Geometry::new(1, workers, slots, 4096, 4096).unwrap();
    let (segment, mut fronts) = Segment::create(geometry).unwrap();
    let workers = (0..workers as u16)
        .map(|worker| {
            let indices = segment.admit(WorkerId(worker)).unwrap();
            Worker::attach(&segment, WorkerId(worker), &indices)
        })
        .collect();
    (segment, fronts.remove(0), workers)
}

pub(crate) fn push(front: &mut Front, id: u64) -> SlotId {
    let slot = front.acquire().unwrap();
    front.fill(slot, id, b"", Body::None, 0).unwrap();
    front.push(slot).unwrap();
    slot
}

pub(crate) fn finish(worker: &mut Worker, claim: Claim) {
    ResponseWriter::new(worker, claim).end(Exit::Normal, 0);
}

/// Polls, and sleeps when there is nothing, as a front thread does.
pub(crate) fn next_event(segment: &Segment, front: &mut Front) -> Event {
    loop {
        if let Some(event) = front.poll() {
            return event;
        }
        if !front.prepare_sleep() {
            segment.bells[0].wait();
            front.woken();
        }
    }
}

/// A worker that parks while the front pushes is woken.
fn push_and_park() {
    model(3, || {
        let (_segment, mut front, mut workers) = pool(1, 1);
        let mut worker = workers.remove(0);
        let thread = thread::spawn(move || worker.get().unwrap().request_id);
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

/// A check at any step of a worker finds the segment consistent. Only two checks: a third may rely on the time between
/// them, after which the writes of a worker are visible, and a model has no time.
#[test]
fn a_check_finds_no_fault_while_a_worker_serves() {
    model(2, || {
        let (_segment, mut front, mut workers) = pool(1, 2);
        let mut worker = workers.remove(0);
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                let claim = worker.get().unwrap();
                finish(&mut worker, claim);
            }
        });
        push(&mut front, 1);
        push(&mut front, 2);
        for second in 2..4 {
            assert_eq!(front.check(second * 1_000_000_000), Ok(()));
        }
        thread.join().unwrap();
        while front.poll().is_some() {}
        assert_eq!(front.check(4_000_000_000), Ok(()));
    });
}

/// A front thread that leaves as much as possible to workers that are awake, without checking
/// again.
fn patient(workers: u32, slots: u32) -> (Arc<Segment>, Front, Vec<Worker>) {
    let (segment, mut front, workers) = pool(workers, slots);
    front.set_leave_limit(std::time::Duration::MAX);
    front.trust_workers();
    (segment, front, workers)
}

/// A worker that is awake sees a request that is left to it before it sleeps.
fn push_and_leave() {
    model(3, || {
        let (_segment, mut front, mut workers) = patient(1, 2);
        let mut worker = workers.remove(0);
        let thread = thread::spawn(move || {
            let mut sum = 0;
            for _ in 0..2 {
                let claim = worker.get().unwrap();
                sum += claim.request_id;
                finish(&mut worker, claim);
            }
            sum
        });
        push(&mut front, 1);
        push(&mut front, 2);
        assert_eq!(thread.join().unwrap(), 3);
    });
}

#[test]
fn a_request_that_is_left_reaches_a_worker_that_parks() {
    push_and_leave();
}

#[test]
fn mutant_leave_without_barrier_is_caught() {
    assert!(catches(Mutant::PushWithoutBarrier, push_and_leave));
}

/// Two requests, two workers: each gets one, with the bytes that belong to it.
#[test]
fn two_workers_claim_two_requests() {
    model(3, || {
        let (_segment, mut front, workers) = pool(2, 2);
        let bytes: Arc<[UnsafeCell<u64>; 2]> = Arc::default();
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                let bytes = Arc::clone(&bytes);
                thread::spawn(move || {
                    let id = worker.get().unwrap().request_id;
                    // SAFETY: loom checks that the front's write happened before.
                    bytes[id as usize - 1].with(|bytes| assert_eq!(unsafe { *bytes }, id));
                    id
                })
            })
            .collect();
        for id in [1, 2] {
            // SAFETY: loom checks that no other thread has access.
            bytes[id as usize - 1].with_mut(|bytes| unsafe { *bytes = id });
            push(&mut front, id);
        }
        let sum: u64 = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum();
        assert_eq!(sum, 3, "one request was claimed twice");
    });
}

/// A worker whose handler takes long must not swallow the wake for another request.
fn long_handler() {
    model(3, || {
        let (_segment, mut front, workers) = pool(2, 2);
        let other_done = Arc::new((Mutex::new(false), Condvar::new()));
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                let other_done = Arc::clone(&other_done);
                thread::spawn(move || {
                    let (done, changed) = &*other_done;
                    if worker.get().unwrap().request_id == 1 {
                        // The first request ends only after the second was served.
                        let mut done = done.lock().unwrap();
                        while !*done {
                            done = changed.wait(done).unwrap();
                        }
                    } else {
                        *done.lock().unwrap() = true;
                        changed.notify_one();
                    }
                })
            })
            .collect();
        push(&mut front, 1);
        push(&mut front, 2);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_long_handler_does_not_swallow_a_wake() {
    long_handler();
}

#[test]
fn mutant_recheck_claims_is_caught() {
    assert!(catches(Mutant::RecheckClaims, long_handler));
}

/// A front that goes to sleep while a worker completes is woken.
fn sleep_and_commit() {
    model(3, || {
        let (segment, mut front, mut workers) = pool(1, 1);
        let mut worker = workers.remove(0);
        let slot = push(&mut front, 1);
        let thread = thread::spawn(move || {
            let claim = worker.search().unwrap();
            finish(&mut worker, claim);
        });
        let event = next_event(&segment, &mut front);
        assert_eq!(
            event,
            Event::Done {
                slot,
                worker: WorkerId(0)
            }
        );
        let frames: Vec<_> = front.response(slot).unwrap().map(Result::unwrap).collect();
        assert!(matches!(frames[..], [Frame::End(_)]));
        front.release(slot).unwrap();
        thread.join().unwrap();
    });
}

#[test]
fn a_completion_wakes_a_front_that_goes_to_sleep() {
    sleep_and_commit();
}

#[test]
fn mutant_sleep_without_check_is_caught() {
    assert!(catches(Mutant::SleepWithoutCheck, sleep_and_commit));
}

/// Two workers complete while the front sleeps and wakes: it does not sleep while a completion is
/// pending.
#[test]
fn two_completions_wake_a_front() {
    model(3, || {
        let (segment, mut front, workers) = pool(2, 2);
        push(&mut front, 1);
        push(&mut front, 2);
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                thread::spawn(move || {
                    let claim = worker.search().unwrap();
                    finish(&mut worker, claim);
                })
            })
            .collect();
        for _ in 0..2 {
            let Event::Done { slot, .. } = next_event(&segment, &mut front) else {
                panic!()
            };
            front.release(slot).unwrap();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Flushed bytes are read, although PROGRESS is only sent when the front has taken the last one.
/// The worker then continues forever, so DONE does not help.
fn progress() {
    model(3, || {
        let (segment, mut front, mut workers) = pool(1, 1);
        let mut worker = workers.remove(0);
        let slot = push(&mut front, 1);
        let thread = thread::spawn(move || {
            let claim = worker.search().unwrap();
            let mut response = ResponseWriter::new(&mut worker, claim);
            assert!(response.headers(200, &[]));
            response.flush();
            assert!(response.body(b"x"));
            response.flush();
        });
        let mut frames = 0;
        while frames < 2 {
            let event = next_event(&segment, &mut front);
            assert_eq!(
                event,
                Event::Progress {
                    slot,
                    worker: WorkerId(0)
                }
            );
            frames += front.response(slot).unwrap().map(Result::unwrap).count();
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_flush_is_always_read() {
    progress();
}

#[test]
fn mutant_notified_stored_is_caught() {
    assert!(catches(Mutant::NotifiedStored, progress));
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
            // The second part fits when the first was read, and its padding too.
            assert!(response.body(&[1; 4096]));
            response.end(Exit::Normal, 0);
        });
        let mut body = 0;
        let mut ended = false;
        while !ended {
            next_event(&segment, &mut front);
            for frame in front.response(slot).unwrap() {
                match frame.unwrap() {
                    Frame::Body(bytes) => body += bytes.len(),
                    Frame::End(_) => ended = true,
                    _ => {}
                }
            }
        }
        assert_eq!(body, 4096);
        thread.join().unwrap();
    });
}

/// A worker that waits for space, or is about to, is notified that the client is gone.
#[test]
fn an_abort_ends_a_wait_for_space() {
    model(3, || {
        let (_segment, mut front, mut workers) = pool(1, 1);
        let mut worker = workers.remove(0);
        let slot = push(&mut front, 1);
        let claim = worker.search().unwrap();
        let thread = thread::spawn(move || assert!(!worker.wait_space(&claim, 4096, 8)));
        front.abort(slot).unwrap();
        thread.join().unwrap();
    });
}

/// A cancel and a claim exclude each other, also when the slot is reused immediately.
fn cancel_and_claim() {
    model(3, || {
        let (_segment, mut front, mut workers) = pool(1, 1);
        let mut worker = workers.remove(0);
        let bytes: Arc<UnsafeCell<u64>> = Arc::default();
        let slot = push(&mut front, 1);
        let seen = Arc::clone(&bytes);
        let thread = thread::spawn(move || {
            let claim = worker.search()?;
            // SAFETY: loom checks that the front does not write at the same time.
            seen.with(|bytes| assert_eq!(unsafe { *bytes } + 1, claim.request_id));
            Some(claim.position())
        });
        let cancelled = front.cancel(slot).unwrap() == Cancel::Removed;
        if cancelled {
            // SAFETY: loom checks that no worker reads at the same time.
            bytes.with_mut(|bytes| unsafe { *bytes = 1 });
            push(&mut front, 2);
        }
        let claimed = thread.join().unwrap();
        assert!(cancelled || claimed == Some(0));
        assert!(!cancelled || claimed != Some(0));
    });
}

#[test]
fn cancel_and_claim_exclude_each_other() {
    cancel_and_claim();
}

/// Three positions of one slot against two workers: each position is claimed at most once.
fn reuse() {
    model(3, || {
        let (_segment, mut front, mut workers) = pool(2, 1);
        let mut second = workers.remove(1);
        let mut first = workers.remove(0);
        let slot = push(&mut front, 1);
        let thread = thread::spawn(move || first.search().map(|claim| claim.position()));
        let cancelled = front.cancel(slot).unwrap() == Cancel::Removed;
        if cancelled {
            push(&mut front, 2);
        }
        let other = second.search().map(|claim| claim.position());
        let one = thread.join().unwrap();
        let expected = u64::from(cancelled);
        let claims = u64::from(one == Some(expected)) + u64::from(other == Some(expected));
        assert_eq!(claims, 1, "{one:?} {other:?}");
        // A worker that claimed a position has moved the head beyond it.
        let head = front
            .segment()
            .memory
            .ring(0)
            .head
            .0
            .load(crate::sync::Ordering::SeqCst);
        assert!(
            head > expected,
            "the head {head} names a cell that is used up"
        );
    });
}

#[test]
fn a_slot_that_is_used_again_is_claimed_once() {
    reuse();
}

#[test]
fn mutant_claim_ignores_position_is_caught() {
    assert!(catches(Mutant::ClaimIgnoresPosition, reuse));
}

/// A worker crashes right after its claim; another gets the request.
#[test]
fn a_request_outlives_its_worker() {
    model(3, || {
        let (_segment, mut front, mut workers) = pool(2, 1);
        let mut second = workers.remove(1);
        let mut first = workers.remove(0);
        push(&mut front, 1);
        let survivor = thread::spawn(move || second.get().unwrap().request_id);
        // Exited after the search, whether it claimed or not.
        let dead = thread::spawn(move || first.search().is_some());
        let claimed = dead.join().unwrap();
        let recovery = front.recover(WorkerId(0)).unwrap();
        assert_eq!(recovery.torn.len(), usize::from(claimed));
        for torn in recovery.torn {
            front.requeue(torn.slot).unwrap();
        }
        assert_eq!(survivor.join().unwrap(), 1);
    });
}

/// A request that is pushed while a worker is ordered to exit reaches the other worker.
fn stop_and_push() {
    model(3, || {
        let (segment, mut front, mut workers) = pool(2, 1);
        let mut staying = workers.remove(1);
        let mut leaving = workers.remove(0);
        let stay = thread::spawn(move || staying.get().unwrap().request_id);
        let leave = thread::spawn(move || leaving.get().is_none());
        segment.stop(WorkerId(0));
        push(&mut front, 1);
        // The one that exits may have claimed before the order; then the other gets a second.
        if !leave.join().unwrap() {
            front
                .recover(WorkerId(0))
                .unwrap()
                .torn
                .into_iter()
                .for_each(|torn| {
                    front.requeue(torn.slot).unwrap();
                });
        }
        assert_eq!(stay.join().unwrap(), 1);
    });
}

#[test]
fn a_worker_that_exits_passes_its_wake_on() {
    stop_and_push();
}

/// A request that is left to a worker that exits reaches another, at the latest after that exit.
#[test]
fn a_request_is_left_to_a_worker_that_exits() {
    model(3, || {
        let (segment, mut front, mut workers) = patient(2, 1);
        let mut staying = workers.remove(1);
        let mut leaving = workers.remove(0);
        let stay = thread::spawn(move || staying.get().unwrap().request_id);
        let leave = thread::spawn(move || drop(leaving.get()));
        segment.stop(WorkerId(0));
        push(&mut front, 1);
        leave.join().unwrap();
        for torn in front.recover(WorkerId(0)).unwrap().torn {
            front.requeue(torn.slot).unwrap();
        }
        while front.recheck_left() {
            thread::yield_now();
        }
        assert_eq!(stay.join().unwrap(), 1);
    });
}

#[test]
fn mutant_stop_keeps_wake_is_caught() {
    assert!(catches(Mutant::StopKeepsWake, stop_and_push));
}
