//! Requests of every kind in one process. Each request repeatedly checks that its state is still
//! its own: `tests/worker/coroutine/soak.php`. Databases are included if the environment names
//! them.

mod kinds;
mod plan;
mod report;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use howdah_testkit::client::ClientError;
use howdah_testkit::load::CONCURRENCY;
use howdah_testkit::{PATIENCE, Request, Response, Server, howdah_php, process};

use self::plan::Leaves;
pub use self::plan::{Plan, complaint};
pub use self::report::Report;
use crate::admin::Admin;
use crate::meeting::Meeting;
use crate::traffic::{Client, during};

/// The extension of `worker/tests/probe.c`, which `make -C worker driver` builds next to
/// `howdah-php`.
const PROBE: &str = "SOAK_PROBE";

/// Number of responses between two crashes.
const BETWEEN_CRASHES: usize = 500;

/// Crashes of a run, and responses since the last crash.
#[derive(Debug, Default)]
struct Crashes {
    begun: AtomicUsize,
    ended: AtomicUsize,
    responses: AtomicUsize,
}

/// Settings of a run.
#[derive(Debug, Default)]
pub struct Settings {
    /// Some requests end in fatal errors, each of which terminates the process.
    pub fatal: bool,
    /// Some requests crash their process.
    pub crashes: bool,
    /// Settings of php.ini.
    pub ini: &'static str,
    /// Lines of the `worker` block.
    pub worker: &'static str,
    /// A PHP executable with faults, and the fault to enable (`worker/tests/faults.c`).
    pub fault: Option<(PathBuf, &'static str)>,
}

/// Writes the files that requests load. Several requests load each file at the same time.
fn write_classes(meeting: &Meeting) {
    for n in 0..20 {
        for (name, code) in [
            (
                "Soak",
                format!("final class Soak{n} {{ function name() {{ return 'Soak{n}'; }} }}"),
            ),
            (
                "Parent",
                format!("class Parent{n} {{ function name() {{ return self::class; }} }}"),
            ),
            (
                "Child",
                format!("final class Child{n} extends Parent{n} {{}}"),
            ),
            ("Base", format!("interface Base{n} {{}}")),
            ("Face", format!("interface Face{n} extends Base{n} {{}}")),
            (
                "Trait",
                format!("trait Trait{n} {{ function name() {{ return self::class; }} }}"),
            ),
            (
                "Uses",
                format!("final class Uses{n} implements Face{n} {{ use Trait{n}; }}"),
            ),
            (
                "Named",
                format!("final class Named{n} {{ const NAME = self::class; }}"),
            ),
            (
                "Constant",
                format!("final class Constant{n} {{ const NAME = Named{n}::NAME; }}"),
            ),
            (
                "Enum",
                format!("enum Enum{n}: string {{ case A = Named{n}::NAME; const B = self::A; }}"),
            ),
            (
                "Default",
                format!(
                    "final class Default{n} {{ public $name = Named{n}::NAME; \
                     static $static = Named{n}::NAME; }}"
                ),
            ),
        ] {
            meeting.write(&format!("{name}{n}.php"), &format!("<?php {code}"));
        }
    }
    for n in 0..4 {
        // The function is declared at run time, while other requests need it.
        let late = format!("<?php usleep(50000); if (true) {{ function late{n}() {{}} }}");
        meeting.write(&format!("late{n}.php"), &late);
    }
    meeting.write("lazy.php", "<?php return $_REQUEST['id'] ?? null;");
}

/// Path of the extension that stands for extensions that Howdah does not know.
fn probe(php: &Path) -> Option<PathBuf> {
    let folders = php.ancestors().skip(1).take(2);
    let found = folders
        .map(|folder| folder.join("probe.so"))
        .find(|file| file.is_file());
    if found.is_none() {
        println!("no objects of an unknown extension: `make -C worker driver` builds one");
    }
    found
}

/// A server that receives the requests, and the results so far.
#[derive(Debug)]
pub struct Soak {
    /// The server under test.
    pub server: Server,
    /// Results of the requests.
    pub report: Report,
    steps: Vec<&'static str>,
    settings: Settings,
    crashes: Crashes,
    pids: Mutex<BTreeSet<String>>,
    /// Folder of the server. It must be dropped last.
    _meeting: Meeting,
}

impl Soak {
    /// Starts the server. `HOWDAH_PHP` names a PHP executable to use instead of the one next to
    /// `howdah`.
    ///
    /// # Panics
    /// Panics if the server does not start.
    #[track_caller]
    pub fn start(settings: Settings) -> Self {
        let meeting = Meeting::new();
        write_classes(&meeting);
        let php = settings.fault.as_ref().map(|(php, _)| php.clone());
        let php = php.unwrap_or_else(howdah_php);
        let probe = probe(&php);
        let mut env = String::new();
        for variable in kinds::variables() {
            if let Ok(value) = std::env::var(variable) {
                env.extend(["env ", variable, " \"", value.as_str(), "\"\n"]);
            }
        }
        let steps = kinds::steps(|variable| match variable {
            PROBE => probe.is_some(),
            _ => std::env::var_os(variable).is_some(),
        });
        let extension = probe.map(|file| format!("extension {}\n", file.display()));
        let mut builder = meeting.script(
            "soak.php",
            &format!(
                "max_wait_time 30s\nphp {}\nphp_ini {{\nsession.save_path {}\n\
                 howdah.pool_wait 60\n{}{}\n}}",
                php.display(),
                meeting.path().display(),
                extension.unwrap_or_default(),
                settings.ini
            ),
            &format!(
                "num 1\nconcurrency 200\nconnections ignore\n{}\n{env}",
                settings.worker
            ),
        );
        if let Some((_, fault)) = settings.fault {
            builder = builder.env("HOWDAH_FAULT", fault).keeps_files();
        }
        let server = builder.start();
        server.allow_hogs();
        // Messages caused by clients that disconnect, by calls that are aborted, or by fatal
        // errors. A request with a connected client would report the last kind, too.
        for text in [
            "on purpose",
            "fatal error",
            "rolled back a transaction",
            "again: no reason was given",
        ] {
            server.allow_log(text);
        }
        if settings.fatal {
            for text in [
                "Allowed memory size",
                "the request's stack",
                "Maximum call stack size",
            ] {
                server.allow_log(text);
            }
        }
        if settings.crashes {
            for text in [
                "worker died",
                "crash reports were dropped",
                "the PHP process crashed",
                "crashed while running",
            ] {
                server.allow_log(text);
            }
        }
        Self {
            server,
            report: Report::default(),
            steps,
            settings,
            crashes: Crashes::default(),
            pids: Mutex::default(),
            _meeting: meeting,
        }
    }

