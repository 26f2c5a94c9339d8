//! A booted script under load while its workers are replaced on purpose: by reloads, changed files,
//! failed boots, and limits on the number of requests. No request may fail because of it, or get a
//! response from outdated code.
//!
//! `HOWDAH_RELOADS` sets the number of reloads or changes in each test (default 10).

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use howdah_testkit::{PATIENCE, Request, Response, Server, Signal, Www, process};
use howdah_tests::admin::{Admin, worker_site};
use howdah_tests::traffic::{Client, during, many};

const CLIENTS: usize = 12;

const SCRIPT: &str = "<?php
$version = require __DIR__ . '/version.php';
$count = 0;
$handler = static function () use ($version, &$count): void {
    $id = $_GET['id'];
    ignore_user_abort(true);
    usleep((int) ($_GET['wait'] ?? 0));
    header('X-Pid: ' . getmypid());
    header('X-Version: ' . $version);
    header('X-Count: ' . ++$count);
    echo '[', $id, ']', str_repeat('.', (int) $_GET['size']), '[', $id, ']';
    fastcgi_finish_request();
};
while (frankenphp_handle_request($handler)) {
}
";

fn version(www: &Www, version: usize) {
    www.write("version.php", format!("<?php return {version};"));
}

/// An application of version 1 and its server, with these lines in the block of the pool.
fn serve(lines: &str) -> (Www, Server) {
    let www = Www::new().file("worker.php", SCRIPT);
    version(&www, 1);
    let lines = lines.replace("{www}", &www.path().display().to_string());
    let text = worker_site(www.path(), &lines).replacen(
        "frankenphp {",
        "frankenphp {\nmax_wait_time 30s",
        1,
    );
    let server = Server::caddyfile(text).start();
    (www, server)
}

/// A request that must get a complete response with its own id.
#[track_caller]
fn answered(client: &mut Client<'_>) -> Response {
    let n = client.number_next();
    let id = format!("{}-{n}", client.number);
    let size = n * 7919 % 20_000;
    let request = Request::new("POST", format!("/worker.php?id={id}&size={size}"));
    let response = client
        .exchange(&request)
        .unwrap_or_else(|error| panic!("request {id}: {error}"));
    response.assert(200, &format!("[{id}]{}[{id}]", ".".repeat(size)));
    response
}

#[track_caller]
fn number(response: &Response, name: &str) -> usize {
    let value = response.header(name);
    let number = value.and_then(|value| value.parse().ok());
    number.unwrap_or_else(|| panic!("{name}: {value:?}"))
}

/// Reloads to new versions repeatedly. Each request after a reload gets the new version.
#[track_caller]
fn reloads(lines: &str) {
    let (www, server) = serve(lines);
    let admin = Admin::of(&server);
    let reloaded = AtomicUsize::new(1);
    let round = |client: &mut Client<'_>| {
        let least = reloaded.load(Ordering::SeqCst);
        let version = number(&answered(client), "x-version");
        assert!(version >= least, "version {version} after {least}");
    };
    let last = many("HOWDAH_RELOADS", 10) + 1;
    let ((), rounds) = during(&server, CLIENTS, round, |traffic| {
        for new in 2..=last {
            traffic.wait(CLIENTS);
            version(&www, new);
            let done = admin.post("/reload?pool=app");
            done.assert_status(200);
            reloaded.store(new, Ordering::SeqCst);
        }
        traffic.wait(5 * CLIENTS);
    });
    println!("{} reloads among {rounds} requests", last - 1);
}

#[test]
fn reloads_lose_nothing() {
    reloads("");
}

#[test]
fn reloads_lose_nothing_with_short_lives() {
    reloads("max_requests 20");
}

#[test]
fn reloads_lose_nothing_with_one_request_a_process() {
    reloads("isolation request");
}

#[test]
fn reloads_lose_nothing_with_a_boot_in_each_worker() {
    reloads("boot each");
}

#[test]
fn changed_files_lose_nothing() {
    let (www, server) = serve("watch {www}/**/*.php");
    server.wait_log("watching files");
    let seen = AtomicUsize::new(1);
    let round = |client: &mut Client<'_>| {
        seen.fetch_max(number(&answered(client), "x-version"), Ordering::SeqCst);
    };
    let changes = many("HOWDAH_RELOADS", 10);
    let ((), rounds) = during(&server, CLIENTS, round, |traffic| {
        for new in 2..=changes + 1 {
            version(&www, new);
            traffic.wait(1);
            let there = || seen.load(Ordering::SeqCst) == new;
            assert!(process::wait_until(PATIENCE, there), "{new} never came");
        }
    });
    println!("{changes} changes among {rounds} requests");
}

