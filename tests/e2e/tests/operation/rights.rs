//! Privileges of a running server that root started, without users in its configuration.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::PathBuf;

use howdah_testkit::process::{self, Process};
use howdah_testkit::{Connection, Request, Server, ServerBuilder, Signal};
use howdah_tests::admin::Admin;
use howdah_tests::encode;
use howdah_tests::http2::{over_http2, ready, whole};
use howdah_tests::tls::{Authority, Client};
use serde_json::json;

use crate::privileges::{
    LISTEN, NOBODY, Place, WEB, assert_is, reachable, status_line, users_of_front, who,
};

/// A server of `www-data`. `{place}` in the texts stands for the directory.
fn site(place: &Place, global: &str, site: &str, more: &str) -> ServerBuilder {
    site_with(place, "", global, site, more)
}

/// Like `site`, with options of PHP.
pub(crate) fn site_with(
    place: &Place,
    php: &str,
    global: &str,
    site: &str,
    more: &str,
) -> ServerBuilder {
    let text = format!(
        "{{\nadmin localhost:0\nstorage file_system {{place}}/store\n{global}\n\
         frankenphp {{\nnum_threads 2\nfront_threads 2\nphp {}\n{php}\n}}\n}}\n\
         http://:0 {{\nbind 127.0.0.1\nroot * {{place}}/www\n{site}\n}}\n{more}\n",
        place.php().display()
    );
    let text = text.replace(
        "{place}",
        place.path("").display().to_string().trim_end_matches('/'),
    );
    std::fs::write(place.path("Caddyfile"), text).expect("written");
    place.mode("Caddyfile", 0o600);
    let file = place.path("Caddyfile");
    ServerBuilder::command(["run", "--config", file.to_str().expect("UTF-8")])
        .env("TMPDIR", place.path("tmp"))
        .unprivileged()
}

pub(crate) fn write(place: &Place, name: &str, text: &str, mode: u32) {
    std::fs::write(place.path(name), text).expect("written");
    place.mode(name, mode);
}

pub(crate) fn monitor(server: &Server) -> Process {
    let found = server.processes().into_iter();
    let mut found = found.filter(|process| process.command.starts_with("howdah: monitor"));
    let monitor = found.next().expect("there is one");
    assert!(found.next().is_none());
    monitor
}

/// Name of the variable, and its value without a configured user.
const NO_USER: (&str, &str) = ("HOWDAH_USER", "");

#[test]
fn nothing_is_root_but_the_monitor() {
    let Some(place) = Place::new() else { return };
    let server = site(&place, "", "php_server", "").start();
    assert_only_the_monitor_is_root(server);
}

#[test]
fn the_default_user_is_not_root() {
    let Some(place) = Place::new() else { return };
    let (name, value) = NO_USER;
    let server = site(&place, "", "php_server", "").env(name, value).start();
    assert_only_the_monitor_is_root(server);
}

fn assert_only_the_monitor_is_root(server: Server) {
    let (uid, gid) = WEB;
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).expect("it is there");
    for task in tasks.flatten() {
        let name = task.file_name();
        let task = name.to_string_lossy().parse().expect("a number");
        assert_eq!(status_line(task, "Uid"), users_of_front(uid));
        assert_eq!(status_line(task, "Gid"), format!("{gid} {gid} {gid} {gid}"));
        for set in ["CapPrm", "CapEff"] {
            assert_eq!(status_line(task, set), format!("{LISTEN:016x}"));
        }
        assert_eq!(status_line(task, "CapInh"), format!("{:016x}", 0));
    }
    let answer = who(&server, "/who.php");
    assert_is(&answer, WEB);
    assert_eq!(answer["user"], "www-data");
    let monitor = monitor(&server);
    assert_eq!(status_line(monitor.pid, "Threads"), "1");
    assert_eq!(status_line(monitor.pid, "Uid"), "0 0 0 0");
    for process in server.processes() {
        let expected = if process.pid == monitor.pid { 0 } else { uid };
        let own = status_line(process.pid, "Uid");
        let expected = format!("{expected} {expected} {expected} {expected}");
        assert!(
            own == expected || process.pid == server.pid(),
            "{process:?}: {own}"
        );
    }
    server.stop();
}

