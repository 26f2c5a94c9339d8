//! Each signal to each process under load, as documented in `docs/guides/signals.md`.

use std::collections::HashSet;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use howdah_testkit::process::Process;
use howdah_testkit::{PATIENCE, Request, Server, Signal, process};
use howdah_tests::traffic::{self, Traffic};
use howdah_tests::www;

/// Signals that terminate a process by default and have no meaning for a server.
const WITHOUT_MEANING: [&str; 9] = [
    "ALRM", "VTALRM", "PROF", "IO", "STKFLT", "XFSZ", "PIPE", "36", "64",
];
/// Signals that are ignored by default.
const HARMLESS: [&str; 4] = ["URG", "WINCH", "CHLD", "CONT"];

/// Sends a signal, given by its name without `SIG` or by its number.
fn send(signal: &str, pid: u32) {
    let status = Command::new("kill")
        .args([&format!("-{signal}"), "--", &pid.to_string()])
        .status();
    assert!(
        status.expect("kill is there").success(),
        "{signal} to {pid}"
    );
}

fn named(server: &Server, title: &str) -> Option<Process> {
    let mut processes = server.processes().into_iter();
    processes.find(|process| process.command.contains(title))
}

/// Number of wrong responses of a script while `disturb` runs.
fn failures_during(server: &Server, disturb: impl FnOnce(&Traffic)) -> usize {
    let failed = AtomicUsize::new(0);
    let request = Request::get("/hello.php");
    let round = |client: &mut traffic::Client<'_>| {
        let right = |response: howdah_testkit::Response| {
            response.status() == 200 && response.text() == "hello"
        };
        if !client.exchange(&request).is_ok_and(right) {
            failed.fetch_add(1, Ordering::Relaxed);
        }
    };
    let ((), rounds) = traffic::during(server, 4, round, |traffic| {
        traffic.wait(20);
        disturb(traffic);
        traffic.wait(20);
    });
    assert!(rounds >= 40, "{rounds}");
    failed.load(Ordering::Relaxed)
}

#[test]
fn ignored_signals_do_not_affect_the_server() {
    let server = Server::builder(www()).workers(2).start();
    let signals = WITHOUT_MEANING.iter().chain(&HARMLESS).chain(&["XCPU"]);
    let failed = failures_during(&server, |traffic| {
        for signal in signals {
            send(signal, server.pid());
            traffic.wait(5);
        }
    });
    assert_eq!(failed, 0);
    for name in ["SIGALRM", "SIGXFSZ", "SIGXCPU", "SIGRTMIN+2", "SIGRTMIN+30"] {
        let line = server.wait_line(name, |line| line.text("signal") == Some(name));
        assert!(
            line.message().contains("ignored a signal"),
            "{}",
            line.message()
        );
    }
    server.stop();
}

#[test]
fn user_signals_reload() {
    let server = Server::builder(www()).workers(2).start();
    for (count, signal) in [Signal::USR1, Signal::USR2, Signal::HUP]
        .into_iter()
        .enumerate()
    {
        let failed = failures_during(&server, |_| {
            server.signal(signal);
            let reloaded = || server.log().containing("\"reloaded\"").len() > count;
            assert!(process::wait_until(PATIENCE, reloaded), "not reloaded");
        });
        assert_eq!(failed, 0, "{signal:?}");
    }
    server.stop();
}

#[test]
fn orders_to_stop_let_requests_finish() {
    // Ignored, as for background jobs of a shell, and as a supervisor may do.
    let ignoring = "trap '' QUIT INT TERM USR2 PWR; \"$0\" \"$@\"; exit $?";
    for signal in ["QUIT", "PWR", "37"] {
        let server = Server::builder(www())
            .workers(1)
            .through(["sh", "-c", ignoring])
            .start();
        let mut gate = server.gate("gate");
        let target = format!("/gate.php?gate={}", howdah_tests::encode(gate.path()));
        let mut running = server.connect();
        running.send(&Request::get(target)).expect("sent");
        gate.reached();
        send(signal, server.pid());
        server.wait_line("stopping", |line| line.message() == "stopping");
        assert!(!server.has_ended());
        gate.open(1);
        let response = running.receive("GET").expect("a response");
        response.assert(200, "first last");
        assert_eq!(server.wait_exit().code(), Some(0), "{signal}");
    }
}

