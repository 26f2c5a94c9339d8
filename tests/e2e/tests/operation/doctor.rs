//! `howdah doctor`: problems that it finds before a server starts, and whether an application is
//! safe with `concurrency`.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use howdah_testkit::{ExitReport, Server, ServerBuilder, Www};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::caddyfile;
use serde_json::Value;

/// Runs the command for an application on a free port and returns its exit code and report.
fn doctor(app: &Www, lines: &str, arguments: &[&str]) -> (ExitReport, Value) {
    let root = app.path().join("public");
    let root = root.display();
    let text = format!(
        "{{\nadmin off\nfrankenphp {{\n{lines}\n}}\n}}\nhttp://localhost:0 {{\nbind 127.0.0.1\nroot * {root}\nphp_server\n}}\n"
    );
    let file = app.write("Caddyfile", text);
    let ended = ServerBuilder::command(["doctor", "--json", "--config"])
        .arg(&file)
        .args(arguments)
        .run();
    let report = report(&ended);
    (ended, report)
}

fn report(ended: &ExitReport) -> Value {
    serde_json::from_str(&ended.text()).unwrap_or_else(|error| panic!("{error}: {}", ended.text()))
}

/// Finds the finding with this text.
#[track_caller]
fn finding<'a>(report: &'a Value, text: &str) -> &'a Value {
    let mut findings = report["findings"].as_array().expect("findings").iter();
    findings
        .find(|finding| finding["text"].as_str().is_some_and(|t| t.contains(text)))
        .unwrap_or_else(|| panic!("nothing about {text:?} in {report:#}"))
}

#[track_caller]
fn assert_places(report: &Value, text: &str, level: &str, places: &[&str]) {
    let finding = finding(report, text);
    assert_eq!(finding["level"], level, "{finding}");
    assert_eq!(finding["places"], serde_json::json!(places), "{finding}");
    assert!(finding["advice"].as_str().is_some_and(|a| !a.is_empty()));
}

#[track_caller]
fn assert_code(ended: &ExitReport, code: i32) {
    assert_eq!(ended.code, Some(code), "{}", ended.text());
}

const LOOP: &str = "<?php\nwhile (frankenphp_handle_request(function () { echo 'ok'; })) {}\n";

fn worker(app: &Www, script: &str) -> String {
    let file = app.write("public/worker.php", script);
    format!(
        "worker {{\nfile {}\nnum 1\nconcurrency 50\n}}",
        file.display()
    )
}

#[test]
fn an_application_in_order_has_no_errors() {
    let app = Www::new().file("public/index.php", "<?php echo 1;");
    let (ended, report) = doctor(&app, "", &[]);
    assert_code(&ended, 0);
    assert_eq!(finding(&report, "is valid")["level"], "ok");
    for text in ["PHP 8.", "document root", "127.0.0.1:0 is free", "kernel"] {
        assert_eq!(finding(&report, text)["level"], "ok", "{text}");
    }
    // The check was not requested, and no worker needs it.
    assert_eq!(report.get("coroutines"), None);
}

#[test]
fn the_effect_of_opcache_and_jit_is_measured() {
    let app = Www::new().file("public/index.php", "<?php echo 1;");
    // A preload script is code of the application.
    let preload = app.write("preload.php", "<?php touch(__DIR__ . '/preloaded');");
    let lines = format!("php_ini opcache.preload {}", preload.display());
    let (ended, report) = doctor(&app, &lines, &[]);
    assert_code(&ended, 0);
    for (text, of_jit) in [("OPcache ", false), ("JIT ", true)] {
        let measured = finding(&report, &format!("{text}measured"));
        assert_eq!(measured["level"], "ok", "{measured}");
        let text = measured["text"].as_str().expect("a text");
        let ratios = text.matches(" times as fast)").count();
        assert_eq!(ratios, 1 + usize::from(of_jit), "{text}");
        assert!(text.contains("40 files load in "), "{text}");
    }
    assert!(!app.path().join("preloaded").exists());
    // Without the extension there is nothing to measure.
    let none = app.write("ini/php.ini", "");
    let ended = ServerBuilder::command(["doctor", "--json", "--root"])
        .arg(app.path().join("public"))
        .env("PHPRC", none.parent().expect("a folder"))
        .env("PHP_INI_SCAN_DIR", none.parent().expect("a folder"))
        .run();
    let report = self::report(&ended);
    finding(&report, "OPcache was not measured: ");
    finding(&report, "JIT was not measured: ");
}

