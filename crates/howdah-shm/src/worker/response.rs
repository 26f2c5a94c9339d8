//! Writes response frames: the model of `worker/src/request/response.c`, without its collecting of
//! bytes in one open frame.

use super::{Claim, Worker};
use crate::frame::Exit;
use crate::layout::{
    FRAME_BODY, FRAME_END, FRAME_FINISH, FRAME_HEADER_SIZE, FRAME_HEADERS, FRAME_INFO, FRAME_PAD,
    FRAME_PUBLISH, PUBLISH_FIRST, align8,
};
use crate::memory::Area;
use crate::sync::Ordering;

/// Bytes of the ring that only an END frame and its padding may use, so that it always fits.
const RESERVE: u64 = 96;

/// The response to one claim. Nothing is visible before [`ResponseWriter::flush`] or
/// [`ResponseWriter::end`], or before the ring is full.
#[derive(Debug)]
pub struct ResponseWriter<'worker> {
    worker: &'worker mut Worker,
    claim: Claim,
    written: u64,
    published: u64,
}

/// A response that was suspended for another one.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct SuspendedResponse {
    pub(crate) claim: Claim,
    written: u64,
    published: u64,
}

impl<'worker> ResponseWriter<'worker> {
    /// Begins the response to a claim.
    pub fn new(worker: &'worker mut Worker, claim: Claim) -> Self {
        Self {
            worker,
            claim,
            written: 0,
            published: 0,
        }
    }

    /// Continues a suspended response.
    #[cfg(test)]
    pub(crate) fn resume(worker: &'worker mut Worker, aside: SuspendedResponse) -> Self {
        Self {
            worker,
            claim: aside.claim,
            written: aside.written,
            published: aside.published,
        }
    }

    /// Suspends it, for a worker that does something else meanwhile.
    #[cfg(test)]
    pub(crate) fn put_aside(self) -> SuspendedResponse {
        SuspendedResponse {
            claim: self.claim,
            written: self.written,
            published: self.published,
        }
    }

    /// Whether a frame of this size fits now. If not, the worker announces that it waits for space; returns the value
    /// of the word that will wake it.
    #[cfg(test)]
    pub(crate) fn try_room(&mut self, size: u64) -> Result<(), u32> {
        let segment = std::sync::Arc::clone(&self.worker.segment);
        let slot = segment.memory.slot(self.claim.front, self.claim.slot);
        self.flush();
        let seen = slot.front.space.load();
        slot.worker.waiting.swap(1, Ordering::SeqCst);
        let consumed = slot.front.consumed.load(Ordering::SeqCst);
        let used = self.written.wrapping_sub(consumed);
        // If the numbers make no sense, acts as if the client were gone.
        if used <= self.ring() && used + size + RESERVE > self.ring() {
            return Err(seen);
        }
        slot.worker.waiting.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// The request.
    pub fn claim(&self) -> &Claim {
        &self.claim
    }

    /// The head. False: it is larger than the ring, or the client disconnected.
    pub fn headers(&mut self, status: u16, headers: &[(&str, &str)]) -> bool {
        let payload = head(status, headers);
        self.frame(FRAME_HEADERS, &payload)
    }

    /// A 1xx response.
    pub fn info(&mut self, status: u16, headers: &[(&str, &str)]) -> bool {
        let payload = head(status, headers);
        self.frame(FRAME_INFO, &payload)
    }

    /// Bytes of the body; waits while the ring is full. False: the client disconnected.
    pub fn body(&mut self, bytes: &[u8]) -> bool {
        let half = self.ring() as usize / 2;
        bytes.chunks(half).all(|part| self.frame(FRAME_BODY, part))
    }

    /// The bytes so far are sent to the client now.
    pub fn flush(&mut self) {
        if self.published != self.written {
            self.published = self.written;
            self.worker.progress(&self.claim, self.written);
        }
    }

    /// The response is complete, the script continues.
    pub fn finish(&mut self) -> bool {
        let fits = self.frame(FRAME_FINISH, &[]);
        self.flush();
        fits
    }

    /// An encoded update for the request's hub, in parts. False: the client disconnected.
    pub fn publish(&mut self, update: &[u8]) -> bool {
        let mut left = update.len();
        let mut flags = PUBLISH_FIRST;
        for bytes in update.chunks(self.ring() as usize / 4) {
            left -= bytes.len();
            let mut payload = flags.to_le_bytes().to_vec();
            payload.extend((left as u32).to_le_bytes());
            payload.extend(bytes);
            if !self.frame(FRAME_PUBLISH, &payload) {
                return false;
            }
            flags = 0;
        }
        self.flush();
        true
    }

    /// The end of the request.
    pub fn end(mut self, exit: Exit, exit_status: u32) {
        let mut payload = [0; crate::layout::END_SIZE];
        payload[..4].copy_from_slice(&exit.to_wire().to_le_bytes());
        payload[4..8].copy_from_slice(&exit_status.to_le_bytes());
        let whole = FRAME_HEADER_SIZE as u64 + payload.len() as u64;
        let left = self.ring() - self.at();
        if left < whole {
            self.put(FRAME_PAD, left - FRAME_HEADER_SIZE as u64, &[]);
        }
        self.put(FRAME_END, payload.len() as u64, &payload);
        self.worker.done(&self.claim, self.written);
    }

    fn ring(&self) -> u64 {
        u64::from(self.worker.segment.geometry().response_size())
    }

    fn at(&self) -> u64 {
        self.written & (self.ring() - 1)
    }

    fn frame(&mut self, kind: u32, payload: &[u8]) -> bool {
        let whole = FRAME_HEADER_SIZE as u64 + align8(payload.len() as u64);
        if whole + RESERVE > self.ring() {
            return false;
        }
        let left = self.ring() - self.at();
        if whole > left {
            if !self.room(left) {
                return false;
            }
            self.put(FRAME_PAD, left - FRAME_HEADER_SIZE as u64, &[]);
        }
        if !self.room(whole) {
            return false;
        }
        self.put(kind, payload.len() as u64, payload);
        true
    }

    fn room(&mut self, whole: u64) -> bool {
        let slot = self
            .worker
            .segment
            .memory
            .slot(self.claim.front, self.claim.slot);
        if self.worker.is_aborted(&self.claim) {
            return false;
        }
        let consumed = slot.front.consumed.load(Ordering::Acquire);
        let used = self.written.wrapping_sub(consumed);
        if used.saturating_add(whole + RESERVE) <= self.ring() {
            return true;
        }
        self.flush();
        self.worker
            .wait_space(&self.claim, self.written, whole + RESERVE)
    }

    fn put(&mut self, kind: u32, size: u64, payload: &[u8]) {
        let memory = &self.worker.segment.memory;
        let area = Area::Response {
            front: self.claim.front,
            slot: self.claim.slot,
        };
        let header = u64::from(kind) | size << 32;
        let at = self.at();
        memory.copy_in(area, at, &header.to_le_bytes());
        memory.copy_in(area, at + FRAME_HEADER_SIZE as u64, payload);
        self.written += FRAME_HEADER_SIZE as u64 + align8(size);
    }
}

fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut payload = Vec::new();
    payload.extend(status.to_le_bytes());
    payload.extend(0_u16.to_le_bytes());
    payload.extend((headers.len() as u32).to_le_bytes());
    for (name, value) in headers {
        payload.extend((name.len() as u32).to_le_bytes());
        payload.extend((value.len() as u32).to_le_bytes());
        payload.extend(name.as_bytes());
        payload.extend(value.as_bytes());
    }
    payload
}
