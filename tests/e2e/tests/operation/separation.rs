//! A server that root starts and whose pools have different users: the front never runs as root
//! while it serves. The monitor starts PHP, signals its processes and gives request bodies to their
//! users, but only as the configuration specifies.

use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use howdah_testkit::process::{self, wait_until};
use howdah_testkit::{PATIENCE, Request, Server, ServerBuilder, Signal, howdah_php};
use howdah_tests::admin::Admin;
use howdah_tests::hang_until_traced;
use howdah_tests::tls::Client;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::privileges::{
    LISTEN, NOBODY, Place, WEB, assert_is, assert_takes_bodies, process_of, status_line,
    users_of_front, who,
};
use crate::rights::{monitor, site_with, write};

/// A user that exists on every Debian and Ubuntu, and that no configuration here names at the
/// start.
const GAMES: (u32, u32) = (5, 60);

/// The capabilities that the packaged unit leaves to root: it may not ignore permissions, give
/// files away, or signal processes of others.
const AS_UNIT: [&str; 3] = [
    "sh",
    "-c",
    "setpriv --bounding-set=-all,+setuid,+setgid,+net_bind_service \"$0\" \"$@\"; exit $?",
];

/// A server with pools of `www-data` and `nobody`.
fn two_users(place: &Place, more: &str) -> ServerBuilder {
    two_users_and(place, more, "", "php_server", "")
}

fn two_users_and(place: &Place, php: &str, global: &str, site: &str, more: &str) -> ServerBuilder {
    let pools = [
        place.worker("worker.php", "user nobody"),
        place.worker("slow.php", "user nobody\nrequest_timeout 3s"),
        php.to_owned(),
    ];
    site_with(place, &pools.join("\n"), global, site, more).through(AS_UNIT)
}

/// Checks that no thread of the front has user 0, group 0 or a capability except the one to listen.
#[track_caller]
fn assert_front_is_not_root(server: &Server) {
    let (uid, gid) = WEB;
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).expect("it is there");
    let tasks: Vec<u32> = tasks
        .flatten()
        .filter_map(|task| task.file_name().to_string_lossy().parse().ok())
        .collect();
    assert!(tasks.len() > 2, "{tasks:?}");
    for task in tasks {
        assert_eq!(status_line(task, "Uid"), users_of_front(uid));
        assert_eq!(status_line(task, "Gid"), format!("{gid} {gid} {gid} {gid}"));
        let groups = status_line(task, "Groups");
        assert!(!groups.split(' ').any(|group| group == "0"), "{groups}");
        for set in ["CapPrm", "CapEff"] {
            assert_eq!(status_line(task, set), format!("{LISTEN:016x}"));
        }
        for set in ["CapInh", "CapAmb"] {
            assert_eq!(status_line(task, set), format!("{:016x}", 0));
        }
    }
}

#[test]
fn a_front_whose_pools_have_several_users_is_not_root() {
    let Some(place) = Place::new() else { return };
    symlink(place.path("secret"), place.path("www/link.txt")).expect("a link");
    let worker = place.worker("worker.php", "user nobody");
    let more =
        "https://own.example:0 {\nbind 127.0.0.1\ntls internal\nroot * {place}/www\nphp_server\n}";
    let global = "auto_https disable_redirects";
    let server = site_with(&place, &worker, global, "php_server", more).start();
    assert_front_is_not_root(&server);
    let monitor = monitor(&server);
    assert_eq!(status_line(monitor.pid, "Uid"), "0 0 0 0");
    assert_eq!(status_line(monitor.pid, "Threads"), "1");
    // Apart from the monitor, only the first process of PHP, which runs no code of the application.
    let root = process_of(&server, "howdah: php ");
    assert_eq!(status_line(root.pid, "PPid"), monitor.pid.to_string());
    for process in server.processes() {
        let uid = status_line(process.pid, "Uid");
        let is_root = [monitor.pid, root.pid].contains(&process.pid);
        assert_eq!(uid.starts_with("0 "), is_root, "{process:?}: {uid}");
    }
    server.get("/link.txt").assert_status(403);
    for (target, user) in [("/who.php", WEB), ("/worker.php", NOBODY)] {
        assert_is(&who(&server, target), user);
        assert_takes_bodies(&server, &place, target, user);
        let line = format!("written to stderr by {}", user.0);
        server.expect_log(&line);
        assert_eq!(who(&server, &format!("{target}?stderr"))["stderr"], true);
        server.wait_log(&line);
    }
    let tls = server
        .addresses()
        .iter()
        .find(|address| **address != server.address());
    let tls = *tls.expect("an address with TLS");
    let root = std::fs::read_to_string(place.path("store/authority/root.crt")).expect("made");
    let answer = Client::trusting(&root).get(tls, "own.example", "/link.txt");
    assert_eq!(answer.expect("answered").status, 403);
    server.signal(Signal::HUP);
    server.wait_log("reloaded");
    assert_front_is_not_root(&server);
    assert_is(&who(&server, "/worker.php"), NOBODY);
    server.stop();
    let left = std::fs::read_dir(place.path("tmp")).expect("readable");
    assert_eq!(left.count(), 0);
}

