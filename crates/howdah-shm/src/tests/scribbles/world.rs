//! Two front threads and three workers that take turns, with a simulated clock. The world does what the pool crate
//! does: it kills broken workers, dispatches requests again, and replaces a corrupt segment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::Random;
use super::process::{Process, answer};
use crate::slot::{Body, SlotId, WorkerId};
use crate::{
    Event, Frame, Front, Geometry, ProtocolViolation, QueueError, ReadError, Segment, SlotState,
    TornSlot,
};

const TICK_NS: u64 = 10_000_000;
const WORKERS: u16 = 3;
/// Requests that one worker of a concurrent pool has at the same time.
const PLACES: usize = 3;
const CHECK_TICKS: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    OneAtATime,
    Concurrent,
}

#[derive(Debug)]
struct PendingRequest {
    slot: SlotId,
    body: Vec<u8>,
    ended: bool,
}

#[derive(Debug)]
pub(super) struct World {
    mode: Mode,
    random: Random,
    now_ns: u64,
    ticks: u64,
    segment: Arc<Segment>,
    fronts: Vec<Front>,
    processes: Vec<Process>,
    /// By front thread and request.
    pending: Vec<BTreeMap<u64, PendingRequest>>,
    /// Requests for which no slot was free, by front thread.
    waiting: Vec<VecDeque<u64>>,
    last: u64,
    failed: BTreeSet<u64>,
    wrong: u64,
    corrupt: Option<ProtocolViolation>,
    replacements: u64,
    /// Log of events, for a case that fails.
    story: Vec<String>,
}

fn geometry() -> Geometry {
    Geometry::new(2, u32::from(WORKERS), 4, 4096, 4096).unwrap()
}

fn create(mode: Mode) -> (Arc<Segment>, Vec<Front>, Vec<Process>) {
    let (segment, fronts) = match mode {
        Mode::OneAtATime => Segment::create(geometry()),
        Mode::Concurrent => Segment::create_concurrent(geometry()),
    }
    .unwrap();
    let places = (mode == Mode::Concurrent).then_some(PLACES);
    let processes = (0..WORKERS).map(|id| Process::start(&segment, WorkerId(id), places));
    let processes = processes.collect();
    (segment, fronts, processes)
}

impl World {
    pub(super) fn new(mode: Mode, seed: u64) -> Self {
        let (segment, fronts, processes) = create(mode);
        Self {
            mode,
            random: Random(seed),
            now_ns: TICK_NS,
            ticks: 0,
            segment,
            pending: fronts.iter().map(|_| BTreeMap::new()).collect(),
            waiting: fronts.iter().map(|_| VecDeque::new()).collect(),
            fronts,
            processes,
            last: 0,
            failed: BTreeSet::new(),
            wrong: 0,
            corrupt: None,
            replacements: 0,
            story: Vec::new(),
        }
    }

    pub(super) fn geometry(&self) -> &Geometry {
        self.segment.geometry()
    }

    pub(super) fn peek(&self, at: u64) -> u64 {
        self.segment.memory.word(at)
    }

    pub(super) fn scribble(&mut self, at: u64, word: u64) {
        self.record(&format!(
            "{word:#x} in place of {:#x} at {at}",
            self.peek(at)
        ));
        self.segment.memory.scribble(at, word);
    }

    fn record(&mut self, what: &str) {
        self.story.push(format!("{}: {what}", self.ticks));
    }

    pub(super) fn story(&self) -> String {
        self.story.join("\n")
    }

    pub(super) fn replacements(&self) -> u64 {
        self.replacements
    }

    pub(super) fn wrong(&self) -> u64 {
        self.wrong
    }

    pub(super) fn failed(&self) -> u64 {
        self.failed.len() as u64
    }

    pub(super) fn failed_of(&self, ids: &[u64]) -> Vec<u64> {
        let failed = ids.iter().filter(|id| self.failed.contains(id));
        failed.copied().collect()
    }

    pub(super) fn unanswered(&self) -> Vec<u64> {
        let pending = self.pending.iter().flat_map(BTreeMap::keys);
        pending
            .chain(self.waiting.iter().flatten())
            .copied()
            .collect()
    }

    /// A request on each front thread.
    pub(super) fn probe(&mut self) -> Vec<u64> {
        (0..self.fronts.len())
            .map(|front| self.request(front))
            .collect()
    }

    /// A worker is stopped by a signal, at any step, or continues.
    pub(super) fn stop_and_continue_some(&mut self) {
        if self.random.one_in(20) {
            let at = self.random.below(self.processes.len() as u64) as usize;
            let process = &mut self.processes[at];
            process.stopped = !process.stopped;
        }
    }

    /// 10 milliseconds.
    pub(super) fn tick(&mut self, traffic: bool) {
        self.now_ns += TICK_NS;
        self.ticks += 1;
        if traffic && self.random.one_in(5) {
            let front = self.random.below(self.fronts.len() as u64) as usize;
            self.request(front);
        }
        let first = self.random.below(self.processes.len() as u64) as usize;
        for step in 0..self.processes.len() {
            let at = (first + step) % self.processes.len();
            self.processes[at].step(self.now_ns, &mut self.random);
        }
        for front in 0..self.fronts.len() {
            self.collect(front);
        }
        self.bury();
        if self.ticks.is_multiple_of(CHECK_TICKS) {
            for front in 0..self.fronts.len() {
                self.check(front);
            }
        }
        if let Some(violation) = self.corrupt {
            self.record(&violation.to_string());
            self.replace_segment();
        }
        for front in 0..self.fronts.len() {
            self.hand_out(front);
        }
    }

