//! A front thread under test: queues requests, cancels and aborts some, checks every byte.

use crate::job::{Job, body, mix, vars};
use howdah_shm::{Body, Cancel, Event, Front, TornSlot, WorkerId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::time::{ClockId, clock_gettime};
use std::ops::AddAssign;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// Interval of the check on requests that were left to awake workers.
const LOOK: Duration = Duration::from_millis(1);
/// A longer sleep with requests in flight is a lost wakeup.
const STALL_SECONDS: i64 = 20;
/// A request that is in flight for longer was lost.
const HANG: Duration = Duration::from_secs(60);

/// Message from the supervisor to a front thread.
pub(crate) enum Order {
    /// A worker has exited, as reported by its pidfd.
    Dead(WorkerId),
    /// Push nothing, and report when all requests have responses. The workers then go to sleep.
    Pause,
    /// Continue after a pause.
    Resume,
    /// Push nothing more, and report when all requests have responses. Workers still exit, so the
    /// thread runs until the channel is closed.
    Finish,
}

/// Message from a front thread to the supervisor.
pub(crate) enum Report {
    /// All front threads have recovered the worker.
    Vacant(WorkerId),
    /// All requests before the pause have responses.
    Quiet,
    /// All requests of this front thread have responses, or it has given up.
    Finished,
}

#[derive(PartialEq)]
enum Pause {
    No,
    Wanted,
    Quiet,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) queued: u64,
    pub(crate) complete: u64,
    pub(crate) torn: u64,
    pub(crate) cancelled: u64,
    pub(crate) aborted: u64,
    pub(crate) retried: u64,
    pub(crate) ended_torn: u64,
    pub(crate) lost: u64,
    pub(crate) wrong: u64,
    pub(crate) violations: u64,
    pub(crate) stalls: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.queued += other.queued;
        self.complete += other.complete;
        self.torn += other.torn;
        self.cancelled += other.cancelled;
        self.aborted += other.aborted;
        self.retried += other.retried;
        self.ended_torn += other.ended_torn;
        self.lost += other.lost;
        self.wrong += other.wrong;
        self.violations += other.violations;
        self.stalls += other.stalls;
    }
}

pub(crate) struct Driver {
    front: Front,
    eventfd: OwnedFd,
    jobs: Vec<Option<Job>>,
    concurrency: usize,
    /// Workers that exit at any step leave a segment that every check considers consistent.
    checks: bool,
    under_way: usize,
    random: u64,
    next_id: u64,
    counts: Counts,
    /// Time of the last check on requests that were left to awake workers.
    looked: Instant,
    orders: Receiver<Order>,
    reports: Sender<Report>,
}

impl Driver {
    pub(crate) fn new(
        front: Front,
        concurrency: usize,
        checks: bool,
        (orders, reports): (Receiver<Order>, Sender<Report>),
    ) -> Self {
        let eventfd = front
            .segment()
            .eventfds()
            .nth(front.index())
            .expect("an eventfd");
        let eventfd = eventfd.try_clone_to_owned().expect("a descriptor");
        let jobs = (0..front.segment().geometry().slots())
            .map(|_| None)
            .collect();
        let next_id = (front.index() as u64 + 1) << 48;
        Self {
            front,
            eventfd,
            jobs,
            concurrency,
            checks,
            under_way: 0,
            random: mix(next_id),
            next_id,
            counts: Counts::default(),
            looked: Instant::now(),
            orders,
            reports,
        }
    }

    pub(crate) fn run(mut self) -> Counts {
        let mut finish = false;
        let mut reported = false;
        let mut pause = Pause::No;
        let mut checked = Instant::now();
        loop {
            let queues = !finish && pause == Pause::No;
            while queues && self.under_way < self.concurrency && self.queue() {}
            self.disturb();
            let mut busy = false;
            while let Some(event) = self.front.poll() {
                self.handle(event);
                busy = true;
            }
            loop {
                match self.orders.try_recv() {
                    Ok(Order::Dead(worker)) => self.recover(worker),
                    Ok(Order::Pause) => pause = Pause::Wanted,
                    Ok(Order::Resume) => pause = Pause::No,
                    Ok(Order::Finish) => finish = true,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return self.counts,
                }
                busy = true;
            }
            if self.checks && self.chance(8) {
                self.check();
            }
            if checked.elapsed() > HANG / 20 {
                checked = Instant::now();
                self.drop_lost();
            }
            if pause == Pause::Wanted && self.under_way == 0 {
                pause = Pause::Quiet;
                self.report(Report::Quiet);
            }
            let gives_up = self.counts.stalls + self.counts.lost > 4;
            if !reported && (finish && self.under_way == 0 || gives_up) {
                self.report(Report::Finished);
                reported = true;
            }
            if !busy {
                self.read_lazy();
                self.sleep();
            }
        }
    }

    fn report(&self, report: Report) {
        self.reports.send(report).expect("the supervisor waits");
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.random = mix(self.random.wrapping_add(1));
        self.random.is_multiple_of(one_in)
    }

    fn queue(&mut self) -> bool {
        let Some(slot) = self.front.acquire() else {
            return false;
        };
        let id = self.next_id;
        self.next_id += 1;
        let body = body(id);
        let body = body
            .as_ref()
            .map_or(Body::None, |bytes| Body::Inline(bytes));
        self.front
            .fill(slot, id, &vars(id), body, 0)
            .expect("the request fits");
        self.front.push(slot).expect("the ring is intact");
        let ring = u64::from(self.front.segment().geometry().response_size());
        self.jobs[slot.index()] = Some(Job::new(id, slot, ring));
        self.counts.queued += 1;
        self.under_way += 1;
        true
    }

