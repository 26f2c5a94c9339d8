//! The memory of a worker, in PHP's allocator and in the kernel's accounting, does not grow with
//! the number of its requests.
//!
//! `HOWDAH_REQUESTS` sets the number of requests of each kind (default 2500).

use howdah_testkit::{Request, Server, Www, process};
use howdah_tests::admin::worker_site;
use howdah_tests::traffic::many;

/// Number of requests after which all caches are filled.
const WARM_UP: usize = 1000;
/// Growth of PHP's allocator in bytes that is not a leak. A leak in each request would be larger.
const PHP_SLACK: usize = 1024;
/// The same for the process. Allocators cache a few freed pages at a time.
const PROCESS_SLACK: u64 = 256 << 10;

const SCRIPT: &str = r"<?php
set_exception_handler(static function (Throwable $error): void {
    http_response_code(500);
    echo 'handled ', $error->getMessage();
});
$used = 0;
$handler = static function () use (&$used): void {
    header('X-Memory: ' . $used);
    $n = $_GET['n'];
    switch ($_GET['kind']) {
        case 'hello':
            echo 'hello ', $n;
            break;
        case 'session':
            session_start();
            $_SESSION['n'] = $n;
            $_SESSION['list'] = array_fill(0, 50, $n);
            echo 'hello ', $n;
            break;
        case 'exit':
            register_shutdown_function(static function () use ($n): void { echo $n; });
            ob_start(static fn (string $text): string => $text);
            echo 'hello ';
            exit(1);
        case 'exception':
            throw new RuntimeException($n);
        case 'fiber':
            $fiber = new Fiber(static function () use ($n): void {
                echo 'hello ', Fiber::suspend();
                exit;
            });
            $fiber->start();
            $fiber->resume($n);
            break;
        case 'upload':
            $file = $_FILES['file'];
            echo file_get_contents($file['tmp_name']), ' ', $_POST['n'];
            clearstatcache(true); // PHP remembers the path of each, up to realpath_cache_size
            break;
        case 'body':
            echo 'hello ', json_decode(file_get_contents('php://input'))->n;
            break;
        case 'settings':
            ini_set('precision', '5');
            set_error_handler(static fn (): bool => true);
            spl_autoload_register(static function (string $class): void {});
            setlocale(LC_ALL, 'C.UTF-8');
            date_default_timezone_set('Europe/Paris');
            putenv('N=' . $n);
            mb_internal_encoding('ISO-8859-1');
            libxml_use_internal_errors(true);
            (new DOMDocument())->loadXML('<a>');
            stream_context_set_default(['http' => ['method' => 'HEAD']]);
            chdir('/');
            echo 'hello ', $n;
            break;
        case 'database':
            static $held = new PDO('sqlite::memory:');
            $held->exec('CREATE TABLE IF NOT EXISTS t (n)');
            $own = new PDO('sqlite::memory:');
            $held->beginTransaction();
            $held->prepare('INSERT INTO t VALUES (?)')->execute([$n]);
            echo 'hello ', $own->query('SELECT ' . (int) $n)->fetchColumn();
            break;
    }
};
while (frankenphp_handle_request($handler)) {
    gc_collect_cycles();
    $used = memory_get_usage();
}
";

/// Private memory of the process in bytes.
fn private(pid: u32) -> u64 {
    process::memory_kib(pid, "Private_") << 10
}

/// The only worker.
#[track_caller]
fn worker(server: &Server) -> u32 {
    let mut all = server.workers();
    all.retain(|process| process.command.contains("app worker"));
    all.first().expect("it is there").pid
}

#[track_caller]
fn is_flat(kind: &str, status: u16, says: &str, request: impl Fn(&str, usize) -> Request) {
    let www = Www::new().file("worker.php", SCRIPT);
    let text = worker_site(www.path(), "").replace("num 2", "num 1");
    let server = Server::caddyfile(text).start();
    server.allow_log("rolled back a transaction");
    let pid = worker(&server);
    let mut connection = server.connect();
    // Returns the bytes of PHP's allocator after the last request but one.
    let mut serve = |numbers: std::ops::Range<usize>| {
        let mut memory = 0;
        for n in numbers {
            let request = request(&format!("/worker.php?kind={kind}&n={n}"), n);
            let response = connection.exchange(&request).expect("a response");
            response.assert(status, &format!("{says} {n}"));
            let said = response.header("x-memory");
            memory = said
                .and_then(|said| said.parse::<usize>().ok())
                .expect("a number");
        }
        (memory, private(pid))
    };
    let (before, private_before) = serve(0..WARM_UP);
    let requests = many("HOWDAH_REQUESTS", 2500);
    let (after, private_after) = serve(WARM_UP..WARM_UP + requests);
    println!(
        "{kind}, {requests} requests: PHP {before} to {after} B, process {private_before} to {private_after} B"
    );
    assert_eq!(pid, worker(&server), "the process was replaced");
    assert!(after <= before + PHP_SLACK, "{before} to {after} B");
    assert!(
        private_after <= private_before + PROCESS_SLACK,
        "{private_before} to {private_after} B"
    );
}

fn get(target: &str, _: usize) -> Request {
    Request::get(target)
}

#[test]
fn plain_requests() {
    is_flat("hello", 200, "hello", get);
}

#[test]
fn sessions() {
    let with_cookie = |target: &str, n: usize| {
        Request::get(target).header("Cookie", format!("PHPSESSID=session{}", n % 10))
    };
    is_flat("session", 200, "hello", with_cookie);
}

#[test]
fn exits() {
    is_flat("exit", 200, "hello", get);
}

#[test]
fn exceptions() {
    is_flat("exception", 500, "handled", get);
}

#[test]
fn fibers() {
    is_flat("fiber", 200, "hello", get);
}

#[test]
fn uploads() {
    let upload = |target: &str, n: usize| {
        let part = "--X\r\nContent-Disposition: form-data; name=";
        let body = format!(
            "{part}\"n\"\r\n\r\n{n}\r\n{part}\"file\"; filename=\"a\"\r\n\r\nhello\r\n--X--\r\n"
        );
        Request::new("POST", target)
            .header("Content-Type", "multipart/form-data; boundary=X")
            .body(body)
    };
    is_flat("upload", 200, "hello", upload);
}

#[test]
fn bodies() {
    let body = |target: &str, n: usize| {
        Request::new("POST", target)
            .header("Content-Type", "application/json")
            .body(format!("{{\"n\":{n}}}"))
    };
    is_flat("body", 200, "hello", body);
}

#[test]
fn changed_settings() {
    is_flat("settings", 200, "hello", get);
}

#[test]
fn databases() {
    is_flat("database", 200, "hello", get);
}
