//! Deployments: a reload serves the new code in both modes, whatever the way of deployment and
//! whichever files OPcache does not check.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use howdah_testkit::{PATIENCE, Request, Response, Server, Signal, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::traffic::{Client, during};
use howdah_tests::{encode, www};

/// Classic mode, and worker mode with code that only requests load.
const INDEX: &str = "<?php require __DIR__ . '/part.php'; echo part();";
const WORKER: &str = "<?php
while (frankenphp_handle_request(function () {
    require_once __DIR__ . '/part.php';
    echo part();
})) {
}
";

/// Files are cached at once, although they were written just now.
const CACHED: &str = "php_ini opcache.file_update_protection 0\n";

fn part(version: &str) -> String {
    format!("<?php function part() {{ return '{version}'; }}")
}

/// Both modes at `root`, which may be a symbolic link.
fn site(root: &Path, php: &str) -> String {
    let root = root.display();
    format!(
        "{{\n{ON}\nfrankenphp {{\nnum_threads 2\n{CACHED}{php}\n}}\n}}\nhttp://:0 {{\nbind 127.0.0.1\nroot * {root}\n\
         php_server {{\nworker {{\nname app\nfile {root}/worker.php\nmatch /worker*\nnum 2\n}}\n}}\n}}\n"
    )
}

fn release(version: &str) -> Www {
    Www::new()
        .file("index.php", INDEX)
        .file("worker.php", WORKER)
        .file("part.php", part(version))
}

/// Checks the response of each process, also with files that OPcache has cached before.
#[track_caller]
fn assert_both(server: &Server, version: &str) {
    for _ in 0..4 {
        server.get("/index.php").assert(200, version);
        server.get("/worker").assert(200, version);
    }
}

#[track_caller]
fn reload(admin: &Admin) -> Option<String> {
    let done = admin.post("/reload");
    done.assert_status(200);
    done.json()["fresh"].as_str().map(str::to_owned)
}

/// Writes a file with the modification time of the previous one, as `rsync --times` and `cp -p` can
/// do.
fn write_with_time(path: &Path, text: &str, time: SystemTime) {
    fs::write(path, text).expect("written");
    let file = File::options().write(true).open(path).expect("opened");
    file.set_times(FileTimes::new().set_modified(time))
        .expect("set");
}

/// Code that a new tree compiles in advance is equal to code that is compiled by an inclusion.
#[test]
fn classes_are_there_above_their_declarations() {
    let www = release("one")
        .file(
            "above.php",
            "<?php\nrequire __DIR__ . '/parent.php';\necho Later::NAME, later(), get_parent_class('Child');\n\
             class Later { const NAME = 'later'; }\nfunction later() { return ' and '; }\n\
             class Child extends Later {}\n",
        )
        .file("parent.php", "<?php\nclass Elsewhere {}\n")
        .file("broken.php", "<?php\nclass {\n");
    let server = Server::caddyfile(site(www.path(), "php_ini opcache.validate_timestamps 0"));
    let server = server.start();
    let admin = Admin::of(&server);
    server.allow_log("PHP Parse error");
    for _ in 0..2 {
        server.get("/broken.php");
        for _ in 0..2 {
            server.get("/above.php").assert(200, "later and Later");
        }
        assert!(reload(&admin).is_some());
    }
}

#[test]
fn files_that_are_copied_over_are_seen() {
    for php in [
        "",
        "php_ini opcache.revalidate_freq 3600",
        "php_ini opcache.validate_timestamps 0",
        "php_ini opcache.validate_timestamps 0\nphp_ini opcache.use_cwd 0",
        "php_ini opcache.revalidate_path 1",
        "php_ini opcache.enable 0",
    ] {
        let www = release("one");
        let server = Server::caddyfile(site(www.path(), php)).start();
        let admin = Admin::of(&server);
        assert_both(&server, "one");
        for version in ["two", "three"] {
            www.write("part.php", part(version));
            let fresh = reload(&admin);
            assert_eq!(
                fresh.is_some(),
                php.contains("validate_timestamps 0"),
                "{php}"
            );
            assert_both(&server, version);
        }
    }
}

