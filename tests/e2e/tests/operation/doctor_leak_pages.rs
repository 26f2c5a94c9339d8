//! `howdah doctor --leaks`: pages that are not served, what is sent to them, what is taken over from the configuration,
//! and lines that differ by themselves.

use howdah_testkit::Www;
use serde_json::Value;

use crate::doctor_leaks::{doctor, findings};

/// The worker script of these lines, which handle a request.
fn app(handler: &str) -> Www {
    let script = format!(
        "<?php\nwhile (frankenphp_handle_request(static function () {{\n{handler}\n}})) {{\n}}\n"
    );
    Www::new().file("worker.php", script)
}

/// The findings of pages, and the exit code.
fn check(app: &Www, arguments: &[&str]) -> (Option<i32>, Vec<String>, Value) {
    let script = app.path().join("worker.php");
    let script = script.to_str().expect("UTF-8");
    let (ended, report) = doctor(&[&["--worker", script], arguments].concat());
    (ended.code, findings(&report, "leaks"), report)
}

/// The same with a configuration whose worker has these options.
fn check_configured(app: &Www, options: &str, pages: &[&str]) -> (Option<i32>, Vec<String>) {
    let text = format!(
        "{{\nadmin off\n}}\nhttp://localhost:0 {{\nbind 127.0.0.1\nroot * {root}\nphp_server {{\nworker {{\n\
         file {root}/worker.php\nnum 1\nmatch *\n{options}\n}}\n}}\n}}\n",
        root = app.path().display()
    );
    let file = app.write("Caddyfile", text);
    let file = file.to_str().expect("UTF-8");
    let (ended, report) = doctor(&[&["--config", file, "--leaks"], pages].concat());
    (ended.code, findings(&report, "leaks"))
}

