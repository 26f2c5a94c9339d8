//! Crash reports: their content, who may read them, and no further failure where they cannot be
//! written.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use howdah_testkit::{PATIENCE, Request, Server, ServerBuilder, Signal, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::{caddyfile, encode, small_disk};
use serde_json::Value;

/// Crashes as the query specifies. FFI reads any address, and can call `abort` of the C library.
const HANDLER: &str = r#"
    error_log('is asked for ' . ($_GET['do'] ?? 'nothing'));
    switch ($_GET['do'] ?? '') {
        case 'segv':
            crash();
            break;
        case 'deep':
            deep();
            break;
        case 'fiber':
            (new Fiber('deep'))->start();
            break;
        case 'abort':
            $c = FFI::cdef('void abort(void);');
            $c->abort();
            break;
        case 'free':
            $c = FFI::cdef('void *malloc(size_t); void free(void *);');
            $memory = $c->malloc(64);
            $c->free($memory);
            $c->free($memory);
            break;
        case 'destruct':
            $thing = new Fragile();
            unset($thing);
            break;
        case 'kill':
            posix_kill(getmypid(), SIGKILL);
            break;
        case 'own':
            pcntl_signal(SIGSEGV, fn () => null);
            posix_kill(getmypid(), SIGSEGV);
            break;
        case 'hostile':
            error_log("first\x1b]0;title\x07\nsecond \x7f");
            ("Evil\u{9b}2J")();
            break;
        case 'fill':
            @file_put_contents(sys_get_temp_dir() . '/filler', str_repeat('x', 2 << 20));
            crash();
            break;
        case 'clear':
            array_map('unlink', glob(sys_get_temp_dir() . '/{,disk/}fill*', GLOB_BRACE));
            break;
        case 'stuck':
            file_put_contents($_GET['gate'] . '.in', 'x', FILE_APPEND);
            while (!file_exists($_GET['gate'])) {
                usleep(1000);
                clearstatcache();
            }
            $log = fopen('php://stderr', 'w');
            stream_set_blocking($log, false);
            while (@fwrite($log, str_repeat('x', 4096)) || @fwrite($log, 'x'));
            crash();
            break;
        case 'eat':
            $eaten = [];
            while (true) {
                $eaten[] = str_repeat('x', 1 << 20);
            }
        case 'versions':
            echo json_encode(['version' => PHP_VERSION, 'extensions' => get_loaded_extensions()]);
            return;
        case 'gate':
            file_put_contents($_GET['gate'] . '.in', 'x', FILE_APPEND);
            while (!file_exists($_GET['gate'])) {
                usleep(1000);
                clearstatcache();
            }
            break;
    }
    echo 'served';
"#;

const FUNCTIONS: &str = "
function crash(): void { FFI::string(FFI::cast('char *', 8)); }
function deep(): void { array_map('deep', [1]); }
function Evil\u{9b}2J(): void { crash(); }
final class Fragile { public function __destruct() { crash(); } }
";

/// A server with one pool for all requests. `global` is added to the global block, `limits` to that
/// of PHP. `worker` contains lines for the block of the worker script. `None` selects classic mode.
fn limited(www: &Www, global: &str, limits: &str, worker: Option<&str>) -> ServerBuilder {
    let root = www.path().display();
    let (script, block) = match worker {
        None => (format!("{FUNCTIONS}\n{HANDLER}"), String::new()),
        Some(lines) => {
            let script = format!(
                "{FUNCTIONS}\nwhile (frankenphp_handle_request(static function () {{{HANDLER}}})) {{\n}}\n"
            );
            let block = format!("worker {{\nname app\nfile {root}/index.php\n{lines}\n}}");
            (script, block)
        }
    };
    www.write("index.php", format!("<?php\n{script}"));
    // PHP since 8.3 throws an error before the stack overflows.
    let global = format!(
        "{ON}\n{global}\nfrankenphp {{\nnum_threads 2\n{limits}\nphp_ini ffi.enable 1\n\
         php_ini zend.max_allowed_stack_size -1\n{block}\n}}"
    );
    let site = format!("root * {root}\nrewrite * /index.php\nphp_server");
    Server::caddyfile(caddyfile(&global, &site))
}

fn builder(www: &Www, global: &str, worker: Option<&str>) -> ServerBuilder {
    limited(www, global, "", worker)
}

