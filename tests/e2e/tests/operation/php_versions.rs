//! Several PHP versions in one server: each pool runs the configured one. The versions are folders
//! as in packages. All contain the same build, so the mapped files of a process show its version.

use std::fs;
use std::path::PathBuf;

use howdah_testkit::{PATIENCE, Server, ServerBuilder, Www, howdah, howdah_php, process};
use howdah_tests::admin::{Admin, ON};
use tempfile::TempDir;

/// Folder of the `howdah-php.so` of this process.
const WHICH: &str = "<?php
function which(): string {
    preg_match('~/(php[0-9.]+)/howdah-php\\.so~', file_get_contents('/proc/self/maps'), $found);
    return ($found[1] ?? 'another') . ' of ' . basename($_SERVER['SCRIPT_NAME'] ?? '');
}
";
const CLASSIC: &str = "<?php require __DIR__ . '/which.inc'; echo which();";
const WORKER: &str = "<?php
require __DIR__ . '/which.inc';
while (frankenphp_handle_request(function () { echo which(); })) {
}
";

/// `bin/howdah` and `lib/howdah/phpX.Y`, as in a package.
struct Installation(TempDir);

impl Installation {
    fn new(versions: &[&str]) -> Self {
        let own = Self(tempfile::tempdir().expect("a directory"));
        fs::create_dir(own.0.path().join("bin")).expect("made");
        // A symbolic link would be resolved to the build.
        fs::copy(howdah(), own.howdah()).expect("copied");
        for version in versions {
            own.install(version);
        }
        own
    }

    fn howdah(&self) -> PathBuf {
        self.0.path().join("bin/howdah")
    }

    fn install(&self, version: &str) {
        let folder = self.0.path().join(format!("lib/howdah/php{version}"));
        fs::create_dir_all(&folder).expect("made");
        for name in ["howdah-php", "howdah-php.so"] {
            fs::copy(howdah_php().with_file_name(name), folder.join(name)).expect("copied");
        }
    }

    fn serve(&self, www: &Www, php: &str, site: &str) -> ServerBuilder {
        Server::caddyfile(text(www, php, site)).program(self.howdah())
    }
}

fn www() -> Www {
    Www::new()
        .file("which.inc", WHICH)
        .file("classic.php", CLASSIC)
        .file("app.php", WORKER)
        .file("other.php", WORKER)
}

/// A Caddyfile with two sites. The first uses the server's PHP, the second these lines.
fn text(www: &Www, php: &str, site: &str) -> String {
    let root = www.path().display();
    format!(
        "{{\n{ON}\nfrankenphp {{\nnum_threads 1\n{php}\n}}\n}}\n\
         http://first.test:0 {{\nbind 127.0.0.1\nroot * {root}\nphp_server {{\nworker {root}/app.php 1\n}}\n}}\n\
         http://second.test:0 {{\nbind 127.0.0.1\nroot * {root}\nphp_server {{\n{site}\n}}\n}}\n"
    )
}

#[track_caller]
fn assert_site(server: &Server, host: &str, path: &str, expected: &str) {
    let request = howdah_testkit::Request::get(path).host(host);
    server.send(&request).assert(200, expected);
}

fn pools(admin: &Admin) -> Vec<String> {
    let status = admin.get("/status").json();
    let pools = status["pools"].as_array().expect("pools").iter();
    pools
        .map(|pool| {
            assert_eq!(pool["php"], status["php"], "all are the same build");
            assert_eq!(pool["ready"], 1, "{pool}");
            pool["name"].as_str().expect("a name").to_owned()
        })
        .collect()
}

