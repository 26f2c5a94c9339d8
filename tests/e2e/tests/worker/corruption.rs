//! PHP processes that overwrite what they share with the server: the pool heals within a second or so, and no
//! other pool notices. With a PHP executable that writes where it is told to (`worker/tests/faults.c`).
//!
//! `HOWDAH_FAULTY_PHP` names it, `make -C worker faults` makes it. Without the variable the tests are skipped.
//! `HOWDAH_SCRIBBLES` says how many writes there are (default 300).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use howdah_testkit::{Request, Server, Www};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::caddyfile;

const FAULTS: &str = "HOWDAH_FAULTY_PHP";
/// A pool heals in a second. More is allowed here, where tests share the machine.
const HEALED: Duration = Duration::from_secs(5);

/// The part of the segment, the index of a word, and what is written there.
const WRITES: [(&str, u64, u64); 20] = [
    // Head and cells of the request ring.
    ("front", 0, 1 << 40),
    ("front", 0, 0),
    ("front", 8, 1),
    ("front", 17, u64::MAX),
    ("parked", 0, 0),
    ("parked", 0, u64::MAX),
    // To wake and to stop, its own words, its life.
    ("worker", 0, 1 << 32),
    ("worker", 8, 77),
    ("worker", 16, 0x4000_0000),
    ("completions", 0, 0),
    ("completions", 1, u64::MAX),
    // The state, the request, what the front has taken, what the worker has committed and said.
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

/// A server with a pool whose processes write, and one of which none does.
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
    // What a broken process leaves behind, and the requests that it had in hand.
    for text in [
        "has corrupted the pool's shared memory",
        "worker killed",
        "worker died",
        "crash reports were dropped",
        "the PHP process died",
        "the PHP process sent a malformed response",
    ] {
        server.allow_log(text);
    }
    Scribbling { server, admin, www }
}

impl Scribbling {
    /// Has the next request write.
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

    /// Has `target` written at, and waits until it is answered again.
    fn heals(&self, target: &str, what: (&str, u64, u64)) {
        self.aim(what);
        let begun = Instant::now();
        let (mut whole, mut seen) = (0, Vec::new());
        // More than there are processes: what one leaves behind another may meet.
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

/// What a request leaves behind is found without another.
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