fn serve(www: &Www, global: &str, worker: Option<&str>) -> Server {
    let server = builder(www, global, worker).start();
    allow_crashes(&server);
    server
}

fn allow_crashes(server: &Server) {
    server.allow_log("worker died");
    server.allow_log("the PHP process crashed");
}

/// Crashes a process and waits for its report, which has this number.
fn crash(server: &Server, number: u64, query: &str) {
    server
        .send(&Request::new("POST", format!("/?{query}")))
        .assert_status(502);
    written(server, number);
}

fn written(server: &Server, number: u64) {
    server.wait_line("the report", |line| {
        line.number("report") == Some(number) && line.raw.contains("has the report")
    });
}

fn report(admin: &Admin, number: u64) -> Value {
    admin.get(&format!("/crashes?number={number}")).json()
}

/// Numbers of all reports.
fn numbers(admin: &Admin) -> Vec<u64> {
    let listed = admin.get("/crashes").json();
    let reports = listed["crashes"].as_array().expect("a list").iter();
    reports
        .map(|own| own["number"].as_u64().expect("a number"))
        .collect()
}

fn text(lines: &Value) -> String {
    let lines = lines.as_array().expect("lines").iter();
    lines
        .map(|line| line.as_str().expect("a line").to_owned() + "\n")
        .collect()
}

#[test]
fn a_report_has_the_crash_its_place_and_its_request() {
    let www = Www::new();
    let server = serve(&www, "", None);
    let admin = Admin::of(&server);
    for (number, what, cause, frames) in [
        (
            1,
            "segv",
            "SIGSEGV: no memory at this address (0x8)",
            &["#0 FFI::string()\n", "#1 crash() ", "index.php:3\n"][..],
        ),
        (
            2,
            "destruct",
            "SIGSEGV: no memory at this address (0x8)",
            &["Fragile::__destruct() "],
        ),
        (
            3,
            "abort",
            "SIGABRT: the process called abort()",
            &["#0 abort()\n"],
        ),
        (
            4,
            "free",
            "SIGABRT: the process called abort()",
            &["#0 free()\n"],
        ),
        (
            5,
            "deep",
            "SIGSEGV: the stack is full, by calls that are nested too deeply (0x",
            &["#0 array_map()\n#1 deep() ", "(more frames follow)"],
        ),
    ] {
        crash(&server, number, &format!("do={what}&token=hidden"));
        let report = report(&admin, number);
        let said = report["cause"].as_str().expect("a cause");
        assert!(said.starts_with(cause), "{report:#}");
        let name = report["server"].as_str().expect("a name");
        assert!(name.ends_with("/Caddyfile"), "{report:#}");
        let backtrace = text(&report["php_backtrace"]);
        for frame in frames {
            assert!(backtrace.contains(frame), "{frame} in {report:#}");
        }
        let c = text(&report["c_backtrace"]);
        assert!(c.starts_with("#0 ") && c.contains("php+0x"), "{report:#}");
        let request = &report["requests"][0];
        assert_eq!(request["method"], "POST");
        assert_eq!(request["uri"], format!("/?do={what}&token=***"));
        assert_eq!(
            (&request["route"], &request["ran"]),
            (&"POST /".into(), &true.into())
        );
        assert!(text(&report["log"]).contains(&format!("is asked for {what}")));
        assert_eq!(report["process"]["mode"], "classic");
        assert!(text(&report["extensions"]).contains("FFI\n"));
        assert_eq!(report["notes"], serde_json::json!([]));
        assert!(
            report["php"]
                .as_str()
                .is_some_and(|php| php.starts_with("8."))
        );
    }
    let listed = admin.command(&["crashes"]);
    listed.assert(
        0,
        "SIGABRT: the process called abort()  POST /?do=free&token=***\n",
    );
    let shown = admin.command(&["crashes", "show", "1"]);
    shown.assert(0, "\nPHP backtrace:\n  #0 FFI::string()\n  #1 crash() ");
    let statuses = server.log().containing("worker died");
    let status = statuses[0].text("status").expect("a status");
    assert!(status.starts_with("signal: 11 (SIGSEGV)"), "{status}");
    admin
        .command(&["crashes", "clear"])
        .assert(0, "removed 5\n");
    admin
        .command(&["crashes"])
        .assert(0, "no process has crashed\n");
    let missing = admin.command(&["crashes", "show", "1"]);
    missing.assert(1, "crash report 1 does not exist");
    assert!(server.log().containing("hidden").is_empty());
}

