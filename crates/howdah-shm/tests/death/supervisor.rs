//! Starts workers, detects their exits, kills and stops some, and lets front threads recover them.

use crate::Scenario;
use crate::build;
use crate::driver::{Counts, Driver, Order, Report};
use crate::job::mix;
use crate::statistics::Statistics;
use howdah_shm::{Front, LifeWatch, Segment, WorkerId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fmt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Steps at which a worker is configured to crash, in turn. Numbers are as in
/// `docs/internals/queue.md`.
const STEPS: [u32; 38] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 30, 31, 32, 33, 40,
    41, 42, 43, 44, 50, 51, 52, 53, 54, 11, 12, 0,
];
/// Steps that need a rare coincidence: see `hand_on` in the unit tests.
const RARE: [u64; 2] = [11, 12];
/// A worker that does not reach its step crashes after at most this number of steps.
const STEPS_MAX: u64 = 6000;

struct Process {
    child: Child,
    pidfd: OwnedFd,
    /// The worker has served requests, and its exit is awaited.
    watched: bool,
}

enum Place {
    Alive(Process),
    Dead,
    Vacant(Instant),
}

pub(crate) struct Supervisor<'a> {
    segment: &'a Arc<Segment>,
    scenario: &'a Scenario,
    statistics: Statistics,
    inherited: Vec<OwnedFd>,
    places: Vec<Place>,
    random: u64,
    started: usize,
    /// Number of front threads that are not yet quiet in this pause.
    noisy: usize,
    deaths: u64,
    killed: u64,
    stopped: u64,
    watch: Arc<LifeWatch>,
    /// Number of exits of processes that were awaited.
    awaited: u64,
}

pub(crate) struct Summary {
    counts: Counts,
    deaths: u64,
    killed: u64,
    stopped: u64,
    awaited: u64,
    notified: u64,
    by_step: Vec<(u64, u64)>,
    corrupt: u64,
    twice: u64,
    dropped: u64,
    failed: u64,
    long: bool,
    seconds: f64,
}

impl<'a> Supervisor<'a> {
    pub(crate) fn new(segment: &'a Arc<Segment>, scenario: &'a Scenario) -> Self {
        let statistics = Statistics::new(u64::from(scenario.fronts * scenario.slots));
        // Duplicates are inherited. The originals are closed on exec.
        let mut inherited = vec![
            rustix::io::dup(segment.fd()).expect("a descriptor"),
            rustix::io::dup(&statistics.0).expect("a descriptor"),
        ];
        inherited.extend(
            segment
                .eventfds()
                .chain(segment.worker_eventfds())
                .map(|fd| rustix::io::dup(fd).expect("a descriptor")),
        );
        let workers = segment.geometry().workers();
        Self {
            segment,
            scenario,
            statistics,
            inherited,
            places: (0..workers)
                .map(|_| Place::Vacant(Instant::now()))
                .collect(),
            random: mix(u64::from(std::process::id()) ^ u64::from(scenario.slots) << 40),
            started: 0,
            noisy: 0,
            deaths: 0,
            killed: 0,
            stopped: 0,
            watch: LifeWatch::of(segment)
                .next()
                .expect("there are workers")
                .into(),
            awaited: 0,
        }
    }

    pub(crate) fn run(mut self, fronts: Vec<Front>, deaths: u64) -> Summary {
        let begin = Instant::now();
        let (report, reports) = channel();
        let (orders, threads) = self.start_fronts(fronts, &report);
        let watch = self.watch.clone();
        let notified = std::thread::spawn(move || {
            let ends = std::iter::from_fn(|| watch.next().expect("futex_waitv"));
            ends.count() as u64
        });
        let mut finished = 0;
        let mut finishing = false;
        while finished < threads.len() {
            self.fill_places(self.scenario.respawn_delay);
            self.wait_for_deaths(&orders);
            finished += self.take_reports(&reports, &orders);
            self.disturb(&orders);
            if !finishing && (self.deaths >= deaths || finished > 0) {
                finishing = true;
                self.send_all(&orders, || Order::Finish);
            }
        }
        drop(orders);
        for eventfd in self.segment.eventfds() {
            rustix::io::write(eventfd, &1_u64.to_ne_bytes()).expect("an eventfd takes a write");
        }
        let mut counts = Counts::default();
        for thread in threads {
            counts += thread.join().expect("a front thread panicked");
        }
        let reached_end = self.deaths >= deaths;
        self.end_all();
        self.watch.close();
        let notified = notified.join().expect("the watch panicked");
        assert!(
            reached_end,
            "a front thread gave up after {} deaths",
            self.deaths
        );
        Summary {
            counts,
            deaths: self.deaths,
            killed: self.killed,
            stopped: self.stopped,
            awaited: self.awaited,
            notified,
            by_step: self.statistics.deaths(),
            corrupt: self.statistics.corrupt(),
            twice: self.statistics.twice(),
            dropped: self.statistics.dropped(),
            failed: self.statistics.failed(),
            long: deaths >= 1000,
            seconds: begin.elapsed().as_secs_f64(),
        }
    }