#[test]
fn a_front_that_is_not_root_commands_processes_of_other_users() {
    let Some(place) = Place::new() else { return };
    // One call that takes minutes.
    let hanging = "<?php $texts = [str_repeat('ab', 400_000), str_repeat('cd', 400_000)];
        while (frankenphp_handle_request(function () use ($texts) { echo similar_text(...$texts); }));";
    write(&place, "www/hanging.php", hanging, 0o644);
    let lines = "user nobody\nconcurrency 2\nhang_timeout 2s\nrequest_timeout 60s";
    let crashing = "<?php while (frankenphp_handle_request(fn () => posix_kill(getmypid(), 11)));";
    write(&place, "www/crashing.php", crashing, 0o644);
    let more = [
        place.worker("hanging.php", lines),
        place.worker("crashing.php", "user nobody"),
    ];
    let server = two_users(&place, &more.join("\n")).start();
    let admin = Admin::of(&server);

    server.expect_log("took longer than 3s");
    server.expect_log("worker killed: request timed out");
    hang_until_traced(&server, "/slow.php", "hang()");

    for text in ["hanging.php", "made no progress", "C backtrace"] {
        server.allow_log(text);
    }
    assert_eq!(server.get("/hanging.php").status(), 502);
    server.wait_log("worker killed: it made no progress for `hang_timeout`");

    server.expect_log("died");
    server.allow_log("the PHP process crashed");
    server.allow_log("exited unexpectedly");
    server.get("/crashing.php").assert_status(502);

    let before = who(&server, "/worker.php");
    admin.post("/reload").assert_status(200);
    let after = who(&server, "/worker.php");
    assert_ne!(before["pid"], after["pid"]);
    assert_is(&after, NOBODY);

    for title in ["worker worker", "pool worker", "pool php"] {
        // A process of the previous generation may still be exiting, and may be gone before it is
        // killed.
        let victim = loop {
            let victim = process_of(&server, title);
            if process::kill(victim.pid, Signal::KILL).is_ok() {
                break victim;
            }
        };
        assert!(victim.wait_exited(PATIENCE));
    }
    assert_is(&who(&server, "/worker.php"), NOBODY);
    assert_is(&who(&server, "/who.php"), WEB);

    // The monitor starts PHP again and reaps the previous processes.
    server.allow_log("the PHP root process exited");
    let root = process_of(&server, "howdah: php ");
    process::kill(root.pid, Signal::KILL).expect("it is there");
    server.wait_log("PHP was restarted");
    assert!(root.wait_exited(PATIENCE), "a zombie");
    assert_is(&who(&server, "/worker.php"), NOBODY);
    assert_front_is_not_root(&server);
    assert_eq!(admin.post("/stop").status(), 200);
    assert!(server.wait_exit().success());
}

