//! Static files.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::{Harness, Reply, config, file_site, root, route};
use howdah_config::model::{ContentCoding, FileServer, Handler};

fn tree() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("a.txt"), "0123456789").unwrap();
    fs::write(path.join("empty.css"), "").unwrap();
    fs::write(path.join("caf\u{e9} 1.html"), "caf\u{e9}").unwrap();
    fs::write(path.join(".env"), "SECRET").unwrap();
    fs::create_dir_all(path.join(".well-known")).unwrap();
    fs::write(path.join(".well-known/acme"), "token").unwrap();
    fs::create_dir_all(path.join("dir/empty")).unwrap();
    fs::write(path.join("dir/index.html"), "<p>index").unwrap();
    directory
}

#[test]
fn files_are_sent_with_their_types() {
    let directory = tree();
    let harness = Harness::start(&file_site(directory.path()));
    for (target, status, kind, body) in [
        ("/a.txt", 200, "text/plain; charset=utf-8", "0123456789"),
        (
            "/a.txt?query=1",
            200,
            "text/plain; charset=utf-8",
            "0123456789",
        ),
        ("/empty.css", 200, "text/css; charset=utf-8", ""),
        (
            "/caf%C3%A9%201.html",
            200,
            "text/html; charset=utf-8",
            "caf\u{e9}",
        ),
        ("/dir/", 200, "text/html; charset=utf-8", "<p>index"),
        (
            "/dir/./x/../index.html",
            200,
            "text/html; charset=utf-8",
            "<p>index",
        ),
        (
            "/.well-known/acme",
            200,
            "application/octet-stream",
            "token",
        ),
    ] {
        let reply = harness.get(target);
        assert_eq!((reply.status, reply.text()), (status, body), "{target}");
        assert_eq!(reply.header("content-type"), Some(kind), "{target}");
        assert_eq!(
            reply.header("content-length"),
            Some(body.len().to_string()).as_deref()
        );
    }
    for target in [
        "/none",
        "/a.txt/",
        "/a.txt/b",
        "/.env",
        "/dir/.env",
        "/%2eenv",
        "/dir/empty/",
        "/../../../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/dir/..%2f..%2f..%2f..%2f..%2f..%2fetc/hostname",
    ] {
        assert_eq!(harness.get(target).status, 404, "{target}");
    }
}

#[test]
fn a_directory_is_redirected_to_its_slash() {
    let directory = tree();
    let harness = Harness::start(&file_site(directory.path()));
    for (target, location) in [
        ("/dir", "/dir/"),
        ("/dir?a=b", "/dir/?a=b"),
        ("//dir", "/dir/"),
        ("//evil.example/..//dir", "/dir/"),
    ] {
        let reply = harness.get(target);
        assert_eq!(reply.status, 308, "{target}");
        assert_eq!(reply.header("location"), Some(location), "{target}");
    }
    let name = format!("{}/\\evil.example", directory.path().display());
    fs::create_dir(&name).unwrap();
    // Responses do not reveal which folders exist.
    assert_eq!(harness.get("/%5Cevil.example").status, 404);
    fs::write(format!("{name}/index.html"), "").unwrap();
    let reply = harness.get("/%5Cevil.example");
    assert_eq!(reply.header("location"), Some("/%5Cevil.example/"));
}

