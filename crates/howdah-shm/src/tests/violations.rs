//! Workers that write invalid values.

use super::{RING, WORKER, done, pool, push, serve, slot_words, worker};
use crate::layout::{DONE, END_SIZE, completion_cell};
use crate::sync::Ordering;
use crate::worker::ResponseWriter;
use crate::{Event, ProtocolViolation, QueueError, ReadError, SlotId, SlotState};
use proptest::prelude::*;

const fn violation(violation: ProtocolViolation) -> Event {
    Event::ProtocolViolation {
        worker: WORKER,
        violation,
    }
}

#[test]
fn completions_are_checked() {
    let cases = [
        (
            completion_cell(0, DONE, 0, 99),
            ProtocolViolation::CompletionSlot(99),
        ),
        (
            completion_cell(0, DONE, 0, 1),
            ProtocolViolation::CompletionUnexpected(1),
        ),
        (
            completion_cell(0, DONE, 1, 0),
            ProtocolViolation::CompletionUnexpected(0),
        ),
        (
            completion_cell(0, DONE, 0, 0),
            ProtocolViolation::CompletionOwner(0),
        ),
    ];
    for (cell, expected) in cases {
        let (segment, mut front) = pool(4);
        let slot = push(&mut front, 1);
        let mut worker = worker(&segment, WORKER);
        segment
            .memory
            .completion(0, 0, 0)
            .store(cell, Ordering::SeqCst);
        assert_eq!(front.poll(), Some(violation(expected)));
        // Nothing more is read from it, until it has exited and its successor writes.
        segment
            .memory
            .completion(0, 0, 1)
            .store(completion_cell(1, DONE, 0, 0), Ordering::SeqCst);
        assert_eq!(front.poll(), None);
        assert!(!front.prepare_sleep());
        front.recover(WORKER).unwrap();
        let mut successor = super::worker(&segment, WORKER);
        assert_eq!(front.poll(), None);
        serve(&mut successor);
        assert_eq!(front.poll(), Some(done(slot, WORKER)));
        assert!(worker.search().is_none());
    }
}

#[test]
fn an_overwritten_head_does_not_harm_the_second_look() {
    let (segment, mut front) = pool(8);
    push(&mut front, 1);
    for head in [u64::MAX, 3, 1 << 40, 0] {
        let word = &segment.memory.ring(0).head.0;
        word.store(head, Ordering::SeqCst);
        assert!(front.recheck_left(), "{head}: something seems to be queued");
    }
}

#[test]
fn an_overwritten_ring_is_a_violation_and_no_hang() {
    let (segment, mut front) = pool(2);
    for id in 1..=2 {
        push(&mut front, id);
    }
    segment
        .memory
        .ring(0)
        .head
        .0
        .store(u64::MAX, Ordering::SeqCst);
    front.rewake();
    segment.memory.ring(0).head.0.store(0, Ordering::SeqCst);
    for position in 0..4 {
        segment
            .memory
            .cell(0, position)
            .store(u64::MAX, Ordering::SeqCst);
    }
    // The ring has four cells: the third and fourth push still find room.
    let slots: Vec<_> = front.slots().map(|status| status.slot).collect();
    for slot in slots {
        front.cancel(slot).unwrap();
        push(&mut front, 3);
    }
    let slot = front.slots().next().unwrap().slot;
    front.cancel(slot).unwrap();
    let slot = front.acquire().unwrap();
    front.fill(slot, 5, b"", crate::Body::None, 0).unwrap();
    assert!(matches!(
        front.push(slot),
        Err(QueueError::ProtocolViolation(
            ProtocolViolation::Ring { .. }
        ))
    ));
    front.release(slot).unwrap();
}

#[test]
fn an_overwritten_state_is_shown() {
    let (segment, mut front) = pool(2);
    let slot = push(&mut front, 1);
    slot_words(&segment, slot)
        .request
        .state
        .store(u64::MAX, Ordering::SeqCst);
    assert_eq!(front.slot(slot).unwrap().state, SlotState::Corrupt);
}

#[test]
fn the_echo_is_checked() {
    let (segment, mut front) = pool(2);
    let mut worker = worker(&segment, WORKER);
    let slot = push(&mut front, 1);
    serve(&mut worker);
    assert_eq!(front.poll(), Some(done(slot, WORKER)));
    slot_words(&segment, slot)
        .worker
        .echo_id
        .store(2, Ordering::SeqCst);
    let wrong = ReadError::ProtocolViolation(ProtocolViolation::Echo {
        expected: 1,
        found: 2,
    });
    assert_eq!(front.response(slot).unwrap_err(), wrong);
}

/// A torn slot whose ring holds `bytes`, with `committed` of them declared.
fn with_ring(bytes: &[u8], committed: u64) -> (super::Front, SlotId) {
    let (segment, mut front) = pool(2);
    let slot = push(&mut front, 1);
    let area = crate::memory::Area::Response {
        front: 0,
        slot: slot.index,
    };
    segment.memory.copy_in(area, 0, bytes);
    let words = &slot_words(&segment, slot).worker;
    words.echo_id.store(1, Ordering::SeqCst);
    words.committed.store(committed, Ordering::SeqCst);
    (front, slot)
}

