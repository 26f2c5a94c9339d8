//! Profiles: workers count in shared memory where PHP is, at a fixed rate (`worker/src/profile`).
//!
//! The front starts them with words of each place, requests samples while they run ([`ProfiledPlace`]), and reads the
//! counts at the end. Everything that a worker wrote is checked on a copy: a broken worker can only falsify the profile
//! of its own pool.

use crate::layout::words::Worker;
use crate::layout::{
    FRAME_UNKNOWN, LIFE_AWAITED, LIFE_ENDED, PROFILE_FRAME_SIZE, PROFILE_FRAMES_MAX,
    PROFILE_FRAMES_OFFSET, PROFILE_FUNCTION, PROFILE_GLOBALS_SIZE, PROFILE_HEADER_SIZE,
    PROFILE_INTERNAL, PROFILE_NODE_SIZE, PROFILE_NODES_MAX, PROFILE_NODES_OFFSET, PROFILE_ROUTE,
    PROFILE_STRINGS_MAX, PROFILE_STRINGS_OFFSET, PROFILE_WAIT,
};
use crate::memory::{Area, Memory};
use crate::segment::Segment;
use crate::slot::WorkerId;
use crate::sync::{AtomicU32, Ordering};
use bytes::BytesMut;
use std::sync::atomic::{AtomicU8, fence};
use std::time::Duration;

/// Parameters of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileOrder {
    /// Distinguishes profiles of a segment; not 0.
    pub number: u32,
    /// Time between two samples of a worker, at least half a millisecond.
    pub period: Duration,
    /// `CLOCK_MONOTONIC` in nanoseconds: workers stop then, even if the front does not end the
    /// profile.
    pub end_ns: u64,
}

/// A place while a profile is taken: the front's view of its process, and how it requests samples.
#[derive(Clone, Copy, Debug)]
pub struct ProfiledPlace<'a> {
    memory: &'a Memory,
    id: WorkerId,
    words: &'a Worker,
}

/// The interrupt flag of a process's PHP. Between two instructions PHP clears it, and takes the samples that are due.
#[derive(Clone, Copy, Debug)]
pub struct InterruptFlag<'a> {
    flag: &'a AtomicU8,
    place: ProfiledPlace<'a>,
}

impl InterruptFlag<'_> {
    /// PHP has not reacted yet.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed) != 0
    }

    /// Interrupts PHP. The samples that are due have been counted. `cpu_time`: of the process, read before `now_ns`
    /// (`CLOCK_MONOTONIC`), so that a delay in between does not look like a wait; `None`: unknown.
    pub fn set(&self, cpu_time: Option<Duration>, now_ns: u64) {
        let ticks = &self.place.words.ticks;
        let frame = self.place.frame().unwrap_or(FRAME_UNKNOWN);
        let cpu_us = cpu_time.unwrap_or_default().as_micros() as u32;
        ticks.tick_frame.store(frame, Ordering::Relaxed);
        ticks.tick_cpu_us.store(cpu_us, Ordering::Relaxed);
        ticks
            .tick_us
            .store((now_ns / 1000) as u32, Ordering::Relaxed);
        self.flag.store(1, Ordering::Release);
    }
}

/// The front's view of a process when a sample is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// There is no request.
    Idle,
    /// A sample must be taken.
    Ran,
    /// It has not run since its last sample, which counts for this one too.
    Same,
}

impl ProfiledPlace<'_> {
    /// The process; `None`: currently none.
    pub fn process(&self) -> Option<u32> {
        let life = self.words.life.0.load(Ordering::Relaxed);
        let id = life & !(LIFE_AWAITED | LIFE_ENDED);
        (life & LIFE_ENDED == 0 && id != 0).then_some(id)
    }

    /// Identifies its current request: 0 without a request.
    pub fn request(&self) -> u64 {
        match self.words.own.request_id.load(Ordering::Relaxed) {
            0 => self.words.own.in_flight.load(Ordering::Relaxed).into(),
            id => id,
        }
    }

    /// Processor time of the sampling thread, which is included in the process's.
    pub fn sampler_time(&self) -> Duration {
        Duration::from_nanos(self.words.ticks.sampler_ns.load(Ordering::Relaxed))
    }

    /// Each sample counts only once.
    pub fn samples_each(&self) -> bool {
        self.words.ticks.sample_each.load(Ordering::Relaxed) != 0
    }

    /// `None`: PHP takes no samples itself.
    pub fn interrupt_flag(&self) -> Option<InterruptFlag<'_>> {
        let at = globals_offset(&self.words.ticks.interrupt_at, 1)?;
        Some(InterruptFlag {
            flag: self.memory.flag(self.globals(), at),
            place: *self,
        })
    }

    /// Address of the frame in which PHP is.
    fn frame(&self) -> Option<u64> {
        let at = globals_offset(&self.words.ticks.frame_at, size_of::<u64>())?;
        at.is_multiple_of(size_of::<u64>() as u64)
            .then(|| self.memory.read_u64(self.globals(), at))
    }

    fn globals(&self) -> Area {
        Area::Globals { worker: self.id.0 }
    }

    /// Counts samples that are due. Only one thread at a time may count for a segment.
    pub fn count(&self, tick: Tick, samples: u64) {
        let ticks = &self.words.ticks;
        let word = match tick {
            Tick::Idle => &ticks.ticks_idle,
            Tick::Ran => &ticks.ticks_ran,
            Tick::Same => &ticks.ticks_same,
        };
        word.fetch_add(samples, Ordering::Relaxed);
    }

    /// Wakes the worker to take the samples that were counted.
    pub fn wake(&self) {
        self.words.front.sample.increment_and_wake();
    }
}

