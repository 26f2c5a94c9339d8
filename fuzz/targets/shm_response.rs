//! `howdah_shm`: the front's side of shared memory, with a worker that writes any data at any
//! place.
//!
//! The input is a sequence of steps. Each step is one byte and its arguments. Some steps do what a
//! correct worker does, so that the fuzzer reaches deep states. Others write random data to the
//! segment, through its file descriptor as a process would. The front must neither panic nor pass
//! on data that violates its contract.
#![no_main]

use std::os::fd::BorrowedFd;

use howdah_shm::layout::{
    FRAME_HEADER_SIZE, PROGRESS, SLOT_OWNED, SLOT_SIZE, align8, completion_cell, state,
};
use howdah_shm::{Body, Event, Frame, Front, Geometry, Segment, SlotId, Updates, WorkerId};
use libfuzzer_sys::fuzz_target;

const WORKERS: u32 = 2;
const SLOTS: u32 = 4;
const RING: u32 = 4096;
const STEPS_MAX: usize = 256;

fuzz_target!(|data: &[u8]| {
    let geometry = Geometry::new(1, WORKERS, SLOTS, 4096, RING).expect("valid numbers");
    let header = geometry.header();
    let (segment, mut fronts) = Segment::create(geometry).expect("memory for the segment");
    for worker in 0..WORKERS as u16 {
        segment.admit(WorkerId(worker)).expect("the place is free");
    }
    let mut run = Run {
        front: fronts.remove(0),
        hostile: Hostile {
            fd: segment.fd(),
            slots: header.slots_offset,
            completions: header.completions_offset,
            responses: header.responses_offset,
            size: header.segment_size,
            write: [0; WORKERS as usize],
            committed: [0; SLOTS as usize],
        },
        slots: Vec::new(),
        positions: [0; SLOTS as usize],
        pushed: 0,
        data,
    };
    for _ in 0..STEPS_MAX {
        if run.step().is_none() {
            break;
        }
    }
    // In each case, the front can recover the slots of dead workers.
    for worker in 0..WORKERS as u16 {
        _ = run.front.recover(WorkerId(worker));
    }
    run.read_all();
    assert!(run.front.free() <= SLOTS as usize);
});

/// Access of a misbehaving worker to the segment.
struct Hostile<'a> {
    fd: BorrowedFd<'a>,
    slots: u64,
    completions: u64,
    responses: u64,
    size: u64,
    write: [u32; WORKERS as usize],
    committed: [u64; SLOTS as usize],
}

impl Hostile<'_> {
    fn put(&self, at: u64, bytes: &[u8]) {
        let room = usize::try_from(self.size.saturating_sub(at)).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room)];
        if !bytes.is_empty() {
            rustix::io::pwrite(self.fd, bytes, at).expect("the segment is writable");
        }
    }

    fn word(&self, at: u64, value: u64) {
        self.put(at, &value.to_le_bytes());
    }

    fn slot(&self, slot: u8) -> u64 {
        self.slots + u64::from(slot) * SLOT_SIZE as u64
    }

    fn claim(&self, slot: u8, position: u64, worker: u8) {
        let at = self.slot(slot);
        self.word(at, state(position, worker.into(), SLOT_OWNED));
        let mut id = [0; 8];
        rustix::io::pread(self.fd, &mut id[..], at + 8).expect("the segment is readable");
        self.put(at + 136, &id);
    }

    /// Writes a frame at the position of the next one, with a size that may be wrong.
    fn frame(&mut self, slot: u8, kind: u32, size: u32, payload: &[u8]) {
        let committed = &mut self.committed[usize::from(slot)];
        let at = *committed % u64::from(RING);
        *committed = committed.wrapping_add(FRAME_HEADER_SIZE as u64 + align8(u64::from(size)));
        let ring = self.responses + u64::from(slot) * u64::from(RING);
        self.word(ring + at, u64::from(kind) | u64::from(size) << 32);
        self.put(ring + at + FRAME_HEADER_SIZE as u64, payload);
    }

    fn commit(&self, slot: u8) {
        self.word(self.slot(slot) + 128, self.committed[usize::from(slot)]);
    }

    fn complete(&mut self, worker: u8, kind: u64, position: u64, slot: u8) {
        let index = &mut self.write[usize::from(worker)];
        let cell = completion_cell(*index, kind, position, slot.into());
        let cells = u64::from(2 * SLOTS);
        let at = (u64::from(worker) * cells + u64::from(*index) % cells) * 8;
        *index = index.wrapping_add(1);
        self.word(self.completions + at, cell);
    }
}

struct Run<'a> {
    front: Front,
    hostile: Hostile<'a>,
    slots: Vec<SlotId>,
    positions: [u64; SLOTS as usize],
    pushed: u64,
    data: &'a [u8],
}

