//! Writes of broken workers anywhere in the segment, aimed and at random: whatever they hit, the pool recovers within a
//! second. And a pool that is busy, slow or stopped is not mistaken for a corrupt one.

mod process;
mod world;

use self::world::{Mode, World};
use crate::Geometry;
use crate::layout::{
    FRONT_RING_SIZE, PARKED_WORDS, SLOT_OWNED, SLOT_QUEUED, SLOT_SIZE, WORKER_SIZE,
    completion_cell, request_cell, state,
};

/// Cases of each mode.
const CASES: u64 = 5_000;
const TICKS_A_SECOND: u32 = 100;

/// splitmix64: the cases are the same in every run.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub(super) fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// The target of a write, and the value that replaces `old`.
fn aim(random: &mut Random, geometry: &Geometry, old: impl Fn(u64) -> u64) -> (u64, u64) {
    let header = geometry.header();
    let [fronts, workers, slots, cells] = [
        geometry.fronts(),
        geometry.workers(),
        geometry.slots(),
        geometry.cells(),
    ]
    .map(u64::from);
    let ring = header.fronts_offset + random.below(fronts) * header.front_stride;
    let worker = random.below(workers);
    let slot = random.below(fronts * slots);
    let words = header.slots_offset + slot * SLOT_SIZE as u64;
    let small = random.below(40);
    let (at, aimed) = match random.below(12) {
        0 => (random.below(header_words()) * 8, small),
        1 => (ring, small),                // the head
        2 => (ring + 64, random.below(4)), // sleeping
        3 => {
            let cell = request_cell(small, random.below(slots + 1) as u16);
            let at = ring + FRONT_RING_SIZE as u64 + (small % cells) * 8;
            (at, cell)
        }
        4 => {
            let at = header.parked_offset + random.below(PARKED_WORDS as u64) * 8;
            (at, random.below(16))
        }
        5 => {
            let word = random.below(WORKER_SIZE as u64 / 8);
            let at = header.workers_offset + worker * WORKER_SIZE as u64 + word * 8;
            (at, small)
        }
        6 => {
            let place = random.below(fronts) * workers + worker;
            let at = header.completions_offset + (place * cells + small % cells) * 8;
            let cell = completion_cell(small as u32, random.below(2), small, slot as u16);
            (at, cell)
        }
        7 => (words, any_state(random, small, worker)),
        // The state that another slot has.
        8 => {
            let position = old(words) >> 16;
            (words, any_state(random, position, worker))
        }
        9 => (words + random.below(SLOT_SIZE as u64 / 8) * 8, small),
        10 => {
            let size = u64::from(geometry.response_size());
            let at = header.responses_offset + slot * size + random.below(size / 8) * 8;
            (at, small)
        }
        _ => (random.below(header.segment_size / 8) * 8, small),
    };
    let word = match random.below(6) {
        0 => random.next(),
        1 => 0,
        2 => u64::MAX,
        3 => old(at).wrapping_add(1),
        _ => aimed,
    };
    (at, word)
}

const fn header_words() -> u64 {
    size_of::<crate::layout::Header>() as u64 / 8
}

fn any_state(random: &mut Random, position: u64, worker: u64) -> u64 {
    match random.below(3) {
        0 => state(position, 0, SLOT_QUEUED),
        1 => state(position, worker as u16, SLOT_OWNED),
        _ => 0,
    }
}

/// Results of the cases.
#[derive(Debug, Default)]
struct Tally {
    replaced: u64,
    failed: u64,
    wrong: u64,
}

fn scribble(mode: Mode) -> Tally {
    let mut tally = Tally::default();
    for case in 0..CASES {
        let mut random = Random(case);
        let mut world = World::new(mode, random.next());
        for _ in 0..20 + random.below(30) {
            world.tick(true);
        }
        for _ in 0..=random.below(2) {
            let (at, value) = aim(&mut random, world.geometry(), |at| world.peek(at));
            world.scribble(at, value);
        }
        for _ in 0..TICKS_A_SECOND {
            world.tick(true);
        }
        // Requests in flight have failed or are done, and all further ones get a response.
        let before = world.wrong();
        let probes = world.probe();
        for _ in 0..TICKS_A_SECOND * 3 / 4 {
            world.tick(false);
        }
        let left = world.unanswered();
        assert!(
            left.is_empty(),
            "case {case}: {left:?} wait\n{}",
            world.story()
        );
        assert_eq!(
            world.wrong(),
            before,
            "case {case}: a wrong answer after a second\n{}",
            world.story()
        );
        assert!(
            world.failed_of(&probes).is_empty(),
            "case {case}: one of {probes:?} failed\n{}",
            world.story()
        );
        tally.replaced += u64::from(world.replacements() > 0);
        tally.failed += world.failed();
        tally.wrong += before;
    }
    tally
}

#[test]
fn a_pool_heals_within_a_second_of_any_write() {
    let tally = scribble(Mode::OneAtATime);
    // Otherwise the writes hit nothing that matters.
    assert!(tally.replaced > CASES / 10, "{tally:?}");
}

#[test]
fn a_concurrent_pool_heals_within_a_second_of_any_write() {
    let tally = scribble(Mode::Concurrent);
    assert!(tally.replaced > CASES / 10, "{tally:?}");
}

#[test]
fn nothing_is_wrong_with_a_pool_that_is_busy_slow_or_stopped() {
    for mode in [Mode::OneAtATime, Mode::Concurrent] {
        for case in 0..300 {
            let mut world = World::new(mode, case);
            for _ in 0..3 * TICKS_A_SECOND {
                world.stop_and_continue_some();
                world.tick(true);
            }
            assert_eq!(world.replacements(), 0, "case {case}: {}", world.story());
            assert_eq!((world.failed(), world.wrong()), (0, 0), "case {case}");
        }
    }
}
