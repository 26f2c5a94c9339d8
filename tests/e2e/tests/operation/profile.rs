//! Profiles: in each mode, the time of PHP is assigned to the right place. Invalid requests for a
//! profile are refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use howdah_testkit::{
    ClosedPort, Connection, EndOnDrop, PATIENCE, Request, Response, Server, ServerBuilder, Www,
    process,
};
use howdah_tests::admin::{Admin, ON, worker_site};
use howdah_tests::browser::Browser;
use howdah_tests::caddyfile;
use howdah_tests::devtools::Page;

use crate::privileges::{Place, WEB, status_line};
use crate::rights::{site_with, write};

/// Work of a request: `?spins`, `?sleeps`, `?waits` for a stream, `?sorts` in a function of PHP, or `?deep`, for about
/// 100 ms.
const WORK: &str = r"
function tight(): int
{
    $sum = 1;
    for ($i = 0; $i < 100_000; $i++) {
        $sum = ($sum * 31 + $i) % 1_000_003;
    }
    return $sum;
}

final class Work
{
    public static function spins(): void
    {
        $end = hrtime(true) + 100_000_000;
        while (hrtime(true) < $end) {
            tight();
        }
    }

    public static function sleeps(): void
    {
        for ($i = 0; $i < 5; $i++) {
            usleep(20_000);
        }
    }

    public static function waits(): void
    {
        [$one, $other] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        stream_set_timeout($one, 0, 100_000);
        fgetc($one);
    }

    public static function sorts(): void
    {
        mt_srand(1);
        $numbers = range(1, 50_000);
        shuffle($numbers);
        $end = hrtime(true) + 100_000_000;
        while (hrtime(true) < $end) {
            $copy = $numbers;
            sort($copy);
        }
    }

    public static function deep(int $depth): int
    {
        if ($depth > 0) {
            return 1 + self::deep($depth - 1);
        }
        $end = hrtime(true) + 100_000_000;
        while (hrtime(true) < $end) {
            tight();
        }
        return 1;
    }
}

function handle(): void
{
    match (true) {
        isset($_GET['spins']) => Work::spins(),
        isset($_GET['sleeps']) => Work::sleeps(),
        isset($_GET['waits']) => Work::waits(),
        isset($_GET['sorts']) => Work::sorts(),
        isset($_GET['deep']) => Work::deep(200),
        default => null,
    };
    echo 'done';
}
";

/// Folded stacks and their microseconds.
struct Stacks(Vec<(Vec<String>, u64)>);

impl Stacks {
    fn parse(folded: &str) -> Self {
        let stacks = folded.lines().map(|line| {
            let (stack, time) = line.rsplit_once(' ').expect("a stack and its time");
            let frames = stack.split(';').map(str::to_owned).collect();
            (frames, time.parse().expect("microseconds"))
        });
        Self(stacks.collect())
    }

    /// Share of the time in stacks that match, in percent.
    fn share(&self, matches: impl Fn(&[String]) -> bool) -> u64 {
        let sum = |stacks: &mut dyn Iterator<Item = &(Vec<String>, u64)>| -> u64 {
            stacks.map(|(_, time)| time).sum()
        };
        let all = sum(&mut self.0.iter());
        let found = sum(&mut self.0.iter().filter(|(frames, _)| matches(frames)));
        found * 100 / all.max(1)
    }

    #[track_caller]
    fn assert_most(&self, percent: u64, matches: impl Fn(&[String]) -> bool) {
        let share = self.share(matches);
        assert!(share >= percent, "{share} % of\n{}", self.text());
    }

    fn text(&self) -> String {
        let lines = self
            .0
            .iter()
            .map(|(frames, time)| format!("{time} {}\n", frames.join(";")));
        lines.collect()
    }
}

/// Whether a frame of the stack starts with this text, including the innermost frame.
fn has(frames: &[String], start: &str) -> bool {
    frames.iter().any(|frame| frame.starts_with(start))
}

/// Numbers in the header.
fn counts(response: &Response) -> BTreeMap<String, u64> {
    let summary = response.header("X-Howdah-Profile").expect("a summary");
    let words: Vec<&str> = summary
        .split([' ', ',', ';'])
        .filter(|word| !word.is_empty())
        .collect();
    let pairs = words
        .windows(2)
        .filter_map(|pair| Some((pair[1].to_owned(), pair[0].parse().ok()?)));
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in pairs {
        counts.entry(name).or_insert(count);
    }
    counts
}

