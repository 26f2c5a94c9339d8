//! Configuration files: their effect on requests, and the reports of errors in them.

use howdah_testkit::{Request, Server, ServerBuilder, Www};
use howdah_tests::{caddyfile, www};

fn site(directives: &str) -> (Www, Server) {
    let www = Www::new()
        .file(
            "index.php",
            "<?php echo 'index ', $_SERVER['REQUEST_URI'], ' ', $_SERVER['APP'] ?? '';",
        )
        .file(
            "other.php",
            "<?php echo 'other ', $_SERVER['QUERY_STRING'];",
        )
        .file("a.txt", "text")
        .file(
            "public/index.php",
            "<?php echo 'public ', $_SERVER['DOCUMENT_ROOT'];",
        )
        .file("public/b.txt", "public text");
    let root = www.path().display().to_string();
    let server = Server::caddyfile(caddyfile("", &directives.replace("{site}", &root))).start();
    (www, server)
}

#[test]
fn the_shortest_useful_one() {
    let (www, server) = site("root * {site}/public\n php_server");
    let root = www
        .path()
        .canonicalize()
        .expect("it exists")
        .join("public")
        .display()
        .to_string();
    server.get("/").assert(200, &format!("public {root}"));
    server
        .get("/any/path")
        .assert(200, &format!("public {root}"));
    server.get("/b.txt").assert(200, "public text");
}

#[test]
fn respond_redir_and_header() {
    let (_www, server) = site(
        "root * {site}\n header X-Site one\n header /a.txt -ETag\n respond /health OK 200\n respond /gone 410\n \
         redir /old /new?x=1 301\n redir /temp {scheme}://{host}/else{uri}\n php_server",
    );
    let health = server.get("/health");
    health.assert(200, "OK");
    assert_eq!(health.header("x-site"), Some("one"));
    server.get("/gone").assert(410, "");
    let old = server.get("/old");
    old.assert_status(301);
    assert_eq!(old.header("location"), Some("/new?x=1"));
    let temp = server.get("/temp?q=2");
    temp.assert_status(302);
    assert_eq!(
        temp.header("location"),
        Some("http://localhost/else/temp?q=2")
    );
    let file = server.get("/a.txt");
    file.assert(200, "text");
    assert_eq!(
        (file.header("etag"), file.header("x-site")),
        (None, Some("one"))
    );
    server.get("/x").assert(200, "index /x ");
}

#[test]
fn matchers_and_handles() {
    let (_www, server) = site(
        "root * {site}\n @api {\n path /api/*\n method POST PUT\n }\n @bot header User-Agent *bot*\n \
         @nobot not header User-Agent *\n handle @api {\n respond api 202\n }\n handle @bot {\n respond bot 403\n }\n \
         handle /files/* {\n respond files\n }\n handle {\n php_server\n }",
    );
    server
        .send(&Request::new("POST", "/api/x"))
        .assert(202, "api");
    server
        .send(&Request::get("/api/x"))
        .assert(200, "index /api/x ");
    server
        .send(&Request::get("/x").header("User-Agent", "a-bot-b"))
        .assert(403, "bot");
    server.get("/files/x").assert(200, "files");
    server.get("/a.txt").assert(200, "text");
}

#[test]
fn rewrite_and_try_files() {
    let (_www, server) = site(
        "root * {site}\n rewrite /short /other.php?from=short\n try_files {path} {path}.txt /index.php?{query}\n \
         php_server",
    );
    server.get("/short").assert(200, "other from=short");
    server.get("/a").assert(200, "text");
    server.get("/b?q=1").assert(200, "index /b?q=1 ");
    // A path with a slash at its end names a directory.
    server.get("/a.txt/").assert(200, "index /a.txt/ ");
}

#[test]
fn the_path_of_a_directory_is_not_that_of_a_file() {
    let (_www, server) = site(
        "root * {site}\n handle_path /matcher/* {\n@found file {path}\nrespond @found found\nrespond none\n}\n \
         handle_path /newest/* {\ntry_files {path} /other.php {\npolicy most_recently_modified\n}\nrespond {path}\n}\n \
         php_server",
    );
    server.get("/matcher/a.txt").assert(200, "found");
    server.get("/matcher/a.txt/").assert(200, "none");
    server.get("/newest/a.txt/").assert(200, "/other.php");
    server.get("/a.txt").assert(200, "text");
    server.get("/a.txt/").assert(200, "index /a.txt/ ");
    server.get("/index.php/").assert(200, "index /index.php/ ");
}

#[test]
fn methods_that_read_no_file_are_refused_for_files_only() {
    let (_www, server) = site("root * {site}\n file_server");
    let status = |method: &str, path: &str| server.send(&Request::new(method, path)).status();
    assert_eq!(status("POST", "/a.txt"), 405);
    assert_eq!(status("OPTIONS", "/a.txt"), 204);
    assert_eq!(status("POST", "/none.txt"), 404);
    assert_eq!(status("OPTIONS", "/none.txt"), 404);
}