#[test]
fn settings_with_which_php_does_not_start_are_errors() {
    let app = Www::new().file("public/index.php", "<?php echo 1;");
    for (setting, text) in [
        (
            "opcache.memory_consumption 8",
            "PHP does not start with OPcache",
        ),
        ("opcache.file_cache_only 1", "opcache.file_cache"),
        (
            "opcache.preload /nowhere/a.php",
            "opcache.preload: /nowhere/a.php",
        ),
        (
            "auto_prepend_file /nowhere/a.php",
            "auto_prepend_file: /nowhere/a.php",
        ),
        (
            "open_basedir /nowhere:/nothing",
            "open_basedir: /nowhere:/nothing",
        ),
    ] {
        let (ended, report) = doctor(&app, &format!("php_ini {setting}"), &[]);
        assert_code(&ended, 1);
        assert_eq!(finding(&report, text)["level"], "error", "{setting}");
    }
}

#[test]
fn faults_of_the_installation_are_errors_with_advice() {
    let app = Www::new();
    let (ended, report) = doctor(
        &app,
        "worker {\nfile /nowhere/worker.php\n}\nphp_ini date.timezone Vienna\nphp_ini display_errors 1",
        &[],
    );
    assert_code(&ended, 1);
    for (text, level) in [
        // The server starts and logs the same warning.
        ("document root", "warning"),
        ("worker script /nowhere/worker.php: No such file", "error"),
        ("date.timezone is Vienna", "warning"),
        ("display_errors is on", "warning"),
    ] {
        let finding = finding(&report, text);
        assert_eq!(finding["level"], level, "{finding}");
        assert!(finding["advice"].is_string(), "{finding}");
    }
    // `php-server` does not start without it.
    let ended = ServerBuilder::command(["doctor", "--json", "--root"])
        .arg(app.path().join("public"))
        .run();
    assert_code(&ended, 1);
    let root = self::report(&ended);
    assert_eq!(finding(&root, "document root")["level"], "error", "{root}");
    let (ended, report) = doctor(&app, "", &["--php", "/nowhere/howdah-php"]);
    assert_code(&ended, 1);
    finding(&report, "/nowhere/howdah-php not found");
}

#[test]
fn what_php_reports_when_it_starts_is_a_warning() {
    let app = Www::new().file("public/index.php", "<?php echo 1;").file(
        "ini/php.ini",
        "display_errors = 1\nextension = /nowhere/none.so\n",
    );
    let ended = ServerBuilder::command(["doctor", "--json", "--root"])
        .arg(app.path().join("public"))
        .env("PHPRC", app.path().join("ini"))
        .run();
    let root = self::report(&ended);
    let found = finding(&root, "PHP reports when it starts: ");
    assert_eq!(found["level"], "warning", "{found}");
    let text = found["text"].as_str().expect("a text");
    assert!(
        text.contains("/nowhere/none.so") && !text.contains("<b>"),
        "{text}"
    );
    finding(&root, "time zone");
}

#[test]
fn a_worker_script_that_cannot_serve_is_reported() {
    let app = Www::new().file("public/index.php", "<?php");
    let (ended, report) = doctor(&app, &worker(&app, "<?php\nfunction (;\n"), &[]);
    assert_code(&ended, 1);
    let wrong = finding(&report, "worker.php:2: syntax error");
    assert_eq!(wrong["level"], "error", "{wrong}");
    let (ended, report) = doctor(&app, &worker(&app, "<?php\nclass Worker {}\n"), &[]);
    assert_code(&ended, 0);
    let wrong = finding(&report, "does not call frankenphp_handle_request()");
    assert_eq!(wrong["level"], "warning", "{wrong}");
    let (ended, report) = doctor(&app, &worker(&app, LOOP), &[]);
    assert_code(&ended, 0);
    assert!(!report.to_string().contains("does not call"), "{report:#}");
}