/// Takes a profile while clients send these requests one after another.
#[track_caller]
fn profile(server: &Server, query: &str, targets: &[&str]) -> Response {
    let admin = Admin::of(server);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for target in targets {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    server.get(target).assert(200, "done");
                }
            });
        }
        let _end = EndOnDrop(&over);
        let response = admin.post(&format!("/profile?{query}"));
        response.assert_status(200);
        response
    })
}

fn stacks(server: &Server, query: &str, targets: &[&str]) -> Stacks {
    let response = profile(server, &format!("format=folded&{query}"), targets);
    Stacks::parse(&response.text())
}

/// Number of the source line that contains this text.
fn line_of(source: &str, text: &str) -> usize {
    let at = source.lines().position(|line| line.contains(text));
    at.expect("the text is there") + 1
}

/// Checks that apply to every mode, at a rate at which another thread takes the samples, and at one at which PHP's own
/// does.
fn check(server: &Server, pool: &str, file: &str, source: &str) {
    for hz in [200, 1000] {
        check_at(hz, server, pool, file, source);
    }
}

fn check_at(hz: u32, server: &Server, pool: &str, file: &str, source: &str) {
    let query = &*format!("seconds=1&hz={hz}&pool={pool}");
    let spins = stacks(server, query, &["/?spins=1"]);
    let line = line_of(source, "for ($i = 0; $i < 100_000");
    // Between two instructions of a loop, the engine reports the location at the jump to its start.
    let lines = [line, line + 1].map(|line| format!("tight {file}:{line}"));
    spins.assert_most(80, |frames| lines.contains(&frames[frames.len() - 1]));
    let call = format!(
        "Work::spins {file}:{}",
        line_of(source, "            tight();")
    );
    spins.assert_most(80, |frames| frames.contains(&call));
    spins.assert_most(80, |frames| frames[0] == "GET /");

    let sleeps = stacks(server, query, &["/?sleeps=1"]);
    let call = format!("Work::sleeps {file}:{}", line_of(source, "usleep(20_000)"));
    sleeps.assert_most(80, |frames| {
        frames.ends_with(&[call.clone(), "usleep".into(), "[sleep]".into()])
    });
    let used = stacks(
        server,
        &format!("{query}&time=cpu"),
        &["/?sleeps=1", "/?spins=1"],
    );
    used.assert_most(80, |frames| has(frames, "tight "));

    let waits = stacks(server, query, &["/?waits=1"]);
    let call = format!("Work::waits {file}:{}", line_of(source, "fgetc("));
    waits.assert_most(80, |frames| {
        frames.contains(&call) && has(frames, "fgetc") && has(frames, "[poll")
    });

    // No instruction of PHP runs meanwhile.
    let sorts = stacks(server, query, &["/?sorts=1"]);
    let call = format!("Work::sorts {file}:{}", line_of(source, "sort($copy)"));
    sorts.assert_most(60, |frames| {
        frames.ends_with(&[call.clone(), "sort".into()])
    });

    let response = profile(server, &format!("format=folded&{query}"), &["/?deep=1"]);
    let deep = Stacks::parse(&response.text());
    deep.assert_most(80, |frames| {
        frames
            .iter()
            .filter(|frame| frame.starts_with("Work::deep "))
            .count()
            == 201
    });
    let counts = counts(&response);
    let of = |name: &str| counts.get(name).copied().unwrap_or_default();
    let missing = of("unreadable") + of("without");
    assert!(of("taken") >= 100, "{counts:?}");
    assert!(missing * 20 <= of("taken"), "{counts:?}");
}

fn script(end: &str) -> String {
    format!("<?php\n{WORK}\n{end}\n")
}

#[test]
fn time_of_a_classic_pool_is_where_it_was_spent() {
    let source = script("handle();");
    let www = Www::new().file("index.php", &source);
    let site = format!("root * {}\nphp_server", www.path().display());
    let server = Server::caddyfile(caddyfile(ON, &site)).start();
    check(
        &server,
        "php",
        &www.path().join("index.php").display().to_string(),
        &source,
    );
}

