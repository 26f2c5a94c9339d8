//! `mercure_publish()` in all modes of PHP, and `hot_reload`.

use std::fmt::Write as _;

use howdah_testkit::{Connection, Request, Server, Www};
use howdah_tests::{caddyfile, encode};

/// HS256 with the key below: may publish and subscribe to everything.
const TOKEN: &str = "eyJhbGciOiAiSFMyNTYiLCAidHlwIjogIkpXVCJ9.eyJtZXJjdXJlIjogeyJwdWJsaXNoIjogWyIqIl0sICJzdWJzY3JpYmUiOiBbIioiXX19.lNNh1DVRcyvmPH1ZwItY6oGbAIiSfUaUsAgQOgg-Uw8";

const HUB: &str = "mercure {\npublisher_jwt a-secret-of-more-than-32-bytes-for-HS256\nsubscriber_jwt a-secret-of-more-than-32-bytes-for-HS256\nanonymous\n}";

/// Runs the code in the request, in any mode.
const SCRIPT: &str = r"<?php
$boot = 'not called';
if (isset($_SERVER['FRANKENPHP_WORKER'])) {
    try {
        mercure_publish('t');
    } catch (RuntimeException $e) {
        $boot = $e->getMessage();
    }
}
$handle = function () use ($boot) {
    header('Content-Type: text/plain');
    try {
        eval(file_get_contents('php://input'));
    } catch (Throwable $e) {
        echo get_class($e), ': ', $e->getMessage();
    }
};
if (!isset($_SERVER['FRANKENPHP_WORKER'])) {
    $handle();
} else {
    while (frankenphp_handle_request($handle));
}
";

struct Site {
    server: Server,
    _www: Www,
}

impl Site {
    /// `worker` contains lines of the worker's block. `None` selects classic mode.
    fn start(worker: Option<&str>, site: &str) -> Self {
        let www = Www::new().file("index.php", SCRIPT);
        let root = www.path().display();
        let worker = worker.map_or_else(String::new, |lines| {
            format!("worker {{\nfile {root}/index.php\nnum 1\n{lines}\n}}")
        });
        let text = format!("{site}\nroot * {root}\nphp_server {{\n{worker}\n}}");
        let global = "admin off\ngrace_period 1h\nfrankenphp {\nnum_threads 2\n}";
        let server = Server::caddyfile(caddyfile(global, &text)).start();
        server.allow_hogs();
        Self { server, _www: www }
    }

    #[track_caller]
    fn run(&self, code: &str) -> String {
        let response = self
            .server
            .send(&Request::new("POST", "/index.php").body(code));
        response.assert_status(200);
        response.text()
    }

    /// Subscribes to all topics. With `token`, also to private updates.
    fn subscribe(&self, token: bool) -> Connection {
        let mut connection = self.server.connect();
        let mut request = Request::get("/.well-known/mercure?topic=*");
        if token {
            request = request.header("Authorization", format!("Bearer {TOKEN}"));
        }
        connection.send(&request).expect("sent");
        assert_eq!(connection.begin("GET").expect("a head").status, 200);
        // The subscription is active from here on.
        connection
            .read_until(":\n")
            .expect("the first sign of life");
        connection
    }
}

#[test]
fn php_server_has_a_hub_too() {
    let www = Www::new().file("index.php", SCRIPT);
    let start = |keys: &[&str]| {
        let mut server = Server::builder(www.path()).arg("--mercure");
        for key in keys {
            server = server.env(
                format!("MERCURE_{key}_JWT_KEY"),
                "a-secret-of-more-than-32-bytes-for-HS256",
            );
        }
        server.try_start()
    };
    let ended = start(&["PUBLISHER"]).expect_err("a key is missing");
    ended.assert(
        2,
        "--mercure: the environment variable MERCURE_SUBSCRIBER_JWT_KEY is not set",
    );
    let site = Site {
        server: start(&["PUBLISHER", "SUBSCRIBER"]).expect("it starts"),
        _www: www,
    };
    let stranger = site.server.get("/.well-known/mercure?topic=*");
    stranger.assert_status(401);
    let mut reader = site.subscribe(true);
    site.run("mercure_publish('t', 'one', private: true);");
    until(&mut reader, "one");
}

