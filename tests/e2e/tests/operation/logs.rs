//! Log output of scripts, and the access log.

use std::path::Path;

use howdah_testkit::log::LogLine;
use howdah_testkit::{PATIENCE, Request, Server, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::{caddyfile, encode, small_disk, www};
use serde_json::Value;

fn server() -> Server {
    Server::builder(www())
        .workers(2)
        .ini("log_errors", "1")
        .ini("display_errors", "0")
        .start()
}

fn assert_belongs_to(line: &LogLine, request: &str) {
    assert_eq!(line.text("request_id"), Some(request), "{}", line.raw);
    assert!(line.number("pid").is_some(), "{}", line.raw);
    assert!(line.fields.get("pool").is_some(), "{}", line.raw);
    assert!(line.fields.get("worker").is_some(), "{}", line.raw);
}

#[test]
fn lines_carry_the_request_they_belong_to() {
    let server = server();
    for (how, text) in [
        ("error_log", "error_log"),
        ("sapi", "sapi"),
        ("stderr", "stderr"),
        ("warning", "PHP Warning:  warning"),
    ] {
        let mark = format!("mark-of-{how}");
        let request = server
            .get(&format!("/log.php?how={how}&mark={mark}"))
            .text();
        assert_eq!(request.len(), 16, "{request}");
        assert!(request.bytes().all(|b| b.is_ascii_hexdigit()), "{request}");
        let line = server.wait_log(&mark);
        assert!(line.message().contains(text), "{}", line.raw);
        assert_belongs_to(&line, &request);
    }
}

#[test]
fn output_before_a_log_record_belongs_to_the_same_request() {
    let server = server();
    for _ in 0..50 {
        let request = server.get("/log.php?how=both&mark=x").text();
        assert_belongs_to(&server.wait_log(&format!("raw of {request}")), &request);
    }
}

#[test]
fn lines_of_any_kind_stay_json() {
    let server = server();
    server
        .get("/log.php?how=binary&mark=odd")
        .assert_status(200);
    let line = server.wait_log("binary odd");
    assert!(line.level().is_some(), "{}", line.raw);
    assert!(line.message().contains("\"quoted\""), "{}", line.raw);
    server.get("/log.php?how=lines&mark=two").assert_status(200);
    server.wait_log("first two");
    let second = server.wait_log("second two");
    assert!(second.level().is_some(), "{}", second.raw);
    server.get("/log.php?how=long&mark=long").assert_status(200);
    let begin = server.wait_log("begin long");
    assert!(begin.level().is_some(), "{}", &begin.raw[..200]);
    // The whole text is logged, in one line or several.
    let end = server.wait_line("the end of the long line", |line| {
        line.raw.contains("end long") || line.raw.contains("xxxx")
    });
    assert!(end.level().is_some());
    server.allow_log("xxxxxxxx");
}

/// A log record with which a worker requests a reload, encoded as a client would send it.
const RELOAD: &str = "%1es000000000000000000000006reload";

#[test]
fn no_text_of_a_client_is_a_command_to_the_front() {
    let server = server();
    for (how, text) in [
        ("post", format!("{}{RELOAD}", "x".repeat(70_000))),
        ("post", RELOAD.to_owned()),
        ("raw", format!("%0a{RELOAD}%0a")),
    ] {
        let request = Request::new("POST", format!("/log.php?how={how}&mark=forged"))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(format!("text={text}"));
        server.send(&request).assert_status(200);
        server
            .get("/log.php?how=error_log&mark=after")
            .assert_status(200);
        let line = server.wait_line("the text of the client", |line| {
            line.text("request_id").is_some() && line.raw.contains("000006reload")
        });
        assert_eq!(line.level(), Some("info"), "{}", line.raw);
    }
    server.allow_log("reload");
    let reloads = server.log().containing("reloading");
    assert!(reloads.is_empty(), "{reloads:?}");
}

#[test]
fn lines_of_concurrent_requests_do_not_mix() {
    let server = server();
    server.expect_log("error_log c");
    let requests = howdah_testkit::load::at_once(100, |client| {
        let response = server.get(&format!("/log.php?how=error_log&mark=c{client}c"));
        response.assert_status(200);
        response.text()
    });
    for (client, request) in requests.iter().enumerate() {
        let line = server.wait_log(&format!("error_log c{client}c"));
        assert_belongs_to(&line, request);
    }
}

#[test]
fn the_access_log_tells_each_request() {
    let server = Server::builder(www())
        .workers(2)
        .arg("--access-log")
        .start();
    let mut connection = server.connect();
    let client = connection.local_addr().expect("it is connected");
    let request = Request::get("/id.php?id=access").header("User-Agent", "test/1");
    connection
        .exchange(&request)
        .expect("a response")
        .assert(200, "[access][access]");
    let line = server.wait_log("/id.php?id=access");
    assert_eq!(line.level(), Some("info"), "{}", line.raw);
    let shown = request_of(&line).expect("a request");
    assert_eq!(shown["method"], "GET", "{}", line.raw);
    assert_eq!(shown["uri"], "/id.php?id=access", "{}", line.raw);
    assert_eq!(line.number("status"), Some(200), "{}", line.raw);
    assert_eq!(
        line.text("request_id").map(str::len),
        Some(16),
        "{}",
        line.raw
    );
    for text in ["test/1", &client.ip().to_string()] {
        assert!(line.raw.contains(text), "no {text} in {}", line.raw);
    }
    let request = Request::new("DELETE", "/static.txt");
    server.send(&request).assert_status(405);
    let refused = server.wait_line("the access log", |line| {
        request_of(line).is_some_and(|request| request["method"] == "DELETE")
    });
    assert_eq!(refused.number("status"), Some(405), "{}", refused.raw);
}

#[test]
fn the_access_log_is_off_by_default() {
    let server = server();
    server.get("/id.php?id=unlogged").assert_status(200);
    server
        .send(&Request::get("/log.php?how=error_log&mark=behind"))
        .assert_status(200);
    server.wait_log("behind");
    assert!(server.log().containing("unlogged").is_empty());
}

#[test]
fn a_request_has_one_id_everywhere() {
    let server = Server::builder(www())
        .workers(1)
        .arg("--access-log")
        .start();
    let request = server.get("/log.php?how=sapi&mark=one-id").text();
    let access = server.wait_line("the access log", |line| request_of(line).is_some());
    assert_eq!(access.text("request_id"), Some(request.as_str()));
    assert_eq!(
        server.wait_log("sapi one-id").text("request_id"),
        Some(request.as_str())
    );
}

/// The request object of an access log line.
fn request_of(line: &LogLine) -> Option<Value> {
    let shown: Value = serde_json::from_str(&line.raw).ok()?;
    (shown["logger"] == "http.log.access").then(|| shown["request"].clone())
}

/// Waits until the file has this number of lines.
fn lines_of(file: &Path, count: usize) -> Vec<Value> {
    let read = || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<Vec<Value>, _>>().unwrap_or_default()
    };
    assert!(
        process::wait_until(PATIENCE, || read().len() == count),
        "{:?}",
        read()
    );
    read()
}

