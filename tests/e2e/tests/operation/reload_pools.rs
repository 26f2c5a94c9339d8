//! A changed configuration with different pools: PHP is started next to the active one and takes
//! over, and the previous one exits without failed requests.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use howdah_testkit::{PATIENCE, Request, Server, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::traffic::during;
use howdah_tests::{encode, www};

/// Responds with the variable VERSION of its boot. Waits at a gate if the request names one.
const WORKER: &str = "<?php
if (is_file(__DIR__ . '/broken')) {
    throw new Exception('no such database');
}
$version = $_SERVER['VERSION'] ?? 'none';
while (frankenphp_handle_request(function () use ($version) {
    if (isset($_GET['gate'])) { require 'GATE'; }
    echo $version;
})) {
}
";

struct Site {
    www: Www,
    server: Server,
    admin: Admin,
    file: PathBuf,
}

/// A worker pool for the paths that start with its name.
fn worker(www: &Www, name: &str, lines: &str) -> String {
    let root = www.path().display();
    format!("worker {{\nname {name}\nfile {root}/{name}.php\nmatch /{name}*\n{lines}\n}}\n")
}

fn text(www: &Www, php: &str, workers: &[String]) -> String {
    let (root, workers) = (www.path().display(), workers.concat());
    format!(
        "{{\n{ON}\nmetrics\nfrankenphp {{\n{php}\n}}\n}}\nhttp://:0 {{\nbind 127.0.0.1\nroot * {root}\n\
         php_server {{\n{workers}}}\n}}\n"
    )
}

impl Site {
    fn start(php: &str, workers: impl FnOnce(&Www) -> Vec<String>) -> Self {
        let script = WORKER.replace("GATE", &www().join("gate.php").display().to_string());
        let www = Www::new()
            .file("app.php", &script)
            .file("other.php", &script)
            .file("classic.php", "<?php echo ini_get('precision');");
        let first = text(&www, php, &workers(&www));
        let server = Server::caddyfile(first).start();
        let admin = Admin::of(&server);
        let file = server.temp_dir().with_file_name("Caddyfile");
        Self {
            www,
            server,
            admin,
            file,
        }
    }

    fn write(&self, php: &str, workers: &[String]) {
        fs::write(&self.file, text(&self.www, php, workers)).expect("written");
    }

    fn worker(&self, name: &str, lines: &str) -> String {
        worker(&self.www, name, lines)
    }

    #[track_caller]
    fn reload(&self) {
        self.admin.post("/reload").assert_status(200);
    }

    /// Number of shared segments of pools that the server has mapped.
    fn segments(&self) -> usize {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.server.pid()));
        let maps = maps.expect("readable");
        maps.matches("memfd:howdah-pool").count()
    }

    /// Waits until earlier configurations have no process left, only this number of pools and
    /// workers.
    #[track_caller]
    fn assert_left(&self, pools: usize, workers: usize) {
        let gone = || self.admin.get("/status").json()["leaving"].is_null();
        assert!(process::wait_until(PATIENCE, gone), "PHP is still leaving");
        // A root zygote, one zygote per pool, and workers. Spares are not counted, because they
        // start later.
        let spare = |process: &process::Process| process.command.ends_with(" spare");
        let count = || {
            let processes = self.server.processes();
            processes.iter().filter(|process| !spare(process)).count()
        };
        let there = process::wait_until(PATIENCE, || count() == 1 + pools + workers);
        assert!(there, "{:#?}", self.server.processes());
        let unmapped = process::wait_until(PATIENCE, || self.segments() == pools);
        assert!(unmapped, "{} segments", self.segments());
    }
}

fn version(number: usize) -> String {
    format!("num 1\nenv VERSION {number}")
}

#[test]
fn no_request_fails_while_pools_change() {
    let site = Site::start("num_threads 1", |www| vec![worker(www, "app", &version(0))]);
    let latest: Vec<_> = (0..4).map(|_| AtomicUsize::new(0)).collect();
    let round = |client: &mut howdah_tests::traffic::Client<'_>| {
        let response = client.exchange(&Request::get("/app")).expect("a response");
        response.assert_status(200);
        let number: usize = response.text().parse().expect("a version");
        let before = latest[client.number].swap(number, Ordering::Relaxed);
        assert!(number >= before, "{number} after {before}");
        let classic = client
            .exchange(&Request::get("/classic.php"))
            .expect("a response");
        classic.assert_status(200);
    };
    let ((), rounds) = during(&site.server, latest.len(), round, |traffic| {
        let app = |number| site.worker("app", &version(number));
        let other = site.worker("other", "num 1");
        let steps: [(&str, Vec<String>); 6] = [
            // A variable, a number, one pool more, another order, a setting of PHP, one pool fewer.
            ("num_threads 1", vec![app(1)]),
            ("num_threads 2", vec![app(2)]),
            ("num_threads 2", vec![app(3), other.clone()]),
            ("num_threads 2", vec![other.clone(), app(4)]),
            ("num_threads 1\nphp_ini precision 9", vec![other, app(5)]),
            ("num_threads 1", vec![app(6)]),
        ];
        for (php, workers) in &steps {
            site.write(php, workers);
            site.reload();
            traffic.wait(4);
        }
        // Several changes without a pause.
        for number in 7..10 {
            site.write("num_threads 1", &[app(number)]);
            site.reload();
        }
        traffic.wait(8);
    });
    assert!(rounds > 0);
    site.server.get("/app").assert(200, "9");
    site.assert_left(2, 2);
    let descriptors = fs::read_dir(format!("/proc/{}/fd", site.server.pid()));
    let before = descriptors.expect("readable").count();
    site.write("num_threads 1", &[site.worker("app", &version(10))]);
    site.reload();
    site.assert_left(2, 2);
    // Connections to the admin API come and go meanwhile. A tree that remains would have more
    // descriptors.
    let closed = process::wait_until(PATIENCE, || {
        let now = fs::read_dir(format!("/proc/{}/fd", site.server.pid()));
        now.expect("readable").count() <= before + 2
    });
    assert!(closed, "descriptors stay open");
}

