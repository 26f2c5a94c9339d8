//! Workers that exit at every step of the real C code, with the real front.
//!
//! `worker/tests/queue_worker.c` is built with violation injection and run as four processes. Each
//! kills itself at a configured step, and others are killed at any time. Each request gets exactly
//! one response with the bytes of its id, or is reported as torn. No request is lost, and no
//! process hangs.
//!
//! The run is short by default. `HOWDAH_DEATHS=33000 cargo test -p howdah-shm --test death --
//! --nocapture` runs each scenario until it has seen a quarter of this number of exits.

// The models and Miri do not support processes.
#![cfg(not(any(loom, miri)))]

mod build;
mod driver;
mod job;
mod statistics;
mod supervisor;

use howdah_shm::{Geometry, Segment};
use std::time::Duration;
use supervisor::Supervisor;

/// Number of exits in all scenarios if `HOWDAH_DEATHS` is not set.
const DEATHS: u64 = 800;
const WORKERS: u32 = 4;
/// Small, so that responses are larger and often wrap around.
const RESPONSE_RING: u32 = 8192;

struct Scenario {
    name: &'static str,
    fronts: u32,
    slots: u32,
    /// Number of requests in flight per front thread.
    concurrency: usize,
    respawn_delay: Duration,
    /// Whether the supervisor also kills workers.
    killer: bool,
    /// Whether workers have several requests at the same time, and sleep on eventfds.
    several: bool,
    /// Whether front threads leave requests to awake workers when possible.
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
    // An immediate restart hides missing wakeups, because the new worker first checks the ring.
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