#[test]
fn files_whose_times_are_those_of_before_are_seen() {
    for php in ["", "php_ini opcache.validate_timestamps 0"] {
        let www = release("one");
        let path = www.path().join("part.php");
        let time = SystemTime::now() - Duration::from_secs(86_400);
        write_with_time(&path, &part("one"), time);
        let server = Server::caddyfile(site(www.path(), php)).start();
        assert_both(&server, "one");
        write_with_time(&path, &part("two"), time);
        reload(&Admin::of(&server));
        assert_both(&server, "two");
    }
}

#[test]
fn a_link_to_the_next_release_is_followed() {
    for php in [
        "",
        "php_ini opcache.revalidate_freq 3600",
        "php_ini opcache.validate_timestamps 0",
        "php_ini realpath_cache_ttl 3600\nphp_ini opcache.validate_timestamps 0",
    ] {
        for resolve in ["true", "false"] {
            let (one, two, www) = (release("one"), release("two"), Www::new());
            // As after a deployment long before the start of the server.
            let time = SystemTime::now() - Duration::from_secs(86_400);
            for (www, version) in [(&one, "one"), (&two, "two")] {
                write_with_time(&www.path().join("part.php"), &part(version), time);
            }
            let current = www.path().join("current");
            symlink(one.path(), &current).expect("a link");
            let text = site(&current, php).replace(
                "php_server {\n",
                &format!("php_server {{\nresolve_root_symlink {resolve}\n"),
            );
            let server = Server::caddyfile(text).start();
            let admin = Admin::of(&server);
            assert_both(&server, "one");
            let switch = |to: &Www| {
                let next = www.path().join("next");
                symlink(to.path(), &next).expect("a link");
                fs::rename(&next, &current).expect("switched");
                reload(&admin);
            };
            switch(&two);
            assert_both(&server, "two");
            // Switches back.
            switch(&one);
            assert_both(&server, "one");
        }
    }
}

#[test]
fn classes_that_were_preloaded_are_new() {
    let www = Www::new()
        .file(
            "Release.php",
            "<?php final class Release { const V = 'one'; }",
        )
        .file("preload.php", "<?php require __DIR__ . '/Release.php';")
        .file("index.php", "<?php echo Release::V;")
        .file(
            "worker.php",
            "<?php while (frankenphp_handle_request(function () { echo Release::V; })) {}",
        );
    let user = rustix::process::getuid().is_root();
    let preload = format!(
        "php_ini opcache.preload {}/preload.php\n{}",
        www.path().display(),
        if user {
            "php_ini opcache.preload_user www-data"
        } else {
            ""
        }
    );
    let server = Server::caddyfile(site(www.path(), &preload)).start();
    let admin = Admin::of(&server);
    assert_both(&server, "one");
    let class = |version| format!("<?php final class Release {{ const V = '{version}'; }}");
    www.write("Release.php", class("two"));
    assert!(reload(&admin).is_some_and(|reason| reason.contains("preload")));
    assert_both(&server, "two");
    // A reload of one pool, too, because all pools share one set of preloaded classes.
    www.write("Release.php", class("three"));
    let done = admin.post("/reload?pool=app");
    done.assert_status(200);
    assert_eq!(done.json()["pools"].as_array().map(Vec::len), Some(2));
    assert_both(&server, "three");
    www.write("Release.php", class("four"));
    server.signal(Signal::USR1);
    server.wait_line("reloaded", |line| {
        line.message() == "reloaded" && line.number("generation") == Some(4)
    });
    assert_both(&server, "four");
}

/// Waits until files that were just made are older than the start of a server: newer ones are compiled anew by each
/// reload.
fn wait_until_older() {
    let seconds = || {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.expect("after 1970").as_secs()
    };
    let made = seconds();
    assert!(process::wait_until(PATIENCE, || seconds() > made + 1));
}