/// Versions, system and extensions are those of the server and of PHP, and the log names the same request.
#[test]
fn a_report_names_versions_and_the_request_of_the_log() {
    let www = Www::new();
    let server = serve(&www, "", Some("num 1"));
    let admin = Admin::of(&server);
    let php = server.get("/?do=versions").json();
    crash(&server, 1, "do=segv");
    let report = report(&admin, 1);
    let died = server.wait_log("worker died");
    let id = died.text("request_id").expect("an id");
    assert_eq!(report["requests"][0]["id"], id, "{report:#}");
    assert_eq!(report["howdah"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["php"], php["version"]);
    let sorted = |names: &Value| {
        let names = names.as_array().expect("a list").iter();
        let mut names: Vec<_> = names.filter_map(Value::as_str).collect();
        names.sort_unstable();
        names.join(", ")
    };
    assert_eq!(sorted(&report["extensions"]), sorted(&php["extensions"]));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("there");
    let kernel = format!("kernel {}, {}", release.trim(), std::env::consts::ARCH);
    let system = report["system"].as_str().expect("a system");
    assert!(system.ends_with(&kernel), "{system}");
    let version = php["version"].as_str().expect("a version");
    let versions = format!(
        "\nversions    howdah {}, PHP {version}, {system}\n",
        env!("CARGO_PKG_VERSION")
    );
    let shown = admin.command(&["crashes", "show", "1"]);
    shown.assert(0, &versions);
    shown.assert(0, &format!("\nrequest     {id} ran: POST /?do=segv\n"));
}

#[test]
fn a_killed_process_is_reported_without_its_data() {
    let www = Www::new();
    let server = serve(&www, "", Some("num 1"));
    let admin = Admin::of(&server);
    crash(&server, 1, "do=kill");
    let report = report(&admin, 1);
    assert_eq!(report["signal"]["name"], "SIGKILL");
    assert_eq!(report["requests"][0]["uri"], "/?do=kill");
    assert_eq!(report["process"]["mode"], "worker");
    assert!(text(&report["notes"]).contains("SIGKILL reports nothing"));
    assert!(text(&report["log"]).contains("is asked for kill"));
}

/// The log pipe of the process is full and its reader is stopped, so the report cannot be written.
#[test]
fn a_report_that_takes_too_long_ends_with_the_signal() {
    let www = Www::new();
    let server = serve(&www, "", Some("num 1"));
    let gate = www.path().join("gate");
    let target = format!("/?do=stuck&gate={}", encode(&gate));
    let came = www.path().join("gate.in");
    thread::scope(|scope| {
        let stuck = scope.spawn(|| server.send(&Request::new("POST", &target)));
        assert!(process::wait_until(PATIENCE, || came.exists()));
        let worker = server.workers().into_iter();
        let mut worker = worker.filter(|process| process.command.contains("app worker"));
        let worker = worker.next().expect("a worker");
        server.signal(Signal::STOP);
        let began = Instant::now();
        std::fs::write(&gate, "open").expect("written");
        let has_ended = worker.wait_exited(PATIENCE);
        let took = began.elapsed();
        server.signal(Signal::CONT);
        assert!(has_ended, "it waits for its log");
        assert!(took >= Duration::from_secs(2), "{took:?}");
        stuck.join().expect("no panic").assert_status(502);
    });
    written(&server, 1);
    let report = report(&Admin::of(&server), 1);
    assert_eq!(report["signal"]["name"], "SIGSEGV");
    assert_eq!(report["requests"][0]["ran"], true);
    assert!(
        text(&report["notes"]).contains("took longer than two seconds"),
        "{report:#}"
    );
}

/// A core file is written only for a dumpable process, up to the limit.
#[test]
fn a_core_dump_is_written_and_reported() {
    let www = Www::new();
    let limit = ["sh", "-c", "ulimit -c 64 && \"$0\" \"$@\"; exit $?"];
    let dumpable = limited(&www, "", "", Some("num 1\ndumpable"));
    let server = dumpable.through(limit).start();
    allow_crashes(&server);
    let admin = Admin::of(&server);
    crash(&server, 1, "do=segv");
    let dumped = report(&admin, 1);
    assert_eq!(dumped["core_dumped"], true, "{dumped:#}");
    assert!(text(&dumped["c_backtrace"]).contains("php+0x"));
    let shown = admin.command(&["crashes", "show", "1"]);
    shown.assert(0, "The kernel has written a core dump.\n");
    crash(&server, 2, "do=kill");
    assert_eq!(report(&admin, 2)["core_dumped"], false);
    server.stop();
    let server = builder(&www, "", Some("num 1")).through(limit).start();
    allow_crashes(&server);
    crash(&server, 1, "do=segv");
    let kept = report(&Admin::of(&server), 1);
    assert_eq!(kept["core_dumped"], false, "{kept:#}");
}

#[test]
fn a_process_that_the_kernel_kills_for_lack_of_memory_is_reported_so() {
    let Some(group) = MemoryGroup::new() else {
        return;
    };
    let www = Www::new();
    let limits = "php_ini memory_limit -1";
    let server = limited(&www, "", limits, Some("num 1")).start();
    allow_crashes(&server);
    let admin = Admin::of(&server);
    crash(&server, 1, "do=kill");
    let cause = |number| {
        let report = report(&admin, number);
        assert_eq!(report["signal"]["name"], "SIGKILL");
        report["cause"].as_str().expect("a cause").to_owned()
    };
    assert!(cause(1).contains("lack of memory"), "{}", cause(1));
    server.get("/").assert(200, "served");
    let workers = server.workers().into_iter();
    for worker in workers.filter(|process| process.command.contains("app worker")) {
        group.add(worker.pid);
    }
    crash(&server, 2, "do=eat");
    assert!(
        cause(2).contains("the kernel has killed a process for lack of memory"),
        "{}",
        cause(2)
    );
    assert_eq!(report(&admin, 2)["requests"][0]["uri"], "/?do=eat");
    server.get("/").assert(200, "served");
}

/// A control group whose processes may use 64 MiB together.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// Returns `None` and prints a note if control groups cannot be created here.
    fn new() -> Option<Self> {
        let name = format!("howdah-test-{}", std::process::id());
        for (parent, limit) in [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max"),
        ] {
            let group = Self(Path::new(parent).join(&name));
            if std::fs::create_dir(&group.0).is_err() {
                continue;
            }
            if std::fs::write(group.0.join(limit), "64M").is_ok() {
                return Some(group);
            }
        }
        println!("skipped: no control group can limit memory here");
        None
    }

    fn add(&self, pid: u32) {
        std::fs::write(self.0.join("cgroup.procs"), pid.to_string()).expect("a member");
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // A process that exited may be counted for a moment longer.
        let _ = process::wait_until(PATIENCE, || std::fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_handler_of_php_code_is_left_alone() {
    let www = Www::new();
    let server = serve(&www, "", None);
    let own = Request::new("POST", "/?do=own");
    server.send(&own).assert(200, "served");
    let admin = Admin::of(&server);
    assert_eq!(
        admin.get("/crashes").json()["crashes"],
        serde_json::json!([])
    );
}

#[test]
fn a_coroutine_process_names_all_its_requests() {
    let www = Www::new();
    let server = serve(&www, "", Some("num 1\nconcurrency 20"));
    let admin = Admin::of(&server);
    let gate = www.path().join("gate");
    let waits = format!("/?do=gate&gate={}", encode(&gate));
    let came = www.path().join("gate.in");
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| server.get(&waits))).collect();
        let all = || std::fs::read(&came).is_ok_and(|came| came.len() == 3);
        assert!(process::wait_until(PATIENCE, all));
        crash(&server, 1, "do=segv");
        std::fs::write(&gate, "open").expect("written");
        for response in waiting {
            response.join().expect("no panic").assert(200, "served");
        }
    });
    let report = report(&admin, 1);
    let requests = report["requests"].as_array().expect("requests");
    assert_eq!(requests.len(), 4, "{report:#}");
    assert_eq!(
        (&requests[0]["ran"], &requests[0]["uri"]),
        (&true.into(), &"/?do=segv".into())
    );
    for waiting in &requests[1..] {
        assert_eq!(waiting["ran"], false);
        let frames = text(&waiting["backtrace"]);
        assert!(
            frames.contains("usleep()") && frames.contains("index.php:"),
            "{report:#}"
        );
    }
    assert!(text(&report["php_backtrace"]).contains("crash() "));
}

