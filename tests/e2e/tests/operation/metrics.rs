//! Metrics for Prometheus, at the admin API and in a site.

use howdah_testkit::{PATIENCE, Request, Server, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::meeting::{Meeting, request};
use howdah_tests::{caddyfile, encode, www};

/// Value of a sample, by name and labels.
fn value(page: &str, sample: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(sample))?;
    line.trim().parse().ok()
}

#[track_caller]
fn assert_value(page: &str, sample: &str, expected: f64) {
    let found = value(page, sample);
    assert_eq!(found, Some(expected), "{sample} in\n{page}");
}

fn page(admin: &Admin) -> String {
    let reply = admin.get("/metrics");
    assert_eq!(reply.status(), 200);
    reply.text()
}

#[test]
fn requests_are_counted_and_timed_by_phase() {
    let root = www();
    let root = root.display();
    let site = format!("root * {root}\nmetrics /own-metrics\nphp_server");
    let text = caddyfile(&format!("{ON}\nfrankenphp {{\nnum_threads 2\n}}"), &site);
    let server = Server::caddyfile(text).start();
    let admin = Admin::of(&server);
    for _ in 0..3 {
        server.get("/hello.php").assert(200, "hello");
    }
    server.get("/static.txt");
    server.send(&Request::new("POST", "/dump.php").body("12345"));
    // A response is counted after its last byte was sent, and the client may receive that byte
    // before.
    let counted = || {
        let page = page(&admin);
        let get = r#"howdah_http_requests_total{pool="php",method="GET",status="2xx"} "#;
        let post = r#"howdah_http_requests_total{pool="php",method="POST",status="2xx"} "#;
        let file = r#"howdah_http_requests_total{pool="(front)",method="GET",status="2xx"} "#;
        let done = r#"howdah_php_phase_duration_seconds_count{pool="php",phase="php"} "#;
        value(&page, get) == Some(3.0)
            && value(&page, file) == Some(1.0)
            && value(&page, post) == Some(1.0)
            && value(&page, done) == Some(4.0)
    };
    assert!(process::wait_until(PATIENCE, counted), "{}", page(&admin));
    let shown = page(&admin);
    assert_value(
        &shown,
        r#"howdah_http_requests_total{pool="(front)",method="GET",status="2xx"} "#,
        1.0,
    );
    assert_value(&shown, "howdah_http_request_body_bytes_total ", 5.0);
    assert_value(
        &shown,
        r#"howdah_php_phase_duration_seconds_count{pool="php",phase="queue"} "#,
        4.0,
    );
    let php = value(
        &shown,
        r#"howdah_php_phase_duration_seconds_sum{pool="php",phase="php"} "#,
    );
    let total = value(
        &shown,
        r#"howdah_http_request_duration_seconds_sum{pool="php",status="2xx"} "#,
    );
    assert!(
        php.is_some_and(|php| php > 0.0 && Some(php) <= total),
        "{php:?} {total:?}"
    );
    let slots = value(&shown, "howdah_php_slots{pool=\"php\"} ");
    assert!(slots.is_some_and(|slots| slots >= 2.0), "{slots:?}");
    assert_value(&shown, "frankenphp_total_threads ", 2.0);
    assert_value(
        &shown,
        r#"howdah_http_connections_accepted_total{protocol="http/1.1"} "#,
        5.0,
    );
    assert!(shown.contains("howdah_build_info{version=\""), "{shown}");

    let own = server.get("/own-metrics");
    assert_eq!(own.status(), 200);
    assert!(
        own.header("content-type")
            .is_some_and(|kind| kind.starts_with("text/plain"))
    );
    assert!(own.text().contains("howdah_http_requests_total"));
    let posted = server.send(&Request::new("POST", "/own-metrics").body("x"));
    assert_eq!(posted.status(), 405);
}

#[test]
fn a_busy_worker_and_its_queue_are_seen() {
    let site = format!("root * {}\nphp_server", www().display());
    let text = caddyfile(&format!("{ON}\nfrankenphp {{\nnum_threads 1\n}}"), &site);
    let server = Server::caddyfile(text).start();
    let admin = Admin::of(&server);
    let mut gate = server.gate("gate");
    let target = format!("/gate.php?gate={}", encode(gate.path()));
    let mut running = server.connect();
    running.send(&Request::get(&target)).expect("sent");
    gate.reached();
    let mut waiting = server.connect();
    waiting.send(&Request::get("/hello.php")).expect("sent");
    let queued = || {
        let page = page(&admin);
        value(&page, "howdah_php_queue_length{pool=\"php\"} ") == Some(1.0)
            && value(&page, "howdah_php_workers{pool=\"php\",state=\"busy\"} ") == Some(1.0)
    };
    assert!(process::wait_until(PATIENCE, queued), "{}", page(&admin));
    let shown = page(&admin);
    assert_value(&shown, "frankenphp_queue_depth ", 1.0);
    assert_value(&shown, "frankenphp_busy_threads ", 1.0);
    assert!(
        !shown.contains("howdah_http_requests_total"),
        "it is not configured"
    );
    gate.open(1);
    running
        .receive("GET")
        .expect("a response")
        .assert(200, "first last");
    waiting
        .receive("GET")
        .expect("a response")
        .assert(200, "hello");
}

