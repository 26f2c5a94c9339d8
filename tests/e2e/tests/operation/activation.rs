//! Sockets from a service manager, and notifications to it. A shell acts as the service manager: it
//! passes the standard input and output of the tests as descriptors 3 and 4.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use howdah_testkit::log::LogBook;
use howdah_testkit::{Connection, PATIENCE, Request, Server, Signal, Www, howdah, process};
use howdah_tests::www;
use tempfile::TempDir;

const MANAGER: &str = "exec 3<&0 4<&1 </dev/null >&2\n\
                       LISTEN_PID=$$ LISTEN_FDS=$FDS LISTEN_FDNAMES=$NAMES exec \"$@\"";

/// A server that the shell started.
struct Activated {
    child: Child,
    log: LogBook,
    _dir: TempDir,
}

/// Starts a server with these sockets, their names, and a file with these global options and sites.
fn start(sockets: [OwnedFd; 2], names: &str, global: &str, sites: &str) -> Activated {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("Caddyfile");
    let storage = dir.path().join("storage");
    let text = format!(
        "{{\nstorage file_system {}\nfrankenphp {{\nnum_threads 1\nfront_threads 2\n}}\n{global}\n}}\n{sites}",
        storage.display()
    );
    std::fs::write(&file, text).expect("written");
    let [first, second] = sockets;
    let mut child = Command::new("sh")
        .args(["-c", MANAGER, "sh"])
        .arg(howdah())
        .args(["run", "-c"])
        .arg(&file)
        .env("FDS", "2")
        .env("NAMES", names)
        .env("TMPDIR", dir.path())
        .env("HOWDAH_USER", "root")
        .stdin(Stdio::from(first))
        .stdout(Stdio::from(second))
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let log = LogBook::default();
    log.collect(child.stderr.take().expect("piped"));
    Activated {
        child,
        log,
        _dir: dir,
    }
}

impl Activated {
    #[track_caller]
    fn wait_ready(&self) {
        let ready = self.log.wait(PATIENCE, |line| line.message() == "ready");
        assert!(ready.is_some(), "not ready: {:?}", self.log.lines());
    }

    /// Stops the server and checks that its log has no alarm.
    #[track_caller]
    fn stop(self) {
        process::kill(self.child.id(), Signal::TERM).expect("it is there");
        self.wait_stopped();
    }

    /// Waits for the exit of a server that was ordered to stop, and checks its log.
    #[track_caller]
    fn wait_stopped(mut self) {
        let status = self.child.wait().expect("ours");
        assert!(status.success(), "{status}");
        assert!(self.log.wait_end(PATIENCE));
        let complaints = self.log.complaints(PATIENCE);
        assert!(complaints.is_empty(), "{complaints:?}");
    }

    /// Checks that the server exits by itself with code 2 and this message.
    #[track_caller]
    fn assert_refused(mut self, text: &str) {
        assert_eq!(self.child.wait().expect("ours").code(), Some(2));
        assert!(self.log.wait_end(PATIENCE));
        assert!(
            !self.log.containing(text).is_empty(),
            "no {text:?}: {:?}",
            self.log.lines()
        );
    }
}