/// Decodes an offset in the page of globals, which a worker stores plus one. `None`: 0, or `size` bytes do not fit.
fn globals_offset(word: &AtomicU32, size: usize) -> Option<u64> {
    let at = word.load(Ordering::Acquire).checked_sub(1)? as usize;
    (at <= PROFILE_GLOBALS_SIZE - size).then_some(at as u64)
}

/// Results of the samples of one or several workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// Samples that were due: the sum of those below.
    pub due: u64,
    /// Samples that are in the profile.
    pub taken: u64,
    /// Nothing ran.
    pub idle: u64,
    /// The machine was too busy to take them in time.
    pub late: u64,
    /// The stack changed while it was read.
    pub unreadable: u64,
    /// The worker's memory for its profile was full.
    pub full: u64,
}

impl SampleCounts {
    /// Adds those of another worker.
    pub fn add(&mut self, more: &Self) {
        let sum = |to: &mut u64, amount: u64| *to = to.saturating_add(amount);
        sum(&mut self.due, more.due);
        sum(&mut self.taken, more.taken);
        sum(&mut self.idle, more.idle);
        sum(&mut self.late, more.late);
        sum(&mut self.unreadable, more.unreadable);
        sum(&mut self.full, more.full);
    }
}

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FrameKind {
    /// Method and path of the request: the outermost frame.
    Route,
    /// PHP code.
    Function,
    /// A function of PHP or an extension.
    Internal,
    /// The wait of the innermost function.
    Wait,
}

/// A frame of stacks. Text as the worker wrote it, with invalid UTF-8 replaced.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct ProfileFrame {
    pub kind: FrameKind,
    /// `Class::function`, a route, or `[what is waited for]`.
    pub name: String,
    /// Path of PHP code; otherwise empty.
    pub file: String,
    /// Line in that file; 0: unknown.
    pub line: u32,
}

/// A stack: this frame, called from that of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileNode {
    /// Index of a node before this one; `None`: the outermost.
    pub parent: Option<usize>,
    /// Index of the frame.
    pub frame: usize,
    /// Samples whose innermost frame this is.
    pub samples: u64,
    /// The wall time that they represent, in nanoseconds.
    pub wall_ns: u64,
    /// The processor time that they represent, in nanoseconds.
    pub cpu_ns: u64,
}

/// The counts of the workers of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct WorkerProfile {
    pub counts: SampleCounts,
    pub frames: Vec<ProfileFrame>,
    /// Stacks.
    pub nodes: Vec<ProfileNode>,
}

/// A worker has overwritten its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the profile of worker {} is damaged", .0.0)]
pub struct DamagedProfileError(pub WorkerId);

impl Segment {
    /// Starts a profile in the workers of all places, including workers that start later.
    pub fn begin_profile(&self, order: &ProfileOrder) {
        let period = u32::try_from(order.period.as_micros()).unwrap_or(u32::MAX);
        for place in self.profiled() {
            let words = &self.memory.worker(place.0).front;
            words.profile_period_us.store(period, Ordering::Relaxed);
            words.profile_end_ns.store(order.end_ns, Ordering::Relaxed);
            self.set_profile(place, order.number);
        }
    }

    /// Ends it early.
    pub fn end_profile(&self) {
        for place in self.profiled() {
            self.set_profile(place, 0);
        }
    }