#[test]
fn time_of_a_worker_is_where_it_was_spent() {
    let source = script("while (frankenphp_handle_request('handle'));");
    let www = Www::new().file("worker.php", &source);
    let server = Server::caddyfile(worker_site(www.path(), "")).start();
    check(
        &server,
        "app",
        &www.path().join("worker.php").display().to_string(),
        &source,
    );
}

/// A process that is neither root's nor dumpable: nothing is read from it, it counts its samples itself.
#[test]
fn workers_without_privileges_are_profiled() {
    let Some(place) = Place::new() else { return };
    let source = script("handle();");
    write(&place, "www/index.php", &source, 0o644);
    let server = site_with(&place, "", "", "php_server", "").start();
    let owners: Vec<_> = (server.workers().iter())
        .map(|worker| status_line(worker.pid, "Uid"))
        .collect();
    let (uid, _) = WEB;
    assert!(!owners.is_empty());
    for owner in owners {
        assert_eq!(owner, format!("{uid} {uid} {uid} {uid}"));
    }
    let both = stacks(&server, "seconds=2&hz=200", &["/?sleeps=1", "/?spins=1"]);
    both.assert_most(20, |frames| {
        has(frames, "Work::sleeps ") && frames.ends_with(&["usleep".into(), "[sleep]".into()])
    });
    both.assert_most(20, |frames| {
        frames.last().is_some_and(|last| last.starts_with("tight "))
    });
}

/// Compiled code keeps the line and the caller, and answers the profiler at its loops.
#[test]
fn time_of_code_that_the_jit_compiled_is_where_it_was_spent() {
    let end = "while (frankenphp_handle_request(static function (): void {
        if (isset($_GET['jit'])) {
            echo opcache_get_status(false)['jit']['on'] ? 'compiled, ' : '';
        }
        handle();
    }));";
    let source = script(end);
    let www = Www::new().file("worker.php", &source);
    let jit = "num_threads 1\nphp_ini opcache.jit tracing\nphp_ini opcache.jit_buffer_size 32M";
    let text = worker_site(www.path(), "").replacen("num_threads 1", jit, 1);
    let server = Server::caddyfile(text).start();
    server.get("/?jit=1").assert(200, "compiled, done");
    let file = www.path().join("worker.php").display().to_string();
    check(&server, "app", &file, &source);
}

#[test]
fn concurrent_requests_show_their_waits() {
    let source = script("while (frankenphp_handle_request('handle'));");
    let www = Www::new().file("worker.php", &source);
    let file = www.path().join("worker.php").display().to_string();
    let server = Server::caddyfile(worker_site(www.path(), "concurrency 20")).start();
    server.allow_hogs();
    let targets = ["/?sleeps=1", "/?sleeps=2", "/?waits=1", "/?waits=2"];
    let waits = stacks(&server, "seconds=1&hz=200&pool=app", &targets);
    let sleep = format!("Work::sleeps {file}:{}", line_of(&source, "usleep(20_000)"));
    let read = format!("Work::waits {file}:{}", line_of(&source, "fgetc("));
    waits.assert_most(30, |frames| {
        frames.contains(&sleep) && frames.last().is_some_and(|frame| frame == "[sleep]")
    });
    waits.assert_most(30, |frames| {
        frames.contains(&read)
            && frames
                .last()
                .is_some_and(|frame| frame.starts_with("[poll"))
    });
    let used = stacks(
        &server,
        "seconds=1&hz=200&pool=app&time=cpu",
        &["/?sleeps=1", "/?sleeps=2", "/?waits=1", "/?spins=1"],
    );
    used.assert_most(80, |frames| has(frames, "tight "));
}

#[test]
fn routes_are_distinguished_by_parts_that_are_not_ids() {
    let www = Www::new().file("index.php", script("handle();"));
    let site = format!("root * {}\nphp_server", www.path().display());
    let server = Server::caddyfile(caddyfile(ON, &site)).start();
    let targets = [
        "/articles/17/edit?sleeps=1",
        "/articles/1234/edit?sleeps=1",
        "/other?sleeps=1",
    ];
    let all = stacks(&server, "seconds=1", &targets);
    all.assert_most(50, |frames| frames[0] == "GET /articles/{id}/edit");
    all.assert_most(20, |frames| frames[0] == "GET /other");
    let chosen = stacks(&server, "seconds=1&route=/articles/*", &targets);
    chosen.assert_most(100, |frames| frames[0] == "GET /articles/{id}/edit");
}

