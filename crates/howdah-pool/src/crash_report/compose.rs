//! Composes the report of a process that crashed, from all evidence about its exit.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{SystemTime, UNIX_EPOCH};

use super::fault::{self, Fault};
use super::{
    CrashNote, CrashReport, CrashSignal, CrashSink, CrashedProcess, CrashedRequest, kernel,
};

/// Requests that a report names.
const REQUESTS_MAX: usize = 256;

/// Evidence about the exit of a process.
#[derive(Debug, Default)]
pub(crate) struct CrashEvidence {
    /// `None`: it was not reported in time.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) process: CrashedProcess,
    pub(crate) requests: Vec<CrashedRequest>,
    pub(crate) notes: Vec<CrashNote>,
    pub(crate) log: Vec<String>,
    /// Version of PHP.
    pub(crate) php: String,
    pub(crate) extensions: Vec<String>,
}

pub(crate) fn compose(number: u64, evidence: CrashEvidence, sink: &CrashSink) -> CrashReport {
    let CrashEvidence {
        status,
        process,
        mut requests,
        notes,
        log,
        php,
        extensions,
    } = evidence;
    let mut report = CrashReport {
        number,
        time: (SystemTime::now().duration_since(UNIX_EPOCH)).map_or(0, |time| time.as_secs()),
        exit_status: status.and_then(|status| status.code()),
        core_dumped: status.is_some_and(|status| status.core_dumped()),
        log,
        howdah: env!("CARGO_PKG_VERSION").into(),
        php,
        system: kernel::system(),
        extensions,
        ..CrashReport::default()
    };
    let mut fault = None;
    for note in &notes {
        let first = note.text.lines().next().unwrap_or_default();
        let frames = fault::frames(&note.text);
        match first {
            "c" => report.c_backtrace = frames,
            "waits" => set_wait(&mut requests, note.request, frames),
            _ => {
                fault = Fault::parse(first).or(fault);
                report.php_backtrace = frames;
            }
        }
    }
    let signal = status.and_then(|status| status.signal());
    report.signal = signal.map(|signal| crash_signal(signal, fault));
    report.cause = match (&report.signal, report.exit_status) {
        (Some(signal), _) => {
            let oom = (signal.number == 9).then(|| sink.take_oom_kill()).flatten();
            fault::sentence(signal, process.pid, oom)
        }
        (None, Some(code)) => format!("the process exited with status {code} in a request"),
        (None, None) => "the process exited during a request; its exit status is unknown".into(),
    };
    note_gaps(&mut report, &notes, &process);
    if requests.len() > REQUESTS_MAX {
        let more = requests.len() - REQUESTS_MAX;
        report.notes.push(format!(
            "{more} more requests were in flight in the process"
        ));
    }
    requests.sort_by_key(|request| !request.ran);
    requests.truncate(REQUESTS_MAX);
    report.requests = requests;
    report.process = process;
    report
}

/// A coroutine of one of the requests.
fn set_wait(requests: &mut [CrashedRequest], id: Option<u64>, frames: Vec<String>) {
    let id = id.map(|id| format!("{id:016x}"));
    let mut requests = requests.iter_mut();
    let Some(request) = requests.find(|request| Some(&request.id) == id.as_ref()) else {
        return;
    };
    if !request.backtrace.is_empty() {
        request.backtrace.push("(another of its coroutines)".into());
    }
    request.backtrace.extend(frames);
}

fn crash_signal(number: i32, fault: Option<Fault>) -> CrashSignal {
    // A process that was killed while it reported a fault did not exit because of that fault.
    let fault = fault
        .filter(|fault| fault.signal == number)
        .unwrap_or_default();
    CrashSignal {
        number,
        name: fault::name(number),
        code: fault.code,
        address: fault.address,
        sender: fault.sender,
        thread: fault.thread,
        stack_full: fault.stack_full,
    }
}

/// Adds why the backtrace is missing.
fn note_gaps(report: &mut CrashReport, notes: &[CrashNote], process: &CrashedProcess) {
    let Some(signal) = &report.signal else {
        report
            .notes
            .push("a process that exits reports no backtrace".into());
        return;
    };
    let gap = match signal.number {
        _ if !notes.is_empty() && report.c_backtrace.is_empty() => {
            Some("the C backtrace is missing: the stack was corrupt, or the report took too long")
        }
        _ if !notes.is_empty() => None,
        9 => Some("a process that is killed by SIGKILL reports nothing"),
        _ if process.role == "root" => Some("the root process reports nothing"),
        4 | 6 | 7 | 8 | 11 => Some(
            "the process reported nothing: PHP code or an extension has its own handler for this signal, the process \
             was too broken, or its report took longer than two seconds",
        ),
        _ => Some("a process does not report this signal"),
    };
    report.notes.extend(gap.map(str::to_owned));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(request: u64, text: &str) -> CrashNote {
        CrashNote {
            request: Some(request),
            text: text.into(),
        }
    }

    fn request(id: u64, ran: bool) -> CrashedRequest {
        CrashedRequest {
            id: format!("{id:016x}"),
            ran,
            ..CrashedRequest::default()
        }
    }

    fn compose_report(evidence: CrashEvidence) -> CrashReport {
        compose(3, evidence, &CrashSink::new(1).0)
    }

    #[test]
    fn a_report_has_the_data_of_process_and_front() {
        let report = compose_report(CrashEvidence {
            status: Some(ExitStatus::from_raw(0x0b | 0x80)),
            requests: vec![request(8, false), request(7, true)],
            notes: vec![
                note(7, "fault 11 1 address 0x8 thread php\n#0 f() /a.php:3"),
                note(7, "c\n#0 zif_f php+0x12"),
                note(8, "waits\n#0 sleep()"),
                note(8, "waits\n#0 fread()"),
                note(9, "waits\n#0 of_nobody()"),
            ],
            ..CrashEvidence::default()
        });
        assert_eq!(report.cause, "SIGSEGV: no memory at this address (0x8)");
        assert_eq!(report.php_backtrace, ["#0 f() /a.php:3"]);
        assert_eq!(report.c_backtrace, ["#0 zif_f php+0x12"]);
        assert!(report.core_dumped && report.notes.is_empty(), "{report:?}");
        assert!(report.requests[0].ran && report.requests[0].backtrace.is_empty());
        let waits = ["#0 sleep()", "(another of its coroutines)", "#0 fread()"];
        assert_eq!(report.requests[1].backtrace, waits);
    }

    #[test]
    fn claims_of_a_process_are_checked_with_the_kernel() {
        let report = compose_report(CrashEvidence {
            status: Some(ExitStatus::from_raw(9)),
            notes: vec![note(1, "fault 11 1 address 0x8\n#0 \u{1b}[2J")],
            ..CrashEvidence::default()
        });
        let signal = report.signal.expect("killed");
        assert_eq!((signal.number, signal.address), (9, None));
        assert_eq!(report.php_backtrace, ["#0 \u{fffd}[2J"]);
        assert!(report.notes[0].contains("C backtrace is missing"));
    }

    #[test]
    fn an_exit_in_a_request_is_a_crash_too() {
        let report = compose_report(CrashEvidence {
            status: Some(ExitStatus::from_raw(3 << 8)),
            ..CrashEvidence::default()
        });
        assert_eq!(report.exit_status, Some(3));
        assert!(report.cause.contains("status 3"), "{}", report.cause);
    }
}
