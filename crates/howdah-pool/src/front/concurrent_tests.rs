//! A concurrent pool's front thread against workers that are threads of the test.

use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use howdah_shm::layout::{ABORTED_CLIENT, ABORTED_TIME};
use howdah_shm::worker::{Claim, ResponseWriter, Worker};
use howdah_shm::{Exit, WorkerId};

use super::tests::{Harness, answer, request, text};
use super::*;
use crate::messages::HeldRequest;
use crate::options::{Mode, WorkerMode};
use crate::supervisor::fake_concurrent;

fn harness(requests: u32, configure: impl FnOnce(&mut PoolOptions)) -> Harness {
    Harness::new(|options| {
        options.workers = 1;
        let mut worker = WorkerMode::new("/app/worker.php");
        worker.options.concurrency = requests;
        options.mode = Mode::Worker(worker.into());
        configure(options);
    })
}

impl Harness {
    fn concurrent_worker(
        &mut self,
        places: usize,
        mut react: impl FnMut(&mut Worker, Vec<Claim>) -> Vec<Claim> + Send + 'static,
    ) -> WorkerId {
        self.start(move |worker| {
            fake_concurrent::serve(worker, places, |worker, held| Some(react(worker, held)));
        })
    }
}

fn end(worker: &mut Worker, claim: Claim) {
    ResponseWriter::new(worker, claim).end(Exit::Normal, 0);
}

type Task<T> = tokio::task::JoinHandle<T>;

fn spawn(front: &PoolFront, id: u64) -> Task<Result<String, CallError>> {
    let front = front.clone();
    tokio::task::spawn_local(async move { Ok(text(front.call(request(id)).await?.1).await) })
}

#[test]
fn a_worker_has_as_many_requests_as_there_are_places() {
    let mut harness = harness(5, |_| {});
    let worker = harness.concurrent_worker(5, |worker, held| {
        if held.len() < 5 {
            return held;
        }
        for claim in held {
            answer(ResponseWriter::new(worker, claim));
        }
        Vec::new()
    });
    let segment = harness.pool.segment.clone();
    harness.run(async |_, front| {
        let tasks: Vec<_> = (1..=15).map(|id| spawn(&front, id)).collect();
        for (id, task) in (1..).zip(tasks) {
            let text = task.await.expect("no panic").expect("a response");
            assert_eq!(text, format!("request {id}"));
        }
        assert_eq!(front.in_flight(), 0);
    });
    let status = segment.worker(worker).expect("a place");
    assert_eq!((status.in_flight, status.requests), (0, 15));
}

#[test]
fn a_request_whose_time_is_over_ends_alone() {
    const LIMIT: Duration = Duration::from_secs(3);
    let mut harness = harness(10, |options| options.limits.request_timeout = Some(LIMIT));
    // The first is held until its timeout has passed and the second has arrived.
    harness.concurrent_worker(10, |worker, held| {
        if held.len() < 2 {
            return held;
        }
        for claim in held {
            match (claim.request_id, worker.aborted(&claim)) {
                (1, ABORTED_TIME) => end(worker, claim),
                (2, 0) => answer(ResponseWriter::new(worker, claim)),
                other => panic!("{other:?}"),
            }
        }
        Vec::new()
    });
    harness.run(async |harness, front| {
        let slow = spawn(&front, 1).await.expect("no panic");
        assert_eq!(slow, Err(CallError::RequestTimeout(LIMIT)));
        assert_eq!(front.in_flight(), 1, "it holds its place until it ends");
        let other = spawn(&front, 2).await.expect("no panic");
        assert_eq!(other, Ok("request 2".into()));
        while front.in_flight() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(
            harness.supervisor.try_recv().is_err(),
            "no worker is killed"
        );
    });
}

#[test]
fn a_request_that_ignores_its_abort_has_its_worker_killed() {
    let mut harness = harness(10, |options| {
        options.limits.request_timeout = Some(Duration::from_millis(50));
        options.end_grace = Duration::from_millis(100);
    });
    let (open, gate) = channel();
    let worker = harness.concurrent_worker(10, move |worker, held| {
        for claim in held {
            gate.recv().expect("the test is there");
            end(worker, claim);
        }
        Vec::new()
    });
    harness.run(async |harness, front| {
        let result = spawn(&front, 9).await.expect("no panic");
        let limit = Duration::from_millis(50);
        assert_eq!(result, Err(CallError::RequestTimeout(limit)));
        let message = harness.supervisor.recv().await;
        let Some(SupervisorMessage::Kill {
            worker: killed,
            request: Some(HeldRequest { id: 9, hold }),
            reason: KillReason::RequestTimeout,
            ..
        }) = message
        else {
            panic!("{message:?}");
        };
        assert_eq!(killed, worker);
        assert!(harness.pool.segment.is_held(hold));
        open.send(()).expect("the worker waits");
        while front.in_flight() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(!harness.pool.segment.is_held(hold), "it has ended");
    });
}

