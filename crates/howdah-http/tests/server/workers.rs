//! The choice of a pool for a request.

use std::fs;
use std::path::Path;

use crate::support::{Harness, config, root, route};
use howdah_config::model::{
    Config, Handler, PhpScript, PhpServer, PhpWorker, Template, TryFiles, WorkerPool,
};

/// Pools of a configuration for the absolute paths `files`.
fn pools(files: &[&Path]) -> Vec<WorkerPool> {
    let pool = |(number, file): (usize, &&Path)| {
        WorkerPool::new(format!("app{number}"), file.to_str().unwrap())
    };
    files.iter().enumerate().map(pool).collect()
}

fn worker(pool: usize, matches: &[&str]) -> PhpWorker {
    PhpWorker {
        pool,
        matches: matches.iter().map(ToString::to_string).collect(),
    }
}

fn php_server(workers: Vec<PhpWorker>) -> PhpServer {
    PhpServer {
        script: PhpScript {
            workers,
            ..PhpScript::default()
        },
        ..PhpServer::default()
    }
}

fn site(public: &Path, server: PhpServer, files: &[&Path]) -> Config {
    let mut config = config(vec![root(public), route(Handler::PhpServer(server))]);
    config.workers = pools(files);
    config
}

/// A folder with `public`, which contains scripts and a file.
fn application() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let public = directory.path().join("public");
    fs::create_dir_all(public.join("sub")).unwrap();
    for script in ["index.php", "worker.php", "other.php", "sub/index.php"] {
        fs::write(public.join(script), "<?php // source").unwrap();
    }
    fs::write(public.join("a.txt"), "text").unwrap();
    fs::write(directory.path().join("outside.php"), "<?php").unwrap();
    directory
}

#[track_caller]
fn expect(harness: &Harness, target: &str, pool: &str, script: &str, path_info: &str) {
    let reply = harness.get(target);
    assert_eq!(reply.status, 200, "{target}: {reply:?}");
    assert_eq!(reply.value("pool"), pool, "{target}");
    assert_eq!(reply.value("script"), script, "{target}");
    assert_eq!(reply.value("path_info"), path_info, "{target}");
}

#[test]
fn a_script_that_is_a_worker_s_file_goes_to_its_pool() {
    let app = application();
    let public = app.path().join("public");
    let (index, worker_php) = (public.join("index.php"), public.join("worker.php"));
    let server = php_server(vec![worker(1, &[]), worker(0, &[])]);
    let harness = Harness::start(&site(&public, server, &[&index, &worker_php]));
    expect(&harness, "/", "1", "/index.php", "");
    expect(&harness, "/index.php", "1", "/index.php", "");
    expect(&harness, "/index.php/a/b", "1", "/index.php", "/a/b");
    expect(&harness, "/nothing/there", "1", "/index.php", "");
    expect(&harness, "/worker.php", "2", "/worker.php", "");
    expect(&harness, "/other.php/x", "0", "/other.php", "/x");
    expect(&harness, "/sub/", "0", "/sub/index.php", "");
    assert_eq!(harness.get("/a.txt").text(), "text");
}

#[test]
fn a_worker_that_the_server_block_does_not_have_gets_nothing() {
    let app = application();
    let public = app.path().join("public");
    let index = public.join("index.php");
    let harness = Harness::start(&site(&public, php_server(Vec::new()), &[&index]));
    expect(&harness, "/", "0", "/index.php", "");
}

#[test]
fn the_worker_s_script_is_not_looked_up_on_disk() {
    let app = application();
    let public = app.path().join("public");
    let index = public.join("index.php");
    let server = php_server(vec![worker(0, &[])]);
    let harness = Harness::start(&site(&public, server, &[&index]));
    fs::remove_file(&index).unwrap();
    expect(&harness, "/route", "1", "/index.php", "");
    expect(&harness, "/index.php", "1", "/index.php", "");
    assert_eq!(harness.get("/missing.php").value("pool"), "1");
}

