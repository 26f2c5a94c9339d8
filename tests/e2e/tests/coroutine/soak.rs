//! Requests of every kind in one process, a hundred at the same time. Each request repeatedly
//! checks that its state is still its own.
//!
//! `HOWDAH_SOAK` sets the number of requests in one process (default 1000). The runs with fatal
//! errors, with crashes and with other settings have a tenth of that. Each run reports the number
//! of requests of each kind. Databases are included if the environment names them, as `make soak`
//! does: see `tests/worker/coroutine/soak.php`.

use std::sync::atomic::{AtomicUsize, Ordering};

use howdah_testkit::Request;
use howdah_tests::admin::Admin;
use howdah_tests::soak::{Settings, Soak, complaint};
use howdah_tests::traffic::many;

/// Number of requests after which all caches are filled.
const WARM: usize = 10_000;

/// Allowed growth of one process after that, for any number of requests.
const GROWTH_KIB: u64 = 8192;

/// Number of requests of a run with different settings.
fn tenth() -> usize {
    many("HOWDAH_SOAK", 1000).div_ceil(10).max(1000)
}

/// Runs a tenth of the requests, all in one process, and checks the state of its engine.
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
    // Such values made the self-test fail in an earlier version.
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
