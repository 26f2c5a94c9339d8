//! The target number of workers between `workers` and `workers_max`.
//!
//! A worker is added when requests wait although every worker is busy, and processors are idle: then the workers
//! themselves wait, for a database or another server. When processors are busy, another worker would only take time
//! from the others, unless other programs keep the processors busy and the workers hardly need any. A worker is removed
//! when it has been idle for a while. The conditions for adding and removing cannot hold at the same time, and removing
//! needs seconds where adding needs milliseconds, so the number does not oscillate.
//!
//! Workers that load the machine by themselves need processors more, the more of them there are: if W of them are just
//! enough to keep all processors busy, the rule stops at W · 5/4.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

/// Processors above this share are busy.
const CPU_BUSY_PERCENT: u64 = 80;
/// Workers that wait for other things than a processor for this share of their time hardly need one.
const BLOCKED_PERCENT: u64 = 80;
/// Shortest interval between samples: `/proc/stat` counts hundredths of a second.
const CPU_SAMPLE: Duration = Duration::from_millis(50);

/// How long requests have to wait before a worker is added.
pub(crate) const WAIT_BEFORE_ADDING: Duration = Duration::from_millis(5);
/// How often the pool is checked while requests wait and no worker may be added.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The state of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Requests that wait or run.
    pub(crate) in_flight: usize,
    /// Workers that accept requests.
    pub(crate) ready: usize,
    /// Requests that these can take.
    pub(crate) room: usize,
    /// The target number of workers.
    pub(crate) desired: usize,
    /// Its minimum and maximum.
    pub(crate) min: usize,
    pub(crate) max: usize,
    /// Recent share of the processors' time that was used.
    pub(crate) cpu_percent: u64,
    /// Recent share of their time in which the workers neither ran nor waited for a processor; 0 if unknown.
    pub(crate) blocked_percent: u64,
    /// The longest time that a worker has been idle.
    pub(crate) idle: Duration,
    pub(crate) max_idle: Duration,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Add one worker.
    Add,
    /// Remove one: the one that has been idle longest.
    Remove,
    Keep,
}

/// Whether processors are busy: only then does it matter what the workers wait for.
pub(crate) fn is_busy(cpu_percent: u64) -> bool {
    cpu_percent >= CPU_BUSY_PERCENT
}

pub(crate) fn decide(sample: &Sample) -> Decision {
    if sample.in_flight > sample.room {
        // A worker that was requested and has not started yet may be enough.
        let starting = sample.ready < sample.desired;
        let of_use = !is_busy(sample.cpu_percent) || sample.blocked_percent >= BLOCKED_PERCENT;
        if starting || sample.desired >= sample.max || !of_use {
            return Decision::Keep;
        }
        return Decision::Add;
    }
    let spare = sample.desired > sample.min && sample.ready >= sample.desired;
    // The others can take the current requests.
    let others = sample.room - sample.room.checked_div(sample.ready).unwrap_or(0);
    if spare && sample.in_flight <= others && sample.idle >= sample.max_idle {
        return Decision::Remove;
    }
    Decision::Keep
}

/// Share of the processors' time that is used, all processors together.
#[derive(Debug, Default)]
pub(crate) struct CpuMeter {
    last: Option<(Instant, Times)>,
    percent: u64,
    #[cfg(test)]
    fixed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    idle: u64,
    total: u64,
}

impl CpuMeter {
    /// Always returns this value.
    #[cfg(test)]
    pub(crate) fn fixed(percent: u64) -> Self {
        Self {
            percent,
            fixed: true,
            ..Self::default()
        }
    }

    /// The share since the last sample; the previous value if that is too recent. 0 where the system does not report
    /// it.
    pub(crate) fn percent(&mut self, now: Instant) -> u64 {
        #[cfg(test)]
        if self.fixed {
            return self.percent;
        }
        if self
            .last
            .is_some_and(|(at, _)| now.saturating_duration_since(at) < CPU_SAMPLE)
        {
            return self.percent;
        }
        let Some(times) = read_times() else {
            return 0;
        };
        if let Some((_, before)) = self.last.replace((now, times)) {
            self.percent = share(before, times);
        }
        self.percent
    }
}

fn share(before: Times, after: Times) -> u64 {
    let total = after.total.saturating_sub(before.total);
    let idle = after.idle.saturating_sub(before.idle).min(total);
    ((total - idle) * 100).checked_div(total).unwrap_or(0)
}

fn read_times() -> Option<Times> {
    // Only the first line: the file is long on machines with many processors.
    let mut bytes = [0; 512];
    let size = File::open("/proc/stat").ok()?.read(&mut bytes).ok()?;
    parse_times(&bytes[..size])
}

