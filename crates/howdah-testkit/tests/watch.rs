//! Checks of a stopped server, tested with shell scripts that behave well and badly.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use howdah_testkit::{Server, ServerBuilder, Signal, process};
use tempfile::TempDir;

const LISTENING: &str = r#"echo '{"level":"info","msg":"listening","address":"127.0.0.1:9"}' >&2"#;
const READY: &str = r#"echo '{"level":"info","msg":"ready"}' >&2"#;
/// Waits for SIGTERM as a server does. The signal interrupts `wait`, but not a foreground command.
/// The child starts before READY, because the signal may arrive right after it. A child that is
/// still a shell would lose a SIGTERM.
const SERVE: &str = "trap 'kill -KILL $child; exit 0' TERM; sleep 1000 & child=$!";
const WAIT: &str = "wait";

struct FakeServer {
    dir: TempDir,
}

impl FakeServer {
    fn new(lines: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let fake = Self { dir };
        // A separate process writes the file. Otherwise a fork of another test could have it open
        // for writing until its exec, and the kernel would refuse to run it.
        let script = format!("#!/bin/sh\n{}\n", lines.join("\n"));
        let written = std::process::Command::new("sh")
            .args([
                "-c",
                "printf %s \"$1\" >\"$2\" && chmod 755 \"$2\"",
                "sh",
                &script,
            ])
            .arg(fake.path())
            .status()
            .expect("a shell");
        assert!(written.success(), "a script");
        fake
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("howdah")
    }

    fn builder(&self) -> ServerBuilder {
        Server::builder("/").program(self.path())
    }

    /// Message of the panic when the server is dropped.
    fn complaint(&self, prepare: impl FnOnce(&Server)) -> String {
        let server = self.builder().start();
        prepare(&server);
        let panic = catch_unwind(AssertUnwindSafe(|| server.stop())).expect_err("it must complain");
        panic.downcast_ref::<String>().expect("a text").clone()
    }
}

#[test]
fn passes_a_good_server() {
    let fake = FakeServer::new(&[LISTENING, SERVE, READY, WAIT]);
    let server = fake.builder().start();
    assert_eq!(server.address().port(), 9);
    assert!(!server.has_ended());
    assert!(process::wait_until(howdah_testkit::PATIENCE, || !server
        .processes()
        .is_empty()));
    server.stop();
}

#[test]
fn stops_a_warning_unless_announced() {
    let warn = r#"echo '{"level":"warn","msg":"worker died"}' >&2"#;
    let fake = FakeServer::new(&[LISTENING, warn, SERVE, READY, WAIT]);
    assert!(fake.complaint(|_| {}).contains("worker died"));
    let server = fake.builder().start();
    server.expect_log("worker died");
    server.stop();
}

#[test]
fn stops_standard_output() {
    let fake = FakeServer::new(&[LISTENING, "echo stray", SERVE, READY, WAIT]);
    assert!(fake.complaint(|_| {}).contains("unexpected: stray"));
}

#[test]
fn stops_a_wrong_exit_code() {
    let fake = FakeServer::new(&[
        LISTENING,
        "trap 'kill -KILL $child; exit 3' TERM; sleep 1000 & child=$!",
        READY,
        WAIT,
    ]);
    assert!(fake.complaint(|_| {}).contains("exit status: 3"));
    let server = fake.builder().start();
    server.expect_exit(3);
    server.stop();
}

#[test]
fn finds_leftovers() {
    let fake = FakeServer::new(&[
        LISTENING,
        "mkdir $TMPDIR/howdah-1",
        "setsid sleep 1000 >/dev/null 2>&1 &",
        SERVE,
        READY,
        WAIT,
    ]);
    let mut left = Vec::new();
    let complaint = fake.complaint(|server| {
        // The shell forks before it executes. This waits until both processes have their final
        // state.
        let both = || {
            server
                .processes()
                .iter()
                .filter(|p| p.command == "sleep 1000")
                .count()
                == 2
        };
        assert!(process::wait_until(howdah_testkit::PATIENCE, both));
        left = server.processes();
    });
    assert!(complaint.contains("sleep 1000"), "{complaint}");
    assert!(complaint.contains("temporary file howdah-1"), "{complaint}");
    assert!(
        left.iter()
            .all(|process| process.wait_exited(howdah_testkit::PATIENCE))
    );
}

#[test]
fn a_killed_front_owes_no_exit_code() {
    let fake = FakeServer::new(&[LISTENING, READY, "exec sleep 1000"]);
    let server = fake.builder().start();
    server.kill();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&server.wait_exit()),
        Some(Signal::KILL.as_raw())
    );
    server.stop();
}

#[test]
fn tells_why_it_did_not_start() {
    let fake = FakeServer::new(&["echo 'root /nowhere does not exist' >&2", "exit 2"]);
    fake.builder()
        .try_start()
        .expect_err("it ended")
        .assert(2, "/nowhere does not exist");
    ServerBuilder::command(["x"])
        .program(fake.path())
        .run()
        .assert(2, "/nowhere");
}

#[test]
fn finds_the_server_behind_a_wrapper() {
    let fake = FakeServer::new(&[LISTENING, SERVE, READY, WAIT]);
    let server = fake
        .builder()
        .through(["sh", "-c", "\"$@\"; exit $?", "wrapper"])
        .start();
    assert!(
        server
            .processes()
            .iter()
            .all(|process| process.parent == server.pid())
    );
    server.stop();
}
