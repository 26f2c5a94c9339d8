//! PHP processes that crash, one by one and many at the same time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah_testkit::{EndOnDrop, PATIENCE, Request, Server, Signal, process};
use howdah_tests::{encode, www};

/// Crashes and the requests that they cost are logged.
fn expect_deaths(server: &Server) {
    server.expect_log("worker died");
    server.allow_log("the PHP process crashed");
    // A kill may come while the next process starts.
    server.allow_log("a worker exited before it was ready");
    // On a disk with slow syncs, more reports may arrive than can be written.
    server.allow_log("crash reports were dropped");
}

fn kill(pid: &str) {
    process::kill(pid.parse().expect("a process id"), Signal::KILL).expect("it is there");
}

#[test]
fn a_worker_killed_in_a_request_is_answered_502() {
    let server = Server::builder(www()).workers(1).start();
    let mut gate = server.gate("gate");
    for _ in 0..5 {
        let pid = server.get("/pid.php").text();
        let mut connection = server.connect();
        let target = format!("/gate.php?silent=1&gate={}", encode(gate.path()));
        connection
            .send(&Request::new("POST", target))
            .expect("sent");
        gate.reached();
        kill(&pid);
        connection
            .receive("POST")
            .expect("a response")
            .assert_status(502);
        // The connection can be used for the next request, and the pool works.
        let next = connection
            .exchange(&Request::get("/pid.php"))
            .expect("a response");
        next.assert_status(200);
        assert_ne!(next.text(), pid);
    }
    expect_deaths(&server);
}

#[test]
fn a_response_that_had_begun_is_cut() {
    let server = Server::builder(www()).workers(1).start();
    let mut gate = server.gate("gate");
    let pid = server.get("/pid.php").text();
    let mut connection = server.connect();
    connection
        .send(&Request::get(format!(
            "/gate.php?gate={}",
            encode(gate.path())
        )))
        .expect("sent");
    connection.begin("GET").expect("a head");
    connection.read_until("first ").expect("the first part");
    gate.reached();
    kill(&pid);
    let error = connection
        .next_part()
        .expect_err("a torn response must not look whole");
    assert!(error.is_closed(), "{error}");
    server.get("/hello.php").assert(200, "hello");
    expect_deaths(&server);
}

#[test]
fn requests_that_wait_survive_the_death_of_the_one_before() {
    let server = Server::builder(www()).workers(1).start();
    let mut gate = server.gate("gate");
    let pid = server.get("/pid.php").text();
    let mut first = server.connect();
    let target = format!("/gate.php?silent=1&gate={}", encode(gate.path()));
    first.send(&Request::new("POST", target)).expect("sent");
    gate.reached();
    let waiting: Vec<_> = (0..50)
        .map(|id| {
            let mut connection = server.connect();
            connection
                .send(&Request::form(format!("/id.php?id={id}"), "a=1"))
                .expect("sent");
            connection
        })
        .collect();
    kill(&pid);
    first
        .receive("POST")
        .expect("a response")
        .assert_status(502);
    for (id, mut connection) in waiting.into_iter().enumerate() {
        connection
            .receive("POST")
            .expect("a response")
            .assert(200, &format!("[{id}][{id}]"));
    }
    expect_deaths(&server);
}

#[test]
fn php_that_crashes_takes_only_its_own_request() {
    // PHP since 8.3 throws an error before the stack overflows.
    let server = Server::builder(www())
        .workers(2)
        .ini("zend.max_allowed_stack_size", "-1")
        .start();
    for how in ["segfault", "kill", "address-space", "stack"] {
        let response = server.send(&Request::new("POST", format!("/die.php?how={how}")));
        assert!(
            matches!(response.status(), 500 | 502),
            "{how}: {}",
            response.status()
        );
        server.get("/hello.php").assert(200, "hello");
    }
    expect_deaths(&server);
    // Last message of PHP's allocator.
    server.allow_log("Out of memory");
}

#[test]
fn crashes_harm_no_concurrent_request() {
    let server = Server::builder(www()).workers(4).start();
    howdah_testkit::load::at_once(40, |client| {
        for n in 0..5 {
            if client % 10 == 0 {
                let response = server.send(&Request::new("POST", "/die.php?how=segfault"));
                response.assert_status(502);
            } else {
                let wanted = format!("[{client}-{n}][{client}-{n}]");
                server
                    .get(&format!("/id.php?id={client}-{n}"))
                    .assert(200, &wanted);
            }
        }
    });
    expect_deaths(&server);
}