impl Drop for Activated {
    fn drop(&mut self) {
        // A failed test must leave no process. After other tests the server has already exited.
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

/// A TCP socket and its address.
fn tcp() -> (OwnedFd, SocketAddr) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("bound");
    (socket.into(), address)
}

fn site(address: SocketAddr, root: &Path) -> String {
    format!(
        "http://:{} {{\nbind {}\nroot * {}\nphp_server\n}}\n",
        address.port(),
        address.ip(),
        root.display()
    )
}

#[test]
fn sites_and_the_admin_api_are_served_on_sockets_that_were_there() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("admin.sock");
    let unix = UnixListener::bind(&path).expect("bound");
    let (socket, address) = tcp();
    // Clients may connect before the server starts, because the socket listens already.
    let mut early = Connection::open(address).expect("the socket listens");
    early
        .send(&Request::get("/hello.php?name=early"))
        .expect("sent");
    // PHP gets neither the variables of the sockets nor a listening socket.
    let www = Www::new().file("hello.php", "<?php echo 'hello';").file(
        "env.php",
        "<?php
        $listening = preg_grep('/ 00010000 /', file('/proc/self/net/unix'));
        $inodes = array_map(fn ($line) => preg_split('/ +/', trim($line))[6], $listening);
        $open = array_map(fn ($file) => @readlink($file), glob('/proc/self/fd/*'));
        $names = ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'];
        $shared = array_filter($inodes, fn ($inode) => in_array(\"socket:[$inode]\", $open));
        echo json_encode([...array_map('getenv', $names), count($shared)]);",
    );
    let global = format!("admin unix/{}", path.display());
    let server = start(
        [socket, unix.into()],
        "web:orders",
        &global,
        &site(address, www.path()),
    );
    server.wait_ready();
    early.receive("GET").expect("answered").assert_status(200);
    for _ in 0..20 {
        let mut connection = Connection::open(address).expect("accepted");
        let response = connection
            .exchange(&Request::get("/hello.php"))
            .expect("a response");
        response.assert_status(200);
    }

    let mut connection = Connection::open(address).expect("accepted");
    let answer = connection
        .exchange(&Request::get("/env.php"))
        .expect("a response");
    answer.assert(200, "[false,false,false,0]");

    let command = Command::new(howdah())
        .args(["status", "--json", "--address"])
        .arg(format!("unix/{}", path.display()))
        .output()
        .expect("run");
    assert!(command.status.success(), "{command:?}");
    server.stop();
    assert!(path.exists(), "the socket's file is its maker's");
}

#[test]
fn a_site_is_served_on_a_unix_socket_that_was_there() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("web.sock");
    let unix = UnixListener::bind(&path).expect("bound");
    let mode = || std::fs::metadata(&path).expect("it is there").mode();
    let before = mode();
    let (socket, address) = tcp();
    let sites = format!(
        "{}http:// {{\nbind unix/{}|0222\nrespond \"by the file\"\n}}\n",
        site(address, &www()),
        path.display()
    );
    let server = start([socket, unix.into()], "web:web", "admin off", &sites);
    server.wait_ready();
    for _ in 0..4 {
        let mut stream = UnixStream::connect(&path).expect("accepted");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.ends_with("by the file"), "{answer}");
    }
    assert_eq!(mode(), before, "the permissions are its maker's");
    server.stop();
    assert!(path.exists(), "the socket's file is its maker's");
}

#[test]
fn http3_is_served_on_a_udp_socket_that_was_there() {
    let (socket, address) = tcp();
    let udp = UdpSocket::bind(address).expect("the same port");
    let copy = udp.try_clone().expect("cloned");
    let sites = format!(
        "https://localhost:{} {{\nbind {}\ntls internal\nrespond hello\n}}\n",
        address.port(),
        address.ip()
    );
    let server = start(
        [socket, udp.into()],
        "web:web",
        "admin off\nauto_https disable_redirects\nskip_install_trust",
        &sites,
    );
    server.wait_ready();
    // No other process could have bound the address. The flags show that quinn uses this socket.
    let flags = rustix::fs::fcntl_getfl(&copy).expect("flags");
    assert!(flags.contains(rustix::fs::OFlags::NONBLOCK), "{flags:?}");
    let client = UdpSocket::bind("127.0.0.1:0").expect("a port");
    client.set_read_timeout(Some(PATIENCE)).expect("set");
    client.send_to(&unknown_version(), address).expect("sent");
    let mut answer = [0; 1500];
    let (size, from) = client.recv_from(&mut answer).expect("an answer");
    assert_eq!(from, address);
    // Version negotiation: a long header with version 0.
    assert!(
        size > 7 && answer[0] & 0x80 != 0 && answer[1..5] == [0; 4],
        "{:?}",
        &answer[..size]
    );
    server.stop();
}

/// A QUIC packet of an unknown version, large enough for a response.
fn unknown_version() -> Vec<u8> {
    let mut packet = vec![0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8];
    packet.extend_from_slice(&[1; 8]);
    packet.push(8);
    packet.extend_from_slice(&[2; 8]);
    packet.resize(1200, 0);
    packet
}

#[test]
fn an_unused_socket_is_an_error() {
    let ((first, address), (second, other)) = (tcp(), tcp());
    let server = start(
        [first, second],
        "web:spare",
        "admin off",
        &site(address, &www()),
    );
    server.assert_refused(&format!("spare (descriptor 4) ({other}/tcp)"));

    let file = std::fs::File::open("/dev/null").expect("opened");
    let (first, address) = tcp();
    let server = start(
        [first, file.into()],
        "",
        "admin off",
        &site(address, &www()),
    );
    server.assert_refused(
        "handed over descriptor 4, which is neither a listening TCP or Unix socket",
    );
}

