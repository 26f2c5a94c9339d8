//! Memory per request that waits in a transaction. The test needs `PostgreSQL`, as started by
//! `tests/databases.sh`, and is skipped without it.

use std::thread;

use howdah_testkit::{PATIENCE, Server, process};
use howdah_tests::meeting::Meeting;

const DATABASE: &str = "HOWDAH_TEST_PGSQL";

/// Number of requests that wait at the same time.
const WAITING: usize = 100;

/// Limit for each of them, in KiB. It is 50 on Debian 12. Libraries differ.
const LIMIT_KIB: u64 = 100;

/// Returns the id of the process that responds, and the number in the response.
fn ask(server: &Server, op: &str) -> (u32, usize) {
    let text = server.get(&format!("/?{op}")).text();
    let (pid, number) = text.split_once(' ').expect("two numbers");
    (
        pid.parse().expect("a process id"),
        number.parse().expect("a number"),
    )
}

#[test]
fn a_request_that_waits_in_a_transaction_takes_little_memory() {
    let Ok(dsn) = std::env::var(DATABASE) else {
        println!("skipped: {DATABASE} does not name a database");
        return;
    };
    let meeting = Meeting::new();
    let server = meeting.serve_script(
        "cost.php",
        "",
        &format!("num 1\nconcurrency 110\nenv COST_PGSQL \"pgsql:{dsn}\""),
    );
    let (pid, others) = ask(&server, "waiting");
    let memory = || process::memory_kib(pid, "Private_");
    let before = memory();
    let during = thread::scope(|scope| {
        for _ in 0..WAITING {
            scope.spawn(|| server.get("/?wait").assert(200, "let go"));
        }
        let all = || ask(&server, "waiting").1 >= others + WAITING;
        let all = process::wait_until(PATIENCE, all);
        let during = memory();
        server.get("/?let-go").assert_status(200);
        assert!(all, "not all of them are waiting");
        during
    });
    let each = (during - before) / WAITING as u64;
    println!("{each} KiB for each of {WAITING} requests that wait in a transaction");
    assert!(
        each <= LIMIT_KIB,
        "{before} KiB before, {during} KiB with {WAITING} requests that wait"
    );
}
