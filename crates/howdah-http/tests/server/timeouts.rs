//! Slow clients, idle connections, and shutdown.

use std::fs;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::support::{Harness, PATIENCE, file_site, php_site, wait_until};
use howdah_config::model::Config;

const SHORT: Duration = Duration::from_millis(300);

fn limited(change: impl FnOnce(&mut Config)) -> (tempfile::TempDir, Harness) {
    let directory = tempfile::tempdir().unwrap();
    let mut config = php_site(directory.path());
    change(&mut config);
    let harness = Harness::start(&config);
    (directory, harness)
}

#[test]
fn a_header_that_stops_is_408() {
    let (_directory, harness) = limited(|config| config.global.limits.read_header = SHORT);
    for start in ["G", "GET / HTTP/1.1\r\nHost: a\r\n", "PRI * HTTP"] {
        let begun = Instant::now();
        let mut client = harness.connect();
        client.write(start.as_bytes());
        assert_eq!(client.reply(true).status, 408, "{start}");
        assert!(begun.elapsed() >= SHORT, "{start}");
        assert!(client.is_closed());
    }
}

#[test]
fn the_header_limit_is_not_moved_by_trickling() {
    let (_directory, harness) = limited(|config| config.global.limits.read_header = SHORT);
    let begun = Instant::now();
    let mut client = harness.connect();
    client.write(b"GET / HTTP/1.1\r\nHost: a\r\n");
    client
        .stream
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    // One byte every 20 ms while there is no response.
    let mut byte = [0];
    loop {
        assert!(begun.elapsed() < PATIENCE, "trickling goes on for ever");
        match std::io::Read::read(&mut client.stream, &mut byte) {
            Ok(_) => break,
            Err(_) => client.write(b"X"),
        }
    }
    assert_eq!(byte, *b"H");
    assert!(begun.elapsed() >= SHORT);
}

#[test]
fn a_second_request_has_its_own_limit() {
    let (_directory, harness) = limited(|config| config.global.limits.read_header = SHORT);
    let mut client = harness.connect();
    client.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reply(true).status, 200);
    client.write(b"GET / HT");
    assert_eq!(client.reply(true).status, 408);
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    // Long enough for a request to arrive on a busy machine.
    let idle = Duration::from_secs(3);
    let (_directory, harness) = limited(|config| config.global.limits.idle = idle);
    // The coarse clock ticks every 10 ms at most.
    let least = idle.saturating_sub(Duration::from_millis(50));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            let mut fresh = harness.connect();
            assert!(fresh.is_closed());
            assert!(begun.elapsed() >= least);
        });
        let begun = Instant::now();
        let mut used = harness.connect();
        used.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(used.reply(true).status, 200);
        assert!(used.is_closed());
        assert!(begun.elapsed() >= least);
    });
    wait_until("nothing is open", || {
        harness.server.stats().connections() == 0
    });
}

#[test]
fn a_connection_wakes_from_its_sleep() {
    let (_directory, harness) = limited(|_| {});
    let mut client = harness.connect();
    // Long enough to release the buffers at least once while they are in use.
    for _ in 0..2 {
        client.write(b"GET /echo.php HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.reply(true).status, 200);
        // The wait is under test: the connection is idle for 2.3 s.
        client
            .stream
            .set_read_timeout(Some(Duration::from_millis(2_300)))
            .unwrap();
        let mut byte = [0];
        assert!(
            std::io::Read::read(&mut client.stream, &mut byte).is_err(),
            "closed"
        );
        client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    client.write(b"GET /echo.php HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reply(true).status, 200);
}

#[test]
fn a_body_that_stops_is_408() {
    let (_directory, harness) = limited(|config| config.global.limits.read_body = SHORT);
    let mut client = harness.connect();
    client.write(b"POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    let reply = client.reply(true);
    assert_eq!(
        (reply.status, reply.header("connection")),
        (408, Some("close"))
    );
    assert_eq!(harness.seen.calls.load(SeqCst), 0);
}

#[test]
fn a_client_that_takes_nothing_is_cut() {
    let (directory, harness) = limited(|config| config.global.limits.write = SHORT);
    fs::File::create(directory.path().join("large.bin"))
        .unwrap()
        .set_len(64 << 20)
        .unwrap();
    for target in ["/echo.php?mode=endless", "/large.bin"] {
        let mut client = harness.connect();
        client.write(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        client.read_until(b"\r\n\r\n");
        wait_until("it is cut", || harness.server.stats().connections() == 0);
        assert_eq!(harness.server.stats().in_flight(), 0);
        let (rest, _) = client.rest();
        assert!(rest.len() < 64 << 20);
    }
    wait_until("the application knows", || {
        harness.seen.dropped.load(SeqCst) == 1
    });
}

#[test]
fn stopping_lets_requests_finish() {
    let (_directory, harness) = limited(|_| {});
    let mut idle = harness.connect();
    idle.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(idle.reply(true).status, 200);
    let mut fresh = harness.connect();
    let mut busy = harness.connect();
    busy.write(b"GET /echo.php?mode=gate HTTP/1.1\r\nHost: a\r\n\r\n");
    busy.read_until(b"first\r\n");
    wait_until("all are accepted", || {
        harness.server.stats().connections() == 3
    });
    harness.shutdown.drain(PATIENCE);
    assert!(idle.is_closed());
    assert!(fresh.is_closed());
    wait_until("nothing listens", || {
        std::net::TcpStream::connect(harness.address()).is_err()
    });
    assert_eq!(harness.server.stats().in_flight(), 1);
    harness.seen.open_gate();
    busy.read_until(b"second\r\n0\r\n\r\n");
    assert!(busy.is_closed());
    let begun = Instant::now();
    let spool = harness.server.spool().path().to_owned();
    harness.join();
    assert!(begun.elapsed() < PATIENCE, "the grace was waited for");
    assert!(!spool.exists());
}

#[test]
fn stopping_has_an_end() {
    let (_directory, harness) = limited(|_| {});
    let mut client = harness.connect();
    client.write(b"GET /echo.php?mode=hang HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until("it runs", || harness.seen.calls.load(SeqCst) == 1);
    let begun = Instant::now();
    harness.shutdown.drain(SHORT);
    assert!(client.is_closed());
    assert!(begun.elapsed() >= SHORT.saturating_sub(Duration::from_millis(50)));
    let seen = std::sync::Arc::clone(&harness.seen);
    harness.join();
    assert_eq!(seen.dropped.load(SeqCst), 1);
}

#[test]
fn connections_beyond_the_limit_wait() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), "a").unwrap();
    let mut config = file_site(directory.path());
    config.global.max_connections = Some(2);
    let harness = Harness::start(&config);
    let first = harness.connect();
    let _second = harness.connect();
    wait_until("two are open", || harness.server.stats().connections() == 2);
    let mut third = harness.connect();
    third.write(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
    third
        .stream
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let mut byte = [0];
    assert!(
        std::io::Read::read(&mut third.stream, &mut byte).is_err(),
        "it was served"
    );
    third.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    drop(first);
    assert_eq!(third.reply(true).text(), "a");
}

#[test]
fn several_threads_share_a_port() {
    let (_directory, harness) = limited(|config| config.global.php.front_threads = Some(3));
    let mut threads = std::collections::BTreeSet::new();
    wait_until("every thread has served", || {
        let id = u64::from_str_radix(harness.get("/echo.php").value("id"), 16).unwrap();
        threads.insert(id >> 56);
        threads.len() == 3
    });
    assert_eq!(threads.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
}
