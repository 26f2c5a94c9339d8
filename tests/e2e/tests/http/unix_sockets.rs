//! Sites on Unix sockets, with requests like those of a proxy on the same machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use howdah_testkit::{PATIENCE, Server, Www};
use howdah_tests::admin::{Admin, ON};

/// Output of curl for a target of `http://shop.test`.
fn curl(socket: &Path, target: &str, args: &[&str]) -> Vec<u8> {
    let mut command = Command::new("curl");
    command.args(["-sS", "--noproxy", "*", "--max-time", "30"]);
    command.args(args).arg("--unix-socket").arg(socket);
    let output = command.arg(format!("http://shop.test{target}")).output();
    let output = output.expect("curl is installed");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    output.stdout
}

fn text(socket: &Path, target: &str) -> String {
    String::from_utf8(curl(socket, target, &[])).expect("text")
}

fn mode(path: &Path) -> u32 {
    let metadata = std::fs::metadata(path).expect("it is there");
    metadata.permissions().mode() & 0o777
}

#[test]
fn a_proxy_reaches_php_and_files() {
    let large: Vec<u8> = (0..300_000_u32).flat_map(u32::to_ne_bytes).collect();
    let www = Www::new().file(
        "index.php",
        "<?php echo $_SERVER['REMOTE_ADDR'], ' ', $_SERVER['SERVER_PORT'], ' ', $_SERVER['HTTP_HOST'], ' ', strlen(file_get_contents('php://input'));",
    );
    std::fs::write(www.path().join("large.bin"), &large).expect("written");
    let directory = tempfile::tempdir().expect("a directory");
    let [socket, plain] = ["a.sock", "b.sock"].map(|name| directory.path().join(name));
    let server = Server::caddyfile(format!(
        ":80 {{\nbind unix/{}|0222 unix/{}\nroot * {}\nphp_server\n}}\n\
         http://other.test {{\nbind unix/{}|0222\nrespond \"other {{remote_host}}\"\n}}\n",
        socket.display(),
        plain.display(),
        www.path().display(),
        socket.display(),
    ))
    .start();
    assert!(server.addresses().is_empty(), "no port");
    assert_eq!((mode(&socket), mode(&plain)), (0o222, 0o200));
    assert_eq!(text(&socket, "/"), "127.0.0.1 80 shop.test 0");
    assert_eq!(text(&plain, "/index.php"), "127.0.0.1 80 shop.test 0");
    let body = curl(&socket, "/", &["-H", "Host: other.test"]);
    assert_eq!(body, b"other 127.0.0.1");
    // Sent by the kernel from the page cache.
    assert_eq!(curl(&socket, "/large.bin", &[]), large);
    let upload = format!("@{}", www.path().join("large.bin").display());
    let bytes = "Content-Type: application/octet-stream";
    let answer = curl(&socket, "/", &["-H", bytes, "--data-binary", &upload]);
    let expected = format!("127.0.0.1 80 shop.test {}", large.len());
    assert_eq!(String::from_utf8_lossy(&answer), expected);
    let http2 = curl(&socket, "/", &["--http2-prior-knowledge"]);
    assert_eq!(http2, b"127.0.0.1 80 shop.test 0");
    server.stop();
    assert!(!socket.exists() && !plain.exists());
}

#[test]
fn leftovers_of_a_killed_server_do_not_prevent_a_start_and_a_running_one_does() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("a.sock");
    let config = format!(":80 {{\nbind unix/{}\nrespond ok\n}}\n", socket.display());
    let other = UnixListener::bind(&socket).expect("it listens");
    let ended = Server::caddyfile(&config).try_start();
    let ended = ended.expect_err("it is in use");
    assert!(
        ended
            .text()
            .contains("a.sock is in use: stop the other program"),
        "{}",
        ended.text()
    );
    drop(other);
    assert!(socket.exists());
    let server = Server::caddyfile(&config).start();
    assert_eq!(text(&socket, "/"), "ok");
    server.stop();
}

/// Sends one request on a persistent connection.
fn exchange(connection: &mut BufReader<UnixStream>) -> String {
    let request = "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n";
    connection
        .get_mut()
        .write_all(request.as_bytes())
        .expect("sent");
    let mut length = 0;
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).expect("a line");
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().expect("a number");
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).expect("a body");
    String::from_utf8(body).expect("text")
}

#[test]
fn it_stays_over_a_reload_and_is_removed_when_unused() {
    let directory = tempfile::tempdir().expect("a directory");
    let [socket, next] = ["a.sock", "b.sock"].map(|name| directory.path().join(name));
    let config = |path: &Path, mode: &str, body: &str| {
        format!(
            "{{\n{ON}\n}}\n:80 {{\nbind unix/{}|{mode}\nrespond {body}\n}}\n",
            path.display()
        )
    };
    let server = Server::caddyfile(config(&socket, "0200", "one")).start();
    let admin = Admin::of(&server);
    let file: PathBuf = server.temp_dir().with_file_name("Caddyfile");
    let load = |text: String| {
        std::fs::write(&file, text).expect("written");
        admin.post("/reload").assert_status(200);
    };
    let open = UnixStream::connect(&socket).expect("it connects");
    open.set_read_timeout(Some(PATIENCE)).expect("set");
    let mut kept = BufReader::new(open);
    assert_eq!(exchange(&mut kept), "one");
    let inode = || std::fs::metadata(&socket).expect("it is there").ino();
    let before = inode();
    load(config(&socket, "0222", "two"));
    assert_eq!(exchange(&mut kept), "two");
    assert_eq!(text(&socket, "/"), "two");
    assert_eq!((inode(), mode(&socket)), (before, 0o222));
    load(config(&next, "0200", "three"));
    server.wait_log("no longer listening on a Unix socket");
    assert_eq!(text(&next, "/"), "three");
    assert!(!socket.exists());
    // The listener of the existing connection is closed.
    let mut rest = Vec::new();
    kept.read_to_end(&mut rest).expect("the end");
    assert!(rest.is_empty());
    server.stop();
    assert!(!next.exists());
}