/// Sends signals to the server, or to PHP's zygotes, which are ancestors of the request's process.
const SIGNALS: &str = r"<?php
function parent(int $pid): int {
    return (int) preg_replace('/^.*\) \S+ (\d+) .*$/s', '$1', (string) file_get_contents('/proc/' . $pid . '/stat'));
}
$zygotes = [$pool = posix_getppid(), $root = parent($pool)];
echo json_encode(match ($_GET['to']) {
    'server' => array_map(fn ($signal) => posix_kill(parent($root), $signal), [0, 15, 19, 9]),
    'zygotes' => array_map(fn ($pid) => posix_kill($pid, 19), $zygotes),
});
";

#[test]
fn php_of_the_servers_user_cannot_signal_the_server() {
    let Some(place) = Place::new() else { return };
    write(&place, "www/signals.php", SIGNALS, 0o644);
    let server = site(&place, "", "php_server", "").start();
    let refused = json!([false, false, false, false]);
    assert_eq!(who(&server, "/signals.php?to=server"), refused);
    assert_is(&who(&server, "/who.php"), WEB);
    server.stop();
}

#[test]
fn zygotes_that_php_has_stopped_continue() {
    let Some(place) = Place::new() else { return };
    write(&place, "www/signals.php", SIGNALS, 0o644);
    let server = site(&place, "", "php_server", "").start();
    let stopped = who(&server, "/signals.php?to=zygotes");
    assert_eq!(stopped, json!([true, true]));
    Admin::of(&server).post("/reload").assert_status(200);
    assert_is(&who(&server, "/who.php"), WEB);
    server.stop();
}

#[test]
fn links_lead_nowhere_that_the_user_may_not_read() {
    let Some(place) = Place::new() else { return };
    std::fs::create_dir(place.path("www/uploads")).expect("made");
    std::fs::create_dir(place.path("closed")).expect("made");
    write(&place, "closed/index.html", "secret", 0o644);
    place.mode("closed", 0o700);
    write(&place, "www/uploads/own.txt", "own", 0o644);
    for (target, name) in [
        ("secret", "link.txt"),
        ("secret", "own.txt.gz"),
        ("closed", "folder"),
        ("Caddyfile", "configuration.txt"),
    ] {
        let link = place.path("www/uploads").join(name);
        symlink(place.path(target), link).expect("a link");
    }
    let accel = "<?php header('X-Accel-Redirect: /uploads/link.txt');";
    write(&place, "www/accel.php", accel, 0o644);
    let server = site(
        &place,
        "",
        "handle /list/* {\nuri strip_prefix /list\nfile_server browse\n}\n\
         handle /try/* {\ntry_files /uploads/link.txt\nfile_server\n}\n\
         handle /error {\nerror 404\n}\n\
         handle_errors {\nrewrite * /uploads/link.txt\nfile_server\n}\n\
         intercept {\n@accel header X-Accel-Redirect *\nhandle_response @accel {\n\
         rewrite * {resp.header.X-Accel-Redirect}\nfile_server\n}\n}\n\
         php_server {\nfile_server off\nindex off\n}\n\
         file_server {\nprecompressed gzip\n}",
        "",
    )
    .start();
    for target in [
        "/uploads/link.txt",
        "/uploads/configuration.txt",
        "/uploads/folder/",
        "/uploads/folder/index.html",
        "/list/uploads/link.txt",
        "/list/uploads/folder/",
        "/try/x",
        "/accel.php",
        "/error",
    ] {
        for request in [
            Request::get(target),
            Request::get(target).header("Range", "bytes=0-3"),
            Request::get(target).header("Accept-Encoding", "gzip"),
        ] {
            let answer = server.send(&request);
            let text = answer.text();
            assert!(
                !text.contains("for root alone") && !text.contains("secret"),
                "{target}: {text}"
            );
            // The error page is unreadable, so the error itself is sent.
            let expected = if target == "/error" {
                [403, 404]
            } else {
                [403; 2]
            };
            assert!(
                expected.contains(&answer.status()),
                "{target}: {} {text}",
                answer.status()
            );
        }
    }
    let own = server.send(&Request::get("/uploads/own.txt").header("Accept-Encoding", "gzip"));
    own.assert(200, "own");
    over_http2(&server, async |client| {
        let uri = format!("http://{}/uploads/link.txt", server.address());
        let request = http::Request::get(uri).body(()).expect("a request");
        let (answer, _) = ready(client)
            .await
            .send_request(request, true)
            .expect("sent");
        let answer = answer.await.expect("answered");
        assert_eq!(answer.status(), 403);
        whole(answer.into_body()).await;
    });
    server.stop();
}