    fn request(&mut self, front: usize) -> u64 {
        self.last += 1;
        self.record(&format!("request {} of front {front}", self.last));
        self.waiting[front].push_back(self.last);
        self.hand_out(front);
        self.last
    }

    fn hand_out(&mut self, front: usize) {
        while self.corrupt.is_none()
            && let Some(&id) = self.waiting[front].front()
        {
            let shm = &mut self.fronts[front];
            let Some(slot) = shm.acquire() else { return };
            shm.fill(slot, id, &id.to_le_bytes(), Body::None, 0)
                .unwrap();
            if let Err(error) = shm.push(slot) {
                let QueueError::ProtocolViolation(violation) = error else {
                    panic!("{error}")
                };
                self.corrupt = Some(violation);
                return;
            }
            self.waiting[front].pop_front();
            let pending = PendingRequest {
                slot,
                body: Vec::new(),
                ended: false,
            };
            self.pending[front].insert(id, pending);
        }
    }

    fn collect(&mut self, front: usize) {
        while let Some(event) = self.fronts[front].poll() {
            self.handle(front, event);
        }
    }

    fn handle(&mut self, front: usize, event: Event) {
        match event {
            Event::Progress { slot, worker } => self.read(front, slot, worker),
            Event::Done { slot, worker } => {
                self.read(front, slot, worker);
                if let Some(id) = self.id_of(front, slot) {
                    let pending = self.pending[front].remove(&id).unwrap();
                    self.settle(id, &pending);
                }
                self.fronts[front].release(slot).unwrap();
            }
            Event::ProtocolViolation { worker, violation } => {
                self.report_violation(worker, violation);
            }
        }
    }

    fn id_of(&self, front: usize, slot: SlotId) -> Option<u64> {
        let mut pending = self.pending[front].iter();
        pending.find(|(_, own)| own.slot == slot).map(|(id, _)| *id)
    }

    fn settle(&mut self, id: u64, pending: &PendingRequest) {
        if !pending.ended {
            self.record(&format!("request {id} failed"));
            self.failed.insert(id);
        } else if pending.body != answer(id) {
            self.wrong += 1;
        }
    }

    fn report_violation(&mut self, worker: WorkerId, violation: ProtocolViolation) {
        if violation.corrupts_segment() {
            self.corrupt = Some(violation);
        } else if let Some(process) = self.processes.get_mut(worker.index()) {
            process.dead = true;
            self.record(&format!("{worker:?} ended: {violation}"));
        }
    }

    fn read(&mut self, front: usize, slot: SlotId, worker: WorkerId) {
        let Some(id) = self.id_of(front, slot) else {
            return;
        };
        let pending = self.pending[front].get_mut(&id).unwrap();
        let mut violation = None;
        match self.fronts[front].response(slot) {
            Ok(frames) => {
                for frame in frames {
                    match frame {
                        Ok(Frame::Body(bytes)) => pending.body.extend(bytes),
                        Ok(Frame::End(_)) => pending.ended = true,
                        Ok(_) => {}
                        Err(error) => violation = Some(error),
                    }
                }
            }
            Err(ReadError::ProtocolViolation(error)) => violation = Some(error),
            Err(ReadError::Slot(error)) => panic!("{error}"),
        }
        if let Some(violation) = violation {
            self.report_violation(worker, violation);
        }
    }

    /// Recovers exited workers and starts others in their places.
    fn bury(&mut self) {
        let dead = self.processes.iter().filter(|process| process.dead);
        for worker in dead.map(|process| process.id).collect::<Vec<_>>() {
            for front in 0..self.fronts.len() {
                let recovery = self.fronts[front].recover(worker).unwrap();
                for event in recovery.completed {
                    self.handle(front, event);
                }
                for torn in recovery.torn {
                    self.torn(front, &torn, worker);
                }
            }
            let places = (self.mode == Mode::Concurrent).then_some(PLACES);
            self.processes[worker.index()] = Process::start(&self.segment, worker, places);
        }
    }

    fn torn(&mut self, front: usize, torn: &TornSlot, worker: WorkerId) {
        self.read(front, torn.slot, worker);
        let id = self.id_of(front, torn.slot).unwrap();
        if !torn.started && !torn.read {
            if self.fronts[front].requeue(torn.slot).is_ok() {
                return;
            }
            self.waiting[front].push_front(id);
            self.pending[front].remove(&id);
        } else {
            let pending = self.pending[front].remove(&id).unwrap();
            self.settle(id, &pending);
        }
        self.fronts[front].release(torn.slot).unwrap();
    }

    fn check(&mut self, front: usize) {
        let running: Vec<_> = self.fronts[front]
            .slots()
            .filter_map(|status| match status.state {
                SlotState::Running { worker, .. } => Some((status.slot, worker)),
                _ => None,
            })
            .collect();
        for (slot, worker) in running {
            self.read(front, slot, worker);
        }
        if let Err(violation) = self.fronts[front].check(self.now_ns) {
            self.corrupt = Some(violation);
        }
    }

    fn replace_segment(&mut self) {
        self.replacements += 1;
        for front in 0..self.fronts.len() {
            self.collect(front);
            for (id, mut pending) in std::mem::take(&mut self.pending[front]) {
                let torn = self.fronts[front].abandon(pending.slot).unwrap();
                if let Ok(frames) = self.fronts[front].response(pending.slot) {
                    for frame in frames.flatten() {
                        match frame {
                            Frame::Body(bytes) => pending.body.extend(bytes),
                            Frame::End(_) => pending.ended = true,
                            _ => {}
                        }
                    }
                }
                if torn.started || torn.read {
                    self.settle(id, &pending);
                } else {
                    self.waiting[front].push_front(id);
                }
            }
        }
        self.corrupt = None;
        (self.segment, self.fronts, self.processes) = create(self.mode);
    }
}