#[test]
fn settings_of_all_pools_change() {
    let site = Site::start("num_threads 1\nphp_ini precision 7", |_| vec![]);
    site.server.get("/classic.php").assert(200, "7");
    site.write("num_threads 1\nphp_ini precision 9", &[]);
    site.reload();
    site.server.get("/classic.php").assert(200, "9");
    site.assert_left(1, 1);
}

#[test]
fn a_boot_that_fails_changes_nothing() {
    let site = Site::start("num_threads 1", |www| vec![worker(www, "app", &version(1))]);
    fs::write(site.www.path().join("broken"), "").expect("written");
    site.write("num_threads 3", &[site.worker("app", &version(2))]);
    site.server
        .allow_log("before it called frankenphp_handle_request()");
    site.server.expect_log("no such database");
    let refused = site.admin.post("/reload");
    refused.assert_status(400);
    let error = refused.json()["error"].as_str().expect("a text").to_owned();
    assert!(error.starts_with("pool app did not start: "), "{error}");
    assert!(error.contains("no such database"), "{error}");
    site.server.get("/app").assert(200, "1");
    site.assert_left(2, 2);
    fs::remove_file(site.www.path().join("broken")).expect("removed");
    site.reload();
    site.server.get("/app").assert(200, "2");
    site.assert_left(2, 4);
}

#[test]
fn a_request_ends_in_the_pool_where_it_began() {
    let site = Site::start("num_threads 1", |www| vec![worker(www, "app", &version(1))]);
    let mut gate = site.server.gate("gate");
    let mut running = site.server.connect();
    let target = format!("/app?gate={}", encode(gate.path()));
    running.send(&Request::get(target)).expect("sent");
    gate.reached();
    site.write("num_threads 1", &[]);
    site.reload();
    let status = site.admin.get("/status").json();
    let names = |list: &str| -> Vec<String> {
        let pools = status[list].as_array().expect("a list").iter();
        let names = pools.map(|pool| pool["name"].as_str().expect("a name").to_owned());
        names.collect()
    };
    assert_eq!(names("pools"), ["php"]);
    assert!(names("leaving").contains(&"app".to_owned()), "{status}");
    let requests = site.admin.get("/requests").json();
    let held = requests["requests"].as_array().expect("a list").iter();
    let held: Vec<_> = held.filter(|request| request["pool"] == "app").collect();
    assert_eq!(held.len(), 1, "{requests}");
    assert!(held[0]["pid"].is_number(), "{requests}");
    gate.open(1);
    let response = running.receive("GET").expect("a response");
    assert_eq!(response.status(), 200);
    assert!(response.text().ends_with('1'), "{}", response.text());
    site.assert_left(1, 1);
}

#[test]
fn numbers_go_on_under_a_pool_s_name() {
    let site = Site::start("num_threads 1", |www| vec![worker(www, "app", &version(1))]);
    let counted = |pool: &str| {
        let page = site.admin.get("/metrics").text();
        let line =
            format!("howdah_http_requests_total{{pool=\"{pool}\",method=\"GET\",status=\"2xx\"}} ");
        page.lines()
            .find_map(|own| own.strip_prefix(&line)?.parse::<u32>().ok())
    };
    let reaches = |pool: &str, count: u32| {
        let there = process::wait_until(PATIENCE, || counted(pool) == Some(count));
        assert!(there, "{pool}: {:?}", counted(pool));
    };
    site.server.get("/app").assert(200, "1");
    reaches("app", 1);
    let other = site.worker("other", "num 1\nenv VERSION o");
    site.write("num_threads 1", &[other, site.worker("app", &version(2))]);
    let done = site.admin.post("/reload").json();
    let generation = |name: &str| {
        let mut pools = done["pools"].as_array().expect("a list").iter();
        pools.find(|pool| pool["pool"] == name).expect("it")["generation"].clone()
    };
    assert_eq!(
        (generation("app"), generation("other")),
        (2.into(), 1.into())
    );
    site.server.get("/app").assert(200, "2");
    site.server.get("/other").assert(200, "o");
    reaches("app", 2);
    reaches("other", 1);
    site.write(
        "num_threads 1",
        &[site.worker("other", "num 1\nenv VERSION p")],
    );
    site.reload();
    site.server.get("/other").assert(200, "p");
    reaches("other", 2);
    reaches("app", 2);
}