    fn next(&self, client: &mut Client<'_>, host: &str) -> Plan {
        // Only one client crashes the process, so that there is one crash at a time.
        let is_due = || self.crashes.responses.load(Ordering::Relaxed) >= BETWEEN_CRASHES;
        if self.settings.crashes && client.number == 0 && is_due() {
            self.crashes.responses.store(0, Ordering::Relaxed);
            return Plan::crash(client, host);
        }
        Plan::next(client, &self.steps, host, &self.settings)
    }

    /// Sends a request whose client disconnects.
    fn send_and_leave(&self, plan: &Plan, client: &mut Client<'_>, host: &str) {
        let mut connection = self.server.connect();
        connection.send(&plan.request).expect("sent");
        if plan.leaves == Leaves::Later {
            let echo = Request::get(format!("/?op=echo&id={}", plan.id)).host(host);
            let response = client.exchange(&echo).expect("a response");
            if self.settings.fault.is_none() {
                response.assert(200, &plan.id);
            }
        }
        connection.reset().expect("reset");
    }

    /// Sends `count` requests and calls `answered` for each response, with its plan.
    ///
    /// # Panics
    /// Panics if there are no more responses, or if `answered` panics.
    pub fn send(
        &self,
        count: usize,
        answered: impl Fn(&Plan, &Result<Response, ClientError>) + Sync,
    ) -> usize {
        // Address at which the application sends requests to itself.
        let host = self.server.address().to_string();
        let round = |client: &mut Client<'_>| {
            let plan = self.next(client, &host);
            self.report.sent(&plan);
            if plan.leaves != Leaves::Never {
                self.send_and_leave(&plan, client, &host);
                return;
            }
            let crashes = self.crashes.ended.load(Ordering::SeqCst);
            let crash = usize::from(plan.ops == ["crash"]);
            self.crashes.begun.fetch_add(crash, Ordering::SeqCst);
            let result = client.exchange(&plan.request);
            self.crashes.ended.fetch_add(crash, Ordering::SeqCst);
            self.crashes.responses.fetch_add(1, Ordering::Relaxed);
            // A request is retried once.
            let lived_through = self.crashes.begun.load(Ordering::SeqCst) - crashes;
            let is_lost = |response: &Response| response.status() == 502;
            if crash == 0 && lived_through > 1 && result.as_ref().is_ok_and(is_lost) {
                return;
            }
            self.report.received(&plan, &result);
            let response = result.as_ref().ok();
            if let Some(pid) = response.and_then(|response| response.header("x-pid")) {
                self.pids.lock().expect("no panic").insert(pid.to_owned());
            }
            answered(&plan, &result);
        };
        let ((), rounds) = during(&self.server, CONCURRENCY, round, |traffic| {
            for _ in 0..count.div_ceil(100) {
                traffic.wait(100);
            }
        });
        rounds
    }

