//! Cost of a request in PHP: in access logs, as `Server-Timing` and in spans.

use std::thread;
use std::time::{Duration, Instant};

use howdah_testkit::log::LogLine;
use howdah_testkit::{PATIENCE, Request, Server, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::{caddyfile, encode};
use serde_json::Value;

/// 20 ms of CPU time, and an SQLite query that takes some more.
const WORK: &str = "
    $slow = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT sum(i) FROM n';
    (new PDO('sqlite::memory:'))->query($slow)->fetchColumn();
    $text = str_repeat('x', 8 << 20);
    $until = hrtime(true) + 20_000_000;
    while (hrtime(true) < $until) {
    }
    echo 'done';
";

/// Waits at the gate.
const GATED: &str = "<?php
    file_put_contents($_GET['gate'] . '.reached', 'x');
    fgetc(fopen($_GET['gate'] . '.open', 'r'));
";

fn php() -> Www {
    let worker =
        format!("<?php while (frankenphp_handle_request(static function () {{ {WORK} }})) {{ }}");
    Www::new()
        .file("classic.php", format!("<?php {WORK}"))
        .file("early.php", "<?php echo 'early'; flush(); usleep(10000);")
        .file("slow.php", "<?php ob_implicit_flush(); while (ob_get_level() > 0) { ob_end_flush(); } echo 'early'; flush(); sleep(1);")
        .file(
            "finish.php",
            "<?php echo 'finished'; fastcgi_finish_request(); usleep(10000);",
        )
        .file("worker.php", &worker)
        .file("many.php", &worker)
}

fn number(php: &Value, name: &str) -> f64 {
    let value = php[name].as_f64();
    value.unwrap_or_else(|| panic!("no {name} in {php}"))
}

/// Checks the object of an access log line. Its times are in seconds.
fn assert_work(php: &Value) {
    assert!(number(php, "queue") < 5.0, "{php}");
    assert!(number(php, "time") >= 0.02, "{php}");
    // A different process may have used the CPU for a part of the time.
    let cpu = number(php, "cpu");
    assert!(cpu > 0.005 && cpu <= number(php, "time") * 2.0, "{php}");
    let database = number(php, "database");
    assert!(database > 0.0 && database < number(php, "time"), "{php}");
    assert!((number(php, "queries") - 1.0).abs() < f64::EPSILON, "{php}");
    assert!(number(php, "memory_peak") >= f64::from(8 << 20), "{php}");
}

/// Value of a `Server-Timing` entry in milliseconds.
fn timing(header: &str, name: &str) -> Option<f64> {
    let metric = header
        .split(", ")
        .find_map(|metric| metric.strip_prefix(name)?.strip_prefix(";dur="))?;
    let time = metric.split(';').next()?;
    Some(time.parse().expect("a number"))
}

#[test]
fn access_logs_have_what_requests_cost_in_classic_mode_worker_mode_and_coroutines() {
    let www = php();
    let root = www.path().display();
    let site = format!(
        "log\n@worker path /worker/*\n@many path /many/*\nhandle @worker {{\nroot * {root}\n\
         php_server {{\nworker {{\nfile {root}/worker.php\nnum 1\nmatch /worker/*\n}}\n}}\n}}\n\
         handle @many {{\nroot * {root}\nphp_server {{\nworker {{\nfile {root}/many.php\nnum 1\nconcurrency 4\nhog_threshold off\nmatch /many/*\n}}\n}}\n}}\n\
         handle {{\nroot * {root}\nphp_server\n}}"
    );
    let server = Server::caddyfile(caddyfile("", &site)).start();
    for path in ["/classic.php?mode=classic", "/worker/one", "/many/one"] {
        server.get(path).assert(200, "done");
        let line = server.wait_log(&format!("\"uri\":\"{path}\""));
        assert_work(&line.fields["php"]);
    }
    server.get("/none.txt").assert_status(404);
    let line = server.wait_log("/none.txt");
    assert_eq!(line.fields.get("php"), None, "{}", line.raw);
}

#[test]
fn access_logs_have_what_requests_cost_though_nothing_else_is_observed() {
    let www = php();
    let site = format!("log\nroot * {}\nphp_server", www.path().display());
    let server = Server::caddyfile(caddyfile("admin off", &site)).start();
    server.get("/classic.php?alone").assert(200, "done");
    assert_work(&server.wait_log("/classic.php?alone").fields["php"]);
    // The rest of the cost is unknown when the response ends.
    server.get("/finish.php").assert(200, "finished");
    let line = server.wait_log("/finish.php");
    assert_only_queue(&line.fields["php"]);
}

fn assert_only_queue(php: &Value) {
    let names: Vec<&String> = php.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["queue"], "{php}");
}

