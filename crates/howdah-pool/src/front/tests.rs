//! A pool's front thread against workers that are threads of the test.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use howdah_shm::worker::{ResponseWriter, Worker};
use howdah_shm::{Exit, WorkerId};
use http_body_util::BodyExt;
use tokio::sync::mpsc;

use super::*;
use crate::messages::HeldRequest;
use crate::pool::Pool;

/// A pool on one front thread. Workers are started by the test.
pub(super) struct Harness {
    pub(super) pool: Pool,
    /// The first is joined by the harness.
    seeds: Vec<FrontSeed>,
    pub(super) supervisor: mpsc::UnboundedReceiver<SupervisorMessage>,
    pub(super) workers: Vec<JoinHandle<()>>,
}

impl Harness {
    pub(super) fn new(configure: impl FnOnce(&mut PoolOptions)) -> Self {
        Self::with_fronts(1, configure)
    }

    /// A pool with several front threads, all of which run on this thread.
    fn with_fronts(fronts: usize, configure: impl FnOnce(&mut PoolOptions)) -> Self {
        let mut options = PoolOptions::new("test", 2);
        configure(&mut options);
        let (sender, supervisor) = mpsc::unbounded_channel();
        let (pool, seeds) = Pool::new(0, options, fronts, &sender).expect("a pool");
        Self {
            pool,
            seeds,
            supervisor,
            workers: Vec::new(),
        }
    }

    /// Starts a worker that serves until it is stopped.
    pub(super) fn worker(
        &mut self,
        mut serve: impl FnMut(ResponseWriter<'_>) + Send + 'static,
    ) -> WorkerId {
        self.start(move |worker| {
            while let Some(claim) = worker.get() {
                worker.started(&claim);
                serve(ResponseWriter::new(worker, claim));
            }
        })
    }

    /// Starts a worker in the next place.
    pub(super) fn start(&mut self, run: impl FnOnce(&mut Worker) + Send + 'static) -> WorkerId {
        let id = WorkerId(self.workers.len() as u16);
        let indices = self.pool.segment.admit(id).expect("a place");
        let segment = self.pool.segment.clone();
        self.workers.push(std::thread::spawn(move || {
            run(&mut Worker::attach(&segment, id, &indices));
        }));
        id
    }

    /// Starts a worker that claims one request and crashes, before or after PHP would have started. The thread ends
    /// with the crash.
    pub(super) fn start_crashing_worker(&mut self, started: bool) -> (WorkerId, JoinHandle<()>) {
        let id = WorkerId(self.workers.len() as u16);
        let indices = self.pool.segment.admit(id).expect("a place");
        let segment = self.pool.segment.clone();
        let thread = std::thread::spawn(move || {
            let mut worker = Worker::attach(&segment, id, &indices);
            let claim = worker.get().expect("a request");
            if started {
                worker.started(&claim);
            }
        });
        (id, thread)
    }

    /// Waits for the exit of a worker, whose place stays empty.
    pub(super) async fn wait_dead(&mut self, thread: JoinHandle<()>) {
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        joined.expect("joined").expect("no panic");
        self.workers.push(std::thread::spawn(|| {}));
    }

    pub(super) fn run<T>(mut self, test: impl AsyncFnOnce(&mut Self, PoolFront) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(before_park)
            .on_thread_unpark(after_unpark)
            .build_local(tokio::runtime::LocalOptions::default())
            .expect("a runtime");
        let seed = self.seeds.remove(0);
        let result = runtime.block_on(async {
            let front = PoolFront::join(seed).expect("joined");
            let test = test(&mut self, front);
            // Only detects a hang; does not measure anything.
            tokio::time::timeout(Duration::from_secs(60), test)
                .await
                .expect("not to hang")
        });
        for worker in 0..self.workers.len() {
            self.pool.segment.stop(WorkerId(worker as u16));
        }
        for worker in self.workers {
            worker.join().expect("no panic in a worker");
        }
        result
    }
}

pub(super) fn request(id: u64) -> Request<'static> {
    Request {
        id,
        vars: b"vars",
        body: RequestBody::None,
        body_file: None,
        head: false,
        target: None,
        repeatable: false,
        account: false,
        observer: None,
        publisher: None,
    }
}