/// While the files on disk do not boot, the active generation replaces exited workers from its
/// zygote.
#[test]
fn boots_that_fail_lose_nothing() {
    let (www, server) = serve("");
    let admin = Admin::of(&server);
    for text in [
        "version.php",
        "before it called frankenphp_handle_request()",
        "not reloaded",
        "worker died",
        "a worker exited before it was ready",
    ] {
        server.allow_log(text);
    }
    let round = |client: &mut Client<'_>| {
        assert_eq!(number(&answered(client), "x-version"), 1);
    };
    during(&server, CLIENTS, round, |traffic| {
        for _ in 0..many("HOWDAH_RELOADS", 10) {
            www.write(
                "version.php",
                "<?php throw new Exception('no such database');",
            );
            let failed = admin.post("/reload?pool=app");
            failed.assert_status(500);
            assert!(
                failed.text().contains("no such database"),
                "{}",
                failed.text()
            );
            traffic.wait(CLIENTS);
        }
    });
    // Idle workers that are killed are replaced by equal ones.
    for _ in 0..5 {
        for pid in pids(&server) {
            process::kill(pid, Signal::KILL).expect("it is there");
        }
        let request = Request::new("POST", "/worker.php?id=x&size=0");
        let response = server.send(&request);
        assert_eq!(number(&response, "x-version"), 1);
        let all = || pids(&server).len() == 2;
        assert!(process::wait_until(PATIENCE, all));
    }
}

/// A client that disconnects before its response costs no worker and does not affect other clients.
#[test]
fn clients_that_disconnect_cost_nothing() {
    let (_www, server) = serve("");
    let before = pids(&server);
    let round = |client: &mut Client<'_>| {
        let mut leaver = server.connect();
        let request = Request::get("/worker.php?id=left&size=5000&wait=5000");
        if client.number.is_multiple_of(3) {
            leaver.send(&request).expect("sent");
        }
        // Meanwhile, a worker has usually started the other request.
        answered(client);
    };
    during(&server, CLIENTS, round, |traffic| traffic.wait(1500));
    assert_eq!(pids(&server), before);
}

/// The memory for compilation is then not private to a worker.
#[test]
fn warm_paths_are_compiled_before_workers_are_forked() {
    let seen = tempfile::NamedTempFile::new().expect("a file");
    let path = seen.path().display();
    let script = SCRIPT.replace(
        "    $id =",
        &format!("    if (!isset($_GET['id'])) {{ file_put_contents('{path}', getmypid() . ' ', FILE_APPEND); return; }}\n    $id ="),
    );
    let www = Www::new().file("worker.php", script);
    version(&www, 1);
    let server = Server::caddyfile(worker_site(www.path(), "warm /worker.php")).start();
    let text = std::fs::read_to_string(seen.path()).expect("it can be read");
    let mut warmed: Vec<u32> = text
        .split_ascii_whitespace()
        .map(|pid| pid.parse().expect("a process id"))
        .collect();
    let first = warmed.remove(0);
    assert!(!pids(&server).contains(&first), "{first} serves");
    warmed.sort_unstable();
    assert_eq!(warmed, pids(&server));
}

/// Processes of the pool.
fn pids(server: &Server) -> Vec<u32> {
    let all = server.workers().into_iter();
    let of_pool = all.filter(|process| process.command.contains("app worker"));
    let mut pids: Vec<_> = of_pool.map(|process| process.pid).collect();
    pids.sort_unstable();
    pids
}

/// Number of requests of each process, and the highest number that the process counted.
fn shares(lines: &str, requests: usize) -> HashMap<usize, (usize, usize)> {
    let (_www, server) = serve(lines);
    let shares = Mutex::new(HashMap::new());
    let round = |client: &mut Client<'_>| {
        let response = answered(client);
        let mut shares = shares.lock().expect("no client failed");
        let share: &mut (usize, usize) = shares.entry(number(&response, "x-pid")).or_default();
        *share = (share.0 + 1, share.1.max(number(&response, "x-count")));
    };
    during(&server, CLIENTS, round, |traffic| {
        while traffic.rounds() < requests {
            traffic.wait(1);
        }
    });
    shares.into_inner().expect("no client failed")
}

#[test]
fn no_process_has_more_requests_than_it_may() {
    let shares = shares("max_requests 25", many("HOWDAH_REQUESTS", 2000));
    assert!(shares.len() > 40, "{}", shares.len());
    for (pid, (answered, counted)) in shares {
        assert!(answered <= 25 && counted <= 25, "{pid}: {answered}");
        assert_eq!(answered, counted, "process {pid} counted others' requests");
    }
}

#[test]
fn isolated_requests_have_a_process_each() {
    let requests = many("HOWDAH_REQUESTS", 2000) / 4;
    let shares = shares("isolation request", requests);
    assert!(shares.len() >= requests);
    for (pid, share) in shares {
        assert_eq!(share, (1, 1), "process {pid}");
    }
}