#[test]
fn conditions_and_ranges() {
    let directory = tree();
    let harness = Harness::start(&file_site(directory.path()));
    let first = harness.get("/a.txt");
    let etag = first.header("etag").unwrap().to_owned();
    let date = first.header("last-modified").unwrap().to_owned();
    let old = "Mon, 01 Jan 2001 00:00:00 GMT";
    assert_eq!(first.header("accept-ranges"), Some("bytes"));
    for (headers, status, body) in [
        (format!("If-None-Match: {etag}\r\n"), 304, ""),
        (format!("If-None-Match: \"x\", W/{etag}\r\n"), 304, ""),
        ("If-None-Match: *\r\n".to_owned(), 304, ""),
        ("If-None-Match: \"x\"\r\n".to_owned(), 200, "0123456789"),
        (format!("If-Modified-Since: {date}\r\n"), 304, ""),
        (format!("If-Modified-Since: {old}\r\n"), 200, "0123456789"),
        (
            "If-Modified-Since: yesterday\r\n".to_owned(),
            200,
            "0123456789",
        ),
        // The entity tag takes precedence.
        (
            format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {date}\r\n"),
            200,
            "0123456789",
        ),
        (format!("If-Match: {etag}\r\n"), 200, "0123456789"),
        (
            "If-Match: \"x\"\r\n".to_owned(),
            412,
            "412 Precondition Failed\n",
        ),
        (
            format!("If-Match: W/{etag}\r\n"),
            412,
            "412 Precondition Failed\n",
        ),
        (
            format!("If-Unmodified-Since: {date}\r\n"),
            200,
            "0123456789",
        ),
        (
            format!("If-Unmodified-Since: {old}\r\n"),
            412,
            "412 Precondition Failed\n",
        ),
        ("Range: bytes=2-4\r\n".to_owned(), 206, "234"),
        ("Range: bytes=7-\r\n".to_owned(), 206, "789"),
        ("Range: bytes=-2\r\n".to_owned(), 206, "89"),
        ("Range: bytes=0-1,4-5\r\n".to_owned(), 200, "0123456789"),
        ("Range: bytes=5-2\r\n".to_owned(), 200, "0123456789"),
        (
            "Range: bytes=10-\r\n".to_owned(),
            416,
            "416 Range Not Satisfiable\n",
        ),
        (
            format!("Range: bytes=0-0\r\nIf-Range: {etag}\r\n"),
            206,
            "0",
        ),
        (
            "Range: bytes=0-0\r\nIf-Range: \"x\"\r\n".to_owned(),
            200,
            "0123456789",
        ),
        (
            format!("Range: bytes=0-0\r\nIf-Range: {date}\r\n"),
            206,
            "0",
        ),
        (
            format!("Range: bytes=0-0\r\nIf-Range: {old}\r\n"),
            200,
            "0123456789",
        ),
        (
            format!("Range: bytes=0-0\r\nIf-None-Match: {etag}\r\n"),
            304,
            "",
        ),
    ] {
        let reply = harness.get_with("/a.txt", &headers);
        assert_eq!((reply.status, reply.text()), (status, body), "{headers}");
        if status == 304 {
            assert_eq!(reply.header("etag"), Some(etag.as_str()));
        }
    }
    let part = harness.get_with("/a.txt", "Range: bytes=2-4\r\n");
    assert_eq!(part.header("content-range"), Some("bytes 2-4/10"));
    let none = harness.get_with("/a.txt", "Range: bytes=99-\r\n");
    assert_eq!(none.header("content-range"), Some("bytes */10"));
    fs::write(directory.path().join("a.txt"), "0123456780").unwrap();
    assert_ne!(harness.get("/a.txt").header("etag"), Some(etag.as_str()));
}

#[test]
fn a_meaningless_time_is_not_reported() {
    let directory = tree();
    let file = directory.path().join("style.css");
    let with_files = FileServer {
        precompressed: vec![ContentCoding::Gzip],
        ..FileServer::default()
    };
    let harness = Harness::start(&config(vec![
        root(directory.path()),
        route(Handler::FileServer(with_files)),
    ]));
    // Modification times that Bazel, Nix, zip, Cloud Native Buildpacks, Gradle, Yarn and npm set.
    for seconds in [
        0,
        1,
        315_532_800,
        315_532_801,
        318_211_200,
        456_789_000,
        499_162_500,
    ] {
        let age = |path: &Path| {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(time).unwrap();
        };
        let put = |text: &str| {
            let new = directory.path().join("new");
            fs::write(&new, text).unwrap();
            age(&new);
            fs::rename(&new, &file).unwrap();
        };
        put("color: red;");
        let first = harness.get("/style.css");
        assert_eq!((first.status, first.text()), (200, "color: red;"));
        assert_eq!(first.header("etag"), None, "{seconds}");
        assert_eq!(first.header("last-modified"), None, "{seconds}");
        put("color: tan;");
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
        let nanoseconds = format!("\"{seconds:x}00000000-b\"");
        for headers in [
            format!("If-Modified-Since: {date}\r\n"),
            "If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT\r\n".to_owned(),
            format!("If-None-Match: {nanoseconds}\r\n"),
            // The rest of a different version must not be combined with this one.
            format!("Range: bytes=4-5\r\nIf-Range: {date}\r\n"),
            format!("Range: bytes=4-5\r\nIf-Range: {nanoseconds}\r\n"),
            format!("If-Unmodified-Since: {date}\r\n"),
        ] {
            let reply = harness.get_with("/style.css", &headers);
            assert_eq!(
                (reply.status, reply.text()),
                (200, "color: tan;"),
                "{headers}"
            );
        }
        let part = harness.get_with("/style.css", "Range: bytes=7-9\r\n");
        assert_eq!((part.status, part.text()), (206, "tan"));
        // A precompressed file has a separate modification time.
        let beside = directory.path().join("style.css.gz");
        fs::write(&beside, "packed").unwrap();
        let gzip = "Accept-Encoding: gzip\r\n";
        let packed = harness.get_with("/style.css", gzip);
        assert_eq!(packed.text(), "packed");
        assert!(packed.header("etag").is_some());
        age(&beside);
        let packed = harness.get_with("/style.css", gzip);
        assert_eq!((packed.text(), packed.header("etag")), ("packed", None));
        fs::remove_file(beside).unwrap();
    }
    // A time in the future distinguishes versions, but must not be sent as a date.
    let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
    let opened = File::options().write(true).open(&file).unwrap();
    opened.set_modified(tomorrow).unwrap();
    let reply = harness.get("/style.css");
    let etag = reply.header("etag").unwrap();
    assert_eq!(reply.header("last-modified"), None);
    let same = format!("If-None-Match: {etag}\r\n");
    assert_eq!(harness.get_with("/style.css", &same).status, 304);
}

