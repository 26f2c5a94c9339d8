//! The Composer package `php/octane`, with the Laravel and the Octane that `HOWDAH_LARAVEL` names.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use howdah_testkit::{Connection, Gate, PATIENCE, Request, Response, free_ports, howdah, process};
use howdah_tests::{encode, octane};
use serde_json::json;
use tempfile::TempDir;

/// `php artisan octane:start --server=howdah` of an application.
struct Octane {
    folder: TempDir,
    port: u16,
    start: Child,
}

impl Octane {
    /// Starts with one worker. Returns `None` if Laravel is missing.
    fn start(lines: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a directory");
        octane::install_laravel(folder.path())?;
        let [port] = free_ports();
        let output = fs::File::create(folder.path().join("output")).expect("created");
        let address = [format!("--port={port}"), "--host=127.0.0.1".to_owned()];
        let start = artisan(folder.path())
            .args(["octane:start", "--server=howdah", "--workers=1"])
            .args(address)
            .args(lines)
            .stdout(output.try_clone().expect("cloned"))
            .stderr(output)
            .spawn()
            .expect("php can be run");
        let mut octane = Self {
            folder,
            port,
            start,
        };
        let serves =
            || octane.connect().is_some() || octane.start.try_wait().is_ok_and(|x| x.is_some());
        let mut serves = serves;
        assert!(process::wait_until(PATIENCE, &mut serves), "no server");
        assert!(octane.connect().is_some(), "{}", octane.output());
        Some(octane)
    }

    fn connect(&self) -> Option<Connection> {
        Connection::open(([127, 0, 0, 1], self.port).into()).ok()
    }

    #[track_caller]
    fn send(&self, request: &Request) -> Response {
        let mut connection = self.connect().expect("it listens");
        connection.exchange(request).expect("a response")
    }

    #[track_caller]
    fn get(&self, target: &str) -> Response {
        self.send(&Request::get(target))
    }

    /// Runs a command for this server and returns its exit status and output.
    fn command(&self, name: &str) -> (Option<i32>, String) {
        let output = artisan(self.folder.path())
            .args([name, "--server=howdah"])
            .output()
            .expect("php can be run");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), text)
    }

    /// Output of `octane:start`.
    fn output(&self) -> String {
        fs::read_to_string(self.folder.path().join("output")).expect("it can be read")
    }

    fn stop(mut self) {
        assert_eq!(self.command("octane:stop").0, Some(0));
        let status = self.start.wait().expect("it has ended");
        let output = self.output();
        assert!(status.success(), "{output}");
        assert!(
            !output.contains(" ERROR ") && !output.contains(" WARN "),
            "{output}"
        );
        assert!(self.connect().is_none(), "it still listens");
    }
}

impl Drop for Octane {
    fn drop(&mut self) {
        if self.start.try_wait().is_ok_and(|status| status.is_none()) {
            self.command("octane:stop");
            // The process has exited already if the command has succeeded.
            let _ = self.start.kill();
            let _ = self.start.wait();
        }
    }
}

fn artisan(folder: &Path) -> Command {
    let programs = howdah().parent().expect("it is in a folder").to_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("php");
    command
        .arg("artisan")
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", programs.display()))
        // The folder belongs to the user that runs the test.
        .env("HOWDAH_USER", "root")
        .stdin(Stdio::null());
    command
}

#[test]
fn starts_shows_reloads_and_stops() {
    let Some(octane) = Octane::start(&[]) else {
        return;
    };
    let (status, text) = octane.command("octane:status");
    assert!(text.contains("Octane server is running."), "{text}");
    assert_eq!(status, Some(0));
    let pid = octane.get("/pid").text();
    octane.get("/pid").assert(200, &pid);

    let again = octane.command("octane:start");
    assert_eq!(again.0, Some(1), "{}", again.1);

    assert_eq!(octane.command("octane:reload").0, Some(0));
    assert_ne!(octane.get("/pid").text(), pid);
    let pid = octane.get("/pid").text();

    // An application that does not boot is rejected, and the active one continues.
    let bootstrap = octane.folder.path().join("bootstrap/app.php");
    let text = fs::read_to_string(&bootstrap).expect("it can be read");
    let broken = "declare(strict_types=1);\nif (isset($_SERVER['FRANKENPHP_WORKER'])) { throw new Exception('no boot'); }";
    let text = text.replace("declare(strict_types=1);", broken);
    fs::write(&bootstrap, text).expect("written");
    let (status, said) = octane.command("octane:reload");
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("no boot"), "{said}");
    octane.get("/pid").assert(200, &pid);
}

#[test]
fn requests_see_nothing_of_each_other() {
    let Some(octane) = Octane::start(&[]) else {
        return;
    };
    let pid = octane.get("/pid").text();
    let login = octane.get("/become/alice");
    login.assert(200, "alice");
    let cookies = login.head.header_all("set-cookie");
    let session = cookies.iter().find(|one| one.starts_with("notes_session="));
    let cookie = session
        .and_then(|one| one.split(';').next())
        .expect("a session");
    for end in ["/exit", "/throw", "/nosuch", "/settings"] {
        let alice = |target: &str| octane.send(&Request::get(target).header("Cookie", cookie));
        alice(end);
        octane.get("/who").assert(200, "nobody");
        alice("/who").assert(200, "alice");
    }
    octane.get("/exit").assert(200, "exited");
    let fresh = octane.get("/settings").json();
    assert_eq!(fresh[2], json!("en"));
    assert_eq!(octane.get("/settings").json(), fresh);
    octane
        .get("/stream")
        .assert(200, "part 1\npart 2\npart 3\n");
    octane.get("/pid").assert(200, &pid);
    octane.stop();
}

#[test]
fn terminate_callbacks_run_after_the_response() {
    let Some(octane) = Octane::start(&[]) else {
        return;
    };
    let mut gate = Gate::new(octane.folder.path(), "gate").expect("a gate");
    let page = format!("/later?gate={}", encode(gate.path()));
    octane.get(&page).assert(200, "sent");
    gate.reached();
    gate.open(1);
    octane.get("/who").assert(200, "nobody");
    octane.stop();
}

#[test]
fn a_transaction_that_is_left_open_is_rolled_back() {
    let Some(octane) = Octane::start(&[]) else {
        return;
    };
    fs::write(octane.folder.path().join("data/laravel.sqlite"), "").expect("written");
    octane.get("/table").assert(200, "made");
    for _ in 0..3 {
        octane.get("/leave").assert(200, "left");
        octane.get("/rows").assert(200, "0");
    }
}

#[test]
fn concurrency_is_refused() {
    let caddyfile = tempfile::NamedTempFile::new().expect("a file");
    let text = include_str!("../../../../php/octane/stubs/Caddyfile");
    let text = text.replace("name octane\n", "name octane\nconcurrency 2\n");
    fs::write(caddyfile.path(), text).expect("written");
    let option = format!("--caddyfile={}", caddyfile.path().display());
    let Some(octane) = Octane::start(&[&option]) else {
        return;
    };
    let mut gate = Gate::new(octane.folder.path(), "gate").expect("a gate");
    let page = format!("/later?gate={}", encode(gate.path()));
    octane.get(&page).assert(200, "sent");
    gate.reached();
    octane.get("/pid").assert_status(500);
    gate.open(1);
}
