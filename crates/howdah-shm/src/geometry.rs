//! The size of a segment, and the offsets of its parts.

use crate::layout::{
    FRONT_RING_SIZE, FRONTS_MAX, Header, MAGIC, PARKED_WORDS, PROFILE_SIZE, SLOT_SIZE, SLOTS_MAX,
    VERSION, WORKER_SIZE, WORKERS_MAX,
};

const PAGE: u64 = 4096;
const LINE: u64 = 64;

/// The numbers that a segment is built from. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    fronts: u32,
    workers: u32,
    slots: u32,
    request_size: u32,
    response_size: u32,
}

/// Why a segment cannot be built from the given numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum GeometryError {
    #[error("{0} front threads: use 1 to {FRONTS_MAX}")]
    Fronts(u32),
    #[error("{0} workers: use 1 to {WORKERS_MAX}")]
    Workers(u32),
    #[error("{0} slots: use a power of two from 1 to {SLOTS_MAX}")]
    Slots(u32),
    #[error("a request area of {0} bytes: use a multiple of 4096, at most 1073741824")]
    RequestSize(u32),
    #[error("a response ring of {0} bytes: use a power of two from 4096 to 1073741824")]
    ResponseSize(u32),
}

impl Geometry {
    /// Checks the numbers: front threads, places for workers, slots of each front thread (a power of
    /// two), bytes of a slot's request area (a multiple of 4096) and of its response ring (a power of
    /// two, at least 4096).
    ///
    /// The memory is only mapped: a page costs nothing until a request uses it.
    pub fn new(
        fronts: u32,
        workers: u32,
        slots: u32,
        request_size: u32,
        response_size: u32,
    ) -> Result<Self, GeometryError> {
        const SIZE_MAX: u32 = 1 << 30;
        if !(1..=FRONTS_MAX).contains(&fronts) {
            return Err(GeometryError::Fronts(fronts));
        }
        if !(1..=WORKERS_MAX).contains(&workers) {
            return Err(GeometryError::Workers(workers));
        }
        if !(1..=SLOTS_MAX).contains(&slots) || !slots.is_power_of_two() {
            return Err(GeometryError::Slots(slots));
        }
        if request_size == 0 || !request_size.is_multiple_of(4096) || request_size > SIZE_MAX {
            return Err(GeometryError::RequestSize(request_size));
        }
        if !(4096..=SIZE_MAX).contains(&response_size) || !response_size.is_power_of_two() {
            return Err(GeometryError::ResponseSize(response_size));
        }
        Ok(Self {
            fronts,
            workers,
            slots,
            request_size,
            response_size,
        })
    }

    /// Front threads.
    pub const fn fronts(&self) -> u32 {
        self.fronts
    }

    /// Places for workers.
    pub const fn workers(&self) -> u32 {
        self.workers
    }

    /// Slots of each front thread.
    pub const fn slots(&self) -> u32 {
        self.slots
    }

    /// Bytes of a slot's request area.
    pub const fn request_size(&self) -> u32 {
        self.request_size
    }

    /// Bytes of a slot's response ring.
    pub const fn response_size(&self) -> u32 {
        self.response_size
    }

    /// Cells of a request ring and of a completion ring: twice the slots, so that a request ring is
    /// rarely full and a completion ring never.
    pub const fn cells(&self) -> u32 {
        2 * self.slots
    }

    pub(crate) const fn parked_words(&self) -> usize {
        self.workers.div_ceil(64) as usize
    }

    /// The header with every offset.
    pub fn header(&self) -> Header {
        let [fronts, workers, slots] = [self.fronts, self.workers, self.slots].map(u64::from);
        let ring = u64::from(self.cells()) * 8;
        let fronts_offset = 128;
        let front_stride = (FRONT_RING_SIZE as u64 + ring).next_multiple_of(LINE);
        let parked_offset = fronts_offset + fronts * front_stride;
        let workers_offset = parked_offset + (PARKED_WORDS as u64 * 8).next_multiple_of(LINE);
        let completions_offset = workers_offset + workers * WORKER_SIZE as u64;
        let slots_offset = (completions_offset + fronts * workers * ring).next_multiple_of(LINE);
        let all_slots = fronts * slots;
        let requests_offset = (slots_offset + all_slots * SLOT_SIZE as u64).next_multiple_of(PAGE);
        let responses_offset = requests_offset + all_slots * u64::from(self.request_size);
        let profiles_offset = responses_offset + all_slots * u64::from(self.response_size);
        Header {
            magic: MAGIC,
            version: VERSION,
            fronts: self.fronts,
            workers: self.workers,
            slots: self.slots,
            request_size: self.request_size,
            response_size: self.response_size,
            segment_size: profiles_offset + workers * PROFILE_SIZE as u64,
            fronts_offset,
            front_stride,
            parked_offset,
            workers_offset,
            completions_offset,
            slots_offset,
            requests_offset,
            responses_offset,
            profiles_offset,
        }
    }
}