#[test]
fn methods() {
    let directory = tree();
    let harness = Harness::start(&file_site(directory.path()));
    let head = harness.send("HEAD /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("10"))
    );
    let options = harness.send("OPTIONS /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(
        (options.status, options.header("allow")),
        (204, Some("GET, HEAD, OPTIONS"))
    );
    let post = harness.send("POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(
        (post.status, post.header("allow")),
        (405, Some("GET, HEAD, OPTIONS"))
    );
}

#[test]
fn only_regular_files_are_opened_for_reading() {
    let directory = tree();
    let path = directory.path();
    rustix::fs::mkfifoat(rustix::fs::CWD, path.join("fifo"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path.join("socket")).unwrap();
    symlink("/dev/zero", path.join("zero")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("b.txt"), "linked").unwrap();
    symlink(outside.path().join("b.txt"), path.join("link.txt")).unwrap();
    symlink("loop", path.join("loop")).unwrap();
    let harness = Harness::start(&file_site(path));
    for target in ["/fifo", "/socket", "/zero", "/loop"] {
        assert_eq!(harness.get(target).status, 404, "{target}");
    }
    assert_eq!(harness.get("/link.txt").text(), "linked");
}

#[test]
fn large_files_are_streamed_whole() {
    let directory = tree();
    let contents: Vec<u8> = (0..3_000_001_u32)
        .map(|index| (index % 253) as u8)
        .collect();
    fs::write(directory.path().join("large.bin"), &contents).unwrap();
    let harness = Harness::start(&file_site(directory.path()));
    assert!(harness.get("/large.bin").body == contents);
    let part = harness.get_with("/large.bin", "Range: bytes=1000-2500000\r\n");
    assert!(part.body == contents[1000..=2_500_000]);
}

/// Checks the parts of a multipart response.
fn parts(reply: &Reply, kind: &str, ranges: &[(usize, usize)], contents: &[u8]) -> Vec<u8> {
    let boundary = reply
        .header("content-type")
        .and_then(|kind| kind.strip_prefix("multipart/byteranges; boundary="))
        .unwrap_or_else(|| panic!("{}", reply.head));
    let mut expected = Vec::new();
    for (first, last) in ranges {
        let total = contents.len();
        let head = format!(
            "--{boundary}\r\nContent-Type: {kind}\r\nContent-Range: bytes {first}-{last}/{total}\r\n\r\n"
        );
        expected.extend_from_slice(head.as_bytes());
        expected.extend_from_slice(&contents[*first..=*last]);
        expected.extend_from_slice(b"\r\n");
    }
    expected.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    expected
}

#[test]
fn several_ranges_are_several_parts() {
    let directory = tree();
    let contents: Vec<u8> = (0..3_000_001_u32)
        .map(|index| (index % 253) as u8)
        .collect();
    fs::write(directory.path().join("large.bin"), &contents).unwrap();
    let harness = Harness::start(&file_site(directory.path()));
    let whole = harness.get("/large.bin");
    let etag = whole.header("etag").unwrap();
    let reply = harness.get_with(
        "/large.bin",
        &format!("Range: bytes=2000000-2900000, 5-5 ,-3,9000000-\r\nIf-Range: {etag}\r\n"),
    );
    assert_eq!(reply.status, 206);
    let ranges = [(2_000_000, 2_900_000), (5, 5), (2_999_998, 3_000_000)];
    let expected = parts(&reply, "application/octet-stream", &ranges, &contents);
    assert!(reply.body == expected);
    assert_eq!(
        reply.header("content-length"),
        Some(expected.len().to_string()).as_deref()
    );
    assert_eq!(reply.header("content-range"), None);
    assert_eq!(reply.header("etag"), Some(etag));
    let many: Vec<String> = (0..17).map(|at| format!("{0}-{0}", at * 2)).collect();
    for ranges in [
        "0-1999999,1000000-2999999".to_owned(),
        "0-,-1".to_owned(),
        many.join(","),
    ] {
        let headers = format!("Range: bytes={ranges}\r\n");
        let reply = harness.get_with("/large.bin", &headers);
        assert_eq!(reply.status, 200, "{ranges}");
        assert!(reply.body == contents, "{ranges}");
    }
    let changed = "Range: bytes=0-1,4-5\r\nIf-Range: \"x\"\r\n";
    assert_eq!(harness.get_with("/large.bin", changed).status, 200);
    let head = "HEAD /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1,4-5\r\n\r\n";
    assert_eq!(harness.send(head).status, 200);
    // A client that has received the wanted part is served on the same connection.
    let mut client = harness.connect();
    for _ in 0..2 {
        client.write(b"GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=0-99,200-70000\r\n\r\n");
        let reply = client.reply(true);
        let ranges = [(0, 99), (200, 70_000)];
        assert!(reply.body == parts(&reply, "application/octet-stream", &ranges, &contents));
    }
}

#[test]
fn a_file_that_is_kept_is_the_same() {
    // A file that is older than the test, so that it is cached at the first read.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let contents = fs::read(source.join("lib.rs")).unwrap();
    let harness = Harness::start(&file_site(&source));
    let first = harness.get("/lib.rs");
    for _ in 0..3 {
        let reply = harness.get("/lib.rs");
        assert_eq!((reply.status, &reply.body), (200, &contents));
        assert_eq!(reply.header("etag"), first.header("etag"));
        let part = harness.get_with("/lib.rs", "Range: bytes=-9\r\n");
        assert_eq!(
            (part.status, &part.body[..]),
            (206, &contents[contents.len() - 9..])
        );
        let several = harness.get_with("/lib.rs", "Range: bytes=0-4,10-19\r\n");
        let ranges = [(0, 4), (10, 19)];
        let kind = first.header("content-type").unwrap();
        assert_eq!(several.status, 206);
        assert_eq!(several.body, parts(&several, kind, &ranges, &contents));
        let head = harness.send("HEAD /lib.rs HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(
            head.header("content-length"),
            first.header("content-length")
        );
    }
}

#[test]
fn a_file_that_shrinks_is_cut_not_filled() {
    let directory = tree();
    let path = directory.path().join("large.bin");
    let length = 64 << 20;
    fs::File::create(&path).unwrap().set_len(length).unwrap();
    let harness = Harness::start(&file_site(directory.path()));
    let mut client = harness.connect();
    client.write(b"GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until(b"\r\n\r\n");
    // The client reads nothing more until the file is shorter.
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(1000)
        .unwrap();
    let (rest, _) = client.rest();
    assert!((rest.len() as u64) < length, "more than the file had");
}

#[test]
fn hidden_files_are_not_found() {
    let directory = tree();
    let path = directory.path();
    fs::write(path.join("dir/notes.bak"), "old").unwrap();
    fs::create_dir(path.join("private")).unwrap();
    fs::write(path.join("private/key.txt"), "key").unwrap();
    let private = path.join("private").to_str().unwrap().to_owned();
    let files = FileServer {
        hide: vec!["*.bak".into(), private],
        ..FileServer::default()
    };
    let harness = Harness::start(&hiding(path, files));
    assert_eq!(harness.get("/dir/notes.bak").status, 404);
    assert_eq!(harness.get("/private/key.txt").status, 404);
    assert_eq!(harness.get("/private/").status, 404);
    assert_eq!(harness.get("/a.txt").status, 200);
}

fn hiding(path: &Path, files: FileServer) -> howdah_config::model::Config {
    config(vec![root(path), route(Handler::FileServer(files))])
}
