//! Users of pools and of the server, and the privileges of their processes. Only root can change
//! users. For other users, these tests print a note and are skipped.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use howdah_testkit::process::{self, Process};
use howdah_testkit::{Request, Server, ServerBuilder, Signal, howdah_php};
use howdah_tests::admin::Admin;
use howdah_tests::hang_until_traced;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Users that exist on every Debian and Ubuntu.
pub(crate) const WEB: (u32, u32) = (33, 33);
pub(crate) const NOBODY: (u32, u32) = (65534, 65534);
/// `CAP_NET_BIND_SERVICE`.
pub(crate) const LISTEN: u64 = 1 << 10;

const WHO: &str = r"<?php
function who(): array {
    preg_match_all('/^(CapEff|CapPrm|NoNewPrivs):\s*(\S+)/m', file_get_contents('/proc/self/status'), $found);
    return array_combine($found[1], $found[2]) + [
        'ids' => [posix_getuid(), posix_geteuid(), posix_getgid(), posix_getegid()],
        'groups' => posix_getgroups(),
        'user' => getenv('USER'),
        'home' => getenv('HOME'),
        'secret' => @file_get_contents($_SERVER['DOCUMENT_ROOT'] . '/../secret'),
        'back' => posix_setuid(0) || posix_seteuid(0) || posix_setgid(0),
        'open' => count(scandir('/proc/self/fd')) > 3,
        'stderr' => !isset($_GET['stderr']) || written(),
    ];
}
function written(): bool {
    exec('echo written to stderr by $(id -u) > /dev/stderr', $lines, $status);
    return $status === 0;
}
function take(): array {
    $to = $_GET['to'] ?? null;
    if ($to && $_FILES) {
        return ['moved' => move_uploaded_file($_FILES['file']['tmp_name'], $to)];
    }
    return $to ? ['copied' => copy('php://input', $to)] : [];
}
";

const CLASSIC: &str = "<?php
require 'who.inc';
header('Content-Type: application/json');
echo json_encode(who() + take());
";

const WORKER: &str = "<?php
require 'who.inc';
$boot = who();
while (frankenphp_handle_request(function () use ($boot) {
    header('Content-Type: application/json');
    echo json_encode(who() + take() + ['boot' => $boot['ids'], 'pid' => getmypid()]);
}));
";

const SLOW: &str = "<?php
while (frankenphp_handle_request(function () {
    hang();
}));
function hang(): void {
    for (;;) {
        usleep(1000);
    }
}
";

/// A directory that every user can read, with a directory that every user can write.
pub(crate) struct Place(TempDir);

impl Place {
    /// Returns `None` and prints a note without the right to change users.
    pub(crate) fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("left out: only root can change users");
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let place = Self(dir);
        place.mode("", 0o755);
        for (folder, mode) in [("www", 0o755), ("tmp", 0o1777), ("bin", 0o755)] {
            std::fs::create_dir(place.path(folder)).expect("made");
            place.mode(folder, mode);
        }
        let files = [
            ("www/who.inc", WHO),
            ("www/who.php", CLASSIC),
            ("www/worker.php", WORKER),
            ("www/other.php", WORKER),
            ("www/slow.php", SLOW),
            ("secret", "for root alone"),
        ];
        for (name, text) in files {
            std::fs::write(place.path(name), text).expect("written");
            place.mode(name, 0o644);
        }
        place.mode("secret", 0o600);
        Some(place)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn mode(&self, name: &str, mode: u32) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.path(name), permissions).expect("changed");
    }

    /// Copies PHP to a place where every user can run it.
    pub(crate) fn php(&self) -> PathBuf {
        self.copy_of_php(&howdah_php())
    }

    /// Like `php`, for another executable.
    pub(crate) fn copy_of_php(&self, executable: &Path) -> PathBuf {
        for name in ["howdah-php", "howdah-php.so"] {
            let from = executable.with_file_name(name);
            let to = self.path("bin").join(name);
            std::fs::copy(&from, &to).expect("copied");
            self.mode(&format!("bin/{name}"), 0o755);
        }
        self.path("bin/howdah-php")
    }

    /// A site with these scripts. `global` are global options, `php` those of `frankenphp`.
    pub(crate) fn site(&self, global: &str, php: &str) -> ServerBuilder {
        Server::caddyfile(self.text(global, php)).env("TMPDIR", self.path("tmp"))
    }

    /// Caddyfile of the site.
    pub(crate) fn text(&self, global: &str, php: &str) -> String {
        format!(
            "{{\nadmin localhost:0\n{global}\nfrankenphp {{\nnum_threads 2\n{php}\n}}\n}}\n\
             http://:0 {{\nbind 127.0.0.1\nroot * {}\nphp_server\n}}\n",
            self.path("www").display()
        )
    }

    pub(crate) fn worker(&self, script: &str, lines: &str) -> String {
        let file = self.path("www").join(script);
        format!("worker {} {{\nnum 1\n{lines}\n}}", file.display())
    }
}

