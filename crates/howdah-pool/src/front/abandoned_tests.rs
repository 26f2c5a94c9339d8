//! Clients that disconnect before a worker claims their requests.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use howdah_shm::worker::ResponseWriter;

use super::tests::{Harness, request};
use super::*;

/// The id of a request, and whether its client had disconnected.
type Observation = (u64, bool);

/// A worker that claims one request for each message of the test, and reports what it has seen.
fn recorder() -> (
    Sender<()>,
    Receiver<Observation>,
    impl FnMut(ResponseWriter<'_>) + Send + 'static,
) {
    let (open, gate) = channel();
    let (sender, seen) = channel();
    let serve = move |mut response: ResponseWriter<'_>| {
        // An error means that the test has ended.
        let _ = gate.recv();
        let id = response.claim().request_id;
        let there = response.headers(200, &[]) && response.body(b"x");
        let _ = sender.send((id, !there));
        response.end(howdah_shm::Exit::Normal, 0);
    };
    (open, seen, serve)
}

/// Sends requests and disconnects each after its first poll.
async fn disconnect(front: &PoolFront, ids: std::ops::RangeInclusive<u64>) {
    let tasks: Vec<_> = ids
        .map(|id| {
            let front = front.clone();
            tokio::task::spawn_local(async move {
                let body = RequestBody::Inline(b"body");
                front
                    .call(Request {
                        body,
                        ..request(id)
                    })
                    .await
                    .map(|_| ())
            })
        })
        .collect();
    tokio::task::yield_now().await;
    for task in tasks {
        task.abort();
        assert!(task.await.expect_err("aborted").is_cancelled());
    }
}

async fn idle(front: &PoolFront) {
    while front.in_flight() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn requests_of_clients_that_left_are_run_in_their_order() {
    let mut harness = Harness::new(|options| options.workers = 1);
    let (open, seen, serve) = recorder();
    harness.worker(serve);
    harness.run(async |_, front| {
        // More than there are slots.
        disconnect(&front, 1..=100).await;
        assert_eq!(front.in_flight(), 100);
        let load = &front.inner.load;
        assert!(load.abandonments().kept >= 99, "{:?}", load.abandonments());
        let stay = tokio::task::spawn_local({
            let front = front.clone();
            async move { front.call(request(101)).await.map(|_| ()) }
        });
        tokio::task::yield_now().await;
        for _ in 0..101 {
            open.send(()).expect("the worker waits");
        }
        stay.await.expect("no panic").expect("a response");
        settled().await;
        idle(&front).await;
        let seen: Vec<_> = seen.try_iter().collect();
        let expected: Vec<_> = (1..=101).map(|id| (id, id != 101)).collect();
        assert_eq!(seen, expected);
        assert_eq!(front.inner.load.waiting(), 0);
    });
}

#[test]
fn a_pool_may_drop_them() {
    let mut harness = Harness::new(|options| {
        options.workers = 1;
        options.limits.drop_abandoned = true;
    });
    let (open, seen, serve) = recorder();
    harness.worker(serve);
    harness.run(async |_, front| {
        let first = tokio::task::spawn_local({
            let front = front.clone();
            async move { front.call(request(1)).await.map(|_| ()) }
        });
        tokio::task::yield_now().await;
        disconnect(&front, 2..=100).await;
        assert_eq!(front.in_flight(), 1);
        assert_eq!(front.inner.load.abandonments().dropped, 99);
        open.send(()).expect("the worker waits");
        first.await.expect("no panic").expect("a response");
        idle(&front).await;
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [(1, false)]);
    });
}

#[test]
fn they_count_in_the_queue_and_wait_no_longer_than_others() {
    let mut harness = Harness::new(|options| {
        options.workers = 1;
        options.limits.queue_length = 40;
        options.limits.max_wait_time = Duration::from_millis(300);
    });
    let (open, seen, serve) = recorder();
    harness.worker(serve);
    harness.run(async |_, front| {
        disconnect(&front, 1..=41).await;
        let refused = front.call(request(99)).await.err();
        assert_eq!(refused, Some(CallError::QueueFull));
        while front.in_flight() > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(front.inner.load.refusals().wait_timeout, 40);
        assert_eq!(front.inner.load.waiting(), 0);
        open.send(()).expect("the worker waits");
        idle(&front).await;
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [(1, true)]);
    });
}

