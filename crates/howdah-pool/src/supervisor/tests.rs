//! The supervisor against a fake root: generations, replacements, failures.

mod corruption;
mod drains;
mod invalid_messages;
mod losses;
mod scaling;
mod supersedes;

use howdah_shm::layout::{POOL_FLAG_FRESH_FILES, POOL_FLAG_SAMPLES};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;

use super::fake_root::{Boot, FakeRoot, Plan, PoolRequest, php_info};
use super::*;
use crate::front::{PoolFront, Request, RequestBody, after_unpark, before_park};
use crate::handle::Handle;
use crate::options::{Mode, WorkerMode};
use crate::pool::blocked::BlockedMeter;
use crate::process::process_identity::IdentityError;
use crate::response::CallError;
use crate::status::PoolStatus;
use howdah_config::model::{self, Isolation, WorkerOptions};

/// A running supervisor with one worker pool.
struct Server {
    front: PoolFront,
    handle: Handle,
    plan: Arc<Mutex<Plan>>,
}

impl Server {
    async fn get(&self, vars: &str) -> Result<String, CallError> {
        self.ask(vars, false).await
    }

    async fn ask(&self, vars: &str, repeatable: bool) -> Result<String, CallError> {
        let request = Request {
            id: 7,
            vars: vars.as_bytes(),
            body: RequestBody::None,
            body_file: None,
            head: false,
            target: None,
            repeatable,
            account: false,
            observer: None,
            publisher: None,
        };
        let (_, body) = self.front.call(request).await?;
        let bytes = body.collect().await.expect("a whole body").to_bytes();
        Ok(String::from_utf8(bytes.to_vec()).expect("text"))
    }

    async fn status(&self) -> PoolStatus {
        self.handle
            .status()
            .await
            .expect("a status")
            .pools
            .remove(0)
    }

