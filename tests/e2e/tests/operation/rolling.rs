//! A rolling restart behind `HAProxy` that uses only SIGTERM.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use howdah_testkit::{Connection, EndOnDrop, PATIENCE, Request, Server, Signal, process};
use howdah_tests::traffic::many;
use howdah_tests::www;

const SERVERS: usize = 3;
const CLIENTS: usize = 8;

/// Addresses of a server, the same at every start.
struct Place {
    site: SocketAddr,
    admin: SocketAddr,
}

fn free() -> SocketAddr {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    socket.local_addr().expect("bound")
}

/// The last server has a configured delay. The others detect that they are polled.
fn start(place: &Place, number: usize) -> Server {
    let delay = if number + 1 == SERVERS {
        "shutdown_delay 5s"
    } else {
        ""
    };
    let text = format!(
        "{{\nadmin {}\n{delay}\nfrankenphp {{\nnum_threads 2\n}}\n}}\nhttp://:{} {{\nbind 127.0.0.1\nroot * {}\nphp_server\n}}\n",
        place.admin,
        place.site.port(),
        www().display()
    );
    Server::caddyfile(text).start()
}

/// Stopped when it is dropped.
struct Balancer(Child);

impl Drop for Balancer {
    fn drop(&mut self) {
        // It may have exited by itself, which the test has noticed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn balance(
    directory: &Path,
    front: SocketAddr,
    statistics: SocketAddr,
    places: &[Place],
) -> Balancer {
    use std::fmt::Write;
    let mut text = format!(
        "global\n\tmaxconn 1000\ndefaults\n\tmode http\n\ttimeout connect 5s\n\ttimeout client 60s\n\ttimeout server 60s\n\
         frontend web\n\tbind {front}\n\tdefault_backend howdah\n\
         frontend statistics\n\tbind {statistics}\n\tstats enable\n\tstats uri /\n\
         backend howdah\n\tbalance roundrobin\n\toption httpchk GET /readyz\n\tretries 0\n"
    );
    for (number, place) in places.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "\tserver s{number} {} check port {} inter 1s",
            place.site,
            place.admin.port()
        );
    }
    let file = directory.join("haproxy.cfg");
    std::fs::write(&file, text).expect("written");
    let child = Command::new("haproxy")
        .args(["-db", "-q", "-f"])
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Balancer(child.expect("haproxy is installed: scripts/setup.sh test"))
}

/// Whether the balancer sends requests to a server.
fn is_up(statistics: SocketAddr, number: usize) -> bool {
    let ask = || {
        let mut connection = Connection::open(statistics)?;
        connection.exchange(&Request::get("/;csv").close())
    };
    let line = format!("howdah,s{number},");
    ask().is_ok_and(|page| {
        let text = page.text();
        let mut lines = text.lines();
        lines.any(|own| own.starts_with(&line) && own.contains(",UP,"))
    })
}

/// `HOWDAH_ROLLING` sets the number of requests. Until they are done, the servers are restarted in
/// turn.
#[test]
fn no_request_fails_while_servers_restart_in_turn() {
    let wanted = many("HOWDAH_ROLLING", 5_000);
    let directory = tempfile::tempdir().expect("a directory");
    let places: Vec<_> = (0..SERVERS)
        .map(|_| Place {
            site: free(),
            admin: free(),
        })
        .collect();
    let mut servers: Vec<_> = places
        .iter()
        .enumerate()
        .map(|(n, place)| start(place, n))
        .collect();
    let (front, statistics) = (free(), free());
    let _balancer = balance(directory.path(), front, statistics, &places);
    for (number, place) in places.iter().enumerate() {
        let up = || is_up(statistics, number);
        assert!(process::wait_until(PATIENCE, up), "server {number}");
        // The balancer considers a server ready before its first health checks.
        for _ in 0..2 {
            let mut asking = Connection::open(place.admin).expect("it listens");
            let ready = asking
                .exchange(&Request::get("/readyz"))
                .expect("an answer");
            ready.assert_status(200);
        }
    }
    let (sent, failed, over) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    );
    let began = Instant::now();
    let mut restarts = 0;
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let request = Request::get("/hello.php").close();
                while sent.fetch_add(1, Ordering::Relaxed) < wanted || !over.load(Ordering::Relaxed)
                {
                    let answer = Connection::open(front).and_then(|mut own| own.exchange(&request));
                    if !answer.is_ok_and(|own| own.status() == 200 && own.text() == "hello") {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let ended = EndOnDrop(&over);
        while restarts < SERVERS || sent.load(Ordering::Relaxed) < wanted {
            let number = restarts % SERVERS;
            let server = servers.remove(number);
            server.signal(Signal::TERM);
            assert_eq!(server.wait_exit().code(), Some(0));
            server.wait_log("no longer ready");
            server.stop();
            servers.insert(number, start(&places[number], number));
            let up = || is_up(statistics, number);
            assert!(process::wait_until(PATIENCE, up), "server {number}");
            restarts += 1;
        }
        drop(ended);
    });
    let (sent, failed) = (sent.into_inner(), failed.into_inner());
    println!(
        "{sent} requests in {:.0} s, {restarts} restarts: {failed} failed",
        began.elapsed().as_secs_f64()
    );
    assert_eq!(failed, 0, "of {sent}");
}
