//! Failing scripts: the response, the log, and a worker that continues.

use howdah_testkit::{Response, Server};
use howdah_tests::www;

/// A server with one worker, whose process id is compared at the end.
struct OneWorker {
    server: Server,
    pid: String,
}

impl OneWorker {
    fn new(ini: &[(&str, &str)]) -> Self {
        let builder = Server::builder(www())
            .workers(1)
            .ini("display_errors", "0")
            .ini("log_errors", "1");
        let builder = ini
            .iter()
            .fold(builder, |builder, (name, value)| builder.ini(name, value));
        let server = builder.start();
        let pid = server.get("/pid.php").text();
        Self { server, pid }
    }

    fn get(&self, target: &str) -> Response {
        let response = self.server.get(target);
        self.server.get("/pid.php").assert(200, &self.pid);
        response
    }
}

#[test]
fn a_status_that_ends_no_response_costs_no_worker() {
    let one = OneWorker::new(&[]);
    for code in [100, 101, 103, 199] {
        let response = one.get(&format!("/status.php?code={code}"));
        assert_eq!(response.status(), 500, "{code}");
    }
}

#[test]
fn are_answered_500_with_the_reason_in_the_log() {
    let one = OneWorker::new(&[]);
    for (target, reason) in [
        ("/broken/parse.php", "PHP Parse error:  syntax error"),
        ("/die.php?how=parse", "parse.inc"),
        (
            "/die.php?how=exception",
            "Uncaught RuntimeException: the reason of the exception",
        ),
        (
            "/die.php?how=undefined",
            "Call to undefined function the_undefined_function()",
        ),
        ("/die.php?how=type", "must be of type int, string given"),
        (
            "/die.php?how=memory",
            "Allowed memory size of 16777216 bytes exhausted",
        ),
        ("/die.php?how=user", "the reason of the user"),
    ] {
        one.server.expect_log(reason);
        one.get(target).assert(500, "");
        let line = one.server.wait_log(reason);
        assert_eq!(line.level(), Some("error"), "{}", line.raw);
        assert_eq!(
            line.text("request_id").map(str::len),
            Some(16),
            "{}",
            line.raw
        );
    }
}

#[test]
fn are_shown_if_php_is_configured_to() {
    let one = OneWorker::new(&[("display_errors", "1"), ("html_errors", "0")]);
    one.server.expect_log("the reason of the exception");
    let response = one.get("/die.php?how=exception&before=begin");
    response.assert_status(200);
    assert!(response.text().starts_with("begin"), "{}", response.text());
    assert!(
        response
            .text()
            .contains("Uncaught RuntimeException: the reason of the exception")
    );
}

#[test]
fn keep_what_was_written_before() {
    let one = OneWorker::new(&[]);
    one.server.expect_log("the_undefined_function");
    // As with PHP-FPM, the status is 500 as long as no byte has been sent.
    one.get("/die.php?how=undefined&before=begin")
        .assert(500, "begin");
    one.get("/die.php?how=undefined&before=begin&flush=1")
        .assert(200, "begin");
    one.get("/die.php?how=undefined&shutdown=1")
        .assert(500, " shutdown");
}

#[test]
fn exit_is_not_an_error() {
    let one = OneWorker::new(&[]);
    one.get("/die.php?how=exit&before=begin")
        .assert(200, "begin");
    one.get("/die.php?how=exit-text&before=begin+")
        .assert(200, "begin bye");
    one.get("/die.php?how=exit-code&before=begin")
        .assert(200, "begin");
    one.get("/die.php?how=exit-code&before=begin&shutdown=1")
        .assert(200, "begin shutdown");
}

#[test]
fn a_script_that_runs_too_long_is_ended() {
    let one = OneWorker::new(&[]);
    one.server
        .expect_log("Maximum execution time of 1 second exceeded");
    one.get("/die.php?how=time").assert(500, "");
}

#[test]
fn of_one_request_are_not_seen_by_others() {
    let server = Server::builder(www())
        .workers(2)
        .ini("display_errors", "0")
        .start();
    server.expect_log("Uncaught RuntimeException");
    howdah_testkit::load::at_once(100, |client| {
        for n in 0..5 {
            if client % 2 == 0 {
                server
                    .get("/die.php?how=exception&before=x")
                    .assert(500, "x");
            } else {
                server
                    .get(&format!("/id.php?id={client}-{n}"))
                    .assert(200, &format!("[{client}-{n}][{client}-{n}]"));
            }
        }
    });
}