/// Switches a link in one step.
fn switch(www: &Www, link: &str, to: &str) {
    let next = www.path().join("next");
    symlink(to, &next).expect("a link");
    fs::rename(next, www.path().join(link)).expect("switched");
}

#[test]
fn links_inside_an_application_are_followed() {
    let www = Www::new()
        .file("one/part.php", part("one"))
        .file("two/part.php", part("two"))
        .file("one.php", "<?php echo 'one ';")
        .file("two.php", "<?php echo 'two ';")
        .file(
            "deep.php",
            "<?php require_once __DIR__ . '/lib/part.php'; echo part();",
        )
        .file(
            "worker.php",
            "<?php require_once __DIR__ . '/lib/part.php';
             while (frankenphp_handle_request(function () { echo part(); })) {}",
        );
    let point_to = |version: &str| {
        switch(&www, "lib", version);
        switch(&www, "index.php", &format!("{version}.php"));
    };
    point_to("one");
    wait_until_older();
    let server = Server::caddyfile(site(www.path(), "")).start();
    let admin = Admin::of(&server);
    for version in ["one", "two", "one"] {
        point_to(version);
        reload(&admin);
        for _ in 0..4 {
            server.get("/index.php").assert(200, &format!("{version} "));
            server.get("/deep.php").assert(200, version);
            server.get("/worker").assert(200, version);
        }
    }
    server.stop();
}

#[test]
fn a_folder_that_takes_the_place_of_another_is_seen() {
    let top = Www::new();
    for version in ["one", "two"] {
        for (file, text) in [
            ("index.php", INDEX),
            ("worker.php", WORKER),
            ("part.php", &part(version)),
        ] {
            let path = top.write(&format!("{version}/public/{file}"), text);
            // As of a reproducible build.
            write_with_time(&path, text, SystemTime::UNIX_EPOCH + Duration::from_secs(1));
        }
    }
    let path = |name: &str| top.path().join(name);
    fs::rename(path("one"), path("app")).expect("renamed");
    wait_until_older();
    let server = Server::caddyfile(site(&path("app/public"), "")).start();
    let admin = Admin::of(&server);
    assert_both(&server, "one");
    fs::rename(path("app"), path("one")).expect("renamed");
    fs::rename(path("two"), path("app")).expect("renamed");
    let reason = reload(&admin).expect("a fresh tree");
    assert!(reason.ends_with("is a different folder now"), "{reason}");
    assert_both(&server, "two");
    assert_eq!(reload(&admin), None);
    server.stop();
}

#[test]
fn changes_of_php_ini_are_read() {
    let www = release("one").file(
        "agent.php",
        "<?php echo ini_get('user_agent'), ini_get('from');",
    );
    let etc = Www::new()
        .file("php.ini", "user_agent=one")
        .file("conf.d/readme", "");
    let scanned = etc.path().join("conf.d");
    let server = Server::caddyfile(site(www.path(), ""))
        .env("PHPRC", etc.path())
        // With the default folders.
        .env("PHP_INI_SCAN_DIR", format!(":{}", scanned.display()))
        .start();
    let admin = Admin::of(&server);
    server.get("/agent.php").assert(200, "one");
    etc.write("php.ini", "user_agent=two");
    let reason = reload(&admin).expect("a fresh tree");
    assert!(reason.ends_with("php.ini has changed"), "{reason}");
    server.get("/agent.php").assert(200, "two");
    etc.write("conf.d/more.ini", "from=more");
    let reason = reload(&admin).expect("a fresh tree");
    assert!(reason.ends_with("more.ini has changed"), "{reason}");
    server.get("/agent.php").assert(200, "twomore");
    assert_eq!(reload(&admin), None);
    server.stop();
}

#[test]
fn without_a_configuration_file() {
    let www = release("one");
    let server = Server::builder(&www)
        .ini("opcache.validate_timestamps", "0")
        .ini("opcache.file_update_protection", "0")
        .start();
    server.get("/index.php").assert(200, "one");
    www.write("part.php", part("two"));
    server.signal(Signal::HUP);
    server.wait_line("reloaded", |line| line.message() == "reloaded");
    server.get("/index.php").assert(200, "two");
}

