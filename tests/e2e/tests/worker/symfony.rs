//! The Composer package `php/runtime`, with a kernel for tests on Debian's Symfony components.

use howdah_testkit::load::at_once;
use howdah_testkit::{Gate, Response, Server};
use howdah_tests::encode;
use howdah_tests::worker::{scripts, worker_caddyfile};
use serde_json::{Value, json};

fn serve(lines: &str) -> Server {
    let file = scripts().join("symfony/index.php");
    let text = worker_caddyfile(&file, &format!("num 1\n{lines}"));
    Server::caddyfile(text).start()
}

fn json(response: &Response) -> Value {
    response.assert_status(200);
    response.json()
}

#[test]
fn one_kernel_serves_all_requests() {
    let server = serve("");
    let mut terminated: Vec<String> = Vec::new();
    for n in 1..10 {
        let path = format!("/page/{n}");
        let answer = json(&server.get(&path));
        assert_eq!(answer["handled"], n);
        assert_eq!(answer["path"], path.as_str());
        // Work that was deferred until after the response is done before the next request.
        assert_eq!(answer["terminated"], json!(terminated));
        terminated.push(path);
    }
}

#[test]
fn the_boot_s_variables_are_there_and_its_request_is_not() {
    let server = serve("");
    for _ in 0..3 {
        let answer = json(&server.get("/"));
        assert_eq!(answer["secret"], "of the boot");
        assert_eq!(answer["boot"], Value::Null);
        assert_ne!(answer["type"], "of/the-boot");
        assert_eq!(answer["mode"], "web=1&worker=1");
    }
}

#[test]
fn requests_that_do_not_return_are_not_terminated() {
    let server = serve("");
    server.allow_log("thrown on purpose");
    server.get("/exit").assert(200, "exited");
    server.get("/throw");
    let answer = json(&server.get("/"));
    assert_eq!(answer["handled"], 3);
    assert_eq!(answer["terminated"], json!([]));
}

#[test]
fn the_response_is_complete_before_the_kernel_terminates() {
    let server = serve("");
    let dir = tempfile::tempdir().expect("a directory");
    let mut gate = Gate::new(dir.path(), "gate").expect("a gate");
    let page = format!("/page?late={}", encode(gate.path()));
    json(&server.get(&page));
    gate.reached();
    gate.open(1);
    // Nothing is left of the query, which is only in the superglobals of its request.
    assert_eq!(json(&server.get("/"))["terminated"], json!(["/page"]));
}

#[test]
fn exit_while_the_kernel_terminates_ends_nothing_else() {
    let server = serve("");
    json(&server.get("/late-exit"));
    let answer = json(&server.get("/"));
    assert_eq!(
        (&answer["handled"], &answer["terminated"]),
        (&json!(2), &json!(["/late-exit"]))
    );
}

#[test]
fn a_response_in_place_of_a_kernel_is_sent_to_each_request() {
    let server = serve("env MAINTENANCE 1");
    for _ in 0..3 {
        server.get("/").assert(503, "back soon");
    }
}

#[test]
fn requests_at_a_time_are_refused_without_a_kernel_each() {
    let server = serve("concurrency 2");
    server.allow_log("set HOWDAH_KERNEL_PER_REQUEST to 1");
    let dir = tempfile::tempdir().expect("a directory");
    let mut gate = Gate::new(dir.path(), "gate").expect("a gate");
    let page = format!("/page?gate={}", encode(gate.path()));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| json(&server.get(&page)));
        gate.reached();
        server.get("/other").assert_status(500);
        gate.open(1);
        assert_eq!(first.join().expect("it ends")["path"], "/page");
    });
    // The refused request has left no state in the kernel.
    assert_eq!(json(&server.get("/"))["handled"], 2);
}

#[test]
fn the_loop_has_a_limit_where_one_is_set() {
    let server = serve("env FRANKENPHP_LOOP_MAX 2");
    for _ in 0..3 {
        assert_eq!(json(&server.get("/"))["handled"], 1);
        assert_eq!(json(&server.get("/"))["handled"], 2);
    }
}

#[test]
fn classic_mode_works_as_before() {
    let server = Server::builder(scripts().join("symfony"))
        .workers(1)
        .start();
    for _ in 0..2 {
        let answer = json(&server.get("/path"));
        assert_eq!(
            (&answer["handled"], &answer["mode"]),
            (&json!(1), &Value::Null)
        );
    }
}

#[test]
fn requests_at_a_time_have_a_kernel_each() {
    assert_kernel_each("HOWDAH_KERNEL_PER_REQUEST");
}

#[test]
fn the_name_of_symfony_for_a_kernel_each_is_known() {
    assert_kernel_each("FRANKENPHP_RESET_KERNEL");
}

fn assert_kernel_each(variable: &str) {
    let server = serve(&format!("concurrency 50\nenv {variable} 1"));
    server.allow_hogs();
    // Each request is in the kernel while it waits. The next one would find the wrong request
    // there.
    let answers = at_once(50, |n| json(&server.get(&format!("/page/{n}?wait=200"))));
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer["path"], format!("/page/{n}"));
        assert_eq!(answer["handled"], 1);
        assert_eq!(answer["terminated"], json!([]));
    }
}