#[test]
fn php_server_options() {
    let (_www, server) =
        site("php_server {\n root {site}\n env APP {host}\n index other.php\n file_server off\n }");
    server.get("/a.txt?z").assert(200, "other z");
    server
        .get("/index.php")
        .assert(200, "index /index.php localhost");
}

#[test]
fn sites_by_host() {
    let text = "http://one.test:0 {\n bind 127.0.0.1\n respond one\n}\nhttp://*.two.test:0 {\n bind 127.0.0.1\n respond two\n}\n";
    let server = Server::caddyfile(text).start();
    server
        .send(&Request::get("/").host("one.test"))
        .assert(200, "one");
    let two = *server.addresses().last().expect("an address");
    let exchange = |host: &str| {
        let mut connection = howdah_testkit::Connection::open(two).expect("it connects");
        connection
            .exchange(&Request::get("/").host(host))
            .expect("a response")
    };
    exchange("a.two.test").assert(200, "two");
    exchange("three.test").assert_status(404);
}

#[test]
fn limits_of_php() {
    let root = www().display().to_string();
    let text = caddyfile(
        "frankenphp {\n num_threads 1\n max_requests 3\n php_ini memory_limit 77M\n }",
        &format!("root * {root}\n php_server"),
    );
    let server = Server::caddyfile(text).start();
    let pids: Vec<_> = (0..6).map(|_| server.get("/pid.php").text()).collect();
    assert_eq!(pids[0], pids[2]);
    assert_ne!(pids[2], pids[3]);
    assert_eq!(pids[3], pids[5]);
}

#[test]
fn the_access_log_of_a_site() {
    let (_www, server) = site("log\n respond OK");
    server.get("/logged").assert(200, "OK");
    assert_eq!(server.wait_log("/logged").number("status"), Some(200));
}

/// The complete error message for a file with this text.
fn complaint(command: &[&str], text: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("Caddyfile");
    std::fs::write(&file, text).expect("written");
    let ended = ServerBuilder::command(command).arg(&file).run();
    assert_eq!(ended.code, Some(2), "{}", ended.text());
    ended.text()
}

#[test]
fn files_that_cannot_be_read_are_reported_with_the_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("binary");
    std::fs::write(&file, b":80 {\n\trespond \xff\n}\n").expect("written");
    for (path, reason) in [
        (dir.path().join("none"), "No such file"),
        (dir.path().to_owned(), "Is a directory"),
        (file, "valid UTF-8"),
    ] {
        let ended = ServerBuilder::command(["validate", "-c"]).arg(&path).run();
        ended.assert(2, reason);
        let expected = format!("cannot read {}: ", path.display());
        assert!(ended.text().contains(&expected), "{}", ended.text());
    }
}

#[test]
fn an_address_of_another_machine_is_an_error_with_its_reason() {
    // An address of the block for documentation (RFC 5737), which no machine has.
    let args = ["php-server", "-l", "192.0.2.1:8080", "-r", "/tmp"];
    let ended = ServerBuilder::command(args).run();
    ended.assert(
        2,
        "cannot listen on 192.0.2.1:8080: Cannot assign requested address",
    );
}

#[test]
fn errors_name_line_column_and_the_nearest_word() {
    for command in [["run", "-c"], ["validate", "-c"]] {
        let text = complaint(&command, ":8080 {\n\troot * /tmp\n\tphp_servr\n}\n");
        assert!(text.contains("Caddyfile:3:2"), "{text}");
        assert!(
            text.contains("php_servr") && text.contains("`php_server`"),
            "{text}"
        );
    }
    for (text, place, words) in [
        (
            "{\n\tgrace_period soon\n}\n:8080 {\n}\n",
            "Caddyfile:2:15",
            "soon",
        ),
        (
            ":8080 {\n\trespond {nonsense}\n}\n",
            "Caddyfile:2:10",
            "nonsense",
        ),
        (":8080 {\n\thandle {\n", "Caddyfile:", "}"),
        (":443 {\n}\n", "Caddyfile:1:1", "tls CERT KEY"),
        (
            "example.com {\n\ttls x\n}\n",
            "Caddyfile:2:6",
            "mail address",
        ),
        (
            "{\n\tfrankenphp {\n\t\tworker {\n\t\t\tfile x.php\n\t\t\tmatch /a\n\t\t}\n\t}\n}\n:8080 {\n}\n",
            "Caddyfile:5:4",
            "`php_server`",
        ),
    ] {
        let printed = complaint(&["validate", "-c"], text);
        assert!(
            printed.contains(place) && printed.contains(words),
            "{text:?}: {printed}"
        );
    }
}

#[test]
fn a_missing_file_is_reported() {
    ServerBuilder::command(["run", "-c", "/nowhere/Caddyfile"])
        .run()
        .assert(2, "/nowhere/Caddyfile");
}

#[test]
fn validate_accepts_what_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("Caddyfile");
    std::fs::write(&file, ":8080 {\n\troot * public\n\tphp_server\n}\n").expect("written");
    let ended = ServerBuilder::command(["validate", "-c"]).arg(&file).run();
    assert_eq!(ended.code, Some(0), "{}", ended.text());
}

