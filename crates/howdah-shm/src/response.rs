//! Reads a slot's response ring: every size and kind is checked on a copy before it is used.

use crate::errors::{ProtocolViolation, ReadError};
use crate::frame::{End, Frame, Head};
use crate::front::Front;
use crate::layout::{
    END_SIZE, FRAME_BODY, FRAME_END, FRAME_FINISH, FRAME_HEADER_SIZE, FRAME_HEADERS, FRAME_INFO,
    FRAME_PAD, FRAME_PUBLISH, align8,
};
use crate::memory::Area;
use crate::slot::SlotId;
use crate::slot_record::{Phase, Progress, Stage};
use crate::sync::{Ordering, store_load_barrier};
use crate::update::Part;
use bytes::Bytes;

/// Takes the frames that a worker has committed. When it is dropped, the space of the taken frames is released, and the
/// worker is woken if it waits for space. So take as much as can be passed on, and leave the rest in the ring for
/// back-pressure.
#[derive(Debug)]
pub struct ResponseReader<'front> {
    front: &'front mut Front,
    index: u16,
    committed: u64,
}

impl Front {
    /// Starts to read the committed part of a slot's response. It may be empty.
    ///
    /// Allowed from `push` until `release`: after [`crate::Event::Done`] too, and for a torn slot,
    /// whose committed frames are complete; if they reach [`Frame::End`] the response is complete.
    pub fn response(&mut self, slot: SlotId) -> Result<ResponseReader<'_>, ReadError> {
        let record = self.record(slot)?;
        let (id, consumed) = (record.request_id, record.progress.consumed);
        if !matches!(record.phase, Phase::Queued | Phase::Torn | Phase::Done) {
            return Err(Self::wrong_phase(record.phase, "pushed").into());
        }
        let words = &self.segment.memory.slot(self.index, slot.index).worker;
        // Acquire: pairs with the worker's release after it wrote the frames.
        let committed = words.committed.load(Ordering::Acquire);
        if committed != consumed {
            let found = words.echo_id.load(Ordering::Relaxed);
            let left = committed.wrapping_sub(consumed);
            let ring = u64::from(self.segment.geometry().response_size());
            let violation = if found != id {
                Some(ProtocolViolation::Echo {
                    expected: id,
                    found,
                })
            } else if left > ring || !committed.is_multiple_of(8) {
                Some(ProtocolViolation::Committed {
                    committed,
                    consumed,
                })
            } else {
                None
            };
            if let Some(violation) = violation {
                self.records[slot.index()].progress.stage = Stage::Broken;
                return Err(violation.into());
            }
        }
        Ok(ResponseReader {
            front: self,
            index: slot.index,
            committed,
        })
    }
}