/// Reads up to the end of an event with this data.
#[track_caller]
fn until(reader: &mut Connection, data: &str) -> String {
    let seen = reader.read_until(&format!("data: {data}\n\n"));
    String::from_utf8(seen.expect("the events come")).expect("UTF-8")
}

/// Checks that apply to every mode.
fn publishes(worker: Option<&str>) {
    let site = Site::start(worker, HUB);
    let mut reader = site.subscribe(false);
    let mut trusted = site.subscribe(true);

    let id = site.run("echo mercure_publish('https://a/1', \"one\\ntwo\", type: 'k', retry: 5);");
    assert_eq!(id.len(), "urn:uuid:".len() + 36, "{id}");
    assert!(
        id.starts_with("urn:uuid:") && id.as_bytes()[23] == b'4',
        "{id}"
    );
    let event = format!("event: k\nretry: 5\nid: {id}\ndata: one\ndata: two\n\n");
    assert_eq!(until(&mut reader, "two"), event);
    assert_eq!(until(&mut trusted, "two"), event);

    let same = site.run("echo mercure_publish(['a', 'b'], 'private', true, 'own');");
    assert_eq!(same, "own");
    // Read now, because everything that has arrived is read at once.
    assert_eq!(until(&mut trusted, "private"), "id: own\ndata: private\n\n");
    site.run("mercure_publish('a'); mercure_publish('a', 'public');");
    assert!(!until(&mut reader, "public").contains("private"));

    // Updates arrive in order, also more than fit into the ring, and after the client has its
    // response.
    let text = site.run(
        "for ($i = 0; $i < 500; $i++) { mercure_publish('t', str_pad((string) $i, 900, '.')); }
        echo 'sent'; fastcgi_finish_request();
        for (; $i < 1000; $i++) { mercure_publish('t', str_pad((string) $i, 900, '.')); }
        mercure_publish('t', 'last');",
    );
    assert_eq!(text, "sent");
    let events = until(&mut reader, "last");
    let mut expected = String::new();
    for number in 0..1000 {
        let _ = writeln!(expected, "data: {number:.<900}\n");
    }
    expected.push_str("data: last\n\n");
    let without_ids: String = events
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("id: "))
        .collect();
    assert!(without_ids == expected, "{}", without_ids.len());

    // Several times the size of the ring.
    let large = 900_000;
    site.run(&format!(
        "mercure_publish('t', str_repeat('x', {large})); mercure_publish('t', 'after');"
    ));
    let events = until(&mut reader, "after");
    assert!(events.contains(&format!("data: {}\n\n", "x".repeat(large))));

    for (call, error) in [
        (
            "mercure_publish('t', str_repeat('x', 1 << 20), id: 'i')",
            "RuntimeException: The update is too large: it takes 1048614 bytes with its topics, id and type, and may take 1048576",
        ),
        (
            "mercure_publish([])",
            "ValueError: mercure_publish(): Argument #1 ($topics) must have between 1 and 1000 topics",
        ),
        (
            "mercure_publish(array_fill(0, 1001, 't'))",
            "ValueError: mercure_publish(): Argument #1 ($topics) must have between 1 and 1000 topics",
        ),
        (
            "mercure_publish(['a', 5])",
            "TypeError: mercure_publish(): Argument #1 ($topics) must be of type string or an array of strings, int found in it",
        ),
        (
            "mercure_publish(new stdClass)",
            "TypeError: mercure_publish(): Argument #1 ($topics) must be of type array|string, stdClass given",
        ),
        (
            "mercure_publish('t', [])",
            "TypeError: mercure_publish(): Argument #2 ($data) must be of type string, array given",
        ),
        (
            "mercure_publish(\"a\\n\")",
            "ValueError: mercure_publish(): Argument #1 ($topics) must be UTF-8 without control characters",
        ),
        (
            "mercure_publish(\"a\\xc2\\x85\")",
            "ValueError: mercure_publish(): Argument #1 ($topics) must be UTF-8 without control characters",
        ),
        (
            "mercure_publish(\"a\\xff\")",
            "ValueError: mercure_publish(): Argument #1 ($topics) must be UTF-8 without control characters",
        ),
        (
            "mercure_publish('https://a/.well-known/mercure/subscriptions')",
            "ValueError: mercure_publish(): Argument #1 ($topics) must not be below /.well-known/mercure: such topics are reserved for the hub",
        ),
        (
            "mercure_publish('t', id: '#x')",
            "ValueError: mercure_publish(): Argument #4 ($id) must be UTF-8 without line ends and NUL, and not begin with \"#\"",
        ),
        (
            "mercure_publish('t', type: \"a\\rb\")",
            "ValueError: mercure_publish(): Argument #5 ($type) must be UTF-8 without line ends and NUL",
        ),
        (
            "mercure_publish('t', type: 'mercure')",
            "ValueError: mercure_publish(): Argument #5 ($type) must not be \"mercure\", which is reserved for the hub",
        ),
        (
            "mercure_publish('t', retry: -1)",
            "ValueError: mercure_publish(): Argument #6 ($retry) must be 0 or more",
        ),
    ] {
        assert_eq!(site.run(&format!("{call};")), error, "{call}");
    }
    for topic in [
        "/.well-known/mercure",
        "//a/.well-known/mercure/",
        "http://a/.well-known/mercure?x#y",
    ] {
        let said = site.run(&format!("mercure_publish('{topic}');"));
        assert!(
            said.contains("such topics are reserved for the hub"),
            "{topic}: {said}"
        );
    }
    // Topics that only resemble the hub's path may be published by anyone, as by `POST`.
    for topic in [
        "/.well-known/mercurex",
        "https://a/books/.well-known/mercure",
        "https://a?x=/.well-known/mercure",
        "https://.well-known/mercure",
        "mercure",
    ] {
        site.run(&format!("mercure_publish('{topic}', '{topic}', id: 'i');"));
        assert_eq!(
            until(&mut reader, topic),
            format!("id: i\ndata: {topic}\n\n")
        );
    }
    // None of the updates before has arrived, and invalid UTF-8 is replaced.
    site.run("mercure_publish('t', \"\\xffend\", id: 'é');");
    assert_eq!(
        until(&mut reader, "\u{fffd}end"),
        "id: é\ndata: \u{fffd}end\n\n"
    );

    let boot = "mercure_publish() must be called while a request is handled";
    let boot = if worker.is_some() { boot } else { "not called" };
    assert_eq!(site.run("echo $boot;"), boot);
}

