//! Requests of every kind in one process, a hundred at a time, each of which looks again and again whether it
//! still has what is its own.
//!
//! `HOWDAH_SOAK` says how many requests there are in one process (default 1000); the runs with fatal errors and with
//! other settings have a tenth of them. Databases take part if the environment names them, as `make soak` does it: see
//! `tests/worker/coroutine/soak.php`.

use std::sync::atomic::{AtomicUsize, Ordering};

use howdah_testkit::Request;
use howdah_tests::soak::{Settings, Soak, complaint};
use howdah_tests::traffic::many;

/// Requests after which everything that is kept has been made once.
const WARM: usize = 10_000;

/// By how much one process may grow after that, however many requests there are.
const GROWTH_KIB: u64 = 8192;

/// A tenth of the requests, all of them in one process, which says of its engine what it should.
fn with(settings: &Settings, engine: &str) {
    let soak = Soak::start(settings);
    let says = Request::get("/?op=engine&id=engine&client=0");
    soak.server.send(&says).assert(200, engine);
    let rounds = soak.run(many("HOWDAH_SOAK", 1000).div_ceil(10));
    let _ = soak.only_pid();
    println!("{rounds} requests of {:?}, {engine}", soak.kinds);
}

#[test]
fn every_request_keeps_what_is_its_own() {
    let soak = Soak::start(&Settings {
        fatal: true,
        ..Settings::default()
    });
    let rounds = soak.run(many("HOWDAH_SOAK", 1000).div_ceil(10).max(1000));
    println!(
        "{rounds} requests of {:?} in {} processes",
        soak.kinds,
        soak.pids().len()
    );
}

#[test]
fn one_process_serves_them_all_and_does_not_grow() {
    let soak = Soak::start(&Settings::default());
    let wanted = many("HOWDAH_SOAK", 1000);
    let warm = WARM.min(wanted);
    let mut rounds = soak.run(warm);
    let before = soak.memory();
    rounds += soak.run(wanted - warm);
    let after = soak.memory();
    println!(
        "{rounds} requests of {:?} in one process: {before} KiB after {warm}, {after} KiB in the end",
        soak.kinds
    );
    assert!(
        after <= before + GROWTH_KIB,
        "it has grown from {before} to {after} KiB"
    );
}

#[test]
fn without_opcache() {
    let settings = Settings {
        ini: "opcache.enable 0",
        ..Settings::default()
    };
    with(&settings, "OPcache off, JIT off");
}

#[test]
fn with_jit() {
    let settings = Settings {
        ini: "opcache.jit tracing\nopcache.jit_buffer_size 64M",
        ..Settings::default()
    };
    with(&settings, "OPcache on, JIT on");
}

#[test]
fn with_a_time_slice() {
    let settings = Settings {
        worker: "time_slice 1ms",
        ..Settings::default()
    };
    with(&settings, "OPcache on, JIT off");
}

#[test]
fn what_requests_share_is_noticed() {
    let soak = Soak::start(&Settings {
        worker: "statics share",
        ..Settings::default()
    });
    let noticed = AtomicUsize::new(0);
    soak.send(300, |plan, result| {
        let complaint = complaint(plan, result).unwrap_or_default();
        if complaint.contains("static property after") {
            noticed.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(noticed.into_inner() > 0, "nobody noticed");
}