pub(super) async fn text(body: Body) -> String {
    let bytes = body.collect().await.expect("a whole body").to_bytes();
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

pub(super) fn answer(mut response: ResponseWriter<'_>) {
    let text = format!("request {}", response.claim().request_id);
    assert!(response.headers(200, &[("Content-Type", "text/plain"), ("X-Id", &text)]));
    assert!(response.body(text.as_bytes()));
    response.end(Exit::Normal, 0);
}

/// A worker that waits for a message of the test before it responds.
fn gated() -> (Sender<()>, impl FnMut(ResponseWriter<'_>) + Send + 'static) {
    let (open, gate): (Sender<()>, Receiver<()>) = channel();
    (open, move |response: ResponseWriter<'_>| {
        // An error means that the test has ended.
        let _ = gate.recv();
        answer(response);
    })
}

#[test]
fn interim_responses_come_before_the_head() {
    let mut harness = Harness::new(|_| {});
    let (open, gate): (Sender<()>, Receiver<()>) = channel();
    harness.worker(move |mut response| {
        assert!(response.info(103, &[("Link", "</a>"), ("Connection", "x")]));
        response.flush();
        gate.recv().expect("the test opens");
        assert!(response.info(103, &[("Link", "</b>")]));
        assert!(response.info(102, &[]));
        answer(response);
    });
    harness.run(async |_, front| {
        for id in 1..=2 {
            let mut seen = Vec::new();
            let interim = |head: Head| {
                if seen.is_empty() {
                    // The response does not start before this.
                    open.send(()).expect("the worker waits");
                }
                let link = head
                    .headers
                    .get("link")
                    .map(|value| value.as_bytes().to_vec());
                assert!(!head.headers.contains_key("connection"));
                seen.push((head.status.as_u16(), link));
            };
            let (head, body) = front
                .call_with(request(id), interim)
                .await
                .expect("a response");
            assert_eq!(head.headers["x-id"], format!("request {id}"));
            assert!(!head.headers.contains_key("link"));
            let expected = [(103, Some("</a>")), (103, Some("</b>")), (102, None)];
            let expected =
                expected.map(|(status, link)| (status, link.map(|l| l.as_bytes().to_vec())));
            assert_eq!(seen, expected);
            assert_eq!(text(body).await, format!("request {id}"));
        }
    });
}

#[test]
fn unread_interim_responses_are_bounded() {
    let mut harness = Harness::new(|_| {});
    harness.worker(|mut response| {
        for _ in 0..1000 {
            assert!(response.info(103, &[("Link", "</a>")]));
        }
        answer(response);
    });
    harness.run(async |_, front| {
        let mut seen = 0;
        let call = front.call_with(request(1), |_| seen += 1);
        let (head, _) = call.await.expect("a response");
        assert_eq!(head.status, 200);
        assert!((1..=1000).contains(&seen), "{seen}");
        // A worker that claims none of them.
        front.call(request(2)).await.expect("a response");
    });
}

#[test]
fn many_requests_at_once_get_their_own_answers() {
    let mut harness = Harness::new(|_| {});
    harness.worker(answer);
    harness.worker(answer);
    harness.run(async |_, front| {
        let tasks: Vec<_> = (1..=500)
            .map(|id| {
                let front = front.clone();
                tokio::task::spawn_local(async move {
                    let (head, body) = front.call(request(id)).await.expect("a response");
                    assert_eq!(head.headers["x-id"], format!("request {id}"));
                    assert_eq!(text(body).await, format!("request {id}"));
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
        assert_eq!(front.in_flight(), 0);
    });
}

#[test]
fn a_response_is_passed_on_as_it_is_flushed() {
    let mut harness = Harness::new(|_| {});
    let (open, gate): (Sender<()>, Receiver<()>) = channel();
    harness.worker(move |mut response| {
        assert!(response.headers(200, &[]));
        assert!(response.body(b"first"));
        response.flush();
        gate.recv().expect("the test read the first part");
        assert!(response.body(b"second"));
        response.end(Exit::Normal, 0);
    });
    harness.run(async |_, front| {
        let (_, mut body) = front.call(request(1)).await.expect("a response");
        let first = body
            .frame()
            .await
            .expect("a frame")
            .expect("data")
            .into_data()
            .expect("data");
        assert_eq!(first, "first");
        open.send(()).expect("the worker waits");
        assert_eq!(text(body).await, "second");
    });
}

#[test]
fn a_client_that_does_not_read_stops_the_worker_and_not_the_memory() {
    let mut harness = Harness::new(|options| {
        options.response_size = 64 << 10;
        options.limits.response_buffer = 128 << 10;
        options.limits.response_spool = None;
    });
    let total = 4 << 20;
    let (written, progress) = channel();
    harness.worker(move |mut response| {
        assert!(response.headers(200, &[]));
        for _ in 0..total / 4096 {
            if !response.body(&[7; 4096]) {
                break;
            }
            let _ = written.send(4096);
        }
        response.end(Exit::Normal, 0);
    });
    harness.run(async |_, front| {
        let (_, body) = front.call(request(1)).await.expect("a response");
        tokio::time::sleep(Duration::from_millis(200)).await;
        let held: usize = progress.try_iter().sum();
        assert!(
            held <= (64 + 128 + 64) << 10,
            "{held} bytes were taken for a client that reads none"
        );
        let body = body.collect().await.expect("a whole body").to_bytes();
        assert_eq!(body.len(), total);
        assert!(body.iter().all(|&byte| byte == 7));
    });
}

/// Bytes of a response, which differ by position.
const LARGE: usize = 4 << 20;

fn large() -> Vec<u8> {
    (0..LARGE).map(|place| (place / 1000 % 251) as u8).collect()
}

/// A pool whose worker writes [`large`] and reports its progress, and at the end that it is
/// complete.
fn spooling(spool: u64) -> (Harness, Receiver<usize>) {
    let mut harness = Harness::new(|options| {
        options.response_size = 64 << 10;
        options.limits.response_buffer = 128 << 10;
        options.limits.response_spool = Some(spool);
    });
    let (written, progress) = channel();
    harness.worker(move |mut response| {
        assert!(response.headers(200, &[]));
        let mut held = 0;
        for part in large().chunks(4096) {
            if !response.body(part) {
                break;
            }
            held += part.len();
            let _ = written.send(held);
        }
        response.end(Exit::Normal, 0);
        let _ = written.send(usize::MAX);
    });
    (harness, progress)
}

/// Waits until the worker has written as much.
async fn written(progress: Receiver<usize>, bytes: usize) -> Receiver<usize> {
    let wait = move || {
        while progress.recv().expect("the worker goes on") < bytes {}
        progress
    };
    tokio::task::spawn_blocking(wait).await.expect("no panic")
}

#[test]
fn a_file_takes_what_a_slow_client_does_not() {
    let (harness, progress) = spooling(1 << 30);
    harness.run(async |_, front| {
        let (_, body) = front.call(request(1)).await.expect("a response");
        // Nothing was read, and the worker is free.
        written(progress, usize::MAX).await;
        let (_, other) = front.call(request(2)).await.expect("a response");
        for body in [body, other] {
            let bytes = body.collect().await.expect("a whole body").to_bytes();
            assert!(bytes == large(), "{} bytes", bytes.len());
        }
        // The worker may only be seen to be free a moment after the end of its body.
        while front.in_flight() > 0 {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_file_takes_no_more_than_it_may() {
    let (harness, progress) = spooling(1 << 20);
    harness.run(async |_, front| {
        let (_, mut body) = front.call(request(1)).await.expect("a response");
        let progress = written(progress, 1 << 20).await;
        let first = body.frame().await.expect("a frame").expect("data");
        let mut bytes = first.into_data().expect("data").to_vec();
        let held = progress.try_iter().last().unwrap_or(0);
        assert!(held < 2 << 20, "{held} bytes were taken");
        // The rest comes from the file, from memory and from the worker.
        bytes.extend_from_slice(&body.collect().await.expect("a whole body").to_bytes());
        assert!(bytes == large(), "{} bytes", bytes.len());
    });
}

#[test]
fn a_client_that_disconnects_ends_its_file() {
    let (harness, progress) = spooling(1 << 20);
    harness.run(async |_, front| {
        let (_, body) = front.call(request(1)).await.expect("a response");
        let progress = written(progress, 1 << 20).await;
        drop(body);
        // The worker is notified; it claims the next request.
        written(progress, usize::MAX).await;
        let (_, body) = front.call(request(2)).await.expect("a response");
        let bytes = body.collect().await.expect("a whole body").to_bytes();
        assert!(bytes == large(), "{} bytes", bytes.len());
    });
}

#[test]
fn past_the_queue_length_requests_are_refused() {
    let mut harness = Harness::new(|options| {
        options.workers = 1;
        options.limits.queue_length = 40;
    });
    let (open, serve) = gated();
    harness.worker(serve);
    harness.run(async |_, front| {
        let tasks: Vec<_> = (1..=41)
            .map(|id| {
                let front = front.clone();
                tokio::task::spawn_local(async move { front.call(request(id)).await.map(|_| ()) })
            })
            .collect();
        tokio::task::yield_now().await;
        assert_eq!(front.in_flight(), 41);
        assert_eq!(
            front.call(request(99)).await.err(),
            Some(CallError::QueueFull)
        );
        for _ in 0..41 {
            open.send(()).expect("the worker waits");
        }
        for task in tasks {
            assert_eq!(task.await.expect("no panic"), Ok(()));
        }
    });
}

#[test]
fn waiting_too_long_is_refused_in_a_slot_and_without_one() {
    let mut harness = Harness::new(|options| {
        options.workers = 1;
        options.limits.max_wait_time = Duration::from_secs(3);
    });
    let (open, serve) = gated();
    harness.worker(serve);
    harness.run(async |_, front| {
        let slots = 16;
        let tasks: Vec<_> = (1..=slots + 10)
            .map(|id| {
                let front = front.clone();
                tokio::task::spawn_local(async move { front.call(request(id)).await.map(|_| ()) })
            })
            .collect();
        let mut results = Vec::new();
        let mut tasks = tasks.into_iter();
        let running = tasks.next().expect("the first");
        for task in tasks {
            results.push(task.await.expect("no panic"));
        }
        assert!(
            results
                .iter()
                .all(|result| *result == Err(CallError::WaitTimeout(Duration::from_secs(3)))),
            "{results:?}"
        );
        open.send(()).expect("the worker waits");
        assert_eq!(running.await.expect("no panic"), Ok(()));
        assert_eq!(front.in_flight(), 0);
        open.send(()).expect("the worker waits");
        assert!(front.call(request(77)).await.is_ok(), "all slots are back");
    });
}

#[test]
fn a_request_that_its_worker_had_not_begun_goes_to_another() {
    let mut harness = Harness::new(|_| {});
    let (dead, thread) = harness.start_crashing_worker(false);
    harness.run(async |harness, front| {
        let call = front.call(request(5));
        let help = async {
            harness.wait_dead(thread).await;
            harness.worker(answer);
            harness.pool.fronts[0]
                .send(FrontMessage::WorkerGone(dead))
                .expect("sent");
        };
        let (response, ()) = tokio::join!(call, help);
        assert_eq!(text(response.expect("a response").1).await, "request 5");
        let message = harness.supervisor.recv().await;
        assert!(
            matches!(message, Some(SupervisorMessage::Recovered { worker, .. }) if worker == dead)
        );
    });
}

#[test]
fn a_request_that_had_begun_is_run_again_once_and_only_if_it_is_safe() {
    for repeatable in [false, true] {
        let mut harness = Harness::new(|_| {});
        let (dead, thread) = harness.start_crashing_worker(true);
        harness.run(async |harness, front| {
            let call = front.call(Request {
                repeatable,
                ..request(5)
            });
            let help = async {
                harness.wait_dead(thread).await;
                harness.worker(answer);
                harness.pool.fronts[0]
                    .send(FrontMessage::WorkerGone(dead))
                    .expect("sent");
            };
            let (response, ()) = tokio::join!(call, help);
            if repeatable {
                assert_eq!(text(response.expect("a response").1).await, "request 5");
            } else {
                assert_eq!(response.err(), Some(CallError::WorkerDied));
            }
        });
    }
}

#[test]
fn the_time_in_a_dead_worker_is_not_queue_time() {
    let max_wait = Duration::from_secs(2);
    let mut harness = Harness::new(|options| options.limits.max_wait_time = max_wait);
    let (dead, thread) = harness.start_crashing_worker(true);
    harness.run(async |harness, front| {
        let call = front.call(Request {
            repeatable: true,
            ..request(5)
        });
        let help = async {
            harness.wait_dead(thread).await;
            tokio::time::sleep(max_wait + 4 * SWEEP).await;
            harness.pool.fronts[0]
                .send(FrontMessage::WorkerGone(dead))
                .expect("sent");
            // Limits are checked while it waits for the next worker.
            tokio::time::sleep(4 * SWEEP).await;
            harness.worker(answer);
        };
        let (response, ()) = tokio::join!(call, help);
        assert_eq!(text(response.expect("a response").1).await, "request 5");
    });
}

#[test]
fn a_client_that_disconnects_is_reported_to_the_worker() {
    let mut harness = Harness::new(|options| options.workers = 1);
    let (sender, seen) = channel();
    harness.worker(move |mut response| {
        assert!(response.headers(200, &[]));
        let mut sent = true;
        while sent {
            sent = response.body(&[0; 4096]);
            response.flush();
        }
        let _ = sender.send(response.claim().request_id);
        response.end(Exit::Normal, 0);
    });
    harness.run(async |_, front| {
        let (_, body) = front.call(request(1)).await.expect("a response");
        drop(body);
        let result = tokio::task::spawn_blocking(move || seen.recv())
            .await
            .expect("joined");
        assert_eq!(result, Ok(1));
    });
}

#[test]
fn a_request_that_runs_too_long_is_answered_and_its_worker_is_to_be_killed() {
    let mut harness = Harness::new(|options| {
        options.workers = 1;
        options.limits.request_timeout = Some(Duration::from_millis(100));
    });
    let (open, serve) = gated();
    let worker = harness.worker(serve);
    harness.run(async |harness, front| {
        assert_eq!(front.call(request(9)).await.err(), Some(CallError::RequestTimeout(Duration::from_millis(100))));
        let message = harness.supervisor.recv().await;
        assert!(
            matches!(message, Some(SupervisorMessage::Kill { worker: killed, request: Some(HeldRequest { id: 9, .. }), .. }) if killed == worker)
        );
        open.send(()).expect("the worker waits");
    });
}

#[test]
fn variables_that_do_not_fit_are_refused_and_cost_no_slot() {
    let mut harness = Harness::new(|_| {});
    harness.worker(answer);
    harness.run(async |_, front| {
        let vars = vec![b'x'; 512 << 10];
        for id in 1..100 {
            let call = front.call(Request {
                vars: &vars,
                ..request(id)
            });
            assert_eq!(call.await.err(), Some(CallError::TooLarge));
        }
        assert!(front.call(request(100)).await.is_ok());
        assert_eq!(front.in_flight(), 0);
    });
}

#[test]
fn no_more_requests_than_allowed_are_in_hand_whichever_thread_has_them() {
    let mut harness = Harness::with_fronts(2, |options| options.limits.max_in_flight = Some(1));
    let (open, gate): (Sender<()>, Receiver<()>) = channel();
    let gate = Arc::new(std::sync::Mutex::new(gate));
    let running = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for _ in 0..2 {
        let (gate, running) = (gate.clone(), running.clone());
        harness.worker(move |response| {
            use std::sync::atomic::Ordering;
            assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
            gate.lock()
                .expect("no panic")
                .recv()
                .expect("the test is there");
            running.fetch_sub(1, Ordering::SeqCst);
            answer(response);
        });
    }
    harness.run(async |harness, front| {
        let other = PoolFront::join(harness.seeds.remove(0)).expect("joined");
        let tasks: Vec<_> = (1..=6)
            .map(|id| {
                let front = if id % 2 == 0 {
                    front.clone()
                } else {
                    other.clone()
                };
                tokio::task::spawn_local(async move { front.call(request(id)).await.map(|_| ()) })
            })
            .collect();
        tokio::task::yield_now().await;
        for _ in 0..6 {
            open.send(()).expect("a worker waits");
        }
        for task in tasks {
            assert_eq!(task.await.expect("no panic"), Ok(()));
        }
        assert_eq!(front.in_flight(), 0);
    });
}

#[test]
fn without_a_worker_that_ever_booted_requests_are_refused_at_once() {
    let harness = Harness::new(|_| {});
    harness.run(async |harness, front| {
        harness.pool.failure = Some("Parse error".into());
        harness.pool.publish();
        assert_eq!(
            front.call(request(1)).await.err(),
            Some(CallError::NotBooted)
        );
        assert_eq!(front.in_flight(), 0);
    });
}

#[test]
fn the_supervisor_is_notified_once_that_requests_wait() {
    let mut harness = Harness::new(|options| {
        options.workers = 1;
        options.workers_max = 2;
    });
    let (open, serve) = gated();
    harness.worker(serve);
    harness.pool.load.publish(1, false);
    harness.run(async |harness, front| {
        let tasks: Vec<_> = (1..=3)
            .map(|id| {
                let front = front.clone();
                tokio::task::spawn_local(async move { front.call(request(id)).await.map(|_| ()) })
            })
            .collect();
        let message = harness.supervisor.recv().await;
        assert!(matches!(
            message,
            Some(SupervisorMessage::Pressure { pool: 0 })
        ));
        for _ in 0..3 {
            open.send(()).expect("the worker waits");
        }
        for task in tasks {
            assert_eq!(task.await.expect("no panic"), Ok(()));
        }
        assert!(harness.supervisor.try_recv().is_err(), "once");
    });
}

#[test]
fn a_fast_request_does_not_wait_behind_a_slow_one() {
    const SLOW: u64 = 5000;
    let mut harness = Harness::new(|_| {});
    let (open, gate): (Sender<()>, Receiver<()>) = channel();
    let (gate, (started, waits)) = (Arc::new(Mutex::new(gate)), channel());
    for _ in 0..2 {
        let (gate, started) = (gate.clone(), started.clone());
        harness.worker(move |response| {
            if response.claim().request_id == SLOW {
                started.send(()).expect("the test waits");
                gate.lock()
                    .expect("no panic")
                    .recv()
                    .expect("the test opens");
            }
            answer(response);
        });
    }
    harness.run(async |_, front| {
        // Requests are left to such fast workers, whichever of the two it is.
        for id in 1..=2000 {
            let (_, body) = front.call(request(id)).await.expect("a response");
            text(body).await;
        }
        let slow = tokio::task::spawn_local({
            let front = front.clone();
            async move {
                let (_, body) = front.call(request(SLOW)).await.expect("a response");
                text(body).await
            }
        });
        while waits.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        // The worker that has it is awake and was fast: the first of these is left to it.
        for id in 2001..=2010 {
            let (_, body) = front.call(request(id)).await.expect("a response");
            assert_eq!(text(body).await, format!("request {id}"));
        }
        open.send(()).expect("a worker waits");
        assert_eq!(slow.await.expect("no panic"), format!("request {SLOW}"));
    });
}
