//! PHP processes that overwrite memory shared with the server: the pool recovers within about a
//! second, and no other pool is affected. The test uses a PHP executable that writes to configured
//! places (`worker/tests/faults.c`).
//!
//! `HOWDAH_FAULTY_PHP` names it, and `make -C worker faults` builds it. Without the variable the
//! tests are skipped. `HOWDAH_SCRIBBLES` sets the number of writes (default 300).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use howdah_testkit::{Request, Server, Www};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::caddyfile;

const FAULTS: &str = "HOWDAH_FAULTY_PHP";
/// A pool recovers in a second. The limit is larger, because tests share the machine.
const HEALED: Duration = Duration::from_secs(5);

/// Part of the segment, index of a word, and the value that is written.
const WRITES: [(&str, u64, u64); 20] = [
    // Head and cells of the request ring.
    ("front", 0, 1 << 40),
    ("front", 0, 0),
    ("front", 8, 1),
    ("front", 17, u64::MAX),
    ("parked", 0, 0),
    ("parked", 0, u64::MAX),
    // Wake and stop words, the worker's own words, its state.
    ("worker", 0, 1 << 32),
    ("worker", 8, 77),
    ("worker", 16, 0x4000_0000),
    ("completions", 0, 0),
    ("completions", 1, u64::MAX),
    // The state, the request, the position of the front, and the worker's committed position and
    // messages.
    ("slot", 0, 0),
    ("slot", 0, 0x1_0001),
    ("slot", 1, 3),
    ("slot", 8, 1 << 20),
    ("slot", 16, 12_345),
    ("slot", 17, 9),
    ("slot", 19, 1),
    ("response", 0, 0xffff_ffff),
    ("header", 0, 0),
];

struct Scribbling {
    server: Server,
    admin: Admin,
    www: Www,
}

/// A server with a pool whose processes write, and a pool whose processes do not.
fn serve(php: &Path, lines: &str) -> Scribbling {
    let www = Www::new();
    www.write("index.php", "<?php echo 'from php';");
    www.write(
        "worker.php",
        "<?php while (frankenphp_handle_request(static function (): void { echo getmypid(); }));",
    );
    let (root, php) = (www.path().display(), php.display());
    let global = format!(
        "{ON}\nfrankenphp {{\nnum_threads 2\nmax_wait_time 30s\nphp {php}\n\
         worker {{\nname app\nfile {root}/worker.php\nnum 1\n{lines}\n}}\n}}"
    );
    let site = format!(
        "root * {root}\nroute {{\nrewrite /app* /worker.php\nrewrite /index* /index.php\nphp\n}}"
    );
    let server = Server::caddyfile(caddyfile(&global, &site))
        .env("HOWDAH_FAULT", "scribble")
        .env("HOWDAH_SCRIBBLE", www.path().join("write"))
        .start();
    let admin = Admin::of(&server);
    // Messages about a broken process and about its requests.
    for text in [
        "has corrupted the pool's shared memory",
        "worker killed",
        "worker died",
        "crash reports were dropped",
        "the PHP process crashed",
        "the PHP process sent a malformed response",
    ] {
        server.allow_log(text);
    }
    Scribbling { server, admin, www }
}

impl Scribbling {
    /// Configures the write of the next request.
    fn aim(&self, (part, index, word): (&str, u64, u64)) {
        self.www
            .write("write", format!("{part} {index} {word:x}\n"));
    }

    fn replaced(&self, pool: &str) -> u64 {
        let page = self.admin.get("/metrics").text();
        let name = format!("howdah_php_segments_replaced_total{{pool=\"{pool}\"}} ");
        let line = page.lines().find_map(|line| line.strip_prefix(&name));
        line.expect("a counter").parse().expect("a number")
    }

    /// Lets a request to `target` write, and waits until the pool responds again.
    fn heals(&self, target: &str, what: (&str, u64, u64)) {
        self.aim(what);
        let begun = Instant::now();
        let (mut whole, mut seen) = (0, Vec::new());
        // More requests than processes, because a later process may find data of an earlier one.
        while whole < 6 {
            let status = self.server.send(&Request::get(target)).status();
            whole = if status == 200 { whole + 1 } else { 0 };
            seen.push(status);
            assert!(begun.elapsed() < HEALED, "{what:?}: {seen:?}");
        }
    }
}

fn count() -> usize {
    let count = std::env::var("HOWDAH_SCRIBBLES").ok();
    count.map_or(300, |count| count.parse().expect("a number"))
}

fn faulty_php() -> Option<PathBuf> {
    let php = std::env::var_os(FAULTS).map(PathBuf::from);
    if php.is_none() {
        println!("skipped: {FAULTS} does not name a PHP executable of `make -C worker faults`");
    }
    php
}

#[test]
fn a_pool_heals_and_no_other_notices() {
    let Some(php) = faulty_php() else { return };
    let scribbling = serve(&php, "");
    let app = scribbling.server.get("/app").text();
    for what in WRITES.into_iter().cycle().take(count()) {
        scribbling.heals("/index", what);
    }
    scribbling
        .server
        .expect_log("has corrupted the pool's shared memory");
    assert!(scribbling.replaced("php") > 0);
    assert_eq!(scribbling.replaced("app"), 0);
    assert_eq!(
        scribbling.server.get("/app").text(),
        app,
        "the same process"
    );
    scribbling.admin.get("/health").assert_status(200);
    scribbling.admin.post("/reload").assert_status(200);
    scribbling.server.get("/index").assert(200, "from php");
}

#[test]
fn a_concurrent_pool_heals() {
    let Some(php) = faulty_php() else { return };
    let scribbling = serve(&php, "concurrency 8");
    for what in WRITES.into_iter().cycle().take(count() / 5) {
        scribbling.heals("/app", what);
    }
    assert!(scribbling.replaced("app") > 0);
    assert_eq!(scribbling.replaced("php"), 0);
    scribbling.server.get("/index").assert(200, "from php");
}

/// Damage by one request is found without a further request.
#[test]
fn an_idle_pool_heals_and_is_not_healthy_before() {
    let Some(php) = faulty_php() else { return };
    let scribbling = serve(&php, "");
    scribbling.server.get("/index").assert(200, "from php");
    scribbling.aim(("front", 0, 1 << 40));
    scribbling.server.get("/index").assert(200, "from php");
    scribbling
        .server
        .wait_log("has corrupted the pool's shared memory");
    assert!(howdah_testkit::process::wait_until(HEALED, || {
        scribbling.admin.get("/health").status() == 200
    }));
    assert_eq!(scribbling.replaced("php"), 1);
    scribbling.server.get("/index").assert(200, "from php");
}

#[test]
fn a_reload_repairs_the_header() {
    let Some(php) = faulty_php() else { return };
    let scribbling = serve(&php, "");
    scribbling.aim(("header", 0, 0));
    scribbling.server.get("/index").assert(200, "from php");
    scribbling.admin.post("/reload?pool=php").assert_status(200);
    scribbling.server.get("/index").assert(200, "from php");
    scribbling
        .server
        .expect_log("the header of the segment is overwritten");
    assert_eq!(scribbling.replaced("php"), 1);
}