#[test]
fn a_wrong_configuration_is_named_by_its_line() {
    let app = Www::new();
    let (ended, report) = doctor(&app, "nonsense", &[]);
    assert_code(&ended, 1);
    let text = finding(&report, "nonsense")["text"].as_str().expect("text");
    assert!(text.contains(":4:"), "{text}");
}

#[test]
fn a_port_that_is_taken_is_a_warning() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound");
    let app = Www::new().file(
        "Caddyfile",
        format!("http://{address} {{\nrespond ok\n}}\n"),
    );
    let ended = ServerBuilder::command(["doctor", "--json", "-c"])
        .arg(app.path().join("Caddyfile"))
        .run();
    assert_code(&ended, 0);
    let report = report(&ended);
    let port = address.port();
    let finding = finding(&report, &format!(":{port} is in use"));
    assert_eq!(finding["level"], "warning");
}

#[test]
fn a_port_of_the_running_server_is_fine() {
    let www = Www::new();
    let socket = www.path().join("site.sock");
    let site = format!("bind 127.0.0.1 unix/{}\nrespond ok", socket.display());
    let server = Server::caddyfile(caddyfile(ON, &site)).start();
    let admin = Admin::of(&server);
    let address = server.address();
    let file = www.write(
        "Caddyfile",
        format!(
            "{{\nadmin {}\n}}\nhttp://localhost:{} {{\nbind 127.0.0.1 unix/{}\nrespond ok\n}}\n",
            admin.address,
            address.port(),
            socket.display()
        ),
    );
    let ended = ServerBuilder::command(["doctor", "--json", "-c"])
        .arg(file)
        .run();
    assert_code(&ended, 0);
    let report = report(&ended);
    for held in [address.to_string(), format!("unix/{}", socket.display())] {
        let finding = finding(&report, &format!("{held} is in use by this server"));
        assert_eq!(finding["level"], "ok", "{finding}");
    }
}

#[test]
fn unix_sockets_are_looked_at() {
    let app = Www::new();
    let path = |name: &str| app.path().join(name).display().to_string();
    let taken = UnixListener::bind(path("taken")).expect("bound");
    let text = |name: &str| format!(":80 {{\nbind unix/{}\nrespond ok\n}}\n", path(name));
    let check = |name: &str| {
        let file = app.write("Caddyfile", text(name));
        let ended = ServerBuilder::command(["doctor", "--json", "-c"])
            .arg(file)
            .run();
        let report = report(&ended);
        (ended, report)
    };
    let (ended, report) = check("taken");
    assert_code(&ended, 0);
    assert_eq!(finding(&report, "taken is in use")["level"], "warning");
    drop(taken);
    let (ended, report) = check("taken");
    assert_code(&ended, 0);
    assert_eq!(finding(&report, "no process listens")["level"], "ok");
    let (ended, report) = check("free");
    assert_code(&ended, 0);
    assert_eq!(finding(&report, "free is free")["level"], "ok");
    assert!(!app.path().join("free").exists(), "doctor changes nothing");
    let (ended, report) = check("none/a.sock");
    assert_code(&ended, 1);
    let folder = finding(&report, "none/a.sock");
    assert_eq!(folder["level"], "error");
}

#[test]
fn code_that_requests_can_bear_side_by_side_is_safe() {
    let app = Www::new().file(
        "src/Fine.php",
        "<?php\ndefine('AT_BOOT', 1);\nfinal class Fine {\n  private static array $seen = [];\n  \
         function __construct(private $request) { $this->request = $request; }\n  \
         function all() { self::$seen = $_GET; setlocale(LC_ALL, 'C'); set_time_limit(1); session_start(); \
         $x->define('a'); $y = \"{$this->request}\"; exit; }\n}\n",
    );
    let lines = worker(&app, LOOP);
    // A worker with concurrency is always checked.
    let (ended, report) = doctor(&app, &lines, &[]);
    assert_code(&ended, 0);
    assert_eq!(report["coroutines"], "safe", "{report:#}");
    finding(&report, "2 PHP files below");
}