    fn set_profile(&self, place: WorkerId, number: u32) {
        let words = &self.memory.worker(place.0).front;
        words.profile.store(number, Ordering::Release);
        // This wakes the thread that samples slow requests, without a request to sample.
        words.sample_id.store(0, Ordering::Relaxed);
        words.sample.increment_and_wake();
    }

    /// A place of [`Self::profiled`].
    pub fn profiled_place(&self, place: WorkerId) -> ProfiledPlace<'_> {
        ProfiledPlace {
            memory: &self.memory,
            id: place,
            words: self.memory.worker(place.0),
        }
    }

    /// All places, whether in use or not.
    pub fn profiled(&self) -> impl Iterator<Item = WorkerId> {
        (0..self.geometry().workers() as u16).map(WorkerId)
    }

    /// The counts of a place under this number; `None`: nothing.
    pub fn profile(
        &self,
        place: WorkerId,
        number: u32,
    ) -> Result<Option<WorkerProfile>, DamagedProfileError> {
        let area = Area::Profile { worker: place.0 };
        let halves = |at| {
            let word = self.memory.read_u64(area, at);
            (word as u32, (word >> 32) as u32)
        };
        let (found, strings) = halves(0);
        let (frames, nodes) = halves(8);
        // Pairs with the release of the counts: the entries that they count are written.
        fence(std::sync::atomic::Ordering::Acquire);
        if found != number {
            return Ok(None);
        }
        let sizes = frames <= PROFILE_FRAMES_MAX
            && nodes <= PROFILE_NODES_MAX
            && strings <= PROFILE_STRINGS_MAX;
        if !sizes {
            return Err(DamagedProfileError(place));
        }
        let copy = |at: usize, size: usize| {
            let mut bytes = BytesMut::new();
            self.memory.copy_out(area, at as u64, size, &mut bytes);
            bytes
        };
        let parts = Parts {
            header: copy(0, PROFILE_HEADER_SIZE),
            frames: copy(PROFILE_FRAMES_OFFSET, frames as usize * PROFILE_FRAME_SIZE),
            nodes: copy(PROFILE_NODES_OFFSET, nodes as usize * PROFILE_NODE_SIZE),
            strings: copy(PROFILE_STRINGS_OFFSET, strings as usize),
        };
        let profile = parts.read().ok_or(DamagedProfileError(place))?;
        Ok(Some(profile))
    }

    /// Frees the memory of all places' profiles, but not the pages that PHP has for its globals.
    pub fn discard_profiles(&self) {
        for place in self.profiled() {
            self.memory.discard(Area::Profile { worker: place.0 });
        }
    }
}

/// Copies of data that a worker wrote.
struct Parts {
    header: BytesMut,
    frames: BytesMut,
    nodes: BytesMut,
    strings: BytesMut,
}

impl Parts {
    /// `None`: it contradicts itself.
    fn read(&self) -> Option<WorkerProfile> {
        let header = &self.header;
        let counts = SampleCounts {
            due: u64_at(header, 16)?,
            taken: u64_at(header, 24)?,
            idle: u64_at(header, 32)?,
            late: u64_at(header, 40)?,
            unreadable: u64_at(header, 48)?,
            full: u64_at(header, 56)?,
        };
        let frames = self.frames.chunks_exact(PROFILE_FRAME_SIZE);
        let frames: Vec<_> = frames
            .map(|entry| self.frame(entry))
            .collect::<Option<_>>()?;
        let nodes = self.nodes.chunks_exact(PROFILE_NODE_SIZE).enumerate();
        let nodes = nodes
            .map(|(index, entry)| node(entry, index, frames.len()))
            .collect::<Option<_>>()?;
        Some(WorkerProfile {
            counts,
            frames,
            nodes,
        })
    }

    fn frame(&self, entry: &[u8]) -> Option<ProfileFrame> {
        Some(ProfileFrame {
            kind: match u32_at(entry, 20)? {
                PROFILE_ROUTE => FrameKind::Route,
                PROFILE_FUNCTION => FrameKind::Function,
                PROFILE_INTERNAL => FrameKind::Internal,
                PROFILE_WAIT => FrameKind::Wait,
                _ => return None,
            },
            name: self.string(u32_at(entry, 8)?)?,
            file: self.string(u32_at(entry, 12)?)?,
            line: u32_at(entry, 16)?,
        })
    }

