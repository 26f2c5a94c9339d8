//! Requests of every kind in one process, each of which looks again and again whether it still has what is its
//! own: `tests/worker/coroutine/soak.php`. Databases take part if the environment names them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;

use howdah_testkit::client::ClientError;
use howdah_testkit::load::CONCURRENCY;
use howdah_testkit::{PATIENCE, Request, Response, Server, howdah_php, process};

use crate::admin::Admin;
use crate::meeting::Meeting;
use crate::traffic::{Client, during};

/// What needs nothing but PHP.
const PLAIN: [&str; 25] = [
    "sleep",
    "yield",
    "buffer",
    "fiber",
    "generator",
    "callback",
    "autoload",
    "link",
    "constant",
    "magic",
    "lazy",
    "mbregex",
    "name",
    "apcu",
    "cancel",
    "include",
    "compile",
    "wrapper",
    "session",
    "file",
    "lock",
    "http",
    "curl",
    "process",
    "sqlite",
];

/// What needs a service, and the variables that name it.
const SERVICES: [(&str, &str); 6] = [
    ("pgsql", "SOAK_PGSQL"),
    ("mysql", "SOAK_MYSQL"),
    ("mysqli", "SOAK_MYSQLI"),
    ("redis", "SOAK_REDIS"),
    ("memcached", "SOAK_MEMCACHED"),
    ("https", "SOAK_HTTPS"),
];

/// Numbers that look as if by chance, and are the same in each run (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) as usize % limit
    }
}

/// What one request is to do.
#[derive(Debug)]
pub struct Plan {
    /// Its own name.
    pub id: String,
    /// One after another.
    pub ops: Vec<&'static str>,
    request: Request,
    /// The client does not wait for the response.
    leaves: bool,
}

fn upload(request: Request, id: &str) -> Request {
    let part = |head: &str, body: &str| {
        format!("--soak\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n")
    };
    let file = part("name=\"file\"; filename=\"a\"", &id.repeat(1000));
    let body = format!("{}{file}--soak--\r\n", part("name=\"field\"", id));
    request
        .header("Content-Type", "multipart/form-data; boundary=soak")
        .body(body)
}

/// How a run differs.
#[derive(Debug, Default)]
pub struct Settings {
    /// Some requests end in fatal errors, each of which costs the process.
    pub fatal: bool,
    /// Of php.ini.
    pub ini: &'static str,
    /// Of the `worker` block.
    pub worker: &'static str,
    /// A PHP executable with faults, and which of them it is to have (`worker/tests/faults.c`).
    pub fault: Option<(PathBuf, &'static str)>,
}

fn plan(client: &mut Client<'_>, kinds: &[&'static str], host: &str, fatal: bool) -> Plan {
    let n = client.number_next();
    let mut chance = Chance((client.number * 1_000_003 + n) as u64);
    let mut ops: Vec<_> = (0..=chance.below(4))
        .map(|_| kinds[chance.below(kinds.len())])
        .collect();
    // How it ends, if in another way than by itself.
    ops.extend(match chance.below(40) {
        0..4 => Some("exit"),
        4..6 => Some("throw"),
        6 if fatal && n.is_multiple_of(2) => Some("fatal"),
        7..10 => Some("upload"),
        _ => None,
    });
    let id = format!("{}x{n}", client.number);
    let target = format!("/?op={}&id={id}&client={}", ops.join(","), client.number);
    // Not to be run again, as none of it may be lost.
    let request = Request::new("POST", target).header("X-Id", &id).host(host);
    let request = if ops.last() == Some(&"upload") {
        upload(request, &id)
    } else {
        request
    };
    Plan {
        id,
        ops,
        request,
        leaves: client.number % 10 == 9 && n.is_multiple_of(3),
    }
}

/// What is wrong with a response, if anything is.
pub fn complaint(plan: &Plan, result: &Result<Response, ClientError>) -> Option<String> {
    let response = match result {
        Ok(response) => response,
        Err(error) => return Some(error.to_string()),
    };
    let text = response.text();
    let good = match plan.ops.last() {
        Some(&"throw" | &"fatal") => response.status() == 500,
        _ => text == format!("ok {}", plan.id),
    };
    (!good).then(|| format!("{} {text}", response.status()))
}

/// A server that the requests are sent to, and what has been seen of it.
#[derive(Debug)]
pub struct Soak {
    /// What requests do.
    pub kinds: Vec<&'static str>,
    /// Where they are sent to.
    pub server: Server,
    fatal: bool,
    pids: Mutex<BTreeSet<String>>,
    /// Its folder, which goes last.
    _meeting: Meeting,
}