#[test]
fn validate_looks_at_certificates() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("Caddyfile");
    let text = "{\n\tdefault_sni nosuch.test\n}\n\na.test {\n\ttls /nope/c.pem /nope/k.pem\n\trespond a\n}\n";
    std::fs::write(&file, text).expect("written");
    let ended = ServerBuilder::command(["validate", "-c"]).arg(&file).run();
    ended.assert(2, "cannot read /nope/c.pem");
    assert!(ended.text().contains("default_sni"), "{}", ended.text());
    let ended = ServerBuilder::command(["doctor", "-c"]).arg(&file).run();
    ended.assert(1, "cannot read /nope/c.pem");
}

#[test]
fn validate_reports_what_a_start_would_report() {
    let dir = tempfile::tempdir().expect("a directory");
    let shown = dir.path().display();
    for (text, expected) in [
        (
            "{\n\tfrankenphp {\n\t\tworker /nowhere/a.php\n\t\tworker /nowhere/b.php\n\t}\n}\n:8080 {\n}\n".to_owned(),
            &["worker script /nowhere/a.php: No such file", "worker script /nowhere/b.php: No such file"][..],
        ),
        (
            "{\n\tfrankenphp {\n\t\tuser howdah-no-user\n\t}\n}\n:8080 {\n}\n".to_owned(),
            &["user howdah-no-user: there is no such user"],
        ),
        (
            "{\n\tlog {\n\t\toutput file /etc/passwd/own.log\n\t}\n}\n:8080 {\n\tlog {\n\t\toutput file /etc/passwd/access.log\n\t}\n}\n".to_owned(),
            &["log /etc/passwd/own.log: Not a directory", "access log /etc/passwd/access.log: Not a directory"],
        ),
        (
            format!(":8080 {{\n\tlog {{\n\t\toutput file {shown}\n\t}}\n}}\n"),
            &["is a directory"],
        ),
        (
            ":8080 {\n\treverse_proxy https://localhost:1 {\n\t\ttransport http {\n\t\t\ttls_trust_pool file /nowhere/root.pem\n\t\t}\n\t}\n}\n".to_owned(),
            &["/nowhere/root.pem"],
        ),
        (
            ":8080 {\n\tmercure {\n\t\tpublisher_jwt {$HOWDAH_NO_SUCH_KEY}\n\t}\n}\n".to_owned(),
            &["publisher_jwt"],
        ),
    ] {
        for command in [["validate", "-c"], ["run", "-c"]] {
            let printed = complaint(&command, &text);
            // A start stops at the first error.
            let expected = if command[0] == "run" { &expected[..1] } else { expected };
            for words in expected {
                assert!(printed.to_lowercase().contains(&words.to_lowercase()), "{command:?} {text}: {printed}");
            }
        }
    }
    let file = dir.path().join("Caddyfile");
    let text = ":8080 {\n\tlog {\n\t\toutput file /etc/passwd/access.log\n\t}\n}\n";
    std::fs::write(&file, text).expect("written");
    let ended = ServerBuilder::command(["doctor", "-c"]).arg(&file).run();
    ended.assert(
        1,
        "access log /etc/passwd/access.log: user root may not write it: Not a directory",
    );
    let log = dir.path().join("access.log");
    let file = dir.path().join("Caddyfile");
    let text = format!(
        "{{\n\tadmin unix//nowhere/admin.sock\n}}\n:8080 {{\n\tbind unix//nowhere/site.sock\n\tlog {{\n\t\toutput file {}\n\t}}\n}}\n",
        log.display()
    );
    std::fs::write(&file, text).expect("written");
    let ended = ServerBuilder::command(["validate", "-c"]).arg(&file).run();
    ended.assert(0, "socket /nowhere/admin.sock");
    ended.assert(0, "socket /nowhere/site.sock");
    assert!(!log.exists(), "nothing is made");
}

#[test]
fn fmt_writes_the_usual_form() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("Caddyfile");
    std::fs::write(&file, ":8080 {\nroot   *   public\n      php_server\n}").expect("written");
    let formatted = ":8080 {\n\troot * public\n\tphp_server\n}\n";
    let ended = ServerBuilder::command(["fmt"]).arg(&file).run();
    assert_eq!(ended.text(), formatted);
    let ended = ServerBuilder::command(["fmt", "--overwrite"])
        .arg(&file)
        .run();
    assert_eq!(ended.code, Some(0), "{}", ended.text());
    assert_eq!(std::fs::read_to_string(&file).expect("readable"), formatted);
}

#[test]
fn the_environment_is_read() {
    let text = "http://:0 {\n bind 127.0.0.1\n respond \"{$HOWDAH_A} {$HOWDAH_B:default}\"\n}\n";
    let server = Server::caddyfile(text).env("HOWDAH_A", "set").start();
    server.get("/").assert(200, "set default");
}