    /// Sometimes cancels or aborts a request.
    fn disturb(&mut self) {
        if !self.chance(16) {
            return;
        }
        let index = (self.random >> 20) as usize % self.jobs.len();
        let Some(job) = &mut self.jobs[index] else {
            return;
        };
        let slot = job.slot;
        if (self.random >> 40).is_multiple_of(2) {
            if self.front.cancel(slot).expect("the slot is queued") == Cancel::Removed {
                self.counts.cancelled += 1;
                self.jobs[index] = None;
                self.under_way -= 1;
            }
        } else if !job.aborted {
            job.aborted = true;
            self.counts.aborted += 1;
            self.front.abort(slot).expect("the slot is queued");
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Progress { slot, .. } => {
                // Left in the ring for a while, so that the worker finds it full.
                if self.chance(3) {
                    if let Some(job) = &mut self.jobs[slot.index()] {
                        job.lazy = true;
                    }
                } else {
                    self.read(slot.index());
                }
            }
            Event::Done { slot, .. } => {
                self.read(slot.index());
                match self.jobs[slot.index()].as_ref().and_then(Job::ended) {
                    Some(true) => self.counts.complete += 1,
                    _ => self.wrong("done without all of its response", slot.index()),
                }
                self.forget(slot.index());
            }
            Event::ProtocolViolation { worker, violation } => {
                eprintln!("worker {}: {violation}", worker.index());
                self.counts.violations += 1;
            }
        }
    }

    fn check(&mut self) {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
        if let Err(violation) = self.front.check(now_ns) {
            eprintln!("a check of a sound segment: {violation}");
            self.counts.violations += 1;
        }
    }

    fn wrong(&mut self, what: &str, index: usize) {
        eprintln!("{what}: {:?}", self.jobs[index]);
        self.counts.wrong += 1;
    }

    fn forget(&mut self, index: usize) {
        if let Some(job) = self.jobs[index].take() {
            self.front
                .release(job.slot)
                .expect("the slot is done or torn");
            self.under_way -= 1;
        }
    }

    fn read(&mut self, index: usize) {
        let Some(job) = &mut self.jobs[index] else {
            return self.wrong("an event for no request", index);
        };
        job.lazy = false;
        let frames: Result<Vec<_>, _> = match self.front.response(job.slot) {
            Ok(response) => response.collect(),
            Err(error) => {
                eprintln!("{error}: {job:?}");
                self.counts.violations += 1;
                return;
            }
        };
        match frames {
            Ok(frames) => {
                if !frames.iter().all(|frame| job.take(frame)) {
                    self.wrong("a response of wrong bytes", index);
                }
            }
            Err(violation) => {
                eprintln!("{violation}: {job:?}");
                self.counts.violations += 1;
            }
        }
    }

    fn read_lazy(&mut self) {
        for index in 0..self.jobs.len() {
            if self.jobs[index].as_ref().is_some_and(|job| job.lazy) {
                self.read(index);
            }
        }
    }

    fn recover(&mut self, worker: WorkerId) {
        let recovery = self.front.recover(worker).expect("the worker was enlisted");
        for event in recovery.completed {
            self.handle(event);
        }
        for torn in recovery.torn {
            self.torn(torn);
        }
        if recovery.vacant {
            self.report(Report::Vacant(worker));
        }
    }

    fn torn(&mut self, torn: TornSlot) {
        let index = torn.slot.index();
        // Committed frames are complete, and may be the whole response.
        self.read(index);
        let Some(job) = &mut self.jobs[index] else {
            return self.wrong("a torn slot of no request", index);
        };
        match job.ended() {
            Some(true) => {
                self.counts.ended_torn += 1;
                self.counts.complete += 1;
                self.forget(index);
            }
            Some(false) => self.wrong("ended without all of its response", index),
            None if !torn.read && !job.aborted && (!torn.started || job.id.is_multiple_of(2)) => {
                job.restart();
                self.counts.retried += 1;
                self.front.requeue(torn.slot).expect("the slot is torn");
            }
            None => {
                self.counts.torn += 1;
                self.forget(index);
            }
        }
    }

    fn drop_lost(&mut self) {
        for index in 0..self.jobs.len() {
            if let Some(job) = &self.jobs[index]
                && job.since.elapsed() > HANG
            {
                eprintln!("lost: {job:?} {:?}", self.front.slot(job.slot));
                self.counts.lost += 1;
            }
        }
    }

    fn sleep(&mut self) {
        let has_left = self.front.may_have_left();
        if has_left && self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            self.front.recheck_left();
        }
        if self.front.prepare_sleep() {
            return;
        }
        let mut wait = [PollFd::new(&self.eventfd, PollFlags::IN)];
        let limit = Timespec {
            tv_sec: if has_left { 0 } else { STALL_SECONDS },
            tv_nsec: if has_left { LOOK.as_nanos() as i64 } else { 0 },
        };
        let ready = poll(&mut wait, Some(&limit)).expect("poll");
        if ready == 0 && self.under_way != 0 && !has_left {
            eprintln!("asleep with {} requests: {:?}", self.under_way, self.front);
            self.counts.stalls += 1;
        }
        if ready != 0 {
            let mut count = [0; 8];
            rustix::io::read(&self.eventfd, &mut count).expect("the eventfd is readable");
        }
        self.front.woken();
    }
}
