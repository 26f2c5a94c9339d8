//! Crashes of PHP processes by route, and routes in quarantine.

use std::path::Path;
use std::thread;

use howdah_testkit::{PATIENCE, Request, Response, Server, Signal, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::{caddyfile, encode};

/// Routes: `/crash…` kills its process, `/wait` reports its arrival and waits for a file.
const HANDLER: &str = r"
    $path = strtok($_SERVER['REQUEST_URI'], '?');
    if (str_contains($path, 'crash')) {
        posix_kill(getmypid(), SIGKILL);
    }
    if (isset($_GET['gate'])) {
        file_put_contents($_GET['gate'] . '.in', 'x');
        while (!file_exists($_GET['gate'])) {
            usleep(1000);
            clearstatcache();
        }
    }
    echo 'served ', $path;
";

/// A mode of PHP: index of its pool in the status, its name, and the block of the Caddyfile.
struct Mode {
    index: usize,
    pool: &'static str,
    lines: &'static str,
}

const CLASSIC: Mode = Mode {
    index: 0,
    pool: "php",
    lines: "",
};
const WORKER: Mode = Mode {
    index: 1,
    pool: "app",
    lines: "num 2",
};
const COROUTINE: Mode = Mode {
    index: 1,
    pool: "app",
    lines: "num 1\nconcurrency 20",
};

impl Mode {
    /// `limits` are added to the global block.
    fn serve(&self, www: &Www, limits: &str) -> Server {
        let root = www.path().display();
        let (script, block) = if self.lines.is_empty() {
            (format!("<?php{HANDLER}"), String::new())
        } else {
            let script = format!(
                "<?php\nwhile (frankenphp_handle_request(static function () {{{HANDLER}}})) {{\n}}\n"
            );
            let lines = self.lines;
            let block = format!("worker {{\nname app\nfile {root}/index.php\n{lines}\n}}");
            (script, block)
        };
        www.write("index.php", script);
        let global = format!("{ON}\nfrankenphp {{\nnum_threads 2\n{limits}\n{block}\n}}");
        let site = format!("root * {root}\nrewrite * /index.php\nphp_server");
        let server = Server::caddyfile(caddyfile(&global, &site)).start();
        server.allow_log("worker died");
        server.allow_log("the PHP process crashed");
        server
    }

    fn crashes(&self, admin: &Admin) -> serde_json::Value {
        admin.get("/status").json()["pools"][self.index]["crashes"].clone()
    }
}

/// A request that is not run again when its process crashes.
fn post(server: &Server, target: &str) -> Response {
    server.send(&Request::new("POST", target))
}

fn counts_crashes(mode: &Mode) {
    let www = Www::new();
    let server = mode.serve(&www, "");
    let admin = Admin::of(&server);
    assert_eq!(mode.crashes(&admin), serde_json::json!([]));
    post(&server, "/crash/17?token=secret").assert_status(502);
    post(&server, "/crash/18").assert_status(502);
    post(&server, "/other-crash").assert_status(502);
    post(&server, "/well").assert(200, "served /well");
    let expected = serde_json::json!([
        {"route": "POST /crash/:id", "count": 2, "quarantine_ms": null},
        {"route": "POST /other-crash", "count": 1, "quarantine_ms": null},
    ]);
    assert_eq!(mode.crashes(&admin), expected);
    let metrics = admin.get("/metrics").text();
    let pool = mode.pool;
    let line = format!("howdah_php_crashes_total{{pool=\"{pool}\",route=\"POST /crash/:id\"}} 2\n");
    assert!(metrics.contains(&line), "{metrics}");
    let shown = admin.command(&["status"]);
    shown.assert(0, "  ! 2 crashes in POST /crash/:id\n");
    let logged = server
        .log()
        .containing("crashed while running a request of this route");
    let routes: Vec<_> = logged
        .iter()
        .map(|line| (line.text("route"), line.number("crashes")))
        .collect();
    let route = Some("POST /crash/:id");
    assert_eq!(
        routes,
        [
            (route, Some(1)),
            (route, Some(2)),
            (Some("POST /other-crash"), Some(1))
        ]
    );
    assert!(server.log().containing("secret").is_empty());
}

#[test]
fn crashes_are_counted_by_route_in_classic_mode() {
    counts_crashes(&CLASSIC);
}

#[test]
fn crashes_are_counted_by_route_in_worker_mode() {
    counts_crashes(&WORKER);
}

#[test]
fn crashes_are_counted_by_route_with_coroutines() {
    counts_crashes(&COROUTINE);
}

/// Waits until the process has three requests, of which one has reported its arrival.
fn await_three(admin: &Admin, came: &Path) {
    let in_flight =
        || admin.get("/status").json()["pools"][1]["workers"][0]["in_flight"] == 3 && came.exists();
    assert!(process::wait_until(PATIENCE, in_flight));
}

#[test]
fn a_crash_does_not_count_for_waiting_requests() {
    let www = Www::new();
    let server = COROUTINE.serve(&www, "max_route_crashes 1");
    server.expect_log("the route is in quarantine");
    let admin = Admin::of(&server);
    let gate = www.path().join("gate");
    let target = format!("/wait?gate={}", encode(&gate));
    let came = www.path().join("gate.in");
    thread::scope(|scope| {
        // They are run again. If they had crashed themselves, they would not be.
        let waiting: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| server.get(&target)))
            .collect();
        await_three(&admin, &came);
        post(&server, "/crash").assert_status(502);
        std::fs::write(&gate, "open").expect("written");
        for response in waiting {
            response
                .join()
                .expect("no panic")
                .assert(200, "served /wait");
        }
    });
    let crashes = COROUTINE.crashes(&admin);
    assert_eq!(crashes.as_array().map(Vec::len), Some(1), "{crashes}");
    assert_eq!(crashes[0]["route"], "POST /crash");
}