/// Kills as many workers as `HOWDAH_KILLS` says (default 150) under full load. Each request gets
/// its own response or 502, and afterwards the pool works as before.
#[test]
fn nothing_is_lost_or_mixed_up_under_a_rain_of_kills() {
    let kills =
        std::env::var("HOWDAH_KILLS").map_or(150, |n| n.parse().expect("HOWDAH_KILLS is a number"));
    let server = Server::builder(www())
        .workers(4)
        .args(["--max-wait-time", "30s"])
        .start();
    expect_deaths(&server);
    let over = AtomicBool::new(false);
    let (answered, torn, killed) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    thread::scope(|scope| {
        for client in 0..16 {
            let (server, over, answered, torn) = (&server, &over, &answered, &torn);
            scope.spawn(move || {
                let mut n = 0_usize;
                while !over.load(Ordering::Relaxed) {
                    n += 1;
                    let id = format!("{client}-{n}");
                    let size = n * 7919 % 40_000;
                    let mut connection = server.connect();
                    let request = Request::new("POST", format!("/id.php?id={id}&size={size}"));
                    match connection.exchange(&request) {
                        Ok(response) if response.status() == 200 => {
                            response.assert(200, &format!("[{id}]{}[{id}]", ".".repeat(size)));
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(response) if response.status() == 502 => {
                            torn.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(response) => panic!("{}: {}", response.status(), response.text()),
                        // Aborted in the middle, after the response head was sent.
                        Err(error) if error.is_closed() => {
                            torn.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("request {id}: {error}"),
                    }
                }
            });
        }
        // Stops the load even if this thread panics.
        let _stop = EndOnDrop(&over);
        let started = Instant::now();
        while killed.load(Ordering::Relaxed) < kills {
            assert!(!over.load(Ordering::Relaxed));
            let workers = server.workers();
            let count = killed.load(Ordering::Relaxed);
            // A pool that does not recover would let this loop run forever.
            assert!(
                started.elapsed() < PATIENCE + Duration::from_secs(5) * kills as u32,
                "{count} kills"
            );
            let before = answered.load(Ordering::Relaxed);
            if let Some(worker) = workers.get(count % workers.len().max(1))
                && process::kill(worker.pid, Signal::KILL).is_ok()
            {
                killed.fetch_add(1, Ordering::Relaxed);
            }
            // Some requests must pass before the next kill. Otherwise no request would ever be in a
            // process.
            assert!(
                process::wait_until(PATIENCE, || answered.load(Ordering::Relaxed)
                    > before + count % 5),
                "nothing is answered any more after {count} kills"
            );
        }
    });
    let (answered, torn) = (answered.into_inner(), torn.into_inner());
    println!("{kills} kills, {answered} requests answered, {torn} torn");
    assert!(
        torn <= kills,
        "{torn} requests lost by {kills} deaths of processes with one request each"
    );
    assert!(
        process::wait_until(PATIENCE, || server.workers().len() == 4),
        "{:?}",
        server.workers()
    );
    howdah_testkit::load::at_once(50, |id| {
        server
            .get(&format!("/id.php?id={id}"))
            .assert(200, &format!("[{id}][{id}]"));
    });
}

#[test]
fn a_killed_front_leaves_no_processes_and_its_spool_is_cleared_by_the_next() {
    let tmp = tempfile::tempdir().expect("a directory");
    let start = || {
        Server::builder(www())
            .workers(4)
            .env("TMPDIR", tmp.path())
            .start()
    };
    let spools = || {
        let entries = std::fs::read_dir(tmp.path()).expect("it is readable");
        entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with("howdah-"))
            .collect::<Vec<_>>()
    };
    let first = start();
    first.get("/hello.php").assert(200, "hello");
    let family = first.processes();
    assert!(family.len() > 4, "{family:?}");
    first.kill();
    first.wait_exit();
    for process in family {
        assert!(
            process.wait_exited(PATIENCE),
            "{process:?} outlived its server"
        );
    }
    first.stop();
    let left = spools();
    let second = start();
    second.get("/hello.php").assert(200, "hello");
    assert!(
        left.iter().all(|name| !spools().contains(name)),
        "{left:?} was not cleared"
    );
    second.stop();
    assert_eq!(spools(), Vec::<String>::new());
}

#[test]
fn a_killed_zygote_does_not_end_the_service() {
    let server = Server::builder(www()).workers(2).start();
    server.get("/hello.php").assert(200, "hello");
    server.expect_log("restarting it");
    server.allow_log("exited unexpectedly");
    let zygotes: Vec<_> = server
        .processes()
        .into_iter()
        .filter(|p| !p.command.contains("worker"))
        .collect();
    assert!(!zygotes.is_empty());
    for zygote in zygotes {
        drop(process::kill(zygote.pid, Signal::KILL));
        assert!(zygote.wait_exited(PATIENCE));
        server.get("/hello.php").assert(200, "hello");
    }
}
