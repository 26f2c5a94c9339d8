//! Workers of a booted script that fail in every way under full load: only a request whose own
//! process crashed may fail.
//!
//! `HOWDAH_FAULTS` sets the number of faults of each kind (default 40).

use std::sync::atomic::{AtomicUsize, Ordering};

use howdah_testkit::client::ClientError;
use howdah_testkit::{PATIENCE, Request, Response, Server, Signal, Www, process};
use howdah_tests::admin::worker_site;
use howdah_tests::traffic::{Client, during, many};

const CLIENTS: usize = 12;

/// The id of the request at the start and at the end, and between them the output of its fault.
const SCRIPT: &str = r"<?php
$count = 0;
$deep = static function () use (&$deep): void { array_map($deep, [1]); };
$handler = static function () use (&$count, $deep): void {
    $id = $_GET['id'];
    $count++;
    echo '[', $id, ']';
    register_shutdown_function(static function () use ($id): void {
        echo '[', $id, ']';
    });
    switch ($_GET['fault'] ?? '') {
        case 'exit': exit(1);
        case 'exception': throw new RuntimeException('on purpose');
        case 'error': trigger_error('on purpose', E_USER_ERROR);
        case 'memory': str_repeat('x', 1 << 30);
        case 'inheritance': eval('class X' . $count . ' extends DateTimeImmutable { function format() {} }'); break;
        case 'stack': $deep(); break;
        case 'segfault': posix_kill(getmypid(), SIGSEGV); break;
        case 'abort': posix_kill(getmypid(), SIGABRT); break;
        case 'kill': posix_kill(getmypid(), SIGKILL); break;
    }
    echo str_repeat('.', (int) ($_GET['size'] ?? 0));
};
while (frankenphp_handle_request($handler)) {
}
";

/// A pool of four workers, with enough time for all waiting requests. Since 8.3, PHP can detect a
/// full stack itself, which is not tested here.
fn serve(www: &Www) -> Server {
    let settings = "frankenphp {\nmax_wait_time 30s\nphp_ini zend.max_allowed_stack_size -1";
    let text = worker_site(www.path(), "")
        .replace("num 2", "num 4")
        .replacen("frankenphp {", settings, 1);
    Server::caddyfile(text).start()
}

/// Processes of the pool.
fn workers(server: &Server) -> Vec<process::Process> {
    let mut all = server.workers();
    all.retain(|process| process.command.contains("app worker"));
    all
}

#[track_caller]
fn assert_all_there(server: &Server) {
    let all = || workers(server).len() == 4;
    assert!(process::wait_until(PATIENCE, all), "{:?}", workers(server));
}

/// Log messages about crashes and fatal errors.
fn allow_deaths(server: &Server) {
    for text in [
        "worker died",
        // On a disk with slow syncs, more reports may arrive than can be written.
        "crash reports were dropped",
        "zygote exited unexpectedly",
        "the PHP process crashed",
        "fatal error",
        "a worker exited before it was ready",
        "PHP Fatal error",
        "on purpose",
        "Stack trace",
        "  thrown in",
    ] {
        server.allow_log(text);
    }
}

/// A request that is not retried when its worker crashes.
fn request(client: &mut Client<'_>, query: &str) -> (String, usize, Request) {
    let n = client.number_next();
    let id = format!("{}-{n}", client.number);
    let size = n * 7919 % 20_000;
    let target = format!("/worker.php?id={id}&size={size}{query}");
    (id, size, Request::new("POST", target))
}

#[track_caller]
fn assert_whole(response: &Response, id: &str, size: usize) {
    response.assert(200, &format!("[{id}]{}[{id}]", ".".repeat(size)));
}

/// A request that must get a response.
#[track_caller]
fn answered(client: &mut Client<'_>) {
    let (id, size, request) = request(client, "");
    let response = client
        .exchange(&request)
        .unwrap_or_else(|error| panic!("request {id}: {error}"));
    assert_whole(&response, &id, size);
}

/// Whether the response is complete. If not, its worker was killed.
fn whole_or_torn(client: &mut Client<'_>) -> bool {
    let (id, size, request) = request(client, "");
    match client.exchange(&request) {
        Ok(response) if response.status() == 502 => false,
        Ok(response) => {
            assert_whole(&response, &id, size);
            true
        }
        // Aborted in the middle, after the response head was sent.
        Err(error) if error.is_closed() => false,
        Err(error) => panic!("request {id}: {error}"),
    }
}