/// The first process that runs the request works on it for two seconds and is killed.
#[test]
fn the_time_in_a_worker_that_crashed_is_not_queue_time() {
    let www = Www::new().file(
        "index.php",
        "<?php
        if (!file_exists(__DIR__ . '/crashed')) {
            touch(__DIR__ . '/crashed');
            sleep(2);
            posix_kill(getmypid(), SIGKILL);
        }
        echo 'done';",
    );
    let site = format!("log\nroot * {}\nphp_server", www.path().display());
    let server = Server::caddyfile(caddyfile("frankenphp {\nserver_timing\n}", &site)).start();
    server.allow_log("worker died");
    let response = server.get("/index.php");
    response.assert(200, "done");
    let line = server.wait_log("\"uri\":\"/index.php\"");
    let whole = number(&line.fields, "duration");
    let queue = number(&line.fields["php"], "queue");
    assert!(whole - queue >= 2.0, "{}", line.raw);
    let header = response.header("server-timing").expect("a header");
    let queue = timing(header, "queue").expect("a time") / 1e3;
    assert!(whole - queue >= 2.0, "{header} of {whole}");
}

#[test]
fn access_logs_have_the_queue_time_of_requests_that_no_worker_took() {
    let www = Www::new().file(
        "index.php",
        "<?php while (isset($_GET['gate']) && !file_exists($_GET['gate'])) { usleep(10000); clearstatcache(); } echo 'done';",
    );
    let root = www.path().display();
    let global = format!("{ON}\nfrankenphp {{\nnum_threads 1\nmax_wait_time 1s\n}}");
    let site = format!("log\nroot * {root}\nphp_server");
    let server = Server::caddyfile(caddyfile(&global, &site)).start();
    server.allow_log("requests refused with 503");
    server.allow_log("requests were dropped because their clients had disconnected");
    let admin = Admin::of(&server);
    let wait_for = |uri: &str, phase: &str| {
        let is_there = || {
            let all = admin.get("/requests").json();
            let mut requests = all["requests"].as_array().expect("a list").iter();
            requests.any(|own| {
                own["uri"].as_str().is_some_and(|own| own.starts_with(uri)) && own["phase"] == phase
            })
        };
        assert!(process::wait_until(PATIENCE, is_there), "{uri}");
    };
    let gate = www.path().join("gate");
    thread::scope(|scope| {
        let running = scope.spawn(|| server.get(&format!("/first?gate={}", encode(&gate))));
        wait_for("/first", "php");
        server.get("/late").assert_status(503);
        let line = server.wait_log("\"uri\":\"/late\"");
        assert_eq!(line.fields["status"], 503);
        assert_only_queue(&line.fields["php"]);
        assert!(number(&line.fields["php"], "queue") >= 1.0, "{}", line.raw);

        let mut connection = server.connect();
        connection.send(&Request::get("/left")).expect("sent");
        wait_for("/left", "queue");
        drop(connection);
        let line = server.wait_log("\"uri\":\"/left\"");
        assert_eq!(line.fields["status"], 499);
        assert_only_queue(&line.fields["php"]);
        assert!(number(&line.fields["php"], "queue") > 0.0, "{}", line.raw);
        std::fs::write(&gate, "open").expect("written");
        running.join().expect("no panic").assert(200, "done");
    });
}

/// A script that has sent nothing when its client disconnects, or when it is ended, has run nevertheless.
#[test]
fn the_time_of_a_silent_script_is_not_queue_time() {
    const RUNS: Duration = Duration::from_millis(300);
    let www = Www::new().file("index.php", GATED);
    let root = www.path().display();
    let global = "frankenphp {\nnum_threads 2\nrequest_timeout 2s\n}";
    let site = format!("log\nroot * {root}\nphp_server");
    let server = Server::caddyfile(caddyfile(global, &site)).start();
    for expected in [
        "the request took longer than",
        "PHP backtrace",
        "worker killed",
        "/index.php/late",
    ] {
        server.allow_log(expected);
    }
    let mut gate = server.gate("gate");
    let target = |name: &str| format!("/index.php/{name}?gate={}", encode(gate.path()));
    let (left, late) = (target("left"), target("late"));
    let mut connection = server.connect();
    connection.send(&Request::get(&left)).expect("sent");
    gate.reached();
    let reached = Instant::now();
    assert!(process::wait_until(PATIENCE, || reached.elapsed() >= RUNS));
    drop(connection);
    let line = server.wait_log("/left");
    assert_eq!(line.fields["status"], 499);
    assert_ran(&line, RUNS);
    server.get(&late).assert_status(504);
    let line = server.wait_line("its line", |line| {
        line.raw.contains("/late") && line.fields["duration"].is_number()
    });
    assert_ran(&line, Duration::from_millis(1500));
}

/// The request was in PHP for this time, which is not that in the queue.
fn assert_ran(line: &LogLine, time: Duration) {
    assert_only_queue(&line.fields["php"]);
    let ran = number(&line.fields, "duration") - number(&line.fields["php"], "queue");
    assert!(ran >= time.as_secs_f64() * 0.9, "{}", line.raw);
}

