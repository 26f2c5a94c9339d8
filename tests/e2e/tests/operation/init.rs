//! `howdah init`, and the server with the files that it writes.

use howdah_testkit::{Request, Server, ServerBuilder, Www};
use serde_json::Value;

/// Runs `howdah init` in the folder, and returns its output.
pub(crate) fn init(www: &Www, arguments: &[&str]) -> String {
    let words = ["init"].iter().chain(arguments);
    let ended = ServerBuilder::command(words).current_dir(www.path()).run();
    ended.assert(0, "");
    ended.text()
}

/// The server with the written Caddyfile, on a free port.
pub(crate) fn serve(www: &Www) -> Server {
    let file = www.path().join("Caddyfile");
    let text = std::fs::read_to_string(file).expect("it was written");
    assert!(text.contains("\n:8080 {\n"), "{text}");
    let text = text.replace("\n:8080 {\n", "\nhttp://:0 {\n\tbind 127.0.0.1\n");
    ServerBuilder::caddyfile(text)
        .current_dir(www.path())
        .start()
}

/// Classes of Slim and Mezzio. The application responds with what it knows of its boot and of the request.
const LIBRARY: &str = r#"<?php
namespace Slim\Factory {
    final class AppFactory { public static function create(): \Slim\App { return new \Slim\App(); } }
    final class ServerRequestCreatorFactory
    {
        public static function create(): self { return new self(); }
        public function createServerRequestFromGlobals(): array { return [$_SERVER['REQUEST_URI'], $_POST]; }
    }
}
namespace Slim {
    class App
    {
        private string $boot;
        private int $requests = 0;
        public function __construct() { $this->boot = bin2hex(random_bytes(8)); }
        public function handle(array $request): string
        {
            [$uri, $post] = $request;
            $text = is_file('data/text.txt') ? file_get_contents('data/text.txt') : null;
            $requests = ++$this->requests;
            return json_encode(['boot' => $this->boot] + compact('uri', 'post', 'text', 'requests'));
        }
        public function run(): void { echo $this->handle([$_SERVER['REQUEST_URI'], $_POST]); }
    }
}
namespace Mezzio { final class Application extends \Slim\App {} }
namespace App {
    final class ResponseEmitter { public function emit(string $text): void { header('X-Emitter: own'); echo $text; } }
    final class ShutdownHandler
    {
        public function __construct(private array $request, private string $name) {}
        public function __invoke(): void { header("X-Shutdown: {$this->name} {$this->request[0]}"); }
    }
}
"#;