/// Names of the pools that a reload has renewed.
fn reloaded(admin: &Admin, target: &str) -> Vec<String> {
    let reply = admin.post(target);
    reply.assert_status(200);
    let reply = reply.json();
    let pools = reply["pools"].as_array().expect("pools").iter();
    pools
        .map(|pool| pool["pool"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn pools_of_two_versions_run_next_to_each_other() {
    let installation = Installation::new(&["8.2", "9.7", "9.8"]);
    let www = www();
    let root = www.path().display();
    let pool = "pool php9.7 {\nworkers 1\nphp 9.7\n}";
    let site = format!("php 9.7\nworker {root}/other.php 1\n");
    let server = installation
        .serve(&www, &format!("php 8.2\n{pool}"), &site)
        .start();
    let admin = Admin::of(&server);
    let check = |second: &str| {
        assert_site(
            &server,
            "first.test",
            "/classic.php",
            "php8.2 of classic.php",
        );
        assert_site(&server, "first.test", "/app.php", "php8.2 of app.php");
        let expected = |script| format!("{second} of {script}.php");
        assert_site(&server, "second.test", "/classic.php", &expected("classic"));
        assert_site(&server, "second.test", "/other.php", &expected("other"));
    };
    check("php9.7");
    assert_eq!(pools(&admin), ["php", "php9.7", "app", "other"]);

    // A pool of the second PHP can be reloaded alone, or all pools of both.
    assert_eq!(reloaded(&admin, "/reload?pool=other"), ["other"]);
    assert_eq!(
        reloaded(&admin, "/reload"),
        ["php", "php9.7", "app", "other"]
    );
    check("php9.7");

    // A crashed worker is replaced by one of the same PHP.
    let victims = server.workers();
    for victim in &victims {
        process::kill(victim.pid, rustix::process::Signal::KILL).expect("it is ours");
    }
    for victim in &victims {
        server.allow_log(&victim.pid.to_string());
    }
    server.allow_log("crashed");
    assert!(process::wait_until(PATIENCE, || {
        let status = admin.get("/status").json();
        let mut pools = status["pools"].as_array().expect("pools").iter();
        pools.all(|pool| pool["ready"] == 1 && pool["counters"]["crashed"] == 1)
    }));
    check("php9.7");

    // The version of one pool changes, and the other pools stay unchanged.
    let file = server.temp_dir().with_file_name("Caddyfile");
    let site = format!("php 9.8\nworker {root}/other.php 1\n");
    let pool = "pool php9.8 {\nworkers 1\nphp 9.8\n}";
    fs::write(&file, text(&www, &format!("php 8.2\n{pool}"), &site)).expect("written");
    admin.post("/reload").assert_status(200);
    server.wait_log("worker other: php changed from 9.7 to 9.8");
    check("php9.8");

    // A missing version changes nothing, and the message says what to install.
    fs::write(&file, text(&www, "php 8.2", "php 9.9")).expect("written");
    server.expect_log("howdah-php9.9");
    let refused = admin.post("/reload");
    let text = refused.text();
    assert_ne!(refused.status(), 200, "{text}");
    assert!(text.contains("install the package howdah-php9.9"), "{text}");
    check("php9.8");
    assert_eq!(pools(&admin), ["php", "php9.8", "app", "other"]);
}

#[test]
fn a_version_that_is_missing_is_named_at_the_start() {
    let installation = Installation::new(&["8.2", "9.7"]);
    let www = www();
    let started = installation.serve(&www, "", "php 9.9").try_start();
    let ended = started.expect_err("9.9 is not installed");
    ended.assert(2, "install the package howdah-php9.9");
    ended.assert(2, "8.2, 9.7");
}

#[test]
fn a_start_that_fails_in_one_php_ends_the_others() {
    let installation = Installation::new(&["8.2", "9.7"]);
    let www = www().file("broken.php", "<?php throw new Exception('no database');");
    let site = format!(
        "php 9.7\nworker {{\nfile {}/broken.php\nnum 1\nmax_consecutive_failures 1\n}}",
        www.path().display()
    );
    let started = installation.serve(&www, "php 8.2", &site).try_start();
    // Dropping the server checks that no process remains.
    started
        .expect_err("it does not boot")
        .assert(2, "no database");
}
