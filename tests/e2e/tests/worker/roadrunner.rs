//! Workers that were written for RoadRunner, tested over HTTP: with frames created by the tests,
//! and with `spiral/roadrunner-http` unmodified.

use std::collections::BTreeSet;
use std::path::Path;

use howdah_testkit::{PATIENCE, Request, Server, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::caddyfile;
use howdah_tests::worker::scripts;
use serde_json::{Value, json};

/// Autoloader of `spiral/roadrunner-http` and `nyholm/psr7`.
const LIBRARY: &str = "HOWDAH_ROADRUNNER";

fn text(command: &str, global: &str, lines: &str) -> String {
    let folder = scripts().join("roadrunner");
    let site = format!(
        "roadrunner {{\ncommand php {}/{command}\n{lines}\n}}",
        folder.display()
    );
    caddyfile(
        &format!("{ON}\nfrankenphp {{\nnum_threads 1\n}}\n{global}"),
        &site,
    )
}

fn server(lines: &str) -> Server {
    Server::caddyfile(text("app.php", "", &format!("num_workers 2\n{lines}"))).start()
}

fn pool(server: &Server) -> Value {
    let status = Admin::of(server).get("/status").json();
    let pools = status["pools"].as_array().expect("pools").clone();
    let own = pools.into_iter().find(|pool| pool["mode"] == "roadrunner");
    own.expect("a pool")
}

fn pid(server: &Server) -> String {
    let text = server.get("/pid").text();
    text.split(' ').next().expect("a number").to_owned()
}

#[test]
fn a_worker_gets_all_of_a_request() {
    let server = server("attribute tenant {query.tenant}");
    let request = Request::new("POST", "/context?a=1&tenant=x%20y")
        .header("Cookie", "c=d%20e")
        .header("X-Custom", "one")
        .header("X_Custom", "forged")
        .header("Content-Type", "text/plain")
        .body("raw \0 body");
    let shown = server.send(&request).json();
    let context = &shown["context"];
    for (name, expected) in [
        ("remoteAddr", json!("127.0.0.1")),
        ("protocol", json!("HTTP/1.1")),
        ("method", json!("POST")),
        ("uri", json!("http://localhost/context?a=1&tenant=x%20y")),
        ("rawQuery", json!("a=1&tenant=x%20y")),
        ("cookies", json!({"c": "d e"})),
        ("parsed", json!(false)),
        ("uploads", Value::Null),
        ("attributes", json!({"tenant": "x y"})),
    ] {
        assert_eq!(context[name], expected, "{name}");
    }
    assert_eq!(context["headers"]["X-Custom"], json!(["one"]));
    assert_eq!(shown["body"], "raw \0 body");
}

#[test]
fn bodies_of_every_size_go_both_ways() {
    let server = server("");
    for size in [0, 1, 4096, 65_536, 70_000, 3_000_000] {
        let body = "b".repeat(size);
        let request = Request::new("POST", "/echo").body(&body);
        let response = server.send(&request);
        response.assert(201, &body);
        assert_eq!(response.header("content-length"), Some(&*size.to_string()));
        let large = server.get(&format!("/large?size={}", size / 16 * 16));
        assert_eq!(large.text().len(), size / 16 * 16);
    }
    assert_eq!(
        pool(&server)["counters"]["spawned"],
        2,
        "no worker was replaced"
    );
}

#[test]
fn forms_are_parsed_and_files_stored() {
    let server = server("");
    let form = Request::form("/context", "a[x]=1&a[y][]=2&b=c%20d");
    let shown = server.send(&form).json();
    assert_eq!(shown["context"]["parsed"], true);
    let fields: Value = serde_json::from_str(shown["body"].as_str().expect("text")).expect("JSON");
    assert_eq!(fields, json!({"a": {"x": "1", "y": ["2"]}, "b": "c d"}));
    server
        .send(&Request::form("/context", "a=1&a[b]=2"))
        .assert_status(400);
    server.expect_log("the form has both a value and fields below it");
    let part = |head: &str, body: &str| {
        format!("--xx\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n")
    };
    let body = format!(
        "{}{}{}--xx--\r\n",
        part("name=\"t\"", "text"),
        part("name=\"f\"; filename=\"a.txt\"", "content"),
        part("name=\"l[]\"; filename=\"a.php\"", "<?php"),
    );
    let request = Request::new("POST", "/upload")
        .header("Content-Type", "multipart/form-data; boundary=xx")
        .body(&body);
    let shown = server.send(&request).json();
    assert_eq!(shown[1], json!({"t": "text"}));
    assert_eq!(shown[2], true);
    let file = &shown[0]["f"];
    assert_eq!(
        (&file["name"], &file["error"], &file["size"]),
        (&json!("a.txt"), &json!(0), &json!(7))
    );
    assert_eq!(file["tmpName"][0], "content");
    let path = file["tmpName"][1].as_str().expect("a path").to_owned();
    let is_gone = || !std::path::Path::new(&path).exists();
    assert!(process::wait_until(PATIENCE, is_gone), "{path} is left");
    assert_eq!(shown[0]["l"][0]["error"], 8);
    let wrong = Request::new("POST", "/upload")
        .header("Content-Type", "multipart/form-data; boundary=xx")
        .body("garbage");
    server.send(&wrong).assert_status(400);
    server.expect_log("the form cannot be read");
}

#[test]
fn responses_come_in_parts_with_hints_and_trailers() {
    let server = server("");
    server.get("/stream").assert(200, "one\ntwo\npong\nend");
    let mut connection = server.connect();
    connection.send(&Request::get("/hints")).expect("sent");
    let hints = connection.read_head().expect("hints");
    assert_eq!(
        (hints.status, hints.header("link")),
        (103, Some("</a.css>; rel=preload"))
    );
    let page = connection.receive("GET").expect("a page");
    page.assert(200, "page");
    server.expect_log("the worker sent the status 101, which was ignored");
    let mut connection = server.connect();
    let request = Request::get("/trailer").header("TE", "trailers");
    connection.send(&request).expect("sent");
    let checked = connection.receive("GET").expect("a response");
    checked.assert(200, "checked");
    assert_eq!(checked.header("trailer"), Some("x-sum"));
    assert_eq!(checked.trailers, [("x-sum".to_owned(), "abc".to_owned())]);
}

#[test]
fn a_client_that_disconnects_cancels_its_response() {
    let server = server("");
    let mut connection = server.connect();
    connection.send(&Request::get("/endless")).expect("sent");
    assert_eq!(connection.begin("GET").expect("a head").status, 200);
    connection.next_part().expect("it lives").expect("a part");
    drop(connection);
    server.wait_log("cancelled");
    // The worker continues.
    let is_idle = || pool(&server)["busy"] == 0;
    assert!(process::wait_until(PATIENCE, is_idle));
    assert_eq!(pool(&server)["counters"]["spawned"], 2);
}

#[test]
fn errors_have_a_status_and_harm_one_request() {
    let server = server("");
    for (path, status, log) in [
        (
            "/error",
            500,
            "the worker reported an error: something went wrong",
        ),
        ("/status?status=0", 500, "the status 0"),
        ("/status?status=600", 500, "the status 600"),
        ("/json", 500, "not the expected JSON"),
    ] {
        server.get(path).assert_status(status);
        server.expect_log(log);
    }
    assert_eq!(pool(&server)["counters"]["spawned"], 2, "the workers go on");
    for (path, log) in [
        ("/noise", "Warning: something"),
        ("/noise?text=x", "never seen"),
        ("/checksum", "checksum"),
        ("/huge", "a context of 4294967280 bytes"),
        ("/half", "it closed its standard output"),
    ] {
        // The request is not retried, because it may have had an effect.
        let request = Request::new("POST", path);
        server.send(&request).assert_status(502);
        server.expect_log(log);
        server.get("/echo").assert_status(201);
    }
    server.allow_log("worker exited: exit status: 0");
    // A request with a safe method is retried on a different worker.
    server.get("/exit?code=3").assert_status(502);
    server.expect_log("worker exited: exit status: 3");
    server.expect_log("it closed its standard output");
    server.get("/echo").assert_status(201);
    server.get("/log").assert(200, "logged");
    server.wait_log("a line on stderr");
}

#[test]
fn a_worker_that_declines_is_replaced_and_the_request_runs_elsewhere() {
    let server = Server::caddyfile(text("app.php", "", "num_workers 1")).start();
    let first = pid(&server);
    // Each worker declines the request.
    server
        .send(&Request::new("POST", "/stop"))
        .assert_status(500);
    server.expect_log("exited before they took the request");
    // On a busy machine it may have exited before its response is read.
    server.allow_log("worker exited: exit status: 0");
    assert_ne!(pid(&server), first);
}

#[test]
fn a_worker_that_asks_for_its_replacement_after_a_response_is_not_killed() {
    let server = Server::caddyfile(text("app.php", "", "num_workers 2")).start();
    let mut seen = BTreeSet::new();
    for _ in 0..8 {
        let left = server.get("/leave");
        left.assert_status(200);
        assert!(seen.insert(left.text()), "it got another request");
    }
    assert_eq!(pool(&server)["counters"]["killed"], 0);
}

#[test]
fn workers_are_replaced_by_requests_memory_and_time() {
    let own = Server::caddyfile(text("app.php", "", "num_workers 1\nmax_requests 3")).start();
    let first = pid(&own);
    let is_other = || pid(&own) != first;
    assert!(process::wait_until(PATIENCE, is_other));
    let is_counted = || pool(&own)["counters"]["recycled"].as_u64() > Some(0);
    assert!(process::wait_until(PATIENCE, is_counted));
    let own = Server::caddyfile(text("app.php", "", "num_workers 1\nmax_memory 60MiB")).start();
    let first = own.get("/memory?size=80000000").text();
    let is_other = || pid(&own) != first;
    assert!(process::wait_until(PATIENCE, is_other), "{}", pool(&own));
    let lines = "num_workers 1\nrequest_timeout 300ms\nmax_wait_time 100ms\nqueue_length 1";
    let own = Server::caddyfile(text("app.php", "", lines)).start();
    let mut hanging = own.connect();
    hanging.send(&Request::get("/hang")).expect("sent");
    assert!(process::wait_until(PATIENCE, || pool(&own)["busy"] == 1));
    let waits = own.get("/echo");
    waits.assert_status(503);
    assert_eq!(waits.header("retry-after"), Some("1"));
    own.expect_log("no worker was free within 100ms");
    hanging
        .receive("GET")
        .expect("a response")
        .assert_status(504);
    own.expect_log("longer than `request_timeout`");
    assert!(process::wait_until(PATIENCE, || own.get("/echo").status() == 201));
    own.allow_log("no worker was free within 100ms");
}

#[test]
fn a_reload_starts_new_workers_first() {
    let server = server("");
    let first = pid(&server);
    let admin = Admin::of(&server);
    let mut streaming = server.connect();
    streaming.send(&Request::get("/endless")).expect("sent");
    assert_eq!(streaming.begin("GET").expect("a head").status, 200);
    let report = admin.post("/reload?pool=app").json();
    assert_eq!(report["pools"][0]["pool"], "app", "{report}");
    assert_ne!(pid(&server), first);
    streaming
        .next_part()
        .expect("it lives")
        .expect("it goes on");
    assert_eq!(pool(&server)["generation"], 2);
    drop(streaming);
    let is_one = || pool(&server)["generations"].as_array().map(Vec::len) == Some(1);
    assert!(process::wait_until(PATIENCE, is_one), "{}", pool(&server));
    let page = admin.get("/metrics").text();
    assert!(page.contains("howdah_php_workers{pool=\"app\""), "{page}");
}

#[test]
fn a_worker_that_does_not_start_is_reported() {
    for (argument, expected) in [
        ("exit", "its last line was: no database"),
        ("noise", "Deprecated: something is old"),
        ("hang", "it was not ready within 500ms"),
        (
            "order",
            "did not reply to the handshake with its process id",
        ),
        ("close", "it closed its standard output"),
        ("missing", "it closed its standard output"),
    ] {
        let time = if argument == "hang" { "500ms" } else { "1m" };
        let lines = format!("num_workers 2\nboot_timeout {time}");
        let text = text(&format!("boot.php {argument}"), "", &lines);
        let ended = Server::caddyfile(text).run();
        let said = ended.text();
        assert!(said.contains(expected), "{argument}: {said}");
    }
}

#[test]
fn plugins_are_refused_by_name() {
    let server = server("");
    let text = server.get("/rpc").text();
    assert!(text.contains("plugin `kv` is missing"), "{text}");
    server.expect_log("the application calls a plugin of RoadRunner that Howdah does not have");
}

#[test]
fn a_stop_waits_for_requests() {
    let server = server("");
    let mut connection = server.connect();
    connection.send(&Request::get("/endless")).expect("sent");
    assert_eq!(connection.begin("GET").expect("a head").status, 200);
    drop(connection);
    server.wait_log("cancelled");
    server.stop();
}

#[test]
fn workers_have_the_users_and_environment_of_their_pool() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root changes users");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mode = |path: &std::path::Path, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("mine");
    };
    mode(folder.path(), 0o755);
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).expect("made");
    mode(&temporary, 0o1777);
    for name in ["app.php", "goridge.inc"] {
        let from = scripts().join("roadrunner").join(name);
        std::fs::copy(from, folder.path().join(name)).expect("copied");
    }
    let site = format!(
        "roadrunner * {}/app.php {{\nnum_workers 2\nuser nobody\nenv OWN value\n}}",
        folder.path().display()
    );
    let global = format!("{ON}\nuser www-data\nfrankenphp {{\nnum_threads 1\n}}");
    let server = Server::caddyfile(caddyfile(&global, &site))
        .env("TMPDIR", &temporary)
        .start();
    let shown = server.get("/environment").json();
    let nobody = 65_534;
    assert_eq!(
        (&shown[1], &shown[2]),
        (&json!(nobody), &json!(nobody)),
        "{shown}"
    );
    assert_eq!(shown[3], json!([nobody]));
    let environment = &shown[0];
    for (name, expected) in [
        ("OWN", "value"),
        ("RR_MODE", "http"),
        ("RR_RELAY", "pipes"),
        ("USER", "nobody"),
    ] {
        assert_eq!(environment[name], expected, "{name}");
    }
    assert!(
        environment["RR_RPC"]
            .as_str()
            .is_some_and(|rpc| rpc.starts_with("tcp://127.0.0.1:"))
    );
    assert!(environment.get("NOTIFY_SOCKET").is_none());
    // The file of an upload belongs to the worker's user.
    let body = "--xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\ncontent\r\n--xx--\r\n";
    let request = Request::new("POST", "/upload")
        .header("Content-Type", "multipart/form-data; boundary=xx")
        .body(body);
    assert_eq!(
        server.send(&request).json()[0]["f"]["tmpName"][0],
        "content"
    );
    // The worker crashes, and the monitor starts a new one.
    server
        .send(&Request::new("POST", "/exit?code=9"))
        .assert_status(502);
    server.expect_log("it closed its standard output");
    server.expect_log("worker exited: exit status: 9");
    assert!(process::wait_until(PATIENCE, || pool(&server)["ready"] == 2));
    server.stop();
    // The worker has not moved the file, and the server could not remove it among the files of all
    // users.
    let left = std::fs::read_dir(&temporary).expect("readable");
    assert_eq!(left.count(), 0);
}

