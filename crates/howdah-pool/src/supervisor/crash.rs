//! Crash reports: a task for each crash collects the evidence, and no request waits for it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use howdah_shm::WorkerId;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::{LAST_WORDS, Supervisor};
use crate::crash_report::{
    CrashEvidence, CrashLink, CrashNumber, CrashRecorder, CrashSink, CrashedProcess,
    CrashedRequest, compose,
};
use crate::options::Mode;
use crate::pool::Pool;
use crate::pool::generation::Generation;

/// A zygote reports an exit as soon as it has reaped the process.
const STATUS_TIME: Duration = Duration::from_secs(2);
/// Front threads recover the requests of a process immediately.
const RECOVERY_TIME: Duration = Duration::from_secs(2);

/// Sources of evidence about the exit of a worker.
struct EvidenceSources {
    sink: CrashSink,
    number: CrashNumber,
    exit: watch::Receiver<Option<ExitStatus>>,
    recorder: CrashRecorder,
    requests: mpsc::UnboundedReceiver<CrashedRequest>,
}

impl Supervisor {
    /// The process in this place exited unexpectedly. `None`: reports are off, or it never ran.
    pub(super) fn begin_report(&self, index: usize, worker: WorkerId) -> Option<CrashLink> {
        let sink = self.options.crashes.clone()?;
        let pool = &self.pools[index];
        let occupant = pool.places[worker.index()].occupant()?;
        occupant.pidfd.as_ref()?;
        let words = pool.segment.worker(worker);
        let process = CrashedProcess {
            worker: Some(worker.0),
            pid: occupant.pid(),
            generation: occupant.generation,
            age_ms: millis(occupant.since.elapsed()),
            requests: words.map_or(0, |words| words.requests),
            memory: words.map_or(0, |words| words.memory),
            ..process(pool, "worker")
        };
        let (link, requests) = CrashLink::new(CrashNumber::new(&sink));
        let sources = EvidenceSources {
            number: link.number.clone(),
            sink,
            exit: occupant.exit.subscribe(),
            recorder: occupant.recorder.clone(),
            requests,
        };
        let evidence = self.evidence(process);
        tokio::spawn(report_worker(sources, evidence));
        Some(link)
    }

    /// A signal ended a zygote unexpectedly.
    pub(super) fn report_zygote(
        &self,
        pool: &Pool,
        own: Option<&Generation>,
        id: u32,
        pid: i32,
        status: ExitStatus,
    ) {
        let Some(sink) = self.options.crashes.clone() else {
            return;
        };
        let mut evidence = self.evidence(CrashedProcess {
            pid,
            generation: id,
            age_ms: own.map_or(0, |own| millis(own.since.elapsed())),
            ..process(pool, "zygote")
        });
        evidence.status = Some(status);
        let recorder = own.map(|own| own.recorder.clone());
        tokio::spawn(async move {
            if let Some(recorder) = recorder {
                read_out(&recorder, &mut evidence).await;
            }
            send(&sink, &CrashNumber::new(&sink), evidence);
        });
    }

    /// A signal ended the root process.
    pub(super) fn report_root(&self, pid: i32, status: ExitStatus) {
        let Some(sink) = &self.options.crashes else {
            return;
        };
        let mut evidence = self.evidence(CrashedProcess {
            role: "root".into(),
            pid,
            ..CrashedProcess::default()
        });
        evidence.status = Some(status);
        send(sink, &CrashNumber::new(sink), evidence);
    }

    fn evidence(&self, process: CrashedProcess) -> CrashEvidence {
        CrashEvidence {
            process,
            php: self.info.php.clone(),
            extensions: self.info.extensions.clone(),
            ..CrashEvidence::default()
        }
    }
}

fn process(pool: &Pool, role: &str) -> CrashedProcess {
    let (mode, script) = match &pool.options.mode {
        Mode::Classic => ("classic", None),
        Mode::Worker(own) => {
            let concurrent = pool.options.is_concurrent();
            let mode = if concurrent { "coroutines" } else { "worker" };
            (mode, Some(own.script.display().to_string()))
        }
    };
    CrashedProcess {
        pool: pool.name.to_string(),
        mode: mode.into(),
        script,
        role: role.into(),
        ..CrashedProcess::default()
    }
}

/// Most unexpected exits are harmless; only a signal, or a request that got no response, makes it a crash.
async fn report_worker(sources: EvidenceSources, mut evidence: CrashEvidence) {
    let EvidenceSources {
        sink,
        number,
        mut exit,
        recorder,
        mut requests,
    } = sources;
    let held = async {
        while let Some(request) = requests.recv().await {
            evidence.requests.push(request);
        }
    };
    let status = async {
        // An error: the status will never arrive.
        let status = exit.wait_for(Option::is_some).await;
        status.ok().and_then(|status| *status)
    };
    let (status, _) = tokio::join!(timeout(STATUS_TIME, status), timeout(RECOVERY_TIME, held));
    evidence.status = status.ok().flatten();
    let signalled = evidence
        .status
        .is_some_and(|status| status.signal().is_some());
    if signalled || evidence.requests.iter().any(|request| request.blamed) {
        read_out(&recorder, &mut evidence).await;
        send(&sink, &number, evidence);
    }
}

/// A child that holds the pipe open is not waited for.
async fn read_out(recorder: &CrashRecorder, evidence: &mut CrashEvidence) {
    let _ = timeout(LAST_WORDS, recorder.closed()).await;
    evidence.notes = recorder.notes();
    evidence.log = recorder.lines();
}

fn send(sink: &CrashSink, number: &CrashNumber, evidence: CrashEvidence) {
    sink.send(compose(number.get(), evidence, sink));
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
