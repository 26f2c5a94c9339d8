//! Document roots that do not exist yet, are removed and created again, or are switched by a
//! deployment. Their requests get 404 meanwhile, and everything else is served.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use howdah_testkit::{Server, ServerBuilder, Www, process};
use howdah_tests::admin::{Admin, ON};

/// Sites of all kinds below `dir`, of which only `here` exists.
fn text(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "{{\n{ON}\nfrankenphp {{\nnum_threads 1\n}}\n}}\nhttp://:0 {{\nbind 127.0.0.1\nroot * {dir}/here\n\
         handle_path /files/* {{\nroot * {dir}/files\nfile_server\n}}\n\
         handle_path /php/* {{\nroot * {dir}/php\nphp_server\n}}\n\
         handle_path /fpm/* {{\nroot * {dir}/fpm\nphp_fastcgi unix/{dir}/fpm.sock\n}}\n\
         handle_errors {{\nroot * {dir}/errors\nrewrite * /{{err.status_code}}.html\nfile_server\n}}\n\
         file_server\n}}\n"
    )
}

const MISSING: [&str; 4] = ["files", "php", "fpm", "errors"];

fn start() -> (Www, Server) {
    let www = Www::new().file("here/a.txt", "here");
    let server = Server::caddyfile(text(www.path())).start();
    for name in MISSING {
        let root = www.path().join(name);
        server.expect_log(&format!("document root {}: No such file", root.display()));
    }
    (www, server)
}

#[test]
fn folders_that_come_later_are_served_then() {
    let (www, server) = start();
    server.get("/a.txt").assert(200, "here");
    for path in ["/files/a.txt", "/php/", "/php/a.php", "/none"] {
        assert_eq!(server.get(path).status(), 404, "{path}");
    }
    // PHP-FPM may have the front controller on a different machine. There is no PHP-FPM here.
    server.expect_log("the FastCGI server did not respond");
    assert_eq!(server.get("/fpm/").status(), 502);
    www.write("files/a.txt", "a file");
    server.get("/files/a.txt").assert(200, "a file");
    www.write("php/index.php", "<?php echo 'php ', __DIR__;");
    let php = format!("php {}", www.path().join("php").display());
    server.get("/php/").assert(200, &php);
    www.write("errors/404.html", "nothing here");
    server.get("/none").assert(404, "nothing here");
}

#[test]
fn a_folder_may_go_and_come_back() {
    let (www, server) = start();
    www.write("php/index.php", "<?php echo 'one';");
    server.get("/php/").assert(200, "one");
    fs::remove_dir_all(www.path().join("php")).expect("removed");
    // A lookup is cached for up to a second, and PHP gets the request.
    server.allow_log("Failed to open stream: No such file or directory");
    server.allow_log("Primary script unknown");
    let gone = process::wait_until(howdah_testkit::PATIENCE, || {
        server.get("/php/").status() == 404
    });
    assert!(gone, "it is not there any more");
    // A deployment: a release, and a symbolic link to it in place of the folder.
    www.write("release/index.php", "<?php echo 'two';");
    symlink(www.path().join("release"), www.path().join("php")).expect("linked");
    server.get("/php/").assert(200, "two");
}

#[test]
fn a_reload_does_not_wait_for_them() {
    let (www, server) = start();
    let admin = Admin::of(&server);
    let file = server.temp_dir().with_file_name("Caddyfile");
    let later = text(www.path()).replace("/files\n", "/uploads\n");
    fs::write(&file, later).expect("written");
    let uploads = www.path().join("uploads");
    server.expect_log(&format!(
        "document root {}: No such file",
        uploads.display()
    ));
    admin.post("/reload").assert_status(200);
    server.get("/a.txt").assert(200, "here");
    assert_eq!(server.get("/files/a.txt").status(), 404);
    www.write("uploads/a.txt", "uploaded");
    server.get("/files/a.txt").assert(200, "uploaded");
}

#[test]
fn validate_reports_what_run_reports() {
    let www = Www::new().file("here/a.txt", "here");
    let file = www.write("Caddyfile", text(www.path()));
    let ended = ServerBuilder::command(["validate", "-c"]).arg(&file).run();
    ended.assert(0, "valid");
    for name in MISSING {
        let expected = format!(
            "document root {}: No such file",
            www.path().join(name).display()
        );
        ended.assert(0, &expected);
    }
}
