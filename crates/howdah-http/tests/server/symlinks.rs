//! Symbolic links in folders that other users can write.

use std::fs;
use std::os::unix::fs::{lchown, symlink};
use std::path::Path;

use crate::caddyfile::serve;

/// A document root with an upload folder, and files outside of it that must not be served.
fn tree() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir_all(path("www/uploads")).unwrap();
    fs::create_dir(path("private")).unwrap();
    fs::write(path("private/secret.txt"), "secret").unwrap();
    fs::write(path("private/index.html"), "secret index").unwrap();
    fs::write(path("www/uploads/own.txt"), "own").unwrap();
    let link = |target: &Path, name: &str| {
        symlink(target, path("www/uploads").join(name)).unwrap();
    };
    link(&path("private/secret.txt"), "link.txt");
    link(&path("private"), "folder");
    link(&path("private/secret.txt"), "own.txt.gz");
    link(&path("private/index.html"), "index.html");
    link(&path("www/uploads/own.txt"), "same.txt");
    directory
}

const SITE: &str = "handle /php/* {\nuri strip_prefix /php\nphp_server {\nsymlinks MODE\n}\n}\n\
    handle /list/* {\nuri strip_prefix /list\nfile_server {\nsymlinks MODE\nbrowse\nindex none\n}\n}\n\
    file_server {\nsymlinks MODE\nprecompressed gzip\n}\n";

fn site(directory: &tempfile::TempDir, mode: &str) -> crate::support::Harness {
    serve(&directory.path().join("www"), &SITE.replace("MODE", mode))
}

#[test]
fn no_link_is_followed() {
    let directory = tree();
    let harness = site(&directory, "off");
    for target in [
        "/uploads/link.txt",
        "/uploads/same.txt",
        "/uploads/folder/secret.txt",
        "/uploads/folder/",
        "/uploads/",
        "/php/uploads/link.txt",
        "/list/uploads/folder/",
    ] {
        // The second time, no result of the first is cached.
        for _ in 0..2 {
            let reply = harness.get(target);
            assert_eq!(reply.status, 403, "{target}: {reply:?}");
            let range = harness.get_with(target, "Range: bytes=0-2\r\n");
            assert_eq!(range.status, 403, "{target}: {range:?}");
        }
    }
    // A precompressed file outside the root is not sent in place of a file.
    let reply = harness.get_with("/uploads/own.txt", "Accept-Encoding: gzip\r\n");
    assert_eq!((reply.status, reply.text()), (200, "own"));
    assert_eq!(reply.header("content-encoding"), None);
    let list = harness.get("/list/uploads/");
    assert!(list.text().contains("own.txt</a>"), "{list:?}");
    for hidden in ["link.txt", "same.txt", "folder", "own.txt.gz"] {
        assert!(!list.text().contains(hidden), "{hidden}: {list:?}");
    }
    assert_eq!(harness.get("/uploads/none").status, 404);
}

#[test]
fn links_lead_to_files_of_their_owners() {
    let directory = tree();
    let harness = site(&directory, "if_owner_match");
    for (target, text) in [
        ("/uploads/link.txt", "secret"),
        ("/uploads/same.txt", "own"),
        ("/uploads/folder/secret.txt", "secret"),
        ("/uploads/", "secret index"),
    ] {
        let reply = harness.get(target);
        assert_eq!((reply.status, reply.text()), (200, text), "{target}");
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("only root can give files to others: the rest is left out");
        return;
    }
    let uploads = directory.path().join("www/uploads");
    for entry in fs::read_dir(&uploads).unwrap().flatten() {
        lchown(entry.path(), Some(33), Some(33)).unwrap();
    }
    for (target, status) in [
        ("/uploads/link.txt", 403),
        ("/uploads/folder/secret.txt", 403),
        ("/uploads/", 403),
        ("/php/uploads/link.txt", 403),
        ("/uploads/same.txt", 200),
    ] {
        let reply = harness.get(target);
        assert_eq!(reply.status, status, "{target}: {reply:?}");
    }
    let list = harness.get("/list/uploads/");
    assert!(list.text().contains("same.txt</a>"), "{list:?}");
    assert!(!list.text().contains("link.txt"), "{list:?}");
}

#[test]
fn all_links_are_followed_by_default() {
    let directory = tree();
    let harness = serve(&directory.path().join("www"), "file_server");
    assert_eq!(harness.get("/uploads/link.txt").text(), "secret");
    // Links in the path of the root belong to the operator.
    let current = directory.path().join("current");
    symlink("www", &current).unwrap();
    let harness = serve(&current, "file_server {\nsymlinks off\n}");
    assert_eq!(harness.get("/uploads/own.txt").text(), "own");
}
