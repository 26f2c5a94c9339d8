//! Sessions in worker mode: they behave as in classic mode, and no data of one client reaches
//! another.

use howdah_testkit::Request;
use howdah_testkit::load::at_once;
use howdah_tests::worker::{Mode, Site, cookie};
use howdah_tests::{encode, in_both_modes};

const UNSTARTED: &str = r#"[true,"",false,"PHPSESSID"]"#;

in_both_modes! {
    count("session.php") = |site| {
        let first = site.get("");
        first.assert(200, "1");
        let cookie = cookie(&first);
        for n in 2..10 {
            site.get_with("", &cookie).assert(200, &n.to_string());
        }
        site.get("").assert(200, "1");
    };
    do_not_leak("session.php") = |site| {
        let mine = cookie(&site.get(""));
        site.get("?unstarted").assert(200, UNSTARTED);
        let other = site.get("");
        other.assert(200, "1");
        assert_ne!(cookie(&other), mine);
        site.get_with("", &mine).assert(200, "2");
        site.get("?unstarted").assert(200, UNSTARTED);
    };
    are_kept_by_exit("session.php") = |site| {
        let cookie = cookie(&site.get("?exit=1"));
        site.get("?unstarted").assert(200, UNSTARTED);
        site.get_with("?exit=0", &cookie).assert(200, "2");
        site.get_with("", &cookie).assert(200, "3");
        site.get("").assert(200, "1");
    };
    are_kept_by_an_exception("session.php") = |site| {
        site.server.allow_log("with an open session");
        let cookie = cookie(&site.get("?throw"));
        site.get("?unstarted").assert(200, UNSTARTED);
        site.get_with("", &cookie).assert(200, "2");
    };
    end_when_destroyed("session.php") = |site| {
        let cookie = cookie(&site.get(""));
        site.get_with("?destroy", &cookie).assert(200, "2");
        site.get("?unstarted").assert(200, UNSTARTED);
        site.get_with("", &cookie).assert(200, "1");
    };
    forget_a_chosen_id("session.php") = |site| {
        let chosen = site.get("?id=chosen");
        chosen.assert(200, "1");
        assert_eq!(chosen.header("set-cookie"), Some("PHPSESSID=chosen; path=/"));
        site.get("?unstarted").assert(200, UNSTARTED);
        let next = site.get("");
        next.assert(200, "1");
        let fields = next.header("set-cookie").expect("a cookie");
        assert!(fields.starts_with("PHPSESSID=") && fields.ends_with("; path=/"), "{fields}");
        site.get("?id=chosen").assert(200, "2");
    };
    forget_the_handler_of_a_request("session_handler_of_request.php") = |site| {
        for _ in 0..3 {
            site.get("").assert(200, "files");
            site.get("?set").assert(200, "user");
        }
        site.get("").assert(200, "files");
    };
}

#[test]
fn keep_the_handler_of_the_boot() {
    let site = Site::start(Mode::Worker, "session_handler_of_boot.php");
    let first = site.get("");
    first.assert(200, "user 1");
    let cookie = cookie(&first);
    site.get_with("", &cookie).assert(200, "user 2");
    // A different handler for one request only. It does not know the session.
    site.get("?other").assert(200, "user 1");
    site.get_with("", &cookie).assert(200, "user 3");
}

#[test]
fn are_locked_against_each_other() {
    let site = Site::with(Mode::Worker, "session.php", 4, |server| server);
    let cookie = cookie(&site.get(""));
    let mut counts = at_once(50, |_| site.get_with("", &cookie).text());
    counts.sort_by_key(|count| count.parse::<u32>().unwrap_or(0));
    let wanted: Vec<String> = (2..52).map(|n| n.to_string()).collect();
    assert_eq!(counts, wanted);
}

#[test]
fn of_many_clients_stay_apart() {
    let site = Site::with(Mode::Worker, "session.php", 2, |server| server);
    at_once(30, |_| {
        let cookie = cookie(&site.get(""));
        for n in 2..8 {
            site.get_with("", &cookie).assert(200, &n.to_string());
        }
    });
}

#[test]
fn are_written_before_the_response_ends() {
    // The client's next request must not wait for the lock of its previous one.
    let site = Site::with(Mode::Worker, "session.php", 2, |server| server);
    let mut connection = site.server.connect();
    let first = connection
        .exchange(&Request::get(site.target("")))
        .expect("a response");
    let cookie = cookie(&first);
    for n in 2..100 {
        let request = Request::get(site.target("")).header("Cookie", &cookie);
        connection
            .exchange(&request)
            .expect("a response")
            .assert(200, &n.to_string());
    }
}

#[test]
fn a_lock_ends_with_the_request_that_ran_out_of_time() {
    let site = Site::with(Mode::Worker, "session_lock.php", 2, |server| server);
    let lock = tempfile::NamedTempFile::new().expect("a file");
    let target = format!("?lock={}", encode(lock.path()));
    site.server.allow_log("Maximum execution time");
    site.server.allow_log("fatal error");
    // PHP retries when the request ends.
    site.server.allow_log("Cannot call session save handler");
    site.server.allow_log("Failed to write session data");
    let hung = site.get(&format!("{target}&hang")).text();
    assert!(hung.contains("Maximum execution time"), "{hung}");
    for _ in 0..4 {
        site.get(&target).assert(200, "got the lock");
    }
}
