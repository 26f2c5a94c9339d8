//! Limits of requests that share a process: a timeout ends only its own request, queues are
//! bounded, and a client that disconnects or does not read delays no other client.

use std::thread;

use howdah_testkit::{Connection, PATIENCE, Response, Server, process};
use howdah_tests::admin::Admin;
use howdah_tests::encode;
use howdah_tests::meeting::{Meeting, request};
use howdah_tests::traffic::during;

const ONE: &str = "num 1\nconcurrency 100";
const TIMEOUT: &str = "the request took longer than";
const TRACE: &str = "PHP backtrace of the request:";
const KILLED: &str = "worker killed: request timed out";
const REFUSED: &str = "requests refused with 503";

fn send(server: &Server, op: &str, id: &str, rest: &str) -> Response {
    server.send(&request("GET", op, id, rest))
}

#[track_caller]
fn pid(response: &Response) -> &str {
    response.header("x-pid").expect("a process id")
}

/// Lets one request exceed `request_timeout` while others run. One process must handle all of
/// these.
fn time_out(op: &str, lines: &str) {
    let meeting = Meeting::new();
    let server = meeting.serve("", &format!("{ONE}\nrequest_timeout 5s\n{lines}"));
    server.allow_log(TIMEOUT);
    server.expect_log(TRACE);
    let first = send(&server, "sleep", "first", "&us=1");
    let ((), _) = during(
        &server,
        4,
        |client| {
            let n = client.number_next();
            let id = format!("{}-{n}", client.number);
            let request = request("POST", "sleep", &id, "&us=2000");
            let response = client.exchange(&request).expect("a response");
            response.assert(200, &format!("slept {id}"));
            assert_eq!(pid(&response), pid(&first), "another process");
        },
        |traffic| {
            send(&server, op, "slow", "").assert_status(504);
            // The shutdown functions of the request run.
            meeting.wait("out-slow");
            traffic.wait(100);
        },
    );
    let admin = Admin::of(&server);
    let idle = || admin.get("/status").json()["pools"][1]["in_flight"] == 0;
    assert!(process::wait_until(PATIENCE, idle), "it holds its place");
    let killed = admin.get("/status").json()["pools"][1]["counters"]["killed"].clone();
    assert_eq!(killed, 0);
}

#[test]
fn a_request_that_waits_too_long_ends_alone() {
    time_out("wait", "");
}

#[test]
fn a_request_that_computes_too_long_ends_alone() {
    time_out("spin", "time_slice 20ms");
}

#[test]
fn a_request_that_computes_too_long_is_named_and_ended() {
    let meeting = Meeting::new();
    let server = meeting.serve("", &format!("{ONE}\nrequest_timeout 5s"));
    server.allow_log(TIMEOUT);
    server.expect_log(TRACE);
    server.expect_log("kept the others of this worker waiting");
    let first = send(&server, "sleep", "first", "&us=1");
    send(&server, "spin", "slow", "").assert_status(504);
    let next = send(&server, "sleep", "next", "&us=1");
    next.assert(200, "slept next");
    assert_eq!(pid(&first), pid(&next));
}

#[test]
fn a_request_that_cannot_be_ended_costs_its_process() {
    let meeting = Meeting::new();
    // Without `hang_timeout`, only the front terminates the process. With it, either may be the
    // first.
    let server = meeting.serve("", &format!("{ONE}\nrequest_timeout 5s\nhang_timeout off"));
    // The log shows where the process was, and that it was killed.
    for text in [TIMEOUT, "app.php", KILLED] {
        server.allow_log(text);
    }
    let first = send(&server, "sleep", "first", "&us=1");
    send(&server, "block", "stuck", "").assert_status(504);
    server.wait_log(KILLED);
    let next = send(&server, "sleep", "next", "&us=1");
    next.assert(200, "slept next");
    assert_ne!(pid(&first), pid(&next));
}

#[test]
fn past_places_and_queue_requests_are_refused() {
    let meeting = Meeting::new();
    let server = meeting.serve(
        "",
        "num 1\nconcurrency 2\nqueue_length 1\nmax_wait_time 30s",
    );
    server.allow_log(REFUSED);
    let admin = Admin::of(&server);
    let waiting = |id: &'static str| {
        let server = &server;
        move || send(server, "wait", id, "")
    };
    thread::scope(|scope| {
        let running = ["a", "b"].map(|id| scope.spawn(waiting(id)));
        meeting.wait_there(2);
        let queued = scope.spawn(waiting("c"));
        let queue = || admin.get("/status").json()["pools"][1]["queue"] == 1;
        assert!(process::wait_until(PATIENCE, queue), "no request waits");
        send(&server, "wait", "d", "").assert_status(503);
        assert_eq!(meeting.there().len(), 2, "a third one runs");
        meeting.write("go", "");
        for thread in running {
            thread.join().expect("no panic").assert_status(200);
        }
        queued.join().expect("no panic").assert(200, "waited c");
    });
}