/// Files of another user: a folder for keys that no one else may enter, and a folder for logs.
#[test]
fn the_monitor_acts_as_the_owner_where_root_lacks_the_right() {
    let Some(place) = Place::new() else { return };
    for (folder, mode) in [("store", 0o700), ("log", 0o755)] {
        std::fs::create_dir(place.path(folder)).expect("made");
        place.mode(folder, mode);
        chown(place.path(folder), Some(GAMES.0), Some(GAMES.1)).expect("root may");
    }
    let log = "log {\noutput file {place}/log/access.log\n}\nphp_server";
    let encrypted =
        "https://own.example:0 {\nbind 127.0.0.1\ntls internal\nroot * {place}/www\nphp_server\n}";
    let global = "auto_https disable_redirects\ncrash_reports {place}/store/crashes";
    let server = two_users_and(&place, "", global, log, encrypted).start();
    assert_front_is_not_root(&server);
    let capabilities = status_line(monitor(&server).pid, "CapEff");
    let kept = LISTEN | 1 << 6 | 1 << 7;
    assert_eq!(capabilities, format!("{kept:016x}"));
    for (target, user) in [("/who.php", WEB), ("/worker.php", NOBODY)] {
        assert_is(&who(&server, target), user);
        assert_takes_bodies(&server, &place, target, user);
    }
    server.signal(Signal::HUP);
    server.wait_log("reloaded");
    assert_is(&who(&server, "/worker.php"), NOBODY);
    server.stop();
    for name in ["store/authority/root.pem", "log/access.log"] {
        let found = std::fs::metadata(place.path(name)).expect("made");
        assert_eq!(
            (found.uid(), found.mode() & 0o777),
            (GAMES.0, 0o600),
            "{name}"
        );
    }
}

#[test]
fn links_of_a_pool_lead_only_to_files_of_its_user() {
    let Some(place) = Place::new() else { return };
    let give = |name: &str, (uid, gid): (u32, u32)| {
        lchown(place.path(name), Some(uid), Some(gid)).expect("root may");
    };
    for folder in ["other", "www/uploads", "www/uploads/own"] {
        std::fs::create_dir(place.path(folder)).expect("made");
    }
    // Files of a second application: the server reads them, and the pool's user cannot.
    write(&place, "other/index.html", "of another", 0o644);
    place.mode("other", 0o750);
    give("other", (0, WEB.1));
    give("www/uploads", NOBODY);
    write(&place, "www/uploads/own/index.html", "own", 0o644);
    give("www/uploads/own", NOBODY);
    give("www/uploads/own/index.html", NOBODY);
    for (target, name, owner) in [
        ("other", "folder", NOBODY),
        ("other/index.html", "file.html", NOBODY),
        ("other/index.html", "own/packed.html.gz", NOBODY),
        ("www/uploads/own", "mine", NOBODY),
        ("other", "operator", (0, 0)),
    ] {
        let name = format!("www/uploads/{name}");
        symlink(place.path(target), place.path(&name)).expect("a link");
        give(&name, owner);
    }
    write(&place, "www/uploads/own/packed.html", "packed", 0o644);
    let server = two_users_and(
        &place,
        "",
        "",
        "handle /list/* {\nuri strip_prefix /list\nfile_server browse {\nindex none\n}\n}\n\
         handle /all/* {\nuri strip_prefix /all\nfile_server {\nsymlinks on\n}\n}\n\
         handle /files/* {\nuri strip_prefix /files\nfile_server {\nprecompressed gzip\n}\n}\n\
         php_server",
        "",
    )
    .start();
    for reload in [false, true] {
        if reload {
            server.signal(Signal::HUP);
            server.wait_log("reloaded");
        }
        for prefix in ["", "/files", "/list"] {
            for target in ["folder/", "folder/index.html", "file.html"] {
                let target = format!("{prefix}/uploads/{target}");
                server.get(&target).assert_status(403);
            }
        }
        for (target, text) in [
            ("/uploads/mine/", "own"),
            ("/files/uploads/mine/index.html", "own"),
            ("/uploads/operator/", "of another"),
            ("/all/uploads/file.html", "of another"),
        ] {
            assert_eq!(server.get(target).text(), text, "{target}");
        }
        let packed = Request::get("/files/uploads/own/packed.html");
        let packed = server.send(&packed.header("Accept-Encoding", "gzip"));
        assert_eq!(packed.text(), "packed");
        let list = server.get("/list/uploads/").text();
        for (name, is_listed) in [
            ("mine", true),
            ("operator", true),
            ("file.html", false),
            ("folder", false),
        ] {
            assert_eq!(list.contains(name), is_listed, "{name}: {list}");
        }
    }
}