impl Soak {
    /// Starts it; `HOWDAH_PHP` names another PHP executable than the one beside `howdah`.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn start(settings: &Settings) -> Self {
        let meeting = Meeting::new();
        for n in 0..20 {
            let class = format!(
                "<?php final class Soak{n} {{ public function name(): string {{ return 'Soak{n}'; }} }}"
            );
            meeting.write(&format!("Soak{n}.php"), &class);
            for (name, code) in [
                (
                    "Parent",
                    format!(
                        "class Parent{n} {{ public function name(): string {{ return self::class; }} }}"
                    ),
                ),
                (
                    "Child",
                    format!("final class Child{n} extends Parent{n} {{}}"),
                ),
                (
                    "Named",
                    format!("final class Named{n} {{ const NAME = self::class; }}"),
                ),
                (
                    "Constant",
                    format!("final class Constant{n} {{ const NAME = Named{n}::NAME; }}"),
                ),
            ] {
                meeting.write(&format!("{name}{n}.php"), &format!("<?php {code}"));
            }
        }
        for n in 0..4 {
            // Declared when it runs, and others want it meanwhile.
            let late = format!("<?php usleep(50000); if (true) {{ function late{n}() {{}} }}");
            meeting.write(&format!("late{n}.php"), &late);
        }
        meeting.write("lazy.php", "<?php return $_REQUEST['id'] ?? null;");
        let mut kinds = PLAIN.to_vec();
        let mut env = String::new();
        for (kind, variable) in SERVICES {
            if let Ok(value) = std::env::var(variable) {
                kinds.push(kind);
                env.extend(["env ", variable, " \"", value.as_str(), "\"\n"]);
            }
        }
        let sessions = meeting.path().display();
        let (ini, worker) = (settings.ini, settings.worker);
        let php = settings.fault.as_ref().map(|(php, _)| php.clone());
        let php = php.unwrap_or_else(howdah_php);
        let mut builder = meeting.script(
            "soak.php",
            &format!(
                "max_wait_time 30s\nphp {}\nphp_ini {{\nsession.save_path {sessions}\n\
                 howdah.pool_wait 60\n{ini}\n}}",
                php.display()
            ),
            &format!("num 1\nconcurrency 200\n{worker}\n{env}"),
        );
        if let Some((_, fault)) = settings.fault {
            builder = builder.env("HOWDAH_FAULT", fault).keeps_files();
        }
        let server = builder.start();
        server.allow_hogs();
        // What is left by clients that leave, or by fatal errors.
        for text in ["on purpose", "fatal error"] {
            server.allow_log(text);
        }
        Self {
            kinds,
            server,
            fatal: settings.fatal,
            pids: Mutex::default(),
            _meeting: meeting,
        }
    }

    /// Sends so many requests and `answered` each response, with its plan.
    ///
    /// # Panics
    /// If there are no answers any more, or `answered` does.
    pub fn send(
        &self,
        count: usize,
        answered: impl Fn(&Plan, &Result<Response, ClientError>) + Sync,
    ) -> usize {
        // Where the application asks itself.
        let host = self.server.address().to_string();
        let round = |client: &mut Client<'_>| {
            let plan = plan(client, &self.kinds, &host, self.fatal);
            if plan.leaves {
                let mut connection = self.server.connect();
                connection.send(&plan.request).expect("sent");
                connection.reset().expect("reset");
                return;
            }
            let result = client.exchange(&plan.request);
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

    /// The same; all is to be well.
    ///
    /// # Panics
    /// If it is not.
    pub fn run(&self, count: usize) -> usize {
        self.send(count, |plan, result| {
            if let Some(complaint) = complaint(plan, result) {
                panic!("{} {:?}: {complaint}", plan.id, plan.ops);
            }
        })
    }

    /// The processes that have answered.
    ///
    /// # Panics
    /// If a client has.
    pub fn pids(&self) -> BTreeSet<String> {
        self.pids.lock().expect("no panic").clone()
    }

    /// The one process that has answered everything.
    ///
    /// # Panics
    /// If there were others.
    #[track_caller]
    pub fn only_pid(&self) -> u32 {
        let pids = self.pids();
        assert_eq!(pids.len(), 1, "the process was replaced: {pids:?}");
        let pid = pids.into_iter().next().expect("one");
        pid.parse().expect("a process id")
    }

    /// KiB of memory of the process, without what it shares with others, when nothing is on its way.
    ///
    /// # Panics
    /// If something stays on its way.
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
