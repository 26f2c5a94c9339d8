//! Ways to end a request: `exit()`, exceptions, fatal errors, crashes. In worker mode, `exit()`
//! ends the request, runs its `finally` blocks and keeps the worker. After a fatal error the
//! response is complete, and the worker is replaced.

use howdah_testkit::load::{CONCURRENCY, at_once};
use howdah_tests::in_both_modes;
use howdah_tests::worker::{Mode, Site};

/// Output for each way of exit.php, which is the same as on the command line. There, `finally`
/// blocks are skipped. Here they run.
const EXITS: &[(&str, u16, &str)] = &[
    ("plain", 200, "a[shutdown]"),
    ("text", 200, "atext[shutdown]"),
    ("status", 404, "a[shutdown]"),
    ("buffer", 200, "aBC[SHUTDOWN]"),
    ("fiber", 200, "ab[shutdown]"),
    ("destructor", 200, "a[gone][shutdown]"),
    ("generator", 200, "a1[shutdown]"),
    ("callback", 200, "a[shutdown]"),
];

in_both_modes! {
    exits("exit.php") = |site| {
        let mut served = 0;
        for _ in 0..3 {
            for (way, status, text) in EXITS {
                let response = site.get(&format!("?in={way}"));
                response.assert(*status, text);
                served += 1;
                let count = site.expect(1, served).to_string();
                assert_eq!(response.header("x-count"), Some(count.as_str()), "{way} cost the worker");
            }
            let text = site.expect("a[shutdown]", "afinally[shutdown]");
            site.get("?in=finally").assert(200, text);
            served += 1;
        }
    };
    exits_of_many("exit.php") = |site| {
        at_once(CONCURRENCY, |i| {
            let (way, status, text) = EXITS[i % EXITS.len()];
            site.get(&format!("?in={way}")).assert(status, text);
        });
    };
    exceptions("exception.php") = |site| {
        site.server.expect_log("number 0");
        site.server.allow_log("Uncaught RuntimeException");
        site.server.allow_log("Stack trace");
        for i in 0..20 {
            let response = site.get(&format!("?i={i}"));
            let text = response.text();
            assert!(text.starts_with("hello "), "{text}");
            assert!(text.contains(&format!("RuntimeException: number {i} in ")), "{text}");
            let count = site.expect(1, i + 1).to_string();
            assert_eq!(response.header("x-count"), Some(count.as_str()), "it cost the worker");
        }
    };
    dumps("dump.php") = |site| {
        for i in 0..20 {
            site.get(&format!("?i={i}")).assert(500, &format!("dumped {i}"));
        }
    };
    fatal_errors("fatal.php") = |site| {
        for text in ["PHP Fatal error", "fatal error"] {
            site.server.allow_log(text);
        }
        for (kind, message) in [
            ("user", "Fatal error: on purpose"),
            ("memory", "Allowed memory size"),
            ("compile", "cannot extend final class"),
            ("time", "Maximum execution time"),
        ] {
            for _ in 0..2 {
                let text = site.get(&format!("?kind={kind}")).text();
                assert!(text.contains(message), "{kind}: {text}");
                // The boot's shutdown function runs first, because it was registered first.
                assert!(text.ends_with("[boot shutdown][request shutdown]"), "{kind}: {text}");
                let fine = site.get("").text();
                assert!(fine.ends_with(";fine[request shutdown]"), "{kind}: {fine}");
            }
        }
    };
    crashes("fatal.php") = |site| {
        site.server.allow_log("signal");
        site.server.allow_log("the PHP process crashed");
        for _ in 0..3 {
            site.get("?kind=crash").assert_status(502);
            site.get("").assert_status(200);
        }
    };
}

#[test]
fn a_fatal_error_costs_one_worker_only() {
    let site = Site::with(Mode::Worker, "fatal.php", 2, |server| server);
    for text in ["PHP Fatal error", "fatal error"] {
        site.server.allow_log(text);
    }
    let answers = at_once(40, |i| match i % 4 {
        0 => site.get("?kind=user").text(),
        _ => site.get("").text(),
    });
    for (i, text) in answers.iter().enumerate() {
        let wanted = if i % 4 == 0 { "on purpose" } else { ";fine" };
        assert!(text.contains(wanted), "{i}: {text}");
    }
}

#[test]
fn exit_restarts_if_configured() {
    let site = Site::configured("counter.php", "exit restart");
    site.get("").assert(200, "requests:1");
    site.get("").assert(200, "requests:2");
    let exits = Site::configured("exit.php", "exit restart");
    for (way, status, text) in EXITS {
        let response = exits.get(&format!("?in={way}"));
        response.assert(*status, text);
        assert_eq!(response.header("x-count"), Some("1"), "{way}");
    }
}

#[test]
fn a_worker_survives_a_thousand_exits() {
    let site = Site::start(Mode::Worker, "exit.php");
    let mut connection = site.server.connect();
    for i in 0..1000 {
        let (way, status, text) = EXITS[i % EXITS.len()];
        let request = howdah_testkit::Request::get(site.target(&format!("?in={way}")));
        let response = connection.exchange(&request).expect("a response");
        response.assert(status, text);
        assert_eq!(
            response.header("x-count"),
            Some((i + 1).to_string().as_str())
        );
    }
}