#[test]
fn a_reload_without_news_is_new_processes_alone() {
    let www = release("one").file(
        "apcu.php",
        "<?php echo apcu_enabled() ? apcu_inc('n') : 'none';",
    );
    let server = Server::caddyfile(site(www.path(), "")).start();
    let admin = Admin::of(&server);
    assert_both(&server, "one");
    let root = |server: &Server| {
        let mut processes = server.processes().into_iter();
        let root = processes.find(|process| process.command.starts_with("howdah: php "));
        root.expect("a root zygote").pid
    };
    let before = root(&server);
    server.get("/apcu.php").assert_status(200);
    for _ in 0..3 {
        assert_eq!(reload(&admin), None);
    }
    assert_eq!(root(&server), before);
    let text = server.get("/apcu.php").text();
    assert!(["2", "none"].contains(&&*text), "{text}");
}

/// About 60 KiB of OPcache's memory each.
fn big(release: usize, number: usize) -> String {
    let function = |at: usize| {
        format!(
            "function f{number}_{at}($a, $b) {{ $x = ['k{at}' => $a, 'v' => $b, 's' => 'release {release}']; \
             foreach ($x as $k => $v) {{ if ($v === {at}) {{ return $k . '-{at}'; }} }} return strlen($a) . $b; }}\n"
        )
    };
    format!("<?php\n{}", (0..60).map(function).collect::<String>())
}

const LOADS_ALL: &str = "<?php
foreach (glob(__DIR__ . '/big*.php') as $file) { require_once $file; }
$own = 0;
foreach (get_included_files() as $file) { $own += opcache_is_script_cached($file) ? 1 : 0; }
echo $own, ' of ', count(get_included_files()), opcache_get_status(false)['cache_full'] ? ', full' : '';
";

/// Counters of OPcache, and its memory use in percent.
const WORK: &str = "<?php
['opcache_statistics' => $done, 'memory_usage' => $memory] = opcache_get_status(false);
$used = $memory['used_memory'] + $memory['wasted_memory'];
echo json_encode([
    'hits' => $done['hits'], 'misses' => $done['misses'],
    'restarts' => $done['oom_restarts'] + $done['hash_restarts'] + $done['manual_restarts'],
    'full' => intdiv(100 * $used, $used + $memory['free_memory']),
]);
";

/// Work of OPcache for a response with all files cached: hits, misses and restarts.
#[track_caller]
fn work(server: &Server, expected: &str) -> [i64; 3] {
    let counts = || {
        let done = server.get("/work.php").json();
        ["hits", "misses", "restarts"].map(|name| done[name].as_i64().expect("a number"))
    };
    let before = counts();
    server.get("/index.php").assert(200, expected);
    let after = counts();
    std::array::from_fn(|at| after[at] - before[at])
}

/// A response of the last release costs as much work as one of the first.
#[test]
fn opcache_does_not_fill_up_over_releases() {
    const FILES: usize = 30;
    let www = Www::new();
    let current = www.path().join("current");
    // The application uses a fifth of this memory.
    let php = "php_ini opcache.memory_consumption 9\nphp_ini opcache.interned_strings_buffer 1\n\
               php_ini opcache.max_accelerated_files 200";
    let mut server: Option<(Server, Admin)> = None;
    let mut first = None;
    for number in 0..50 {
        let release = www.path().join(format!("releases/{number}"));
        fs::create_dir_all(&release).expect("made");
        fs::write(release.join("index.php"), LOADS_ALL).expect("written");
        fs::write(release.join("work.php"), WORK).expect("written");
        fs::write(release.join("worker.php"), WORKER).expect("written");
        for file in 0..FILES {
            fs::write(release.join(format!("big{file}.php")), big(number, file)).expect("written");
        }
        let next = www.path().join("next");
        symlink(&release, &next).expect("a link");
        fs::rename(&next, &current).expect("switched");
        let (server, admin) = server.get_or_insert_with(|| {
            let server = Server::caddyfile(site(&current, php)).start();
            let admin = Admin::of(&server);
            (server, admin)
        });
        if number > 0 {
            reload(admin);
        }
        server.get("/index.php").assert_status(200);
        let expected = format!("{0} of {0}", FILES + 1);
        server.get("/index.php").assert(200, &expected);
        let [hits, misses, restarts] = work(server, &expected);
        assert_eq!((misses, restarts), (0, 0), "release {number}");
        assert_eq!(*first.get_or_insert(hits), hits, "release {number}");
        let full = server.get("/work.php").json()["full"].as_i64();
        assert!(full.is_some_and(|full| full >= 20), "{full:?}");
    }
}