#[test]
fn an_access_log_in_a_file_keeps_secrets() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("access.log");
    let log = format!(
        "log {{\noutput file {}\nformat filter {{\nwrap json\nrequest>uri query {{\nreplace token X\n}}\n\
         request>remote_ip ip_mask 8 16\n}}\n}}\nlog_append kind {{method}}\nroot * {}\nphp_server",
        file.display(),
        www().display()
    );
    let server = Server::caddyfile(caddyfile("", &log)).start();
    let request = Request::get("/hello.php?token=secret&a=b")
        .header("Cookie", "id=secret")
        .header("Authorization", "Bearer secret");
    server.send(&request).assert(200, "hello");
    let line = lines_of(&file, 1).remove(0);
    assert!(!line.to_string().contains("secret"), "{line}");
    assert_eq!(line["request"]["uri"], "/hello.php?token=X&a=b");
    assert_eq!(line["request"]["remote_ip"], "127.0.0.0");
    assert_eq!(line["request"]["headers"]["Cookie"][0], "REDACTED");
    assert_eq!(line["kind"], "GET");
    assert!(line["resp_headers"]["Content-Type"].is_array(), "{line}");
    server.stop();
}

#[test]
fn a_full_disk_loses_lines_and_no_request() {
    let log = format!(
        "log {{\noutput file /dev/full {{\nroll_disabled\n}}\n}}\nroot * {}\nphp_server",
        www().display()
    );
    let server = Server::caddyfile(caddyfile(ON, &log)).start();
    for _ in 0..20 {
        server.get("/hello.php").assert(200, "hello");
    }
    server.wait_log("lines of an access log were dropped: No space left on device");
    let admin = Admin::of(&server);
    let counted = || {
        admin
            .get("/metrics")
            .text()
            .contains("howdah_log_lines_lost_total 20\n")
    };
    assert!(process::wait_until(PATIENCE, counted));
}

