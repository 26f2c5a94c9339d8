//! `watch`: changed files reload their pool.

use howdah_testkit::{PATIENCE, Server, Www, process};
use howdah_tests::admin::{VERSION_WORKER, worker_site};

fn application() -> Www {
    Www::new()
        .file("worker.php", VERSION_WORKER)
        .file("version.php", "<?php return 'one';")
        .file("src/Thing.php", "<?php")
}

fn start(www: &Www, watch: &str) -> Server {
    let text = worker_site(www.path(), watch).replace("{www}", &www.path().display().to_string());
    let server = Server::caddyfile(text).start();
    server.wait_log("watching files");
    server.get("/").assert(200, "one");
    server
}

#[track_caller]
fn becomes(server: &Server, version: &str) {
    let changed = process::wait_until(PATIENCE, || server.get("/").text() == version);
    assert!(changed, "{version} never came");
}

#[test]
fn a_saved_file_reloads() {
    let www = application();
    let server = start(&www, "watch {www}/**/*.php");
    // Often enough to fall into the interval in which OPcache does not check files.
    for version in ["two", "three", "four"] {
        www.write("version.php", format!("<?php return '{version}';"));
        becomes(&server, version);
    }
    // As editors save: to a new file, which then replaces the old one.
    let new = www.write("version.php~", "<?php return 'five';");
    std::fs::rename(new, www.path().join("version.php")).expect("renamed");
    becomes(&server, "five");
}

#[test]
fn several_patterns_and_new_folders() {
    let www = application();
    let server = start(&www, "watch {www}/src\nwatch {www}/config/*.yaml");
    www.write("version.php", "<?php return 'two';");
    www.write("src/deep/er/New.txt", "x");
    becomes(&server, "two");
    www.write("version.php", "<?php return 'three';");
    www.write("config/app.yaml", "x");
    becomes(&server, "three");
}

#[test]
fn a_mistake_is_shown_and_the_old_generation_serves() {
    let www = application();
    let server = start(&www, "watch {www}/**/*.php");
    server.allow_log("version.php");
    server.allow_log("before it called frankenphp_handle_request()");
    www.write("version.php", "<?php return 'two");
    let line = server.wait_log("not reloaded");
    assert!(line.raw.contains("version.php"), "{}", line.raw);
    server.get("/").assert(200, "one");
    www.write("version.php", "<?php return 'mended';");
    becomes(&server, "mended");
}

#[test]
fn other_files_do_not() {
    let www = application();
    let server = start(&www, "watch {www}/*.php");
    for name in [
        "data.txt",
        "src/Thing.php",
        ".git/x.php",
        "version.php~",
        "4913",
        ".version.php.swp",
    ] {
        www.write(name, "x");
    }
    // Events arrive in order, and the log names the first that counts.
    www.write("version.php", "<?php return 'two';");
    becomes(&server, "two");
    let lines = server.log().containing("files changed");
    let files: Vec<_> = lines.iter().filter_map(|line| line.text("file")).collect();
    let expected = www.path().join("version.php").display().to_string();
    assert_eq!(files, [expected]);
}

#[test]
fn a_wrong_pattern_stops_the_start() {
    let www = application();
    let ended = Server::caddyfile(worker_site(www.path(), "watch \"src/[a\""))
        .try_start()
        .expect_err("it does not start");
    assert_eq!(ended.code, Some(2), "{}", ended.text());
    assert!(ended.text().contains("src/[a"), "{}", ended.text());
}

#[test]
fn the_limit_of_watched_folders_is_reported() {
    let limited = [
        "unshare",
        "-Ur",
        "sh",
        "-c",
        "echo 2 > /proc/sys/user/max_inotify_watches && \"$@\"; exit $?",
        "sh",
    ];
    let permitted = std::process::Command::new(limited[0])
        .args(&limited[1..])
        .arg("true")
        .output();
    if !permitted.is_ok_and(|output| output.status.success()) {
        println!("skipped: limits cannot be set here");
        return;
    }
    let www = application();
    for folder in ["a", "b", "c"] {
        www.write(&format!("{folder}/x.php"), "<?php");
    }
    let text = worker_site(www.path(), "watch {www}/**/*.php");
    let text = text.replace("{www}", &www.path().display().to_string());
    let server = Server::caddyfile(text).through(limited).start();
    server.expect_log("raise it with sysctl fs.inotify.max_user_watches");
    server.wait_log("watching files");
    // The files that can be watched are watched.
    server.get("/").assert(200, "one");
    www.write("version.php", "<?php return 'two';");
    becomes(&server, "two");
}
