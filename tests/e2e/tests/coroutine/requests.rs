//! Several concurrent requests in one worker: they wait at the same time, and the failure of one
//! request or of its process has the right effect on the others.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use howdah_testkit::client::ClientError;
use howdah_testkit::load::at_once;
use howdah_testkit::{PATIENCE, Response, Server, Signal, process};
use howdah_tests::admin::Admin;
use howdah_tests::meeting::{Meeting, request};
use howdah_tests::traffic::during;

const ONE: &str = "num 1\nconcurrency 100";

fn send(server: &Server, op: &str, id: &str, rest: &str) -> Response {
    server.send(&request("GET", op, id, rest))
}

#[track_caller]
fn pid(response: &Response) -> u32 {
    let pid = response.header("x-pid").expect("a process id");
    pid.parse().expect("a number")
}

/// Starts requests one after another. They wait until the test writes `go`. Runs `test` when all
/// have arrived. Each request is sent while the workers sleep, because a worker that gets no CPU
/// time would not get its share.
fn with_waiting<T>(
    server: &Server,
    meeting: &Meeting,
    count: usize,
    test: impl FnOnce(BTreeMap<String, u32>) -> T,
) -> (Vec<Response>, T) {
    thread::scope(|scope| {
        let asleep = || server.workers().iter().all(|worker| worker.state == 'S');
        let waiting: Vec<_> = (0..count)
            .map(|n| {
                assert!(process::wait_until(PATIENCE, asleep), "they never sleep");
                let thread = scope.spawn(move || send(server, "wait", &n.to_string(), ""));
                meeting.wait_there(n + 1);
                thread
            })
            .collect();
        let result = test(meeting.there());
        meeting.write("go", "");
        let responses = waiting.into_iter().map(thread::ScopedJoinHandle::join);
        let responses: Result<Vec<_>, _> = responses.collect();
        (responses.expect("no panic"), result)
    })
}

#[track_caller]
fn assert_waited(responses: &[Response]) {
    for (n, response) in responses.iter().enumerate() {
        response.assert(200, &format!("waited {n}"));
    }
}

#[test]
fn fifty_requests_are_in_one_process_at_a_time() {
    let meeting = Meeting::new();
    let server = meeting.serve("", ONE);
    let responses = at_once(50, |n| send(&server, "meet", &n.to_string(), "&count=50"));
    let first = pid(&responses[0]);
    for (n, response) in responses.iter().enumerate() {
        response.assert(200, &format!("met {n}"));
        assert_eq!(pid(response), first);
    }
}

#[test]
fn the_command_line_can_enable_it() {
    let meeting = Meeting::new();
    let folder = howdah_tests::worker::scripts().join("coroutine");
    let script = folder.join("app.php");
    let server = Server::builder(&folder)
        .arg("--worker")
        .arg(format!("{},1", script.display()))
        .args(["--concurrency", "20"])
        .env("MEETING", meeting.path())
        .start();
    server.allow_hogs();
    for response in at_once(20, |n| send(&server, "meet", &n.to_string(), "&count=20")) {
        response.assert_status(200);
    }
}

#[test]
fn requests_that_wait_are_spread_over_the_workers_and_counted() {
    let meeting = Meeting::new();
    let server = meeting.serve("", "num 2\nconcurrency 100");
    let admin = Admin::of(&server);
    let (responses, there) = with_waiting(&server, &meeting, 20, |there| {
        let status = admin.get("/status").json();
        let pool = &status["pools"][1];
        assert_eq!(pool["name"], "app");
        assert_eq!(pool["concurrency"], 100);
        assert_eq!(
            (&pool["in_flight"], &pool["queue"]),
            (&20.into(), &0.into())
        );
        let workers = pool["workers"].as_array().expect("workers");
        let in_flight = workers.iter().map(|worker| worker["in_flight"].as_u64());
        assert_eq!(in_flight.sum::<Option<u64>>(), Some(20), "{status}");
        admin.command(&["status"]).assert(0, "/100");
        there
    });
    assert_waited(&responses);
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for pid in there.into_values() {
        *counts.entry(pid).or_default() += 1;
    }
    assert!(
        counts.len() == 2 && counts.values().all(|count| *count >= 3),
        "{counts:?}"
    );
}

#[test]
fn a_killed_worker_takes_its_own_requests_alone() {
    let meeting = Meeting::new();
    let server = meeting.serve("", "num 2\nconcurrency 100");
    server.allow_log("worker died");
    server.allow_log("the PHP process crashed");
    let ask = |n: usize| {
        // Half of them may be run again.
        let method = if n.is_multiple_of(2) { "GET" } else { "POST" };
        let mut connection = server.connect();
        connection.exchange(&request(method, "wait", &n.to_string(), ""))
    };
    let results: Vec<(Result<Response, ClientError>, u32)> = thread::scope(|scope| {
        let waiting: Vec<_> = (0..40).map(|n| scope.spawn(move || ask(n))).collect();
        let there = meeting.wait_there(40);
        let killed = there["0"];
        process::kill(killed, Signal::KILL).expect("killed");
        server.wait_log("worker died");
        // The requests that were run again are in a different process.
        let again = || {
            let mut now = meeting.there().into_iter();
            now.all(|(id, pid)| pid != killed || id.parse::<usize>().expect("a number") % 2 == 1)
        };
        assert!(process::wait_until(PATIENCE, again));
        meeting.write("go", "");
        let results = waiting.into_iter().map(thread::ScopedJoinHandle::join);
        let results = results.map(|result| result.expect("no panic"));
        let was_killed = (0..40).map(|n| u32::from(there[&n.to_string()] == killed));
        results.zip(was_killed).collect()
    });
    for (n, (result, was_killed)) in results.into_iter().enumerate() {
        let response = result.unwrap_or_else(|error| panic!("{n}: {error}"));
        if was_killed == 1 && n % 2 == 1 {
            response.assert_status(502);
        } else {
            response.assert(200, &format!("waited {n}"));
        }
    }
}