/// The script fills the disk and makes room again.
#[test]
fn logs_continue_when_a_full_disk_has_room_again() {
    let Some(disk) = small_disk() else { return };
    let script = "<?php
        $filler = sys_get_temp_dir() . '/filler';
        match ($_GET['do'] ?? '') {
            'fill' => @file_put_contents($filler, str_repeat('x', 2 << 20)),
            'clear' => unlink($filler),
            'copy' => copy(sys_get_temp_dir() . $_GET['from'], $_GET['to']),
            'log' => error_log(str_repeat('x', 2000)),
            default => null,
        };
        echo 'served';";
    let www = Www::new().file("index.php", script);
    let text = |output: &str, folder: &str| {
        let root = www.path().display();
        let site =
            format!("log {{\noutput file {folder}/access.log\n}}\nroot * {root}\nphp_server");
        caddyfile(&format!("{ON}\nlog {{\noutput {output}\n}}"), &site)
    };
    let server = Server::caddyfile(text("stderr", "{tmp}"))
        .through(disk)
        .keeps_files()
        .start();
    let folder = server.temp_dir().display().to_string();
    let file = server.temp_dir().with_file_name("Caddyfile");
    let own = format!("file {folder}/own.log");
    std::fs::write(file, text(&own, &folder)).expect("written");
    Admin::of(&server).post("/reload").assert_status(200);
    let send = |query: &str| server.get(&format!("/?{query}")).assert(200, "served");
    let copied = |name: &str| {
        let to = www.path().join("copy");
        send(&format!("do=copy&from=/{name}&to={}", encode(&to)));
        std::fs::read_to_string(to).unwrap_or_default()
    };
    let until = |name: &str, text: &str| {
        let written = || copied(name).contains(text);
        assert!(process::wait_until(PATIENCE, written), "{}", copied(name));
    };
    send("do=fill");
    let full = "own.log cannot be written: No space left on device";
    server.expect_log(full);
    server.allow_log("lines of an access log were dropped: No space left on device");
    // The files still have the rest of a page.
    let is_full = |text: &str| {
        send(&format!("do=log&pad={}", "x".repeat(2000)));
        !server.log().containing(text).is_empty()
    };
    assert!(process::wait_until(PATIENCE, || is_full(full)));
    let dropped = "lines of an access log were dropped";
    assert!(process::wait_until(PATIENCE, || is_full(dropped)));
    assert_eq!(server.log().containing(full).len(), 1);

    send("do=clear");
    until("access.log", "do=clear");
    until("own.log", "went to standard error, because");
    until("own.log", "an access log is written again");
    for name in ["access.log", "own.log"] {
        let text = copied(name);
        let torn = text
            .lines()
            .filter(|line| serde_json::from_str::<Value>(line).is_err());
        assert!(torn.count() <= 1, "{text}");
    }
}