/// The stack of a coroutine has a reserve, so its request ends with an error. In a Fiber, PHP since
/// 8.3 throws an error.
#[test]
fn a_fiber_without_stack_is_reported() {
    let www = Www::new();
    let server = serve(&www, "", Some("num 1\nconcurrency 2"));
    let admin = Admin::of(&server);
    let response = server.send(&Request::new("POST", "/?do=fiber"));
    if response.status() == 500 {
        server.allow_log("deep()");
        server.wait_line("PHP's error", |line| {
            line.raw.contains("Maximum call stack size")
        });
        return;
    }
    response.assert_status(502);
    written(&server, 1);
    let report = report(&admin, 1);
    assert_eq!(report["signal"]["name"], "SIGSEGV");
    assert!(
        text(&report["php_backtrace"]).contains("deep() "),
        "{report:#}"
    );
}

#[test]
fn a_crash_of_the_boot_is_reported() {
    let www = Www::new();
    let folder = www.path().join("reports");
    let global = format!("crash_reports {}", folder.display());
    let builder = builder(&www, &global, Some("num 1"));
    www.write("index.php", "<?php FFI::string(FFI::cast('char *', 8));");
    let ended = builder.try_start().expect_err("it cannot boot");
    assert!(ended.text().contains("PHP crashed while the script booted"));
    let bytes = std::fs::read(folder.join("crash-00000001.json")).expect("a report");
    let report: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(report["process"]["role"], "zygote");
    assert!(
        text(&report["php_backtrace"]).contains("FFI::string()"),
        "{report:#}"
    );
    assert_eq!(report["requests"], serde_json::json!([]));
}

