//! Requests of every kind in one process, a hundred at a time, each of which looks again and again whether it
//! still has what is its own.
//!
//! `HOWDAH_SOAK` says how many requests there are (default 1000). Databases take part if the environment names
//! them, as `make soak` does it: see `tests/worker/coroutine/soak.php`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use howdah_testkit::client::ClientError;
use howdah_testkit::load::CONCURRENCY;
use howdah_testkit::{Request, Response};
use howdah_tests::meeting::Meeting;
use howdah_tests::traffic::{Client, during, many};

/// What needs nothing but PHP.
const PLAIN: [&str; 14] = [
    "sleep",
    "yield",
    "buffer",
    "fiber",
    "generator",
    "callback",
    "autoload",
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
struct Plan {
    id: String,
    ops: Vec<&'static str>,
    request: Request,
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

fn plan(client: &mut Client<'_>, kinds: &[&'static str], host: &str) -> Plan {
    let n = client.number_next();
    let mut chance = Chance((client.number * 1_000_003 + n) as u64);
    let mut ops: Vec<_> = (0..=chance.below(4))
        .map(|_| kinds[chance.below(kinds.len())])
        .collect();
    // How it ends, if in another way than by itself.
    ops.extend(match chance.below(40) {
        0..4 => Some("exit"),
        4..6 => Some("throw"),
        6 if n.is_multiple_of(2) => Some("fatal"),
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
    Plan { id, ops, request }
}

#[track_caller]
fn check(plan: &Plan, result: Result<Response, ClientError>) {
    let response = result.unwrap_or_else(|error| panic!("{} {:?}: {error}", plan.id, plan.ops));
    match plan.ops.last() {
        Some(&"throw" | &"fatal") => response.assert_status(500),
        _ => assert_eq!(response.text(), format!("ok {}", plan.id), "{:?}", plan.ops),
    }
}

#[test]
fn every_request_keeps_what_is_its_own() {
    let meeting = Meeting::new();
    for n in 0..20 {
        let class = format!(
            "<?php final class Soak{n} {{ public function name(): string {{ return 'Soak{n}'; }} }}"
        );
        meeting.write(&format!("Soak{n}.php"), &class);
    }
    let mut kinds = PLAIN.to_vec();
    let mut env = String::new();
    for (kind, variable) in SERVICES {
        if let Ok(value) = std::env::var(variable) {
            kinds.push(kind);
            env.extend(["env ", variable, " \"", value.as_str(), "\"\n"]);
        }
    }
    let sessions = meeting.path().display();
    let server = meeting.serve_script(
        "soak.php",
        &format!("max_wait_time 30s\nphp_ini {{\nsession.save_path {sessions}\n}}"),
        &format!("num 1\nconcurrency 200\n{env}"),
    );
    for text in [
        "on purpose",
        "Stack trace",
        "  thrown in",
        "fatal error",
        "soak.php",
    ] {
        server.allow_log(text);
    }
    // Where the application asks itself.
    let host = server.address().to_string();
    let wanted = many("HOWDAH_SOAK", 1000);
    let pids = Mutex::new(BTreeMap::new());
    let round = |client: &mut Client<'_>| {
        let plan = plan(client, &kinds, &host);
        if client.number % 10 == 9 && plan.id.len().is_multiple_of(3) {
            // Leaves in the middle.
            let mut connection = server.connect();
            connection.send(&plan.request).expect("sent");
            connection.reset().expect("reset");
            return;
        }
        let result = client.exchange(&plan.request);
        if let Some(pid) = result
            .as_ref()
            .ok()
            .and_then(|response| response.header("x-pid"))
        {
            *pids
                .lock()
                .expect("no panic")
                .entry(pid.to_owned())
                .or_insert(0) += 1;
        }
        check(&plan, result);
    };
    let ((), rounds) = during(&server, CONCURRENCY, round, |traffic| {
        for _ in 0..wanted.div_ceil(100) {
            traffic.wait(100);
        }
    });
    let pids = pids.into_inner().expect("no panic");
    println!("{rounds} requests of {kinds:?} in {} processes", pids.len());
}
