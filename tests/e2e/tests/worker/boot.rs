//! The boot of a worker script, its effect on requests, and when it is repeated.

use std::collections::BTreeMap;

use howdah_testkit::load::{CONCURRENCY, at_once};
use howdah_testkit::{Request, Server, Www};
use howdah_tests::worker::{Mode, Site, builder, scripts, worker_caddyfile};
use howdah_tests::{encode, in_both_modes};
use serde_json::{Value, json};

in_both_modes! {
    counters("counter.php") = |site| {
        for n in 1..20 {
            site.get("").assert(200, &format!("requests:{}", site.expect(1, n)));
        }
    };
    objects("object.php") = |site| {
        for n in 1..20 {
            assert_eq!(site.get("").json(), json!({"same": true, "uses": site.expect(1, n)}));
        }
    };
    autoloaders("autoload.php") = |site| {
        for _ in 0..5 {
            site.get("").assert(200, "1 loaded missing");
        }
    };
    open_files("file_stream.php") = |site| {
        for word in ["one", "two", "three", ""] {
            site.get("").assert(200, site.expect("one", word));
        }
    };
    getopt("getopt.php") = |site| {
        for i in 0..3 {
            site.get(&format!("?i={i}")).assert(200, &format!("false {i}"));
        }
    };
}

#[test]
fn output_of_the_boot_is_logged_and_not_sent() {
    let site = Site::start(Mode::Worker, "boot_writes.php");
    let line = site.server.wait_log("the boot says hello");
    assert_eq!(line.level(), Some("info"), "{}", line.raw);
    for _ in 0..3 {
        let response = site.get("");
        response.assert(200, "only this");
        assert_eq!(response.header("x-boot"), None);
    }
}

#[test]
fn variables_of_the_worker_are_there_at_the_boot_and_in_requests() {
    let site = Site::configured("boot_env.php", "env FOO bar");
    for _ in 0..2 {
        let answer = site.get("?x=1").json();
        let boot = &answer["boot"];
        assert_eq!(boot["FRANKENPHP_WORKER"], "1");
        assert_eq!(boot["FOO"], "bar");
        assert_eq!(boot["REQUEST_METHOD"], "GET");
        let file = scripts().join("boot_env.php");
        assert_eq!(boot["SCRIPT_FILENAME"], json!(file));
        assert_eq!(answer["request"]["SCRIPT_FILENAME"], json!(file));
        assert_eq!(answer["request"]["FRANKENPHP_WORKER"], Value::Null);
        assert_eq!(answer["request"]["FOO"], "bar");
        assert_eq!(answer["getenv"], "bar");
    }
}

/// Each worker runs the script separately, with the environment of its zygote.
#[test]
fn variables_of_the_worker_are_there_with_boot_each() {
    let site = Site::configured("boot_env.php", "boot each\nenv FOO bar");
    let answer = site.get("").json();
    assert_eq!(answer["boot"]["FOO"], "bar");
    assert_eq!(answer["request"]["FOO"], "bar");
    assert_eq!(answer["getenv"], "bar");
}

/// The path of the application, as `octane:start` passes it to its worker script.
#[test]
fn the_environment_is_there_at_the_boot_and_in_requests() {
    let site = Site::with(Mode::Worker, "boot_env.php", 1, |server| {
        server.env("FOO", "from outside")
    });
    for _ in 0..2 {
        let answer = site.get("").json();
        assert_eq!(answer["boot"]["FOO"], "from outside");
        assert_eq!(answer["boot"]["REQUEST_METHOD"], "GET");
        assert_eq!(answer["request"]["FOO"], "from outside");
        assert_eq!(answer["getenv"], "from outside");
    }
    let file = scripts().join("boot_env.php");
    let lines = "num 1\nenv FOO bar";
    let server = Server::caddyfile(worker_caddyfile(&file, lines))
        .env("FOO", "from outside")
        .start();
    let answer = server.get("/boot_env.php").json();
    assert_eq!(answer["boot"]["FOO"], "bar", "`env` goes before");
    assert_eq!(answer["getenv"], "bar", "in requests too");
}

#[test]
fn a_boot_that_fails_stops_the_start() {
    for (script, said) in [
        ("boot_throws.php", "the boot went wrong"),
        ("boot_exits.php", "the settings are missing"),
        ("boot_without_loop.php", "frankenphp_handle_request"),
    ] {
        let ended = builder(Mode::Worker, script, 1).try_start();
        let ended = ended.expect_err(script);
        assert!(
            matches!(ended.code, Some(1 | 2)),
            "{script}: {:?}",
            ended.code
        );
        assert!(ended.text().contains(said), "{script}:\n{}", ended.text());
        assert!(ended.text().contains(script), "{script}:\n{}", ended.text());
    }
}

