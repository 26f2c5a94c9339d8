//! How a reload handles requests that take long.

use super::*;

const LEAST: Duration = Duration::from_millis(20);
/// A multiple of that.
const LONG: Duration = Duration::from_millis(120);

fn hurry(supervisor: &mut Supervisor) {
    supervisor.drain_least = LEAST;
}

fn draining(status: &PoolStatus) -> usize {
    let generations = status.generations.iter();
    generations.filter(|one| one.state == "draining").count()
}

#[test]
fn a_request_outlasts_a_reload_and_the_second_ends_it_for_good() {
    let pool = worker_pool(1, |_, _| {});
    run_with(pool, &[], hurry, async |server| {
        // It may run again when its worker exits, and would hang again.
        let hanging = server.ask("hang", true);
        let reloads = async {
            server
                .until("in hand", |status| {
                    status.workers.iter().any(|worker| worker.request.is_some())
                })
                .await;
            server.handle.reload(None).await.expect("reloaded");
            tokio::time::sleep(LONG).await;
            assert_eq!(server.get("").await, Ok("generation 2".into()));
            let status = server.status().await;
            assert_eq!((draining(&status), status.counters.killed), (1, 0));
            server.handle.reload(None).await.expect("reloaded again");
        };
        let (hung, ()) = tokio::join!(hanging, reloads);
        assert_eq!(hung, Err(CallError::WorkerDied), "it is not run again");
        let status = server
            .until("drained", |status| draining(status) == 0)
            .await;
        assert_eq!((status.counters.killed, status.counters.crashed), (1, 0));
        assert_eq!(server.get("").await, Ok("generation 3".into()));
    })
    .expect("started");
}

#[test]
fn a_second_reload_leaves_requests_the_time_that_each_has() {
    let pool = worker_pool(1, |_, _| {});
    run(pool, &[], async |server| {
        let hanging = server.get("hang");
        let reloads = async {
            server
                .until("in hand", |status| {
                    status.workers.iter().any(|worker| worker.request.is_some())
                })
                .await;
            for _ in 0..2 {
                server.handle.reload(None).await.expect("reloaded");
            }
            server
                .until("one left", |status| draining(status) == 1)
                .await
        };
        tokio::select! {
            hung = hanging => panic!("it was ended: {hung:?}"),
            status = reloads => assert_eq!(status.counters.killed, 0),
        }
    })
    .expect("started");
}

#[test]
fn an_idle_worker_that_does_not_exit_is_killed() {
    let pool = worker_pool(1, |_, _| {});
    run_with(pool, &[], hurry, async |server| {
        assert!(server.get("lame").await.is_ok());
        server.handle.reload(None).await.expect("reloaded");
        let status = server
            .until("drained", |status| draining(status) == 0)
            .await;
        assert_eq!(status.counters.killed, 1);
    })
    .expect("started");
}

#[test]
fn an_old_server_waits_for_its_requests_until_it_has_two_successors() {
    runtime().block_on(async {
        let (mut supervisor, server, fake) = prepared(worker_pool(1, |_, _| {}), &[]);
        hurry(&mut supervisor);
        supervisor
            .launch(fake.root(), &mut [])
            .await
            .expect("started");
        let hanging = server.ask("hang", true);
        let retiring = async {
            while server.front.in_flight() == 0 {
                supervisor.run_until(tokio::task::yield_now()).await;
            }
            let left = tokio::time::timeout(LONG, supervisor.retire(false)).await;
            assert!(left.is_err(), "a request is in hand");
            supervisor.retire(true).await;
            assert!(!supervisor.any_process(), "no process is left");
        };
        let both = async { tokio::join!(hanging, retiring) };
        let both = tokio::time::timeout(Duration::from_secs(120), both).await;
        let (hung, ()) = both.expect("not to hang");
        assert_eq!(hung, Err(CallError::WorkerDied), "it is not run again");
    });
}