#[test]
fn classic() {
    publishes(None);
}

#[test]
fn worker() {
    publishes(Some(""));
}

#[test]
fn one_process_for_each_request() {
    publishes(Some("isolation request"));
}

#[test]
fn several_requests_at_a_time() {
    publishes(Some("concurrency 20"));
}

#[test]
fn coroutines_of_one_request_publish_whole_updates() {
    let site = Site::start(Some("concurrency 20"), HUB);
    let mut reader = site.subscribe(false);
    // Each update is larger than the ring: the writer has to wait, and other requests run
    // meanwhile.
    let text = site.run(
        "$part = fn (int $n) => function () use ($n) {
            mercure_publish('t', str_repeat((string) $n, 400_000));
            echo str_repeat(chr(97 + $n), 400_000);
        };
        Howdah\\all([$part(0), $part(1), $part(2)]);
        mercure_publish('t', 'last');",
    );
    let mut letters: Vec<_> = text.bytes().collect();
    letters.sort_unstable();
    let whole: Vec<_> = [b'a', b'b', b'c']
        .into_iter()
        .flat_map(|letter| vec![letter; 400_000])
        .collect();
    assert!(letters == whole, "{} bytes", text.len());
    let events = until(&mut reader, "last");
    for digit in ["0", "1", "2"] {
        assert!(events.contains(&format!("data: {}\n\n", digit.repeat(400_000))));
    }
}