#[test]
fn a_boot_that_hangs_is_killed() {
    let Some(place) = Place::new() else { return };
    let server = two_users(&place, "").start();
    // A new tree whose boot does not end. The shutdown kills it.
    write(
        &place,
        "www/worker.php",
        "<?php touch(__DIR__ . '/../tmp/hangs'); sleep(300);",
        0o644,
    );
    server.allow_log("the worker script has not requested work");
    server.signal(Signal::HUP);
    assert!(wait_until(PATIENCE, || place.path("tmp/hangs").exists()));
    server.stop();
}

/// Dropping the server checks that nothing remains.
#[test]
fn nothing_outlives_a_front_that_is_killed() {
    let Some(place) = Place::new() else { return };
    let server = two_users(&place, "").start();
    assert_is(&who(&server, "/worker.php"), NOBODY);
    // The shell prints this word.
    server.expect_log("Killed");
    server.kill();
    server.wait_exit();
    drop(server);

    // Without its monitor, the server shuts down. PHP exits when its control sockets are closed.
    let server = two_users(&place, "").start();
    server.expect_log("the monitor exited");
    server.allow_log("PHP processes killed after the grace period");
    process::kill(monitor(&server).pid, Signal::KILL).expect("it is there");
    server.expect_exit(1);
    server.wait_exit();
}

#[test]
fn a_reload_adds_pools_of_other_users() {
    let Some(place) = Place::new() else { return };
    let server = site_with(&place, "", "", "php_server", "").start();
    assert_is(&who(&server, "/who.php"), WEB);
    let root = process_of(&server, "howdah: php ");
    assert!(status_line(root.pid, "Uid").starts_with("33 "));
    let file = place.path("Caddyfile");
    let text = std::fs::read_to_string(&file).expect("written");
    let reload = |pools: &[String], count: usize| {
        let text = text.replace(
            "num_threads 2",
            &format!("num_threads 2\n{}", pools.join("\n")),
        );
        std::fs::write(&file, text).expect("written");
        server.signal(Signal::HUP);
        let loaded = || server.log().containing("configuration loaded").len() == count;
        assert!(wait_until(PATIENCE, loaded));
    };
    let nobody = place.worker("worker.php", "user nobody");
    reload(std::slice::from_ref(&nobody), 1);
    assert_is(&who(&server, "/worker.php"), NOBODY);
    assert_is(&who(&server, "/who.php"), WEB);
    reload(&[nobody, place.worker("other.php", "user games")], 2);
    assert_is(&who(&server, "/worker.php"), NOBODY);
    assert_is(&who(&server, "/other.php"), GAMES);
    assert_takes_bodies(&server, &place, "/other.php", GAMES);
    assert_front_is_not_root(&server);
    // And back.
    reload(&[], 3);
    assert_is(&who(&server, "/who.php"), WEB);
    server.stop();
}

#[test]
fn a_pool_of_another_user_gets_a_new_segment() {
    let Some(php) = std::env::var_os("HOWDAH_FAULTY_PHP") else {
        println!(
            "skipped: HOWDAH_FAULTY_PHP does not name a PHP executable of `make -C worker faults`"
        );
        return;
    };
    let Some(place) = Place::new() else { return };
    let php = place.copy_of_php(Path::new(&php));
    let worker = place.worker("worker.php", "user nobody");
    let text = place.text("user www-data", &format!("php {}\n{worker}", php.display()));
    let server = Server::caddyfile(text)
        .env("TMPDIR", place.path("tmp"))
        .env("HOWDAH_FAULT", "scribble")
        .env("HOWDAH_SCRIBBLE", place.path("tmp/write"))
        .start();
    assert_front_is_not_root(&server);
    for text in [
        "worker killed",
        "worker died",
        "the PHP process crashed",
        "the PHP process sent a malformed response",
    ] {
        server.allow_log(text);
    }
    server.expect_log("has corrupted the pool's shared memory");
    assert_is(&who(&server, "/worker.php"), NOBODY);
    let corrupted = || {
        server
            .log()
            .containing("has corrupted the pool's shared memory")
    };
    let answers = || server.get("/worker.php").status() == 200;
    for word in ["front 0 0", "completions 0 0", "slot 0 10001", "front 8 1"]
        .iter()
        .cycle()
    {
        // A name that only the pool's user can remove.
        write(&place, "tmp/next", &format!("{word}\n"), 0o600);
        chown(place.path("tmp/next"), Some(NOBODY.0), None).expect("root may");
        std::fs::rename(place.path("tmp/next"), place.path("tmp/write")).expect("renamed");
        assert!(wait_until(PATIENCE, || {
            answers() && !place.path("tmp/write").exists()
        }));
        if !corrupted().is_empty() {
            break;
        }
    }
    assert!(wait_until(PATIENCE, answers));
    assert_is(&who(&server, "/worker.php"), NOBODY);
    server.stop();
}

