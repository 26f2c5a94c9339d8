//! Access of PHP code to other processes of the same user, and descriptors of PHP processes. Only
//! root can change users. For other users, these tests print a note and are skipped.

use std::collections::BTreeMap;
use std::path::Path;

use howdah_testkit::process::Process;
use howdah_testkit::{Server, ServerBuilder};
use howdah_tests::admin::Admin;
use serde_json::{Value, json};

use crate::privileges::{Place, process_of, reachable};

/// Tries to access files below `/proc`, system calls, and a program that PHP starts.
const LOOK: &str = r#"<?php
$look = static function (int $pid, FFI $c): array {
    $at = "/proc/$pid";
    $can = [];
    foreach (['mem', "task/$pid/mem", 'environ', 'auxv', 'maps', 'smaps'] as $name) {
        $file = @fopen("$at/$name", 'r');
        if ($file && (str_ends_with($name, 'mem') || @fread($file, 1) !== '')) { $can[] = "reads $name"; }
    }
    if (@fopen("$at/mem", 'r+')) { $can[] = 'writes mem'; }
    if (@scandir("$at/fd")) { $can[] = 'lists fd'; }
    for ($fd = 0; $fd < 16; $fd++) {
        if (@readlink("$at/fd/$fd") !== false || @fopen("$at/fd/$fd", 'r')) { $can[] = "opens fd $fd"; }
    }
    foreach (['exe', 'cwd', 'root'] as $name) {
        if (@readlink("$at/$name") !== false) { $can[] = "follows $name"; }
    }
    $handle = $c->syscall(434, $pid, 0); // pidfd_open
    for ($fd = 0; $fd < 16; $fd++) {
        if ($c->syscall(438, $handle, $fd, 0) >= 0) { $can[] = "takes fd $fd"; } // pidfd_getfd
    }
    $byte = $c->new('char[1]');
    $ours = $c->new('struct part'); $ours->at = FFI::cast('size_t', FFI::addr($byte))->cdata; $ours->size = 1;
    $theirs = $c->new('struct part'); $theirs->at = (int) $_GET['address']; $theirs->size = 1;
    if ($c->process_vm_readv($pid, FFI::addr($ours), 1, FFI::addr($theirs), 1, 0) === 1) { $can[] = 'reads by call'; }
    $found = shell_exec("exec 2>/dev/null; (: < $at/mem) && echo mem; head -c 1 $at/environ; ls $at/fd; readlink $at/exe");
    if ($found) { $can[] = 'by a program: ' . strtr($found, "\n\0", '  '); }
    // Last, because it never detaches.
    if (!$can && $c->ptrace(0x4206, $pid, null, null) === 0) { $can[] = 'traces'; } // PTRACE_SEIZE
    return $can;
};
$c = FFI::cdef('struct part { size_t at; size_t size; };
    long syscall(long number, ...); int open(const char *path, int flags); int prctl(int option, long value, long, long, long);
    long ptrace(int request, int pid, void *address, void *data);
    long process_vm_readv(int pid, const struct part *, unsigned long, const struct part *, unsigned long, unsigned long);');
if (isset($_GET['opens-itself'])) { $c->prctl(4, 1, 0, 0, 0); } // PR_SET_DUMPABLE
$self = getmypid();
$found = [];
foreach (explode(',', $_GET['pids']) as $pid) {
    if ($pid != $self && ($can = $look((int) $pid, $c))) { $found[$pid] = $can; }
}
header('Content-Type: application/json');
echo json_encode(['by' => posix_getuid(), 'pid' => $self, 'found' => (object) $found,
    'self' => [$c->open('/dev/stderr', 1) >= 0, count(scandir('/proc/self/fd')) > 3, (bool) @file('/proc/self/maps')]]);
"#;

const WORKER: &str = "<?php
while (frankenphp_handle_request(static function () { require __DIR__ . '/look.php'; })) {}
";

const CHILD: &str = r"<?php
function child(): array {
    preg_match_all('~(\d+) -> (?!/proc/)(.+)~', shell_exec('ls -l /proc/self/fd'), $found);
    return array_combine($found[1], $found[2]);
}
";

const CHILD_CLASSIC: &str = "<?php
require 'child.inc';
header('Content-Type: application/json');
echo json_encode([child()], JSON_FORCE_OBJECT);
";

const CHILD_WORKER: &str = "<?php
require 'child.inc';
$boot = child();
while (frankenphp_handle_request(static function () use ($boot) {
    header('Content-Type: application/json');
    echo json_encode([$boot, child()], JSON_FORCE_OBJECT);
})) {}
";

/// A site with the scripts of these tests. `None` without the right to change users.
fn place() -> Option<Place> {
    let place = Place::new()?;
    let files = [
        ("www/look.php", LOOK),
        ("www/looker.php", WORKER),
        ("www/child.inc", CHILD),
        ("www/child.php", CHILD_CLASSIC),
        ("www/childer.php", CHILD_WORKER),
        ("www/concurrent.php", CHILD_WORKER),
    ];
    for (name, text) in files {
        std::fs::write(place.path(name), text).expect("written");
        place.mode(name, 0o644);
    }
    Some(place)
}

fn with_ffi(place: &Place, more: &str) -> String {
    format!(
        "php_ini ffi.enable true\n{}\n{more}",
        place.worker("looker.php", "")
    )
}

/// Access of the process that handles the request to these processes.
fn look(server: &Server, target: &str, processes: &[u32]) -> Value {
    let pids: Vec<String> = processes.iter().map(u32::to_string).collect();
    // An address that is mapped in each PHP process, because they are forks.
    let root = process_of(server, "howdah: php ");
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", root.pid)).expect("root may");
    let (address, _) = maps.split_once('-').expect("lines of ranges");
    let address = u64::from_str_radix(address, 16).expect("a number");
    let target = format!("{target}address={address}&pids={}", pids.join(","));
    let answer = server.get(&target);
    answer.assert_status(200);
    let answer = answer.json();
    assert_eq!(answer["self"], json!([true, true, true]), "{answer}");
    answer
}

#[track_caller]
fn assert_sees_nothing(server: &Server, pids: &[u32], uid: u32) {
    let mut opened = Vec::new();
    for target in [
        "/look.php?",
        "/looker.php?",
        "/look.php?opens-itself&",
        "/looker.php?opens-itself&",
    ] {
        let answer = look(server, target, pids);
        assert_eq!(answer["by"], uid, "{answer}");
        let mut found = answer["found"].as_object().expect("an object").clone();
        found.retain(|pid, _| !opened.contains(pid));
        assert!(found.is_empty(), "{target}: {answer}");
        // Other processes can access a process that has made itself dumpable.
        if target.contains("opens") {
            opened.push(answer["pid"].to_string());
        }
    }
}

fn pids(processes: &[Process]) -> Vec<u32> {
    processes.iter().map(|process| process.pid).collect()
}

#[test]
fn php_code_cannot_access_processes_of_its_user() {
    let Some(place) = place() else { return };
    let php = with_ffi(&place, "user www-data");
    let server = place.site("", &php).start();
    let mut all = pids(&server.processes());
    all.push(server.pid());
    assert_sees_nothing(&server, &all, 33);

    // And processes that a reload starts.
    Admin::of(&server).post("/reload").assert_status(200);
    assert_sees_nothing(&server, &pids(&server.processes()), 33);
    server.stop();
}

#[test]
fn php_code_cannot_access_a_server_of_its_user() {
    let Some(place) = place() else { return };
    let php = with_ffi(&place, &format!("php {}", place.php().display()));
    let server = place.site("user nobody", &php).start();
    let mut all = pids(&server.processes());
    all.push(server.pid());
    assert_sees_nothing(&server, &all, 65534);
    server.stop();

    // And a process that this user starts.
    let text = place.text("", &php);
    let file = place.path("Caddyfile");
    std::fs::write(&file, text).expect("written");
    place.mode("Caddyfile", 0o644);
    let program = reachable(&place);
    let server = ServerBuilder::command(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .program("setpriv")
        .args([program.as_path(), Path::new("run"), Path::new("-c"), &file])
        .env("TMPDIR", place.path("tmp"))
        .start();
    let mut all = pids(&server.processes());
    all.push(server.pid());
    assert_sees_nothing(&server, &all, 65534);
    server.stop();
}

#[test]
fn dumpable_allows_access() {
    let Some(place) = place() else { return };
    let looker = place.worker("looker.php", "dumpable");
    let php = format!("php_ini ffi.enable true\nuser www-data\n{looker}");
    let server = place.site("", &php).start();
    let open = process_of(&server, "looker worker");
    let closed = process_of(&server, "pool php");
    let answer = look(&server, "/look.php?", &[open.pid, closed.pid]);
    let found = answer["found"].as_object().expect("an object");
    assert_eq!(found.keys().collect::<Vec<_>>(), [&open.pid.to_string()]);
    let can = found.values().next().expect("one").to_string();
    // So no access in the tests above fails for a different reason.
    for way in [
        "reads mem",
        "task/",
        "environ",
        "auxv",
        "reads maps",
        "smaps",
        "writes mem",
        "lists fd",
        "opens fd 0",
        "exe",
        "cwd",
        "root",
        "takes fd 0",
        "reads by call",
        "by a program: mem ",
    ] {
        assert!(can.contains(way), "{way}: {can}");
    }
    server.stop();

    // For all processes, including the server.
    let php = with_ffi(&place, &format!("dumpable\nphp {}", place.php().display()));
    let server = place.site("user nobody", &php).start();
    let answer = look(&server, "/look.php?", &[server.pid()]);
    assert!(
        !answer["found"][server.pid().to_string()].is_null(),
        "{answer}"
    );
    server.stop();
}

/// Target of each descriptor by its number, and whether programs inherit it.
fn descriptors(pid: u32) -> BTreeMap<u32, (String, bool)> {
    let numbers = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("root may");
    let numbers = numbers.flatten().map(|entry| entry.file_name());
    let numbers = numbers.map(|name| name.to_string_lossy().parse().expect("a number"));
    let one = |number: u32| {
        let link = std::fs::read_link(format!("/proc/{pid}/fd/{number}")).expect("it is there");
        let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}"));
        let info = info.expect("it is there");
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = u32::from_str_radix(flags.expect("flags").trim(), 8).expect("octal");
        let inherited = flags & 0o2_000_000 == 0;
        (number, (link.to_string_lossy().into_owned(), inherited))
    };
    numbers.map(one).collect()
}

/// The script, which PHP opens like any file, and its folder in worker mode.
fn is_of_script(link: &str) -> bool {
    link.contains("/www")
}

/// Whether a process needs this descriptor.
fn is_known(command: &str, number: u32, link: &str) -> bool {
    if number <= 2 {
        return link.starts_with("pipe:");
    }
    let of_all = [
        ".ZendSem.",    // OPcache's lock
        "opcache_lock", // the same, of other releases
        "/tmp/howdah-", // bodies
        "[eventfd]",    // of front threads, and of places of a concurrent pool
        "[eventpoll]",  // of a concurrent worker
        "[timerfd]",
    ];
    let of_zygotes = ["socket:", "[signalfd]"];
    let is_one = |links: &[&str]| links.iter().any(|part| link.contains(part));
    let is_worker = command.contains(" worker ") || command.contains(" spare");
    is_one(&of_all) || is_of_script(link) || !is_worker && is_one(&of_zygotes)
}

#[test]
fn php_processes_have_only_descriptors_that_they_need() {
    let Some(place) = place() else { return };
    let workers = [
        place.worker("childer.php", ""),
        place.worker("concurrent.php", "concurrency 4"),
    ];
    let php = format!("user www-data\n{}", workers.join("\n"));
    let server = place.site("", &php).start();
    for target in ["/child.php", "/childer.php", "/concurrent.php"] {
        let answer = server.get(target);
        answer.assert_status(200);
        // Descriptors of a program that the script starts, at the boot and in a request.
        for lines in answer.json().as_object().expect("an object").values() {
            let lines = lines.as_object().expect("an object");
            assert!(lines.len() >= 3, "{target}: {lines:?}");
            for (number, link) in lines {
                let link = link.as_str().expect("a text");
                let standard = ["0", "1", "2"].contains(&number.as_str());
                let is_own = standard && link.starts_with("pipe:") || is_of_script(link);
                assert!(is_own, "{target}: {lines:?}");
            }
        }
    }
    for process in server.processes() {
        for (number, (link, inherited)) in descriptors(process.pid) {
            let what = format!("{}: {number} {link}", process.command);
            // A spare worker waits on a socket.
            let waits = process.command.contains(" spare") && link.starts_with("socket:");
            assert!(waits || is_known(&process.command, number, &link), "{what}");
            let may_be_inherited = number <= 2 || is_of_script(&link);
            assert!(!inherited || may_be_inherited, "{what} is inherited");
        }
    }
    server.stop();
}