#[test]
fn reports_are_limited_in_number() {
    let www = Www::new();
    let folder = www.path().join("reports");
    let global = format!("crash_reports {} {{\nkeep 2\n}}", folder.display());
    let server = serve(&www, &global, None);
    for number in 1..=4 {
        crash(&server, number, "do=segv");
    }
    assert_eq!(numbers(&Admin::of(&server)), [4, 3]);
    assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 2);
}

/// A report is numbered after those of all servers, so that it is not removed as the oldest one.
#[test]
fn servers_with_one_folder_keep_the_newest_reports_of_both() {
    let dir = tempfile::tempdir().expect("a directory");
    let global = format!("crash_reports {} {{\nkeep 2\n}}", dir.path().display());
    let (www, other_www) = (Www::new(), Www::new());
    let (one, other) = (serve(&www, &global, None), serve(&other_www, &global, None));
    for number in 1..=3 {
        crash(&one, number, "do=segv");
    }
    crash(&other, 4, "do=abort");
    crash(&one, 5, "do=segv");
    let admin = Admin::of(&other);
    assert_eq!(numbers(&admin), [5, 4]);
    let causes = [4, 5].map(|number| report(&admin, number)["signal"]["name"].clone());
    assert_eq!(causes, ["SIGABRT", "SIGSEGV"]);
    let servers = [4, 5].map(|number| report(&admin, number)["server"].clone());
    assert_ne!(servers[0], servers[1]);
}

#[test]
fn a_folder_that_cannot_be_created_does_not_prevent_serving() {
    let www = Www::new();
    let server = builder(&www, "crash_reports /proc/none", None).start();
    allow_crashes(&server);
    server.expect_log("no crash reports are written");
    let admin = Admin::of(&server);
    server
        .send(&Request::new("POST", "/?do=segv"))
        .assert_status(502);
    server.get("/").assert(200, "served");
    admin
        .command(&["crashes"])
        .assert(1, "no crash reports are written");
}

/// A report that the disk has no room for is written when it has.
#[test]
fn a_full_disk_delays_the_report_and_no_request() {
    let Some(disk) = small_disk() else { return };
    let www = Www::new();
    let server = builder(&www, "crash_reports {tmp}/reports", None)
        .through(disk)
        .keeps_files()
        .start();
    allow_crashes(&server);
    let admin = Admin::of(&server);
    crash(&server, 1, "do=segv");
    server.expect_log("its report was not written: No space left on device");
    for query in ["do=fill", "do=segv"] {
        server
            .send(&Request::new("POST", format!("/?{query}")))
            .assert_status(502);
    }
    let rejected = || {
        let lines = server.log().containing("its report was not written");
        lines.len() == 2
    };
    assert!(process::wait_until(PATIENCE, rejected));
    server.get("/").assert(200, "served");
    assert_eq!(numbers(&admin), [1]);
    server.get("/?do=clear").assert(200, "served");
    // Without another crash.
    written(&server, 3);
    assert_eq!(numbers(&admin), [3, 2, 1]);
    assert_eq!(report(&admin, 2)["signal"]["name"], "SIGSEGV");
}