/// Effect on the request with the fault.
enum Cost {
    /// A response with this status that contains its id this number of times.
    Answered(u16, usize),
    /// Its process exits during the request.
    Torn,
}

/// Lets one of many clients cause a fault repeatedly.
#[track_caller]
fn fault(name: &str, cost: &Cost) {
    let www = Www::new().file("worker.php", SCRIPT);
    let server = serve(&www);
    allow_deaths(&server);
    let wanted = many("HOWDAH_FAULTS", 40);
    let faults = AtomicUsize::new(0);
    let check = |id: &str, result: Result<Response, ClientError>| match (cost, result) {
        (Cost::Answered(status, ids), Ok(response)) => {
            response.assert(*status, &format!("[{id}]").repeat(*ids));
        }
        (Cost::Torn, Ok(response)) => response.assert_status(502),
        (Cost::Torn, Err(error)) if error.is_closed() => {}
        (_, Err(error)) => panic!("request {id}: {error}"),
    };
    let round = |client: &mut Client<'_>| {
        if client.number == 0 && faults.load(Ordering::Relaxed) < wanted {
            let (id, _, request) = request(client, &format!("&fault={name}"));
            check(&id, client.exchange(&request));
            faults.fetch_add(1, Ordering::Relaxed);
        } else {
            answered(client);
        }
    };
    let ((), rounds) = during(&server, CLIENTS, round, |traffic| {
        while faults.load(Ordering::Relaxed) < wanted {
            traffic.wait(1);
        }
        traffic.wait(5 * CLIENTS);
    });
    println!("{wanted} times {name} among {rounds} requests");
    assert_all_there(&server);
}

macro_rules! faults {
    ($($name:ident = $cost:expr;)+) => {$(
        #[test]
        fn $name() {
            fault(stringify!($name), &$cost);
        }
    )+};
}

faults! {
    exit = Cost::Answered(200, 2);
    exception = Cost::Answered(500, 2);
    error = Cost::Answered(500, 2);
    // PHP itself discards its buffered output.
    memory = Cost::Answered(500, 1);
    inheritance = Cost::Answered(500, 2);
    stack = Cost::Torn;
    segfault = Cost::Torn;
    abort = Cost::Torn;
    kill = Cost::Torn;
}

/// Kills processes under load. Each kill may cost at most `lost` requests.
#[track_caller]
fn killed(kills: usize, lost: usize, choose: impl Fn(&Server, usize) -> Option<u32>) {
    let www = Www::new().file("worker.php", SCRIPT);
    let server = serve(&www);
    allow_deaths(&server);
    // A process may be killed while it starts.
    for text in ["restarting it", "the boot failed", "PHP did not start"] {
        server.allow_log(text);
    }
    let torn = AtomicUsize::new(0);
    let round = |client: &mut Client<'_>| {
        if !whole_or_torn(client) {
            torn.fetch_add(1, Ordering::Relaxed);
        }
    };
    let ((), rounds) = during(&server, CLIENTS, round, |traffic| {
        for n in 0..kills {
            let mut done = false;
            assert!(process::wait_until(PATIENCE, || {
                let chosen = choose(&server, n);
                done = done || chosen.is_some_and(|pid| process::kill(pid, Signal::KILL).is_ok());
                done
            }));
            traffic.wait(CLIENTS + n % 7);
        }
    });
    let torn = torn.into_inner();
    println!("{kills} kills, {rounds} requests, {torn} torn");
    assert!(torn <= kills * lost, "{torn} of {rounds} for {kills} kills");
    assert_all_there(&server);
}

#[test]
fn killed_workers_lose_their_requests() {
    killed(many("HOWDAH_FAULTS", 40), 1, |server, n| {
        let workers = workers(server);
        Some(workers.get(n % workers.len().max(1))?.pid)
    });
}

#[test]
fn killed_zygotes_lose_the_requests_of_their_workers() {
    killed(many("HOWDAH_FAULTS", 40) / 10, 4, |server, n| {
        // A killed boot is a failed boot, so requests get 503 until the next one. Workers of a
        // killed zygote have another parent until they exit.
        let family = server.processes();
        let named = |name| {
            family
                .iter()
                .filter(move |process| process.command.contains(name))
        };
        let workers_of =
            |zygote: u32| named("app worker").filter(move |worker| worker.parent == zygote);
        let complete = named("pool app").find(|zygote| workers_of(zygote.pid).count() == 4)?;
        let zygote = match n % 2 {
            0 => Some(complete),
            _ => family.iter().find(|process| process.parent == server.pid()),
        };
        Some(zygote?.pid)
    });
}