#[test]
fn keys_are_for_the_monitor_alone() {
    let Some(place) = Place::new() else { return };
    std::fs::create_dir(place.path("keys")).expect("made");
    place.mode("keys", 0o700);
    let authority = Authority::new();
    let issue = |authority: &Authority| {
        authority.issue(&place.path("keys"), "given", &["given.example"]);
        for file in ["keys/given.crt", "keys/given.key"] {
            place.mode(file, 0o600);
        }
    };
    issue(&authority);
    let script = "<?php
        $front = (int) $_GET['front'];
        $files = ['keys/given.crt', 'keys/given.key', 'store/authority/root.pem', 'store', 'Caddyfile'];
        $files = array_map(fn ($file) => $_SERVER['DOCUMENT_ROOT'] . '/../' . $file, $files);
        foreach (['root/etc/shadow', 'mem', 'environ', 'maps', 'fd/0', 'fd', 'cwd/store'] as $file) {
            $files[] = \"/proc/$front/$file\";
        }
        $read = array_filter($files, fn ($file) =>
            @file_get_contents($file, false, null, 0, 1) !== false || @scandir($file));
        header('Content-Type: application/json');
        echo json_encode(array_values($read));";
    write(&place, "www/keys.php", script, 0o644);
    symlink(
        place.path("store/authority/root.pem"),
        place.path("www/link.pem"),
    )
    .expect("a link");
    let more = "https://own.example:0 {\nbind 127.0.0.1\ntls internal\nroot * {place}/www\nphp_server\n}\n\
        https://given.example:0 {\nbind 127.0.0.1\ntls {place}/keys/given.crt {place}/keys/given.key\nrespond given\n}";
    let server = site(&place, "auto_https disable_redirects", "php_server", more).start();
    let read = || server.get(&format!("/keys.php?front={}", server.pid()));
    assert_eq!(read().json(), json!([]), "{}", read().text());
    let owner_and_mode = |name: &str| {
        let found = std::fs::metadata(place.path(name)).expect("it is there");
        (found.uid(), found.mode() & 0o777)
    };
    assert_eq!(owner_and_mode("store"), (0, 0o700));
    assert_eq!(owner_and_mode("store/authority/root.pem"), (0, 0o600));
    server.get("/link.pem").assert_status(403);

    let tls = server
        .addresses()
        .iter()
        .find(|address| **address != server.address());
    let tls = *tls.expect("an address with TLS");
    let root = std::fs::read_to_string(place.path("store/authority/root.crt")).expect("made");
    let answer = Client::trusting(&root)
        .get(tls, "own.example", "/who.php")
        .expect("served");
    assert_eq!(answer.status, 200);
    Client::trusting(&authority.pem())
        .get(tls, "given.example", "/")
        .expect("served")
        .assert(200, "given");

    // A new certificate in these files, and an additional import. The monitor reads both.
    let other = Authority::new();
    issue(&other);
    write(&place, "keys/more", "header X-More yes\n", 0o600);
    let text = std::fs::read_to_string(place.path("Caddyfile")).expect("written");
    let import = format!(
        "import {}\nrespond given",
        place.path("keys/more").display()
    );
    std::fs::write(
        place.path("Caddyfile"),
        text.replace("respond given", &import),
    )
    .expect("written");
    let admin = Admin::of(&server);
    admin.post("/reload").assert_status(200);
    let answer = Client::trusting(&other.pem()).get(tls, "given.example", "/");
    let answer = answer.expect("served by the other one");
    assert_eq!(answer.header("x-more"), Some("yes"));
    // The server serves no file that only root can read.
    assert_eq!(
        admin.get("/config").json()["statements"],
        serde_json::Value::Null
    );
    assert_eq!(read().json(), json!([]));
    server.stop();
}