#[test]
fn a_disk_that_is_full_at_the_start_does_not_prevent_later_reports() {
    let Some(mut disk) = small_disk() else { return };
    // Without a free inode no file can be created. The rest of the server has room.
    disk[5] = "mkdir \"$TMPDIR/disk\" && \
               mount -t tmpfs -o size=1m,nr_inodes=32,mode=777 tmpfs \"$TMPDIR/disk\" && \
               for i in $(seq 32); do touch \"$TMPDIR/disk/fill$i\" 2>/dev/null; done; exec \"$0\" \"$@\"";
    let www = Www::new();
    let server = builder(&www, "crash_reports {tmp}/disk/reports", None)
        .through(disk)
        .keeps_files()
        .start();
    allow_crashes(&server);
    server.expect_log("crash reports cannot be written now: No space left on device");
    server.get("/?do=clear").assert(200, "served");
    crash(&server, 1, "do=segv");
    assert_eq!(numbers(&Admin::of(&server)), [1]);
}

/// A report above the limit on the size of files (`RLIMIT_FSIZE`) does not end the server.
#[test]
fn a_limit_on_the_size_of_files_costs_the_report_alone() {
    let www = Www::new();
    let folder = www.path().join("reports");
    let global = format!("crash_reports {}", folder.display());
    let server = serve(&www, &global, None);
    // Not before the start, which creates the memory for requests.
    let limited = Command::new("prlimit")
        .args(["--fsize=512", "--pid", &server.pid().to_string()])
        .status();
    assert!(limited.is_ok_and(|status| status.success()));
    server.expect_log("its report was not written: File too large");
    server
        .send(&Request::new("POST", "/?do=segv"))
        .assert_status(502);
    server.wait_log("its report was not written");
    server.get("/").assert(200, "served");
    assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 0);
}

#[test]
fn a_folder_that_disappears_is_created_again() {
    let www = Www::new();
    let folder = www.path().join("reports");
    let global = format!("crash_reports {}", folder.display());
    let server = serve(&www, &global, None);
    let admin = Admin::of(&server);
    crash(&server, 1, "do=segv");
    std::fs::remove_dir_all(&folder).expect("removed");
    assert!(numbers(&admin).is_empty());
    crash(&server, 2, "do=segv");
    assert_eq!(numbers(&admin), [2]);
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::write(&folder, "a file").expect("written");
    server.expect_log("its report was not written: it is not a folder");
    server
        .send(&Request::new("POST", "/?do=segv"))
        .assert_status(502);
    server.wait_log("its report was not written");
    server.get("/").assert(200, "served");
}

#[test]
fn hostile_text_does_not_reach_the_terminal() {
    let www = Www::new();
    let server = serve(&www, "", None);
    let admin = Admin::of(&server);
    crash(&server, 1, "do=hostile&x=%1b[2J%0aforged&password=a%26b");
    for words in [
        &["crashes"][..],
        &["crashes", "show", "1"],
        &["crashes", "show", "1", "--json"],
    ] {
        let shown = admin.command(words);
        let text = shown.text();
        assert_eq!(shown.code, Some(0), "{text}");
        let steers = |char: char| char.is_control() && char != '\n';
        assert!(!text.contains(steers), "{text:?}");
        assert!(text.contains("x=%1b[2J%0aforged&password=***"), "{text}");
    }
    let report = report(&admin, 1);
    let log = text(&report["log"]);
    assert!(
        log.contains("first") && log.contains("\nsecond "),
        "{report:#}"
    );
    assert!(
        text(&report["php_backtrace"]).contains("2J()"),
        "{report:#}"
    );
}

#[test]
fn the_quarantine_of_a_route_names_the_report() {
    let www = Www::new();
    let server = limited(&www, "", "max_route_crashes 2", None).start();
    allow_crashes(&server);
    server.expect_log("the route is in quarantine");
    crash(&server, 1, "do=segv");
    crash(&server, 2, "do=segv");
    let line = server.wait_log("the route is in quarantine");
    assert_eq!(line.number("report"), Some(2), "{}", line.raw);
}
