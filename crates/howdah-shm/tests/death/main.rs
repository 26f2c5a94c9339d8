//! Workers that die at every step of the real C code, under the real front.
//!
//! `worker/tests/queue_worker.c` is built with fault injection and run as four processes. Each is configured
//! a step at which it kills itself; others are killed at any moment. Each request is answered exactly
//! once with the bytes that belong to its id, or reported as torn; nothing is lost and no process hangs.
//!
//! Short by default. `HOWDAH_DEATHS=33000 cargo test -p howdah-shm --test death -- --nocapture` runs
//! the scenarios until each has seen a quarter of so many deaths.

// The models and Miri have no processes.
#![cfg(not(any(loom, miri)))]

mod build;
mod driver;
mod job;
mod statistics;
mod supervisor;

use howdah_shm::{Geometry, Segment};
use std::time::Duration;
use supervisor::Supervisor;

/// Deaths of all scenarios together when `HOWDAH_DEATHS` is not set.
const DEATHS: u64 = 800;
const WORKERS: u32 = 4;
/// Small, so that responses are larger than it and wrap often.
const RESPONSE_RING: u32 = 8192;

struct Scenario {
    name: &'static str,
    fronts: u32,
    slots: u32,
    /// Requests that each front thread keeps under way.
    concurrency: usize,
    respawn_delay: Duration,
    /// Whether workers are also killed from outside.
    killer: bool,
    /// Whether workers have several requests at a time, and sleep on eventfds.
    several: bool,
    /// Whether front threads leave requests to workers that are awake, as far as they can.
    patient: bool,
}

fn run(scenario: &Scenario) {
    let total = std::env::var("HOWDAH_DEATHS").map_or(DEATHS, |deaths| {
        deaths
            .parse()
            .expect("HOWDAH_DEATHS is the number of deaths to run")
    });
    let geometry = Geometry::new(
        scenario.fronts,
        WORKERS,
        scenario.slots,
        4096,
        RESPONSE_RING,
    )
    .unwrap();
    let create = if scenario.several {
        Segment::create_concurrent
    } else {
        Segment::create
    };
    let (segment, mut fronts) = create(geometry).unwrap();
    if scenario.patient {
        for front in &mut fronts {
            front.set_leave_limit(Duration::MAX);
        }
    }
    let summary = Supervisor::new(&segment, scenario).run(fronts, total / 4);
    println!("{}: {summary}", scenario.name);
    summary.check();
}

#[test]
fn one_front_thread_respawn_at_once() {
    run(&Scenario {
        name: "one front thread, respawn at once",
        fronts: 1,
        slots: 64,
        concurrency: 32,
        respawn_delay: Duration::ZERO,
        killer: true,
        several: false,
        patient: false,
    });
}

#[test]
fn one_front_thread_respawn_delayed() {
    // An instant respawn hides missing wake-ups, since the successor searches first.
    run(&Scenario {
        name: "one front thread, respawn delayed",
        fronts: 1,
        slots: 16,
        concurrency: 6,
        respawn_delay: Duration::from_millis(15),
        killer: false,
        several: false,
        patient: false,
    });
}

#[test]
fn two_front_threads_respawn_at_once() {
    run(&Scenario {
        name: "two front threads, respawn at once",
        fronts: 2,
        slots: 32,
        concurrency: 32,
        respawn_delay: Duration::ZERO,
        killer: true,
        several: false,
        patient: false,
    });
}

#[test]
fn two_front_threads_respawn_delayed() {
    run(&Scenario {
        name: "two front threads, respawn delayed",
        fronts: 2,
        slots: 8,
        concurrency: 3,
        respawn_delay: Duration::from_millis(15),
        killer: true,
        several: false,
        patient: false,
    });
}

#[test]
fn requests_are_left_to_workers_that_die() {
    run(&Scenario {
        name: "requests are left to workers that die",
        fronts: 2,
        slots: 32,
        concurrency: 12,
        respawn_delay: Duration::from_millis(15),
        killer: true,
        several: false,
        patient: true,
    });
}

#[test]
fn several_requests_at_a_time_respawn_at_once() {
    run(&Scenario {
        name: "several requests at a time, respawn at once",
        fronts: 2,
        slots: 32,
        concurrency: 32,
        respawn_delay: Duration::ZERO,
        killer: true,
        several: true,
        patient: false,
    });
}

#[test]
fn several_requests_at_a_time_respawn_delayed() {
    run(&Scenario {
        name: "several requests at a time, respawn delayed",
        fronts: 1,
        slots: 16,
        concurrency: 6,
        respawn_delay: Duration::from_millis(15),
        killer: true,
        several: true,
        patient: false,
    });
}
