//! Requests that run longer than `slow_log`: they are sampled as long as they run, logged at the first sample, and
//! logged as a timeline when they end.
//!
//! A front thread starts and ends the entries, and requests the samples; the task that reads a worker's log pipe adds
//! them.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::status::{SlowOutcome, SlowPlace, SlowRequestStatus};

/// Samples of one request that are stored: with [`GROWTH`], enough for the first hour of a request that is slow after a
/// second.
const SAMPLES_MAX: usize = 40;
/// Age at a sample, as a multiple of the age at the previous one: later samples are rarer, so that a request which runs
/// for hours does not fill the log.
const GROWTH: f64 = 1.25;
/// Finished requests that are still listed.
const LISTED_MAX: usize = 20;

/// The slow requests of a pool.
#[derive(Debug, Default)]
pub(crate) struct SlowLog {
    requests: Mutex<HashMap<u64, SlowRequest>>,
    /// Finished requests, the oldest first.
    ended: Mutex<VecDeque<SlowRequestStatus>>,
}

/// The timer of a slow request on a front thread.
#[derive(Debug)]
pub(crate) struct SlowTimer {
    /// Age of the request at the next sample.
    next: Duration,
}

impl SlowTimer {
    /// Creates a log for requests that are slow from this age on.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { next: limit }
    }

    /// Whether a sample is due at this age; the following one is due later.
    pub(crate) fn is_due(&mut self, age: Duration) -> bool {
        let due = age >= self.next;
        if due {
            self.next = age.mul_f64(GROWTH);
        }
        due
    }
}

#[derive(Debug)]
struct SlowRequest {
    since: Instant,
    /// Method and URI, once there was a sample.
    title: String,
    samples: Vec<Sample>,
}

#[derive(Debug, PartialEq, Eq)]
struct Sample {
    age: Duration,
    place: String,
}

/// The first sample of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FirstSample {
    pub(crate) age: Duration,
    /// Method and URI, then a line for each frame.
    pub(crate) text: String,
}

/// How and when a request has left its worker.
#[derive(Debug)]
pub(crate) struct SlowEnd {
    pub(crate) outcome: SlowOutcome,
    /// Its client disconnected before it had the whole response.
    pub(crate) client_disconnected: bool,
    /// It runs again in another process.
    pub(crate) repeated: bool,
    /// Method and URI as the front knows them, for a request without a sample.
    pub(crate) title: String,
    pub(crate) at: Instant,
}

/// A request that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Timeline {
    pub(crate) age: Duration,
    /// How it ended, with a comma before it; empty if it simply finished.
    pub(crate) outcome: String,
    /// Method and URI.
    pub(crate) title: String,
    /// A line for each place where it was seen; empty if one sample shows everything.
    pub(crate) places: String,
}

impl SlowLog {
    /// Adds a slow request. `since`: when a worker claimed it.
    pub(crate) fn begin(&self, id: u64, since: Instant) {
        self.lock().entry(id).or_insert_with(|| SlowRequest {
            since,
            title: String::new(),
            samples: Vec::new(),
        });
    }

    /// Adds a sample. `Some`: it is the first one, which is logged immediately.
    pub(crate) fn add(&self, id: u64, text: &str, now: Instant) -> Option<FirstSample> {
        let mut requests = self.lock();
        let Some(request) = requests.get_mut(&id) else {
            drop(requests);
            return self.add_late(id, text);
        };
        let age = now.saturating_duration_since(request.since);
        let first = request.samples.is_empty();
        if first {
            text.lines()
                .next()
                .unwrap_or_default()
                .clone_into(&mut request.title);
        }
        if request.samples.len() < SAMPLES_MAX {
            let place = place(text);
            request.samples.push(Sample { age, place });
        }
        first.then(|| FirstSample {
            age,
            text: text.to_owned(),
        })
    }

    /// Adds the only sample of a request that has ended: its process may have crashed before the sample was read.
    fn add_late(&self, id: u64, text: &str) -> Option<FirstSample> {
        let id = hex(id);
        let mut list = lock(&self.ended);
        let request = list.iter_mut().rev().find(|request| request.id == id)?;
        if !request.places.is_empty() {
            return None;
        }
        request.places.push(SlowPlace {
            from_ms: request.age_ms,
            to_ms: request.age_ms,
            samples: 1,
            place: place(text),
        });
        Some(FirstSample {
            age: Duration::from_millis(request.age_ms),
            text: text.to_owned(),
        })
    }