    /// Waits until the condition holds.
    async fn until(&self, what: &str, so: impl Fn(&PoolStatus) -> bool) -> PoolStatus {
        let wait = async {
            loop {
                let status = self.status().await;
                if so(&status) {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
        let Ok(status) = waited else {
            panic!("not {what}: {:#?}", self.status().await);
        };
        status
    }

    fn plan<T>(&self, look: impl FnOnce(&mut Plan) -> T) -> T {
        look(&mut self.plan.lock().expect("no panic"))
    }
}

fn worker_pool(
    workers: usize,
    configure: impl FnOnce(&mut PoolOptions, &mut WorkerOptions),
) -> PoolOptions {
    let mut options = PoolOptions::new("app", workers);
    let mut worker = WorkerMode::new("/app/worker.php");
    configure(&mut options, &mut worker.options);
    options.mode = Mode::Worker(worker.into());
    options
}

/// Starts a pool, runs the test along with its supervisor, and stops it.
fn run<F: Future>(
    options: PoolOptions,
    boots: &[Boot],
    test: impl FnOnce(Server) -> F,
) -> Result<F::Output, StartError> {
    run_with(options, boots, |_| {}, test)
}

fn run_with<F: Future>(
    options: PoolOptions,
    boots: &[Boot],
    adjust: impl FnOnce(&mut Supervisor),
    test: impl FnOnce(Server) -> F,
) -> Result<F::Output, StartError> {
    runtime().block_on(async {
        let (mut supervisor, server, fake) = prepared(options, boots);
        adjust(&mut supervisor);
        supervisor.launch(fake.root(), &mut []).await?;
        // Only detects a hang; does not measure anything.
        let test = tokio::time::timeout(Duration::from_secs(120), test(server));
        let test = supervisor.run_until(test).await;
        let result = test.expect("not to hang");
        supervisor
            .stop(Instant::now() + Duration::from_secs(5))
            .await;
        assert!(!supervisor.any_process(), "no process is left");
        Ok(result)
    })
}

fn runtime() -> tokio::runtime::LocalRuntime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(before_park)
        .on_thread_unpark(after_unpark)
        .build_local(tokio::runtime::LocalOptions::default())
        .expect("a runtime")
}

/// A supervisor that has started nothing, its front, and a root for it.
fn prepared(options: PoolOptions, boots: &[Boot]) -> (Supervisor, Server, FakeRoot) {
    let (supervisor, mut seeds, fake) = unjoined(options, boots, 1);
    let server = joined(&supervisor, &mut seeds, &fake);
    (supervisor, server, fake)
}

/// The first front thread runs.
fn joined(supervisor: &Supervisor, seeds: &mut Vec<FrontSeeds>, fake: &FakeRoot) -> Server {
    let seed = seeds.remove(0).remove(0);
    Server {
        front: PoolFront::join(seed).expect("joined"),
        handle: supervisor.handle(),
        plan: fake.plan.clone(),
    }
}

/// The same before any front thread runs.
fn unjoined(
    options: PoolOptions,
    boots: &[Boot],
    fronts: usize,
) -> (Supervisor, Vec<FrontSeeds>, FakeRoot) {
    let root_options = RootOptions {
        executable: "/nonexistent/howdah-php".into(),
        withheld: vec![],
        clear_env: false,
        ini: vec![],
        concurrent: false,
        booted: false,
        preload: None,
        fronts,
        start_timeout: Duration::from_secs(20),
        users: vec![],
        by_monitor: false,
        crashes: None,
    };
    let spool = std::fs::File::open("/").expect("a directory").into();
    let prepared = Supervisor::prepare(php_info(), root_options, vec![options], spool);
    let (mut supervisor, seeds) = prepared.expect("a pool");
    // The fake processes are children of the test. The process with pid 1 is not.
    supervisor.check_identity = |_, _, pid| match pid {
        1 => Err(IdentityError::NotAChild { pid, parent: 2 }),
        _ => Ok(()),
    };
    let plan = Arc::new(Mutex::new(Plan {
        boots: boots.iter().cloned().collect(),
        ..Plan::default()
    }));
    (supervisor, seeds, FakeRoot { plan })
}

/// As when a server starts: no front thread runs yet.
async fn launched(
    supervisor: &mut Supervisor,
    seeds: &mut [FrontSeeds],
    fake: &FakeRoot,
) -> Result<(), StartError> {
    let launch = supervisor.launch(fake.root(), seeds);
    let started = tokio::time::timeout(Duration::from_secs(60), launch).await;
    started.expect("not to hang")
}

#[test]
fn workers_that_all_end_before_they_are_ready_end_the_start() {
    let options = worker_pool(2, |_, worker| worker.boot = model::Boot::Each);
    let text = "no vendor/autoload.php";
    runtime().block_on(async {
        let (mut supervisor, mut seeds, fake) = unjoined(options, &[Boot::BadWorkers(text)], 2);
        match launched(&mut supervisor, &mut seeds, &fake).await {
            Err(StartError::Boot { failures, text, .. }) => {
                assert_eq!((failures, &*text), (6, "no vendor/autoload.php"));
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_place_that_was_recovered_before_the_start_was_done_serves() {
    runtime().block_on(async {
        let (mut supervisor, mut seeds, fake) = unjoined(worker_pool(1, |_, _| {}), &[], 1);
        fake.plan.lock().expect("no panic").unwatched_workers = 1;
        let started = launched(&mut supervisor, &mut seeds, &fake).await;
        started.expect("started");
        let server = joined(&supervisor, &mut seeds, &fake);
        let test = async {
            let status = server.status().await;
            assert_eq!((status.ready, status.counters.spawned), (1, 2));
            assert_eq!(server.get("").await, Ok("generation 1".into()));
        };
        let test = tokio::time::timeout(Duration::from_secs(60), test);
        supervisor.run_until(test).await.expect("not to hang");
        supervisor
            .stop(Instant::now() + Duration::from_secs(5))
            .await;
    });
}

#[test]
fn a_start_without_enough_descriptors_is_reported() {
    let options = worker_pool(2, |_, worker| worker.max_consecutive_failures = Some(2));
    runtime().block_on(async {
        let (mut supervisor, mut seeds, fake) = unjoined(options, &[], 1);
        fake.plan.lock().expect("no panic").unwatched_workers = usize::MAX;
        let started = launched(&mut supervisor, &mut seeds, &fake).await;
        let error = started.expect_err("no room");
        let text = error.to_string();
        assert!(
            text.contains("2 times in a row") && text.contains("ulimit -n"),
            "{text}"
        );
    });
}

#[test]
fn the_first_failed_boot_ends_an_overlapping_start() {
    let options = worker_pool(1, |_, worker| {
        worker.max_consecutive_failures = Some(6);
        worker.watch = vec!["*.php".into()];
    });
    let overlapping = |supervisor: &mut Supervisor| supervisor.overlapping = true;
    let started = run_with(
        options,
        &[Boot::Bad("no database")],
        overlapping,
        async |_| {},
    );
    let Err(StartError::Boot { pool, text, .. }) = started else {
        panic!("{started:?}");
    };
    assert_eq!((&*pool, &*text), ("app", "no database"));
}

#[test]
fn leaving_waits_for_the_front_threads() {
    runtime().block_on(async {
        let (mut supervisor, server, fake) = prepared(worker_pool(2, |_, _| {}), &[]);
        supervisor
            .launch(fake.root(), &mut [])
            .await
            .expect("started");
        let (front, kept) = (server.front.clone(), server.front.clone());
        let joined = async {
            // It continues to serve as long as requests may come.
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(10)).await;
                assert_eq!(server.get("").await, Ok("generation 1".into()));
            }
            drop(server);
            assert!(front.in_flight() == 0);
            drop(front);
        };
        let left = async {
            supervisor.retire(false).await;
            assert!(!supervisor.any_process(), "no process is left");
        };
        let kept = async {
            joined.await;
            let server = kept;
            let request = Request {
                id: 7,
                vars: b"",
                body: RequestBody::None,
                body_file: None,
                head: false,
                target: None,
                repeatable: false,
                account: false,
                observer: None,
                publisher: None,
            };
            assert!(
                server.call(request).await.is_ok(),
                "one that is left counts"
            );
        };
        let both = async { tokio::join!(left, kept) };
        let done = tokio::time::timeout(Duration::from_secs(120), both).await;
        done.expect("not to hang");
    });
}

#[test]
fn orders_after_the_end_get_an_error() {
    runtime().block_on(async {
        let (mut supervisor, server, fake) = prepared(worker_pool(1, |_, _| {}), &[]);
        supervisor
            .launch(fake.root(), &mut [])
            .await
            .expect("started");
        assert_eq!(server.get("").await, Ok("generation 1".into()));
        supervisor.kill().await;
        let notified = async {
            while server.get("").await != Err(CallError::Stopping) {
                tokio::task::yield_now().await;
            }
        };
        let notified = tokio::time::timeout(Duration::from_secs(120), notified).await;
        notified.expect("not to wait for a worker");
        assert_eq!(server.front.in_flight(), 0);
    });
}

#[test]
fn a_pool_starts_serves_and_is_reloaded_without_a_gap() {
    run(worker_pool(2, |_, _| {}), &[], async |server| {
        assert_eq!(server.get("").await, Ok("generation 1".into()));
        for generation in 2..5 {
            server.handle.reload(Some("app")).await.expect("reloaded");
            assert_eq!(server.get("").await, Ok(format!("generation {generation}")));
        }
        let status = server
            .until("drained", |status| {
                status.generations.len() == 1 && status.workers.len() == 2
            })
            .await;
        assert_eq!((status.generation, status.ready), (4, 2));
        assert_eq!((status.counters.reloads, status.counters.crashed), (3, 0));
        let requested = server.plan(|plan| plan.requested.clone());
        let first = PoolRequest {
            flags: POOL_FLAG_SAMPLES,
            generation: 1,
        };
        let reloads = [2, 3, 4].map(|generation| PoolRequest {
            flags: POOL_FLAG_SAMPLES | POOL_FLAG_FRESH_FILES,
            generation,
        });
        assert_eq!(requested[0], first);
        assert_eq!(requested[1..], reloads);
    })
    .expect("started");
}

#[test]
fn requests_find_a_worker_while_the_pool_is_reloaded() {
    run(worker_pool(2, |_, _| {}), &[], async |server| {
        let reloads = async {
            for _ in 0..3 {
                server.handle.reload(None).await.expect("reloaded");
            }
        };
        let requests = async {
            for _ in 0..500 {
                assert!(server.get("").await.is_ok());
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(reloads, requests);
    })
    .expect("started");
}

#[test]
fn a_boot_that_fails_leaves_the_old_generation_serving() {
    let boots = [
        Boot::Good,
        Boot::Bad("Parse error in worker.php"),
        Boot::BadWorkers("no memory"),
    ];
    run(worker_pool(2, |_, _| {}), &boots, async |server| {
        for reason in ["Parse error in worker.php", "no memory"] {
            let error = server.handle.reload(None).await.expect_err("a bad boot");
            assert_eq!((&*error.pool, &*error.text), ("app", reason));
            assert_eq!(server.get("").await, Ok("generation 1".into()));
        }
        server.handle.reload(None).await.expect("the third is good");
        assert_eq!(server.get("").await, Ok("generation 4".into()));
        let status = server.status().await;
        assert_eq!(status.counters.reloads_failed, 2);
        assert_eq!(status.failure, None);
    })
    .expect("started");
}

#[test]
fn a_pool_that_never_boots_reports_its_scripts_output() {
    let boots = [const { Boot::Bad("PHP Fatal error: no vendor/autoload.php") }; 3];
    let options = worker_pool(2, |_, worker| worker.max_consecutive_failures = Some(3));
    let error = run(options, &boots, async |_| {}).expect_err("a bad boot");
    let text = error.to_string();
    assert!(
        text.contains("3 times in a row") && text.contains("no vendor/autoload.php"),
        "{text}"
    );
}

#[test]
fn a_boot_that_fails_once_is_tried_again() {
    let boots = [Boot::Bad("no database yet"), Boot::BadWorkers("nor now")];
    // The third attempt, of the second generation's workers, never succeeds: a reload fixes it.
    let options = worker_pool(2, |_, worker| worker.watch = vec!["*.php".into()]);
    run(options, &boots, async |server| {
        assert_eq!(server.get("").await, Err(CallError::NotBooted));
        server
            .until("workers failing", |status| {
                status.failure.as_deref() == Some("nor now")
            })
            .await;
        server.handle.reload(None).await.expect("reloaded");
        assert_eq!(server.get("").await, Ok("generation 3".into()));
    })
    .expect("a failure is tolerated");
}

#[test]
fn a_boot_that_never_ends_is_ended() {
    let options = worker_pool(1, |_, worker| worker.max_consecutive_failures = Some(1));
    let hurry = |supervisor: &mut Supervisor| {
        supervisor.options.start_timeout = Duration::from_millis(300);
    };
    let error = run_with(options, &[Boot::Hangs], hurry, async |_| {}).expect_err("it hangs");
    assert!(
        error.to_string().contains("frankenphp_handle_request()"),
        "{error}"
    );
}

#[test]
fn a_script_that_forks_cannot_share_is_booted_in_each_worker() {
    let boots = [Boot::Unfit("a mysqli connection is open")];
    run(worker_pool(2, |_, _| {}), &boots, async |server| {
        assert_eq!(server.get("").await, Ok("generation 2".into()));
        let status = server.status().await;
        assert!(
            status
                .generations
                .iter()
                .all(|generation| generation.boot_each)
        );
        server.handle.reload(None).await.expect("reloaded");
        let status = server.status().await;
        assert!(
            status
                .generations
                .iter()
                .all(|generation| !generation.boot_each || generation.state == "draining"),
            "a reload tries again: {status:#?}"
        );
    })
    .expect("started");
}

#[test]
fn reloads_at_a_time_are_done_together() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        let reloads: Vec<_> = (0..5)
            .map(|_| {
                let handle = server.handle.clone();
                tokio::spawn(async move { handle.reload(None).await })
            })
            .collect();
        for reload in reloads {
            reload.await.expect("no panic").expect("reloaded");
        }
        let status = server.status().await;
        assert_eq!((status.generation, status.counters.reloads), (3, 2));
        let error = server.handle.reload(Some("other")).await;
        let text = error.expect_err("no such pool").to_string();
        assert!(text.contains("the pools are app"), "{text}");
    })
    .expect("started");
}

#[test]
fn php_code_may_request_a_reload_and_gets_one_a_second() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        let since = Instant::now();
        for _ in 0..5 {
            assert!(server.get("reload").await.is_ok());
        }
        server
            .until("reloaded", |status| status.counters.reloads >= 1)
            .await;
        for _ in 0..5 {
            assert!(server.get("reload").await.is_ok());
        }
        let status = server
            .until("reloaded again", |status| status.counters.reloads >= 2)
            .await;
        assert_eq!(status.counters.reloads, 2);
        assert!(
            since.elapsed() > Duration::from_millis(300),
            "{:?}",
            since.elapsed()
        );
    })
    .expect("started");
}

#[test]
fn a_successor_is_ready_before_a_worker_retires() {
    let options = worker_pool(1, |options, _| options.limits.max_requests = 8);
    run(options, &[], async |server| {
        for _ in 0..40 {
            assert_eq!(server.get("").await, Ok("generation 1".into()));
            server
                .until("somebody there", |status| status.ready >= 1)
                .await;
        }
        let status = server.status().await;
        assert!(status.counters.spawned >= 5, "{status:#?}");
        assert_eq!(status.counters.crashed, 0);
        // All but the one that serves, and one that may just be retiring.
        let status = server
            .until("counted", |status| {
                status.counters.recycled + 2 >= status.counters.spawned
            })
            .await;
        assert!(
            status.counters.recycled < status.counters.spawned,
            "{status:#?}"
        );
        let lifetimes = server.plan(|plan| plan.lifetimes.clone());
        assert!(
            lifetimes
                .iter()
                .all(|life| (life.max_requests, life.retire_after) == (8, 5)),
            "{lifetimes:?}"
        );
    })
    .expect("started");
}

#[test]
fn each_request_has_a_fork_of_its_own() {
    let options = worker_pool(2, |_, worker| worker.isolation = Isolation::Request);
    run(options, &[], async |server| {
        for _ in 0..20 {
            assert!(server.get("").await.is_ok());
        }
        // Four are also ready before the last fork is seen to be gone.
        let status = server
            .until("refilled", |status| {
                status.ready == 4 && status.counters.spawned >= 24
            })
            .await;
        assert_eq!((status.workers_min, status.counters.crashed), (4, 0));
        assert!(server.plan(|plan| plan.lifetimes.iter().all(|life| life.max_requests == 1)));
    })
    .expect("started");
}

#[test]
fn forks_of_one_request_are_reloaded_under_load() {
    let options = worker_pool(1, |_, worker| worker.isolation = Isolation::Request);
    run(options, &[], async |server| {
        let load = async {
            loop {
                assert!(server.get("").await.is_ok());
            }
        };
        let reload = async {
            for _ in 0..3 {
                server.handle.reload(None).await.expect("reloaded");
            }
        };
        tokio::select! {
            () = load => unreachable!("it goes on"),
            () = reload => {}
        }
        assert_eq!(server.get("").await, Ok("generation 4".into()));
    })
    .expect("started");
}

#[test]
fn a_worker_that_exits_after_a_fatal_error_is_not_a_crash() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        assert!(server.get("fatal").await.is_ok());
        assert!(server.get("").await.is_ok());
        let status = server
            .until("reported", |status| status.counters.fatal == 1)
            .await;
        assert_eq!(status.counters.crashed, 0);
    })
    .expect("started");
}