#[test]
fn the_command_writes_each_format() {
    let www = Www::new().file("index.php", script("handle();"));
    let site = format!("root * {}\nphp_server", www.path().display());
    let server = Server::caddyfile(caddyfile(ON, &site)).start();
    let admin = Admin::of(&server);
    let dir = tempfile::tempdir().expect("a directory");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                server.get("/?sleeps=1").assert(200, "done");
            }
        });
        let _end = EndOnDrop(&over);
        for (name, start) in [
            ("flame.svg", &b"<?xml"[..]),
            ("out.pprof", &[0x1f, 0x8b]),
            ("speedscope.json", b"{\"$schema\""),
            ("out.folded", b"GET /"),
        ] {
            let path = dir.path().join(name);
            let path = path.to_str().expect("UTF-8");
            let ended = admin.command(&["profile", "--seconds", "1", "-o", path]);
            ended.assert(0, "1 s at 100 Hz: ");
            ended.assert(0, &format!("written to {path}"));
            let written = std::fs::read(path).expect("written");
            assert!(written.starts_with(start), "{name}");
        }
        let words = ["profile", "--seconds", "1", "--format", "folded", "-o", "-"];
        admin.command(&words).assert(0, "usleep;[sleep] ");
        // A file that cannot be written completely does not replace the previous one.
        let limit = ["sh", "-c", "ulimit -f 1; exec \"$0\" \"$@\""];
        let path = dir.path().join("flame.svg");
        let before = std::fs::read(&path).expect("written");
        let words = ["profile", "--seconds", "1", "--address", &admin.address];
        let ended = ServerBuilder::command(words).arg("-o").arg(&path);
        let ended = ended.through(limit).run();
        ended.assert(1, "flame.svg cannot be written: File too large");
        assert_eq!(std::fs::read(&path).expect("kept"), before);
    });
    assert_eq!(
        std::fs::read_dir(dir.path()).expect("a directory").count(),
        4
    );
}

#[test]
fn orders_that_fail_report_the_error() {
    let www = Www::new().file("index.php", "<?php echo 'done';");
    let site = format!("root * {}\nphp_server", www.path().display());
    let server = Server::caddyfile(caddyfile(ON, &site)).start();
    let admin = Admin::of(&server);
    let unknown = admin.command(&["profile", "--pool", "nobody", "-o", "/dev/null/x.svg"]);
    unknown.assert(1, "cannot be written");
    let unknown = admin.command(&["profile", "--pool", "nobody", "-o", "-", "--format", "svg"]);
    unknown.assert(1, "pool nobody does not exist; the pools are: php");
    let closed = ClosedPort::new();
    let address = closed.address().to_string();
    ServerBuilder::command([
        "profile",
        "-o",
        "-",
        "--format",
        "svg",
        "--address",
        &address,
    ])
    .run()
    .assert(1, &format!("no server answers at {address}"));
    ServerBuilder::command(["profile", "-o", "flame.png", "--address", &address])
        .run()
        .assert(2, "add --format svg, pprof, speedscope or folded");
    thread::scope(|scope| {
        let first = scope.spawn(|| admin.post("/profile?seconds=2"));
        server.wait_log("taking a profile");
        let second = admin.post("/profile?seconds=2");
        second.assert_status(409);
        assert!(
            second.text().contains("another profile"),
            "{}",
            second.text()
        );
        first.join().expect("no panic").assert_status(200);
    });
    admin.post("/profile?seconds=1").assert_status(200);
}

/// A profile ends when its client disconnects or the server shuts down.
#[test]
fn a_profile_ends_when_its_client_disconnects() {
    let www = Www::new().file("index.php", "<?php echo 'done';");
    let site = format!("root * {}\nphp_server", www.path().display());
    let server = Server::caddyfile(caddyfile(ON, &site)).start();
    let admin = Admin::of(&server);
    let port = admin.address.rsplit_once(':').expect("HOST:PORT").1;
    let address = format!("127.0.0.1:{port}").parse().expect("an address");
    let mut client = Connection::open(address).expect("a connection");
    let long = Request::new("POST", "/profile?seconds=3000");
    client.send(&long).expect("sent");
    server.wait_log("taking a profile");
    drop(client);
    let again = || admin.post("/profile?seconds=1").status() == 200;
    assert!(process::wait_until(PATIENCE, again), "the profile goes on");

    let mut client = Connection::open(address).expect("a connection");
    client.send(&long).expect("sent");
    let begun = || server.log().containing("taking a profile").len() >= 3;
    assert!(process::wait_until(PATIENCE, begun));
    server.stop();
    // The client may receive a message, or only the end of the connection.
    if let Ok(response) = client.receive("POST") {
        response.assert_status(503);
    }
}

