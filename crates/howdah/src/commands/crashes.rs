//! `howdah crashes`: crash reports, from the running server or from its folder.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use howdah_observe::admin::{ClientError, Reply};
use howdah_pool::{CrashReport, CrashedRequest};
use serde::Deserialize;
use serde_json::{Value, json};

use super::remote::{CADDYFILE, LIMIT, client, success, version_mismatch};
use super::report::{printable, size, time};
use crate::cli;
use crate::cli::CrashesAction::{Clear, List, Show};
use crate::config::source;
use crate::crash_folder::CrashFolder;
use crate::failure::{Failure, Outcome, setup};
use crate::output::printed;
use crate::server::crash_reports::summary;
use howdah_config::Strictness;

/// The end of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// A report as `/crashes` lists it.
#[derive(Debug, Deserialize)]
struct Summary {
    number: u64,
    time: u64,
    #[serde(default)]
    server: String,
    cause: String,
    pool: String,
    role: String,
    method: Option<String>,
    uri: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Crashes {
    crashes: Vec<Summary>,
}

/// `howdah crashes`.
pub(crate) fn crashes(options: &cli::Crashes) -> Outcome {
    let target = match (options.action, options.number) {
        (Show, Some(number)) => format!("/crashes?number={number}"),
        (Show, None) => return Err(setup("`howdah crashes show` needs the number of a report")),
        (_, Some(_)) => return Err(setup("only `howdah crashes show` takes a number")),
        _ => "/crashes".to_owned(),
    };
    let method = if options.action == Clear {
        "DELETE"
    } else {
        "GET"
    };
    let reply = client(&options.server)?.request(method, &target, Some(LIMIT));
    let shown = match reply {
        // Over TCP a server shows no reports that PHP must not read.
        Err(ClientError::NoServer { .. } | ClientError::Denied { .. }) => read_folder(options)?,
        Ok(reply) if reply.status == 403 => {
            if options.server.config.is_none() {
                eprintln!(
                    "howdah: the server shows no reports over TCP; these are those of the default folder or of \
                     ./Caddyfile: name the server's Caddyfile with -c if it has another `crash_reports`"
                );
            }
            read_folder(options)?
        }
        reply => json_of(&success(reply)?)?,
    };
    let text = if options.json {
        let text = serde_json::to_string_pretty(&shown).map_err(version_mismatch)?;
        // JSON does not escape all control characters.
        text.lines().fold(String::new(), |mut all, line| {
            all.push_str(&printable(line));
            all.push('\n');
            all
        })
    } else {
        match options.action {
            List => list(&serde_json::from_value(shown).map_err(version_mismatch)?),
            Show => details(&serde_json::from_value(shown).map_err(version_mismatch)?),
            Clear => format!("removed {}\n", shown["removed"]),
        }
    };
    printed(text)
}

fn json_of(reply: &Reply) -> Result<Value, Failure> {
    serde_json::from_slice(&reply.body).map_err(version_mismatch)
}

/// Reads the folder of the Caddyfile, or the default one, without the server.
fn read_folder(options: &cli::Crashes) -> Result<Value, Failure> {
    let file = options.server.config.as_deref();
    let file = file.or_else(|| {
        let usual = Path::new(CADDYFILE);
        usual.is_file().then_some(usual)
    });
    let config = match file {
        Some(file) => {
            source::look(file, Strictness::Lenient)
                .map_err(setup)?
                .config
        }
        None => howdah_config::model::Config::default(),
    };
    let folder =
        CrashFolder::of(&config).ok_or_else(|| setup("the Caddyfile has `crash_reports off`"))?;
    let path = folder.path().display();
    let failed = |error| {
        let hint = "name the server's Caddyfile with -c, or its Unix socket with --address";
        Failure::Runtime(format!("cannot use {path}: {error}; {hint}"))
    };
    Ok(match (options.action, options.number) {
        (Show, Some(number)) => match folder.read(number).map_err(failed)? {
            Some(report) => serde_json::to_value(report).map_err(version_mismatch)?,
            None => {
                return Err(Failure::Runtime(format!(
                    "crash report {number} does not exist in {path}; `howdah crashes` lists all reports"
                )));
            }
        },
        (Clear, _) => json!({"removed": folder.clear().map_err(failed)?}),
        _ => {
            let reports = folder.list().map_err(failed)?;
            let crashes: Vec<Value> = reports.iter().map(summary).collect();
            json!({"folder": path.to_string(), "crashes": crashes})
        }
    })
}

// Writing to a string does not fail.
fn list(shown: &Crashes) -> String {
    if shown.crashes.is_empty() {
        return "no process has crashed\n".into();
    }
    let mut text = String::new();
    let first = &shown.crashes[0].server;
    let is_shared = shown.crashes.iter().any(|own| own.server != *first);
    for own in &shown.crashes {
        let _ = write!(text, "{:>6}  {}", own.number, clock(own.time));
        if is_shared {
            let _ = write!(text, "  {}", printable(&own.server));
        }
        let _ = write!(text, "  {} {}", printable(&own.pool), printable(&own.role));
        let _ = write!(text, "  {}", printable(&own.cause));
        if let (Some(method), Some(uri)) = (&own.method, &own.uri) {
            let _ = write!(text, "  {} {}", printable(method), printable(uri));
        }
        text.push('\n');
    }
    text
}

fn details(report: &CrashReport) -> String {
    let mut text = String::new();
    let own = &report.process;
    let _ = writeln!(
        text,
        "crash {} at {}\n{}",
        report.number,
        clock(report.time),
        printable(&report.cause)
    );
    if report.core_dumped {
        text.push_str("The kernel has written a core dump.\n");
    }
    text.push('\n');
    if !report.server.is_empty() {
        let _ = writeln!(text, "server      {}", printable(&report.server));
    }
    let _ = write!(text, "process     {} {}", own.role, own.pid);
    if !own.pool.is_empty() {
        let _ = write!(text, " of pool {} ({})", printable(&own.pool), own.mode);
    }
    if let Some(worker) = own.worker {
        let _ = write!(text, ", place {worker}");
    }
    let _ = writeln!(
        text,
        ", generation {}, {} old",
        own.generation,
        time(own.age_ms)
    );
    if let Some(script) = &own.script {
        let _ = writeln!(text, "script      {}", printable(script));
    }
    let _ = writeln!(
        text,
        "served      {} requests, memory {}",
        own.requests,
        size(own.memory)
    );
    let _ = writeln!(
        text,
        "versions    howdah {}, PHP {}, {}",
        report.howdah,
        printable(&report.php),
        printable(&report.system)
    );
    let _ = writeln!(
        text,
        "extensions  {}",
        printable(&report.extensions.join(", "))
    );
    for request in &report.requests {
        write_request(&mut text, request);
    }
    lines(&mut text, "PHP backtrace", &report.php_backtrace);
    lines(&mut text, "C backtrace", &report.c_backtrace);
    lines(&mut text, "Last lines of its log", &report.log);
    lines(&mut text, "Notes", &report.notes);
    text
}

fn write_request(text: &mut String, request: &CrashedRequest) {
    let state = if request.ran { "ran" } else { "waited" };
    let _ = writeln!(
        text,
        "request     {} {state}: {} {}",
        printable(&request.id),
        printable(&request.method),
        printable(&request.uri)
    );
    for frame in &request.backtrace {
        let _ = writeln!(text, "            {}", printable(frame));
    }
}

fn lines(text: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{title}:");
        for line in lines {
            let _ = writeln!(text, "  {}", printable(line));
        }
    }
}