pub(crate) fn who(server: &Server, target: &str) -> Value {
    let response = server.get(target);
    response.assert_status(200);
    response.json()
}

/// Checks that the process which responds has this user's privileges and no others.
#[track_caller]
pub(crate) fn assert_is(answer: &Value, (uid, gid): (u32, u32)) {
    assert_eq!(answer["ids"], json!([uid, uid, gid, gid]), "{answer}");
    let groups = answer["groups"].as_array().expect("a list");
    assert!(
        groups.contains(&gid.into()) && !groups.contains(&0.into()),
        "{answer}"
    );
    assert_eq!(answer["secret"], false, "{answer}");
    assert_eq!(answer["back"], false, "{answer}");
    assert_eq!(answer["open"], true, "{answer}");
    assert_eq!(answer["stderr"], true, "{answer}");
    for set in ["CapEff", "CapPrm"] {
        assert_eq!(answer[set], "0000000000000000", "{answer}");
    }
}

/// Sends a body that is spooled, and the same body as a file of a form. PHP reads them and creates
/// its own files.
#[track_caller]
pub(crate) fn assert_takes_bodies(
    server: &Server,
    place: &Place,
    target: &str,
    (uid, gid): (u32, u32),
) {
    let content: Vec<u8> = (0..3_000_000_u32)
        .map(|byte| byte.to_le_bytes()[1])
        .collect();
    let to = |name: &str| place.path("tmp").join(name);
    let raw = Request::new("POST", format!("{target}?to={}", to("raw").display()));
    let answer = server.send(&raw.body(&content));
    answer.assert_status(200);
    assert_eq!(answer.json()["copied"], true, "{}", answer.text());

    let mut body =
        b"--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n".to_vec();
    let small = &content[..1_000_000];
    body.extend_from_slice(small);
    body.extend_from_slice(b"\r\n--X--\r\n");
    let form = Request::new("POST", format!("{target}?to={}", to("form").display()))
        .header("Content-Type", "multipart/form-data; boundary=X")
        .body(body);
    let answer = server.send(&form);
    answer.assert_status(200);
    assert_eq!(answer.json()["moved"], true, "{}", answer.text());

    for (name, content) in [("raw", &content[..]), ("form", small)] {
        let metadata = std::fs::metadata(to(name)).expect("it was made");
        assert_eq!((metadata.uid(), metadata.gid()), (uid, gid), "{name}");
        assert!(
            std::fs::read(to(name)).expect("readable") == content,
            "{name} differs"
        );
        std::fs::remove_file(to(name)).expect("removed");
    }
}

pub(crate) fn status_line(pid: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it is there");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.expect(name)
        .trim_start_matches(':')
        .trim()
        .replace('\t', " ")
}

/// The line `Uid` of a server that root started. PHP could signal the server only with its first or
/// third user.
pub(crate) fn users_of_front(uid: u32) -> String {
    format!("65533 {uid} 65533 {uid}")
}

/// The process below the server whose title contains this text.
pub(crate) fn process_of(server: &Server, title: &str) -> Process {
    let processes = server.processes();
    let mut found = processes
        .iter()
        .filter(|process| process.command.contains(title));
    let first = found
        .next()
        .unwrap_or_else(|| panic!("no {title}: {processes:?}"));
    first.clone()
}