impl<'a> Run<'a> {
    fn step(&mut self) -> Option<()> {
        match self.byte()? % 14 {
            0 => self.push(),
            1 => {
                let (slot, worker) = (self.slot()?, self.worker()?);
                let position = self.positions[usize::from(slot)];
                self.hostile.claim(slot, position, worker);
            }
            2 => {
                let (slot, kind, size) = (self.slot()?, self.byte()? % 8, self.byte()?);
                let payload = self.bytes(size.into())?;
                self.hostile.frame(slot, kind.into(), size.into(), payload);
            }
            3 => {
                let (slot, kind, size) = (self.slot()?, self.number()?, self.number()?);
                self.hostile.frame(slot, kind as u32, size as u32, &[]);
            }
            4 => {
                let slot = self.slot()?;
                self.hostile.commit(slot);
            }
            5 => {
                let (slot, value) = (self.slot()?, self.number()?);
                self.hostile.committed[usize::from(slot)] = value;
                self.hostile.commit(slot);
            }
            6 => {
                let (worker, slot, kind) = (self.worker()?, self.slot()?, self.byte()? & 1);
                let position = self.positions[usize::from(slot)];
                self.hostile.complete(worker, kind.into(), position, slot);
            }
            7 => {
                let (worker, slot, position) = (self.worker()?, self.byte()?, self.number()?);
                self.hostile.complete(worker, PROGRESS, position, slot);
            }
            8 => {
                let (at, value) = (self.number()? % self.hostile.size, self.number()?);
                self.hostile.word(at & !7, value);
            }
            9 => self.poll(),
            10 => self.read_all(),
            11 => {
                let worker = WorkerId(self.worker()?.into());
                if let Ok(recovery) = self.front.recover(worker) {
                    for torn in recovery.torn {
                        self.read(torn.slot);
                        _ = self.front.requeue(torn.slot);
                    }
                    if recovery.vacant {
                        let write = self.front.segment().admit(worker).expect("it is vacant");
                        self.hostile.write[worker.index()] = write.as_slice()[0];
                    }
                }
            }
            12 => {
                let which = usize::from(self.slot()?);
                let slot = *self.slots.get(which)?;
                _ = self.front.cancel(slot);
                _ = self.front.abort(slot);
            }
            _ => {
                let which = usize::from(self.slot()?);
                let slot = *self.slots.get(which)?;
                if self.front.release(slot).is_ok() {
                    assert!(
                        self.front.release(slot).is_err(),
                        "a slot was given back twice"
                    );
                }
            }
        }
        Some(())
    }

    fn push(&mut self) {
        let Some(slot) = self.front.acquire() else {
            return;
        };
        let id = self.pushed + 1;
        self.front
            .fill(slot, id, b"vars", Body::Inline(b"body"), 0)
            .expect("it fits");
        if self.front.push(slot).is_ok() {
            self.positions[slot.index()] = self.pushed;
            self.hostile.committed[slot.index()] = 0;
            self.pushed += 1;
        }
        self.slots.retain(|other| other.index() != slot.index());
        self.slots.push(slot);
    }

    fn poll(&mut self) {
        // Twice the number of possible new cells. More would be an endless loop.
        for _ in 0..=4 * SLOTS * WORKERS {
            match self.front.poll() {
                None => return,
                Some(Event::Done { slot, .. } | Event::Progress { slot, .. }) => self.read(slot),
                Some(Event::ProtocolViolation { .. }) => {}
            }
        }
        panic!("the front never comes to the end of the completions");
    }

    fn read_all(&mut self) {
        for slot in self.slots.clone() {
            self.read(slot);
        }
    }

    fn read(&mut self, slot: SlotId) {
        let Ok(reader) = self.front.response(slot) else {
            return;
        };
        let mut left = usize::try_from(reader.buffered()).expect("at most the ring");
        assert!(left <= RING as usize);
        let mut updates = Updates::default();
        for frame in reader {
            let size = match frame {
                Ok(Frame::Info(head)) => {
                    assert!((100..200).contains(&head.status));
                    head.headers()
                        .map(|(name, value)| name.len() + value.len())
                        .sum()
                }
                Ok(Frame::Headers(head)) => {
                    assert!((200..1000).contains(&head.status));
                    assert_eq!(head.headers().count(), head.headers().len());
                    head.reason.len()
                }
                Ok(Frame::Body(bytes)) => {
                    assert!(
                        !bytes.is_empty(),
                        "an empty part of a body ends a chunked one"
                    );
                    bytes.len()
                }
                Ok(Frame::Finish | Frame::End(_)) => 0,
                Ok(Frame::Publish(part)) => match updates.add(part) {
                    Ok(None) => 0,
                    Ok(Some(update)) => {
                        assert!(!update.id.is_empty() && (1..=1000).contains(&update.topics.len()));
                        update.data.len().min(1) // it may have come in several frames
                    }
                    Err(_) => return,
                },
                Err(_) => return,
            };
            assert!(
                left >= size + FRAME_HEADER_SIZE,
                "more was read than was committed"
            );
            left -= size + FRAME_HEADER_SIZE;
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.data.split_first()?;
        self.data = rest;
        Some(first)
    }

    fn bytes(&mut self, size: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.data.split_at_checked(size)?;
        self.data = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let (bytes, rest) = self.data.split_first_chunk::<8>()?;
        self.data = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn slot(&mut self) -> Option<u8> {
        Some(self.byte()? % SLOTS as u8)
    }

    fn worker(&mut self) -> Option<u8> {
        Some(self.byte()? % WORKERS as u8)
    }
}