#[test]
fn logs_stay_roots() {
    let Some(place) = Place::new() else { return };
    std::fs::create_dir(place.path("log")).expect("made");
    place.mode("log", 0o755);
    let log = "log {\noutput file {place}/log/access.log {\nroll_size 2KiB\nroll_keep 3\n}\n}\nphp_server";
    let server = site(&place, "", log, "").start();
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(place.path("log"))
            .expect("readable")
            .flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    };
    let rolled = || names().iter().any(|name| name.ends_with(".log.gz"));
    for _ in 0..200 {
        server.get("/who.php").assert_status(200);
        if rolled() {
            break;
        }
    }
    assert!(
        process::wait_until(howdah_testkit::PATIENCE, rolled),
        "{:?}",
        names()
    );
    server.stop();
    for name in names() {
        let found = std::fs::metadata(place.path("log").join(&name)).expect("it is there");
        assert_eq!((found.uid(), found.mode() & 0o777), (0, 0o600), "{name}");
    }
}

/// A port of 127.0.0.1 on which only root may listen.
fn low_port() -> u16 {
    let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    (600..1024).rev().find(free).expect("a free port")
}

#[test]
fn a_reload_may_add_a_port_below_1024() {
    let Some(place) = Place::new() else { return };
    let server = site(&place, "", "php_server", "").start();
    let port = low_port();
    let text = std::fs::read_to_string(place.path("Caddyfile")).expect("written");
    let text = format!("{text}http://:{port} {{\nbind 127.0.0.1\nrespond low\n}}\n");
    std::fs::write(place.path("Caddyfile"), text).expect("written");
    server.signal(Signal::HUP);
    server.wait_log("configuration loaded");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut connection = Connection::open(address).expect("listened on");
    let answer = connection.exchange(&Request::get("/")).expect("answered");
    answer.assert(200, "low");
    server.stop();
}

#[test]
fn nothing_outlives_server_or_monitor() {
    let Some(place) = Place::new() else { return };
    // Dropping the server checks that nothing remains.
    let server = site(&place, "", "php_server", "").start();
    assert_is(&who(&server, "/who.php"), WEB);
    server.kill();
    server.wait_exit();
    drop(server);

    let server = site(&place, "", "php_server", "").start();
    // Signals to all processes with a name do not terminate the monitor before the server.
    let monitor = monitor(&server);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        process::kill(monitor.pid, signal).expect("it is there");
    }
    assert_is(&who(&server, "/who.php"), WEB);
    server.expect_log("the monitor exited");
    process::kill(monitor.pid, Signal::KILL).expect("it is there");
    server.expect_exit(1);
    server.wait_exit();
}