#[test]
fn worker_pools_have_frankenphps_names() {
    let www = Www::new()
        .file("worker.php", howdah_tests::admin::VERSION_WORKER)
        .file("version.php", "<?php return 'one';");
    let text = howdah_tests::admin::worker_site(www.path(), "");
    let text = text.replacen("{\n", "{\nmetrics\n", 1);
    let server = Server::caddyfile(text).start();
    let admin = Admin::of(&server);
    server.get("/").assert(200, "one");
    let counted = || {
        let page = page(&admin);
        value(&page, r#"frankenphp_worker_request_count{worker="app"} "#) == Some(1.0)
    };
    assert!(process::wait_until(PATIENCE, counted), "{}", page(&admin));
    let shown = page(&admin);
    assert_value(&shown, r#"frankenphp_total_workers{worker="app"} "#, 2.0);
    assert_value(&shown, r#"frankenphp_ready_workers{worker="app"} "#, 2.0);
    assert_value(&shown, r#"frankenphp_worker_crashes{worker="app"} "#, 0.0);
    let time = value(&shown, r#"frankenphp_worker_request_time{worker="app"} "#);
    assert!(time.is_some_and(|time| time > 0.0), "{shown}");
}

#[test]
fn a_hold_of_a_worker_with_several_requests_is_seen_by_a_later_scrape() {
    let meeting = Meeting::new();
    let server = meeting.serve("", "num 1\nconcurrency 10");
    let admin = Admin::of(&server);
    let held = |page: &str| {
        value(
            page,
            r#"howdah_php_longest_hold_seconds{pool="app",place="0"} "#,
        )
    };
    // Repeated, because on a busy machine the observer may look too late.
    let seen = || {
        let computed = server.send(&request("GET", "compute", "hog", "&us=1000000"));
        computed.assert(200, "computed hog");
        held(&page(&admin)).is_some_and(|held| held > 0.3)
    };
    assert!(process::wait_until(PATIENCE, seen), "{}", page(&admin));
    // Reading the page does not reset it.
    let shown = page(&admin);
    assert!(held(&shown).is_some_and(|held| held > 0.3), "{shown}");
    assert!(
        !shown.contains(r#"howdah_php_longest_hold_seconds{pool="php""#),
        "its workers have one request at a time"
    );
}

#[test]
fn workers_that_end_as_planned_are_counted() {
    let script = "<?php
        for ($left = 5; $left && frankenphp_handle_request(function () { echo 'served'; }); $left--);
    ";
    let root = Www::new()
        .file("left.php", script)
        .file("plain.php", "<?php echo 'served';");
    let root = root.path().display();
    let global = format!(
        "{ON}\nfrankenphp {{\nnum_threads 2\nmax_requests 5\nworker {root}/left.php {{\nnum 2\nmax_requests 0\n}}\n}}"
    );
    let text = caddyfile(&global, &format!("root * {root}\nphp_server"));
    let server = Server::caddyfile(text).start();
    let admin = Admin::of(&server);
    for _ in 0..60 {
        server.get("/plain.php").assert(200, "served");
        server.get("/left.php").assert(200, "served");
    }
    let counted = |pool: &str| {
        let page = page(&admin);
        let started = format!("howdah_php_workers_started_total{{pool=\"{pool}\"}} ");
        let ended =
            format!("howdah_php_workers_ended_total{{pool=\"{pool}\",reason=\"recycled\"}} ");
        let value = |sample: &str| value(&page, sample).unwrap_or_default();
        // At least twelve processes have ended, and those that exited have been counted.
        (value(&started), value(&ended))
    };
    for pool in ["php", "left"] {
        let all = || {
            let (started, recycled) = counted(pool);
            recycled >= 11.0 && recycled < started && recycled + 4.0 >= started
        };
        assert!(process::wait_until(PATIENCE, all), "{}", page(&admin));
    }
    let restarts = r#"frankenphp_worker_restarts{worker="left"} "#;
    assert!(value(&page(&admin), restarts).is_some_and(|count| count >= 11.0));
}

#[test]
fn times_by_route_are_counted_if_that_is_on() {
    let global = format!("{ON}\nmetrics {{\nper_route\n}}");
    let server = Server::caddyfile(caddyfile(&global, "respond /users/* OK 200")).start();
    let admin = Admin::of(&server);
    for path in ["/users/17", "/users/18", "/scanned"] {
        server.get(path);
    }
    let counted = || {
        let page = page(&admin);
        let count = |route: &str| {
            let sample = format!("howdah_http_route_duration_seconds_count{{route=\"{route}\"}} ");
            value(&page, &sample)
        };
        count("GET /users/:id") == Some(2.0) && count("(other)") == Some(1.0)
    };
    assert!(process::wait_until(PATIENCE, counted), "{}", page(&admin));
}

#[test]
fn requests_are_counted_by_host() {
    let global = "metrics {\n per_host\n}";
    let text = format!(
        "{}http://a.test:0 {{\n bind 127.0.0.2\n respond a\n}}\n",
        caddyfile(
            global,
            "handle /metrics {\n metrics\n }\n handle {\n respond ok\n }"
        )
    );
    let server = Server::caddyfile(text).start();
    for host in ["a.test", "A.test:80", "evil.test"] {
        server.send(&Request::get("/").host(host)).assert(200, "ok");
    }
    let shown = server.get("/metrics").text();
    let count = |host: &str| {
        let name = format!(
            "caddy_http_requests_total{{server=\"howdah\",method=\"GET\",host=\"{host}\"}} "
        );
        value(&shown, &name)
    };
    assert_eq!(count("a.test"), Some(2.0), "{shown}");
    assert_eq!(count("_other"), Some(1.0), "{shown}");
    assert_eq!(count("evil.test"), None);
}
