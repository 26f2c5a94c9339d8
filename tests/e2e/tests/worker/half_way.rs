//! However the code of a request is interrupted, later requests see neither its login nor a request
//! that seems to be in flight. The tests use Symfony's kernel, Laravel's container as in Octane,
//! and services like CodeIgniter's, in worker mode and with concurrent requests. They also use
//! CodeIgniter and Octane themselves, if `HOWDAH_CODEIGNITER` and `HOWDAH_OCTANE` name their
//! folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use howdah_testkit::load::at_once;
use howdah_testkit::{Request, Server, process};
use howdah_tests::worker::scripts;
use howdah_tests::{caddyfile, codeigniter, octane};

/// Interruptions after which the process is kept.
const KEPT: &[&str] = &[
    "exit",
    "exit-in-callback",
    "exit-in-destructor",
    "exit-in-shutdown",
    "exit-in-output",
    "exit-in-generator",
    "exit-in-fiber",
    "output-throws",
    "fiber-in-circle",
];

/// Interruptions after which the process is replaced.
const REPLACED: &[&str] = &[
    "exit-swallowed",
    "exit-replaced",
    "fiber",
    "generator",
    "time",
    "memory",
    "fatal",
];

struct Application {
    /// Creates the application in this folder if necessary. Returns its document root, or `None` if
    /// the framework is missing.
    install: fn(&Path) -> Option<PathBuf>,
    script: &'static str,
    /// Options of the worker.
    lines: &'static str,
    /// Response to a visitor without a login, and to alice.
    nobody: &'static str,
    alice: &'static str,
    who: &'static str,
    end: &'static str,
}

#[expect(clippy::unnecessary_wraps, reason = "one of several ways to install")]
fn own(_: &Path) -> Option<PathBuf> {
    Some(scripts().join("half_way"))
}

const SYMFONY: Application = Application {
    install: own,
    script: "symfony.php",
    lines: "",
    nobody: "nobody in /who below none",
    alice: "alice in /who below none",
    who: "/who",
    end: "/end",
};

/// Folder of PHP libraries in distributions.
const PACKAGES: &str = "/usr/share/php";

const SANDBOX: Application = Application {
    install: |folder| {
        if !Path::new(PACKAGES).join("Illuminate/Container").is_dir() {
            println!("skipped: php-illuminate-container is not installed; Ubuntu does not have it");
            return None;
        }
        own(folder)
    },
    script: "sandbox.php",
    nobody: "nobody",
    alice: "alice",
    who: "/",
    end: "/",
    lines: "",
};

const SERVICES: Application = Application {
    install: own,
    script: "services.php",
    ..SANDBOX
};

const CODEIGNITER: Application = Application {
    install: |folder| {
        let root = codeigniter::install(folder, "")?;
        append(&folder.join("app/Common.php"), &boot());
        Some(root)
    },
    script: "frankenphp-worker.php",
    who: "/halfway/who",
    end: "/halfway/end",
    ..SANDBOX
};

const OCTANE: Application = Application {
    install: |folder| {
        let root = octane::install(folder)?;
        append(&folder.join("vendor/autoload.php"), &boot());
        let routes = scripts().join("half_way/laravel/routes.inc");
        let routes = fs::read_to_string(routes).expect("it can be read");
        append(&folder.join("app/routes.php"), &routes);
        Some(root)
    },
    script: "frankenphp-worker.php",
    // Octane boots the application in the first request, and restores changes of requests itself.
    lines: "keep all\n",
    who: "/who",
    end: "/end",
    ..SANDBOX
};

/// Code that an application runs at its boot.
fn boot() -> String {
    let ways = scripts().join("half_way/ways.inc");
    format!(
        "\nrequire_once '{}';\nHalfWay\\note_boot();\n",
        ways.display()
    )
}

fn append(file: &Path, text: &str) {
    let before = fs::read_to_string(file).expect("it can be read");
    fs::write(file, before + text).expect("written");
}

struct Running<'a> {
    application: &'a Application,
    server: Server,
    folder: tempfile::TempDir,
}

impl<'a> Running<'a> {
    fn start(application: &'a Application, lines: &str) -> Option<Self> {
        let num = if lines.contains("num ") {
            ""
        } else {
            "num 1\n"
        };
        let folder = tempfile::tempdir().expect("a folder");
        let root = (application.install)(folder.path())?;
        let global = format!(
            "admin off\nfrankenphp {{\nnum_threads 1\nworker {{\nname app\nfile {}\n\
             env HALF_WAY_BOOTS {}\nenv HALF_WAY_DIR {}\n{num}{}{lines}\n}}\n}}",
            root.join(application.script).display(),
            folder.path().join("boots").display(),
            folder.path().display(),
            application.lines
        );
        let site = format!(
            "root * {}\nmetrics /metrics\nphp_server {{\nindex {}\n}}",
            root.display(),
            application.script
        );
        let text = caddyfile(&global, &site);
        let server = Server::caddyfile(text).start();
        for text in [
            "fatal error",
            "PHP Fatal error",
            "on purpose",
            "Allowed memory size",
            "Maximum execution time",
            "from the callback",
            "LogicException",
            "Stack trace",
            "thrown in",
        ] {
            server.allow_log(text);
        }
        server.allow_hogs();
        Some(Self {
            application,
            server,
            folder,
        })
    }

