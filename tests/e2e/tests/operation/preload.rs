//! `preload`: PHP is started again with the classes that requests have used. Responses stay the
//! same, unless they depend on the list of loaded classes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use howdah_testkit::{PATIENCE, Server, Signal, Www, howdah_php, process};
use howdah_tests::admin::{Admin, ON};
use serde_json::{Value, json};
use tempfile::TempDir;

/// An application with an autoloader, classes that only the autoloader loads, and files that
/// contain more than classes.
const INDEX: &str = r"<?php
define('MODE', $_GET['mode'] ?? 'none');
$loaded = [];
spl_autoload_register(function (string $class) use (&$loaded): void {
    $loaded[] = $class;
    $file = __DIR__ . '/../src/' . str_replace('\\', '/', $class) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
require __DIR__ . '/../src/functions.php';
if (!class_exists('Plugin')) {
    require __DIR__ . '/../src/plugin.php';
}
$thing = new App\Thing();
$helper = new App\WithHelper();
header('Content-Type: application/json');
if (isset($_GET['loaded'])) {
    sort($loaded);
    echo json_encode(['loaded' => $loaded, 'known' => class_exists('App\Unused', false)]);
    return;
}
echo json_encode([
    'release' => $thing->release(),
    'mode' => App\Thing::MODE,
    'count' => ++App\Thing::$count . $thing->calls() . $thing->calls(),
    'parents' => class_parents($thing),
    'suit' => App\Suit::from('h')->name,
    'pluggable' => pluggable(),
    'helper' => helped(),
    'plugin' => Plugin::NAME,
    'deprecated' => error_get_last()['message'] ?? '',
]);
";

fn application(www: Www, release: &str) -> Www {
    www.file("public/index.php", INDEX)
        .file(
            "src/App/Thing.php",
            format!(
                "<?php\ndeclare(strict_types=1);\nnamespace App;\nclass Thing extends Base implements Named {{\n\
                 use Counts;\npublic const MODE = MODE;\npublic static int $count = 0;\n\
                 public function release(): string {{ return '{release}'; }}\n}}\n"
            ),
        )
        .file("src/App/Base.php", "<?php\nnamespace App;\nabstract class Base {}\n")
        .file("src/App/Named.php", "<?php\nnamespace App;\ninterface Named { public function release(): string; }\n")
        .file(
            "src/App/Counts.php",
            "<?php\nnamespace App;\ntrait Counts { public function calls(): int { static $n = 0; return ++$n; } }\n",
        )
        .file("src/App/Suit.php", "<?php\nnamespace App;\nenum Suit: string { case Hearts = 'h'; }\n")
        .file("src/App/Unused.php", "<?php\nnamespace App;\nclass Unused {}\n")
        .file(
            "src/App/WithHelper.php",
            "<?php\nnamespace App { class WithHelper {} }\nnamespace { function helped(): string { return 'helped'; } }\n",
        )
        .file(
            "src/functions.php",
            "<?php\nif (!function_exists('pluggable')) {\n    function pluggable(): string { return 'default'; }\n}\n",
        )
        .file("src/plugin.php", "<?php\nclass Plugin { const NAME = 'plugin'; }\n")
}

fn site(root: &Path, php: &str) -> String {
    format!(
        "{{\n{ON}\nmetrics\nfrankenphp {{\nnum_threads 2\n{php}\n}}\n}}\nhttp://:0 {{\nbind 127.0.0.1\nroot * {}\n\
         php_server\n}}\n",
        root.display()
    )
}

fn start(www: &Www, php: &str) -> (Server, Admin) {
    let server = Server::caddyfile(site(&www.path().join("public"), php)).start();
    let admin = Admin::of(&server);
    (server, admin)
}

#[track_caller]
fn reload(admin: &Admin) {
    admin.post("/reload").assert_status(200);
}

/// Names of preloaded files, and the other files with the reason.
fn listed(admin: &Admin) -> (Vec<String>, Value) {
    let preloads = admin.get("/preload").json();
    let files = preloads[0]["files"].as_array().cloned().unwrap_or_default();
    let name = |file: &Value| {
        let path = file["path"].as_str().expect("a path");
        path.rsplit('/').next().expect("a name").to_owned()
    };
    let (loaded, left): (Vec<Value>, Vec<Value>) = files
        .into_iter()
        .partition(|file| file["verdict"] == "preloaded");
    let mut loaded: Vec<_> = loaded.iter().map(name).collect();
    loaded.sort();
    let left = left
        .iter()
        .map(|file| (name(file), file["verdict"].clone()));
    (loaded, Value::Object(left.collect()))
}

#[test]
fn answers_are_the_same_with_classes_that_are_there_already() {
    let www = application(Www::new(), "first");
    let (server, admin) = start(&www, "preload auto");
    assert_eq!(admin.get("/preload").json()[0]["files"], json!([]));
    let before = server.get("/?mode=one").json();
    assert_eq!(before["release"], "first");
    let loaded = server.get("/?loaded").json();
    let all = json!([
        "App\\Base",
        "App\\Counts",
        "App\\Named",
        "App\\Thing",
        "App\\WithHelper",
        "Plugin"
    ]);
    assert_eq!(loaded, json!({"loaded": all, "known": false}));
    reload(&admin);
    server.wait_log("PHP was started with preloaded files");

    for _ in 0..3 {
        assert_eq!(server.get("/?mode=one").json(), before);
    }
    assert_eq!(
        server.get("/?mode=two").json()["mode"],
        "two",
        "a constant of the request"
    );
    // Only an autoloader notices the difference: it gets fewer calls.
    let asked = json!({"loaded": ["App\\WithHelper", "Plugin"], "known": false});
    assert_eq!(server.get("/?loaded").json(), asked);
    let (loaded, left) = listed(&admin);
    let classes = [
        "Base.php",
        "Counts.php",
        "Named.php",
        "Suit.php",
        "Thing.php",
    ];
    assert_eq!(loaded, classes);
    let expected = json!({
        "index.php": "not_autoloaded", "functions.php": "not_autoloaded", "plugin.php": "not_autoloaded",
        "WithHelper.php": "function",
    });
    assert_eq!(left, expected);

    let shown = admin.command(&["status", "--preload"]);
    shown.assert(0, "php: 5 files, 5 classes, 0 functions, ");
    shown.assert(0, "skipped: it declares functions (1)");
    let metrics = admin.get("/metrics").text();
    for line in [
        "howdah_php_preloaded_files{pool=\"php\"} 5",
        "howdah_php_preloaded_classes{pool=\"php\"} 5",
        "howdah_php_preload_left_out_files{pool=\"php\",reason=\"function\"} 1",
    ] {
        assert!(metrics.contains(line), "no {line} in\n{metrics}");
    }

    // A file that is first used afterwards is loaded as usual, and preloaded by the next reload.
    www.write(
        "public/later.php",
        "<?php\nspl_autoload_register(fn () => require __DIR__ . '/../src/App/Unused.php');\n\
        echo get_class(new App\\Unused());\n",
    );
    assert_eq!(server.get("/later.php").text(), "App\\Unused");
    reload(&admin);
    assert_eq!(listed(&admin).0.len(), 6);
    assert_eq!(
        server.get("/?loaded").json()["known"],
        true,
        "class_exists() without an autoloader"
    );
    assert_eq!(server.get("/?mode=one").json(), before);
}

#[test]
fn after_a_deployment_the_new_classes_are_there() {
    let base = tempfile::tempdir().expect("a directory");
    let releases: Vec<Www> = ["first", "second", "third"]
        .map(|name| application(Www::new(), name))
        .into();
    let current = base.path().join("current");
    let switch = |www: &Www| {
        let fresh = base.path().join("fresh");
        std::os::unix::fs::symlink(www.path(), &fresh).expect("a link");
        fs::rename(&fresh, &current).expect("switched");
    };
    switch(&releases[0]);
    let server = Server::caddyfile(site(
        &current.join("public"),
        "preload auto\nphp_ini opcache.validate_timestamps 0",
    ));
    let server = server.start();
    let admin = Admin::of(&server);
    let release = || server.get("/").json()["release"].clone();
    assert_eq!(release(), "first");
    reload(&admin);
    assert_eq!(release(), "first");
    for (www, name) in releases.iter().zip(["first", "second", "third"]).skip(1) {
        switch(www);
        reload(&admin);
        assert_eq!(release(), name);
        let preloads = admin.get("/preload").json();
        let folder = www.path().canonicalize().expect("it is there");
        let files = preloads[0]["files"].as_array().expect("files");
        assert_eq!(listed(&admin).0.len(), 5, "{files:?}");
        for file in files {
            let path = Path::new(file["path"].as_str().expect("a path"));
            assert!(path.starts_with(&folder), "{}", path.display());
        }
    }
    // Changes in place, including a preloaded file and a removed one.
    releases[2].write(
        "src/App/Base.php",
        "<?php\nnamespace App;\nabstract class Base { public $mended; }\n",
    );
    let thing = releases[2].path().join("src/App/Thing.php");
    let text = fs::read_to_string(&thing).expect("readable");
    fs::write(
        &thing,
        text.replace("'third'", "'in place'")
            .replace("use Counts;", "public function calls() { return 0; }"),
    )
    .expect("written");
    fs::remove_file(releases[2].path().join("src/App/Counts.php")).expect("removed");
    reload(&admin);
    assert_eq!(release(), "in place");
    assert_eq!(listed(&admin).0.len(), 4);
}

#[test]
fn it_happens_by_itself_once_no_new_files_come() {
    let www = application(Www::new(), "first");
    let (server, admin) = start(&www, "preload auto");
    let before = server.get("/").json();
    server.wait_log("PHP was started with preloaded files");
    server.wait_line("it serves", |line| line.message() == "reloaded");
    assert_eq!(server.get("/").json(), before);
    assert_eq!(listed(&admin).0.len(), 5);
    // The root zygote preloads them again after its restart.
    let root = |server: &Server| -> Option<u32> {
        let processes = server.processes();
        let root = processes
            .iter()
            .find(|own| own.command.starts_with("howdah: php "));
        root.map(|own| own.pid)
    };
    let pid = root(&server).expect("it runs");
    server.allow_log("the PHP root process exited");
    server.allow_log("died");
    process::kill(pid, Signal::KILL).expect("ended");
    let again = || {
        let health = admin.get("/health");
        root(&server).is_some_and(|own| own != pid) && health.status() == 200
    };
    assert!(
        process::wait_until(PATIENCE, again),
        "{:#?}",
        server.processes()
    );
    assert_eq!(
        server.get("/?loaded").json()["loaded"],
        json!(["App\\WithHelper", "Plugin"])
    );
}

#[test]
fn all_takes_functions_too() {
    let www = application(Www::new(), "first");
    let (server, admin) = start(&www, "preload all");
    let before = server.get("/").json();
    reload(&admin);
    assert_eq!(server.get("/").json(), before);
    let (loaded, left) = listed(&admin);
    assert_eq!((loaded.len(), left), (9, json!({})));
    assert_eq!(admin.get("/preload").json()[0]["functions"], 1);
    assert_eq!(server.get("/?loaded").json()["loaded"], json!([]));
}

/// Two applications with classes of the same name, and with one class that only the first has.
fn two_applications() -> (Www, Server) {
    let index = "<?php\nspl_autoload_register(function (string $class): void {\n\
        require __DIR__ . '/../src/' . $class . '.php';\n});\n\
        $own = class_exists('Shop', false) ? 'shop' : 'none';\n\
        $there = class_exists('Thing', false) ? 'preloaded' : 'new';\n\
        if (is_file(__DIR__ . '/../src/Shop.php')) {\n    new Shop();\n}\n\
        echo Thing::NAME, ' ', $there, ' ', $own;\n";
    let thing = |name: &str| format!("<?php\nclass Thing {{ const NAME = '{name}'; }}\n");
    let www = Www::new()
        .file("shop/public/index.php", index)
        .file("shop/src/Thing.php", thing("shop"))
        .file("shop/src/Shop.php", "<?php\nclass Shop {}\n")
        .file("blog/public/index.php", index)
        .file("blog/src/Thing.php", thing("blog"));
    let root = |name: &str| www.path().join(name).join("public").display().to_string();
    let server = Server::caddyfile(format!(
        "{{\n{ON}\nfrankenphp {{\nnum_threads 1\npreload auto\npool blog {{\nnum_threads 1\n}}\n}}\n}}\n\
         http://:0 {{\nbind 127.0.0.1\nhandle /blog* {{\nroot * {}\nrewrite * /index.php\nphp_server {{\n\
         pool blog\n}}\n}}\nhandle {{\nroot * {}\nphp_server\n}}\n}}\n",
        root("blog"),
        root("shop")
    ))
    .start();
    (www, server)
}

#[test]
fn no_application_sees_the_classes_of_another() {
    let (www, server) = two_applications();
    let admin = Admin::of(&server);
    for _ in 0..2 {
        server.get("/blog").assert(200, "blog new none");
        server.get("/").assert(200, "shop new none");
    }
    reload(&admin);
    for _ in 0..3 {
        server.get("/blog").assert(200, "blog preloaded none");
        server.get("/").assert(200, "shop preloaded shop");
    }
    let preloads = admin.get("/preload").json();
    let pools: Vec<_> = (0..2)
        .map(|tree| preloads[tree]["pools"].to_string())
        .collect();
    let mut sorted = pools.clone();
    sorted.sort();
    assert_eq!(sorted, [r#"["blog"]"#, r#"["php"]"#], "{preloads}");
    // A new version of one application.
    www.write(
        "blog/src/Thing.php",
        "<?php\nclass Thing { const NAME = 'newer'; }\n",
    );
    reload(&admin);
    server.get("/blog").assert(200, "newer preloaded none");
    server.get("/").assert(200, "shop preloaded shop");
}

#[test]
fn two_installations_of_packages_are_left_alone() {
    let loader = "<?php\nspl_autoload_register(function ($name) {\n    require __DIR__ . \"/../$name.php\";\n});\n";
    let class = |version: u8| format!("<?php\nclass Shared {{ const VERSION = {version}; }}\n");
    let page = |folder: &str| {
        format!(
            "<?php\nrequire __DIR__ . '/{folder}/composer/autoload_real.php';\necho Shared::VERSION;\n"
        )
    };
    let www = Www::new()
        .file("public/a.php", page("../a/vendor"))
        .file("public/b.php", page("../b/vendor"))
        .file("a/vendor/composer/autoload_real.php", loader)
        .file("b/vendor/composer/autoload_real.php", loader)
        .file("a/vendor/Shared.php", class(1))
        .file("b/vendor/Shared.php", class(2));
    let (server, admin) = start(&www, "preload auto");
    let both = || [server.get("/a.php").text(), server.get("/b.php").text()];
    assert_eq!(both(), ["1", "2"]);
    server.expect_log(
        "nothing is preloaded: requests use the packages of more than one Composer installation",
    );
    reload(&admin);
    assert_eq!(both(), ["1", "2"]);
    let problem = admin.get("/preload").json()[0]["problem"].clone();
    assert!(
        problem.as_str().expect("a reason").contains("Composer"),
        "{problem}"
    );
}

#[test]
fn an_unfit_certificate_is_reported_and_not_used() {
    let www = application(Www::new(), "first");
    let list = "1234567890,".repeat(800_000);
    www.write(
        "src/App/Unused.php",
        format!("<?php\nnamespace App;\nclass Unused {{ const LIST = [{list}]; }}\n"),
    );
    www.write(
        "public/large.php",
        "<?php\nspl_autoload_register(fn () => require __DIR__ . '/../src/App/Unused.php');\n\
        ini_set('memory_limit', -1);\necho count(App\\Unused::LIST);\n",
    );
    let php = "preload auto\nphp_ini {\nopcache.memory_consumption 8\nopcache.interned_strings_buffer 1\nmemory_limit 512M\n}";
    let (server, admin) = start(&www, php);
    server.allow_log("OPcache");
    assert_eq!(server.get("/large.php").text(), "800000");
    server.expect_log("nothing is preloaded: ");
    reload(&admin);
    assert_eq!(server.get("/large.php").text(), "800000");
    let problem = admin.get("/preload").json()[0]["problem"].clone();
    assert!(
        problem
            .as_str()
            .expect("a reason")
            .contains("Not enough shared memory"),
        "{problem}"
    );
}

#[test]
fn php_ini_may_not_preload_as_well() {
    let www = application(Www::new(), "first").file("own.php", "<?php\n");
    let root = www.path().join("public");
    let ini = www.write(
        "ini/preload.ini",
        format!(
            "opcache.preload={}\nopcache.preload_user=root\n",
            www.path().join("own.php").display()
        ),
    );
    let scan = format!(":{}", ini.parent().expect("a folder").display());
    let ended = Server::caddyfile(site(&root, "preload auto"))
        .env("PHP_INI_SCAN_DIR", scan)
        .run();
    ended.assert(2, "opcache.preload in php.ini");
}

/// The permissions of the pool's user: a class that only this user can read.
#[test]
fn files_are_read_as_the_user_of_php() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: only root can change users");
        return;
    }
    let www = application(Www::new(), "first");
    let place = Place::new(www.path());
    let text = site(&www.path().join("public"), "preload auto\nuser www-data").replacen(
        "frankenphp {",
        &format!("frankenphp {{\nphp {}", place.php().display()),
        1,
    );
    let server = Server::caddyfile(text)
        .env("TMPDIR", place.path("tmp"))
        .start();
    let admin = Admin::of(&server);
    let before = server.get("/").json();
    assert_eq!(before["release"], "first");
    // Only root can read it now. Processes of root must not pass it to those of others.
    let secret = www.path().join("src/App/Suit.php");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("changed");
    reload(&admin);
    let (loaded, left) = listed(&admin);
    assert_eq!(loaded, ["Base.php", "Counts.php", "Named.php", "Thing.php"]);
    assert_eq!(left["Suit.php"], "missing");
}

/// A folder that every user can enter, with a copy of PHP.
struct Place(TempDir);

impl Place {
    fn new(www: &Path) -> Self {
        let place = Self(tempfile::tempdir().expect("a directory"));
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("changed");
        };
        mode(place.0.path(), 0o755);
        fs::create_dir(place.path("tmp")).expect("made");
        mode(&place.path("tmp"), 0o1777);
        for name in ["howdah-php", "howdah-php.so"] {
            let to = place.path(name);
            fs::copy(howdah_php().with_file_name(name), &to).expect("copied");
            mode(&to, 0o755);
        }
        mode(www, 0o755);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn php(&self) -> PathBuf {
        self.path("howdah-php")
    }
}