    fn string(&self, offset: u32) -> Option<String> {
        let rest = self.strings.get(offset as usize..)?;
        let (size, rest) = rest.split_first_chunk()?;
        let bytes = rest.get(..u16::from_le_bytes(*size).into())?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

fn node(entry: &[u8], index: usize, frames: usize) -> Option<ProfileNode> {
    let (parent, frame) = (u32_at(entry, 0)? as usize, u32_at(entry, 4)? as usize);
    let node = ProfileNode {
        parent: parent.checked_sub(1),
        frame,
        samples: u64_at(entry, 8)?,
        wall_ns: u64_at(entry, 16)?,
        cpu_ns: u64_at(entry, 24)?,
    };
    (parent <= index && frame < frames).then_some(node)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let (word, _) = bytes.get(at..)?.split_first_chunk()?;
    Some(u32::from_le_bytes(*word))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let (word, _) = bytes.get(at..)?.split_first_chunk()?;
    Some(u64::from_le_bytes(*word))
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::{Geometry, Segment};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn segment() -> Arc<Segment> {
        let geometry = Geometry::new(1, 2, 1, 4096, 4096).unwrap();
        Segment::create(geometry).unwrap().0
    }

    fn put(segment: &Segment, at: usize, bytes: &[u8]) {
        let area = Area::Profile { worker: 1 };
        segment.memory.copy_in(area, at as u64, bytes);
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// One route, one function, a node for each.
    fn write(segment: &Segment) {
        let mut strings = vec![0, 0];
        for text in ["GET /", "main", "/srv/a.php"] {
            strings.extend((text.len() as u16).to_le_bytes());
            strings.extend(text.as_bytes());
        }
        put(segment, PROFILE_STRINGS_OFFSET, &strings);
        put(segment, PROFILE_FRAMES_OFFSET, &words(&[1, 0, 2, 0, 0, 1]));
        let function = words(&[2, 0, 9, 15, 7, 2]);
        put(
            segment,
            PROFILE_FRAMES_OFFSET + PROFILE_FRAME_SIZE,
            &function,
        );
        let outer = words(&[0, 0, 0, 0, 0, 0, 0, 0]);
        put(segment, PROFILE_NODES_OFFSET, &outer);
        let inner = words(&[1, 1, 3, 0, 30, 0, 20, 0]);
        put(segment, PROFILE_NODES_OFFSET + PROFILE_NODE_SIZE, &inner);
        let counts = [5, strings.len() as u32, 2, 2, 4, 0, 3, 0, 1, 0];
        put(segment, 0, &words(&counts));
    }

    const WORKER: WorkerId = WorkerId(1);

    #[test]
    fn counters_of_a_worker_are_read() {
        let segment = segment();
        assert_eq!(segment.profile(WORKER, 5), Ok(None), "nothing yet");
        write(&segment);
        assert_eq!(segment.profile(WORKER, 4), Ok(None), "of another profile");
        let profile = segment.profile(WORKER, 5).unwrap().unwrap();
        assert_eq!(profile.counts.due, 4);
        assert_eq!((profile.counts.taken, profile.counts.idle), (3, 1));
        assert_eq!(profile.frames[0].kind, FrameKind::Route);
        let function = &profile.frames[1];
        assert_eq!((&*function.name, &*function.file), ("main", "/srv/a.php"));
        assert_eq!((function.line, function.kind), (7, FrameKind::Function));
        let node = profile.nodes[1];
        assert_eq!((node.parent, node.frame), (Some(0), 1));
        assert_eq!((node.samples, node.wall_ns, node.cpu_ns), (3, 30, 20));
        segment.discard_profiles();
        assert_eq!(segment.profile(WORKER, 5), Ok(None), "given back");
    }

    #[test]
    fn contradictory_files_are_damaged() {
        let damaged = Err(DamagedProfileError(WORKER));
        let table = [
            (4, u32::MAX),                                 // strings
            (4, 4),                                        // a string ends behind them
            (8, PROFILE_FRAMES_MAX + 1),                   // frames
            (8, 0),                                        // nodes without frames
            (12, PROFILE_NODES_MAX + 1),                   // nodes
            (PROFILE_FRAMES_OFFSET + 8, u32::MAX),         // a name
            (PROFILE_FRAMES_OFFSET + 20, 9),               // a kind
            (PROFILE_NODES_OFFSET, 1),                     // a node below itself
            (PROFILE_NODES_OFFSET + 4, 2),                 // a frame
            (PROFILE_NODES_OFFSET + PROFILE_NODE_SIZE, 2), // a parent that follows
        ];
        for (at, word) in table {
            let segment = segment();
            write(&segment);
            put(&segment, at, &word.to_le_bytes());
            assert_eq!(segment.profile(WORKER, 5), damaged, "{word} at {at}");
        }
    }

    #[test]
    fn ticks_are_counted_in_their_place() {
        let segment = segment();
        let (first, place) = (
            segment.profiled_place(WorkerId(0)),
            segment.profiled_place(WORKER),
        );
        let words = segment.memory.worker(1);
        assert_eq!((place.process(), place.request()), (None, 0));
        words.life.0.store(LIFE_AWAITED | 0x4d, Ordering::Relaxed);
        words.own.in_flight.store(2, Ordering::Relaxed);
        assert_eq!((place.process(), place.request()), (Some(0x4d), 2));
        words.life.0.store(LIFE_ENDED | 0x4d, Ordering::Relaxed);
        words.own.request_id.store(9, Ordering::Relaxed);
        assert_eq!((place.process(), place.request()), (None, 9));
        for (tick, samples) in [(Tick::Idle, 1), (Tick::Ran, 2), (Tick::Same, 3)] {
            place.count(tick, samples);
        }
        let ticks = |place: ProfiledPlace<'_>| {
            let ticks = &place.words.ticks;
            [&ticks.ticks_idle, &ticks.ticks_ran, &ticks.ticks_same]
                .map(|word| word.load(Ordering::Relaxed))
        };
        assert_eq!((ticks(place), ticks(first)), ([1, 2, 3], [0, 0, 0]));
        let seen = words.front.sample.load();
        place.wake();
        assert_eq!(words.front.sample.load(), seen + 1);
    }

    #[test]
    fn php_is_interrupted_in_its_page() {
        let segment = segment();
        let place = segment.profiled_place(WORKER);
        let ticks = &segment.memory.worker(1).ticks;
        assert!(place.interrupt_flag().is_none(), "it has no page");
        segment
            .memory
            .copy_in(place.globals(), 16, &0x7f00_1234_u64.to_le_bytes());
        for (frame_at, frame) in [
            (17, 0x7f00_1234),
            (0, FRAME_UNKNOWN),
            (13, FRAME_UNKNOWN),   // not aligned
            (4097, FRAME_UNKNOWN), // behind the page
        ] {
            ticks.interrupt_at.store(91, Ordering::Relaxed);
            ticks.frame_at.store(frame_at, Ordering::Relaxed);
            let flag = place.interrupt_flag().unwrap();
            flag.flag.store(0, Ordering::Relaxed);
            assert!(!flag.is_set());
            let now_ns = 4_294_967_296_000 + 7_999;
            flag.set(Some(Duration::from_micros(5)), now_ns);
            assert!(flag.is_set());
            assert_eq!(ticks.tick_frame.load(Ordering::Relaxed), frame);
            assert_eq!(ticks.tick_us.load(Ordering::Relaxed), 7, "modulo 2^32");
            assert_eq!(ticks.tick_cpu_us.load(Ordering::Relaxed), 5);
            flag.set(None, now_ns);
            assert_eq!(ticks.tick_cpu_us.load(Ordering::Relaxed), 0, "unknown");
        }
        ticks.interrupt_at.store(4096, Ordering::Relaxed);
        assert!(place.interrupt_flag().is_some(), "the last byte");
        ticks.interrupt_at.store(4097, Ordering::Relaxed);
        assert!(place.interrupt_flag().is_none(), "behind the page");
        segment.discard_profiles();
        let flag = segment.memory.flag(place.globals(), 90);
        assert_eq!(flag.load(Ordering::Relaxed), 1, "the page stays");
    }

    #[test]
    fn orders_reach_all_places() {
        let segment = segment();
        let order = ProfileOrder {
            number: 3,
            period: Duration::from_millis(10),
            end_ns: 77,
        };
        segment.begin_profile(&order);
        for place in segment.profiled() {
            let words = &segment.memory.worker(place.0).front;
            assert_eq!(words.profile.load(Ordering::Relaxed), 3);
            assert_eq!(words.profile_period_us.load(Ordering::Relaxed), 10_000);
            assert_eq!(words.profile_end_ns.load(Ordering::Relaxed), 77);
        }
        segment.end_profile();
        let words = &segment.memory.worker(1).front;
        assert_eq!(words.profile.load(Ordering::Relaxed), 0);
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(
            counts in proptest::array::uniform3(0..40_000u32),
            at in 0..4096usize,
            bytes in proptest::collection::vec(any::<u8>(), 0..512),
        ) {
            let segment = segment();
            write(&segment);
            let [strings, frames, nodes] = counts;
            put(&segment, 0, &words(&[5, strings, frames, nodes]));
            for start in [PROFILE_FRAMES_OFFSET, PROFILE_NODES_OFFSET, PROFILE_STRINGS_OFFSET] {
                put(&segment, start + at, &bytes);
            }
            let _ = segment.profile(WORKER, 5);
        }
    }
}