/// The systemd units hide processes of other users: `ProtectProc=invisible`.
#[test]
fn processes_may_be_hidden_from_the_front() {
    let Some(place) = Place::new() else { return };
    let hide = "mount -t proc -o hidepid=invisible proc /proc && \"$0\" \"$@\"; exit $?";
    let namespace = ["unshare", "-m", "--propagation", "private", "sh", "-c"];
    let possible = Command::new(namespace[0])
        .args(&namespace[1..])
        .args([hide, "true"])
        .stderr(Stdio::null())
        .status();
    if !possible.is_ok_and(|status| status.success()) {
        println!("skipped: /proc cannot be mounted");
        return;
    }
    let ids = "<?php while (frankenphp_handle_request(fn () => print(posix_getuid())));";
    write(&place, "www/ids.php", ids, 0o644);
    let server = two_users(&place, &place.worker("ids.php", "user nobody"))
        .through(namespace.into_iter().chain([hide]))
        .start();
    assert_is(&who(&server, "/who.php"), WEB);
    server.get("/ids.php").assert(200, "65534");
    server.expect_log("took longer than 3s");
    server.expect_log("worker killed: request timed out");
    hang_until_traced(&server, "/slow.php", "hang()");
    server.stop();
}

/// PHP of the server's user can connect to the admin API on its Unix socket, but gets no access to
/// other pools.
#[test]
fn php_of_the_servers_user_does_not_configure_pools_of_others() {
    let Some(place) = Place::new() else { return };
    let order = "<?php
        $socket = stream_socket_client('unix://' . $_GET['to']);
        fwrite($socket, \"POST $_GET[target] HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\"
            . \"Content-Type: text/caddyfile\\r\\nContent-Length: 2\\r\\n\\r\\n:0\");
        echo stream_get_contents($socket);";
    write(&place, "www/order.php", order, 0o644);
    let socket = place.path("tmp/admin.sock");
    let admin = format!("admin unix/{}", socket.display());
    let worker = place.worker("worker.php", "user nobody");
    let text = place.text(
        "user www-data",
        &format!("php {}\n{worker}", place.php().display()),
    );
    let server = Server::caddyfile(text.replace("admin localhost:0", &admin))
        .env("TMPDIR", place.path("tmp"))
        .start();
    server.allow_log("refused");
    for target in ["/load", "/reload%3Fconfig=/etc/shadow"] {
        let answer = server.get(&format!(
            "/order.php?to={}&target={target}",
            socket.display()
        ));
        answer.assert_status(200);
        assert!(answer.text().contains("403 Forbidden"), "{}", answer.text());
    }
    let mut root = UnixStream::connect(&socket).expect("root may connect");
    root.write_all(b"GET /config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut reply = String::new();
    root.read_to_string(&mut reply).expect("a reply");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    server.stop();
}

/// The server's end of the socket to its monitor, which it created before it dropped its
/// privileges.
fn socket_of_front(server: &Server) -> OwnedFd {
    let front = Pid::from_raw(server.pid().cast_signed()).expect("a process");
    let pidfd = pidfd_open(front, PidfdFlags::empty()).expect("it runs");
    let files = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("root may look");
    let taken = files.flatten().filter_map(|file| {
        let number = file.file_name().to_string_lossy().parse().ok()?;
        pidfd_getfd(&pidfd, number, PidfdGetfdFlags::empty()).ok()
    });
    let mut sockets = taken.filter(|file| {
        let peer = rustix::net::sockopt::socket_peercred(file);
        let kind = rustix::net::sockopt::socket_type(file);
        kind == Ok(SocketType::SEQPACKET)
            && peer.is_ok_and(|peer| peer.uid.is_root() && peer.pid == front)
    });
    sockets.next().expect("there is one")
}

/// Sends a request to the monitor and returns the error number of the reply.
fn ask(socket: &OwnedFd, numbers: [u32; 3], descriptor: Option<BorrowedFd<'_>>) -> i32 {
    let header = [numbers[0], numbers[1], numbers[2], 0].map(u32::to_le_bytes);
    send(socket, &header.concat(), descriptor.as_slice());
    let mut reply = [0; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut reply)];
    let received = rustix::net::recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::empty());
    assert_eq!(received.expect("a reply").bytes, 8);
    assert_eq!(ancillary.drain().count(), 0, "descriptors");
    i32::from_le_bytes(reply[..4].try_into().expect("4 bytes"))
}

