//! `howdah doctor --leaks`, which starts a separate server, and `--dsn`, which queries a database.

use howdah_testkit::{ExitReport, ServerBuilder, Www};
use howdah_tests::worker::scripts;
use serde_json::Value;

pub(crate) fn doctor(arguments: &[&str]) -> (ExitReport, Value) {
    let ended = ServerBuilder::command(["doctor", "--json"])
        .args(arguments)
        .run();
    let text = ended.text();
    let report = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (ended, report)
}

/// The findings of an area, as `LEVEL TEXT`.
pub(crate) fn findings(report: &Value, area: &str) -> Vec<String> {
    let findings = report["findings"].as_array().expect("findings").iter();
    let text = |finding: &Value| {
        let field = |name: &str| finding[name].as_str().expect("a text").to_owned();
        format!("{} {}", field("level"), field("text"))
    };
    findings
        .filter(|finding| finding["area"] == area)
        .map(text)
        .collect()
}

const LEAKS: &str = r#"<?php
final class Cart
{
    /** @var list<string> */
    public static array $items = [];
    public static string $greeting = 'nobody';
}
while (frankenphp_handle_request(static function () {
    header('X-Token: ' . bin2hex(random_bytes(8)));
    echo '<p>', microtime(true), "</p>\n";
    switch (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
        case '/add':
            Cart::$items[] = str_repeat('x', 8);
            break;
        case '/login':
            Cart::$greeting = 'Alice';
            break;
        case '/greet':
            echo 'Hello ', Cart::$greeting, "\n";
            Cart::$greeting = 'nobody';
            break;
    }
})) {
}
"#;

#[test]
fn leaks_and_responses_that_depend_on_others_are_errors() {
    let app = Www::new().file("worker.php", LEAKS);
    let script = app.path().join("worker.php");
    let script = script.to_str().expect("UTF-8");
    let (ended, report) = doctor(&["--worker", script, "--leaks", "/greet", "/login", "/add"]);
    assert_eq!(ended.code, Some(1), "{report:#}");
    let found = findings(&report, "leaks");
    let has = |text: &str| found.iter().any(|finding| finding.contains(text));
    assert!(
        has("error static property Cart::$items grows"),
        "{found:#?}"
    );
    assert!(
        has("error /greet depends on the requests that were served before: with `Hello Alice`")
            || has(
                "error /greet depends on the requests that were served before: without `Hello nobody`"
            ),
        "{found:#?}"
    );
    assert!(!has("/login depends"), "{found:#?}");
    let places = report["findings"].as_array().expect("findings").iter();
    let place = places
        .filter_map(|finding| finding["places"][0].as_str())
        .find(|place| place.ends_with("worker.php:5"));
    assert!(place.is_some(), "{report:#}");
}

/// The state that a shared service keeps has its class and property, whatever the way to the service.
#[test]
fn bugs_of_services_are_named_by_class_and_property() {
    let script = scripts().join("leaks/bugs.php");
    let script = script.to_str().expect("UTF-8");
    let pages = [
        "/query?user=alice",
        "/query?user=robert",
        "/mail?user=alice",
        "/mail?user=robert",
        "/nothing",
    ];
    let (ended, report) = doctor(&[&["--worker", script, "--leaks"], &pages[..]].concat());
    assert_eq!(ended.code, Some(1), "{report:#}");
    let found = findings(&report, "leaks");
    for leak in [
        r"error object property $GLOBALS['services']->queries (Bugs\Services::$queries) grows: ",
        r"error object property $GLOBALS['services']->from (Bugs\Services::$from) holds request data: ",
    ] {
        assert!(
            found.iter().any(|finding| finding.starts_with(leak)),
            "{found:#?}"
        );
    }
}

#[test]
fn a_clean_application_has_no_leaks() {
    let app = Www::new().file("worker.php", LEAKS);
    let script = app.path().join("worker.php");
    let script = script.to_str().expect("UTF-8");
    let (ended, report) = doctor(&["--worker", script, "--leaks", "/a?b=c", "http://shop.test/"]);
    assert_eq!(ended.code, Some(0), "{report:#}");
    let found = findings(&report, "leaks");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("19 requests of 2 pages"), "{found:#?}");
}

#[test]
fn a_value_that_the_first_request_sets_for_good_is_an_error() {
    let script = r#"<?php
final class Context
{
    public static ?string $user = null;
}
while (frankenphp_handle_request(static function () {
    Context::$user ??= 'user ' . ($_GET['id'] ?? 'none');
    echo parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH), ' of process ', getmypid(), "\n";
    echo 'Hello ', Context::$user, "\n";
})) {
}
"#;
    let app = Www::new().file("worker.php", script);
    let script = app.path().join("worker.php");
    let script = script.to_str().expect("UTF-8");
    let (ended, report) = doctor(&["--worker", script, "--leaks", "/a?id=1", "/b?id=2", "/c"]);
    assert_eq!(ended.code, Some(1), "{report:#}");
    let found = findings(&report, "leaks");
    let text = "depends on which page a new worker serves first: without `Hello user 1`";
    let expected: Vec<_> = ["/a?id=1", "/b?id=2", "/c"]
        .map(|page| format!("error {page} {text}"))
        .into();
    assert_eq!(found, expected);
}