#[test]
fn state_that_requests_would_share_is_named_with_its_place() {
    let script = "<?php\n$last = null;\n$handle = function () use (&$last) {\n  define('USER', 1);\n};\n\
                  while (frankenphp_handle_request($handle)) {}\n";
    let app = Www::new()
        .file(
            "src/Service.php",
            "<?php\nnamespace App;\nclass Service {\n  static $cache;\n  abstract function x();\n  \
             function set($r) {\n    $this->request = $r;\n    self::$cache = 1;\n  }\n  function go() {\n    \
             \\pcntl_fork();\n    new \\PDO('', '', '', [\\PDO::ATTR_PERSISTENT => true]);\n    \
             stream_select($a, $b, $c, 1);\n    pcntl_wait($s);\n    pcntl_signal(1, 2);\n    mysqli_report(1);\n    \
             password_hash('', 1); password_hash('', 1);\n    \\FFI::cdef('');\n  }\n}\nmysqli_report(0);\n",
        )
        .file("vendor/a/b.php", "<?php function f() { define('X', 1); }");
    let lines = worker(&app, script);
    let (ended, report) = doctor(&app, &lines, &[]);
    assert_code(&ended, 0);
    assert_eq!(report["coroutines"], "conditional");
    let service = |line: u32| format!("src/Service.php:{line}");
    for (text, place) in [
        ("by reference", "public/worker.php:3".to_owned()),
        ("define() in a function", "public/worker.php:4".to_owned()),
        ("receives the current request", service(7)),
        ("a fork copies", service(11)),
        ("persistent connection", service(12)),
        ("select() supports", service(13)),
        ("waiting for a child", service(14)),
        ("signals, their handlers", service(15)),
        ("of the whole process", service(16)),
        ("a long computation", service(17)),
        ("through FFI", service(18)),
    ] {
        assert_places(&report, text, "warning", &[&place]);
    }
    let lines = lines.replace("concurrency 50", "concurrency 50\nstatics share");
    let (_, report) = doctor(&app, &lines, &[]);
    assert_places(&report, "static property", "warning", &[&service(8)]);
}

#[test]
fn code_that_waits_where_requests_meet_is_named_with_its_place() {
    let app = Www::new().file(
        "src/Waiting.php",
        "<?php\nclass Lazy {\n  function __get($name) {\n    return $this->load($name);\n  }\n  \
         function load($name) { return $this->db->query($name); }\n  \
         function __set($name, $value) { $this->data[$name] = $value; }\n}\n\
         class Plain {\n  function __get($name) { return $this->data[$name] ?? null; }\n  \
         function load() { sleep(1); }\n}\n\
         function entry() {\n  apcu_entry('a', fn () => 1);\n  return \\apcu_entry('b', function () {\n    \
         return file_get_contents('https://example.org/');\n  });\n}\n\
         function program() {\n  exec('before');\n  $socket = fsockopen('a', 1);\n  exec('beside');\n}\n\
         function process() {\n  posix_getpwnam('www-data');\n  proc_nice(1);\n  putenv('PLAIN=1');\n  \
         putenv('RES_OPTIONS=rotate');\n  file_get_contents('/etc/hosts');\n}\nproc_nice(1);\n\
         class Proxy extends Lazy {\n  use \\Symfony\\Component\\VarExporter\\LazyGhostTrait;\n  \
         function __isset($name) { return fopen(\"http://host/$name\", 'r'); }\n}\n\
         function search($text) {\n  mb_ereg_search_init($text, '[0-9]+');\n}\n",
    );
    let lines = worker(&app, LOOP);
    let (ended, report) = doctor(&app, &lines, &[]);
    assert_code(&ended, 0);
    assert_eq!(report["coroutines"], "conditional");
    for (text, at) in [
        ("a magic method waits", &[3, 34][..]),
        ("the generator of apcu_entry() waits", &[15]),
        ("a program is started while", &[22]),
        ("lookup of a user or group", &[25]),
        ("extensions of the whole process", &[26]),
        ("setting or message of the whole process", &[28]),
        ("a lazy object of PHP code", &[33]),
        ("mb_ereg_search() continues", &[37]),
    ] {
        let places: Vec<_> = at
            .iter()
            .map(|line| format!("src/Waiting.php:{line}"))
            .collect();
        let places: Vec<_> = places.iter().map(String::as_str).collect();
        assert_places(&report, text, "warning", &places);
    }
}