fn application(package: &str, index: &str) -> Www {
    Www::new()
        .file(
            "composer.json",
            format!(r#"{{"require": {{"{package}": "^4.12"}}}}"#),
        )
        .file("vendor/autoload.php", LIBRARY)
        .file("public/index.php", index)
}

/// Two requests to the application in a folder, which `howdah init` has to serve in worker mode.
fn two_requests(www: &Www) -> [(Value, Option<String>); 2] {
    let text = init(www, &[]);
    let written =
        "Caddyfile and public/howdah-worker.php were written; `howdah init --undo` removes them";
    assert!(text.contains(written), "{text}");
    assert!(text.contains("worker mode"), "{text}");
    let server = serve(www);
    let requests = [
        Request::get("/first?a=1"),
        Request::new("POST", "/second")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body("b=2"),
    ];
    let responses = requests.map(|request| {
        let response = server.send(&request);
        response.assert_status(200);
        let shutdown = response.header("x-shutdown").map(str::to_owned);
        (response.json(), shutdown)
    });
    let (one, two) = (&responses[0].0, &responses[1].0);
    assert_eq!(one["uri"], "/first?a=1", "{one}");
    assert_eq!(two["uri"], "/second", "{two}");
    assert_eq!(two["post"]["b"], "2", "{two}");
    // A file in the document root is sent, and no script but the front controller runs.
    www.write("public/style.css", "body {}");
    server.get("/style.css").assert(200, "body {}");
    www.write("public/evil.php", "<?php echo 'evil';");
    for script in ["/evil.php", "/evil.php/info", "/howdah-worker.php"] {
        server.get(script).assert_status(404);
    }
    responses
}

#[test]
fn slim_boots_once() {
    let www = application(
        "slim/slim",
        r"<?php
use Slim\Factory\AppFactory;
require __DIR__ . '/../vendor/autoload.php';
$app = AppFactory::create();
$app->run();
",
    );
    let [(one, _), (two, _)] = two_requests(&www);
    assert_eq!(one["boot"], two["boot"]);
    init(&www, &["--undo"]);
    let left = std::fs::read_dir(www.path().join("public")).expect("readable");
    assert_eq!(left.count(), 3, "index.php, style.css and evil.php");
    assert!(!www.path().join("Caddyfile").exists());
    assert!(!www.path().join(".howdah-init.json").exists());
}

#[test]
fn the_skeleton_of_slim_boots_once() {
    let www = application(
        "slim/slim",
        r"<?php

declare(strict_types=1);

use App\ResponseEmitter;
use App\ShutdownHandler;
use Slim\Factory\AppFactory;
use Slim\Factory\ServerRequestCreatorFactory;

require __DIR__ . '/../vendor/autoload.php';

$app = AppFactory::create();
$name = 'shop';

// The request
$serverRequestCreator = ServerRequestCreatorFactory::create();
$request = $serverRequestCreator->createServerRequestFromGlobals();

// Fatal errors
$shutdownHandler = new ShutdownHandler($request, $name);
register_shutdown_function($shutdownHandler);

$response = $app->handle($request);
$responseEmitter = new ResponseEmitter();
$responseEmitter->emit($response);
",
    );
    let [(one, first), (two, second)] = two_requests(&www);
    assert_eq!(one["boot"], two["boot"]);
    // The handler runs at the end of each request, with this request.
    assert_eq!(first.as_deref(), Some("shop /first?a=1"));
    assert_eq!(second.as_deref(), Some("shop /second"));
}

#[test]
fn mezzio_boots_once() {
    let www = application(
        "mezzio/mezzio",
        r"<?php
if (PHP_SAPI === 'cli-server' && $_SERVER['SCRIPT_FILENAME'] !== __FILE__) {
    return false;
}
chdir(dirname(__DIR__));
require 'vendor/autoload.php';
(function () {
    $container = require 'config/container.php';
    $app = $container[\Mezzio\Application::class];
    $app->run();
})();
",
    )
    .file(
        "config/container.php",
        r"<?php return [Mezzio\Application::class => new Mezzio\Application()];",
    )
    .file(
        "data/text.txt",
        "of a path that is relative to the application",
    );
    let [(one, _), (two, _)] = two_requests(&www);
    assert_eq!(one["boot"], two["boot"]);
    for shown in [one, two] {
        assert_eq!(
            shown["text"],
            "of a path that is relative to the application"
        );
    }
}

#[test]
fn an_unknown_front_controller_is_served_in_classic_mode() {
    let www = application(
        "slim/slim",
        r"<?php
require __DIR__ . '/../vendor/autoload.php';
$app = Slim\Factory\AppFactory::create();
$base = dirname($_SERVER['SCRIPT_NAME']);
$app->run();
",
    );
    let text = init(&www, &[]);
    for part in [
        "classic mode: public/index.php uses $_SERVER",
        "`composer require howdah/psr15`",
        "`howdah init --undo && howdah init`",
        "Caddyfile was written; `howdah init --undo` removes it",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let server = serve(&www);
    let boots = [1, 2].map(|_| server.get("/").json()["boot"].clone());
    assert_ne!(boots[0], boots[1]);
}

#[test]
fn a_changed_worker_script_stays() {
    let www = application(
        "slim/slim",
        r"<?php
require __DIR__ . '/../vendor/autoload.php';
$app = Slim\Factory\AppFactory::create();
$app->run();
",
    );
    init(&www, &[]);
    www.write("public/howdah-worker.php", "<?php // mine");
    let ended = ServerBuilder::command(["init", "--undo"])
        .current_dir(www.path())
        .run();
    ended.assert(1, "public/howdah-worker.php was changed");
    assert!(www.path().join("public/howdah-worker.php").exists());
    assert!(!www.path().join("Caddyfile").exists());
}