fn send(socket: &OwnedFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    rustix::net::sendmsg(
        socket,
        &[IoSlice::new(bytes)],
        &mut ancillary,
        SendFlags::empty(),
    )
    .expect("sent");
}

/// `EACCES`.
const DENIED: i32 = 13;
/// Operations of the monitor (`crates/howdah-monitor/src/protocol.rs`).
const GIVE: u32 = 7;
const START: u32 = 8;
const SIGNAL: u32 = 9;
/// Control messages (`worker/include/howdah_shm.h`).
const POOL: u32 = 1;
const READY: u32 = 2;
const FAILED: u32 = 8;
const USERS: u32 = 13;
/// `HOWDAH_POOL_CLASSIC`.
const CLASSIC: u32 = 1;
/// `HOWDAH_POOL_FLAG_USER`.
const HAS_USER: u32 = 32;

/// An attacker who executes code in the front has its socket to the monitor.
#[test]
fn the_monitor_only_grants_what_the_configuration_names() {
    let Some(place) = Place::new() else { return };
    let server = two_users(&place, "").start();
    assert_is(&who(&server, "/worker.php"), NOBODY);
    let socket = socket_of_front(&server);
    let output = std::fs::File::open("/dev/null").expect("a file");
    for key in [0, 1, u32::MAX] {
        let code = ask(&socket, [START, key, key], Some(output.as_fd()));
        assert_eq!(code, DENIED, "{key}");
    }
    // Signals are sent only to processes of PHP, and only those that the server uses.
    let mut bystander = Command::new("sleep").arg("600").spawn().expect("started");
    let pidfd = |pid: u32| {
        let pid = Pid::from_raw(pid.cast_signed()).expect("a process");
        pidfd_open(pid, PidfdFlags::empty()).expect("it runs")
    };
    for pid in [bystander.id(), 1, server.pid(), monitor(&server).pid] {
        let code = ask(&socket, [SIGNAL, 9, 0], Some(pidfd(pid).as_fd()));
        assert_eq!(code, DENIED, "{pid}");
    }
    let worker = process_of(&server, "worker worker");
    let code = ask(&socket, [SIGNAL, 19, 0], Some(pidfd(worker.pid).as_fd()));
    assert_eq!(code, DENIED, "SIGSTOP");
    assert!(bystander.try_wait().expect("a child").is_none());
    bystander.kill().expect("killed");
    bystander.wait().expect("ended");
    // Files are given away only if the server owns them, and only to users of the configuration.
    let secret = std::fs::File::open(place.path("secret")).expect("root may");
    assert_eq!(
        ask(&socket, [GIVE, NOBODY.0, NOBODY.1], Some(secret.as_fd())),
        DENIED
    );
    write(&place, "tmp/own", "", 0o600);
    chown(place.path("tmp/own"), Some(WEB.0), Some(WEB.1)).expect("root may");
    let own = std::fs::File::open(place.path("tmp/own")).expect("root may");
    for (uid, gid) in [(0, 0), GAMES, (NOBODY.0, 0), (u32::MAX, 0)] {
        let code = ask(&socket, [GIVE, uid, gid], Some(own.as_fd()));
        assert_eq!(code, DENIED, "{uid}:{gid}");
    }
    assert_eq!(
        std::fs::metadata(place.path("secret"))
            .expect("there")
            .uid(),
        0
    );
    std::fs::remove_file(place.path("tmp/own")).expect("removed");
    // The monitor exits when no process holds the other end of the socket.
    drop(socket);
    assert_is(&who(&server, "/worker.php"), NOBODY);
    server.stop();
}