#[test]
fn no_request_fails_while_releases_change() {
    for php in ["", "php_ini opcache.validate_timestamps 0"] {
        let www = release("0");
        let server = Server::caddyfile(site(www.path(), php)).start();
        let admin = Admin::of(&server);
        let version = |response: Response| -> usize {
            response.assert_status(200);
            response.text().parse().expect("a version")
        };
        let round = |client: &mut Client<'_>| {
            for target in ["/index.php", "/worker"] {
                let response = client.exchange(&Request::get(target)).expect("a response");
                assert!(version(response) < 7);
            }
        };
        let ((), rounds) = during(&server, 4, round, |traffic| {
            for number in 1..7 {
                // In one atomic step, as deployments do.
                let next = www.write("next", part(&number.to_string()));
                fs::rename(next, www.path().join("part.php")).expect("renamed");
                reload(&admin);
                for target in ["/index.php", "/worker"] {
                    assert_eq!(version(server.get(target)), number);
                }
                traffic.wait(4);
            }
        });
        assert!(rounds > 0);
    }
}

#[test]
fn a_fresh_tree_whose_boot_fails_keeps_the_old_one() {
    let www = release("one");
    let server =
        Server::caddyfile(site(www.path(), "php_ini opcache.validate_timestamps 0")).start();
    let admin = Admin::of(&server);
    assert_both(&server, "one");
    www.write(
        "worker.php",
        "<?php throw new Exception('no such database');",
    );
    server.allow_log("no such database");
    server.allow_log("before it called frankenphp_handle_request()");
    server.expect_log("not reloaded");
    let failed = admin.post("/reload");
    failed.assert_status(500);
    let error = failed.json()["error"].as_str().expect("a text").to_owned();
    assert!(error.starts_with("pool app was not reloaded"), "{error}");
    assert!(error.contains("no such database"), "{error}");
    assert_both(&server, "one");
    www.write("worker.php", WORKER);
    www.write("part.php", part("two"));
    reload(&admin);
    assert_both(&server, "two");
}

#[test]
fn opcache_does_not_fill_up_with_files_that_are_replaced() {
    let www = Www::new()
        .file("index.php", LOADS_ALL)
        .file("worker.php", WORKER);
    let php = "php_ini opcache.memory_consumption 32\nphp_ini opcache.interned_strings_buffer 4";
    let mut server: Option<(Server, Admin)> = None;
    let mut fresh = Vec::new();
    for number in 0..8 {
        // More files each time: at first a few, then so many that their wasted memory matters.
        let count = if number == 0 { 30 } else { 4 * number };
        for file in 0..count {
            www.write(&format!("big{file}.php"), big(number, file));
        }
        let (server, admin) = server.get_or_insert_with(|| {
            let server = Server::caddyfile(site(www.path(), php)).start();
            let admin = Admin::of(&server);
            (server, admin)
        });
        if number > 0 {
            fresh.push(reload(admin).is_some());
        }
        server.get("/index.php").assert_status(200);
        server.get("/index.php").assert(200, "31 of 31");
    }
    assert!(fresh.contains(&true) && fresh.contains(&false), "{fresh:?}");
}