#[test]
fn a_reload_lets_requests_finish_that_wait() {
    let meeting = Meeting::new();
    let server = meeting.serve("", ONE);
    let admin = Admin::of(&server);
    let (responses, ()) = with_waiting(&server, &meeting, 20, |_| {
        meeting.write("version", "2");
        admin.post("/reload?pool=app").assert_status(200);
        let new = send(&server, "sleep", "new", "&us=1");
        assert_eq!(new.header("x-version"), Some("2"));
    });
    assert_waited(&responses);
    for response in responses {
        assert_eq!(response.header("x-version"), Some("1"));
    }
}

#[test]
fn a_stop_lets_requests_finish_that_wait() {
    let meeting = Meeting::new();
    let server = meeting.serve("", ONE);
    let (responses, ()) = with_waiting(&server, &meeting, 20, |_| {
        server.signal(Signal::TERM);
        server.wait_line("stopping", |line| line.message().contains("stopping"));
    });
    assert_waited(&responses);
    assert!(server.wait_exit().success());
}

#[test]
fn an_error_of_one_request_does_not_affect_others() {
    let meeting = Meeting::new();
    let server = meeting.serve("", ONE);
    server.allow_log("on purpose");
    server.allow_log("Stack trace");
    server.allow_log("  thrown in");
    let (responses, ended) = with_waiting(&server, &meeting, 10, |_| {
        send(&server, "exit", "exit", "").assert(200, "left exit");
        send(&server, "throw", "throw", "").assert_status(500);
        meeting.wait("out-exit");
        meeting.wait("out-throw");
        send(&server, "sleep", "after", "&us=1")
    });
    assert_waited(&responses);
    ended.assert(200, "slept after");
    assert!(
        responses
            .iter()
            .all(|response| pid(response) == pid(&ended))
    );
}

#[test]
fn a_fatal_error_ends_its_process_after_the_others() {
    let meeting = Meeting::new();
    let server = meeting.serve("", ONE);
    server.allow_log("on purpose");
    server.allow_log("fatal error");
    let (responses, (fatal, after)) = with_waiting(&server, &meeting, 10, |_| {
        let fatal = send(&server, "fatal", "fatal", "");
        (fatal, send(&server, "sleep", "after", "&us=1"))
    });
    fatal.assert_status(500);
    assert_waited(&responses);
    after.assert(200, "slept after");
    assert!(
        responses
            .iter()
            .all(|response| pid(response) != pid(&after))
    );
    let gone = || process::Process::find(pid(&responses[0])).is_none();
    assert!(process::wait_until(PATIENCE, gone), "it went on");
}

/// Each worker has an error while another of its requests runs. All workers are exiting and none
/// has exited. Their requests may wait for a response of the same pool.
#[test]
fn workers_that_exit_slowly_have_successors_until_all_places_are_taken() {
    let meeting = Meeting::new();
    let server = meeting.serve("max_wait_time 30s", ONE);
    for text in ["on purpose", "fatal error"] {
        server.allow_log(text);
    }
    thread::scope(|scope| {
        let mut waiting = Vec::new();
        let mut pids = BTreeSet::new();
        for n in 0..16 {
            // Until the previous process accepts no more requests.
            let again = || !pids.contains(&pid(&send(&server, "sleep", "next", "&us=1")));
            assert!(process::wait_until(PATIENCE, again), "no successor");
            let (server, id) = (&server, n.to_string());
            waiting.push(scope.spawn(move || send(server, "wait", &id, "")));
            meeting.wait(&format!("in-{n}"));
            let fatal = send(server, "fatal", "fatal", "");
            fatal.assert_status(500);
            pids.insert(pid(&fatal));
        }
        assert_eq!(pids.len(), waiting.len(), "each in a worker of its own");
        let last = scope.spawn(|| send(&server, "sleep", "last", "&us=1"));
        server.wait_log("all 16 workers are finishing their last requests");
        meeting.write("go", "");
        for (n, waiting) in waiting.into_iter().enumerate() {
            let response = waiting.join().expect("no panic");
            response.assert(200, &format!("waited {n}"));
        }
        last.join().expect("no panic").assert(200, "slept last");
    });
    server.expect_log("all 16 workers are finishing their last requests");
}

#[test]
fn workers_are_replaced_after_their_requests_while_many_come() {
    let meeting = Meeting::new();
    let server = meeting.serve(
        "max_wait_time 30s",
        "num 2\nconcurrency 20\nmax_requests 100",
    );
    let (pids, _) = during(
        &server,
        30,
        |client| {
            let n = client.number_next();
            let id = format!("{}-{n}", client.number);
            let request = request("POST", "sleep", &id, "&us=2000");
            let response = client.exchange(&request).expect("a response");
            response.assert(200, &format!("slept {id}"));
        },
        |traffic| {
            let mut pids: Vec<u32> = Vec::new();
            for _ in 0..10 {
                traffic.wait(100);
                pids.extend(meeting.there().into_values());
            }
            pids.sort_unstable();
            pids.dedup();
            pids
        },
    );
    assert!(pids.len() >= 8, "{pids:?}");
}
