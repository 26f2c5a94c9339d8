//! `preload` with worker scripts, including concurrent ones: responses stay the same, a deployment
//! is served, and files that several pools use are listed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use howdah_testkit::{Server, Www};
use howdah_tests::admin::{Admin, ON};
use serde_json::{Value, json};

const LOADER: &str = r"<?php
spl_autoload_register(function (string $class): void {
    $file = __DIR__ . '/' . str_replace('\\', '/', $class) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
";
/// Boots with one class and loads others in requests.
const WORKER: &str = r"<?php
require __DIR__ . '/../src/loader.php';
$kernel = new App\Kernel();
while (frankenphp_handle_request(fn () => $kernel->handle())) {
}
";
const INDEX: &str = r"<?php
require __DIR__ . '/../src/loader.php';
(new App\Kernel())->handle();
";
const KERNEL: &str = r"<?php
namespace App;
final class Kernel {
    private int $handled = 0;
    public function handle(): void {
        $name = 'App\\' . ($_GET['page'] ?? 'Home');
        if (isset($_GET['wait'])) {
            usleep(1000);
        }
        header('Content-Type: application/json');
        echo json_encode([
            'release' => Release::NAME, 'page' => class_exists($name) ? (new $name())->show() : 'none',
            'static' => ++Page::$shown, 'parents' => class_exists($name) ? array_values(class_parents($name)) : [],
            'handled' => ++$this->handled,
        ]);
    }
}
";

fn application(release: &str) -> Www {
    let page = |name: &str| {
        format!(
            "<?php\nnamespace App;\nclass {name} extends Page {{ public function show(): string {{ return \
             strtolower(static::class); }} }}\n"
        )
    };
    Www::new()
        .file("public/index.php", INDEX)
        .file("public/worker.php", WORKER)
        .file("src/loader.php", LOADER)
        .file("src/App/Kernel.php", KERNEL)
        .file("src/App/Home.php", page("Home"))
        .file("src/App/News.php", page("News"))
        .file(
            "src/App/Page.php",
            "<?php\nnamespace App;\nabstract class Page { public static int $shown = 0; }\n",
        )
        .file(
            "src/App/Release.php",
            format!("<?php\nnamespace App;\nfinal class Release {{ const NAME = '{release}'; }}\n"),
        )
}

fn start(root: &Path, php: &str, worker: &str) -> (Server, Admin) {
    let root = root.join("public");
    let root = root.display();
    let server = Server::caddyfile(format!(
        "{{\n{ON}\nfrankenphp {{\nnum_threads 1\n{php}\n}}\n}}\nhttp://:0 {{\nbind 127.0.0.1\nroot * {root}\n\
         php_server {{\nworker {{\nname app\nfile {root}/worker.php\nmatch /app*\nnum 1\n{worker}\n}}\n}}\n}}\n"
    ))
    .start();
    let admin = Admin::of(&server);
    (server, admin)
}

/// One round of requests to both pools. The responses depend on what each process has done before.
fn answers(server: &Server) -> Vec<Value> {
    let targets = [
        "/app",
        "/?page=News",
        "/app?page=News&wait",
        "/app?page=Missing",
        "/",
        "/app?wait",
    ];
    let twice = targets.iter().chain(&targets);
    twice.map(|target| server.get(target).json()).collect()
}

fn names(admin: &Admin) -> Vec<String> {
    let preloads = admin.get("/preload").json();
    let files = preloads[0]["files"].as_array().cloned().unwrap_or_default();
    let loaded = files.iter().filter(|file| file["verdict"] == "preloaded");
    let mut names: Vec<String> = loaded
        .filter_map(|file| Some(file["path"].as_str()?.rsplit('/').next()?.to_owned()))
        .collect();
    names.sort();
    names
}

const WORKERS: [&str; 3] = ["", "concurrency 4", "isolation request"];
const CLASSES: [&str; 5] = [
    "Home.php",
    "Kernel.php",
    "News.php",
    "Page.php",
    "Release.php",
];

#[test]
fn answers_of_workers_are_the_same() {
    for worker in WORKERS {
        let www = application("one");
        let (plain, _) = start(www.path(), "", worker);
        let expected = answers(&plain);
        let (server, admin) = start(www.path(), "preload auto", worker);
        assert_eq!(answers(&server), expected, "{worker}: before");
        admin.post("/reload").assert_status(200);
        assert_eq!(names(&admin), CLASSES, "{worker}");
        assert_eq!(answers(&server), expected, "{worker}: preloaded");
        // Files that the worker script used at its boot are available to the other pool, and the
        // reverse.
        let shown = admin.command(&["status", "--preload"]);
        shown.assert(0, "5 files, 5 classes, 0 functions, ");
        shown.assert(0, "it was not loaded by an autoloader (3)");
    }
}

#[test]
fn a_deployment_is_served_by_workers() {
    for worker in WORKERS {
        for php in ["", "php_ini opcache.validate_timestamps 0"] {
            let base = tempfile::tempdir().expect("a directory");
            let current = base.path().join("current");
            let switch = |www: &Www| {
                let next = base.path().join("next");
                symlink(www.path(), &next).expect("a link");
                fs::rename(&next, &current).expect("switched");
            };
            let releases = ["one", "two", "three"].map(|name| (name, application(name)));
            switch(&releases[0].1);
            let (server, admin) = start(&current, &format!("preload auto\n{php}"), worker);
            for (name, www) in &releases {
                switch(www);
                admin.post("/reload").assert_status(200);
                for answer in answers(&server) {
                    assert_eq!(answer["release"], *name, "{worker} {php}");
                }
            }
            assert_eq!(names(&admin), CLASSES, "{worker} {php}");
            // Changes in place, too.
            let (_, last) = &releases[2];
            last.write(
                "src/App/Release.php",
                "<?php\nnamespace App;\nfinal class Release { const NAME = 'four'; }\n",
            );
            admin.post("/reload").assert_status(200);
            for target in ["/app", "/"] {
                assert_eq!(server.get(target).json()["release"], json!("four"));
            }
        }
    }
}