const STATUS: &str = "<?php
$status = opcache_get_status(false);
echo json_encode([
    'on' => $status['opcache_enabled'], 'pending' => $status['restart_pending'],
    'cached' => opcache_is_script_cached(__DIR__ . '/index.php'), 'full' => $status['cache_full'],
]);
";

fn opcache(server: &Server) -> serde_json::Value {
    let response = server.get("/status.php");
    response.assert_status(200);
    response.json()
}

/// A worker holds its code at the same time, because it waits at a gate.
#[test]
fn opcache_reset_works_at_once_with_worker_pools() {
    let gate = www().join("gate.php").display().to_string();
    let worker = format!(
        "<?php require __DIR__ . '/part.php';
while (frankenphp_handle_request(function () {{
    if (isset($_GET['gate'])) {{ require '{gate}'; }}
    if (isset($_GET['reset'])) {{ var_dump(opcache_reset()); }}
    echo part();
}})) {{
}}
"
    );
    for isolation in ["", "isolation request", "concurrency 4"] {
        let www = release("one")
            .file("worker.php", &worker)
            .file("status.php", STATUS)
            .file("reset.php", "<?php var_dump(opcache_reset());")
            .file(
                "invalidate.php",
                "<?php var_dump(opcache_invalidate(__DIR__ . '/index.php', true));",
            );
        let text = site(
            www.path(),
            "php_ini opcache.force_restart_timeout 1\nphp_ini opcache.validate_timestamps 0",
        );
        let text = text.replace("match /worker*", &format!("match /worker*\n{isolation}"));
        let server = Server::caddyfile(text).start();
        server.get("/index.php").assert(200, "one");
        assert_eq!(opcache(&server)["cached"], true);
        let mut gate = server.gate("gate");
        let mut running = server.connect();
        let target = format!("/worker?gate={}", encode(gate.path()));
        running.send(&Request::get(target)).expect("sent");
        gate.reached();
        www.write("part.php", part("two"));
        server.get("/reset.php").assert(200, "bool(true)\n");
        for _ in 0..2 {
            let status = opcache(&server);
            assert_eq!(
                (&status["on"], &status["pending"]),
                (&true.into(), &false.into())
            );
            server.get("/index.php").assert(200, "two");
            assert_eq!(opcache(&server)["cached"], true);
        }
        server.get("/invalidate.php").assert(200, "bool(true)\n");
        assert_eq!(opcache(&server)["cached"], false);
        // Longer than force_restart_timeout by PHP's clock.
        let begun = SystemTime::now();
        while begun
            .elapsed()
            .is_ok_and(|age| age < Duration::from_secs(2))
        {
            server.get("/index.php").assert(200, "two");
        }
        gate.open(1);
        let response = running.receive("GET").expect("a response");
        response.assert_status(200);
        assert!(response.text().ends_with("one"), "{}", response.text());
        // In worker mode this is a reload.
        let done = server.get("/worker?reset=1");
        done.assert_status(200);
        server.wait_log("pool reloaded");
        server.get("/worker").assert(200, "two");
    }
}

#[test]
fn opcache_reset_works_in_place_without_worker_pools() {
    let www = release("one")
        .file("status.php", STATUS)
        .file("reset.php", "<?php var_dump(opcache_reset());");
    let text = site(www.path(), "php_ini opcache.validate_timestamps 0");
    let start = text.find("worker {").expect("a worker");
    let end = text[start..].find('}').expect("its end") + start + 1;
    let server = Server::caddyfile([&text[..start], &text[end..]].concat()).start();
    server.get("/index.php").assert(200, "one");
    www.write("part.php", part("two"));
    server.get("/reset.php").assert(200, "bool(true)\n");
    let status = opcache(&server);
    assert_eq!(
        (&status["on"], &status["cached"]),
        (&true.into(), &false.into())
    );
    server.get("/index.php").assert(200, "two");
}