#[test]
fn an_access_log_that_cannot_be_opened_ends_the_start() {
    let text = caddyfile(
        "",
        "log {\noutput file /proc/nowhere/access.log\n}\nrespond OK",
    );
    let ended = Server::caddyfile(text)
        .try_start()
        .expect_err("no folder can be created there");
    ended.assert(
        2,
        "access log /proc/nowhere/access.log: folder /proc/nowhere cannot be created: No such file or directory",
    );
}

/// Caddyfile of a server that writes its log to `output`.
fn logging_to(output: &str) -> String {
    let global = format!("{ON}\nlog {{\noutput {output}\n}}");
    caddyfile(&global, &format!("root * {}\nphp_server", www().display()))
}

/// Changes the output of the server's log.
fn log_to(server: &Server, output: &str) -> howdah_testkit::Response {
    let file = server.temp_dir().with_file_name("Caddyfile");
    std::fs::write(file, logging_to(output)).expect("written");
    Admin::of(server).post("/reload")
}

#[test]
fn the_servers_own_log_goes_to_standard_output() {
    let quiet = ["sh", "-c", "\"$0\" \"$@\" 2>/dev/null; exit $?"];
    let server = Server::caddyfile(logging_to("stdout"))
        .through(quiet)
        .start();
    server
        .get("/log.php?how=error_log&mark=one")
        .assert_status(200);
    server.wait_log("error_log one");
}

#[test]
fn the_servers_own_log_goes_to_a_file_after_a_reload() {
    let server = Server::caddyfile(logging_to("stderr")).start();
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("own.log");
    log_to(&server, &format!("file {}", file.display())).assert_status(200);
    server
        .get("/log.php?how=error_log&mark=two")
        .assert_status(200);
    let logged = || std::fs::read_to_string(&file).unwrap_or_default();
    assert!(process::wait_until(PATIENCE, || logged().contains("error_log two")));
    for line in logged().lines() {
        serde_json::from_str::<Value>(line).expect("a line of JSON");
    }
    assert!(server.log().containing("error_log two").is_empty());

    let refused = log_to(&server, "file /etc/passwd/own.log");
    refused.assert_status(400);
    let error = refused.text();
    assert!(
        error.contains("log /etc/passwd/own.log: Not a directory"),
        "{error}"
    );
    assert!(logged().contains("the configuration was not reloaded"));

    // Lines that the file rejects are not lost.
    server.expect_log("the log /dev/full cannot be written: No space left on device");
    let full = "file /dev/full {\nroll_disabled\n}";
    log_to(&server, full).assert_status(200);
    server
        .get("/log.php?how=error_log&mark=three")
        .assert_status(200);
    server.wait_log("error_log three");
}

#[test]
fn global_logs_have_the_loggers_that_they_include() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str| dir.path().join(name);
    let output = |name: &str| format!("output file {}", file(name).display());
    let global = format!(
        "{ON}\nlog shop {{\n{}\ninclude http.log.access.shop\n}}\nlog all {{\n{}\n}}\n\
         log php {{\n{}\ninclude howdah.php\n}}",
        output("shop"),
        output("all"),
        output("php"),
    );
    let site = format!("log shop\nroot * {}\nphp_server", www().display());
    let server = Server::caddyfile(caddyfile(&global, &site)).start();
    server
        .get("/log.php?how=error_log&mark=named")
        .assert_status(200);
    let texts = |name: &str, key: &str| {
        let text = std::fs::read_to_string(file(name)).unwrap_or_default();
        let lines = text.lines().map(serde_json::from_str);
        let lines = lines.collect::<Result<Vec<Value>, _>>();
        let texts = lines.unwrap_or_default().into_iter().filter_map(|line| {
            let text = line[key].as_str();
            text.map(str::to_owned)
        });
        texts.collect::<Vec<_>>()
    };
    let shop = "http.log.access.shop".to_owned();
    let is_logged = || {
        texts("shop", "logger") == [shop.clone()]
            && texts("all", "logger").contains(&shop)
            && texts("all", "msg").contains(&"error_log named".to_owned())
            && texts("php", "msg").contains(&"error_log named".to_owned())
    };
    assert!(
        process::wait_until(PATIENCE, is_logged),
        "{:?} {:?} {:?}",
        texts("shop", "logger"),
        texts("all", "msg"),
        texts("php", "msg"),
    );
    let others = texts("php", "logger");
    assert!(
        others.iter().all(|name| name == "howdah::php"),
        "{others:?}"
    );
    assert!(texts("all", "logger").contains(&"howdah".to_owned()));
    // The default log has neither.
    let log = server.log();
    assert!(log.containing("error_log named").is_empty());
    assert!(log.containing("http.log.access").is_empty());
}

