//! Processes that are lost, or cannot be watched.

use rustix::process::{Pid, Signal, kill_process};

use super::{Supervisor, run, run_with, worker_pool};
use crate::status::WorkerStatus;

fn kill(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a pid");
    kill_process(pid, Signal::KILL).expect("a process of ours");
}

#[test]
fn a_successor_does_not_wait_until_the_lost_process_is_gone() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        assert_eq!(server.get("").await, Ok("generation 1".into()));
        let lost = server.status().await.workers[0].pid;
        let dies = async {
            let answer = server.get("").await;
            assert_eq!(answer, Ok("generation 1".into()));
            let status = server.status().await;
            let mut pids = status.workers.iter().map(|worker| worker.pid);
            assert!(pids.any(|pid| pid == lost), "it is still there: {status:?}");
            assert_eq!(status.counters.spawned, 2);
            kill(lost);
        };
        let (answer, ()) = tokio::join!(server.get("dying"), dies);
        assert!(answer.is_err(), "{answer:?}");
        let status = server
            .until("recovered", |status| status.workers.len() == 1)
            .await;
        assert_eq!((status.ready, status.counters.spawned), (1, 2));
        assert_eq!(status.counters.crashed, 1);
    })
    .expect("started");
}

#[test]
fn without_free_places_no_worker_retires_during_a_reload_after_a_lost_process() {
    let narrow = |supervisor: &mut Supervisor| supervisor.pools[0].places.truncate(2);
    run_with(worker_pool(1, |_, _| {}), &[], narrow, async |server| {
        assert_eq!(server.get("").await, Ok("generation 1".into()));
        let lost = server.status().await.workers[0].pid;
        let dies = async {
            // The successor has the last place.
            assert_eq!(server.get("").await, Ok("generation 1".into()));
            let gone = async {
                let status = server
                    .until("a second generation", |status| {
                        let mut states = status.generations.iter().map(|it| it.state);
                        states.len() == 2 && states.all(|state| state == "serving")
                    })
                    .await;
                let stay = |it: &&WorkerStatus| it.generation == 1 && it.state != "stopping";
                assert_eq!(status.workers.iter().filter(stay).count(), 2, "{status:?}");
                kill(lost);
            };
            let (reloaded, ()) = tokio::join!(server.handle.reload(None), gone);
            reloaded.expect("reloaded");
        };
        let (answer, ()) = tokio::join!(server.get("dying"), dies);
        assert!(answer.is_err(), "{answer:?}");
        assert_eq!(server.get("").await, Ok("generation 2".into()));
    })
    .expect("started");
}

#[test]
fn a_worker_whose_death_would_not_be_noticed_is_replaced() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        server.plan(|plan| plan.unwatched_workers = 1);
        assert!(server.get("fatal").await.is_ok());
        let status = server
            .until("replaced", |status| {
                status.ready == 1 && status.counters.spawned == 3
            })
            .await;
        let counters = &status.counters;
        assert_eq!((status.workers.len(), counters.crashed), (1, 0));
        assert_eq!(counters.boots_failed, 1);
        assert_eq!(server.get("").await, Ok("generation 1".into()));
    })
    .expect("started");
}

#[test]
fn a_zygote_that_dies_is_replaced_with_its_workers() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        kill(server.plan(|plan| plan.zygotes[&0]));
        server
            .until("a second generation", |status| {
                status.generation == 2 && status.ready == 1
            })
            .await;
        assert_eq!(server.get("").await, Ok("generation 2".into()));
    })
    .expect("started");
}

#[test]
fn a_zygote_that_could_not_be_ended_is_not_kept() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        server.plan(|plan| plan.unwatched_zygotes = 1);
        let error = server.handle.reload(None).await.expect_err("not kept");
        assert!(error.text.contains("ulimit -n"), "{error}");
        assert_eq!(server.get("").await, Ok("generation 1".into()));
        server.handle.reload(None).await.expect("reloaded");
        assert_eq!(server.get("").await, Ok("generation 3".into()));
    })
    .expect("started");
}