/// Number of wakeups of the threads other than PHP's.
fn wakes(server: &Server) -> u64 {
    let mut wakes = 0;
    for worker in server.workers() {
        let folder = format!("/proc/{}/task", worker.pid);
        for task in std::fs::read_dir(folder).expect("a process") {
            let task = task.expect("a thread");
            if task.file_name().to_str() == Some(&worker.pid.to_string()) {
                continue;
            }
            let status = std::fs::read_to_string(task.path().join("status")).expect("a thread");
            let switches = status
                .lines()
                .filter(|line| line.contains("ctxt_switches:"));
            let switches =
                switches.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            wakes += switches.sum::<u64>();
        }
    }
    wakes
}

#[test]
fn nothing_runs_while_there_is_no_profile() {
    let source = "<?php usleep((int) ($_GET['us'] ?? 20000)); echo 'done';";
    let www = Www::new().file("index.php", source);
    let site = format!("root * {}\nphp_server", www.path().display());
    let server = Server::caddyfile(caddyfile(ON, &site)).start();
    for round in 0..2 {
        let quiet = || {
            let before = wakes(&server);
            for _ in 0..50 {
                server.get("/").assert(200, "done");
            }
            wakes(&server) == before
        };
        // The last wakeup of a profile may still be pending.
        assert!(process::wait_until(PATIENCE, quiet), "round {round}");
        if round == 0 {
            let before = wakes(&server);
            profile(&server, "seconds=1", &["/"]);
            assert!(wakes(&server) > before + 50);
            let before = wakes(&server);
            profile(&server, "seconds=1&hz=1000", &["/?us=200000"]);
            let woken = wakes(&server) - before;
            assert!(woken < 200, "a process that sleeps was woken {woken} times");
        }
    }
}

/// The times in a flame graph: a loop, sleep, a stream that waits, and coroutines that wait.
#[test]
fn a_flame_graph_is_enlarged_and_searched_in_a_browser() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let source = script("while (frankenphp_handle_request('handle'));");
    let www = Www::new().file("worker.php", &source);
    let mut page = Page::open(&browser);
    page.set_screen(1240, 500, false);
    for (name, lines, targets, frame) in [
        ("loop", "", &["/?spins=1"][..], "tight "),
        ("sleep", "", &["/?sleeps=1"], "usleep"),
        ("wait", "", &["/?waits=1"], "fgetc"),
        (
            "coroutines",
            "concurrency 20",
            &["/?sleeps=1", "/?waits=1", "/?spins=1", "/?sleeps=2"],
            "fgetc",
        ),
    ] {
        let server = Server::caddyfile(worker_site(www.path(), lines)).start();
        server.allow_hogs();
        let svg = profile(&server, "seconds=1&hz=200&pool=app&format=svg", targets);
        let file = www.write(&format!("{name}.svg"), svg.text());
        check_flame_graph(&mut page, &file, frame);
        if let Some(folder) = std::env::var_os("HOWDAH_SCREENSHOTS").map(PathBuf::from) {
            page.photograph(&folder.join(format!("flame-graph-{name}.png")));
        }
    }
    let complaints = page.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Enlarges the box of this frame, returns to the whole graph, and searches for the frame.
