//! Clients that send or receive one byte at a time, and their effect on other clients.

use std::fs::OpenOptions;
use std::path::PathBuf;

use howdah_testkit::{Connection, PATIENCE, Request, Server, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::worker::{Mode, Site};
use howdah_tests::{caddyfile, small_disk, www};

fn lines(count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|i| format!("{i:.<1023}\n").into_bytes())
        .collect()
}

/// A client that has a buffer of a few kilobytes and has not started to read.
fn stalled(server: &Server, target: &str) -> Connection {
    let mut slow =
        Connection::open_with_receive_buffer(server.address(), 4096).expect("it connects");
    slow.send(&Request::get(target)).expect("sent");
    slow
}

#[test]
fn a_request_may_come_byte_by_byte() {
    // There is one PHP process, and an incomplete request must not block it.
    let server = Server::builder(www()).workers(1).start();
    let mut slow = server.connect();
    let mut other = server.connect();
    let request = Request::form("/dump.php?slow=1", "a=1&b=2");
    let serve_other = |_| {
        other
            .exchange(&Request::get("/hello.php"))
            .expect("a response")
            .assert(200, "hello");
    };
    slow.send_slowly(&request.to_bytes(), 1, serve_other)
        .expect("sent");
    assert_eq!(
        slow.receive("POST").expect("a response").json()["post"]["b"],
        "2"
    );
}

#[test]
fn a_chunked_request_may_come_byte_by_byte() {
    let server = Server::builder(www()).workers(1).start();
    let mut slow = server.connect();
    let mut other = server.connect();
    let request = Request::new("PUT", "/dump.php")
        .chunked(["one ", "two ", "three"])
        .trailer("X-T", "1");
    let serve_other = |_| {
        other
            .exchange(&Request::get("/hello.php"))
            .expect("a response")
            .assert(200, "hello");
    };
    slow.send_slowly(&request.to_bytes(), 1, serve_other)
        .expect("sent");
    assert_eq!(
        slow.receive("PUT").expect("a response").json()["input"],
        "one two three"
    );
}

#[test]
fn a_reader_that_takes_a_byte_at_a_time_gets_all() {
    let server = Server::builder(www()).workers(1).start();
    let mut slow = stalled(&server, "/stream.php?lines=200");
    slow.read_at_most(1);
    let response = slow.receive("GET").expect("a response");
    assert!(response.body == lines(200));
}

#[test]
fn a_reader_that_stalls_does_not_hold_php() {
    let server = Server::builder(www()).workers(1).start();
    // 600 KiB wait in the front (its limit is 1 MiB), and PHP is free.
    let mut slow: Vec<_> = (0..5)
        .map(|_| stalled(&server, "/stream.php?lines=600"))
        .collect();
    for _ in 0..20 {
        server.get("/hello.php").assert(200, "hello");
    }
    for reader in &mut slow {
        assert!(reader.receive("GET").expect("a response").body == lines(600));
    }
}

/// Clients that read more than the front buffers in memory, with one process that writes all of it.
#[track_caller]
fn readers_that_stall_leave_the_rest_in_files(mode: Mode) {
    let letters = |kb: usize| -> Vec<u8> {
        (0..kb)
            .flat_map(|line| [b'a' + (line % 26) as u8; 1024])
            .collect()
    };
    let site = Site::start(mode, "large.php");
    let target = site.target("?kb=20000");
    let mut slow: Vec<_> = (0..2).map(|_| stalled(&site.server, &target)).collect();
    for _ in 0..10 {
        assert!(site.get("?kb=1").body == letters(1));
    }
    for reader in &mut slow {
        assert!(reader.receive("GET").expect("a response").body == letters(20_000));
    }
}

#[test]
fn stalled_readers_are_spooled_to_files_in_classic_mode() {
    readers_that_stall_leave_the_rest_in_files(Mode::Classic);
}