#[test]
fn pools_have_users_of_their_own() {
    let Some(place) = Place::new() else { return };
    let workers = [
        place.worker("worker.php", "user nobody"),
        place.worker("other.php", ""),
    ];
    let server = place
        .site("", &format!("user www-data\n{}", workers.join("\n")))
        .start();
    let classic = who(&server, "/who.php");
    assert_is(&classic, WEB);
    assert_eq!(classic["user"], "www-data");
    assert_eq!(classic["home"], "/var/www");
    assert_eq!(classic["NoNewPrivs"], "0");
    for (target, user) in [("/worker.php", NOBODY), ("/other.php", WEB)] {
        let answer = who(&server, target);
        assert_is(&answer, user);
        assert_eq!(answer["boot"], answer["ids"], "{answer}");
    }
    for (target, user) in [("/who.php", WEB), ("/worker.php", NOBODY)] {
        assert_takes_bodies(&server, &place, target, user);
    }
    // The file can be opened again by its name.
    for (target, uid) in [("/who.php?stderr", 33), ("/worker.php?stderr", 65534)] {
        let line = format!("written to stderr by {uid}");
        server.expect_log(&line);
        assert_eq!(who(&server, target)["stderr"], true, "{target}");
        server.wait_log(&line);
    }

    // The server remains root, and so do processes that it starts for pools without a user.
    assert_eq!(status_line(server.pid(), "Uid"), "0 0 0 0");
    for (title, user) in [
        ("pool php", WEB),
        ("pool worker", NOBODY),
        ("pool other", WEB),
    ] {
        let (pid, (uid, gid)) = (process_of(&server, title).pid, user);
        assert_eq!(status_line(pid, "Uid"), format!("{uid} {uid} {uid} {uid}"));
        assert_eq!(status_line(pid, "Gid"), format!("{gid} {gid} {gid} {gid}"));
    }
    assert!(server.log().containing("PHP runs as root").is_empty());
    server.stop();
}

/// If PHP could give the server a configuration without `user`, it would become root.
#[test]
fn php_of_another_user_does_not_configure_the_server() {
    let Some(place) = Place::new() else { return };
    let order = "<?php
        $context = stream_context_create(['http' => ['method' => 'POST', 'ignore_errors' => true,
            'header' => 'Content-Type: text/caddyfile', 'content' => $_GET['body'] ?? '']]);
        echo file_get_contents('http://' . $_GET['to'], false, $context), $http_response_header[0];
    ";
    std::fs::write(place.path("www/order.php"), order).expect("written");
    place.mode("www/order.php", 0o644);
    let server = place.site("", "user www-data\nno_new_privs").start();
    let admin = Admin::of(&server);
    server.allow_log("refused");
    for target in ["/load", "/reload?config=/etc/shadow"] {
        let to = format!("{}{target}", admin.address).replace('?', "%3F");
        let answer = server.get(&format!("/order.php?to={to}&body=:0"));
        answer.assert_status(200);
        let text = answer.text();
        assert!(text.contains("403 Forbidden"), "{text}");
        assert!(!text.contains("root:"), "{text}");
    }
    assert_is(&who(&server, "/who.php"), WEB);
    server.stop();
}

/// Servers without a configured address share one socket of the machine. No other test uses it.
#[test]
fn the_admin_api_is_out_of_reach_of_php_by_default() {
    let Some(place) = Place::new() else { return };
    let socket = "unix//run/howdah/admin.sock";
    let text = format!(
        "{{\nfrankenphp {{\nnum_threads 1\nuser www-data\n}}\n}}\n\
         http://:0 {{\nbind 127.0.0.1\nroot * {}\nphp_server\n}}\n",
        place.path("www").display()
    );
    let file = place.path("Caddyfile");
    std::fs::write(&file, &text).expect("written");
    let server = Server::caddyfile(text)
        .env("TMPDIR", place.path("tmp"))
        .start();
    server.wait_log("at a Unix socket and not at localhost:2019");
    assert_eq!(Admin::of(&server).address, socket);
    let mode = std::fs::metadata(&socket[5..]).expect("it is there").mode();
    assert_eq!(mode & 0o777, 0o600);
    // The commands find the socket.
    let command = ServerBuilder::command(["status", "--config"]);
    command.arg(&file).run().assert(0, "php");
    // Also with another user for the server than the one in the unit's environment: PHP's.
    let command = ServerBuilder::command(["status", "--config"]);
    let command = command.env("HOWDAH_USER", "www-data");
    command.arg(&file).run().assert(0, "php");
    server.stop();
}

