//! A worker overwrites its pool's segment.

use howdah_shm::Segment;
use howdah_shm::layout::{SLOT_OWNED, SLOT_SIZE, WORKER_SIZE, state};

use super::*;

/// The documented time in which a pool recovers. On a busy machine this only detects a hang; the measured part is a
/// fifth of it.
const HEALED: Duration = Duration::from_secs(1);

impl Server {
    fn segment(&self) -> Arc<Segment> {
        self.plan(|plan| plan.segments.last().cloned())
            .expect("one")
    }

    /// Waits until workers with a different segment than the first serve.
    async fn wait_for_new_segment(&self, times: u64) -> PoolStatus {
        let what = "healed";
        self.until(what, |status| {
            status.counters.segments_replaced == times && status.ready == status.workers_wanted
        })
        .await
    }
}

fn head(segment: &Segment) -> u64 {
    segment.geometry().header().fronts_offset
}

#[test]
fn a_pool_goes_on_with_another_segment() {
    run(worker_pool(2, |_, _| {}), &[], async |server| {
        assert_eq!(server.get("").await, Ok("generation 1".into()));
        let before = server.segment();
        before.scribble(head(&before), 1 << 40);
        let started = Instant::now();
        // It waits for the new one.
        assert_eq!(server.get("").await, Ok("generation 2".into()));
        assert!(started.elapsed() < HEALED, "{:?}", started.elapsed());
        let status = server.wait_for_new_segment(1).await;
        assert_eq!((status.failure, status.counters.killed), (None, 2));
        assert_eq!(status.counters.crashed, 0);
        assert_eq!((status.in_flight, status.waiters), (0, 0));
        assert_ne!(Arc::as_ptr(&before), Arc::as_ptr(&server.segment()));
        assert_eq!(server.get("").await, Ok("generation 2".into()));
    })
    .expect("started");
}

#[test]
fn of_requests_in_hand_only_those_that_may_be_run_again_are() {
    run(worker_pool(3, |_, _| {}), &[], async |server| {
        let segment = server.segment();
        let corrupt = async {
            server.until("in hand", |status| status.busy == 2).await;
            // One worker is still idle; it would get the fourth request.
            let slots = segment.geometry().header().slots_offset;
            segment.scribble(slots, u64::MAX);
            server.wait_for_new_segment(1).await;
        };
        let (unsafe_one, safe_one, ()) = tokio::join!(
            server.ask("hang", false),
            server.ask("hang once", true),
            corrupt
        );
        assert_eq!(unsafe_one, Err(CallError::WorkerDied));
        assert_eq!(safe_one, Ok("generation 2".into()));
        assert_eq!(server.front.in_flight(), 0);
    })
    .expect("started");
}

#[test]
fn a_reload_repairs_a_header() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        let segment = server.segment();
        segment.scribble(0, 0);
        // The serving code does not check it.
        assert_eq!(server.get("").await, Ok("generation 1".into()));
        server.handle.reload(None).await.expect("reloaded");
        assert_eq!(server.get("").await, Ok("generation 2".into()));
        let counters = server.status().await.counters;
        assert_eq!((counters.segments_replaced, counters.reloads), (1, 1));
    })
    .expect("started");
}

#[test]
fn a_reload_repairs_damage_that_no_request_has_met() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        assert_eq!(server.get("").await, Ok("generation 1".into()));
        server.until("idle", |status| status.busy == 0).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        let segment = server.segment();
        segment.scribble(head(&segment), u64::MAX);
        server.handle.reload(None).await.expect("reloaded");
        server.wait_for_new_segment(1).await;
        assert!(server.get("").await.is_ok());
    })
    .expect("started");
}

#[test]
fn a_pool_heals_again_and_again() {
    run(worker_pool(2, |_, _| {}), &[], async |server| {
        let [mut replaced, mut slowest] = [0, 0];
        for round in 0..24 {
            assert!(server.get("").await.is_ok(), "round {round}");
            let segment = server.segment();
            let header = segment.geometry().header();
            let words = [
                (header.fronts_offset, 0x7777),
                (header.parked_offset, 0b1000),
                (header.completions_offset, u64::MAX),
                (header.slots_offset, state(1, 1, SLOT_OWNED)),
                (header.slots_offset + SLOT_SIZE as u64 - 64, 1 << 32),
                (header.workers_offset + WORKER_SIZE as u64, u64::MAX),
                (header.parked_offset, 0),
                (header.fronts_offset + 128, 3),
            ];
            let (at, word) = words[round % words.len()];
            segment.scribble(at, word);
            let started = Instant::now();
            let answers = tokio::join!(server.get(""), server.ask("", true), server.get(""));
            let (first, again, last) = answers;
            // A worker may have claimed one.
            assert!(again.is_ok(), "round {round}: {first:?} {again:?} {last:?}");
            assert!(server.get("").await.is_ok(), "round {round}");
            slowest = slowest.max(started.elapsed().as_millis() as u64);
            replaced = server.status().await.counters.segments_replaced;
        }
        assert!(replaced >= 3, "{replaced} segments");
        assert!(slowest < 2 * HEALED.as_millis() as u64, "{slowest} ms");
    })
    .expect("started");
}