#[test]
fn waiting_too_long_for_a_place_is_refused() {
    let meeting = Meeting::new();
    let server = meeting.serve("", "num 1\nconcurrency 2\nmax_wait_time 5s");
    server.allow_log(REFUSED);
    thread::scope(|scope| {
        let running = ["a", "b"].map(|id| scope.spawn(|| send(&server, "wait", id, "")));
        meeting.wait_there(2);
        send(&server, "wait", "c", "").assert_status(503);
        assert!(!meeting.has("in-c"));
        meeting.write("go", "");
        for thread in running {
            thread.join().expect("no panic").assert_status(200);
        }
    });
}

#[test]
fn a_client_that_disconnects_ends_its_own_request() {
    let meeting = Meeting::new();
    let server = meeting.serve("", ONE);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| send(&server, "wait", "other", ""));
        meeting.wait("in-other");
        for n in 0..5 {
            let mut connection = server.connect();
            let id = format!("gone{n}");
            connection
                .send(&request("GET", "stream", &id, ""))
                .expect("sent");
            connection.begin("GET").expect("a head");
            connection.read_until("part").expect("a part");
            drop(connection);
            // 1: CONNECTION_ABORTED
            assert_eq!(meeting.wait(&format!("left-{id}")), "1");
        }
        meeting.write("go", "");
        let response = waiting.join().expect("no panic");
        response.assert(200, "waited other");
        let after = send(&server, "sleep", "after", "&us=1");
        assert_eq!(pid(&response), pid(&after));
    });
}

/// Sends a request whose client disconnects as soon as the request has created the file.
fn leave(meeting: &Meeting, server: &Server, id: &str, rest: &str, file: &str) {
    let mut connection = server.connect();
    connection
        .send(&request("GET", "leave", id, rest))
        .expect("sent");
    meeting.wait(file);
    drop(connection);
}

#[test]
fn a_request_whose_client_disconnects_is_aborted_where_it_waits() {
    let meeting = Meeting::new();
    // There is one place in the queue, so the next request shows that it is free.
    let server = meeting.serve("", "num 1\nconcurrency 2\nmax_in_flight 1");
    let first = send(&server, "sleep", "first", "&us=1");
    for id in ["gone1", "gone2"] {
        leave(&meeting, &server, id, "&how=sleep", &format!("in-{id}"));
        // 1: CONNECTION_ABORTED
        assert_eq!(meeting.wait(&format!("left-{id}")), "1");
        let next = send(&server, "sleep", id, "&us=1");
        next.assert(200, &format!("slept {id}"));
        assert_eq!(pid(&first), pid(&next), "another process");
        assert!(!meeting.has(&format!("caught-{id}")));
    }
}

#[test]
fn a_request_with_ignore_user_abort_runs_to_its_end() {
    let meeting = Meeting::new();
    let server = meeting.serve("", ONE);
    leave(&meeting, &server, "kept", "&how=ignore", "in-kept");
    // A later request on the same path that stops at the abort has ended. So the abort has reached
    // the other one, too.
    leave(&meeting, &server, "gone", "&how=sleep", "in-gone");
    meeting.wait("left-gone");
    assert!(!meeting.has("left-kept"));
    meeting.write("go", "");
    assert_eq!(meeting.wait("done-kept"), "done");
    assert_eq!(meeting.wait("left-kept"), "1");
}

#[test]
fn a_request_whose_client_disconnects_is_aborted_in_a_query() {
    let Ok(dsn) = std::env::var("HOWDAH_TEST_PGSQL") else {
        eprintln!("skipped: HOWDAH_TEST_PGSQL names no database");
        return;
    };
    let meeting = Meeting::new();
    let mark = format!("left_{}", std::process::id());
    let server = meeting.serve("", &format!("{ONE}\nenv DATABASE \"pgsql:{dsn}\""));
    let mut connection = server.connect();
    connection
        .send(&request(
            "GET",
            "leave",
            "gone",
            &format!("&how=database&mark={mark}"),
        ))
        .expect("sent");
    let sleeping = encode(format!(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%{mark}%'"
    ));
    assert!(process::wait_until(PATIENCE, || {
        let response = send(&server, "sql", "look", &format!("&sql={sleeping}"));
        assert_eq!(response.status(), 200, "{response:?}");
        response.text() == "1"
    }));
    drop(connection);
    assert_eq!(meeting.wait("left-gone"), "1");
    // No exception was thrown into the code.
    assert!(!meeting.has("caught-gone"));
}

#[test]
fn a_client_that_does_not_read_holds_up_its_own_request_alone() {
    let meeting = Meeting::new();
    let server = meeting.serve("response_buffer 64KiB", ONE);
    let mut slow: Vec<Connection> = (0..3)
        .map(|n| {
            let connection = Connection::open_with_receive_buffer(server.address(), 16 << 10);
            let mut connection = connection.expect("connected");
            let id = n.to_string();
            connection
                .send(&request("GET", "large", &id, ""))
                .expect("sent");
            connection
        })
        .collect();
    meeting.wait_there(3);
    // They are far from their timeouts while other requests run.
    for n in 0..20 {
        let id = format!("quick{n}");
        send(&server, "sleep", &id, "&us=1000").assert(200, &format!("slept {id}"));
    }
    assert!((0..3).all(|n| !meeting.has(&format!("out-{n}"))));
    for (n, connection) in slow.iter_mut().enumerate() {
        let response = connection.receive("GET").expect("a response");
        response.assert(200, &n.to_string().repeat(20_000_000));
    }
}
