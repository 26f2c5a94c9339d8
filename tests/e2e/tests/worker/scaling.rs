//! The number of workers between `num` and `max_threads`: it grows while requests queue behind
//! workers that wait, and shrinks when the workers are idle.
//!
//! No time is measured. Each request waits at a separate gate, so one more request needs one more
//! worker.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use howdah_testkit::{Connection, Gate, PATIENCE, Request, Server, Www, process};
use howdah_tests::encode;
use howdah_tests::worker::worker_caddyfile;

const FEWEST: usize = 2;
const MOST: usize = 5;

const SCRIPT: &str = r#"<?php
while (frankenphp_handle_request(static function (): void {
    if (isset($_GET['gate'])) {
        file_put_contents("$_GET[gate].reached", 'x');
        fgetc(fopen("$_GET[gate].open", 'r'));
    }
    echo getmypid();
})) {
}
"#;

fn serve() -> (Www, Server) {
    let www = Www::new().file("app.php", SCRIPT);
    let lines = format!(
        "num {FEWEST}\nmax_threads {MOST}\nmax_idle_time 1s\nmax_wait_time 10m\nname scaled"
    );
    let text = worker_caddyfile(&www.path().join("app.php"), &lines);
    let server = Server::caddyfile(text).start();
    (www, server)
}

/// Workers of the pool, without those of the classic pool.
fn workers(server: &Server) -> Vec<process::Process> {
    let mut workers = server.workers();
    workers.retain(|worker| worker.command.starts_with("howdah: scaled worker"));
    workers
}

/// A request at its gate.
struct Standing {
    gate: Gate,
    connection: Connection,
}

impl Standing {
    fn send(server: &Server, name: &str) -> Self {
        let gate = server.gate(name);
        let mut connection = server.connect();
        let target = format!("/app.php?gate={}", encode(gate.path()));
        connection.send(&Request::get(target)).expect("sent");
        Self { gate, connection }
    }

    /// Opens the gate and returns the id of the process that responds.
    fn finish(mut self) -> u32 {
        self.gate.open(1);
        let response = self.connection.receive("GET").expect("a response");
        response.assert_status(200);
        response.text().parse().expect("a process id")
    }
}

/// Starts as many requests at their gates as workers are allowed. The last ones cause new workers.
fn crowd(server: &Server, name: &str) -> Vec<Standing> {
    let mut crowd: Vec<_> = (0..MOST)
        .map(|number| Standing::send(server, &format!("{name}{number}")))
        .collect();
    for standing in &mut crowd {
        standing.gate.reached();
    }
    crowd
}

fn scales_up_and_down(server: &Server, name: &str) {
    assert_eq!(workers(server).len(), FEWEST);
    let crowd = crowd(server, name);
    let there: BTreeSet<_> = workers(server).iter().map(|worker| worker.pid).collect();
    assert_eq!(there.len(), MOST);
    // The limit is reached, so this request waits until another one ends.
    let mut late = Standing::send(server, &format!("{name}-late"));
    let mut pids: Vec<_> = crowd.into_iter().map(Standing::finish).collect();
    late.gate.reached();
    pids.push(late.finish());
    assert!(pids.iter().all(|pid| there.contains(pid)), "{pids:?}");
    let distinct: BTreeSet<_> = pids.into_iter().collect();
    assert_eq!(distinct, there, "each answered");
    let fewest = || workers(server).len() == FEWEST;
    assert!(process::wait_until(PATIENCE, fewest), "too many stay");
    server.get("/app.php").assert_status(200);
}

#[test]
fn workers_start_while_requests_wait_and_exit_when_idle() {
    let (_www, server) = serve();
    scales_up_and_down(&server, "first");
    scales_up_and_down(&server, "second");
}

/// Keeps all CPUs busy until it is dropped.
struct Busy {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn new() -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = |end: Arc<AtomicBool>| {
            move || {
                while !end.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let threads = (0..count)
            .map(|_| std::thread::spawn(spin(end.clone())))
            .collect();
        Self { end, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
fn workers_that_only_wait_are_added_on_a_busy_machine() {
    let (_www, server) = serve();
    let busy = Busy::new();
    let crowd = crowd(&server, "gate");
    drop(busy);
    let pids: BTreeSet<_> = crowd.into_iter().map(Standing::finish).collect();
    assert_eq!(pids.len(), MOST);
}
