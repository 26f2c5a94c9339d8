//! The mapped segment: the only place that turns offsets into references.

mod backing;

use crate::geometry::Geometry;
use crate::layout::words::{FrontRing, Slot, Worker};
use crate::layout::{
    FRONT_RING_SIZE, Header, PROFILE_GLOBALS_OFFSET, PROFILE_GLOBALS_SIZE, PROFILE_SIZE, SLOT_SIZE,
    WORKER_SIZE,
};
use crate::sync::AtomicU64;
use backing::Backing;
use bytes::BytesMut;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU8;

/// A part of the segment that holds bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Area {
    /// The request area of a slot.
    Request { front: u16, slot: u16 },
    /// The response ring of a slot.
    Response { front: u16, slot: u16 },
    /// A worker's counts for profiles.
    Profile { worker: u16 },
    /// A page of PHP's globals, while a profile is taken: never to be freed.
    Globals { worker: u16 },
}

/// A mapping of the segment, and the geometry that it was made from: offsets are never read from
/// shared memory.
#[derive(Debug)]
pub(crate) struct Memory {
    base: NonNull<u8>,
    geometry: Geometry,
    header: Header,
    #[cfg_attr(miri, allow(dead_code))] // held until it is dropped
    backing: Backing,
}

// SAFETY: the mapping lives as long as `Memory` and is not tied to a thread; every word in it that
// two sides touch is an atomic, and bytes are only copied under the rules of `copy_in`/`copy_out`.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn create(geometry: Geometry) -> rustix::io::Result<Self> {
        let header = geometry.header();
        let backing = Backing::new(header.segment_size)?;
        let base = backing.base();
        // SAFETY: the memory is page-aligned, larger than the header, and not shared yet.
        unsafe { base.cast::<Header>().write(header) };
        Ok(Self {
            base,
            geometry,
            header,
            backing,
        })
    }

    #[cfg(not(miri))]
    pub(crate) fn fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.backing.fd()
    }

    pub(crate) const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Whether the header is unchanged. The front does not use its offsets, but a process that maps the segment does.
    pub(crate) fn has_header(&self) -> bool {
        // SAFETY: within the mapping and aligned, and any bytes are a valid `Header`. Volatile, since a
        // worker may write it.
        let found = unsafe { self.base.cast::<Header>().as_ptr().read_volatile() };
        found == self.header
    }

    /// Overwrites 8 bytes anywhere, as a broken worker may.
    #[cfg(any(test, feature = "fake-worker"))]
    pub(crate) fn scribble(&self, offset: u64, word: u64) {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.header.segment_size);
        // SAFETY: in bounds and aligned, as was just checked.
        let words: &AtomicU64 = unsafe { self.words(offset) };
        words.store(word, std::sync::atomic::Ordering::SeqCst);
    }

    /// 8 bytes anywhere.
    #[cfg(test)]
    pub(crate) fn word(&self, offset: u64) -> u64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.header.segment_size);
        // SAFETY: in bounds and aligned, as was just checked.
        let words: &AtomicU64 = unsafe { self.words(offset) };
        words.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// A reference to words at `offset`.
    ///
    /// # Safety
    /// `T` holds only atomics, `offset` is aligned for it, and `offset + size_of::<T>()` lies within
    /// the segment.
    unsafe fn words<T>(&self, offset: u64) -> &T {
        debug_assert!(offset + size_of::<T>() as u64 <= self.header.segment_size);
        // SAFETY: in bounds, by the caller.
        let words = unsafe { self.base.add(offset as usize) }.cast::<T>();
        debug_assert!(words.is_aligned());
        // SAFETY: mapped and aligned for as long as `self` lives; zero pages are valid atomics.
        unsafe { words.as_ref() }
    }

    pub(crate) fn ring(&self, front: u16) -> &FrontRing {
        assert!(u32::from(front) < self.geometry.fronts());
        let offset = self.header.fronts_offset + u64::from(front) * self.header.front_stride;
        // SAFETY: `front` was checked; `Geometry::header` aligns rings to 64 bytes.
        unsafe { self.words(offset) }
    }

    /// The cell of the request ring for a position.
    pub(crate) fn cell(&self, front: u16, position: u64) -> &AtomicU64 {
        assert!(u32::from(front) < self.geometry.fronts());
        let index = position & u64::from(self.geometry.cells() - 1);
        let ring = self.header.fronts_offset + u64::from(front) * self.header.front_stride;
        // SAFETY: `front` was checked and `index` is masked; cells follow the ring's 128 bytes.
        unsafe { self.words(ring + FRONT_RING_SIZE as u64 + index * 8) }
    }

    pub(crate) fn parked(&self, word: usize) -> &AtomicU64 {
        assert!(word < crate::layout::PARKED_WORDS);
        // SAFETY: `word` was checked; `Geometry::header` reserves all words.
        unsafe { self.words(self.header.parked_offset + word as u64 * 8) }
    }

    pub(crate) fn worker(&self, worker: u16) -> &Worker {
        assert!(u32::from(worker) < self.geometry.workers());
        let offset = self.header.workers_offset + u64::from(worker) * WORKER_SIZE as u64;
        // SAFETY: `worker` was checked; `Geometry::header` aligns the array to 64 bytes.
        unsafe { self.words(offset) }
    }

    /// The cell of the completion ring for an index.
    pub(crate) fn completion(&self, front: u16, worker: u16, index: u32) -> &AtomicU64 {
        assert!(u32::from(front) < self.geometry.fronts());
        assert!(u32::from(worker) < self.geometry.workers());
        let cells = u64::from(self.geometry.cells());
        let ring = u64::from(front) * u64::from(self.geometry.workers()) + u64::from(worker);
        let cell = ring * cells + (u64::from(index) & (cells - 1));
        // SAFETY: `front` and `worker` were checked, the index is masked.
        unsafe { self.words(self.header.completions_offset + cell * 8) }
    }

    pub(crate) fn slot(&self, front: u16, slot: u16) -> &Slot {
        let offset = self.header.slots_offset + self.slot_number(front, slot) * SLOT_SIZE as u64;
        // SAFETY: `slot_number` checked both; `Geometry::header` aligns the array to 64 bytes.
        unsafe { self.words(offset) }
    }

    fn slot_number(&self, front: u16, slot: u16) -> u64 {
        assert!(u32::from(front) < self.geometry.fronts());
        assert!(u32::from(slot) < self.geometry.slots());
        u64::from(front) * u64::from(self.geometry.slots()) + u64::from(slot)
    }

    fn profile_offset(&self, worker: u16) -> u64 {
        assert!(u32::from(worker) < self.geometry.workers());
        self.header.profiles_offset + u64::from(worker) * PROFILE_SIZE as u64
    }

    /// Offset and size of an area.
    fn place(&self, area: Area) -> (u64, u64) {
        match area {
            Area::Request { front, slot } => {
                let room = u64::from(self.geometry.request_size());
                (
                    self.header.requests_offset + self.slot_number(front, slot) * room,
                    room,
                )
            }
            Area::Response { front, slot } => {
                let room = u64::from(self.geometry.response_size());
                (
                    self.header.responses_offset + self.slot_number(front, slot) * room,
                    room,
                )
            }
            Area::Profile { worker } => {
                (self.profile_offset(worker), PROFILE_GLOBALS_OFFSET as u64)
            }
            Area::Globals { worker } => (
                self.profile_offset(worker) + PROFILE_GLOBALS_OFFSET as u64,
                PROFILE_GLOBALS_SIZE as u64,
            ),
        }
    }

    /// Frees the memory of an area, which reads as zero from now on. Without effect where the system does not support
    /// it.
    pub(crate) fn discard(&self, area: Area) {
        let (start, size) = self.place(area);
        self.backing.discard(start, size);
    }

    /// The address of `size` bytes at `at` of an area. Panics if they are not inside it.
    fn bytes(&self, area: Area, at: u64, size: usize) -> NonNull<u8> {
        let (start, room) = self.place(area);
        assert!(
            at <= room && size as u64 <= room - at,
            "{size} bytes at {at} of {room}"
        );
        // SAFETY: the areas lie within the segment and the range within its area.
        unsafe { self.base.add((start + at) as usize) }
    }

    pub(crate) fn copy_in(&self, area: Area, at: u64, bytes: &[u8]) {
        let target = self.bytes(area, at, bytes.len());
        // SAFETY: `target` has room, as `bytes()` checked, and does not overlap private memory. By the contract no
        // other process uses the range: the front fills a slot that is FREE, a worker writes behind `committed`. A
        // process that breaks the contract can only change the bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.as_ptr(), bytes.len());
        }
    }

    /// Appends bytes of an area to a buffer. Checks are made on the copy.
    pub(crate) fn copy_out(&self, area: Area, at: u64, size: usize, buffer: &mut BytesMut) {
        let source = self.bytes(area, at, size);
        buffer.reserve(size);
        let spare = buffer.spare_capacity_mut();
        assert!(spare.len() >= size);
        // SAFETY: both ranges hold `size` bytes and do not overlap. By the contract the writer is
        // done with the range (it is below `committed`, which was read with acquire). A process that
        // breaks the contract changes bytes under the copy: any bytes are valid, and only the copy
        // is looked at.
        unsafe {
            std::ptr::copy_nonoverlapping(source.as_ptr(), spare.as_mut_ptr().cast::<u8>(), size);
        }
        // SAFETY: `size` bytes behind the length were just written.
        unsafe { buffer.set_len(buffer.len() + size) };
    }

    /// Reads 8 bytes at a multiple of 8, once.
    pub(crate) fn read_u64(&self, area: Area, at: u64) -> u64 {
        assert!(at.is_multiple_of(8));
        let source = self.bytes(area, at, 8).cast::<u64>();
        // SAFETY: in bounds and aligned: areas start at multiples of 4096. Volatile, so that the
        // value that is checked is the value that is used.
        u64::from_le(unsafe { source.as_ptr().read_volatile() })
    }

    /// A byte that both sides access as an atomic.
    pub(crate) fn flag(&self, area: Area, at: u64) -> &AtomicU8 {
        let byte = self.bytes(area, at, 1);
        // SAFETY: in bounds; the mapping lives as long as `self`. PHP accesses the byte atomically, too; a process that
        // does not can only change its value.
        unsafe { AtomicU8::from_ptr(byte.as_ptr()) }
    }
}