#[test]
fn requests_in_the_servers_own_log_survive_its_rotation() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("own.log");
    let config = |output: &str| {
        let global = format!("{ON}\nlog {{\noutput {output}\n}}");
        let site = format!("log\nroot * {}\nphp_server", www().display());
        caddyfile(&global, &site)
    };
    let server = Server::caddyfile(config("stderr")).start();
    let own = server.temp_dir().with_file_name("Caddyfile");
    let options = "{\nroll_size 4KiB\nroll_uncompressed\nroll_keep 1000\n}";
    let output = format!("file {} {options}", file.display());
    std::fs::write(own, config(&output)).expect("written");
    Admin::of(&server).post("/reload").assert_status(200);
    for number in 0..60 {
        let path = format!("/log.php?how=error_log&mark=number_{number}");
        server.get(&path).assert_status(200);
    }
    let count = |text: &str| -> usize {
        let files = std::fs::read_dir(dir.path()).expect("a directory");
        let texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
        let lines = |all: String| all.lines().filter(|line| line.contains(text)).count();
        texts.map(lines).sum()
    };
    let is_complete = || count("\"http.log.access\"") == 60 && count("error_log number_") == 60;
    assert!(
        process::wait_until(PATIENCE, is_complete),
        "{} {}",
        count("\"http.log.access\""),
        count("error_log number_")
    );
    assert!(std::fs::read_dir(dir.path()).expect("a directory").count() > 3);
    server.stop();
}

#[test]
fn old_files_of_the_servers_own_log_that_stay_do_not_stop_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("own.log");
    // It has the name of an old log file and cannot be compressed.
    let stays = dir.path().join("own-2006-01-02T15-04-05.000.log");
    std::fs::create_dir(stays).expect("made");
    let server = Server::caddyfile(logging_to("stderr")).start();
    let output = format!("file {} {{\nroll_size 4KiB\n}}", file.display());
    log_to(&server, &output).assert_status(200);
    let warning = "cannot be removed";
    server.allow_log(warning);
    let rolled = || {
        server
            .get("/log.php?how=error_log&mark=some_text_that_fills_the_file")
            .assert_status(200);
        !server.log().containing(warning).is_empty()
    };
    assert!(process::wait_until(PATIENCE, rolled));
    log_to(&server, "stderr").assert_status(200);
    server
        .get("/log.php?how=error_log&mark=five")
        .assert_status(200);
    server.wait_log("error_log five");
}

#[test]
fn the_client_address_comes_from_a_trusted_proxy() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("access.log");
    let log = format!("log {{\noutput file {}\n}}\nrespond OK", file.display());
    let global = "servers {\ntrusted_proxies static 127.0.0.0/8\n}";
    let server = Server::caddyfile(caddyfile(global, &log)).start();
    server.send(&Request::get("/").header("X-Forwarded-For", "192.0.2.7"));
    let line = lines_of(&file, 1).remove(0);
    assert_eq!(line["request"]["remote_ip"], "127.0.0.1");
    assert_eq!(line["request"]["client_ip"], "192.0.2.7");
}
