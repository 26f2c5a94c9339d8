//! Workers that are added while requests wait, and exit when they are idle.

use super::*;

#[test]
fn workers_are_added_while_requests_wait_and_exit_when_idle() {
    let options = worker_pool(1, |options, _| {
        options.workers_max = 3;
        options.limits.max_idle_time = Duration::from_millis(500);
        options.limits.request_timeout = Some(Duration::from_secs(3));
    });
    // Whatever else the test machine does.
    let calm = |supervisor: &mut Supervisor| supervisor.cpu = CpuMeter::fixed(10);
    run_with(options, &[], calm, async |server| {
        let hanging = server.get("hang");
        let more = async {
            server.until("busy", |status| status.busy == 1).await;
            assert!(server.get("").await.is_ok(), "a second worker came");
            let status = server.status().await;
            assert!(status.counters.scaled_up >= 1, "{status:#?}");
        };
        let (hung, ()) = tokio::join!(hanging, more);
        assert!(hung.is_err());
        let status = server
            .until("fewest", |status| {
                status.workers.len() == 1 && status.ready == 1
            })
            .await;
        assert_eq!(status.counters.scaled_up, status.counters.scaled_down);
    })
    .expect("started");
}

#[test]
fn workers_that_wait_are_added_on_a_busy_machine_too() {
    let options = worker_pool(1, |options, _| options.workers_max = 2);
    let busy = |supervisor: &mut Supervisor| supervisor.cpu = CpuMeter::fixed(100);
    run_with(options, &[], busy, async |server| {
        let hanging = server.get("hang");
        let more = async {
            server.until("busy", |status| status.busy == 1).await;
            assert!(server.get("").await.is_ok(), "a second worker came");
            assert_eq!(server.status().await.counters.scaled_up, 1);
        };
        tokio::select! {
            hung = hanging => panic!("{hung:?}"),
            () = more => {}
        }
    })
    .expect("started");
}

#[test]
fn workers_that_compute_on_a_busy_machine_stay_as_many() {
    let options = worker_pool(1, |options, _| {
        options.workers_max = 2;
        options.limits.request_timeout = Some(Duration::from_secs(3));
    });
    let busy = |supervisor: &mut Supervisor| {
        supervisor.cpu = CpuMeter::fixed(100);
        supervisor.pools[0].blocked = BlockedMeter::fixed(0);
    };
    run_with(options, &[], busy, async |server| {
        let hanging = server.get("hang");
        let waiting = async {
            server.until("busy", |status| status.busy == 1).await;
            server.get("").await
        };
        let (hung, waited) = tokio::join!(hanging, waiting);
        assert!(hung.is_err() && waited.is_ok(), "{hung:?} {waited:?}");
        assert_eq!(server.status().await.counters.scaled_up, 0);
    })
    .expect("started");
}