    /// The request has ended, or was taken from its worker.
    pub(crate) fn end(&self, id: u64, end: SlowEnd) -> Option<Timeline> {
        let mut request = self.lock().remove(&id)?;
        if request.title.is_empty() {
            request.title = end.title;
        }
        let age = end.at.saturating_duration_since(request.since);
        let ended = SystemTime::now().duration_since(UNIX_EPOCH);
        let listed = SlowRequestStatus {
            ended_ms: Some(millis(ended.unwrap_or_default())),
            outcome: Some(end.outcome),
            client_disconnected: end.client_disconnected,
            repeated: end.repeated,
            ..request.status(id, age)
        };
        let mut list = lock(&self.ended);
        if list.len() == LISTED_MAX {
            list.pop_front();
        }
        list.push_back(listed);
        drop(list);
        Some(Timeline {
            age,
            outcome: outcome(end.outcome, end.client_disconnected, end.repeated),
            places: places(&request.samples),
            title: request.title,
        })
    }

    /// Running requests, the longest first, and the last finished ones, the newest first.
    pub(crate) fn list(&self, now: Instant) -> Vec<SlowRequestStatus> {
        let mut list: Vec<_> = (self.lock().iter())
            .map(|(id, request)| {
                let age = now.saturating_duration_since(request.since);
                request.status(*id, age)
            })
            .collect();
        list.sort_by_key(|request| std::cmp::Reverse(request.age_ms));
        list.truncate(LISTED_MAX);
        list.extend(lock(&self.ended).iter().rev().cloned());
        list
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, SlowRequest>> {
        lock(&self.requests)
    }
}

impl SlowRequest {
    /// While it runs.
    fn status(&self, id: u64, age: Duration) -> SlowRequestStatus {
        let runs = self.samples.chunk_by(|a, b| a.place == b.place);
        let places = runs.map(|run| SlowPlace {
            from_ms: millis(run[0].age),
            to_ms: millis(run[run.len() - 1].age),
            samples: run.len(),
            place: run[0].place.clone(),
        });
        SlowRequestStatus {
            id: hex(id),
            title: self.title.clone(),
            age_ms: millis(age),
            ended_ms: None,
            outcome: None,
            client_disconnected: false,
            repeated: false,
            places: places.collect(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hex(id: u64) -> String {
    format!("{id:016x}")
}

/// How it ended, after a comma.
fn outcome(outcome: SlowOutcome, client_disconnected: bool, repeated: bool) -> String {
    let how = match outcome {
        SlowOutcome::Finished => "",
        SlowOutcome::Exit => ", by exit()",
        SlowOutcome::FatalError => ", by a fatal error",
        SlowOutcome::Crash => ", by a crash of the PHP process",
        SlowOutcome::ProcessEnded => ", by the end of the PHP process",
        SlowOutcome::RequestTimeout => ", by request_timeout",
        SlowOutcome::CpuTimeout => ", by cpu_timeout",
        SlowOutcome::MalformedResponse => ", by a malformed response",
        SlowOutcome::ServerStopped => ", by the stop of the server",
    };
    let client = if client_disconnected {
        ", its client had disconnected"
    } else {
        ""
    };
    let again = if repeated { ", and runs again" } else { "" };
    format!("{how}{client}{again}")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Where a sample was taken: the innermost frames up to the first one of PHP code, which has a file.
fn place(text: &str) -> String {
    let mut place = String::new();
    for frame in text.lines().skip(1) {
        let frame = frame.split_once(' ').map_or(frame, |(_, frame)| frame);
        if !place.is_empty() {
            place.push_str(" in ");
        }
        place.push_str(frame);
        if frame.contains(' ') {
            break;
        }
    }
    if place.is_empty() {
        place.push_str("PHP has not started it");
    }
    place
}

/// A line for each run of samples at one place: from when to when, how many, and the place.
fn places(samples: &[Sample]) -> String {
    let mut text = String::new();
    if samples.len() < 2 {
        return text;
    }
    for run in samples.chunk_by(|a, b| a.place == b.place) {
        let [first, .., last] = run else {
            let sample = &run[0];
            let _ = write!(text, "\nat {}: {}", seconds(sample.age), sample.place);
            continue;
        };
        let (from, to, count) = (seconds(first.age), seconds(last.age), run.len());
        let _ = write!(text, "\n{from} to {to}, {count} samples: {}", first.place);
    }
    text
}

/// Formats seconds with two decimals.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLEEPS: &str = "GET /report?x=1\n#0 sleep()\n#1 Report::wait() /srv/app.php:12\n#2 {main} /srv/index.php:3";
    const QUERIES: &str = "GET /report?x=1\n#0 PDO::query()\n#1 Report::load() /srv/app.php:30";

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    fn finished(at: Instant) -> SlowEnd {
        SlowEnd {
            outcome: SlowOutcome::Finished,
            client_disconnected: false,
            repeated: false,
            title: String::new(),
            at,
        }
    }

    #[test]
    fn the_first_sample_is_logged_and_all_become_a_timeline() {
        let (log, start) = (SlowLog::default(), Instant::now());
        log.begin(7, start);
        let first = log.add(7, SLEEPS, at(start, 1000)).expect("the first one");
        assert_eq!((first.age.as_millis(), &*first.text), (1000, SLEEPS));
        assert_eq!(log.add(7, SLEEPS, at(start, 1250)), None);
        assert_eq!(log.add(7, QUERIES, at(start, 1560)), None);
        let timeline = log.end(7, finished(at(start, 2000))).expect("it was slow");
        assert_eq!(timeline.age.as_millis(), 2000);
        assert_eq!(timeline.title, "GET /report?x=1");
        assert_eq!(
            timeline.places,
            "\n1.00 s to 1.25 s, 2 samples: sleep() in Report::wait() /srv/app.php:12\
             \nat 1.56 s: PDO::query() in Report::load() /srv/app.php:30"
        );
        assert_eq!(log.end(7, finished(start)), None, "it is over");
    }

    #[test]
    fn late_and_unknown_samples_are_dropped() {
        let (log, start) = (SlowLog::default(), Instant::now());
        assert_eq!(log.add(1, SLEEPS, start), None);
        log.begin(1, start);
        let timeline = log
            .end(1, finished(at(start, 5)))
            .expect("without a sample");
        assert_eq!((&*timeline.title, &*timeline.places), ("", ""));
        assert_eq!(log.add(2, SLEEPS, start), None);
    }

    #[test]
    fn a_sample_that_is_read_after_a_crash_is_shown() {
        let (log, start) = (SlowLog::default(), Instant::now());
        log.begin(1, start);
        let crash = SlowEnd {
            outcome: SlowOutcome::Crash,
            client_disconnected: true,
            repeated: true,
            title: "GET /report?x=1".to_owned(),
            at: at(start, 700),
        };
        let timeline = log.end(1, crash).expect("it was slow");
        assert_eq!(timeline.title, "GET /report?x=1");
        assert_eq!(
            timeline.outcome,
            ", by a crash of the PHP process, its client had disconnected, and runs again"
        );
        let first = log.add(1, SLEEPS, at(start, 900)).expect("the only one");
        assert_eq!((first.age.as_millis(), &*first.text), (700, SLEEPS));
        assert_eq!(log.add(1, SLEEPS, start), None, "one is enough");
        let listed = &log.list(start)[0];
        assert_eq!(listed.outcome, Some(SlowOutcome::Crash));
        assert_eq!(
            listed.places[0].place,
            "sleep() in Report::wait() /srv/app.php:12"
        );
        assert!(listed.client_disconnected && listed.repeated);
        assert!(log.lock().is_empty());
    }

    #[test]
    fn a_request_that_runs_for_days_keeps_a_bounded_number_of_samples() {
        let (log, start) = (SlowLog::default(), Instant::now());
        log.begin(1, start);
        for second in 1..10_000 {
            log.add(1, SLEEPS, at(start, second * 1000));
        }
        let timeline = log.end(1, finished(at(start, 1))).expect("it was slow");
        assert!(
            timeline.places.contains(", 40 samples: "),
            "{}",
            timeline.places
        );
    }

    #[test]
    fn samples_grow_rarer_with_age() {
        let mut timer = SlowTimer::new(Duration::from_secs(1));
        let due: Vec<u64> = (0..3_600_000)
            .step_by(100)
            .filter(|&ms| timer.is_due(Duration::from_millis(ms)))
            .collect();
        assert_eq!(due[..4], [1000, 1300, 1700, 2200]);
        assert!(due.len() <= SAMPLES_MAX, "{}", due.len());
    }

    #[test]
    fn requests_are_listed_while_they_run_and_after() {
        let (log, start) = (SlowLog::default(), Instant::now());
        for id in 1..=LISTED_MAX as u64 + 5 {
            log.begin(id, start);
            log.add(id, SLEEPS, at(start, 1000));
            log.end(id, finished(at(start, 2000)));
        }
        log.begin(99, start);
        log.add(99, SLEEPS, at(start, 1000));
        log.add(99, SLEEPS, at(start, 1250));
        log.add(99, QUERIES, at(start, 1560));
        let list = log.list(at(start, 3000));
        assert_eq!(list.len(), LISTED_MAX + 1);
        let runs = &list[0];
        assert_eq!((&*runs.id, runs.age_ms), ("0000000000000063", 3000));
        assert_eq!((&*runs.title, runs.ended_ms), ("GET /report?x=1", None));
        let places = runs.places.iter();
        let times: Vec<_> = places
            .map(|place| (place.from_ms, place.to_ms, place.samples))
            .collect();
        assert_eq!(times, [(1000, 1250, 2), (1560, 1560, 1)]);
        assert_eq!(list[1].id, format!("{:016x}", LISTED_MAX + 5), "the newest");
        assert_eq!(list[1].age_ms, 2000);
        assert!(list[1].ended_ms.is_some());
    }

    #[test]
    fn a_request_that_php_has_not_started_is_shown_as_such() {
        assert_eq!(place("GET /"), "PHP has not started it");
        assert_eq!(
            place("GET /\n#0 {main} /srv/x.php:1"),
            "{main} /srv/x.php:1"
        );
    }
}