#[test]
fn a_server_does_not_start_where_its_user_reaches_nothing() {
    let Some(place) = Place::new() else { return };
    place.mode("www", 0o700);
    let ended = site(&place, "user www-data", "php_server", "").run();
    ended.assert(2, "user www-data may not enter");
    for part in [
        place.path("www").to_str().expect("UTF-8"),
        "mode 0700",
        "chmod o+x",
        "`user root`",
    ] {
        ended.assert(2, part);
    }
    let file = place.path("Caddyfile");
    let checked = ServerBuilder::command(["validate", "-c"]).arg(&file).run();
    checked.assert(0, "warning: user www-data may not enter");
    place.mode("www", 0o755);
    // The same for the directory above.
    place.mode("", 0o700);
    let ended = site(&place, "user www-data", "php_server", "").run();
    ended.assert(2, "the way to the document root");
    // A configured root is used.
    let server = site(&place, "user root", "php_server", "").start();
    assert_eq!(who(&server, "/who.php")["ids"], json!([0, 0, 0, 0]));
    server.stop();
}

#[test]
fn one_root_out_of_reach_stops_no_other() {
    let Some(place) = Place::new() else { return };
    std::fs::create_dir(place.path("closed")).expect("made");
    write(&place, "closed/a.txt", "secret", 0o644);
    place.mode("closed", 0o700);
    write(&place, "file", "", 0o644);
    let own = "handle_path /closed/* {\nroot * {place}/closed\nfile_server\n}\n\
               handle_path /file/* {\nroot * {place}/file\nfile_server\n}\n\
               log {\noutput file {place}/new/logs/access.log\n}\nphp_server";
    let server = site(&place, "user www-data", own, "").start();
    for (name, wrong) in [("closed", "user "), ("file", "it is not a directory")] {
        let warning = format!("document root {}: {wrong}", place.path(name).display());
        server.wait_log(&warning);
    }
    assert_is(&who(&server, "/who.php"), WEB);
    server.get("/closed/a.txt").assert_status(403);
    server.get("/file/a.txt").assert_status(404);
    server.stop();
    // The folders of the log are those of root.
    let log = place.path("new/logs/access.log");
    let text = std::fs::read_to_string(&log).expect("written");
    assert!(text.contains("/closed/a.txt"), "{text}");
    for made in ["new", "new/logs"] {
        let found = std::fs::metadata(place.path(made)).expect("made");
        assert_eq!((found.uid(), found.mode() & 0o777), (0, 0o700), "{made}");
    }
}

const ROOT: [u32; 4] = [0; 4];

#[test]
fn a_server_without_a_user_stays_root_where_only_root_may_enter() {
    let Some(place) = Place::new() else { return };
    let (name, value) = NO_USER;
    place.mode("", 0o700);
    let server = site(&place, "", "php_server", "").env(name, value).start();
    let line = server.wait_log("clients are served as root");
    for part in [
        "user www-data may not enter",
        place.path("www").to_str().expect("UTF-8"),
        "the way to the document root",
        "chmod o+x",
    ] {
        assert!(line.raw.contains(part), "{part}: {}", line.raw);
    }
    assert_eq!(who(&server, "/who.php")["ids"], json!(ROOT));
    let shown = Admin::of(&server).command(&["status"]);
    shown.assert(0, "clients are served as root: user www-data may not enter");
    let file = place.path("Caddyfile").display().to_string();
    let diagnosis = ServerBuilder::command(["doctor", "--config", &file]).env(name, value);
    let diagnosis = diagnosis.run().text();
    let expected = "clients as root: user www-data may not enter";
    assert!(diagnosis.contains(expected), "{diagnosis}");
    // This also works after reloads, because privileges are dropped at the start.
    place.mode("", 0o755);
    Admin::of(&server).command(&["reload"]).assert(0, "");
    assert_eq!(who(&server, "/who.php")["ids"], json!(ROOT));
    server.stop();

    // Sockets are created by the user too.
    let sockets = format!("bind unix/{}", place.path("http.sock").display());
    let more = format!("http://other.localhost {{\n{sockets}\nrespond ok\n}}");
    let server = site(&place, "", "php_server", &more)
        .env(name, value)
        .start();
    server.wait_log("user www-data may not write to");
    server.stop();
}