/// `struct howdah_identity` and its data, for a user without name and home.
fn identity(uid: u32, gid: u32, groups: &[u32]) -> Vec<u8> {
    let count = u32::try_from(groups.len()).expect("a few");
    let words = [&[uid, gid, count, 0, 0], groups].concat();
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A control message: its kind and its data.
fn message(kind: u32, data: &[u8]) -> Vec<u8> {
    let size = u32::try_from(data.len()).expect("a few");
    let header = [kind, 0, 0, 0, size, 0].map(u32::to_le_bytes).concat();
    [header, data.to_vec()].concat()
}

/// The message POOL for a classic pool with a name of one letter.
fn pool(user: Option<&[u8]>) -> Vec<u8> {
    const OPTIONS_SIZE: usize = 88;
    let mut data = vec![0; OPTIONS_SIZE];
    let mut word = |at: usize, value: u32| {
        data[4 * at..4 * at + 4].copy_from_slice(&value.to_le_bytes());
    };
    word(0, CLASSIC);
    word(1, user.map_or(0, |_| HAS_USER));
    word(6, 1);
    data.push(b'p');
    data.extend(user.unwrap_or_default());
    message(POOL, &data)
}

/// A front that an attacker controls sends messages to the zygote of root.
#[test]
fn php_starts_processes_of_no_users_but_those_that_the_monitor_has_sent() {
    let Some(_place) = Place::new() else { return };
    let kind = SocketType::SEQPACKET;
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
            .expect("a pair");
    let named = identity(65534, 65534, &[65534]);
    send(&ours, &message(USERS, &named), &[]);
    let mut php = Command::new(howdah_php())
        .args(["zygote", "--control-fd", "0", "--users"])
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .spawn()
        .expect("started");
    let receive = || {
        let mut bytes = vec![0; 40_000];
        let (_, size) = rustix::net::recv(&ours, &mut bytes, RecvFlags::empty()).expect("alive");
        bytes.truncate(size);
        let kind = u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes"));
        (kind, String::from_utf8_lossy(&bytes[24..]).into_owned())
    };
    assert_eq!(receive().0, READY);
    let file = std::fs::File::open("/dev/null").expect("a file");
    let files = [file.as_fd(); 5];
    let others = [
        None,
        Some(identity(0, 0, &[])),
        Some(identity(65534, 65534, &[65534, 0])),
        Some(identity(65534, 0, &[65534])),
        Some(identity(33, 33, &[33])),
        Some([named.clone(), named.clone()].concat()),
        Some(named[..20].to_vec()),
    ];
    for user in others {
        send(&ours, &pool(user.as_deref()), &files);
        let (kind, text) = receive();
        assert_eq!(kind, FAILED, "{user:?}");
        assert!(text.contains("does not name its user"), "{user:?}: {text}");
    }
    // The named user fails at the next step.
    send(&ours, &pool(Some(&named)), &files);
    let (kind, text) = receive();
    assert!(kind == FAILED && !text.contains("its user"), "{text}");
    // The list may be sent only once.
    send(&ours, &message(USERS, &identity(0, 0, &[])), &[]);
    assert_eq!(receive().0, FAILED);
    send(&ours, &pool(Some(&identity(0, 0, &[]))), &files);
    assert!(receive().1.contains("does not name its user"));
    drop(ours);
    assert!(php.wait().expect("ended").success());
}
