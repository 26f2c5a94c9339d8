//! Responses of any shape through a small ring, with a worker thread for which the ring is full at
//! times.

use super::{RING, WORKER, pool, push, worker};
use crate::worker::ResponseWriter;
use crate::{Event, Exit, Frame, Update, Updates};
use proptest::prelude::*;
use rustix::event::{PollFd, PollFlags, poll};

/// What a worker does with a response.
#[derive(Clone, Debug)]
enum Step {
    Info(usize),
    Body(usize),
    Publish(usize),
    Flush,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..1500_usize).prop_map(Step::Info),
        (0..9000_usize).prop_map(Step::Body),
        (0..9000_usize).prop_map(Step::Publish),
        Just(Step::Flush),
    ];
    proptest::collection::vec(step, 0..12)
}

fn update(size: usize) -> Update {
    Update {
        topics: vec!["t".into()],
        private: false,
        id: "i".into(),
        kind: "".into(),
        data: (0..size).map(byte).collect(),
        retry: None,
    }
}

fn byte(at: usize) -> u8 {
    (at * 7 + at / 256) as u8
}

/// Runs the steps in a worker thread and returns the frames that the front read.
fn round_trip(steps: Vec<Step>) -> Vec<Frame> {
    let (segment, mut front) = pool(1);
    let mut worker = worker(&segment, WORKER);
    let slot = push(&mut front, 1);
    let thread = std::thread::spawn(move || {
        let claim = worker.get().expect("a request is queued");
        let mut response = ResponseWriter::new(&mut worker, claim);
        for step in &steps {
            if let Step::Info(size) = step {
                assert!(response.info(103, &[("link", &"l".repeat(*size))]));
            }
        }
        assert!(response.headers(200, &[("a", "b")]));
        let mut sent = 0;
        for step in steps {
            match step {
                Step::Body(size) => {
                    let bytes: Vec<_> = (sent..sent + size).map(byte).collect();
                    assert!(response.body(&bytes));
                    sent += size;
                }
                Step::Publish(size) => assert!(response.publish(&update(size).encode())),
                Step::Flush => response.flush(),
                Step::Info(_) => {}
            }
        }
        response.end(Exit::Normal, 0);
    });
    let eventfd = segment.eventfds().next().expect("an eventfd");
    let mut frames = Vec::new();
    loop {
        while let Some(event) = front.poll() {
            frames.extend(front.response(slot).unwrap().map(Result::unwrap));
            if matches!(event, Event::Done { .. }) {
                thread.join().unwrap();
                return frames;
            }
        }
        if !front.prepare_sleep() {
            poll(&mut [PollFd::new(&eventfd, PollFlags::IN)], None).unwrap();
            rustix::io::read(eventfd, &mut [0; 8]).unwrap();
            front.woken();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_records_are_read(steps in steps()) {
        let infos: Vec<_> =
            steps.iter().filter_map(|step| if let Step::Info(size) = step { Some(*size) } else { None }).collect();
        let size: usize = steps.iter().map(|step| if let Step::Body(size) = step { *size } else { 0 }).sum();
        let published: Vec<_> =
            steps.iter().filter_map(|step| if let Step::Publish(size) = step { Some(update(*size)) } else { None }).collect();
        let frames = round_trip(steps);
        let (mut updates, mut read_updates) = (Updates::default(), Vec::new());
        let mut body = Vec::new();
        let mut read_infos = Vec::new();
        for frame in &frames {
            match frame {
                Frame::Info(head) => {
                    let (_, value) = head.headers().next().unwrap();
                    read_infos.push(value.len());
                }
                Frame::Body(bytes) => body.extend_from_slice(bytes),
                Frame::Publish(part) => read_updates.extend(updates.add(part.clone()).unwrap()),
                _ => {}
            }
        }
        prop_assert_eq!(read_infos, infos);
        prop_assert_eq!(read_updates, published);
        prop_assert_eq!(body, (0..size).map(byte).collect::<Vec<_>>());
        prop_assert!(matches!(frames.last(), Some(Frame::End(_))));
    }
}

#[test]
fn a_worker_that_waits_for_space_learns_that_the_client_is_gone() {
    let (segment, mut front) = pool(1);
    let mut worker = worker(&segment, WORKER);
    let slot = push(&mut front, 1);
    let thread = std::thread::spawn(move || {
        let claim = worker.get().expect("a request is queued");
        let mut response = ResponseWriter::new(&mut worker, claim);
        assert!(response.headers(200, &[]));
        assert!(
            !response.body(&vec![0; RING as usize * 3]),
            "the front does not read"
        );
        response.end(Exit::Normal, 0);
    });
    while super::slot_words(&segment, slot)
        .worker
        .waiting
        .load(crate::sync::Ordering::SeqCst)
        == 0
    {
        std::thread::yield_now();
    }
    front.abort(slot).unwrap();
    thread.join().unwrap();
    let events: Vec<_> = std::iter::from_fn(|| front.poll()).collect();
    assert_eq!(
        events.last(),
        Some(&Event::Done {
            slot,
            worker: WORKER
        })
    );
    let last = super::frames(&mut front, slot).pop();
    assert!(
        matches!(last, Some(Frame::End(_))),
        "the end fits into a full ring"
    );
}