#[test]
fn waiting_requests_survive_crashes_one_after_another() {
    let www = Www::new();
    let server = COROUTINE.serve(&www, "");
    let admin = Admin::of(&server);
    let gate = www.path().join("gate");
    let target = format!("/wait?gate={}", encode(&gate));
    let came = www.path().join("gate.in");
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| server.get(&target)))
            .collect();
        for route in ["/crash", "/crash-2", "/crash-3"] {
            await_three(&admin, &came);
            std::fs::remove_file(&came).expect("it is there");
            // A request with a safe method is not run again either, as it was the one that ran.
            server.get(route).assert_status(502);
        }
        std::fs::write(&gate, "open").expect("written");
        for response in waiting {
            response
                .join()
                .expect("no panic")
                .assert(200, "served /wait");
        }
    });
    let crashes = COROUTINE.crashes(&admin);
    assert_eq!(crashes.as_array().map(Vec::len), Some(3), "{crashes}");
}

fn quarantines(mode: &Mode) {
    let www = Www::new();
    let limits = "max_route_crashes 2\nroute_crash_window 1m\nquarantine_time 3s";
    let server = mode.serve(&www, limits);
    server.expect_log("the route is in quarantine");
    let admin = Admin::of(&server);
    post(&server, "/crash/1").assert_status(502);
    post(&server, "/crash/2").assert_status(502);
    server.wait_log("the route is in quarantine");
    let refused = post(&server, "/crash/3");
    refused.assert_status(503);
    let seconds = refused
        .header("retry-after")
        .and_then(|text| text.parse().ok());
    assert!(matches!(seconds, Some(1..=3)), "{seconds:?}");
    // The same path, spelled differently.
    post(&server, "/%63rash/3").assert_status(503);
    post(&server, "/x/..//crash/3").assert_status(503);
    post(&server, "/well").assert(200, "served /well");
    server.get("/well").assert(200, "served /well");
    let crashes = mode.crashes(&admin);
    assert_eq!(crashes[0]["count"], 2);
    assert!(
        crashes[0]["quarantine_ms"]
            .as_u64()
            .is_some_and(|left| left <= 3000),
        "{crashes}"
    );
    let metrics = admin.get("/metrics").text();
    let pool = mode.pool;
    for line in [
        format!("howdah_php_quarantined_routes{{pool=\"{pool}\"}} 1\n"),
        format!("howdah_php_requests_refused_total{{pool=\"{pool}\",reason=\"quarantined\"}} 3\n"),
    ] {
        assert!(metrics.contains(&line), "{line} in\n{metrics}");
    }
    server.wait_log("the quarantine of the route has ended");
    assert_eq!(
        mode.crashes(&admin)[0]["quarantine_ms"],
        serde_json::Value::Null
    );
    post(&server, "/crash/4").assert_status(502);
    assert_eq!(
        server.log().containing("the route is in quarantine").len(),
        1
    );
    assert_eq!(
        server.log().containing("requests refused with 503").len(),
        0
    );
}

#[test]
fn a_route_that_keeps_crashing_is_refused_for_a_while_in_classic_mode() {
    quarantines(&CLASSIC);
}

#[test]
fn a_route_that_keeps_crashing_is_refused_for_a_while_with_coroutines() {
    quarantines(&COROUTINE);
}

#[test]
fn a_safe_request_whose_crash_begins_a_quarantine_is_not_run_again() {
    let www = Www::new();
    let server = WORKER.serve(&www, "max_route_crashes 1");
    server.expect_log("the route is in quarantine");
    server.get("/crash").assert_status(502);
    assert_eq!(WORKER.crashes(&Admin::of(&server))[0]["count"], 1);
}

#[test]
fn requests_whose_zygote_died_are_not_blamed() {
    let www = Www::new();
    let server = WORKER.serve(&www, "max_route_crashes 1");
    server.expect_log("zygote exited unexpectedly");
    let admin = Admin::of(&server);
    let gate = www.path().join("gate");
    let target = format!("/wait?gate={}", encode(&gate));
    let came = www.path().join("gate.in");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| post(&server, &target));
        assert!(process::wait_until(PATIENCE, || came.exists()));
        let zygote = admin.get("/status").json()["pools"][1]["generations"][0]["pid"].clone();
        let zygote = zygote.as_i64().and_then(|pid| pid.try_into().ok());
        process::kill(zygote.expect("a process id"), Signal::KILL).expect("it is there");
        waiting.join().expect("no panic").assert_status(502);
    });
    assert_eq!(WORKER.crashes(&admin), serde_json::json!([]));
    std::fs::write(&gate, "open").expect("written");
    post(&server, &target).assert(200, "served /wait");
}
