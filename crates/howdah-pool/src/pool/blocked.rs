//! How long the workers of a pool wait for something other than a processor: a database, another server, a lock. On a
//! machine whose processors are busy, this distinguishes workers that need a processor, which further workers would
//! only delay, from those that do not.

use std::io::Read;
use std::time::{Duration, Instant};

use howdah_monitor::process::ProcFile;

use crate::system::schedstat::Schedstat;

/// Shortest interval between samples: a running process gets time slices of some milliseconds.
const SAMPLE: Duration = Duration::from_millis(40);

/// One worker at the time of a sample.
#[derive(Debug, Clone, Copy)]
struct WorkerSample {
    /// Distinguishes it from its predecessors in this place.
    serial: u64,
    /// Time on a processor and waiting for one, in nanoseconds, as counted by the kernel. A wait that has not ended is
    /// not included.
    wanted_ns: u64,
    /// It runs, or waits for a processor.
    runnable: bool,
}

/// Samples a pool's workers while requests wait for them.
#[derive(Debug, Default)]
pub(crate) struct BlockedMeter {
    last: Option<(Instant, Vec<WorkerSample>)>,
    percent: u64,
    #[cfg(test)]
    fixed: Option<u64>,
}

impl BlockedMeter {
    /// Always returns this value.
    #[cfg(test)]
    pub(crate) fn fixed(percent: u64) -> Self {
        Self {
            fixed: Some(percent),
            ..Self::default()
        }
    }

    /// The share of the time since the last sample in which these workers, by serial and process id, needed no
    /// processor; the previous value if the last sample is too recent. 0 at the first sample, and where the system does
    /// not report it.
    pub(crate) fn percent(
        &mut self,
        now: Instant,
        workers: impl Iterator<Item = (u64, i32)>,
    ) -> u64 {
        #[cfg(test)]
        if let Some(percent) = self.fixed {
            return percent;
        }
        let since = self.last.as_ref().map(|(at, _)| *at);
        if since.is_some_and(|at| now.saturating_duration_since(at) < SAMPLE) {
            return self.percent;
        }
        let looks: Vec<_> = workers
            .filter_map(|(serial, pid)| sample(serial, pid))
            .collect();
        if let Some((at, before)) = &self.last {
            self.percent = share(before, &looks, now.saturating_duration_since(*at));
        }
        self.last = Some((now, looks));
        self.percent
    }

    /// Requests no longer wait, or a worker is idle: the time until the next sample must not count.
    pub(crate) fn forget(&mut self) {
        self.last = None;
        self.percent = 0;
    }
}

/// The share of the workers that are in both samples, in percent.
fn share(before: &[WorkerSample], after: &[WorkerSample], elapsed: Duration) -> u64 {
    let elapsed = elapsed.as_nanos() as u64;
    let (mut blocked, mut whole) = (0, 0);
    for look in after {
        let Some(earlier) = before.iter().find(|one| one.serial == look.serial) else {
            continue;
        };
        whole += elapsed;
        // It may have waited for a processor all the time.
        if !look.runnable {
            blocked += elapsed.saturating_sub(look.wanted_ns.saturating_sub(earlier.wanted_ns));
        }
    }
    (blocked * 100).checked_div(whole).unwrap_or(0)
}

/// `None`: it exited, or the kernel does not count.
fn sample(serial: u64, pid: i32) -> Option<WorkerSample> {
    // Read first: a worker that falls asleep after this counts as one that needed a processor.
    let runnable = is_runnable(&read(pid, ProcFile::Stat)?)?;
    let turns = Schedstat::parse(&read(pid, ProcFile::Schedstat)?)?;
    Some(WorkerSample {
        serial,
        wanted_ns: turns.ran_ns.saturating_add(turns.waited_ns),
        runnable,
    })
}

/// Reads a file of the main thread, which runs PHP.
fn read(pid: i32, file: ProcFile) -> Option<Vec<u8>> {
    // Both files are shorter.
    let mut bytes = vec![0; Schedstat::SIZE_MAX];
    let size = file.of(pid).ok()?.read(&mut bytes).ok()?;
    bytes.truncate(size);
    Some(bytes)
}

/// `PID (NAME) STATE …`; a name may contain anything.
fn is_runnable(text: &[u8]) -> Option<bool> {
    let end = text.iter().rposition(|&byte| byte == b')')?;
    text.get(end + 2).map(|&state| state == b'R')
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A process that is killed at the end of the test.
    struct TestProcess(Child);

    impl TestProcess {
        /// Returns when the shell is about to run the command.
        fn new(command: &str) -> Self {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("echo; {command}")]);
            let shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut running = Self(shell.spawn().expect("a shell"));
            let output = running.0.stdout.take().expect("it is piped");
            let mut line = String::new();
            BufReader::new(output)
                .read_line(&mut line)
                .expect("it runs");
            running
        }

        fn pid(&self) -> i32 {
            self.0.id().cast_signed()
        }
    }

    impl Drop for TestProcess {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn at(serial: u64, wanted_ms: u64, runnable: bool) -> WorkerSample {
        WorkerSample {
            serial,
            wanted_ns: wanted_ms * 1_000_000,
            runnable,
        }
    }

    #[test]
    fn workers_that_were_there_at_both_looks_are_counted() {
        let before = [at(1, 100, false), at(2, 0, true), at(3, 0, false)];
        let cases = [
            ("none", vec![], 0),
            ("a new one", vec![at(4, 0, false)], 0),
            ("it slept", vec![at(1, 100, false)], 100),
            ("it had a quarter", vec![at(1, 350, false)], 75),
            (
                "one of two ran",
                vec![at(1, 100, false), at(2, 1000, false)],
                50,
            ),
            (
                "one waits for a processor",
                vec![at(1, 100, false), at(2, 0, true)],
                50,
            ),
            ("longer than the time", vec![at(1, 5000, false)], 0),
        ];
        for (name, after, expected) in cases {
            assert_eq!(share(&before, &after, SECOND), expected, "{name}");
        }
    }

    #[test]
    fn data_of_the_kernel_is_read() {
        assert_eq!(is_runnable(b"7 (a) R) S 1 2"), Some(false));
        assert_eq!(is_runnable(b"7 (php) R 1 2"), Some(true));
        assert_eq!(is_runnable(b"7 (php)"), None);
    }

    #[test]
    fn waiting_is_distinguished_from_computing() {
        // `read` waits for a line that never comes.
        let (sleeper, computer) = (
            TestProcess::new("read x"),
            TestProcess::new("while :; do :; done"),
        );
        let begun = Instant::now();
        while sample(1, sleeper.pid()).is_none_or(|look| look.runnable) {
            assert!(begun.elapsed() < SECOND * 30, "it comes to wait");
            std::thread::yield_now();
        }
        let mut meters = [&sleeper, &computer].map(|child| (BlockedMeter::default(), child.pid()));
        let mut ask = |now| {
            meters
                .each_mut()
                .map(|(meter, pid)| meter.percent(now, std::iter::once((1, *pid))))
        };
        assert_eq!(ask(begun), [0, 0], "one look says nothing");
        assert_eq!(ask(begun + SAMPLE / 2), [0, 0], "too early");
        let shares = ask(begun + SECOND);
        assert!(shares[0] > 90 && shares[1] == 0, "{shares:?}");
        assert_eq!(ask(begun + SECOND), shares, "the last value");
        meters[0].0.forget();
        let [forgotten, _] = meters
            .map(|(mut meter, pid)| meter.percent(begun + SECOND * 2, std::iter::once((1, pid))));
        assert_eq!(forgotten, 0);
    }
}