#[test]
fn symbolic_links_lead_to_the_same_pool() {
    let app = application();
    let base = app.path().canonicalize().unwrap();
    let public = base.join("public");
    std::os::unix::fs::symlink(&base, base.join("current")).unwrap();
    std::os::unix::fs::symlink("worker.php", public.join("front.php")).unwrap();
    let linked_root = base.join("current/public");
    let direct = public.join("worker.php");
    let through = linked_root.join("worker.php");
    for (root, file) in [
        (&public, &direct),
        (&public, &through),
        (&linked_root, &direct),
        (&linked_root, &through),
    ] {
        for resolve in [true, false] {
            let mut server = php_server(vec![worker(0, &[])]);
            server.script.resolve_root_symlink = resolve;
            let harness = Harness::start(&site(root, server, &[file]));
            expect(&harness, "/worker.php", "1", "/worker.php", "");
            expect(&harness, "/front.php", "1", "/front.php", "");
            expect(&harness, "/index.php", "0", "/index.php", "");
            let expected = if resolve { &public } else { root };
            let reply = harness.get("/worker.php");
            assert_eq!(reply.value("root"), expected.to_str().unwrap());
        }
    }
}

#[test]
fn matching_paths_go_to_the_worker_whatever_is_on_disk() {
    let app = application();
    let public = app.path().join("public");
    let (inside, outside) = (public.join("worker.php"), app.path().join("outside.php"));
    let server = php_server(vec![
        worker(0, &["/api/*", "*.txt", "/worker.php/*"]),
        worker(1, &["/Out*"]),
        worker(1, &[]),
    ]);
    let harness = Harness::start(&site(&public, server, &[&inside, &outside]));
    for target in ["/api/x/index.php/y", "/a.txt", "/API/", "/api/"] {
        expect(&harness, target, "1", "/worker.php", "");
        assert_eq!(harness.get(target).value("file"), "-");
    }
    expect(&harness, "/worker.php/a/b", "1", "/worker.php", "/a/b");
    expect(&harness, "/out/x?y=1", "2", "", "");
    let reply = harness.get("/out/x?y=1");
    let file = outside.canonicalize().unwrap();
    assert_eq!(reply.value("file"), file.to_str().unwrap());
    assert_eq!(reply.value("query"), "y=1");
    assert_eq!(reply.value("uri"), "/out/x?y=1");
    // Without a matching path, the same file is an ordinary script.
    expect(&harness, "/worker.php", "0", "/worker.php", "");
    expect(&harness, "/api", "0", "/index.php", "");
}

#[test]
fn a_front_controller_of_another_name() {
    let app = application();
    let public = app.path().join("public");
    let file = public.join("worker.php");
    let mut server = php_server(vec![worker(0, &[])]);
    let path = server.try_files.candidates[0].clone();
    server.try_files = TryFiles {
        candidates: vec![path, Template::text("worker.php")],
        fallback_status: None,
    };
    let harness = Harness::start(&site(&public, server, &[&file]));
    expect(&harness, "/", "1", "/worker.php", "");
    expect(&harness, "/some/page", "1", "/worker.php", "");
    expect(&harness, "/other.php", "0", "/other.php", "");
    assert_eq!(harness.get("/a.txt").text(), "text");
    assert_eq!(harness.get("/.env").status, 200, "the application decides");
    assert_eq!(harness.get("/.git/x.php").status, 200);
}

#[test]
fn the_php_directive_has_workers_too() {
    let app = application();
    let public = app.path().join("public");
    let file = public.join("worker.php");
    let script = PhpScript {
        workers: vec![worker(0, &[]), worker(1, &["/match/*"])],
        ..PhpScript::default()
    };
    let mut config = config(vec![root(&public), route(Handler::Php(script))]);
    config.workers = pools(&[&file, &file]);
    let harness = Harness::start(&config);
    expect(&harness, "/worker.php/x", "1", "/worker.php", "/x");
    expect(&harness, "/match/x", "2", "/worker.php", "");
    expect(&harness, "/worker.php", "1", "/worker.php", "");
    expect(&harness, "/index.php", "0", "/index.php", "");
    assert_eq!(harness.get("/missing").status, 404);
}
