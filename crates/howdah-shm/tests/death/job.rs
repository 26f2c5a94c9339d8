//! Expected request and response for an id. The worker computes the same in C.

use howdah_shm::{Exit, Frame, Head, SlotId, Update, Updates};
use std::time::Instant;

pub(crate) fn mix(mut number: u64) -> u64 {
    number ^= number >> 33;
    number = number.wrapping_mul(0xff51_afd7_ed55_8ccd);
    number ^= number >> 33;
    number = number.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ (number >> 33)
}

fn pattern(seed: u64, at: u64) -> u8 {
    mix(seed.wrapping_add(at / 8)).to_le_bytes()[(at % 8) as usize]
}

fn pattern_bytes(seed: u64, size: u64) -> Vec<u8> {
    (0..size).map(|at| pattern(seed, at)).collect()
}

/// Encoded variables of a request.
pub(crate) fn vars(id: u64) -> Vec<u8> {
    pattern_bytes(id, mix(id + 7) % 1500)
}

/// Inline body of a request, if it has one.
pub(crate) fn body(id: u64) -> Option<Vec<u8>> {
    id.is_multiple_of(3)
        .then(|| pattern_bytes(id + 1, mix(id + 9) % 2000))
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) slot: SlotId,
    pub(crate) since: Instant,
    pub(crate) aborted: bool,
    /// Frames wait in the ring and are read later.
    pub(crate) lazy: bool,
    ring: u64,
    seen: ResponseProgress,
}

#[derive(Debug, Default)]
struct ResponseProgress {
    infos: u64,
    headers: bool,
    body: u64,
    updates: Updates,
    /// Number of updates with even and with odd numbers.
    published: [u64; 2],
    ended: bool,
}

impl Job {
    pub(crate) fn new(id: u64, slot: SlotId, ring: u64) -> Self {
        let seen = ResponseProgress::default();
        Self {
            id,
            slot,
            since: Instant::now(),
            aborted: false,
            lazy: false,
            ring,
            seen,
        }
    }

    /// Resets the state of the response, because the request starts again.
    pub(crate) fn restart(&mut self) {
        self.seen = ResponseProgress::default();
        self.lazy = false;
        self.aborted = false;
    }

    /// The same as `body_size` in `queue_worker.c`.
    fn body_size(&self) -> u64 {
        let random = mix(self.id.wrapping_mul(5) + 1);
        match random % 16 {
            0 => self.ring * 2 + random / 16 % (self.ring * 2),
            1 | 2 => random / 16 % self.ring,
            3 => 0,
            _ => random / 16 % 700,
        }
    }

    fn head_is_right(&self, head: &Head, kind: u64) -> bool {
        let id = self.id;
        let expected = mix(id.wrapping_mul(7) + kind) % 5;
        let reason: &[u8] = if id.is_multiple_of(3) { b"Fine" } else { b"" };
        head.reason == reason
            && head.headers().len() as u64 == expected
            && head.headers().zip(0..).all(|((name, value), at)| {
                let most = if at == 3 { 2048 } else { 40 };
                let size = mix(id.wrapping_mul(11) + at) % most;
                name == "x-header" && value == pattern_bytes(id.wrapping_mul(13) + at, size)
            })
    }

    fn update_is_right(&mut self, update: &Update) -> bool {
        let count = &mut self.seen.published[usize::from(update.private)];
        let number = 2 * *count + u64::from(update.private);
        *count += 1;
        let random = mix(self.id.wrapping_mul(29).wrapping_add(number));
        let most = if (random / 8).is_multiple_of(8) {
            40_000
        } else {
            600
        };
        let seed = self.id.wrapping_mul(31).wrapping_add(number);
        update.topics == ["topic"]
            && update.id == "i"
            && update.kind.is_empty()
            && update.retry.is_none()
            && update.data == pattern_bytes(seed, random % most)
    }

    /// Checks every byte of a frame.
    pub(crate) fn take(&mut self, frame: &Frame) -> bool {
        if self.seen.ended {
            return false;
        }
        match frame {
            Frame::Info(head) => {
                self.seen.infos += 1;
                head.status == 103 && self.head_is_right(head, 3)
            }
            Frame::Headers(head) => {
                self.seen.headers = true;
                head.status == 200 && self.head_is_right(head, 1)
            }
            Frame::Body(bytes) => {
                let (seed, at) = (self.id.wrapping_mul(3), self.seen.body);
                self.seen.body += bytes.len() as u64;
                bytes
                    .iter()
                    .zip(at..)
                    .all(|(&byte, at)| byte == pattern(seed, at))
            }
            Frame::Finish => true,
            Frame::Publish(part) => match self.seen.updates.add(part.clone()) {
                Ok(Some(update)) => self.update_is_right(&update),
                Ok(None) => true,
                Err(_) => false,
            },
            Frame::End(end) => {
                self.seen.ended = true;
                let updates = mix(self.id.wrapping_mul(37)) % 4;
                let published = self.seen.published;
                // Even ones arrive before the head, odd ones at the end. All arrive, even if the
                // client disconnected.
                if published != [updates.div_ceil(2), updates / 2] {
                    return false;
                }
                end.exit == Exit::Normal
                    && end.memory_peak == self.id
                    && u64::from(end.exit_status) == self.id & 0xff
            }
        }
    }

    /// Whether the end was read, and whether everything before it was.
    pub(crate) fn ended(&self) -> Option<bool> {
        let random = mix(self.id.wrapping_mul(17));
        let infos = if random.is_multiple_of(8) {
            1 + random / 8 % 24
        } else {
            0
        };
        let all =
            self.seen.headers && self.seen.infos == infos && self.seen.body == self.body_size();
        self.seen.ended.then_some(all || self.aborted)
    }
}