#[test]
fn zygotes_pass_over_all_but_faults() {
    let server = Server::builder(www())
        .arg("--worker")
        .arg(www().join("hello-worker.php"))
        .start();
    let titles = ["howdah: php ", "howdah: pool ", " spare"];
    let find = || titles.map(|title| named(&server, title).map(|process| process.pid));
    let found = || find().iter().all(Option::is_some);
    assert!(process::wait_until(PATIENCE, found), "{:?}", find());
    let before = find();
    let signals = [
        "HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "PWR", "XCPU", "TSTP", "TTIN", "TTOU",
    ];
    let failed = failures_during(&server, |traffic| {
        for signal in signals.iter().chain(&WITHOUT_MEANING).chain(&HARMLESS) {
            for pid in before.iter().flatten() {
                send(signal, *pid);
            }
            traffic.wait(2);
        }
    });
    assert_eq!(failed, 0);
    assert_eq!(find(), before);
    server.stop();
}

/// The three workers that respond, once they have started.
fn workers(server: &Server, pool: &str) -> Vec<Process> {
    let title = format!("howdah: {pool} worker ");
    let find = || {
        let mut found = server.processes();
        found.retain(|process| process.command.contains(&title));
        found
    };
    assert!(
        process::wait_until(PATIENCE, || find().len() == 3),
        "{:?}",
        find()
    );
    find()
}

/// Sends each signal to a worker of a pool under load. With `ends`, the worker must exit, at the
/// cost of at most its request.
fn to_workers(server: &Server, pool: &str, signals: &[&str], ends: bool) {
    for signal in signals {
        let before = workers(server, pool);
        let failed = failures_during(server, |_| {
            send(signal, before[0].pid);
            if ends {
                assert!(before[0].wait_exited(PATIENCE), "{signal}");
            }
        });
        let most = usize::from(ends && *signal != "QUIT");
        assert!(failed <= most, "{signal}: {failed} requests");
        let pids = |of: &[Process]| of.iter().map(|own| own.pid).collect::<HashSet<_>>();
        let kept = pids(&workers(server, pool)) == pids(&before);
        assert_eq!(kept, !ends, "{signal}");
    }
}

const PASSED_OVER: [&str; 11] = [
    "HUP", "USR1", "USR2", "ALRM", "VTALRM", "IO", "PWR", "STKFLT", "XFSZ", "PIPE", "64",
];

#[test]
fn a_signal_costs_a_classic_worker_at_most_its_request() {
    let (server, pool) = (Server::builder(www()).workers(3).start(), "php");
    to_workers(&server, pool, &PASSED_OVER, false);
    to_workers(&server, pool, &HARMLESS, false);
    // As for PHP-FPM's children: the worker finishes its request, and nothing is logged.
    to_workers(&server, pool, &["QUIT"], true);
    server.allow_log("worker died");
    server.allow_log("gave no response");
    to_workers(
        &server,
        pool,
        &["TERM", "INT", "KILL", "XCPU", "SEGV", "ABRT"],
        true,
    );
    server.stop();
}

#[test]
fn a_signal_costs_a_worker_at_most_its_request() {
    for concurrency in [None, Some("--concurrency=4")] {
        let server = Server::builder(www())
            .args([
                "--worker",
                &format!("{},3", www().join("hello-worker.php").display()),
            ])
            .args(concurrency)
            .start();
        let pool = "hello-worker";
        to_workers(&server, pool, &PASSED_OVER, false);
        to_workers(&server, pool, &["QUIT"], true);
        server.allow_log("worker died");
        server.allow_log("gave no response");
        let ends: &[&str] = if concurrency.is_some() {
            &[]
        } else {
            &["TERM", "INT", "SEGV"]
        };
        to_workers(&server, pool, ends, true);
        server.stop();
    }
}
