//! Thousands of idle connections.

use howdah_testkit::{Connection, Request, Server};
use howdah_tests::www;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Number of connections: `HOWDAH_IDLE`, by default 10,000.
fn connection_count() -> usize {
    std::env::var("HOWDAH_IDLE").map_or(10_000, |n| n.parse().expect("HOWDAH_IDLE is a number"))
}

fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )
    .expect("the soft limit may be raised to the hard one");
    let room = limit.maximum.unwrap_or(u64::MAX);
    let needed = connection_count() as u64 + 500;
    assert!(
        room >= needed,
        "the limit of open files is {room}, {needed} are needed: ulimit -Hn"
    );
}

#[test]
fn harm_nobody() {
    raise_open_files();
    let server = Server::builder(www()).workers(2).start();
    let used = "GET /hello.php HTTP/1.1\r\nHost: a\r\n\r\n".as_bytes();
    let mut idle: Vec<Connection> = Vec::with_capacity(connection_count());
    for n in 0..connection_count() {
        let mut connection = server.connect();
        match n % 50 {
            // Most have sent nothing, some have sent half a request, and some have received a
            // response.
            0 => connection.send_bytes(&used[..20]).expect("sent"),
            1 => connection
                .exchange(&Request::get("/hello.php"))
                .expect("a response")
                .assert(200, "hello"),
            _ => {}
        }
        idle.push(connection);
        if n % 500 == 0 {
            server.get("/hello.php").assert(200, "hello");
        }
    }
    howdah_testkit::load::at_once(50, |id| {
        for _ in 0..5 {
            server
                .get(&format!("/id.php?id={id}"))
                .assert(200, &format!("[{id}][{id}]"));
        }
    });
    // Each connection still works. Half a request may have timed out by now.
    for (n, connection) in idle
        .iter_mut()
        .enumerate()
        .filter(|(n, _)| n % 50 != 0)
        .step_by(97)
    {
        let response = connection.exchange(&Request::get("/hello.php"));
        response
            .unwrap_or_else(|error| panic!("connection {n}: {error}"))
            .assert(200, "hello");
    }
    drop(idle);
    server.get("/hello.php").assert(200, "hello");
}