#[test]
fn a_page_that_is_not_served_is_an_error() {
    let app = app(r"
    switch (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
        case '/cart':
            header('Location: /login', true, 302);
            break;
        case '/broken':
            http_response_code(500);
            break;
        case '/':
            echo 'home';
            break;
        default:
            http_response_code(404);
    }");
    for (page, text) in [
        ("/cart", "has status 302: it redirects to /login"),
        ("/broken", "has status 500: the application fails"),
        ("/typo", "has status 404: the page does not exist"),
    ] {
        let (code, found, report) = check(&app, &["--leaks", "/", page]);
        assert_eq!(code, Some(1), "{report:#}");
        assert_eq!(found, [format!("error {page} {text}")]);
    }
}

#[test]
fn a_page_that_fails_at_times_is_a_warning() {
    let app = app(r"
    $file = __DIR__ . '/first';
    if (!file_exists($file)) {
        touch($file);
        http_response_code(503);
    }");
    std::fs::set_permissions(
        app.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .expect("set");
    let (code, found, report) = check(&app, &["--leaks", "/"]);
    assert_eq!(code, Some(0), "{report:#}");
    let text = "warning / has status 503 in 1 of 5 responses: the application fails";
    assert_eq!(found, [text]);
}

#[test]
fn php_sees_the_https_of_a_url() {
    let app = app(r"
    if (($_SERVER['HTTPS'] ?? '') !== 'on') {
        header('Location: https://' . $_SERVER['HTTP_HOST'] . $_SERVER['REQUEST_URI'], true, 301);
        return;
    }
    if ($_SERVER['REQUEST_SCHEME'] !== 'https' || $_SERVER['SERVER_PORT'] !== '443') {
        http_response_code(500);
    }");
    let (code, found, report) = check(&app, &["--leaks", "https://shop.test/cart"]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains(": 6 requests of one page"), "{found:#?}");
    let (code, found, _) = check(&app, &["--leaks", "http://shop.test/cart"]);
    assert_eq!(code, Some(1));
    let text = "has status 301: it redirects to https://shop.test/cart";
    assert_eq!(found, [format!("error http://shop.test/cart {text}")]);
}

#[test]
fn urls_that_cannot_be_requested_are_errors() {
    let app = app("");
    for (url, text) in [
        (
            "ftp://shop.test/ok",
            "ftp://shop.test/ok has neither http:// nor https://",
        ),
        (
            "http://user:pw@shop.test/ok",
            "http://shop.test/ok has a user name or a password",
        ),
    ] {
        let (code, found, report) = check(&app, &["--leaks", url]);
        assert_eq!(code, Some(1), "{report:#}");
        assert_eq!(found, [format!("error {text}")]);
    }
}

#[test]
fn header_fields_are_sent_and_not_shown() {
    let app = app(r"
    if (($_COOKIE['session'] ?? '') !== 's3cret-session' || $_SERVER['HTTP_X_ROLE'] !== 'admin') {
        http_response_code(403);
        return;
    }
    $GLOBALS['count'] = 1 + ($GLOBALS['count'] ?? 0);
    echo $_COOKIE['session'], ' ', intdiv($GLOBALS['count'], 5);");
    let cookie = "Cookie: session=s3cret-session";
    let (code, found, report) = check(
        &app,
        &[
            "--leaks",
            "/",
            "--header",
            cookie,
            "--header",
            "X-Role: admin",
        ],
    );
    assert_eq!(code, Some(1), "{report:#}");
    assert!(
        found.iter().any(|finding| finding
            == "error / depends on the requests that were served before: without `(hidden) 0`"),
        "{found:#?}"
    );
    assert!(!report.to_string().contains("s3cret"), "{report:#}");
    let (code, found, _) = check(&app, &["--leaks", "/"]);
    assert_eq!(code, Some(1));
    assert_eq!(found, ["error / has status 403: it refuses the request"]);
}

#[test]
fn allowed_leaks_of_the_configuration_are_none() {
    let app = Www::new().file(
        "worker.php",
        r"<?php
final class Cache
{
    /** @var list<string> */
    public static array $lines = [];
}
while (frankenphp_handle_request(static function () {
    Cache::$lines[] = 'one more line';
})) {
}
",
    );
    let (code, found) = check_configured(&app, "", &["/"]);
    assert_eq!(code, Some(1));
    assert!(
        found[0].contains("static property Cache::$lines grows"),
        "{found:#?}"
    );
    let allow = "detect_leaks sample 500 {\nallow Cache::$*\n}";
    let (code, found) = check_configured(&app, allow, &["/"]);
    assert_eq!(code, Some(0), "{found:#?}");
}

#[test]
fn state_that_the_configuration_keeps_can_leak() {
    let app = app("putenv('LAST_USER=' . bin2hex(random_bytes(4)));");
    let (code, found) = check_configured(&app, "", &["/"]);
    assert_eq!(code, Some(0), "{found:#?}");
    let (code, found) = check_configured(&app, "keep all", &["/"]);
    assert_eq!(code, Some(1), "{found:#?}");
    assert!(
        found[0].contains("environment variable") && found[0].contains("LAST_USER"),
        "{found:#?}"
    );
}

#[test]
fn variables_and_settings_of_the_worker_are_taken_over() {
    let app = app(r"
    if (getenv('TOKEN') !== 'a {b} `c` $d' || ini_get('precision') !== '9' || $_SERVER['DOCUMENT_ROOT'] !== __DIR__) {
        http_response_code(500);
    }");
    let options = "env TOKEN \"a \\{b\\} `c` $d\"\nphp_ini precision 9";
    let (code, found) = check_configured(&app, options, &["/"]);
    assert_eq!(code, Some(0), "{found:#?}");
}

/// Each run of the check has a different chance to see them.
#[test]
fn lines_that_come_and_go_by_themselves_are_not_reported() {
    let app = app(r"
    $quotes = ['<p>one</p>', '<p>two</p>', '<p>three</p>'];
    echo $quotes[array_rand($quotes)], PHP_EOL, hrtime(true) >> 26;");
    for _ in 0..4 {
        let (code, found, report) = check(&app, &["--leaks", "/a", "/b"]);
        assert_eq!(code, Some(0), "{report:#}");
        assert!(found[0].starts_with("ok "), "{found:#?}");
    }
}

/// The number of visits of each page, and the last pages, in a file.
#[test]
fn data_outside_of_the_worker_is_not_blamed_on_it() {
    let app = app(r"
    $file = fopen(__DIR__ . '/visits.json', 'c+');
    $visits = json_decode(stream_get_contents($file) ?: '[]', true);
    $visits['count'][$_SERVER['REQUEST_URI']] = 1 + ($visits['count'][$_SERVER['REQUEST_URI']] ?? 0);
    arsort($visits['count']);
    foreach ($visits['count'] as $page => $count) {
        echo $page, ': ', $count, PHP_EOL;
    }
    echo 'last: ', $visits['last'] ?? 'none', PHP_EOL;
    $visits['last'] = $_SERVER['REQUEST_URI'];
    ftruncate($file, 0);
    rewind($file);
    fwrite($file, json_encode($visits));");
    std::fs::set_permissions(
        app.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .expect("set");
    let (code, found, report) = check(&app, &["--leaks", "/a", "/b", "/c"]);
    assert_eq!(code, Some(0), "{report:#}");
    assert!(found[0].starts_with("ok "), "{found:#?}");
}