#[test]
fn a_value_that_one_page_sets_and_another_shows_is_an_error() {
    let script = r#"<?php
final class Context
{
    public static ?string $user = null;
}
while (frankenphp_handle_request(static function () {
    if (isset($_GET['login'])) {
        Context::$user ??= 'Alice';
        echo 'logged in';
    } else {
        echo 'Hello ', Context::$user ?? 'visitor', "\n";
    }
})) {
}
"#;
    let app = Www::new().file("worker.php", script);
    let script = app.path().join("worker.php");
    let script = script.to_str().expect("UTF-8");
    let (ended, report) = doctor(&["--worker", script, "--leaks", "/home", "/?login"]);
    assert_eq!(ended.code, Some(1), "{report:#}");
    let found = findings(&report, "leaks");
    let text =
        "error /home depends on which page a new worker serves first: without `Hello visitor`";
    assert_eq!(found, [text]);
}

#[test]
fn a_script_that_does_not_boot_is_an_error_with_the_servers_message() {
    let app = Www::new().file("worker.php", "<?php throw new Exception('no database');");
    let script = app.path().join("worker.php");
    let script = script.to_str().expect("UTF-8");
    let (ended, report) = doctor(&["--worker", script, "--leaks", "/"]);
    assert_eq!(ended.code, Some(1), "{report:#}");
    let found = findings(&report, "leaks");
    let expected = format!(
        "error the server does not start: PHP Fatal error:  Uncaught Exception: no database in {script}:1"
    );
    assert_eq!(found, [expected]);
    let (ended, report) = doctor(&["--worker", script, "--leaks", "no-path"]);
    assert_eq!(ended.code, Some(1), "{report:#}");
    assert!(findings(&report, "leaks")[0].contains("no-path is not a path"));
    let advice = &report["findings"]
        .as_array()
        .expect("findings")
        .last()
        .expect("one")["advice"];
    assert_eq!(advice, "give paths that begin with /, or whole URLs");
}

/// Converts a variable that `tests/databases.sh` sets to a DSN of PDO.
fn dsn(driver: &str, variable: &str) -> Option<String> {
    let Ok(text) = std::env::var(variable) else {
        println!("skipped: {variable} is not set");
        return None;
    };
    Some(format!("{driver}:{}", text.replace(' ', ";")))
}

fn budget(dsn: &str, workers: usize) -> (Option<i32>, Vec<String>) {
    let app = Www::new().file("worker.php", "<?php frankenphp_handle_request(fn () => 0);");
    let script = app.path().join("worker.php");
    let text = format!(
        "{{\nadmin off\nfrankenphp {{\nnum_threads 1\nworker {{\nfile {}\nnum 1\nconcurrency {workers}\n}}\n}}\n}}\n\
         http://localhost:0 {{\nbind 127.0.0.1\nroot * {}\nphp_server\n}}\n",
        script.display(),
        app.path().display()
    );
    let file = app.write("Caddyfile", text);
    let file = file.to_str().expect("UTF-8").to_owned();
    let ended = ServerBuilder::command(["doctor", "--json", "--config"])
        .arg(&file)
        .args(["--dsn", "env:DOCTOR_TEST_DSN"])
        .env("DOCTOR_TEST_DSN", dsn)
        .run();
    let report: Value = serde_json::from_str(&ended.text()).expect("JSON");
    (ended.code, findings(&report, "database"))
}

#[test]
fn the_connections_of_php_are_compared_with_those_of_the_database() {
    for (driver, variable) in [
        ("mysql", "HOWDAH_TEST_MYSQL"),
        ("pgsql", "HOWDAH_TEST_PGSQL"),
    ] {
        let Some(dsn) = dsn(driver, variable) else {
            continue;
        };
        let (_, found) = budget(&dsn, 2);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(
            found[0].starts_with(&format!(
                "ok {driver}: 3 connections of PHP, 6 during a reload"
            )),
            "{found:#?}"
        );
        let (code, found) = budget(&dsn, 1000);
        assert_eq!(code, Some(1));
        assert!(
            found[0].starts_with(&format!("error {driver}: PHP may open 1001 connections")),
            "{found:#?}"
        );
    }
}

#[test]
fn an_unreachable_database_is_an_error_without_its_password() {
    for dsn in [
        "mysql:host=127.0.0.1;port=1;user=u;password=s3cret",
        "postgresql://u:s3cret@127.0.0.1:1/shop",
        "sqlite:/tmp/s3cret",
        // Without a driver, and with a space, after which libpq quotes the next word.
        "host=127.0.0.1;password=s3cret",
        "pgsql:host=127.0.0.1;port=1;password=a s3cret",
    ] {
        let (code, found) = budget(dsn, 2);
        assert_eq!(code, Some(1), "{found:#?}");
        assert!(found[0].starts_with("error "), "{found:#?}");
        assert!(!found[0].contains("s3cret"), "{found:#?}");
    }
}