#[test]
fn groups_are_the_users_or_the_one_that_is_named() {
    let Some(place) = Place::new() else { return };
    let server = place.site("", "user nobody:adm").start();
    let answer = who(&server, "/who.php");
    assert_eq!(answer["ids"], json!([65534, 65534, 4, 4]), "{answer}");
    assert_eq!(answer["groups"], json!([4]), "{answer}");
    server.stop();

    let server = place.site("", "user 4242424:17").start();
    let answer = who(&server, "/who.php");
    assert_is(&answer, (4_242_424, 17));
    assert_eq!(answer["groups"], json!([17]));
}

#[test]
fn the_server_commands_processes_of_other_users() {
    let Some(place) = Place::new() else { return };
    let workers = [
        place.worker("worker.php", "user nobody"),
        place.worker("slow.php", "user nobody\nrequest_timeout 3s"),
    ];
    let server = place
        .site("", &format!("user www-data\n{}", workers.join("\n")))
        .start();
    let admin = Admin::of(&server);

    // A request that exceeds its limit is traced, and its worker is killed.
    server.expect_log("took longer than 3s");
    server.expect_log("worker killed: request timed out");
    hang_until_traced(&server, "/slow.php", "hang()");

    // A reload stops the previous generation.
    let before = who(&server, "/worker.php");
    admin.post("/reload").assert_status(200);
    let after = who(&server, "/worker.php");
    assert_ne!(before["pid"], after["pid"]);
    assert_is(&after, NOBODY);

    // A worker and a zygote that were killed are replaced by others of the same user.
    for title in ["worker worker", "pool worker", "pool php"] {
        server.allow_log("died");
        server.allow_log("exited unexpectedly");
        // A process of the previous generation may still be exiting, and may be gone before it is
        // killed.
        let victim = loop {
            let victim = process_of(&server, title);
            if process::kill(victim.pid, Signal::KILL).is_ok() {
                break victim;
            }
        };
        assert!(victim.wait_exited(howdah_testkit::PATIENCE));
    }
    assert_is(&who(&server, "/worker.php"), NOBODY);
    assert_is(&who(&server, "/who.php"), WEB);

    // The same for the root process of PHP.
    server.allow_log("the PHP root process exited");
    let root = process_of(&server, "howdah: php ");
    process::kill(root.pid, Signal::KILL).expect("it is there");
    server.wait_log("PHP was restarted");
    assert_is(&who(&server, "/who.php"), WEB);
    assert_eq!(admin.post("/stop").status(), 200);
    assert!(server.wait_exit().success());
}

#[test]
fn they_end_with_a_server_that_is_killed() {
    let Some(place) = Place::new() else { return };
    let server = place.site("", "user www-data").start();
    assert_is(&who(&server, "/who.php"), WEB);
    // Dropping the server checks that nothing remains.
    server.kill();
    server.wait_exit();
    for left in std::fs::read_dir(place.path("tmp"))
        .expect("readable")
        .flatten()
    {
        assert!(left.file_name().to_string_lossy().starts_with("howdah-"));
    }
}