    /// Sends `count` requests and checks that all responses are right.
    ///
    /// # Panics
    /// Panics if one is not.
    pub fn run(&self, count: usize) -> usize {
        self.send(count, |plan, result| {
            if let Some(complaint) = complaint(plan, result) {
                panic!("{} {:?}: {complaint}", plan.id, plan.ops);
            }
        })
    }

    /// Process ids from all responses.
    ///
    /// # Panics
    /// Panics if a client has panicked.
    pub fn pids(&self) -> BTreeSet<String> {
        self.pids.lock().expect("no panic").clone()
    }

    /// Id of the one process that handled all requests.
    ///
    /// # Panics
    /// Panics if there were several processes.
    #[track_caller]
    pub fn only_pid(&self) -> u32 {
        let pids = self.pids();
        assert_eq!(pids.len(), 1, "the process was replaced:\n{}", self.ends());
        let pid = pids.into_iter().next().expect("one");
        pid.parse().expect("a process id")
    }

    /// How processes and requests of the pool ended, as counted by the metrics, and why processes were replaced.
    fn ends(&self) -> String {
        let page = Admin::of(&self.server).get("/metrics").text();
        let counted = |line: &&str| {
            ["howdah_php_workers_ended_total", "howdah_php_exits_total"]
                .iter()
                .any(|name| line.starts_with(&format!("{name}{{pool=\"app\"")))
                && !line.ends_with(" 0")
        };
        let log = self.server.log();
        let reasons = log.containing("This process is replaced after");
        let reasons = reasons.iter().map(|line| line.raw.as_str());
        page.lines()
            .filter(counted)
            .chain(reasons)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Private memory of the process in KiB, when no request is in flight.
    ///
    /// # Panics
    /// Panics if a request stays in flight.
    #[track_caller]
    pub fn memory(&self) -> u64 {
        let admin = Admin::of(&self.server);
        let idle = || admin.get("/status").json()["pools"][1]["in_flight"] == 0;
        assert!(
            process::wait_until(PATIENCE, idle),
            "requests are still on their way"
        );
        process::memory_kib(self.only_pid(), "Private_")
    }
}