#[test]
fn a_worker_that_dies_before_it_began_costs_none() {
    let harness = Harness::new(|options| options.workers = 2);
    harness.run(async |harness, front| {
        disconnect(&front, 1..=3).await;
        let (worker, thread) = harness.start_crashing_worker(false);
        harness.wait_dead(thread).await;
        front.inner.recover(worker, ExitReason::Planned, None);
        assert_eq!(front.in_flight(), 3);
        let (open, seen, serve) = recorder();
        harness.worker(serve);
        for _ in 0..3 {
            open.send(()).expect("the worker waits");
        }
        idle(&front).await;
        let mut seen: Vec<_> = seen.try_iter().collect();
        seen.sort_unstable();
        assert_eq!(seen, [(1, true), (2, true), (3, true)]);
    });
}

#[test]
fn the_file_of_a_body_stays_until_the_worker_is_done() {
    struct File(Rc<Cell<bool>>);
    impl Drop for File {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let mut harness = Harness::new(|options| options.workers = 1);
    let (open, _seen, serve) = recorder();
    harness.worker(serve);
    harness.run(async |_, front| {
        let removed = Rc::new(Cell::new(false));
        // In a slot, and waiting for one.
        for others in [0, 60] {
            removed.set(false);
            disconnect(&front, 1..=others).await;
            let task = tokio::task::spawn_local({
                let (front, file) = (front.clone(), File(Rc::clone(&removed)));
                async move {
                    let call = Request {
                        body: RequestBody::File(7),
                        body_file: Some(Box::new(file)),
                        ..request(1000)
                    };
                    front.call(call).await.map(|_| ())
                }
            });
            tokio::task::yield_now().await;
            task.abort();
            assert!(task.await.expect_err("aborted").is_cancelled());
            assert!(!removed.get());
            for _ in 0..=others {
                open.send(()).expect("the worker waits");
            }
            idle(&front).await;
            assert!(removed.get());
        }
    });
}

#[test]
fn the_end_of_the_pool_takes_them_along() {
    let harness = Harness::new(|options| options.workers = 1);
    harness.run(async |_, front| {
        disconnect(&front, 1..=50).await;
        front.inner.end();
        assert_eq!((front.in_flight(), front.inner.load.waiting()), (0, 0));
        let answered = front.call(request(51)).await.err();
        assert_eq!(answered, Some(CallError::Stopping));
    });
}

#[test]
fn a_request_that_cannot_run_gives_its_slot_to_the_next() {
    let mut harness = Harness::new(|options| {
        options.workers = 1;
        options.limits.max_in_flight = Some(1);
    });
    let (open, _seen, serve) = recorder();
    harness.worker(serve);
    harness.run(async |_, front| {
        disconnect(&front, 1..=1).await;
        let large = vec![0; 1 << 20];
        let tasks: Vec<_> = (2..50)
            .map(|id| {
                let (front, vars) = (front.clone(), large.clone());
                tokio::task::spawn_local(async move {
                    let vars = &vars;
                    front
                        .call(Request {
                            vars,
                            ..request(id)
                        })
                        .await
                        .map(|_| ())
                })
            })
            .collect();
        tokio::task::yield_now().await;
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
        for task in tasks {
            assert!(task.await.expect_err("aborted").is_cancelled());
        }
        let last = tokio::task::spawn_local({
            let front = front.clone();
            async move { front.call(request(50)).await.map(|_| ()) }
        });
        tokio::task::yield_now().await;
        open.send(()).expect("the worker waits");
        open.send(()).expect("the worker waits");
        last.await.expect("no panic").expect("a response");
        idle(&front).await;
    });
}