#[test]
fn a_configuration_for_all_names_no_folder_of_roots() {
    let Some(place) = Place::new() else { return };
    let (name, value) = NO_USER;
    place.mode("www", 0o700);
    let ended = site(&place, "", "php_server", "").env(name, value).run();
    for part in [
        "user www-data may not enter",
        place.path("www").to_str().expect("UTF-8"),
        "mode 0700",
        "chmod o+x",
        "`user root`",
    ] {
        ended.assert(2, part);
    }
    place.mode("www", 0o755);
    let server = site(&place, "", "php_server", "").env(name, value).start();
    assert_is(&who(&server, "/who.php"), WEB);
    server.stop();
}

#[test]
fn a_first_try_may_write_beside_its_code() {
    let Some(place) = Place::new() else { return };
    let (name, value) = NO_USER;
    let try_out = || {
        ServerBuilder::php_server(place.path("www"))
            .args(["--workers", "1", "--php"])
            .arg(place.php())
            .env("TMPDIR", place.path("tmp"))
            .env(name, value)
            .start()
    };
    for (folder, mode) in [("www", 0o755), ("", 0o700)] {
        place.mode(folder, mode);
        let server = try_out();
        server.wait_log("clients are served as root");
        assert_eq!(who(&server, "/who.php")["ids"], json!(ROOT));
        server.stop();
    }
    place.mode("", 0o755);
    chown(place.path("www"), Some(WEB.0), Some(WEB.1)).expect("given");
    let server = try_out();
    assert_is(&who(&server, "/who.php"), WEB);
    server.stop();
}

#[test]
fn other_users_than_root_need_no_monitor() {
    let Some(place) = Place::new() else { return };
    let program: PathBuf = reachable(&place);
    let server = site(&place, "", "php_server", "");
    place.mode("Caddyfile", 0o644);
    let as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" \"$@\"; exit $?";
    let server = server
        .program(program)
        .through(["sh", "-c", as_nobody])
        .start();
    let (uid, gid) = NOBODY;
    let answer = who(&server, "/who.php");
    assert_eq!(answer["ids"], json!([uid, uid, gid, gid]), "{answer}");
    assert_eq!(answer["secret"], false);
    let processes = server.processes();
    assert!(
        processes
            .iter()
            .all(|process| !process.command.contains("monitor")),
        "{processes:?}"
    );
    server.stop();
}

/// Crashes, or returns what it can read in the folder of crash reports.
const CRASHES: &str = "<?php
if (!isset($_GET['folder'])) {
    posix_kill(getmypid(), SIGSEGV);
}
echo json_encode([posix_geteuid(), @scandir($_GET['folder']), @file_get_contents($_GET['file'])]);
";

#[test]
fn php_reads_no_crash_report() {
    let Some(place) = Place::new() else { return };
    write(&place, "www/crash.php", CRASHES, 0o644);
    let folder = place.path("crashes");
    let global = format!("crash_reports {}", folder.display());
    let server = site(&place, &global, "php_server", "").start();
    server.allow_log("worker died");
    server.allow_log("the PHP process crashed");
    let crash = Request::new("POST", "/crash.php");
    server.send(&crash).assert_status(502);
    server.wait_log("`howdah crashes show 1` has the report");
    let file = folder.join("crash-00000001.json");
    for (path, mode) in [(&folder, 0o700), (&file, 0o600)] {
        let found = std::fs::metadata(path).expect("root sees it");
        assert_eq!((found.uid(), found.mode() & 0o777), (0, mode));
    }
    let target = format!(
        "/crash.php?folder={}&file={}",
        encode(&folder),
        encode(&file)
    );
    let (uid, _) = WEB;
    server
        .get(&target)
        .assert(200, &format!("[{uid},false,false]"));
    let admin = Admin::of(&server);
    admin.get("/crashes").assert_status(403);
    let config = place.path("Caddyfile").display().to_string();
    let shown = admin.command(&["crashes", "show", "1", "--config", &config]);
    shown.assert(0, "SIGSEGV: sent by the process itself");
}
