//! Requests of every kind in one process, a hundred at a time, each of which looks again and again whether it
//! still has what is its own.
//!
//! `HOWDAH_SOAK` says how many requests there are in one process (default 1000); the runs with fatal errors, with
//! crashes and with other settings have a tenth of them. Each run reports how many requests of each kind it had. Databases take part if the environment names them, as `make soak` does it: see
//! `tests/worker/coroutine/soak.php`.

use std::sync::atomic::{AtomicUsize, Ordering};

use howdah_testkit::Request;
use howdah_tests::admin::Admin;
use howdah_tests::soak::{Settings, Soak, complaint};
use howdah_tests::traffic::many;

/// Requests after which everything that is kept has been made once.
const WARM: usize = 10_000;

/// By how much one process may grow after that, however many requests there are.
const GROWTH_KIB: u64 = 8192;

/// The requests of a run that differs.
fn tenth() -> usize {
    many("HOWDAH_SOAK", 1000).div_ceil(10).max(1000)
}

/// A tenth of the requests, all of them in one process, whose engine is as it should be.
fn with(settings: Settings, engine: &str) {
    let soak = Soak::start(settings);
    let request = Request::get("/?op=engine&id=engine&client=0");
    soak.server.send(&request).assert(200, engine);
    let rounds = soak.run(tenth());
    let _ = soak.only_pid();
    println!("{rounds} requests, {engine}: {}", soak.report);
}

#[test]
fn every_request_keeps_what_is_its_own() {
    let soak = Soak::start(Settings {
        fatal: true,
        ..Settings::default()
    });
    let rounds = soak.run(tenth());
    let processes = soak.pids().len();
    println!(
        "{rounds} requests in {processes} processes, with fatal errors: {}",
        soak.report
    );
}

#[test]
fn a_request_that_crashes_its_process_costs_no_other_one() {
    let soak = Soak::start(Settings {
        crashes: true,
        ..Settings::default()
    });
    let rounds = soak.run(tenth().max(3000));
    let processes = soak.pids().len();
    println!(
        "{rounds} requests in {processes} processes, with crashes: {}",
        soak.report
    );
    let crashes = Admin::of(&soak.server).get("/status").json()["pools"][1]["crashes"].clone();
    let count = soak.report.count("crash");
    assert!(count > 0, "no request has crashed");
    let expected =
        serde_json::json!([{"route": "GET /crash", "count": count, "quarantine_ms": null}]);
    assert_eq!(crashes, expected);
}

#[test]
fn one_process_serves_them_all_and_does_not_grow() {
    let soak = Soak::start(Settings::default());
    let wanted = many("HOWDAH_SOAK", 1000);
    let warm = WARM.min(wanted);
    let mut rounds = soak.run(warm);
    let before = soak.memory();
    rounds += soak.run(wanted - warm);
    let after = soak.memory();
    println!(
        "{rounds} requests in one process, {before} KiB after {warm} and {after} KiB in the end: {}",
        soak.report
    );
    assert!(
        after <= before + GROWTH_KIB,
        "it has grown from {before} to {after} KiB"
    );
}

#[test]
fn with_hardly_any_errors_reported() {
    // Such values once made the self-test fail.
    let settings = Settings {
        ini: "error_reporting 5\nsession.auto_start 0\nzend.assertions -1",
        ..Settings::default()
    };
    let soak = Soak::start(settings);
    let rounds = soak.run(tenth());
    let pool = Admin::of(&soak.server).get("/status").json()["pools"][1].clone();
    assert_eq!(pool["sequential"], 0, "{pool}");
    println!("{rounds} requests with error_reporting 5: {}", soak.report);
}

#[test]
fn without_opcache() {
    let settings = Settings {
        ini: "opcache.enable 0",
        ..Settings::default()
    };
    with(settings, "OPcache off, JIT off");
}

#[test]
fn with_jit() {
    let settings = Settings {
        ini: "opcache.jit tracing\nopcache.jit_buffer_size 64M",
        ..Settings::default()
    };
    with(settings, "OPcache on, JIT on");
}

#[test]
fn with_a_time_slice() {
    let settings = Settings {
        worker: "time_slice 1ms",
        ..Settings::default()
    };
    with(settings, "OPcache on, JIT off");
}

#[test]
fn what_requests_share_is_noticed() {
    let soak = Soak::start(Settings {
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
    assert!(noticed.into_inner() > 0, "no check failed");
}