fn check_flame_graph(page: &mut Page, file: &Path, frame: &str) {
    page.load(&format!("file://{}", file.display()));
    page.wait(
        "the boxes",
        "document.querySelectorAll('#boxes g').length > 2",
    );
    let find = format!(
        "[...document.querySelectorAll('#boxes g')]
            .filter(box => box.querySelector('title').textContent.startsWith('{frame}'))
            .map(box => box.querySelector('rect'))
            .sort((one, two) => two.width.baseVal.value - one.width.baseVal.value)[0]"
    );
    let click = |target: &str| {
        format!("{target}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    };
    let width = format!("{find}.width.baseVal.value");
    let before = page.value(&width).as_f64().expect("a width");
    assert!(before > 1.0, "{frame}: {before}");
    page.value(&click(&find));
    assert_eq!(page.value(&width).as_f64(), Some(1180.0), "{frame}");
    page.value(&click("document.documentElement"));
    assert_eq!(page.value(&width).as_f64(), Some(before), "{frame}");

    let found = "document.querySelectorAll('#boxes .found').length";
    assert_eq!(page.value(found), 0);
    page.value(&format!("window.prompt = () => '{}'", frame.to_uppercase()));
    page.value(&click("document.getElementById('search')"));
    assert!(page.value(found).as_u64().is_some_and(|boxes| boxes > 0));
    let share =
        page.value("parseFloat(document.getElementById('found').textContent.split('found, ')[1])");
    let share = share.as_f64().expect("a share");
    let least = before * 100.0 / 1180.0 - 0.1;
    assert!((least..=100.0).contains(&share), "{share}, {least}");
    page.value(&click("document.getElementById('search')"));
    assert_eq!(page.value(found), 0, "a second click clears the search");
    page.value("document.dispatchEvent(new KeyboardEvent('keydown', {key: '/'}))");
    assert!(page.value(found).as_u64().is_some_and(|boxes| boxes > 0));
}

/// The wait for a database is below the query: the innermost frame is the wait with its server, in
/// the graph too.
#[test]
fn a_slow_query_shows_the_database_that_it_waits_for() {
    for (driver, variable, query) in [
        ("mysql", "HOWDAH_TEST_MYSQL", "SELECT SLEEP(0.3)"),
        ("pgsql", "HOWDAH_TEST_PGSQL", "SELECT pg_sleep(0.3)"),
    ] {
        let Ok(settings) = std::env::var(variable) else {
            eprintln!("skipped: {variable} names no database");
            continue;
        };
        let port = settings
            .split(' ')
            .find_map(|setting| setting.strip_prefix("port="))
            .expect("a port");
        let dsn = format!("{driver}:{}", settings.replace(' ', ";"));
        let source = format!(
            "<?php
function slow(): void
{{
    (new PDO('{dsn}'))->query('{query}');
    echo 'done';
}}

while (frankenphp_handle_request('slow'));
"
        );
        let www = Www::new().file("worker.php", &source);
        let server = Server::caddyfile(worker_site(www.path(), "")).start();
        let waits = stacks(&server, "seconds=1&hz=200&pool=app", &["/"]);
        waits.assert_most(70, |frames| {
            let [.., code, query, wait] = frames else {
                return false;
            };
            code.starts_with("slow ")
                && query.starts_with("PDO::query")
                && wait.ends_with(&format!(" 127.0.0.1:{port}]"))
        });
        check_wait_in_graph(&server, &www, driver, port);
    }
}

/// Checks that the widest box without callees is the wait.
fn check_wait_in_graph(server: &Server, www: &Www, driver: &str, port: &str) {
    let Some(browser) = Browser::find() else {
        return;
    };
    let svg = profile(server, "seconds=1&hz=200&pool=app&format=svg", &["/"]);
    let file = www.write(&format!("{driver}.svg"), svg.text());
    let mut page = Page::open(&browser);
    page.set_screen(1240, 500, false);
    page.load(&format!("file://{}", file.display()));
    page.wait(
        "the boxes",
        "document.querySelectorAll('#boxes g').length > 2",
    );
    let title = page.value(&format!(
        "[...document.querySelectorAll('#boxes g')]
            .filter(box => box.querySelector('title').textContent.includes(':{port}]'))
            .map(box => [box.querySelector('rect').width.baseVal.value, box.querySelector('text').textContent])
            .sort((one, two) => two[0] - one[0])[0][1]"
    ));
    let text = title.as_str().expect("a text");
    assert!(text.starts_with('[') && text.contains(port), "{text}");
    if let Some(folder) = std::env::var_os("HOWDAH_SCREENSHOTS").map(PathBuf::from) {
        page.photograph(&folder.join(format!("flame-graph-{driver}.png")));
    }
    let complaints = page.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
