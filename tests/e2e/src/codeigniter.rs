//! An application on CodeIgniter 4.3 or later. `HOWDAH_CODEIGNITER` names its folder. It has the
//! pages of `tests/worker/codeigniter` and the files that `spark worker:install` generates. Before
//! CodeIgniter 4.7, `spark howdah:install` of the Composer package `php/codeigniter4` generates
//! them.

use std::path::{Path, PathBuf};
use std::process::Command;

use howdah_testkit::{Server, Www};
use serde_json::json;

use crate::worker::scripts;

const WANTED: &str = "HOWDAH_CODEIGNITER";

/// Creates the application with these lines in its `.env`. Returns `None` if CodeIgniter is
/// missing.
///
/// # Panics
/// Panics if the application cannot be created from the folder.
pub fn application(settings: &str) -> Option<Www> {
    let www = Www::new();
    install(www.path(), settings)?;
    Some(www)
}

/// Creates the application in this folder and returns its document root.
///
/// # Panics
/// Panics if the application cannot be created from the folder.
pub fn install(folder: &Path, settings: &str) -> Option<PathBuf> {
    let Some(source) = std::env::var_os(WANTED).map(PathBuf::from) else {
        println!("skipped: {WANTED} does not name a folder of CodeIgniter");
        return None;
    };
    copy(&source, folder);
    copy(&scripts().join("codeigniter/app"), &folder.join("app"));
    let read = |path: PathBuf| std::fs::read_to_string(&path).expect("it can be read");
    let write = |name, text: String| std::fs::write(folder.join(name), text).expect("written");
    let routes = read(folder.join("app/Config/Routes.php"));
    let more = read(scripts().join("codeigniter/routes.inc"));
    write("app/Config/Routes.php", format!("{routes}{more}"));
    write(
        ".env",
        // If a value is set twice, the first one counts.
        format!("{settings}\nCI_ENVIRONMENT = production\napp.indexPage = ''\n"),
    );
    let command = if has_worker_mode(folder) {
        "worker:install"
    } else {
        require_package(folder);
        "howdah:install"
    };
    let said = run(folder, "php", &["spark", command, "--force"]);
    let root = folder.join("public");
    assert!(root.join("frankenphp-worker.php").is_file(), "{said}");
    Some(root)
}

/// Whether this CodeIgniter has a built-in worker mode.
pub fn has_worker_mode(folder: &Path) -> bool {
    folder.join("system/Commands/Worker").is_dir()
}

/// The version of the CodeIgniter that tests use, if there is one.
#[must_use]
pub fn version() -> Option<String> {
    Some(version_in(Path::new(&std::env::var_os(WANTED)?)))
}

fn version_in(folder: &Path) -> String {
    let system = std::fs::read_to_string(folder.join("system/CodeIgniter.php"));
    let system = system.expect("a folder of CodeIgniter");
    let (_, version) = system
        .split_once("CI_VERSION = '")
        .expect("CodeIgniter names its version");
    version.split('\'').next().unwrap_or_default().to_owned()
}

/// Installs the package with Composer, which checks that it supports this version.
fn require_package(folder: &Path) {
    let package = scripts().join("../../php/codeigniter4");
    let text = json!({
        "repositories": [
            {"packagist.org": false},
            {"type": "path", "url": package},
            // The framework is in `system`, as in a download without Composer.
            {"type": "package", "package": {
                "name": "codeigniter4/framework", "version": version_in(folder), "type": "metapackage",
            }},
        ],
        "require": {"howdah/codeigniter4": "*"},
        "minimum-stability": "dev",
    });
    std::fs::write(folder.join("composer.json"), text.to_string()).expect("written");
    let said = run(folder, "composer", &["install", "--no-interaction"]);
    assert!(folder.join("vendor/autoload.php").is_file(), "{said}");
}

/// Runs a program in this folder and returns its output.
///
/// # Panics
/// Panics if the program cannot be run.
pub fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("COMPOSER_ALLOW_SUPERUSER", "1")
        .output()
        .unwrap_or_else(|error| panic!("{program} cannot be run: {error}"));
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp")
        .args(["-a", "--no-preserve=ownership"])
        .arg(from.join("."))
        .arg(to)
        .status()
        .expect("cp can be run");
    assert!(done.success(), "{} could not be copied", from.display());
}

/// Starts a server with the generated Caddyfile and `workers` processes on a free port. Requests
/// may wait longer than by default, because the machine may be busy.
///
/// # Panics
/// Panics if the file differs from the expected generated one, or if the server does not start.
pub fn serve(www: &Www, workers: usize) -> Server {
    serve_with(www, workers, "")
}

/// Like `serve`, with these lines in the block of the worker.
///
/// # Panics
/// Panics if the file differs from the expected generated one, or if the server does not start.
pub fn serve_with(www: &Www, workers: usize, lines: &str) -> Server {
    let text = std::fs::read_to_string(www.path().join("Caddyfile")).expect("it was generated");
    let script = "file public/frankenphp-worker.php\n";
    assert!(text.contains(script) && text.contains(":8080 {"), "{text}");
    let text = text
        .replace(
            script,
            &format!("{script}num {workers}\nmax_wait_time 10m\n{lines}\n"),
        )
        .replace(":8080 {", "http://:0 {\nbind 127.0.0.1");
    let text = if text.contains("admin off") {
        text
    } else {
        text.replacen("\n{\n", "\n{\nadmin off\n", 1)
    };
    let server = Server::caddyfile(text).current_dir(www.path()).start();
    // CodeIgniter's Caddyfile enables compression.
    server.allow_log("encode");
    server
}
