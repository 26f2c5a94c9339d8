//! `slow_log`: the log shows where slow requests are, and their waits are not interrupted.

use std::thread;

use howdah_testkit::log::LogLine;
use howdah_testkit::{Gate, Server, Www};
use howdah_tests::encode;
use howdah_tests::meeting::{Meeting, request};

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

function handle(): void
{
    if (isset($_GET['gate'])) {
        file_put_contents($_GET['gate'] . '.reached', 'x');
        fgetc(fopen($_GET['gate'] . '.open', 'r'));
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
}

fn check(server: &Server) {
    server.allow_log(SLOW);
    server.allow_log(ENDED);
    let mut gate = server.gate("gate");
    in_gate(server, &mut gate);
    in_waits(server);
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
