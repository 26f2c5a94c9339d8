//! The segment under loom: the same words as model objects, the same bytes on the heap.

use crate::geometry::Geometry;
use crate::layout::words::{FrontRing, Slot, Worker};
use crate::sync::AtomicU64;
use bytes::BytesMut;
use std::sync::Mutex;

/// A part of the segment that holds bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Area {
    /// The request area of a slot.
    Request { front: u16, slot: u16 },
    /// The response ring of a slot.
    Response { front: u16, slot: u16 },
}

#[derive(Debug)]
pub(crate) struct Memory {
    geometry: Geometry,
    rings: Vec<FrontRing>,
    cells: Vec<AtomicU64>,
    parked: Vec<AtomicU64>,
    workers: Vec<Worker>,
    completions: Vec<AtomicU64>,
    slots: Vec<Slot>,
    // Not model objects: `committed`, which is one, determines their order, and a model that reads
    // them too early reads zeros, which is not a valid frame.
    requests: Vec<Mutex<Vec<u8>>>,
    responses: Vec<Mutex<Vec<u8>>>,
}

fn many<T>(count: u32, make: impl Fn() -> T) -> Vec<T> {
    (0..count).map(|_| make()).collect()
}

impl Memory {
    #[allow(clippy::unnecessary_wraps)] // the real one can fail
    pub(crate) fn create(geometry: Geometry) -> rustix::io::Result<Self> {
        let (fronts, workers) = (geometry.fronts(), geometry.workers());
        let slots = fronts * geometry.slots();
        let bytes = |size: u32| move || Mutex::new(vec![0; size as usize]);
        Ok(Self {
            geometry,
            rings: many(fronts, FrontRing::default),
            cells: many(fronts * geometry.cells(), AtomicU64::default),
            parked: many(geometry.parked_words() as u32, AtomicU64::default),
            workers: many(workers, Worker::default),
            completions: many(fronts * workers * geometry.cells(), AtomicU64::default),
            slots: many(slots, Slot::default),
            requests: many(slots, bytes(geometry.request_size())),
            responses: many(slots, bytes(geometry.response_size())),
        })
    }

    pub(crate) const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn ring(&self, front: u16) -> &FrontRing {
        &self.rings[front as usize]
    }

    pub(crate) fn cell(&self, front: u16, position: u64) -> &AtomicU64 {
        let cells = self.geometry.cells();
        &self.cells[(u32::from(front) * cells + (position as u32 & (cells - 1))) as usize]
    }

    pub(crate) fn parked(&self, word: usize) -> &AtomicU64 {
        &self.parked[word]
    }

    pub(crate) fn worker(&self, worker: u16) -> &Worker {
        &self.workers[worker as usize]
    }

    pub(crate) fn completion(&self, front: u16, worker: u16, index: u32) -> &AtomicU64 {
        let cells = self.geometry.cells();
        let ring = u32::from(front) * self.geometry.workers() + u32::from(worker);
        &self.completions[(ring * cells + (index & (cells - 1))) as usize]
    }

    pub(crate) fn slot(&self, front: u16, slot: u16) -> &Slot {
        &self.slots[self.slot_number(front, slot)]
    }

    fn slot_number(&self, front: u16, slot: u16) -> usize {
        (u32::from(front) * self.geometry.slots() + u32::from(slot)) as usize
    }

    fn with<T>(&self, area: Area, use_bytes: impl FnOnce(&mut [u8]) -> T) -> T {
        let bytes = match area {
            Area::Request { front, slot } => &self.requests[self.slot_number(front, slot)],
            Area::Response { front, slot } => &self.responses[self.slot_number(front, slot)],
        };
        use_bytes(&mut bytes.lock().unwrap())
    }

    pub(crate) fn copy_in(&self, area: Area, at: u64, bytes: &[u8]) {
        let at = at as usize;
        self.with(area, |area| {
            area[at..at + bytes.len()].copy_from_slice(bytes);
        });
    }

    pub(crate) fn copy_out(&self, area: Area, at: u64, size: usize, buffer: &mut BytesMut) {
        let at = at as usize;
        self.with(area, |area| buffer.extend_from_slice(&area[at..at + size]));
    }

    pub(crate) fn read_u64(&self, area: Area, at: u64) -> u64 {
        let at = at as usize;
        self.with(area, |area| {
            u64::from_le_bytes(area[at..at + 8].try_into().unwrap())
        })
    }
}