#[test]
fn positions_and_options_that_requests_share_are_named_with_their_place() {
    let script = "<?php\n$jobs = new InfiniteIterator();\n$done = new ArrayObject();\nforeach ($jobs as $job) {}\n\
                  $handle = function () use ($jobs, $done) {\n  foreach ($jobs as $job) {}\n  \
                  foreach ($done as $job) {}\n};\nwhile (frankenphp_handle_request($handle)) {}\n";
    let app = Www::new().file(
        "src/Shared.php",
        "<?php\nclass Shared {\n  private static ?\\LimitIterator $all = null;\n  \
         function __construct(private ArrayIterator $queue) {\n    $this->seen ??= new \\AppendIterator();\n    \
         foreach ($this->seen as $one) {}\n  }\n  function walk() {\n    foreach (self::$all as $one) {}\n    \
         foreach ($this->seen as $one) {}\n    foreach ($this->queue as $one) {}\n    $this->queue->rewind();\n    \
         foreach ($this->other as $one) {}\n    foreach (clone $this->seen as $one) {}\n    $this->all->current();\n  \
         }\n}\nclass Other {\n  function walk() { foreach ($this->seen as $one) {} }\n  \
         function set($link) {\n    ldap_set_option($link, LDAP_OPT_SIZELIMIT, 1);\n    \
         \\ldap_set_option(NULL, LDAP_OPT_SIZELIMIT, 1);\n    snmp_set_quick_print(true);\n  }\n}\n\
         ldap_set_option(null, LDAP_OPT_SIZELIMIT, 1);\n",
    );
    let (ended, report) = doctor(&app, &worker(&app, script), &[]);
    assert_code(&ended, 0);
    assert_eq!(report["coroutines"], "conditional");
    assert_places(
        &report,
        "has one position",
        "warning",
        &[
            "public/worker.php:6",
            "src/Shared.php:9",
            "src/Shared.php:10",
            "src/Shared.php:15",
        ],
    );
    assert_places(
        &report,
        "setting or message of the whole process",
        "warning",
        &["src/Shared.php:22", "src/Shared.php:23"],
    );
}

#[test]
fn a_loop_that_keeps_its_request_in_a_property_is_not_safe() {
    let app = Www::new();
    let lines = worker(
        &app,
        "<?php\nclass Runner {\n  function run() {\n    $this->max = 1;\n    while (frankenphp_handle_request(function () {\n      \
         $this->answer = $_GET;\n    })) {}\n  }\n}\n(new Runner())->run();\n",
    );
    let (ended, report) = doctor(&app, &lines, &[]);
    assert_code(&ended, 1);
    assert_eq!(report["coroutines"], "unsafe");
    // Writes by `run()` before the loop starts belong to the boot.
    assert_places(
        &report,
        "object with the loop",
        "error",
        &["public/worker.php:6"],
    );
}

#[test]
fn a_framework_is_judged_by_where_its_application_is_made() {
    let lock = r#"{"packages": [{"name": "laravel/framework", "version": "v11.1.0"}]}"#;
    let app = Www::new()
        .file("composer.lock", lock)
        .file("composer.json", "{}");
    let at_boot = "<?php\n$app = require __DIR__ . '/../bootstrap/app.php';\n\
                   while (frankenphp_handle_request(function () use ($app) { $app->run(); })) {}\n";
    let (ended, report) = doctor(&app, &worker(&app, at_boot), &[]);
    assert_code(&ended, 1);
    let found = finding(&report, "Laravel v11.1.0");
    assert_eq!(
        (&found["level"], &report["coroutines"]),
        (&"error".into(), &"unsafe".into())
    );
    let in_callback = "<?php\nwhile (frankenphp_handle_request(function () {\n\
                       $app = require __DIR__ . '/../bootstrap/app.php';\n$app->run(); })) {}\n";
    let (ended, report) = doctor(&app, &worker(&app, in_callback), &[]);
    assert_code(&ended, 0);
    assert_eq!(finding(&report, "Laravel v11.1.0")["level"], "warning");
    // Without Composer, the names in the code identify the framework.
    let app = Www::new().file(
        "src/a.php",
        "<?php\nuse Symfony\\Component\\HttpKernel\\Kernel;\n",
    );
    let lines = worker(&app, LOOP);
    let (_, report) = doctor(&app, &lines, &[]);
    assert_eq!(finding(&report, "Symfony:")["level"], "error");
    let lines = lines.replace("num 1", "num 1\nenv HOWDAH_KERNEL_PER_REQUEST 1");
    let (ended, report) = doctor(&app, &lines, &[]);
    assert_code(&ended, 0);
    assert_eq!(finding(&report, "Symfony:")["level"], "warning");
}

