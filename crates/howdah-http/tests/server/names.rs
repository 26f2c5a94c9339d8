//! File names that are not UTF-8: `café` in ISO 8859-1.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::caddyfile::serve;
use crate::support::{Harness, wait_until};

fn named(folder: &Path, name: &[u8]) -> PathBuf {
    folder.join(OsStr::from_bytes(name))
}

fn tree() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(named(path, b"caf\xe9.txt"), "old").unwrap();
    fs::write(
        "café.txt"
            .parse::<PathBuf>()
            .map(|name| path.join(name))
            .unwrap(),
        "new",
    )
    .unwrap();
    let folder = named(path, b"\xfcber");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("index.html"), "index").unwrap();
    fs::write(folder.join("index.php"), "<?php").unwrap();
    fs::write(named(&folder, b"\xe9.secret"), "secret").unwrap();
    fs::create_dir(path.join("list")).unwrap();
    fs::write(named(&path.join("list"), b"<\xe9>.txt"), "in the list").unwrap();
    directory
}

fn check(harness: &Harness, expected: &[(&str, u16, &str)]) {
    for (target, status, text) in expected {
        let reply = harness.get(target);
        let text = if *status == 308 {
            assert_eq!(reply.header("location"), Some(*text), "{target}");
            ""
        } else {
            text
        };
        assert_eq!(reply.status, *status, "{target}");
        assert!(
            *status >= 400 || reply.text() == text,
            "{target}: {reply:?}"
        );
    }
}

#[test]
fn files_are_served() {
    let directory = tree();
    for options in ["", " {\nsymlinks off\n}", " {\nprecompressed gzip\n}"] {
        let harness = serve(directory.path(), &format!("file_server{options}"));
        check(
            &harness,
            &[
                ("/caf%E9.txt", 200, "old"),
                ("/caf%E9.txt", 200, "old"),
                ("/caf%C3%A9.txt", 200, "new"),
                ("/caf%EF%BF%BD.txt", 404, ""),
                // The character that represents the byte.
                ("/caf%F4%8F%BF%A9.txt", 404, ""),
                ("/%FCber/", 200, "index"),
                ("/%FCber?a", 308, "/%FCber/?a"),
                ("/%FCber/..%2fcaf%E9.txt", 200, "old"),
            ],
        );
    }
    let harness = serve(directory.path(), "file_server {\nhide *.secret\n}");
    check(&harness, &[("/%FCber/%E9.secret", 404, "")]);
}

#[test]
fn routes_see_them() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "@dir path /%FCber/*\nheader @dir X-Dir yes\nredir /old/* /new{path}\nhandle /proxy/* {\n\
         uri strip_prefix /proxy\nrespond {uri}\n}\nhandle_path /raw/* {\nrespond {http.request.uri.query.q}\n}\n\
         handle /down/* {\nuri strip_prefix /down\nfile_server\n}\n\
         rewrite /alias /caf\u{10ffe9}.txt\ntry_files {path} {path}.txt\nfile_server",
    );
    check(
        &harness,
        &[
            ("/caf%E9", 200, "old"),
            ("/down/caf%E9.txt", 200, "old"),
            ("/proxy/%E9/%c3%a9%20", 200, "/%E9/%c3%a9%20"),
        ],
    );
    assert_eq!(harness.get("/raw/?q=%E9+%C3%A9").body, b"\xe9 \xc3\xa9");
    assert_eq!(
        harness.get("/old/%E9").header("location"),
        Some("/new/old/%E9")
    );
    let reply = harness.get("/%FCber/");
    assert_eq!(
        (reply.text(), reply.header("x-dir")),
        ("index", Some("yes"))
    );
}

#[test]
fn a_list_has_links_that_work() {
    let directory = tree();
    let harness = serve(directory.path(), "file_server browse");
    let list = harness.get("/list/");
    let row = "<a href=\"./%3C%E9%3E.txt\">&lt;\u{fffd}&gt;.txt</a>";
    assert!(list.text().contains(row), "{}", list.text());
    assert_eq!(harness.get("/list/%3C%E9%3E.txt").text(), "in the list");
    let json = harness.send("GET /list/ HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n");
    let entries: serde_json::Value = serde_json::from_slice(&json.body).unwrap();
    assert_eq!(entries[0]["name"], "<\u{fffd}>.txt");
    assert_eq!(entries[0]["url"], "./%3C%E9%3E.txt");
}

#[test]
fn logs_stay_readable() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "log {\noutput file ROOT/access.log\n}\nlog_append path {path}\nlog_append agent {header.User-Agent}\n\
         file_server",
    );
    let mut client = harness.connect();
    client.write(b"GET /caf\xe9.txt HTTP/1.1\r\nHost: a\r\nUser-Agent: \xff\xfe\r\n\r\n");
    assert_eq!(client.reply(true).text(), "old");
    let file = directory.path().join("access.log");
    let read = || fs::read_to_string(&file).unwrap_or_default();
    wait_until("it is logged", || read().ends_with('\n'));
    let line: serde_json::Value = serde_json::from_str(read().trim_end()).unwrap();
    assert_eq!(line["request"]["uri"], "/caf%E9.txt");
    assert_eq!(line["path"], "/caf\u{fffd}.txt");
    assert_eq!(line["agent"], "\u{fffd}\u{fffd}");
}