    fn start_fronts(
        &self,
        fronts: Vec<Front>,
        report: &Sender<Report>,
    ) -> (Vec<Sender<Order>>, Vec<JoinHandle<Counts>>) {
        fronts
            .into_iter()
            .map(|front| {
                let (order, orders) = channel();
                let (report, concurrency) = (report.clone(), self.scenario.concurrency);
                // A check repeats wakeups and would hide lost ones.
                let checks = self.scenario.respawn_delay.is_zero();
                let thread = std::thread::spawn(move || {
                    Driver::new(front, concurrency, checks, (orders, report)).run()
                });
                (order, thread)
            })
            .unzip()
    }

    fn send(&self, orders: &[Sender<Order>], front: usize, order: Order) {
        orders[front].send(order).expect("a front thread panicked");
        let eventfd = self.segment.eventfds().nth(front).expect("an eventfd");
        rustix::io::write(eventfd, &1_u64.to_ne_bytes()).expect("an eventfd takes a write");
    }

    fn send_all(&self, orders: &[Sender<Order>], order: impl Fn() -> Order) {
        for front in 0..orders.len() {
            self.send(orders, front, order());
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random = mix(self.random.wrapping_add(1));
        self.random % below
    }

    fn fill_places(&mut self, delay: Duration) {
        for worker in 0..self.places.len() {
            if let Place::Vacant(since) = self.places[worker]
                && (self.started < self.places.len() || since.elapsed() >= delay)
            {
                self.places[worker] = Place::Alive(self.spawn(WorkerId(worker as u16)));
            }
        }
    }

    fn spawn(&mut self, worker: WorkerId) -> Process {
        let indices = self.segment.admit(worker).expect("the place is vacant");
        let step = STEPS[self.started % STEPS.len()];
        self.started += 1;
        let mut command = Command::new(build::worker());
        let count = 1 + self.random(12);
        let steps = 200 + self.random(STEPS_MAX);
        command
            .arg(self.inherited[0].as_raw_fd().to_string())
            .arg(self.inherited[1].as_raw_fd().to_string())
            .arg(worker.index().to_string())
            .arg(step.to_string())
            .arg(count.to_string())
            .arg(steps.to_string());
        let indices = indices.as_slice();
        let (fronts, places) = self.inherited[2..].split_at(indices.len());
        for (eventfd, index) in fronts.iter().zip(indices) {
            command
                .arg(eventfd.as_raw_fd().to_string())
                .arg(index.to_string());
        }
        command.arg("-");
        command.args(places.iter().map(|fd| fd.as_raw_fd().to_string()));
        let child = command.spawn().expect("the worker starts");
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a process id");
        // The process is not reaped yet, so its id is still valid.
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("a pidfd");
        Process {
            child,
            pidfd,
            watched: false,
        }
    }

    /// Waits for exits, but not so long that places stay vacant.
    fn wait_for_deaths(&mut self, orders: &[Sender<Order>]) {
        self.record_serving_workers();
        let alive: Vec<_> = (0..self.places.len())
            .filter(|&worker| matches!(self.places[worker], Place::Alive(_)))
            .collect();
        let mut wait: Vec<_> = alive
            .iter()
            .filter_map(|&worker| match &self.places[worker] {
                Place::Alive(process) => Some(PollFd::new(&process.pidfd, PollFlags::IN)),
                _ => None,
            })
            .collect();
        let limit = Timespec {
            tv_sec: 0,
            tv_nsec: 1_000_000,
        };
        poll(&mut wait, Some(&limit)).expect("poll");
        let dead: Vec<_> = alive
            .iter()
            .zip(&wait)
            .filter(|(_, wait)| !wait.revents().is_empty())
            .map(|(&worker, _)| worker)
            .collect();
        for worker in dead {
            let before = std::mem::replace(&mut self.places[worker], Place::Dead);
            let Place::Alive(mut process) = before else {
                continue;
            };
            let status = process.child.wait().expect("the worker is reaped");
            let died = std::os::unix::process::ExitStatusExt::signal(&status);
            assert!(
                died == Some(9) || status.success(),
                "a worker left with {status}"
            );
            self.deaths += u64::from(died.is_some());
            if process.watched {
                self.awaited += 1;
                let ended = self.segment.is_ending(WorkerId(worker as u16));
                assert!(ended, "the kernel did not mark the end of worker {worker}");
            }
            self.send_all(orders, || Order::Dead(WorkerId(worker as u16)));
        }
    }

    fn record_serving_workers(&mut self) {
        for (worker, place) in self.places.iter_mut().enumerate() {
            let worker = WorkerId(worker as u16);
            if let Place::Alive(process) = place
                && !process.watched
                && self
                    .segment
                    .worker(worker)
                    .is_some_and(|words| words.requests > 0)
            {
                process.watched = true;
                self.watch.add(worker);
            }
        }
    }

    fn take_reports(&mut self, reports: &Receiver<Report>, orders: &[Sender<Order>]) -> usize {
        let mut finished = 0;
        while let Ok(report) = reports.try_recv() {
            match report {
                Report::Vacant(worker) => {
                    self.places[worker.index()] = Place::Vacant(Instant::now());
                }
                Report::Quiet => {
                    self.noisy -= 1;
                    if self.noisy == 0 {
                        self.send_all(orders, || Order::Resume);
                    }
                }
                Report::Finished => finished += 1,
            }
        }
        finished
    }

    /// Sometimes kills or stops a worker, or lets all become quiet. With many requests in flight,
    /// no worker would ever sleep, or crash on the way to sleep.
    fn disturb(&mut self, orders: &[Sender<Order>]) {
        let worker = self.random(self.places.len() as u64) as usize;
        let random = self.random(24);
        if random == 2 && self.noisy == 0 {
            self.noisy = orders.len();
            self.send_all(orders, || Order::Pause);
        }
        let Place::Alive(process) = &self.places[worker] else {
            return;
        };
        if random == 0 && self.scenario.killer {
            pidfd_send_signal(&process.pidfd, Signal::KILL).expect("a signal");
            self.killed += 1;
        } else if random == 1 {
            self.segment.stop(WorkerId(worker as u16));
            self.stopped += 1;
        }
    }

    fn end_all(&mut self) {
        for place in &mut self.places {
            if let Place::Alive(process) = place {
                self.awaited += u64::from(process.watched);
                process.child.kill().expect("a worker of ours");
                process.child.wait().expect("the worker is reaped");
            }
        }
    }
}

impl Summary {
    pub(crate) fn check(&self) {
        let counts = &self.counts;
        assert_eq!(counts.lost, 0, "requests were lost");
        assert_eq!(counts.stalls, 0, "a front thread slept on pending work");
        assert_eq!(counts.wrong, 0, "responses were wrong");
        assert_eq!(counts.violations, 0, "workers wrote nonsense");
        assert_eq!(self.corrupt, 0, "workers saw requests that were not theirs");
        assert_eq!(self.twice, 0, "one queueing was executed twice");
        assert_eq!(self.failed, 0, "header frames did not fit");
        let answered = counts.complete + counts.torn + counts.cancelled;
        assert_eq!(
            answered, counts.queued,
            "each request is answered exactly once"
        );
        assert!(
            counts.complete > 0 && counts.retried > 0 && self.awaited > 0,
            "the test did not test much"
        );
        // An exit is not reported if the new worker starts before the watch checks.
        assert!(
            self.notified <= self.awaited && self.notified >= self.awaited / 2,
            "of {} exits {} were reported",
            self.awaited,
            self.notified
        );
        if self.long {
            for step in STEPS.map(u64::from) {
                let hit = step == 0
                    || RARE.contains(&step)
                    || self.by_step.iter().any(|&(hit, _)| hit == step);
                assert!(hit, "no worker died at step {step}");
            }
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = &self.counts;
        write!(
            out,
            "deaths {} (killed {}, stopped {}; {} of {} watched exits reported), requests {}, complete {}, retried {}, torn {}, \
             complete though torn {}, cancelled {}, aborted {} (cut short {}), lost {}, wrong {}, \
             violations {}, stalls {}, corrupt {}, twice {}, {:.1} s; deaths by step",
            self.deaths,
            self.killed,
            self.stopped,
            self.notified,
            self.awaited,
            c.queued,
            c.complete,
            c.retried,
            c.torn,
            c.ended_torn,
            c.cancelled,
            c.aborted,
            self.dropped,
            c.lost,
            c.wrong,
            c.violations,
            c.stalls,
            self.corrupt,
            self.twice,
            self.seconds,
        )?;
        self.by_step
            .iter()
            .try_for_each(|(step, deaths)| write!(out, " {step}:{deaths}"))
    }
}