/// Processes of the same user can neither read the memory of a worker nor take its descriptors.
/// Like other PHP processes, a worker cannot signal a server that root has started.
#[test]
fn workers_are_not_dumpable_and_have_one_user() {
    for (option, owner) in [("", 0), ("dumpable", 33)] {
        let folder = tempfile::tempdir().expect("a folder");
        let global = if rustix::process::geteuid().is_root() {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(folder.path(), mode).expect("mine");
            "user www-data"
        } else if option.is_empty() {
            ""
        } else {
            continue;
        };
        for name in ["app.php", "goridge.inc"] {
            let from = scripts().join("roadrunner").join(name);
            std::fs::copy(from, folder.path().join(name)).expect("copied");
        }
        let site = format!(
            "roadrunner * {}/app.php {{\nnum_workers 1\n}}",
            folder.path().display()
        );
        let global = format!("{ON}\n{global}\nfrankenphp {{\nnum_threads 1\n{option}\n}}");
        let server = Server::caddyfile(caddyfile(&global, &site))
            .env("TMPDIR", "/tmp")
            .start();
        let worker = format!("/proc/{}", pid(&server));
        let status = std::fs::read_to_string(format!("{worker}/status")).expect("it runs");
        let users = status.lines().find(|line| line.starts_with("Uid:"));
        let mut users = users.expect("a line").split_whitespace().skip(1);
        let first = users.next().expect("real user");
        assert!(users.all(|user| user == first), "{status}");
        // Files in `/proc` of a process that is not dumpable belong to root.
        let environment = std::fs::metadata(format!("{worker}/environ")).expect("it runs");
        let found = std::os::unix::fs::MetadataExt::uid(&environment);
        assert_eq!(found, owner, "{option}: {status}");
        server.get("/pid").assert_status(200);
    }
}