#[test]
fn the_server_gives_up_its_rights() {
    let Some(place) = Place::new() else { return };
    let php = format!(
        "php {}\n{}",
        place.php().display(),
        place.worker("worker.php", "")
    );
    let server = place.site("user nobody", &php).start();
    let (uid, gid) = NOBODY;
    assert_eq!(status_line(server.pid(), "Uid"), users_of_front(uid));
    assert_eq!(
        status_line(server.pid(), "Gid"),
        format!("{gid} {gid} {gid} {gid}")
    );
    assert_eq!(status_line(server.pid(), "Groups"), gid.to_string());
    for set in ["CapPrm", "CapEff"] {
        assert_eq!(status_line(server.pid(), set), format!("{LISTEN:016x}"));
    }
    // Each thread of the server.
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).expect("it is there");
    for task in tasks.flatten() {
        let task: u32 = task
            .file_name()
            .to_string_lossy()
            .parse()
            .expect("a number");
        assert_eq!(status_line(task, "Uid"), users_of_front(uid));
    }
    for target in ["/who.php", "/worker.php"] {
        let answer = who(&server, target);
        assert_is(&answer, NOBODY);
        assert_eq!(answer["user"], "nobody");
        assert_takes_bodies(&server, &place, target, NOBODY);
    }
    let admin = Admin::of(&server);
    admin.post("/reload").assert_status(200);
    server.allow_log("the PHP root process exited");
    let root = process_of(&server, "howdah: php ");
    process::kill(root.pid, Signal::KILL).expect("it is there");
    server.wait_log("PHP was restarted");
    for target in ["/who.php", "/worker.php"] {
        assert_is(&who(&server, target), NOBODY);
    }
    server.stop();
    let left: Vec<_> = std::fs::read_dir(place.path("tmp"))
        .expect("readable")
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn programs_gain_no_rights_if_configured() {
    let Some(place) = Place::new() else { return };
    let workers = [
        place.worker("worker.php", "no_new_privs off"),
        place.worker("other.php", ""),
    ];
    let php = format!("user nobody\nno_new_privs\n{}", workers.join("\n"));
    let server = place.site("", &php).start();
    for (target, set) in [("/who.php", "1"), ("/worker.php", "0"), ("/other.php", "1")] {
        assert_eq!(who(&server, target)["NoNewPrivs"], set, "{target}");
    }
}

#[test]
fn impossible_settings_are_reported_at_the_start() {
    let Some(place) = Place::new() else { return };
    let start = |global: &str, php: &str| match place.site(global, php).try_start() {
        Ok(_) => panic!("{global} {php} is accepted"),
        Err(ended) => ended,
    };
    start("user howdah-none", "").assert(2, "user howdah-none: there is no such user");
    start("", "user howdah-none").assert(2, "user howdah-none: there is no such user");
    start("", "user nobody:howdah-none").assert(2, "user nobody:howdah-none: there is no group");
    start("", "user 4242424").assert(2, "name its group too: `user 4242424:GROUP`");

    // A user other than root.
    let text = format!(
        "{{\nadmin off\nfrankenphp {{\nuser www-data\n}}\n}}\nhttp://:0 {{\nbind 127.0.0.1\nroot * {}\nphp_server\n}}\n",
        place.path("www").display()
    );
    let file = place.path("Caddyfile");
    std::fs::write(&file, text).expect("written");
    place.mode("Caddyfile", 0o644);
    let program = reachable(&place);
    let file = file.to_str().expect("text");
    let ended = ServerBuilder::command(["run", "-c", file])
        .program(program)
        .env("TMPDIR", place.path("tmp"))
        .through([
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
        ])
        .run();
    ended.assert(
        2,
        "user www-data: howdah was started by uid 65534, which cannot change users",
    );
}

/// Copies the program to a place where every user can run it.
pub(crate) fn reachable(place: &Place) -> PathBuf {
    let (from, to) = (howdah_testkit::howdah(), place.path("bin/howdah"));
    link_or_copy(&from, &to);
    to
}

fn link_or_copy(from: &Path, to: &Path) {
    if std::fs::hard_link(from, to).is_err() {
        std::fs::copy(from, to).expect("copied");
    }
}

#[test]
fn php_as_root_is_a_warning() {
    let Some(place) = Place::new() else { return };
    let server = place.site("", "").start();
    assert_eq!(who(&server, "/who.php")["ids"], json!([0, 0, 0, 0]));
    let lines = server.log().containing("PHP runs as root");
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].level(), Some("info"), "{}", lines[0].raw);
    server.stop();

    let server = Server::builder(place.path("www"))
        .args(["--user", "nobody", "--workers", "1"])
        .arg("--php")
        .arg(place.php())
        .env("TMPDIR", place.path("tmp"))
        .start();
    assert_is(&who(&server, "/who.php"), NOBODY);
}