fn frame(kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(kind.to_le_bytes());
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

#[test]
fn frames_are_checked() {
    let head = |status: u16, reason: u16, count: u32, rest: &[u8]| {
        let mut payload = Vec::new();
        payload.extend(status.to_le_bytes());
        payload.extend(reason.to_le_bytes());
        payload.extend(count.to_le_bytes());
        payload.extend(rest);
        payload
    };
    let good = head(200, 0, 0, b"");
    let long_name = [u32::MAX.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
    let cases: Vec<(Vec<u8>, ProtocolViolation)> = vec![
        (frame(9, b""), ProtocolViolation::FrameKind(9)),
        (frame(2, b"early"), ProtocolViolation::FrameOrder("body")),
        (frame(4, b""), ProtocolViolation::FrameOrder("finish")),
        (
            frame(0, b""),
            ProtocolViolation::FrameSize { at: 0, size: 0 },
        ),
        (frame(1, b"short"), ProtocolViolation::Head),
        (frame(1, &head(200, 1, 0, b"")), ProtocolViolation::Head),
        (frame(1, &head(200, 0, 1, b"")), ProtocolViolation::Head),
        (
            frame(1, &head(200, 0, u32::MAX, &long_name)),
            ProtocolViolation::Head,
        ),
        (
            frame(1, &head(200, 0, 0, b"trailing")),
            ProtocolViolation::Head,
        ),
        (
            frame(1, &head(103, 0, 0, b"")),
            ProtocolViolation::Status(103),
        ),
        (frame(3, &good), ProtocolViolation::Status(200)),
        (frame(5, &[0; 16]), ProtocolViolation::End),
        (frame(5, &[9; END_SIZE]), ProtocolViolation::End),
        (
            [frame(1, &good), frame(1, &good)].concat(),
            ProtocolViolation::FrameOrder("headers"),
        ),
        (
            [frame(1, &good), frame(4, b"x")].concat(),
            ProtocolViolation::End,
        ),
        (
            [frame(1, &good), frame(4, b""), frame(2, b"x")].concat(),
            ProtocolViolation::FrameOrder("body"),
        ),
        (
            [frame(5, &[0; END_SIZE]), frame(1, &good)].concat(),
            ProtocolViolation::FrameOrder("headers"),
        ),
    ];
    for (bytes, expected) in cases {
        let (mut front, slot) = with_ring(&bytes, bytes.len() as u64);
        let read: Vec<_> = front.response(slot).unwrap().collect();
        assert_eq!(read.last(), Some(&Err(expected)), "{bytes:?}");
        assert_eq!(
            front.response(slot).unwrap().count(),
            0,
            "nothing is read after a violation"
        );
    }
}

#[test]
fn counts_are_checked() {
    for committed in [u64::from(RING) + 8, 4, u64::MAX, u64::MAX - 7] {
        let (mut front, slot) = with_ring(&frame(2, b""), committed);
        let wrong = ReadError::ProtocolViolation(ProtocolViolation::Committed {
            committed,
            consumed: 0,
        });
        assert_eq!(front.response(slot).unwrap_err(), wrong);
    }
}

proptest! {
    #[test]
    fn random_memory_is_read_without_harm(
        bytes in proptest::collection::vec(any::<u8>(), 0..=RING as usize),
        committed in prop_oneof![(0..=u64::from(RING) / 8).prop_map(|count| count * 8), any::<u64>()],
    ) {
        let (mut front, slot) = with_ring(&bytes, committed);
        if let Ok(response) = front.response(slot) {
            // Each frame needs at least 8 bytes, so this ends.
            prop_assert!(response.count() <= RING as usize / 8 + 1);
        }
    }

    #[test]
    fn a_response_with_one_changed_word_is_read_without_harm(
        at in 0..RING as usize / 8,
        word in any::<u64>(),
        body in 0..2000_usize,
    ) {
        let (segment, mut front) = pool(2);
        let mut worker = worker(&segment, WORKER);
        let slot = push(&mut front, 1);
        let claim = worker.search().unwrap();
        let mut response = ResponseWriter::new(&mut worker, claim);
        response.info(103, &[("link", "</a.css>")]);
        response.headers(200, &[("x", "y"), ("long", &"z".repeat(100))]);
        response.body(&vec![1; body]);
        response.end(crate::Exit::Normal, 0);
        let area = crate::memory::Area::Response { front: 0, slot: slot.index };
        segment.memory.copy_in(area, at as u64 * 8, &word.to_le_bytes());
        prop_assert_eq!(front.poll(), Some(done(slot, WORKER)));
        for frame in front.response(slot).unwrap().flatten() {
            if let crate::Frame::Headers(head) | crate::Frame::Info(head) = frame {
                prop_assert_eq!(head.headers().count(), head.headers().len());
            }
        }
    }

    #[test]
    fn random_completions_are_taken_without_harm(cells in proptest::collection::vec(any::<u64>(), 4)) {
        let (segment, mut front) = pool(2);
        push(&mut front, 1);
        segment.admit(WORKER).unwrap();
        for (cell, index) in cells.into_iter().zip(0..) {
            // The generation is right, so that the rest is checked.
            let cell = cell & 0xffff_ffff | u64::from(index + 1) << 32;
            segment.memory.completion(0, 0, index).store(cell, Ordering::SeqCst);
        }
        let mut events = 0;
        while let Some(event) = front.poll() {
            events += 1;
            let harmless = matches!(event, Event::ProtocolViolation { .. });
            prop_assert!(harmless, "no worker has claimed anything: {event:?}");
        }
        prop_assert_eq!(events, 1);
        front.recover(WORKER).unwrap();
    }
}