#[test]
fn the_library_of_roadrunner_runs_unmodified() {
    let Ok(autoloader) = std::env::var(LIBRARY) else {
        println!(
            "skipped: {LIBRARY} does not name an autoloader of spiral/roadrunner-http and nyholm/psr7"
        );
        return;
    };
    let lines = "num_workers 2\nattribute tenant t1";
    let server = Server::caddyfile(text(&format!("library.php {autoloader}"), "", lines)).start();
    let hello = server.get("/hello?hello=world");
    hello.assert(201, "WORLD");
    let header = server.send(&Request::get("/header?hello=x").header("Input", "sample"));
    header.assert(200, "sample");
    assert_eq!(header.header("header"), Some("x"));
    let cookie = server.send(&Request::get("/cookie").header("Cookie", "input=in%20put"));
    cookie.assert(200, "in put");
    assert_eq!(cookie.header("set-cookie"), Some("output=x; HttpOnly"));
    let data = Request::form("/data", "key=value&name[]=1&name[]=2&arr[x][y][z]=y");
    let expected = json!({"key": "value", "name": ["1", "2"], "arr": {"x": {"y": {"z": "y"}}}});
    assert_eq!(server.send(&data).json(), expected);
    let payload = Request::new("POST", "/payload")
        .header("Content-Type", "application/json")
        .body("{\"a\":\"b\"}");
    server.send(&payload).assert(200, "{\"b\":\"a\"}");
    let body = "--xx\r\nContent-Disposition: form-data; name=\"u[]\"; filename=\"a.txt\"\r\n\r\ncontent\r\n--xx--\r\n";
    let upload = Request::new("POST", "/upload")
        .header("Content-Type", "multipart/form-data; boundary=xx")
        .body(body);
    let expected = json!({"u": [["a.txt", 7, 0, "9a0364b9e99bb480dd25e1f0284c8555"]]});
    assert_eq!(server.send(&upload).json(), expected);
    let agent = server.send(&Request::get("/server").header("User-Agent", "agent"));
    agent.assert(200, "127.0.0.1 agent");
    server.get("/attributes").assert(200, "t1");
    server
        .get("/stream")
        .assert(200, &"0123456789".repeat(2000));
    let mut connection = server.connect();
    connection
        .send(&Request::get("/generator?parts=20"))
        .expect("sent");
    assert_eq!(connection.read_head().expect("hints").status, 103);
    let parts = connection.receive("GET").expect("a response");
    assert_eq!(parts.header("x-stream"), Some("yes"));
    assert!(parts.text().ends_with("part 19\nend"), "{}", parts.text());
    // A client that disconnects stops the generator.
    let mut connection = server.connect();
    connection
        .send(&Request::get("/generator?parts=100000000"))
        .expect("sent");
    connection.read_head().expect("hints");
    assert_eq!(connection.begin("GET").expect("a head").status, 200);
    drop(connection);
    let is_idle = || pool(&server)["busy"] == 0;
    assert!(process::wait_until(PATIENCE, is_idle), "{}", pool(&server));
    server.get("/throw").assert_status(500);
    server.expect_log("thrown by the application");
    server.get("/print").assert(200, "printed");
    server.wait_log("printed by the application");
    for _ in 0..4 {
        server.get("/stop").assert_status(200);
    }
    assert!(process::wait_until(PATIENCE, || pool(&server)["ready"] == 2));
    assert!(!server.get("/pid").text().is_empty());
}

