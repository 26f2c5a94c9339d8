//! Clients that disconnect while their request runs.

use howdah_testkit::{Connection, Gate, Request, Server};
use howdah_tests::{encode, www};

/// Starts abort.php, disconnects while it runs, and returns how it ended.
fn leave(server: &Server, gate: &mut Gate, options: &str, go: impl FnOnce(Connection)) -> String {
    let mut connection = server.connect();
    let target = format!("/abort.php?gate={}{options}", encode(gate.path()));
    connection.send(&Request::get(target)).expect("sent");
    connection.begin("GET").expect("a head");
    connection.read_until("begin ").expect("the first part");
    go(connection);
    gate.open(1);
    gate.reached();
    std::fs::read_to_string(gate.path().with_extension("result")).expect("the script left a result")
}

#[test]
fn a_script_is_ended_when_its_client_is_gone() {
    let server = Server::builder(www()).workers(1).start();
    let mut gate = server.gate("gate");
    // 1: CONNECTION_ABORTED
    assert_eq!(leave(&server, &mut gate, "", drop), "cut off 1");
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn a_reset_is_as_good_as_a_close() {
    let server = Server::builder(www()).workers(1).start();
    let mut gate = server.gate("gate");
    let reset = |connection: Connection| connection.reset().expect("reset");
    assert_eq!(leave(&server, &mut gate, "", reset), "cut off 1");
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn a_script_may_go_on_alone() {
    let server = Server::builder(www()).workers(1).start();
    let mut gate = server.gate("gate");
    assert_eq!(leave(&server, &mut gate, "&ignore=1", drop), "went on 1");
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn one_worker_survives_many_aborts() {
    let server = Server::builder(www()).workers(1).start();
    let pid = server.get("/pid.php").text();
    for round in 0..30 {
        let mut gate = server.gate(&format!("gate{round}"));
        leave(&server, &mut gate, "", drop);
    }
    server.get("/pid.php").assert(200, &pid);
}

#[test]
fn leaving_clients_harm_no_others() {
    let server = Server::builder(www()).workers(4).start();
    howdah_testkit::load::at_once(60, |client| {
        for n in 0..10 {
            let mut connection = server.connect();
            if client % 2 == 0 {
                connection
                    .send(&Request::get("/stream.php?lines=3000&flush=10"))
                    .expect("sent");
                if n % 2 == 0 {
                    connection.begin("GET").expect("a head");
                }
                connection.reset().expect("reset");
            } else {
                let request = Request::get(format!("/id.php?id={client}-{n}&size=5000"));
                let response = connection.exchange(&request).expect("a response");
                response.assert(
                    200,
                    &format!("[{client}-{n}]{}[{client}-{n}]", ".".repeat(5000)),
                );
            }
        }
    });
}