impl ResponseReader<'_> {
    /// Bytes in the ring that are not yet taken, with frame headers and padding.
    pub fn buffered(&self) -> u64 {
        self.committed - self.progress().consumed
    }

    fn progress(&self) -> &Progress {
        &self.front.records[usize::from(self.index)].progress
    }

    fn read(&mut self) -> Result<Option<Frame>, ProtocolViolation> {
        let ring = u64::from(self.front.segment.geometry().response_size());
        let area = Area::Response {
            front: self.front.index,
            slot: self.index,
        };
        loop {
            let Progress {
                consumed, stage, ..
            } = *self.progress();
            let left = self.committed - consumed;
            if left == 0 {
                return Ok(None);
            }
            let at = consumed & (ring - 1);
            // Both are multiples of 8 and `left` is not 0, so a frame's header is there.
            let header = self.front.segment.memory.read_u64(area, at);
            let (kind, size) = (header as u32, (header >> 32) as u32);
            let whole = FRAME_HEADER_SIZE as u64 + align8(u64::from(size));
            if whole > left || whole > ring - at {
                return Err(ProtocolViolation::FrameSize { at: consumed, size });
            }
            if kind == FRAME_PAD {
                if at + whole != ring {
                    return Err(ProtocolViolation::FrameSize { at: consumed, size });
                }
                self.take(whole, stage);
                continue;
            }
            let next = after(stage, kind)?;
            let payload = at + FRAME_HEADER_SIZE as u64;
            let size = size as usize;
            let frame = match kind {
                FRAME_BODY if size == 0 => {
                    self.take(whole, next);
                    continue;
                }
                FRAME_BODY => Frame::Body(self.copy(area, payload, size)),
                FRAME_HEADERS => {
                    Frame::Headers(Head::parse(self.copy(area, payload, size), false)?)
                }
                FRAME_INFO => Frame::Info(Head::parse(self.copy(area, payload, size), true)?),
                FRAME_END if size == END_SIZE => {
                    Frame::End(End::parse(&self.copy(area, payload, size))?)
                }
                FRAME_FINISH if size == 0 => Frame::Finish,
                FRAME_PUBLISH => Frame::Publish(Part::parse(self.copy(area, payload, size))?),
                _ => return Err(ProtocolViolation::End),
            };
            self.take(whole, next);
            return Ok(Some(frame));
        }
    }

    fn take(&mut self, whole: u64, stage: Stage) {
        let progress = &mut self.front.records[usize::from(self.index)].progress;
        progress.consumed += whole;
        progress.stage = stage;
    }

    fn copy(&mut self, area: Area, at: u64, size: usize) -> Bytes {
        let Front {
            segment, buffers, ..
        } = &mut *self.front;
        buffers.gather(size, |buffer| {
            segment.memory.copy_out(area, at, size, buffer);
        })
    }
}

/// The stage after a frame: INFO* (HEADERS BODY* FINISH?)? END, and PUBLISH at any place before END.
fn after(stage: Stage, kind: u32) -> Result<Stage, ProtocolViolation> {
    let name = match kind {
        FRAME_HEADERS => "headers",
        FRAME_BODY => "body",
        FRAME_INFO => "info",
        FRAME_FINISH => "finish",
        FRAME_END => "end",
        FRAME_PUBLISH => "publish",
        _ => return Err(ProtocolViolation::FrameKind(kind)),
    };
    match (stage, kind) {
        (Stage::Start, FRAME_INFO) => Ok(Stage::Start),
        (Stage::Start, FRAME_HEADERS) | (Stage::Body, FRAME_BODY) => Ok(Stage::Body),
        (Stage::Body, FRAME_FINISH) => Ok(Stage::Finished),
        (Stage::Start | Stage::Body | Stage::Finished, FRAME_END) => Ok(Stage::Ended),
        (Stage::Start | Stage::Body | Stage::Finished, FRAME_PUBLISH) => Ok(stage),
        _ => Err(ProtocolViolation::FrameOrder(name)),
    }
}

impl Iterator for ResponseReader<'_> {
    type Item = Result<Frame, ProtocolViolation>;

    /// The next frame; `None`: nothing more is committed. After a violation nothing more is read.
    fn next(&mut self) -> Option<Self::Item> {
        if self.progress().stage == Stage::Broken {
            return None;
        }
        let frame = self.read();
        if frame.is_err() {
            self.front.records[usize::from(self.index)].progress.stage = Stage::Broken;
        }
        frame.transpose()
    }
}

impl Drop for ResponseReader<'_> {
    fn drop(&mut self) {
        let record = &mut self.front.records[usize::from(self.index)];
        let progress = &mut record.progress;
        // A finished or torn request has no worker that could use the space.
        if record.phase != Phase::Queued || progress.acknowledged == progress.consumed {
            return;
        }
        progress.acknowledged = progress.consumed;
        let slot = self.front.segment.memory.slot(self.front.index, self.index);
        // An exchange, not a store: the load of `waiting` must come after it. The worker's counterpart is the exchange
        // of `waiting` and the following load of `consumed`.
        slot.front
            .consumed
            .swap(progress.consumed, Ordering::SeqCst);
        store_load_barrier();
        if slot.worker.waiting.load(Ordering::SeqCst) != 0 {
            self.front.wake_owner(self.index, false);
        }
    }
}