/// `cpu  user nice system idle iowait irq softirq steal guest guest_nice`; guest time is within user time.
fn parse_times(text: &[u8]) -> Option<Times> {
    let line = text.split(|&byte| byte == b'\n').next()?;
    let line = str::from_utf8(line).ok()?.strip_prefix("cpu ")?;
    let times: Option<Vec<u64>> = line
        .split_ascii_whitespace()
        .take(8)
        .map(|time| time.parse().ok())
        .collect();
    let times = times?;
    Some(Times {
        idle: times.get(3)? + times.get(4)?,
        total: times.iter().sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn sample(in_flight: usize, ready: usize, desired: usize, cpu: u64, idle: u64) -> Sample {
        Sample {
            in_flight,
            ready,
            room: ready,
            desired,
            min: 2,
            max: 6,
            cpu_percent: cpu,
            blocked_percent: 0,
            idle: SECOND * idle as u32,
            max_idle: SECOND * 5,
        }
    }

    #[test]
    fn the_decision_table() {
        let cases = [
            ("nobody waits", sample(2, 2, 2, 10, 0), Decision::Keep),
            ("one waits", sample(3, 2, 2, 10, 0), Decision::Add),
            (
                "the processors are busy",
                sample(9, 2, 2, 80, 0),
                Decision::Keep,
            ),
            ("one is on its way", sample(9, 2, 3, 10, 0), Decision::Keep),
            ("it has come", sample(9, 3, 3, 10, 0), Decision::Add),
            (
                "no more are allowed",
                sample(9, 6, 6, 10, 0),
                Decision::Keep,
            ),
            ("idle for a moment", sample(1, 4, 4, 10, 4), Decision::Keep),
            ("idle for long", sample(1, 4, 4, 10, 5), Decision::Remove),
            ("all are busy now", sample(4, 4, 4, 10, 5), Decision::Keep),
            ("fewest", sample(0, 2, 2, 10, 99), Decision::Keep),
            (
                "one is being replaced",
                sample(0, 3, 4, 10, 99),
                Decision::Keep,
            ),
        ];
        for (name, sample, expected) in cases {
            assert_eq!(decide(&sample), expected, "{name}");
        }
    }

    #[test]
    fn busy_processors_matter_to_workers_that_want_one() {
        let at = |in_flight, ready, desired, cpu, blocked_percent| Sample {
            blocked_percent,
            ..sample(in_flight, ready, desired, cpu, 0)
        };
        let cases = [
            ("they compute", at(9, 2, 2, 100, 0), Decision::Keep),
            ("they do both", at(9, 2, 2, 100, 79), Decision::Keep),
            ("others compute", at(9, 2, 2, 100, 80), Decision::Add),
            ("nobody waits", at(2, 2, 2, 100, 100), Decision::Keep),
            ("one is on its way", at(9, 2, 3, 100, 100), Decision::Keep),
            ("no more are allowed", at(9, 6, 6, 100, 100), Decision::Keep),
            ("processors are idle", at(9, 2, 2, 79, 0), Decision::Add),
        ];
        for (name, sample, expected) in cases {
            assert_eq!(decide(&sample), expected, "{name}");
        }
    }

    /// Each request computes for 1 ms and waits for 19; two processors are enough for 40 workers.
    #[test]
    fn workers_that_load_the_machine_themselves_come_to_an_end() {
        let mut desired: u64 = 2;
        for _ in 0..1000 {
            let whole = (desired / 2).max(20);
            let at = Sample {
                max: 400,
                blocked_percent: 19 * 100 / whole,
                ..sample(
                    1000,
                    desired as usize,
                    desired as usize,
                    desired * 100 / 40,
                    0,
                )
            };
            desired += u64::from(decide(&at) == Decision::Add);
        }
        assert!((40..=50).contains(&desired), "{desired}");
    }

    #[test]
    fn a_worker_with_room_for_many_is_not_full_with_one() {
        let at = |in_flight, idle| Sample {
            room: 30,
            ..sample(in_flight, 3, 3, 10, idle)
        };
        assert_eq!(decide(&at(30, 0)), Decision::Keep);
        assert_eq!(decide(&at(31, 0)), Decision::Add);
        assert_eq!(decide(&at(21, 5)), Decision::Keep);
        assert_eq!(decide(&at(20, 5)), Decision::Remove);
    }

    /// Ten minutes of a steady load, checked every 5 ms while requests wait and each second otherwise.
    #[test]
    fn a_steady_load_does_not_make_the_number_flap() {
        let (mut desired, mut changes, mut idle) = (2, 0, Duration::ZERO);
        for _ in 0..600 {
            for in_flight in [5, 3, 5, 4] {
                let at = Sample {
                    idle,
                    ..sample(in_flight, desired, desired, 10, 0)
                };
                match decide(&at) {
                    Decision::Add => {
                        desired += 1;
                        changes += 1;
                    }
                    Decision::Remove => {
                        desired -= 1;
                        changes += 1;
                    }
                    Decision::Keep => {}
                }
            }
            // The last worker has work in every second.
            idle = Duration::from_millis(250);
        }
        assert_eq!((desired, changes), (5, 3));
    }

    #[test]
    fn processor_time_is_read_from_the_first_line() {
        let text = b"cpu  10 20 30 400 50 6 7 8 9 10\ncpu0 1 2 3\n";
        let times = parse_times(text).expect("times");
        assert_eq!((times.idle, times.total), (450, 531));
        let later = Times {
            idle: 460,
            total: 571,
        };
        assert_eq!(share(times, later), 75);
        assert_eq!(share(later, later), 0);
        assert_eq!(parse_times(b"intr 1 2"), None);
        assert!(read_times().is_some(), "/proc/stat of this machine");
    }
}