/// A time in UTC; an invalid one becomes the start of 1970.
fn clock(seconds: u64) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds.min(LAST_SECOND)));
    howdah_observe::access::rfc3339(time.unwrap_or(UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_shown_without_control_characters() {
        let report: CrashReport = serde_json::from_value(json!({
            "number": 3, "time": 0, "server": "/etc/howdah/Caddyfile", "cause": "SIGSEGV", "signal": null, "exit_status": null,
            "core_dumped": true,
            "process": {"pool": "app", "mode": "worker", "script": null, "role": "worker", "worker": 1, "pid": 5,
                "generation": 1, "age_ms": 1000, "requests": 7, "memory": 2048},
            "requests": [{"id": "ab", "method": "GET", "uri": "/\u{1b}[2J", "route": "GET /", "ran": true}],
            "php_backtrace": ["#0 f() /a.php:3"], "c_backtrace": [], "log": ["PHP Notice"], "howdah": "1",
            "php": "8.2", "system": "Linux", "extensions": ["Core", "date"], "notes": [],
        }))
        .expect("a report");
        let text = details(&report);
        for part in [
            "crash 3 at 1970",
            "\nserver      /etc/howdah/Caddyfile\n",
            "of pool app (worker), place 1, generation 1, 1.0s old",
            "request     ab ran: GET /\u{fffd}[2J\n",
            "\nPHP backtrace:\n  #0 f() /a.php:3\n",
            "\nLast lines of its log:\n  PHP Notice\n",
            "extensions  Core, date\n",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        assert!(!text.contains('\u{1b}') && !text.contains("C backtrace"));
    }

    #[test]
    fn a_list_names_the_servers_if_there_are_several() {
        let crash = |number, server: &str| {
            json!({"number": number, "time": 0, "server": server, "cause": "SIGSEGV", "pool": "php", "role": "worker",
                "method": "GET", "uri": "/"})
        };
        let shown = |crashes: [Value; 2]| {
            let crashes = json!({"crashes": crashes});
            list(&serde_json::from_value(crashes).expect("a list"))
        };
        let one = shown([crash(2, ":8080"), crash(1, ":8080")]);
        assert!(!one.contains(":8080"), "{one}");
        let two = shown([crash(2, "/a/Caddyfile"), crash(1, ":8080")]);
        assert!(
            two.contains("Z  /a/Caddyfile  php worker") && two.contains("Z  :8080  php"),
            "{two}"
        );
    }
}
