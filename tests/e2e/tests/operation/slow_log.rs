//! `slow_log`: the log shows where slow requests are, and their waits are not interrupted.

use std::thread;

use howdah_testkit::log::LogLine;
use howdah_testkit::{Gate, PATIENCE, Request, Server, Signal, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::meeting::{Meeting, request};
use howdah_tests::{caddyfile, encode};

const SLOW: &str = "slow request, ";
const ENDED: &str = "slow request ended after ";

/// Waits in two functions and responds with the interruptions.
const WAITS: &str = r"<?php
final class Report
{
    public static function sleeps(): void
    {
        $before = hrtime(true);
        usleep(900_000);
        if (hrtime(true) - $before < 900_000_000) {
            echo 'usleep() ended early ';
        }
    }

    public static function selects(): void
    {
        [$one, $other] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        [$read, $write, $except] = [[$one], null, null];
        $before = hrtime(true);
        if (stream_select($read, $write, $except, 0, 900_000) !== 0 || hrtime(true) - $before < 900_000_000) {
            echo 'stream_select() ended early ';
        }
    }
}

function end_as(string $how): void
{
    switch ($how) {
        case 'crash':
            posix_kill(getmypid(), SIGKILL);
            break;
        case 'exit':
            exit('done');
        case 'limit':
            set_time_limit(1);
            while (true);
    }
}

function handle(): void
{
    if (isset($_GET['gate'])) {
        file_put_contents($_GET['gate'] . '.reached', 'x');
        fgetc(fopen($_GET['gate'] . '.open', 'r'));
        end_as($_GET['end'] ?? '');
    } elseif (isset($_GET['just'])) {
        usleep(201_000);
    } elseif (isset($_GET['waits'])) {
        Report::sleeps();
        Report::selects();
    }
    echo 'done';
}
";

fn in_gate(server: &Server, gate: &mut Gate) {
    let target = format!("/index.php?gate={}", encode(gate.path()));
    thread::scope(|scope| {
        let response = scope.spawn(|| server.get(&target));
        gate.reached();
        let slow = server.wait_log(SLOW).raw;
        assert!(slow.contains("GET /index.php?gate="), "{slow}");
        assert!(
            slow.contains("fgetc()") && slow.contains("handle() "),
            "{slow}"
        );
        assert!(slow.contains("request_id"), "{slow}");
        gate.open(1);
        response.join().expect("no panic").assert(200, "done");
    });
    let ended = server.wait_log(ENDED).raw;
    assert!(ended.contains("GET /index.php?gate="), "{ended}");
}

fn in_waits(server: &Server) {
    server.get("/index.php?waits=1").assert(200, "done");
    let ends = |line: &LogLine| line.raw.contains(ENDED) && line.raw.contains("waits=1");
    let ended = server.wait_line("its end", ends).raw;
    for place in [
        "samples: usleep() in Report::sleeps() ",
        "samples: stream_select() in Report::selects() ",
    ] {
        assert!(ended.contains(place), "{ended}");
    }
    // From the claim on, not from when the front noticed it.
    let (_, time) = ended.split_once(ENDED).expect("a time");
    let time = time.split_once(' ').expect("a unit").0;
    let time: f64 = time.parse().expect("seconds");
    assert!(time >= 1.8, "{ended}");
}

/// Without time for a sample.
fn just_above_the_limit(server: &Server) {
    server.get("/index.php?just=1").assert(200, "done");
    server.wait_line("its end", |line| {
        line.raw.contains(ENDED) && line.raw.contains("just=1")
    });
}

fn check(server: &Server) {
    server.allow_log(SLOW);
    server.allow_log(ENDED);
    let mut gate = server.gate("gate");
    in_gate(server, &mut gate);
    in_waits(server);
    just_above_the_limit(server);
}

#[test]
fn a_slow_request_of_a_classic_pool_is_logged_with_its_place() {
    let www = Www::new().file("index.php", format!("{WAITS}\nhandle();"));
    let server = Server::builder(&www)
        .workers(1)
        .args(["--slow-log", "200ms"])
        .start();
    check(&server);
}

#[test]
fn a_slow_request_of_a_worker_is_logged_with_its_place() {
    let www = Www::new().file(
        "index.php",
        format!("{WAITS}\nwhile (frankenphp_handle_request('handle'));"),
    );
    let worker = www.path().join("index.php").display().to_string();
    let args = ["--slow-log", "200ms", "--worker", &worker];
    let server = Server::builder(&www).args(args).start();
    check(&server);
}

#[test]
fn a_fast_request_is_not_logged() {
    let www = Www::new().file("index.php", "<?php echo 'fast';");
    let server = Server::builder(&www)
        .workers(1)
        .args(["--slow-log", "30s"])
        .start();
    server.get("/index.php").assert(200, "fast");
}

#[test]
fn of_concurrent_requests_the_slow_one_is_named() {
    let meeting = Meeting::new();
    let server = meeting.serve("", "num 1\nconcurrency 100\nslow_log 500ms");
    server.allow_log(SLOW);
    server.allow_log(ENDED);
    thread::scope(|scope| {
        let slow = scope.spawn(|| server.send(&request("GET", "wait", "slow", "")));
        meeting.wait_there(1);
        for _ in 0..50 {
            let fast = request("GET", "sleep", "fast", "&us=1000");
            server.send(&fast).assert_status(200);
        }
        let text = server.wait_log(SLOW).raw;
        assert!(
            text.contains("id=slow") && text.contains("app.php:"),
            "{text}"
        );
        meeting.write("go", "");
        slow.join().expect("no panic").assert_status(200);
    });
    let ended = server.wait_log(ENDED).raw;
    assert!(ended.contains("id=slow"), "{ended}");
}

/// Starts a pool of one process of which requests are slow after 200 ms; `None` selects classic mode.
fn pool(www: &Www, limits: &str, worker: Option<&str>) -> Server {
    let root = www.path().display();
    let (end, block) = match worker {
        None => ("handle();", String::new()),
        Some(lines) => (
            "while (frankenphp_handle_request('handle'));",
            format!("worker {{\nname app\nfile {root}/index.php\nnum 1\n{lines}\n}}"),
        ),
    };
    www.write("index.php", format!("{WAITS}\n{end}"));
    let global =
        format!("{ON}\nfrankenphp {{\nnum_threads 1\nslow_log 200ms\n{limits}\n{block}\n}}");
    let server =
        Server::caddyfile(caddyfile(&global, &format!("root * {root}\nphp_server"))).start();
    for expected in [
        SLOW,
        ENDED,
        "worker died",
        "the PHP process crashed",
        "Maximum execution time",
    ] {
        server.allow_log(expected);
    }
    server.allow_hogs();
    server
}

/// Lets a request be slow in the gate and end as the query specifies. Its timeline has to be in the log and in the API,
/// with these words and this outcome.
fn ends(server: &Server, gate: &mut Gate, request: &Request, (words, outcome): (&str, &str)) {
    thread::scope(|scope| {
        let response = scope.spawn(|| server.send(request));
        gate.reached();
        server.wait_log(SLOW);
        gate.open(1);
        response.join().expect("no panic");
    });
    assert_ended(server, words, outcome);
}

#[track_caller]
fn assert_ended(server: &Server, words: &str, outcome: &str) {
    let ended = server.wait_log(ENDED).raw;
    let expected = format!(" s{words}: ");
    assert!(
        ended.contains(&expected) && ended.contains("gate="),
        "{ended}"
    );
    let listed = Admin::of(server).get("/activity").json()["slow"].clone();
    let newest = &listed[0];
    assert_eq!(newest["outcome"], outcome, "{listed:#}");
    let place = newest["places"][0]["place"].as_str().unwrap_or_default();
    assert!(place.starts_with("fgetc() in handle() "), "{listed:#}");
    let client = words.contains("its client had disconnected");
    assert_eq!(newest["client_disconnected"], client, "{listed:#}");
}

/// Waits for this number of lines with the text; returns the last one.
#[track_caller]
fn wait_lines(server: &Server, text: &str, number: usize) -> String {
    let mut lines = Vec::new();
    let arrived = process::wait_until(PATIENCE, || {
        lines = server.log().containing(text);
        lines.len() >= number
    });
    assert!(arrived, "{lines:?}");
    lines.remove(number - 1).raw
}

const MODES: [Option<&str>; 3] = [None, Some(""), Some("concurrency 2")];

fn target(gate: &Gate, end: &str) -> String {
    format!("/index.php?end={end}&gate={}", encode(gate.path()))
}

#[test]
fn the_timeline_names_a_crash() {
    for mode in MODES {
        let www = Www::new();
        let server = pool(&www, "", mode);
        let mut gate = server.gate("gate");
        let request = Request::new("POST", target(&gate, "crash"));
        ends(
            &server,
            &mut gate,
            &request,
            (", by a crash of the PHP process", "crash"),
        );
    }
}

/// A process that is stopped takes no sample, so the front names its request.
#[test]
fn a_long_uri_of_a_request_without_a_sample_is_cut() {
    let www = Www::new();
    let server = pool(&www, "", None);
    let admin = Admin::of(&server);
    let mut gate = server.gate("gate");
    let long = format!("{}&long={}", target(&gate, ""), "x".repeat(20_000));
    thread::scope(|scope| {
        let response = scope.spawn(|| server.send(&Request::new("POST", &long)));
        gate.reached();
        let workers = server.workers();
        for worker in &workers {
            process::kill(worker.pid, Signal::STOP).expect("it runs");
        }
        let listed = || admin.get("/activity?log=0").json()["slow"][0]["age_ms"].is_u64();
        assert!(process::wait_until(PATIENCE, listed));
        for worker in &workers {
            process::kill(worker.pid, Signal::KILL).expect("it is there");
        }
        response.join().expect("no panic").assert_status(502);
    });
    let ended = server.wait_log(ENDED).raw;
    assert!(ended.contains("POST /index.php?end=&gate="), "{ended}");
    assert!(ended.len() < 1000, "{} bytes", ended.len());
    let listed = admin.get("/activity?log=0").json()["slow"][0].clone();
    let title = listed["title"].as_str().expect("a title");
    assert!(title.len() < 600, "{} bytes", title.len());
}

#[test]
fn a_request_that_runs_again_after_a_crash_has_two_timelines() {
    let www = Www::new();
    let server = pool(&www, "", None);
    let mut gate = server.gate("gate");
    let request = Request::get(target(&gate, "crash"));
    thread::scope(|scope| {
        let response = scope.spawn(|| server.send(&request));
        for (ends, words) in [
            (1, " s, by a crash of the PHP process, and runs again: "),
            (2, " s, by a crash of the PHP process: "),
        ] {
            gate.reached();
            wait_lines(&server, SLOW, ends);
            gate.open(1);
            let last = wait_lines(&server, ENDED, ends);
            assert!(last.contains(words), "{last}");
        }
        response.join().expect("no panic").assert_status(502);
    });
    let listed = Admin::of(&server).get("/activity").json()["slow"].clone();
    assert_eq!(
        (&listed[0]["repeated"], &listed[1]["repeated"]),
        (&false.into(), &true.into()),
        "{listed:#}"
    );
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed:#}");
}

#[test]
fn the_timeline_names_an_exit() {
    for mode in [Some(""), Some("concurrency 2")] {
        let www = Www::new();
        let server = pool(&www, "", mode);
        let mut gate = server.gate("gate");
        let request = Request::get(target(&gate, "exit"));
        ends(&server, &mut gate, &request, (", by exit()", "exit"));
    }
}

#[test]
fn the_timeline_names_a_time_limit() {
    for mode in MODES {
        let www = Www::new();
        let server = pool(&www, "", mode);
        let mut gate = server.gate("gate");
        let request = Request::get(target(&gate, "limit"));
        ends(
            &server,
            &mut gate,
            &request,
            (", by a fatal error", "fatal_error"),
        );
    }
}

#[test]
fn the_timeline_names_the_request_timeout() {
    for mode in MODES {
        let www = Www::new();
        let server = pool(&www, "request_timeout 2s", mode);
        for expected in [
            "the request took longer than",
            "PHP backtrace",
            "worker killed",
        ] {
            server.allow_log(expected);
        }
        let gate = server.gate("gate");
        server.get(&target(&gate, "")).assert_status(504);
        assert_ended(&server, ", by request_timeout", "request_timeout");
    }
}

#[test]
fn the_timeline_names_a_client_that_disconnected() {
    for mode in MODES {
        let www = Www::new();
        let server = pool(&www, "", mode);
        let mut gate = server.gate("gate");
        let mut connection = server.connect();
        connection
            .send(&Request::get(target(&gate, "")))
            .expect("sent");
        gate.reached();
        server.wait_log(SLOW);
        drop(connection);
        let admin = Admin::of(&server);
        let is_noticed = || {
            let requests = admin.get("/requests").json();
            requests["requests"][0]["client"] == "disconnected"
        };
        assert!(process::wait_until(PATIENCE, is_noticed));
        gate.open(1);
        assert_ended(&server, ", its client had disconnected", "finished");
    }
}

#[test]
fn a_client_that_has_its_response_has_not_disconnected() {
    let www = Www::new();
    let server = pool(&www, "", None);
    let mut gate = server.gate("gate");
    let request = Request::new("HEAD", target(&gate, ""));
    ends(&server, &mut gate, &request, ("", "finished"));
}