/// A worker crashes with requests 1 to 4 while `culprit` runs: the first was not started, the second is not safe, the
/// others are. Returns the result of each.
fn crash_with_four(culprit: Option<u64>) -> Vec<Result<String, CallError>> {
    let harness = harness(10, |_| {});
    let dead = WorkerId(0);
    let indices = harness.pool.segment.admit(dead).expect("a place");
    let segment = harness.pool.segment.clone();
    let dying: JoinHandle<()> = std::thread::spawn(move || {
        let mut worker = Worker::attach(&segment, dead, &indices);
        fake_concurrent::serve(&mut worker, 10, |worker, held| {
            for claim in held.iter().filter(|claim| claim.request_id != 1) {
                worker.started(claim);
            }
            worker.runs(held.iter().find(|claim| Some(claim.request_id) == culprit));
            (held.len() < 4).then_some(held)
        });
    });
    let (sender, results) = channel();
    harness.run(async |harness, front| {
        let tasks: Vec<_> = (1..=4)
            .map(|id| {
                let front = front.clone();
                tokio::task::spawn_local(async move {
                    let call = front.call(Request {
                        repeatable: id > 2,
                        ..request(id)
                    });
                    Ok(text(call.await?.1).await)
                })
            })
            .collect();
        let joined = tokio::task::spawn_blocking(move || dying.join());
        joined.await.expect("joined").expect("no panic");
        harness.workers.push(std::thread::spawn(|| {}));
        harness.concurrent_worker(10, |worker, held| {
            for claim in held {
                answer(ResponseWriter::new(worker, claim));
            }
            Vec::new()
        });
        harness.pool.fronts[0]
            .send(FrontMessage::WorkerGone(dead))
            .expect("sent");
        for task in tasks {
            sender.send(task.await.expect("no panic")).expect("sent");
        }
        assert_eq!(front.in_flight(), 0);
    });
    results.try_iter().collect()
}

fn response_of(id: u64) -> String {
    format!("request {id}")
}

#[test]
fn safe_requests_of_a_dead_worker_are_run_again() {
    let died = || Err(CallError::WorkerDied);
    assert_eq!(
        crash_with_four(None),
        [
            Ok(response_of(1)),
            died(),
            Ok(response_of(3)),
            Ok(response_of(4))
        ]
    );
}

#[test]
fn the_request_that_ran_when_its_worker_died_is_not_run_again() {
    let died = || Err(CallError::WorkerDied);
    assert_eq!(
        crash_with_four(Some(3)),
        [Ok(response_of(1)), died(), died(), Ok(response_of(4))]
    );
}

#[test]
fn a_worker_that_sleeps_hears_that_a_client_left() {
    let mut harness = harness(10, |_| {});
    let (sender, seen) = channel();
    harness.concurrent_worker(10, move |worker, held| {
        let mut kept = Vec::new();
        for claim in held {
            let aborted = worker.aborted(&claim);
            if aborted == 0 {
                // The test may have ended.
                let _ = sender.send((claim.request_id, 0));
                kept.push(claim);
            } else {
                let _ = sender.send((claim.request_id, aborted));
                end(worker, claim);
            }
        }
        kept
    });
    harness.run(async |_, front| {
        let call = spawn(&front, 4);
        let wait = tokio::task::spawn_blocking(move || {
            assert_eq!(seen.recv(), Ok((4, 0)));
            seen
        });
        let seen = wait.await.expect("it has it");
        call.abort();
        assert!(call.await.expect_err("aborted").is_cancelled());
        let aborted = tokio::task::spawn_blocking(move || {
            seen.into_iter().find(|(_, aborted)| *aborted != 0)
        });
        assert_eq!(aborted.await.expect("joined"), Some((4, ABORTED_CLIENT)));
    });
}