/// Notifications to the service manager.
struct Notifications(UnixDatagram);

impl Notifications {
    fn at(path: &Path) -> Self {
        let socket = UnixDatagram::bind(path).expect("bound");
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        Self(socket)
    }

    /// Waits for a message with this line.
    #[track_caller]
    fn wait(&self, line: &str) -> String {
        let mut bytes = [0; 4096];
        loop {
            let size = self
                .0
                .recv(&mut bytes)
                .unwrap_or_else(|error| panic!("no {line}: {error}"));
            let text = String::from_utf8_lossy(&bytes[..size]).into_owned();
            if text.lines().any(|own| own == line) {
                return text;
            }
        }
    }
}

#[test]
fn the_service_manager_is_notified() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("notify");
    let notifications = Notifications::at(&path);
    let www = Www::new().file(
        "env.php",
        "<?php echo json_encode([getenv('NOTIFY_SOCKET'), getenv('WATCHDOG_USEC')]);",
    );
    let server = Server::builder(&www)
        .workers(1)
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "200000")
        .args(["--shutdown-delay", "300ms"])
        .start();
    let ready = notifications.wait("READY=1");
    assert!(
        ready.lines().any(|line| line == "STATUS=serving"),
        "{ready}"
    );
    server.get("/env.php").assert(200, "[false,false]");
    for _ in 0..3 {
        notifications.wait("WATCHDOG=1");
    }
    server.signal(Signal::USR1);
    let reloading = notifications.wait("RELOADING=1");
    let since = reloading
        .lines()
        .find_map(|line| line.strip_prefix("MONOTONIC_USEC="));
    assert!(
        since.is_some_and(|since| since.parse::<u64>().is_ok()),
        "{reloading}"
    );
    notifications.wait("READY=1");
    server.signal(Signal::TERM);
    let stopping = notifications.wait("STOPPING=1");
    assert!(
        stopping
            .lines()
            .any(|line| line.starts_with("STATUS=leaving: requests are served")),
        "{stopping}"
    );
    notifications.wait("STATUS=stopping");
    assert!(server.wait_exit().success());
}

/// The socket belongs to the service manager. A client that connects after the exit waits for the
/// next server.
#[test]
fn no_request_is_refused_while_one_server_replaces_another() {
    let (socket, address) = tcp();
    let another = || {
        let dir = tempfile::tempdir().expect("a directory");
        let unix = UnixListener::bind(dir.path().join("unused.sock")).expect("bound");
        let unused = dir.path().join("unused.sock");
        let sites = format!(
            "{}http:// {{\nbind unix/{}\nrespond unused\n}}\n",
            site(address, &www()),
            unused.display()
        );
        let own = socket.try_clone().expect("copied");
        let global = "admin off\nshutdown_delay 300ms";
        let server = start([own, unix.into()], "web:web", global, &sites);
        server.wait_ready();
        (server, dir)
    };
    let hello = Request::get("/hello.php").close();
    let (first, _dir) = another();
    process::kill(first.child.id(), Signal::TERM).expect("it is there");
    let leaving = |line: &howdah_testkit::log::LogLine| line.message().contains("no longer ready");
    assert!(first.log.wait(PATIENCE, leaving).is_some());
    let mut connection = Connection::open(address).expect("accepted");
    let response = connection.exchange(&hello).expect("a response");
    response.assert(200, "hello");
    first.wait_stopped();
    let mut waiting = Connection::open(address).expect("the socket listens");
    waiting.send(&hello).expect("sent");
    let (second, _dir) = another();
    let response = waiting.receive("GET").expect("a response");
    response.assert(200, "hello");
    second.stop();
}

#[test]
fn sockets_of_another_process_are_not_reported() {
    let www = Www::new().file("a.php", "<?php echo 'hello';");
    let server = Server::builder(&www)
        .workers(1)
        .env("LISTEN_PID", "1")
        .env("LISTEN_FDS", "1")
        .start();
    server.get("/a.php").assert(200, "hello");
}

#[test]
fn a_missing_service_manager_does_not_stop_the_server() {
    let dir = tempfile::tempdir().expect("a directory");
    let www = Www::new().file("a.php", "<?php echo 'hello';");
    let server = Server::builder(&www)
        .workers(1)
        .env("NOTIFY_SOCKET", dir.path().join("none"))
        .start();
    server.wait_log("the service manager cannot be notified");
    server.get("/a.php").assert(200, "hello");
}