/// The restart of OPcache when it is full and part of its memory is wasted.
#[test]
fn opcache_that_is_worn_out_is_replaced() {
    const FILES: usize = 20;
    let www = release("one")
        .file("all.php", LOADS_ALL)
        .file("status.php", STATUS)
        .file("reset.php", "<?php var_dump(opcache_reset());");
    for file in 0..FILES {
        www.write(&format!("big{file}.php"), big(0, file));
    }
    let php = "php_ini opcache.memory_consumption 16\nphp_ini opcache.interned_strings_buffer 4";
    let server = Server::caddyfile(site(www.path(), php)).start();
    server.allow_log("OPcache is full");
    let admin = Admin::of(&server);
    let expected = format!("{0} of {0}", FILES + 1);
    let replaced = || !server.log().containing("outdated code").is_empty();
    for _ in 0..30 {
        server.get("/all.php").assert_status(200);
        if replaced() {
            break;
        }
        server.get("/reset.php").assert(200, "bool(true)\n");
        assert_eq!(opcache(&server)["on"], true);
        assert_both(&server, "one");
    }
    server.wait_line("reloaded", |line| line.message() == "reloaded");
    server.get("/all.php").assert_status(200);
    server.get("/all.php").assert(200, &expected);
    assert_eq!(opcache(&server)["full"], false);
    let shown = admin.get("/status").json()["opcache"].clone();
    assert_eq!(shown["enabled"], 1, "{shown}");
    admin.command(&["status"]).assert(0, "OPcache: ");
}

#[test]
fn a_full_opcache_is_reported_with_its_setting() {
    let www = release("one").file("all.php", LOADS_ALL);
    for file in 0..100 {
        www.write(&format!("big{file}.php"), big(0, file));
    }
    let php = "php_ini opcache.memory_consumption 10\nphp_ini opcache.interned_strings_buffer 4";
    let server = Server::caddyfile(site(www.path(), php)).start();
    let admin = Admin::of(&server);
    server.get("/all.php").assert_status(200);
    server.expect_log("raise opcache.memory_consumption");
    let metric = "howdah_php_opcache_full 1";
    let page = || admin.get("/metrics").text();
    let is_reported = process::wait_until(PATIENCE, || page().lines().any(|line| line == metric));
    assert!(is_reported, "{}", page());
    let page = page();
    for name in [
        "howdah_php_opcache_memory_bytes{state=\"free\"}",
        "howdah_php_opcache_hits_total",
        "howdah_php_opcache_keys_max",
        "howdah_php_opcache_restarts_total{reason=\"out_of_memory\"} 0",
    ] {
        assert!(page.contains(name), "{name}: {page}");
    }
    admin
        .command(&["status"])
        .assert(0, "raise opcache.memory_consumption");
    server.wait_log("raise opcache.memory_consumption");
}

/// Templates that an application compiles to PHP files and includes.
#[test]
fn files_that_requests_write_are_cached_and_seen() {
    let worker = "<?php
while (frankenphp_handle_request(function () {
    $file = __DIR__ . '/written.php';
    if (isset($_GET['write'])) {
        file_put_contents($file . '~', '<?php return ' . var_export($_GET['write'], true) . ';');
        rename($file . '~', $file);
    }
    $text = include $file;
    $late = abs($_SERVER['REQUEST_TIME'] - time()) > 5 ? ' late' : '';
    echo $text, opcache_is_script_cached($file) ? ' cached' : '', $late;
})) {
}
";
    for more in ["", "concurrency 4", "isolation request"] {
        let www = release("one").file("worker.php", worker);
        // The default settings of OPcache.
        let text = site(www.path(), "").replace(CACHED, "");
        let text = text.replace("match /worker*", &format!("match /worker*\n{more}"));
        let server = Server::caddyfile(text).start();
        for text in ["one", "two"] {
            server
                .get(&format!("/worker?write={text}"))
                .assert_status(200);
            let expected = format!("{text} cached");
            let cached = || server.get("/worker").text() == expected;
            let limit = Duration::from_secs(20);
            assert!(
                process::wait_until(limit, cached),
                "{more}: {}",
                server.get("/worker").text()
            );
        }
    }
}