#[test]
fn a_boot_that_crashes_is_reported() {
    for (lines, said) in [
        (
            "num 1",
            "crashed while the script booted (signal: 11 (SIGSEGV)",
        ),
        (
            "num 1\nenv SIGNAL 9",
            "killed while the script booted (SIGKILL)",
        ),
    ] {
        let file = scripts().join("boot_crashes.php");
        let lines = format!("{lines}\nmax_consecutive_failures 1");
        let server = Server::caddyfile(worker_caddyfile(&file, &lines));
        let text = server.try_start().expect_err(said).text();
        assert!(text.contains(said), "{text}");
        assert!(text.contains("the last line of the boot"), "{text}");
    }
}

#[test]
fn a_slow_boot_is_reported_while_it_runs() {
    let code =
        "<?php sleep(8); while (frankenphp_handle_request(static fn () => print 'served')) {}";
    let www = Www::new().file("slow.php", code);
    let file = www.path().join("slow.php");
    let server = Server::caddyfile(worker_caddyfile(&file, "num 1")).start();
    server.wait_log("the worker script has not requested work for 5 seconds");
    server.get("/slow.php").assert(200, "served");
}

/// The zygote cannot detect it, so each worker runs the script separately.
#[test]
fn a_boot_that_fails_in_each_worker_stops_the_start() {
    for (script, said) in [
        ("boot_throws.php", "the boot went wrong"),
        ("boot_exits.php", "the settings are missing"),
    ] {
        let file = scripts().join(script);
        let server = Server::caddyfile(worker_caddyfile(&file, "num 2\nboot each"));
        let ended = server.try_start().expect_err(script);
        assert!(
            matches!(ended.code, Some(1 | 2)),
            "{script}: {:?}",
            ended.code
        );
        for said in [said, script, "6 times in a row"] {
            assert!(ended.text().contains(said), "{script}:\n{}", ended.text());
        }
    }
}

#[test]
fn a_missing_script_stops_the_start() {
    let ended = builder(Mode::Worker, "no-such-script.php", 1).try_start();
    let ended = ended.expect_err("it does not start");
    assert!(matches!(ended.code, Some(1 | 2)), "{:?}", ended.code);
    assert!(
        ended.text().contains("no-such-script.php"),
        "{}",
        ended.text()
    );
}

#[test]
fn requests_cannot_be_taken_elsewhere() {
    // In a classic script, whether or not the server has workers.
    let text = "frankenphp_handle_request() called while not in worker mode";
    Site::start(Mode::Classic, "outside.php")
        .get("")
        .assert(200, text);
    let site = Site::configured("counter.php", "");
    site.server.get("/outside.php").assert(200, text);
    site.server
        .get("/hello.php?i=classic")
        .assert(200, "hello classic");
    site.get("").assert(200, "requests:1");
    // And not inside a request.
    let nested = Site::start(Mode::Worker, "nested.php");
    for _ in 0..3 {
        nested.get("").assert(200, "RuntimeException");
    }
}

/// Converts `pid:count` responses of many requests to the highest count per pid.
fn counts(site: &Site, requests: usize) -> BTreeMap<String, u32> {
    let mut highest = BTreeMap::new();
    for text in at_once(requests, |_| {
        let response = site.get("");
        response.assert_status(200);
        response.text()
    }) {
        let (pid, count) = text.split_once(':').expect("pid:count");
        let count: u32 = count.parse().expect("a number");
        let seen = highest.entry(pid.to_owned()).or_insert(0);
        *seen = count.max(*seen);
    }
    highest
}

#[test]
fn max_requests_retires_workers_without_a_lost_request() {
    let site = Site::configured("instance.php", "max_requests 10");
    let mut all = BTreeMap::new();
    for _ in 0..3 {
        all.extend(counts(&site, CONCURRENCY));
    }
    assert!(all.len() >= 30, "{} processes for 300 requests", all.len());
    assert!(all.values().all(|count| *count <= 10), "{all:?}");
}

#[test]
fn a_script_may_end_its_loop() {
    let site = Site::start(Mode::Worker, "own_loop.php");
    let all = counts(&site, 50);
    assert!(
        all.len() >= 50 / 3,
        "{} processes for 50 requests",
        all.len()
    );
    assert!(all.values().all(|count| *count <= 3), "{all:?}");
}

