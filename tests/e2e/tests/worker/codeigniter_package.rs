//! Features of the Composer package `php/codeigniter4` beyond the worker mode of CodeIgniter 4.7.
//! `HOWDAH_CODEIGNITER` names a CodeIgniter from 4.3 to 4.6. The tests of `codeigniter.rs`,
//! `codeigniter_stores.rs` and `half_way.rs` then use the package, too.

use std::fs;

use howdah_testkit::{Gate, Request, Response, Server, Www};
use howdah_tests::codeigniter::{application, has_worker_mode, run, serve, serve_with};
use howdah_tests::worker::cookie;
use howdah_tests::{caddyfile, encode};
use serde_json::Value;

fn package(settings: &str) -> Option<Www> {
    let www = application(settings)?;
    if has_worker_mode(www.path()) {
        println!("skipped: CodeIgniter 4.7 and later do not need the package");
        return None;
    }
    Some(www)
}

#[test]
fn a_login_is_private_to_its_client() {
    let Some(www) = package("") else { return };
    let server = serve(&www, 1);
    let login = server.get("/probe/login/alice");
    login.assert(200, "alice");
    let cookie = cookie(&login);
    for end in ["/probe/exit", "/probe/throw", "/nosuch"] {
        let alice = |target: &str| server.send(&Request::get(target).header("Cookie", &cookie));
        alice(end);
        server.get("/probe/whoami").assert(200, "nobody");
        alice("/probe/whoami").assert(200, "alice");
    }
}

#[test]
fn a_cached_page_is_the_only_one() {
    let Some(www) = package("") else { return };
    let server = serve(&www, 1);
    let first = server.get("/probe/cached").text();
    server.get("/probe/cached").assert(200, &first);
    let other = server.get("/probe/pid").text();
    assert_ne!(server.get("/probe/pid").text(), other);
}

#[test]
fn a_stream_arrives_whole() {
    let Some(www) = package("") else { return };
    let server = serve(&www, 1);
    for _ in 0..2 {
        server.get("/probe/stream").assert(200, "first\nsecond\n");
    }
}

#[test]
fn routes_follow_the_host() {
    let Some(www) = package("") else { return };
    let server = serve(&www, 1);
    for name in ["one", "two", "one"] {
        let request = Request::get("/host").host(&format!("{name}.test"));
        server.send(&request).assert(200, name);
    }
}

#[test]
fn the_debug_toolbar_shows_one_request() {
    let settings = "CI_ENVIRONMENT = development\ndatabase.default.DBDriver = SQLite3\n\
                    database.default.database = ':memory:'";
    let Some(www) = package(settings) else { return };
    let server = serve(&www, 1);
    for _ in 0..3 {
        let response = server.get("/store/two");
        response.assert_status(200);
        assert_eq!(queries(&www, &response), 2);
    }
}

/// Number of queries that the toolbar has counted for this response.
fn queries(www: &Www, response: &Response) -> u64 {
    let text = response.text();
    let (_, rest) = text.split_once("data-time=\"").expect("a toolbar");
    let (time, _) = rest.split_once('"').expect("the end of an attribute");
    let file = www
        .path()
        .join(format!("writable/debugbar/debugbar_{time}.json"));
    let text = fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}: {text}", file.display()));
    let shown: Value = serde_json::from_str(&text).expect("JSON");
    let collectors = shown["collectors"].as_array().expect("a list");
    let database = collectors.iter().find(|one| one["title"] == "Database");
    database.expect("the one of the database")["badgeValue"]
        .as_u64()
        .expect("a number")
}

#[test]
fn several_requests_at_a_time_are_refused() {
    let Some(www) = package("") else { return };
    let server = serve_with(&www, 1, "concurrency 2");
    server.expect_log("remove `concurrency`");
    server.allow_hogs();
    let dir = tempfile::tempdir().expect("a directory");
    let mut gate = Gate::new(dir.path(), "gate").expect("a gate");
    let page = format!("/probe/gate?gate={}", encode(gate.path()));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.get(&page));
        gate.reached();
        server.get("/probe/pid").assert_status(500);
        gate.open(1);
        first.join().expect("it ends").assert(200, "open");
    });
    server.get("/probe/pid").assert_status(200);
}

#[test]
fn classic_mode_is_as_before() {
    let Some(www) = package("") else { return };
    let root = www.path().join("public");
    let site = format!("root * {}\nphp_server", root.display());
    let server = Server::caddyfile(caddyfile("", &site)).start();
    for script in ["", "/frankenphp-worker.php"] {
        for _ in 0..2 {
            let text = server.get(&format!("{script}/probe/pid")).text();
            assert!(text.ends_with(" 1"), "{text}");
        }
    }
}

#[test]
fn uninstall_removes_what_install_has_written() {
    let Some(www) = package("") else { return };
    let spark = |command: &str| run(www.path(), "php", &["spark", command]);
    let caddyfile = www.path().join("Caddyfile");
    let script = www.path().join("public/frankenphp-worker.php");
    let refused = spark("howdah:install");
    assert!(refused.contains("already"), "{refused}");

    fs::write(&caddyfile, "# mine\n").expect("written");
    let partly = spark("howdah:uninstall");
    assert!(partly.contains("changed since: Caddyfile"), "{partly}");
    assert!(caddyfile.is_file() && !script.exists());

    fs::remove_file(&caddyfile).expect("removed");
    spark("howdah:install");
    assert!(caddyfile.is_file() && script.is_file());
    spark("howdah:uninstall");
    assert!(!caddyfile.exists() && !script.exists());
    assert!(www.path().join("public/index.php").is_file());
}