#[test]
fn stalled_readers_are_spooled_to_files_in_worker_mode() {
    readers_that_stall_leave_the_rest_in_files(Mode::Worker);
}

#[test]
fn responses_in_files_are_counted() {
    let site = format!("root * {}\nphp_server", www().display());
    let server = Server::caddyfile(caddyfile(ON, &site)).start();
    let admin = Admin::of(&server);
    let line = |count| format!("howdah_php_responses_spooled_total{{pool=\"php\"}} {count}");
    assert!(admin.get("/metrics").text().contains(&line(0)));
    let _slow = stalled(&server, "/stream.php?lines=20000");
    let counted = || admin.get("/metrics").text().contains(&line(1));
    assert!(process::wait_until(PATIENCE, counted));
}

#[test]
fn on_a_full_disk_nothing_of_a_response_is_lost() {
    let Some(disk) = small_disk() else { return };
    let server = Server::builder(www()).workers(1).through(disk).start();
    let warning = "a response for a slow client cannot be spooled";
    server.expect_log(warning);
    let mut slow = stalled(&server, "/stream.php?lines=20000");
    let warned = || !server.log().containing(warning).is_empty();
    assert!(process::wait_until(PATIENCE, warned));
    assert!(slow.receive("GET").expect("a response").body == lines(20_000));
    server.get("/hello.php").assert(200, "hello");
}

/// The only deleted file that the front of a server has open.
fn nameless_file(server: &Server) -> Option<PathBuf> {
    let files = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("its files");
    files.flatten().map(|file| file.path()).find(|file| {
        // A file that was closed in the meantime has no name either.
        let target = std::fs::read_link(file).unwrap_or_default();
        target.starts_with(server.temp_dir()) && target.to_string_lossy().ends_with("(deleted)")
    })
}

#[test]
fn a_response_whose_file_is_lost_is_cut_off() {
    let server = Server::builder(www()).workers(1).start();
    let error = "a response for a slow client was cut off: its spool file cannot be read";
    server.expect_log(error);
    let mut slow = stalled(&server, "/stream.php?lines=20000");
    slow.begin("GET").expect("a head");
    assert!(process::wait_until(PATIENCE, || nameless_file(&server).is_some()));
    let file = nameless_file(&server).expect("the rest of the response");
    let cut = loop {
        // Repeatedly, because data that is appended afterwards restores the length.
        if let Ok(file) = OpenOptions::new().write(true).open(&file) {
            file.set_len(0).expect("it is emptied");
        }
        match slow.next_part() {
            Ok(Some(_)) => {}
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    assert!(cut, "a shorter response is not passed off as the whole");
    assert!(process::wait_until(PATIENCE, || !server
        .log()
        .containing(error)
        .is_empty()));
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn a_large_response_waits_for_its_reader() {
    let global = "admin off\nfrankenphp {\nnum_threads 2\nresponse_spool off\n}";
    let site = format!("root * {}\nphp_server", www().display());
    let server = Server::caddyfile(caddyfile(global, &site)).start();
    // 40 MiB exceed all buffers: PHP has to wait, and the second process serves other requests.
    let mut slow = stalled(&server, "/stream.php?lines=40000&flush=50");
    slow.begin("GET").expect("a head");
    for _ in 0..50 {
        server.get("/hello.php").assert(200, "hello");
    }
    let mut body = Vec::new();
    while let Some(part) = slow.next_part().expect("a part") {
        body.extend_from_slice(&part);
    }
    assert!(body == lines(40_000));
}

#[test]
fn many_slow_readers_all_get_their_own() {
    let server = Server::builder(www()).workers(4).start();
    howdah_testkit::load::at_once(30, |client| {
        let target = format!("/id.php?id={client}&size=300000");
        let mut slow = stalled(&server, &target);
        slow.read_at_most(777);
        let response = slow.receive("GET").expect("a response");
        response.assert(200, &format!("[{client}]{}[{client}]", ".".repeat(300_000)));
    });
}
