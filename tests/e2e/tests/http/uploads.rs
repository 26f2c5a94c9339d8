//! Uploads: small ones in memory, large ones spooled, and limits.

use howdah_testkit::load::at_once;
use howdah_testkit::{Request, Server};
use howdah_tests::{caddyfile, encode, small_disk, www};

const BOUNDARY: &str = "XhowdahX";

/// A multipart request with one file.
fn upload(target: &str, content: &[u8]) -> Request {
    let mut body = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nüber\r\n\
         --{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(content);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    Request::new("POST", target)
        .header(
            "Content-Type",
            format!("multipart/form-data; boundary={BOUNDARY}"),
        )
        .body(body)
}

/// Bytes without repetition, so that a copy in the wrong order is noticed.
fn noise(size: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..size)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .collect()
}

fn large() -> Server {
    let builder = Server::builder(www()).workers(4);
    builder
        .ini("upload_max_filesize", "64M")
        .ini("post_max_size", "64M")
        .start()
}

#[test]
fn arrive_whole_at_each_size() {
    let server = large();
    let dir = tempfile::tempdir().expect("a directory");
    // Sizes around the limit of what stays in memory (64 KiB), and sizes that are always spooled.
    for size in [0, 1, 60_000, 65_000, 65_536, 66_000, 1 << 20, 10 << 20] {
        let content = noise(size, size as u64);
        let copy = dir.path().join(size.to_string());
        let target = format!("/upload.php?to={}", encode(&copy));
        let answer = server.send(&upload(&target, &content)).json();
        assert_eq!(answer["error"], 0, "{size}: {answer}");
        assert_eq!(answer["size"], size);
        assert_eq!(answer["is_upload"], true);
        assert_eq!(answer["is_upload_of_other"], false);
        assert_eq!(
            (&answer["moved"], &answer["gone"]),
            (&true.into(), &true.into())
        );
        assert!(
            std::fs::read(&copy).expect("it was moved") == content,
            "{size} bytes differ"
        );
    }
}

#[test]
fn arrive_whole_many_at_once() {
    let server = large();
    let dir = tempfile::tempdir().expect("a directory");
    at_once(24, |client| {
        let content = noise(200_000 + client * 50_000, client as u64);
        let copy = dir.path().join(client.to_string());
        let target = format!("/upload.php?to={}", encode(&copy));
        let answer = server.send(&upload(&target, &content)).json();
        assert_eq!(answer["moved"], true, "{answer}");
        assert!(
            std::fs::read(&copy).expect("it was moved") == content,
            "client {client} differs"
        );
    });
}

#[test]
fn raw_bodies_arrive_whole() {
    let server = large();
    let dir = tempfile::tempdir().expect("a directory");
    let copy = dir.path().join("raw");
    let content = noise(5 << 20, 7);
    std::fs::write(&copy, &content).expect("written");
    for request in [
        Request::new("PUT", "/dump.php").body(&content),
        Request::new("PUT", "/dump.php").chunked(content.chunks(77_777)),
    ] {
        let answer = server.send(&request).json();
        assert_eq!(answer["input_size"], content.len());
        let md5 = std::process::Command::new("md5sum")
            .arg(&copy)
            .output()
            .expect("md5sum runs");
        let md5 = String::from_utf8_lossy(&md5.stdout)
            .split(' ')
            .next()
            .map(str::to_owned);
        assert_eq!(answer["input_md5"].as_str().map(str::to_owned), md5);
    }
}

#[test]
fn unmoved_files_are_removed() {
    let server = large();
    let answer = server.send(&upload("/dump.php", &noise(300_000, 3))).json();
    assert_eq!(answer["files"]["file"]["name"], "a.bin");
    assert_eq!(answer["post"]["note"], "über");
    assert_eq!(
        answer["input_size"], 0,
        "a multipart body is not kept twice"
    );
    let name = answer["files"]["file"]["tmp_name"]
        .as_str()
        .expect("a name");
    assert!(!std::path::Path::new(name).exists());
}