#[test]
fn a_client_that_left_does_not_stop_updates() {
    let site = Site::start(None, HUB);
    let mut reader = site.subscribe(false);
    let mut client = site.server.connect();
    let code = "ignore_user_abort(true);
        mercure_publish('t', 'begun');
        do { echo str_repeat('x', 10_000); flush(); } while (!connection_aborted());
        for ($i = 0; $i < 1000; $i++) { mercure_publish('t', str_repeat('y', 1000)); }
        mercure_publish('t', 'done');";
    client
        .send(&Request::new("POST", "/index.php").body(code))
        .expect("sent");
    until(&mut reader, "begun");
    client.reset().expect("gone");
    let events = until(&mut reader, "done");
    let one = format!("data: {}\n", "y".repeat(1000));
    assert_eq!(events.matches(&one).count(), 1000);
}

#[test]
fn php_needs_no_key_to_publish() {
    let site = Site::start(None, "mercure {\nanonymous\n}");
    let mut reader = site.server.connect();
    let target = "/.well-known/mercure?topic=t";
    reader.send(&Request::get(target)).expect("sent");
    assert_eq!(reader.begin("GET").expect("a head").status, 200);
    reader.read_until(":\n").expect("the first sign of life");
    assert_eq!(
        site.run("echo mercure_publish('t', 'from PHP', id: 'i');"),
        "i"
    );
    let seen = reader.read_until("\n\n").expect("an event");
    assert_eq!(String::from_utf8_lossy(&seen), "id: i\ndata: from PHP\n\n");
}

#[test]
fn without_a_hub_it_is_an_error() {
    let missing = "RuntimeException: No Mercure hub configured: add `mercure` to the site";
    for worker in [None, Some("")] {
        let site = Site::start(worker, "");
        assert_eq!(site.run("mercure_publish('t');"), missing);
        assert_eq!(site.run("echo 'goes on';"), "goes on");
    }
}

#[test]
fn browsers_are_notified_of_changed_files() {
    let www = Www::new()
        .file(
            "index.php",
            "<?= $_SERVER['FRANKENPHP_HOT_RELOAD'] ?? 'none';",
        )
        .file("css/a.css", "one");
    // The function also works without a key for publishers.
    for hub in [HUB, "mercure {\nanonymous\n}"] {
        browser_is_told(&www, hub);
    }
}

fn browser_is_told(www: &Www, hub: &str) {
    let root = www.path().display();
    let text = format!(
        "{hub}\nroot * {root}\nhandle /plain/* {{\nrewrite * /index.php\nphp_server\n}}\nphp_server {{\nhot_reload {root}/**/*.css {{\ntopic \"hot reload\"\n}}\n}}"
    );
    let server = Server::caddyfile(caddyfile("admin off\ngrace_period 1h", &text)).start();
    server.wait_log("watching files");
    server.get("/plain/x").assert(200, "none");
    let url = server.get("/").text();
    assert_eq!(
        url,
        format!("/.well-known/mercure?topic={}", encode("hot reload"))
    );
    let mut browser = server.connect();
    browser.send(&Request::get(&url)).expect("sent");
    assert_eq!(browser.begin("GET").expect("a head").status, 200);
    browser.read_until(":\n").expect("the first sign of life");
    let file = www.write("css/a.css", "two");
    let seen = browser.read_until("\n\n").expect("an event");
    let seen = String::from_utf8(seen).expect("UTF-8");
    let list = serde_json::json!([file.to_str()]).to_string();
    assert!(seen.ends_with(&format!("data: {list}\n\n")), "{seen}");
}