/// With `exit restart` the status is the application's own, whether or not the worker's announcement of its exit has
/// arrived.
#[test]
fn a_worker_that_exits_after_its_response_is_not_a_crash() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        for word in ["exit", "fatal", ""] {
            assert!(server.get(word).await.is_ok());
        }
        let status = server
            .until("reported", |status| status.counters.fatal == 1)
            .await;
        assert_eq!(status.counters.crashed, 0);
    })
    .expect("started");
}

#[test]
fn a_request_that_runs_too_long_costs_its_worker_alone() {
    let options = worker_pool(2, |options, _| {
        options.limits.request_timeout = Some(Duration::from_secs(3));
    });
    run(options, &[], async |server| {
        let limit = Duration::from_secs(3);
        assert_eq!(
            server.get("hang").await,
            Err(CallError::RequestTimeout(limit))
        );
        let status = server
            .until("replaced", |status| {
                status.ready == 2 && status.counters.spawned == 3
            })
            .await;
        assert_eq!((status.counters.killed, status.counters.crashed), (1, 0));
        assert!(server.get("").await.is_ok());
    })
    .expect("started");
}

#[test]
fn requests_of_a_concurrent_worker_are_counted_and_share_its_fate() {
    let options = worker_pool(1, |options, worker| {
        options.limits.request_timeout = Some(Duration::from_secs(4));
        options.end_grace = Duration::from_millis(200);
        worker.concurrency = 10;
    });
    run(options, &[], async |server| {
        let held = async { tokio::join!(server.get("hold"), server.get("hold")) };
        let release = async {
            let status = server
                .until("held", |status| status.workers[0].in_flight == 2)
                .await;
            assert_eq!((status.concurrency, status.busy), (10, 1));
            assert_eq!((status.in_flight, status.queue), (2, 0));
            assert_eq!(status.workers[0].state, "busy");
            server.get("").await
        };
        let (held, released) = tokio::join!(held, release);
        assert!(held.0.is_ok() && held.1.is_ok() && released.is_ok());

        let limit = Duration::from_secs(4);
        assert_eq!(
            server.get("hang").await,
            Err(CallError::RequestTimeout(limit))
        );
        let killed = server.until("killed", |status| status.counters.killed == 1);
        // Also claimed, or next in line for its successor.
        let (status, other) = tokio::join!(killed, server.get(""));
        assert!(matches!(
            other,
            Ok(_) | Err(CallError::WorkerDied | CallError::RequestTimeout(_))
        ));
        assert_eq!(status.counters.crashed, 0);
        let status = server
            .until("replaced", |status| {
                status.ready == 1 && status.counters.spawned == 2
            })
            .await;
        assert_eq!(status.workers[0].in_flight, 0);
        assert!(server.get("").await.is_ok());
    })
    .expect("started");
}

#[test]
fn a_worker_is_replaced_at_its_age() {
    let options = worker_pool(1, |options, _| {
        options.limits.max_age = Some(Duration::from_millis(200));
    });
    run(options, &[], async |server| {
        let status = server
            .until("replaced", |status| {
                status.counters.recycled >= 1 && status.counters.ready >= 2
            })
            .await;
        assert_eq!(status.counters.crashed, 0);
        assert!(server.get("").await.is_ok());
    })
    .expect("started");
}

#[test]
fn without_room_for_two_generations_one_worker_makes_room_for_the_next() {
    let options = worker_pool(4, |_, _| {});
    // As in the largest pools: there are hardly more places than workers.
    let narrow = |supervisor: &mut Supervisor| supervisor.pools[0].places.truncate(5);
    run_with(options, &[], narrow, async |server| {
        for generation in 2..4 {
            server.handle.reload(None).await.expect("reloaded");
            assert_eq!(server.get("").await, Ok(format!("generation {generation}")));
        }
        server
            .until("drained", |status| {
                status.ready == 4 && status.workers.len() == 4
            })
            .await;
    })
    .expect("started");
}
