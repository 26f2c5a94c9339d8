//! Output that reaches the client while the script still runs.

use howdah_testkit::{Request, Server};
use howdah_tests::{encode, www};

fn lines(count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|i| format!("{i:.<1023}\n").into_bytes())
        .collect()
}

#[test]
fn a_flush_reaches_the_client_before_the_script_ends() {
    let server = Server::builder(www()).workers(2).start();
    let mut gate = server.gate("gate");
    let mut connection = server.connect();
    let target = format!("/gate.php?gate={}", encode(gate.path()));
    connection.send(&Request::get(target)).expect("sent");
    assert_eq!(connection.begin("GET").expect("a head").status, 200);
    assert_eq!(
        connection.read_until("first ").expect("the flushed part"),
        b"first "
    );
    gate.reached();
    // The script waits at the gate while another one runs.
    server.get("/hello.php").assert(200, "hello");
    gate.open(1);
    assert_eq!(connection.read_until("last").expect("the rest"), b"last");
    assert_eq!(connection.next_part().expect("the end"), None);
    connection
        .exchange(&Request::get("/hello.php"))
        .expect("a response")
        .assert(200, "hello");
}

#[test]
fn implicit_flush_needs_no_call() {
    let code = "<?php ob_end_flush(); ob_implicit_flush(); header('X-Early: yes'); echo 'early ';
        fgetc(fopen($_GET['gate'] . '.open', 'r')); echo 'late';";
    let www = howdah_testkit::Www::new().file("implicit.php", code);
    let server = Server::builder(&www)
        .workers(1)
        .ini("output_buffering", "4096")
        .start();
    let mut gate = server.gate("gate");
    let mut connection = server.connect();
    let target = format!("/implicit.php?gate={}", encode(gate.path()));
    connection.send(&Request::get(target)).expect("sent");
    let head = connection.begin("GET").expect("a head");
    assert_eq!(head.header("x-early"), Some("yes"));
    assert_eq!(
        connection.read_until("early ").expect("the first part"),
        b"early "
    );
    gate.open(1);
    assert_eq!(connection.read_until("late").expect("the rest"), b"late");
}

#[test]
fn large_output_arrives_whole() {
    let server = Server::builder(www()).workers(2).start();
    for flush in [0, 1, 7, 1000] {
        for count in [1, 100, 1024, 20_000] {
            let response = server.get(&format!("/stream.php?lines={count}&flush={flush}"));
            response.assert_status(200);
            assert!(
                response.body == lines(count),
                "{count} lines, flush every {flush}"
            );
        }
    }
}

#[test]
fn large_output_of_many_arrives_whole() {
    let server = Server::builder(www()).workers(4).start();
    howdah_testkit::load::at_once(40, |client| {
        let count = 500 + client * 50;
        let response = server.get(&format!("/stream.php?lines={count}&flush=100"));
        assert!(response.body == lines(count), "client {client}");
    });
}

#[test]
fn short_output_has_a_length() {
    let server = Server::builder(www()).workers(1).start();
    let response = server.get("/hello.php");
    assert_eq!(response.header("content-length"), Some("5"));
    assert_eq!(response.header("transfer-encoding"), None);
}

#[test]
fn a_response_can_end_before_its_script() {
    let server = Server::builder(www()).workers(1).start();
    let mut gate = server.gate("gate");
    let response = server.get(&format!("/finish.php?gate={}", encode(gate.path())));
    response.assert(200, "sent");
    gate.reached();
    gate.open(1);
    gate.reached();
    server.get("/hello.php").assert(200, "hello");
}