#[test]
fn the_report_for_people_has_the_remedy() {
    let app = Www::new()
        .file("public/worker.php", LOOP)
        .file("a.php", "<?php function f() { pcntl_fork(); }");
    let ended = ServerBuilder::command(["doctor", "--coroutines", "--worker"])
        .arg(app.path().join("public/worker.php"))
        .run();
    for text in [
        "Configuration\n  ok ",
        "\nCoroutines\n  ok ",
        "  warning  a fork copies",
        "           at a.php:1\n           -> start another program",
        "With concurrency this application is safe if",
    ] {
        assert!(ended.text().contains(text), "{text:?} in {}", ended.text());
    }
}

#[test]
fn a_configuration_and_flags_exclude_each_other() {
    ServerBuilder::command(["doctor", "-c", "Caddyfile", "--root"])
        .arg(Path::new("."))
        .run()
        .assert(2, "cannot be used with");
}

#[test]
fn what_the_server_and_php_write_must_be_writable_for_their_users() {
    let app = Www::new().file("public/index.php", "<?php");
    let sessions = app.path().join("sessions");
    std::fs::create_dir(&sessions).expect("made");
    let file = app.write("a-file", "");
    let lines = |user: &str| {
        let (sessions, file) = (sessions.display(), file.display());
        format!(
            "{user}\nphp_ini session.save_path 2;0600;{sessions}\n}}\ncrash_reports {file}/crashes\nlog {{\noutput file {file}/howdah.log\n"
        )
    };
    let (ended, report) = doctor(&app, &lines(""), &[]);
    assert_code(&ended, 1);
    for (text, level) in [
        ("sessions /", "ok"),
        ("crash reports /", "warning"),
        ("log /", "error"),
    ] {
        assert_eq!(finding(&report, text)["level"], level, "{report:#}");
    }
    // Only root can check the rights of another user.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    std::fs::set_permissions(&sessions, std::fs::Permissions::from_mode(0o755)).expect("mine");
    let (_, report) = doctor(&app, &lines("user nobody"), &[]);
    let denied = finding(&report, "sessions /");
    assert_eq!(denied["level"], "error", "{denied}");
    let text = denied["text"].as_str().expect("a text");
    assert!(text.contains("user nobody may not write /"), "{text}");
    assert!(denied["advice"].is_string(), "{denied}");
}

#[test]
fn users_are_looked_up_and_must_reach_what_they_serve() {
    let app = Www::new().file("public/index.php", "<?php");
    let (ended, report) = doctor(&app, "user nobody-of-this-name", &[]);
    assert_code(&ended, 1);
    let missing = finding(&report, "nobody-of-this-name");
    assert_eq!(missing["level"], "error", "{missing}");
    // Only root can become another user.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    std::fs::set_permissions(app.path(), std::fs::Permissions::from_mode(0o700)).expect("mine");
    let (_, report) = doctor(&app, "user nobody", &[]);
    let barred = finding(&report, "user nobody may not read");
    assert_eq!(barred["level"], "warning", "{barred}");
    std::fs::set_permissions(app.path(), std::fs::Permissions::from_mode(0o755)).expect("mine");
    let (_, report) = doctor(&app, "user nobody", &[]);
    finding(&report, "user nobody can be used");
    let text = report.to_string();
    assert!(!text.contains("may not read"), "{report:#}");
}