#[test]
fn slim_runs_with_its_psr7() {
    let is_there = |file: &&str| Path::new("/usr/share/php").join(file).is_file();
    if !["Slim/autoload.php", "Slim/Psr7/autoload.php"]
        .iter()
        .all(is_there)
    {
        println!("skipped: php-slim and php-slim-psr7 are not installed");
        return;
    }
    let mut commands = vec!["slim.php".to_owned()];
    commands.extend(std::env::var(LIBRARY).map(|autoloader| format!("slim.php {autoloader}")));
    for command in commands {
        let server = Server::caddyfile(text(&command, "", "num_workers 1")).start();
        let hello = server.get("/hello/Asha?from=Bikaner");
        hello.assert(200, "Hello, Asha, Bikaner");
        let part = |head: &str, body: &str| {
            format!("--xx\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n")
        };
        let body = format!(
            "{}{}--xx--\r\n",
            part("name=\"a[b]\"", "c"),
            part("name=\"file\"; filename=\"x.txt\"", "content"),
        );
        let request = Request::new("POST", "/form")
            .header("Content-Type", "multipart/form-data; boundary=xx")
            .body(body);
        let form = server.send(&request);
        form.assert_status(201);
        assert_eq!(form.json(), json!([{"a": {"b": "c"}}, "x.txt", "content"]));
        assert_eq!(form.head.header_all("set-cookie"), ["a=1", "b=2"]);
        server.get("/missing").assert_status(404);
        let kept = server.get("/hello/Asha?from=Pushkar");
        assert_eq!(kept.header("x-served"), Some("4"), "{command}: one process");
    }
}