#[test]
fn php_s_limits_are_kept() {
    let server = Server::builder(www())
        .workers(1)
        .ini("upload_max_filesize", "100K")
        .ini("post_max_size", "1M")
        .start();
    let answer = server.send(&upload("/dump.php", &noise(200_000, 1))).json();
    assert_eq!(answer["files"]["file"]["error"], 1);
    assert_eq!(answer["post"]["note"], "über");
    // Above post_max_size, PHP discards the body and logs a message.
    server.expect_log("exceeds the limit of 1048576 bytes");
    let answer = server.send(&upload("/dump.php", &noise(2 << 20, 1))).json();
    assert_eq!(answer["post"], serde_json::json!([]));
    assert_eq!(answer["files"], serde_json::json!([]));
}

#[test]
fn the_server_s_limit_is_kept() {
    let root = www().display().to_string();
    let config = caddyfile(
        "servers {\n max_body_size 1MB\n }",
        &format!("root * {root}\n php_server"),
    );
    let server = Server::caddyfile(config).start();
    let answer = server
        .send(&Request::new("PUT", "/dump.php").body(noise(999_000, 1)))
        .json();
    assert_eq!(answer["input_size"], 999_000);
    // The length is declared: the request is refused before a byte of the body is sent.
    let mut connection = server.connect();
    let head = "PUT /dump.php HTTP/1.1\r\nHost: x\r\nContent-Length: 1000001\r\nExpect: 100-continue\r\n\r\n";
    connection.send_bytes(head.as_bytes()).expect("sent");
    let response = connection.receive("PUT").expect("a response");
    response.assert_status(413);
    assert!(
        response.informational.is_empty(),
        "it asked for a body that it does not want"
    );
    // The length is not declared: the request is refused when the limit is exceeded.
    let mut connection = server.connect();
    let request = Request::new("PUT", "/dump.php").chunked(noise(1_200_000, 1).chunks(60_000));
    // The server may respond and close the connection before all bytes are sent.
    let sent = connection.send(&request);
    match connection.receive("PUT") {
        Ok(response) => response.assert_status(413),
        Err(error) => panic!("no 413 but {error} (sending: {sent:?})"),
    }
}

#[test]
fn a_client_that_disconnects_midway_leaves_nothing() {
    let server = large();
    let request = upload("/dump.php", &noise(3 << 20, 1));
    let bytes = request.to_bytes();
    for part in [100, 50_000, 100_000, 2 << 20] {
        let mut connection = server.connect();
        connection.send_bytes(&bytes[..part]).expect("sent");
        drop(connection);
        let mut connection = server.connect();
        connection.send_bytes(&bytes[..part]).expect("sent");
        connection.reset().expect("reset");
    }
    // The spool directory is checked when the server is stopped.
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn a_full_disk_is_answered_507_and_nothing_is_left() {
    let Some(disk) = small_disk() else { return };
    let server = Server::builder(www()).workers(2).through(disk).start();
    server.expect_log("a request body cannot be stored");
    let temporary = std::path::PathBuf::from(format!(
        "/proc/{}/root{}",
        server.pid(),
        server.temp_dir().display()
    ));
    let bodies = || -> Vec<String> {
        let spools = std::fs::read_dir(&temporary).expect("the server's directory");
        spools
            .flat_map(|spool| std::fs::read_dir(spool.expect("an entry").path()).expect("a spool"))
            .map(|file| file.expect("an entry").file_name().display().to_string())
            .filter(|name| name != "lock")
            .collect()
    };
    let body = vec![b'x'; 4 << 20];
    for _ in 0..3 {
        for request in [
            Request::new("PUT", "/dump.php").body(&body),
            Request::new("PUT", "/dump.php").chunked(body.chunks(100_000)),
        ] {
            let mut connection = server.connect();
            connection.send(&request).expect("it is read to its end");
            let response = connection.receive("PUT").expect("a response");
            response.assert(507, "the body cannot be stored\n");
            connection.wait_closed().expect("closed in order");
            assert_eq!(bodies(), Vec::<String>::new());
        }
    }
    // There is enough space for this body.
    let content = noise(300 << 10, 7);
    let fits = Request::new("PUT", "/dump.php").body(&content);
    assert_eq!(server.send(&fits).json()["input_size"], content.len());
    assert_eq!(bodies(), Vec::<String>::new());
}
