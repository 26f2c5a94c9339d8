//! `howdah` without a command, and `howdah dev`: serving an application during development.

use howdah_testkit::{PATIENCE, Request, Server, ServerBuilder, Www, process};
use howdah_tests::admin::Admin;

/// Two servers that look for a free port at the same time may find the same one, so only one test
/// does this.
const ANY_PORT: &[&str] = &["dev", "--listen", "127.0.0.1:0"];

/// Starts in a separate folder. Messages of the command are not log lines.
fn start(www: &Www, arguments: &[&str]) -> Server {
    let server = ServerBuilder::command(arguments)
        .current_dir(www.path())
        .start();
    server.allow_log("served for development");
    assert!(
        server.address().ip().is_loopback(),
        "errors are for this machine alone"
    );
    server
}

fn page(body: &str) -> String {
    format!("<?php echo '<html><body>{body}</body></html>';")
}

#[test]
fn an_application_is_served_without_a_file() {
    let www = Www::new().file("public/index.php", page("one"));
    let server = start(&www, &[]);
    server.wait_log("howdah init");
    let text = server.get("/any/path").text();
    assert!(text.contains("<body>one<script>new EventSource("), "{text}");
    www.write("public/index.php", page("two"));
    let changed = process::wait_until(PATIENCE, || server.get("/").text().contains("two"));
    assert!(changed, "the change never came");
    // The written file remains, because the port of the next server may differ.
    drop(server);
    let left = std::fs::read_dir(www.path()).expect("readable").count();
    assert_eq!(left, 1);
}

#[test]
fn errors_are_shown_in_the_browser() {
    let www = Www::new()
        .file("index.php", page("fine"))
        .file("broken.php", "<?php function {")
        .file(
            "thrown.php",
            "<?php throw new Exception('what went wrong');",
        );
    let server = start(&www, ANY_PORT);
    for (path, message) in [
        ("/broken.php", "syntax error"),
        ("/thrown.php", "what went wrong"),
    ] {
        server.expect_log(message);
        let response = server.get(path);
        // As PHP shows errors with `display_errors`.
        assert_eq!(response.status(), 200);
        assert!(response.text().contains(message), "{}", response.text());
        // The page reloads when the error is fixed.
        assert!(
            response.text().contains("EventSource"),
            "{}",
            response.text()
        );
    }
    server.get("/Caddyfile").assert_status(404);
}

#[test]
fn a_changed_file_reloads_the_page() {
    let www = Www::new().file("index.php", page("one"));
    let server = start(&www, ANY_PORT);
    let text = server.get("/").text();
    let (_, rest) = text
        .split_once("EventSource(\"")
        .expect("a page that listens");
    let (url, _) = rest.split_once('"').expect("a URL");
    let mut reader = server.connect();
    let request = Request::get(url.replace("\\/", "/")).header("Accept", "text/event-stream");
    reader.send(&request).expect("sent");
    assert_eq!(reader.begin("GET").expect("a head").status, 200);
    assert_eq!(
        reader.next_part().expect("alive").as_deref(),
        Some(&b":\n"[..])
    );
    www.write("style.css", "body { color: red }");
    let event = reader.next_part().expect("alive").expect("an event");
    let event = String::from_utf8_lossy(&event).into_owned();
    assert!(event.contains("style.css"), "{event}");
}

#[test]
fn only_pages_are_changed() {
    let www = Www::new()
        .file("index.php", page("one"))
        .file(
            "json.php",
            "<?php header('Content-Type: application/json'); echo '{}</body>';",
        )
        .file(
            "length.php",
            "<?php header('Content-Length: 4'); echo 'text';",
        )
        .file(
            "stream.php",
            "<?php header('Content-Type: text/event-stream'); echo 'a'; flush(); echo 'b';",
        )
        .file("empty.php", "<?php http_response_code(204);")
        .file("style.css", "body {}</body>");
    let server = start(&www, ANY_PORT);
    server.get("/json.php").assert(200, "{}</body>");
    server.get("/style.css").assert(200, "body {}</body>");
    assert_eq!(server.get("/stream.php").text(), "ab");
    server.get("/empty.php").assert_status(204);
    let text = server.get("/length.php").text();
    assert!(text.starts_with("text<script>"), "{text}");
    // A part of a page that a script fetches.
    let fetched = Request::get("/").header("Sec-Fetch-Dest", "empty");
    assert_eq!(
        server.send(&fetched).text(),
        "<html><body>one</body></html>"
    );
}

#[test]
fn a_caddyfile_is_used() {
    let www = Www::new().file("index.php", page("one")).file(
        "Caddyfile",
        "{\n\tadmin off\n}\nhttp://:0 {\n\tbind 127.0.0.1\n\trespond \"from the file\"\n}\n",
    );
    let server = start(&www, &[]);
    server.get("/").assert(200, "from the file");
    // As with `run --watch`.
    www.write(
        "Caddyfile",
        "{\n\tadmin off\n}\nhttp://:0 {\n\tbind 127.0.0.1\n\trespond \"changed\"\n}\n",
    );
    let changed = process::wait_until(PATIENCE, || server.get("/").text().contains("changed"));
    assert!(changed, "the change never came");
}

#[test]
fn without_an_application_it_prints_the_remedy() {
    let www = Www::new().file("README.md", "nothing to serve");
    let ended = ServerBuilder::command::<&str>([])
        .current_dir(www.path())
        .run();
    ended.assert(
        2,
        "serve files alone with `howdah php-server`, or see `howdah help`",
    );
}

#[test]
fn commands_reach_it_with_an_admin_address() {
    let www = Www::new().file("index.php", page("one"));
    let server = start(&www, ANY_PORT);
    let refused = server.log().containing("admin API");
    assert!(refused.is_empty(), "off by default: {refused:?}");
    drop(server);
    let server = start(&www, &[ANY_PORT, &["--admin", "localhost:0"]].concat());
    let admin = Admin::of(&server);
    server.get("/").assert_status(200);
    for (words, shown) in [
        (&["status"][..], "php: classic"),
        (&["status", "--requests"], "no requests\n"),
        (&["top", "--once"], "POOL  MODE     GEN  WORKERS"),
        (
            &["profile", "--seconds", "1", "--format", "folded", "-o", "-"],
            "1 s at 100 Hz: ",
        ),
        (&["reload"], "reloaded php: generation 2"),
    ] {
        admin.command(words).assert(0, shown);
    }
    server.get("/").assert_status(200);
}

#[test]
fn codeigniter_is_in_development_by_default() {
    let application = |environment: &str| {
        Www::new()
            .file("composer.json", r#"{"require": {"codeigniter4/framework": "^4.6"}}"#)
            .file(".env", environment)
            .file("public/index.php", "<?php header('Content-Type: text/plain'); echo $_SERVER['CI_ENVIRONMENT'] ?? 'unset';")
    };
    let www = application("# CI_ENVIRONMENT = production\n");
    assert_eq!(start(&www, ANY_PORT).get("/").text(), "development");
    let www = application("CI_ENVIRONMENT = testing\n");
    assert_eq!(start(&www, ANY_PORT).get("/").text(), "unset");
}
