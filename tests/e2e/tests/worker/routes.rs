//! Requests that a worker script gets, and those that it does not get.

use std::os::unix::fs::symlink;

use howdah_testkit::{PATIENCE, Server, Www, process};
use howdah_tests::worker::worker_caddyfile;
use howdah_tests::{caddyfile, hang_until_traced};
use rustix::process::Signal;

/// Responds with its name, the number of its requests, and the request target.
const WORKER: &str = r"<?php
$requests = 0;
$handler = function () use (&$requests) {
    $requests++;
    $server = $_SERVER;
    echo 'worker ', $requests, ' ', implode(' ', array_map(
        fn ($name) => $name . '=' . ($server[$name] ?? 'missing'),
        ['SCRIPT_NAME', 'PATH_INFO', 'REQUEST_URI'],
    ));
};
while (frankenphp_handle_request($handler)) {
}
";

fn site() -> Www {
    Www::new()
        .file("public/worker.php", WORKER)
        .file("public/other.php", "<?php echo 'other ', PHP_SAPI;")
        .file("public/index.html", "a page")
        .file("public/style.css", "css")
        .file("public/sub/index.php", "<?php echo 'sub';")
        .file("public/.env", "SECRET=1")
        .file("api.php", WORKER)
}

#[test]
fn php_server_s_worker_gets_all_but_static_files() {
    let www = site();
    let file = www.path().join("public/worker.php");
    let server = Server::builder(www.path().join("public"))
        .arg("--worker")
        .arg(format!("{},1", file.display()))
        .start();
    let mut number = 0;
    let mut asked = |target: &str, info: &str| {
        number += 1;
        let expected = format!(
            "worker {number} SCRIPT_NAME=/worker.php PATH_INFO={info} REQUEST_URI={target}"
        );
        server.get(target).assert(200, &expected);
    };
    asked("/", "");
    asked("/some/page?x=1", "");
    asked("/other.php", "");
    asked("/other.PHP/x", "");
    asked("/sub/", "");
    asked("/sub", "");
    asked("/worker.php", "");
    asked("/worker.php/a/b", "/a/b");
    server.get("/style.css").assert(200, "css");
    server.get("/index.html").assert(200, "a page");
    server.get("/.env").assert_status(404);
}

#[test]
fn several_pools_side_by_side() {
    let www = site();
    let (public, api) = (www.path().join("public"), www.path().join("api.php"));
    let global = format!(
        "admin off\nfrankenphp {{\nnum_threads 1\nworker {} 1\n}}",
        public.join("worker.php").display()
    );
    let routes = format!(
        "root * {}\nphp_server {{\ntry_files {{path}} worker.php\nworker {{\nfile {}\nnum 1\nmatch /api/*\n}}\n}}",
        public.display(),
        api.display()
    );
    let server = Server::caddyfile(caddyfile(&global, &routes)).start();
    for number in 1..4 {
        let at = |target: &str| format!("PATH_INFO= REQUEST_URI={target}");
        let page = format!("worker {number} SCRIPT_NAME=/worker.php {}", at("/page"));
        server.get("/page").assert(200, &page);
        let call = format!("worker {number} SCRIPT_NAME= {}", at("/api/style.css"));
        server.get("/api/style.css").assert(200, &call);
        server.get("/other.php").assert(200, "other howdah");
    }
    server.get("/style.css").assert(200, "css");
}

#[test]
fn one_script_has_a_pool_for_slow_addresses() {
    const SCRIPT: &str =
        "<?php while (frankenphp_handle_request(function () { echo getmypid(); })) { }";
    let www = Www::new().file("index.php", SCRIPT);
    let root = www.path().display();
    for other in ["{\nnum 1\nmatch *\n}", "1"] {
        let site = format!(
            "php_server {{\nroot {root}\nworker index.php {{\nmatch /slow/*\nnum 1\nmax_threads 2\n}}\n\
             worker index.php {other}\n}}"
        );
        let server = Server::caddyfile(caddyfile("admin off", &site)).start();
        let of = |target: &str| server.get(target).text();
        let (slow, fast) = (of("/slow/1"), of("/"));
        assert_ne!(slow, fast, "{other}");
        for _ in 0..3 {
            assert_eq!(of("/slow/2"), slow);
            assert_eq!(of("/slow/none.php"), slow);
            assert_eq!(of("/index.php"), fast);
            assert_eq!(of("/a/page"), fast);
        }
    }
}

#[test]
fn each_pool_has_its_own_limits() {
    let www = site().file(
        "slow.php",
        "<?php while (frankenphp_handle_request(function () { sleep(30); })) { }",
    );
    let global = format!(
        "admin off\nfrankenphp {{\nnum_threads 1\nworker {{\nfile {}\nnum 1\n}}\n}}",
        www.path().join("public/worker.php").display()
    );
    let routes = format!(
        "root * {}\nphp_server {{\nworker {{\nfile {}\nnum 1\nmatch /slow\nrequest_timeout 3s\n}}\n}}",
        www.path().join("public").display(),
        www.path().join("slow.php").display(),
    );
    let server = Server::caddyfile(caddyfile(&global, &routes)).start();
    server.allow_log("the request took longer");
    server.allow_log("worker killed");
    hang_until_traced(&server, "/slow", "slow.php:");
    server.get("/worker.php").assert_status(200);
    // The new worker is as ready as the previous one.
    server.get("/slow").assert_status(504);
}

#[test]
fn a_release_that_a_link_leads_to_is_taken_by_a_reload() {
    let script = |release: &str| {
        format!(
            "<?php while (frankenphp_handle_request(function () {{ echo '{release} ', basename(dirname(__DIR__)); }})) {{ }}"
        )
    };
    let www = Www::new()
        .file("one/public/worker.php", script("first"))
        .file("two/public/worker.php", script("second"));
    let current = www.path().join("current");
    symlink("one", &current).expect("a link");
    let file = current.join("public/worker.php");
    let server = Server::caddyfile(worker_caddyfile(&file, "num 1")).start();
    server.get("/worker.php").assert(200, "first one");
    let fresh = www.path().join("fresh");
    symlink("two", &fresh).expect("a link");
    std::fs::rename(&fresh, &current).expect("switched");
    // The booted script stays active until a reload.
    server.get("/worker.php").assert(200, "first one");
    server.signal(Signal::USR1);
    server.wait_log("\"reloaded\"");
    let second = || server.get("/worker.php").text() == "second two";
    assert!(process::wait_until(PATIENCE, second));
    server.get("/worker.php").assert(200, "second two");
}

/// The target of a symbolic link in the configuration may contain any bytes.
#[test]
fn a_script_behind_a_name_that_is_not_utf8_runs_in_its_pool() {
    use std::os::unix::ffi::OsStrExt;
    let www = site();
    let release = www.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::rename(www.path().join("public"), &release).expect("renamed");
    for link in ["configured", "served"] {
        symlink(&release, www.path().join(link)).expect("a link");
    }
    let routes = format!(
        "root * {}\nphp_server {{\nworker {} 1\n}}",
        www.path().join("served").display(),
        www.path().join("configured/worker.php").display(),
    );
    let server = Server::caddyfile(caddyfile("", &routes)).start();
    let answer = "worker 1 SCRIPT_NAME=/worker.php PATH_INFO=/a REQUEST_URI=/worker.php/a";
    server.get("/worker.php/a").assert(200, answer);
}