#[test]
fn isolation_request_forgets_statics() {
    let site = Site::configured("statics.php", "isolation request");
    let fresh = json!({"calls": 1, "items": 2, "left": 1, "known": false});
    for _ in 0..10 {
        assert_eq!(site.get("").json(), fresh);
    }
    at_once(CONCURRENCY, |_| assert_eq!(site.get("").json(), fresh));
    // Isolation protects from this leak.
    let leaking = Site::configured("statics.php", "isolation worker");
    assert_eq!(leaking.get("").json(), fresh);
    assert_eq!(
        leaking.get("").json(),
        json!({"calls": 2, "items": 3, "left": 2, "known": true})
    );
}

#[test]
fn boot_each_serves_as_well() {
    let site = Site::configured("instance.php", "boot each");
    let all = counts(&site, 20);
    assert_eq!(all.into_values().collect::<Vec<_>>(), [20]);
}

#[test]
fn workers_do_not_share_random_numbers() {
    let site = Site::with(Mode::Worker, "random.php", 4, |server| server);
    let answers = at_once(CONCURRENCY, |_| site.get("").json());
    for kind in 0..6 {
        let mut seen: Vec<String> = answers.iter().map(|a| a[kind].to_string()).collect();
        seen.sort();
        seen.dedup();
        // Two of a hundred 31-bit numbers are equal in one of 400,000 runs. All of them never are.
        assert!(
            seen.len() > 98,
            "number {kind}: {} of 100 differ",
            seen.len()
        );
    }
}

#[test]
fn a_worker_is_warmed_before_it_is_ready() {
    let site = Site::configured("counter.php", "warm /counter.php /counter.php?again");
    site.get("").assert(200, "requests:3");
}

#[test]
fn an_emptied_opcache_loses_no_request() {
    let site = Site::with(Mode::Worker, "reset.php", 2, |server| server);
    for _ in 0..3 {
        at_once(CONCURRENCY, |i| {
            let reset = if i % 25 == 0 { "&reset" } else { "" };
            site.get(&format!("?i={i}{reset}"))
                .assert(200, &format!("ok {i}"));
        });
    }
}

#[test]
fn a_request_that_waits_too_long_is_refused() {
    let site = Site::configured("wait.php", "max_wait_time 3s");
    let mut gate = site.server.gate("gate");
    let mut running = site.server.connect();
    let target = site.target(&format!("?gate={}", encode(gate.path())));
    running.send(&Request::get(target)).expect("sent");
    gate.reached();
    site.server.expect_log("no PHP process was free within 3s");
    let refused = site.get("");
    refused.assert_status(503);
    assert!(refused.header("retry-after").is_some());
    gate.open(1);
    running
        .receive("GET")
        .expect("a response")
        .assert(200, "done");
    site.get("").assert(200, "done");
}

#[test]
fn a_worker_is_found_through_symbolic_links() {
    let www = Www::new()
        .file(
            "real/_executor.php",
            std::fs::read(scripts().join("_executor.php")).expect("read"),
        )
        .file(
            "real/counter.php",
            std::fs::read(scripts().join("counter.php")).expect("read"),
        );
    std::os::unix::fs::symlink("real", www.path().join("linked")).expect("a link");
    for (worker, root) in [("real", "linked"), ("linked", "real"), ("linked", "linked")] {
        let file = www.path().join(worker).join("counter.php");
        let text = worker_caddyfile(&file, "num 1").replace(
            &format!("root * {}", file.parent().expect("a folder").display()),
            &format!("root * {}", www.path().join(root).display()),
        );
        let server = Server::caddyfile(text).start();
        for n in 1..4 {
            server
                .get("/counter.php")
                .assert(200, &format!("requests:{n}"));
        }
    }
}

#[test]
fn a_matching_path_goes_to_a_worker_outside_the_root() {
    let www = Www::new().file("api/file.txt", "a file");
    let file = scripts().join("superglobals.php");
    let site = format!(
        "root * {}\nphp_server {{\nworker {{\nfile {}\nnum 1\nmatch /api/*\n}}\n}}",
        www.path().display(),
        file.display(),
    );
    let server = Server::caddyfile(howdah_tests::caddyfile("admin off", &site)).start();
    for path in ["/api/things", "/api/file.txt"] {
        let server = server.get(&format!("{path}?q=1")).json()["server"].clone();
        assert_eq!(server["REQUEST_URI"], format!("{path}?q=1"));
        for name in ["SCRIPT_NAME", "PHP_SELF", "PATH_INFO", "DOCUMENT_URI"] {
            assert_eq!(server[name], "", "{name}");
        }
    }
    server.get("/elsewhere").assert_status(404);
}
