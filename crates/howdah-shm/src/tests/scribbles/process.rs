//! A worker that makes one step at a time, and checks what a real one checks.

use std::sync::Arc;

use super::Random;
use crate::slot::WorkerId;
use crate::sync::Ordering;
use crate::worker::{ResponseWriter, SuspendedResponse, Worker};
use crate::{Exit, Segment};

/// Bytes of a part of a response: a ring holds less than four.
pub(super) const PART: usize = 1000;

/// The response to a request.
pub(super) fn answer(id: u64) -> Vec<u8> {
    let parts = (id % 6) as usize;
    vec![id as u8; parts * PART]
}

#[derive(Debug)]
struct Hand {
    response: SuspendedResponse,
    /// Steps before it continues.
    rest: u64,
    left: usize,
    /// It waits for space.
    space: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Process {
    pub(super) id: WorkerId,
    segment: Arc<Segment>,
    worker: Worker,
    hands: Vec<Hand>,
    /// Requests that it has at the same time; `None`: its pool is not concurrent.
    places: Option<usize>,
    /// It sleeps, and the word that wakes it had this value.
    asleep: Option<u32>,
    /// A signal has stopped it.
    pub(super) stopped: bool,
    pub(super) dead: bool,
}

impl Process {
    pub(super) fn start(segment: &Arc<Segment>, id: WorkerId, places: Option<usize>) -> Self {
        let indices = segment.admit(id).unwrap();
        Self {
            id,
            segment: Arc::clone(segment),
            worker: Worker::attach(segment, id, &indices),
            hands: Vec::new(),
            places,
            asleep: None,
            stopped: false,
            dead: false,
        }
    }

    pub(super) fn step(&mut self, now_ns: u64, random: &mut Random) {
        if self.dead || self.stopped {
            return;
        }
        let segment = Arc::clone(&self.segment);
        let words = segment.memory.worker(self.id.0);
        let parked = segment.memory.parked(self.id.word());
        if let Some(seen) = self.asleep {
            let goes_on = self.hands.iter().any(|hand| hand.space.is_none());
            if words.front.wake.load() == seen && !goes_on {
                return;
            }
            self.asleep = None;
            parked.fetch_and(!self.id.bit(), Ordering::SeqCst);
        }
        for hand in std::mem::take(&mut self.hands) {
            let rest = self.advance(hand, random);
            self.hands.extend(rest);
        }
        if self.places.is_some() {
            words.own.looked_ns.store(now_ns, Ordering::Relaxed);
        }
        let free = self.hands.len() < self.places.unwrap_or(1);
        let stops = words.front.stop.load(Ordering::SeqCst) != 0;
        if stops && self.hands.is_empty() {
            self.dead = true;
        } else if free && !stops {
            self.claim(random);
        }
        let sleeps = self.places.is_some() || self.hands.is_empty();
        if self.dead || !sleeps || !free {
            return;
        }
        let seen = words.front.wake.load();
        parked.fetch_or(self.id.bit(), Ordering::SeqCst);
        if self.worker.peek() {
            parked.fetch_and(!self.id.bit(), Ordering::SeqCst);
        } else {
            words.own.looked_ns.store(now_ns, Ordering::Relaxed);
            self.asleep = Some(seen);
        }
    }

    fn claim(&mut self, random: &mut Random) {
        let Ok(claimed) = self.worker.try_search() else {
            self.dead = true; // like abort()
            return;
        };
        let Some(claim) = claimed else { return };
        let mut id = [0; 8];
        if claim.vars.len() == id.len() {
            id.copy_from_slice(&claim.vars);
        }
        self.worker.started(&claim);
        let left = answer(u64::from_le_bytes(id));
        let mut response = ResponseWriter::new(&mut self.worker, claim);
        let first = left.first().map_or(String::new(), u8::to_string);
        response.headers(200, &[("x-byte", &first)]);
        self.hands.push(Hand {
            response: response.put_aside(),
            rest: if random.one_in(8) {
                15
            } else {
                random.below(3)
            },
            left: left.len(),
            space: None,
        });
    }

    /// `None`: it is done.
    fn advance(&mut self, mut hand: Hand, random: &mut Random) -> Option<Hand> {
        if hand.rest > 0 {
            hand.rest -= 1;
            return Some(hand);
        }
        if let Some(seen) = hand.space {
            let concurrent = self.places.is_some();
            if !concurrent && self.worker.space(&hand.response.claim) == seen {
                return Some(hand);
            }
        }
        let gone = self.worker.is_aborted(&hand.response.claim);
        let byte = hand.response.claim.vars.first().copied().unwrap_or(0);
        let mut response = ResponseWriter::resume(&mut self.worker, hand.response);
        if hand.left == 0 || gone {
            response.end(Exit::Normal, 0);
            return None;
        }
        match response.try_room(PART as u64 + 16) {
            Ok(()) => {
                response.body(&[byte; PART]);
                hand.left -= PART;
                hand.space = None;
                if random.one_in(2) {
                    response.flush();
                }
            }
            Err(seen) => hand.space = Some(seen),
        }
        hand.response = response.put_aside();
        Some(hand)
    }
}
