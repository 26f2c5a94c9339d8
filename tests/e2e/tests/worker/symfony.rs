//! The Composer package `php/runtime`, with a kernel of the tests on Debian's Symfony components.

use howdah_testkit::load::at_once;
use howdah_testkit::{Response, Server};
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
        // What was put off until the response was sent is done before the next request.
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
    let server = serve("concurrency 50\nenv HOWDAH_KERNEL_PER_REQUEST 1");
    server.allow_hogs();
    // They wait with their request in the kernel, where the next one would find its own.
    let answers = at_once(50, |n| json(&server.get(&format!("/page/{n}?wait=200"))));
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer["path"], format!("/page/{n}"));
        assert_eq!(answer["handled"], 1);
        assert_eq!(answer["terminated"], json!([]));
    }
}