    fn boots(&self) -> usize {
        let noted = fs::read(self.folder.path().join("boots"));
        noted.expect("boots were noted").len()
    }

    fn end(&self, way: &str) {
        let response = self
            .server
            .get(&format!("{}?way={way}", self.application.end));
        assert!(
            matches!(response.head.status, 200 | 500),
            "{way}: {}",
            response.head.status
        );
    }

    /// Checks responses to a visitor without a login, with a login, and again without.
    fn looks_fresh(&self, after: &str) {
        let Application {
            who, nobody, alice, ..
        } = self.application;
        for (target, expected) in [
            ((*who).to_owned(), nobody),
            (format!("{who}?login=alice"), alice),
            ((*who).to_owned(), nobody),
        ] {
            let response = self.server.get(&target);
            assert_eq!(response.text(), *expected, "after {after}");
            assert_eq!(response.head.status, 200, "after {after}");
        }
    }

    /// Checks that no request runs. With concurrent requests, the next one would be in its process.
    fn is_idle(&self) {
        let idle = || {
            let page = self.server.get("/metrics").text();
            page.contains("howdah_php_requests_in_flight{pool=\"app\"} 0\n")
        };
        assert!(process::wait_until(Duration::from_secs(10), idle));
    }

    fn exits(&self, outcome: &str, reason: &str) -> u64 {
        let labels = format!(r#"pool="app",outcome="{outcome}",reason="{reason}""#);
        let line = format!("howdah_php_exits_total{{{labels}}} ");
        let page = self.server.get("/metrics").text();
        let value = page.lines().find_map(|at| at.strip_prefix(&line));
        value.and_then(|value| value.parse().ok()).expect("a count")
    }
}

fn no_later_request_sees_anything(application: &Application, lines: &str) {
    let Some(running) = Running::start(application, lines) else {
        return;
    };
    let boots = running.boots();
    running.looks_fresh("nothing");
    for way in KEPT.iter().chain(REPLACED) {
        running.end(way);
        running.looks_fresh(way);
    }
    assert_eq!(running.boots(), boots, "a request waited for a boot");
}

macro_rules! of_each_application {
    ($($name:ident = $application:expr;)+) => {$(
        mod $name {
            use super::*;

            #[test]
            fn one_at_a_time() {
                no_later_request_sees_anything(&$application, "");
            }

            #[test]
            fn several_at_a_time() {
                no_later_request_sees_anything(&$application, "concurrency 4");
            }

            #[test]
            fn with_exit_restart() {
                no_later_request_sees_anything(&$application, "exit restart");
            }

            #[test]
            fn clients_that_disconnect_with_one_request_at_a_time() {
                clients_that_leave(&$application, "");
            }

            #[test]
            fn clients_that_disconnect_with_several_requests_at_a_time() {
                clients_that_leave(&$application, "concurrency 4");
            }
        }
    )+};
}

of_each_application! {
    symfony = SYMFONY;
    sandbox = SANDBOX;
    services = SERVICES;
    codeigniter_itself = CODEIGNITER;
    octane_itself = OCTANE;
}

fn clients_that_leave(application: &Application, lines: &str) {
    let Some(running) = Running::start(application, lines) else {
        return;
    };
    for _ in 0..5 {
        let mut connection = running.server.connect();
        let target = format!("{}?way=client", application.end);
        connection.send(&Request::get(target)).expect("sent");
        connection.begin("GET").expect("a head");
        drop(connection);
        running.is_idle();
        running.looks_fresh("a client that left");
    }
    assert_eq!(running.boots(), 1);
}

#[test]
fn exits_are_counted() {
    let running = Running::start(&SERVICES, "").expect("it is ours");
    for way in [
        "exit",
        "exit",
        "exit-swallowed",
        "exit-replaced",
        "generator",
    ] {
        running.end(way);
    }
    let counted = || {
        running.exits("kept", "exit") == 2
            && running.exits("replaced", "skipped") == 1
            && running.exits("replaced", "lost") == 1
            && running.exits("replaced", "suspended") == 1
    };
    assert!(process::wait_until(Duration::from_secs(10), counted));
}

#[test]
fn none_fails_while_processes_are_replaced() {
    let running = Running::start(&SERVICES, "num 4").expect("it is ours");
    let ways = ["exit-swallowed", "exit-replaced", "generator", "exit"];
    at_once(8, |client| {
        for n in 0..25 {
            if n % 2 == 0 {
                let target = format!("/?way={}", ways[(client + n) % ways.len()]);
                running.server.get(&target).assert_status(200);
            } else {
                running.server.get("/").assert(200, "nobody");
            }
        }
    });
    assert_eq!(running.boots(), 1, "a request waited for a boot");
}