#[test]
fn responses_have_server_timing_if_that_is_on() {
    let www = php();
    let site = format!("root * {}\nphp_server", www.path().display());
    let options = "frankenphp {\nserver_timing\n}";
    let server = Server::caddyfile(caddyfile(options, &site)).start();
    let response = server.get("/classic.php");
    let header = response.header("server-timing").expect("a header");
    let time = |name: &str| timing(header, name).unwrap_or_else(|| panic!("no {name} in {header}"));
    assert!(time("php") >= 20.0, "{header}");
    assert!(time("cpu") > 5.0, "{header}");
    assert!(time("db") > 0.0 && time("db") < time("php"), "{header}");
    assert!(time("queue") < 5000.0, "{header}");
    assert!(header.ends_with("desc=\"1 query\""), "{header}");
    // The header is sent before the script ends.
    let early = server.get("/early.php");
    early.assert(200, "early");
    let header = early.header("server-timing").expect("a header");
    assert!(timing(header, "queue").is_some(), "{header}");

    let off = Server::caddyfile(caddyfile("", &site)).start();
    assert_eq!(off.get("/classic.php").header("server-timing"), None);
}

/// With a timeout, the kernel updates the CPU clock of a process only at ticks, every 4 ms by
/// default.
#[test]
fn cpu_time_is_exact_while_a_time_limit_is_set() {
    let script = "<?php for ($i = 0; $i < 200000; $i++) { } echo 'done';";
    let www = Www::new().file("loop.php", script);
    let site = format!("root * {}\nphp_server", www.path().display());
    let options = "frankenphp {\nserver_timing\nnum_threads 1\nphp_ini max_execution_time 30\n}";
    let server = Server::caddyfile(caddyfile(options, &site)).start();
    for _ in 0..20 {
        let response = server.get("/loop.php");
        response.assert(200, "done");
        let header = response.header("server-timing").expect("a header");
        assert!(timing(header, "cpu").expect("a time") > 0.1, "{header}");
    }
}

/// Checks the placeholders for the cost of a request.
#[track_caller]
fn assert_cost(words: &[&str]) {
    let number = |at: usize| -> f64 {
        let number = words[at].parse();
        number.unwrap_or_else(|_| panic!("no number at {at} of {words:?}"))
    };
    assert_eq!(words[0], "200", "{words:?}");
    assert!(number(1) < 5000.0 && number(2) >= 20.0, "{words:?}");
    assert!(number(3) > 5.0, "{words:?}");
    assert!(number(4) > 0.0 && number(4) < number(2), "{words:?}");
    assert_eq!(words[5], "1", "{words:?}");
    assert!(number(6) >= f64::from(8 << 20), "{words:?}");
    assert!(number(7) >= 20.0 && number(7) < 60_000.0, "{words:?}");
}

/// `header` contains the values known when the header is written, `log_append` all values.
#[test]
fn headers_and_log_fields_have_what_requests_cost_as_placeholders() {
    let www = php();
    let root = www.path().display();
    let all = "{http.response.status} {howdah.queue_ms} {howdah.php_ms} {howdah.cpu_ms} \
               {howdah.database_ms} {howdah.database_queries} {howdah.memory_peak} \
               {http.request.duration_ms} {howdah.bytes_read} {http.response.size} {method}";
    let site = format!(
        "log\nheader X-Cost \"{all}\"\nlog_append cost \"{all}\"\n\
         log_append took {{http.request.duration}}\nroot * {root}\nphp_server"
    );
    let server = Server::caddyfile(caddyfile("admin off", &site)).start();
    let response = server.get("/classic.php");
    let header: Vec<&str> = response
        .header("x-cost")
        .expect("a header")
        .split(' ')
        .collect();
    assert_cost(&header);
    assert_eq!(header[8..], ["", "", "GET"], "the response has only begun");
    let line = server.wait_log("/classic.php");
    let text = |name: &str| line.fields[name].as_str().expect("a text");
    let field: Vec<&str> = text("cost").split(' ').collect();
    assert_cost(&field);
    assert_eq!(field[8..], ["0", "4", "GET"]);
    assert!(text("took").ends_with('s'), "{}", line.raw);

    // The script continues.
    let early = server.get("/slow.php");
    let header: Vec<&str> = early
        .header("x-cost")
        .expect("a header")
        .split(' ')
        .collect();
    assert_eq!((header[0], header[2]), ("200", ""), "{header:?}");
    assert!(!header[1].is_empty(), "{header:?}");
    // Without PHP there is no cost.
    let none = server.get("/none.txt");
    let header: Vec<&str> = none
        .header("x-cost")
        .expect("a header")
        .split(' ')
        .collect();
    assert_eq!((header[0], header[1]), ("404", ""), "{header:?}");
}
