//! Updates that requests publish, whether or not their clients are connected.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use howdah_shm::{Exit, ProtocolViolation, Update};
use tokio::sync::Notify;

use super::tests::{Harness, answer, request, text};
use super::*;

/// Records published updates.
#[derive(Default)]
struct Notes {
    seen: Mutex<Vec<(u64, Update)>>,
    more: Notify,
}

impl Publisher for Notes {
    fn publish(&self, request: u64, update: Update) {
        self.seen.lock().expect("no panic").push((request, update));
        self.more.notify_one();
    }
}

impl Notes {
    fn seen(&self) -> Vec<(u64, Update)> {
        self.seen.lock().expect("no panic").clone()
    }

    /// Waits until so many have arrived: all of request 1, in order.
    async fn wait_for(&self, count: usize) {
        while self.seen().len() < count {
            self.more.notified().await;
        }
        for (number, (request, update)) in self.seen().iter().enumerate() {
            assert_eq!(*request, 1);
            assert_eq!(update.id, number.to_string());
        }
    }
}

fn update(number: usize, size: usize) -> Vec<u8> {
    let update = Update {
        topics: vec!["t".into()],
        private: false,
        id: number.to_string().into(),
        kind: "".into(),
        data: vec![b'x'; size].into(),
        retry: None,
    };
    update.encode()
}

fn publishing(notes: &Arc<Notes>) -> Request<'static> {
    Request {
        publisher: Some(notes.clone()),
        ..request(1)
    }
}

#[test]
fn updates_come_at_any_place_of_a_response_and_in_order() {
    let mut harness = Harness::new(|_| {});
    let (open, gate): (Sender<()>, Receiver<()>) = channel();
    harness.worker(move |mut response| {
        assert!(response.publish(&update(0, 10)));
        gate.recv().expect("the test opens");
        assert!(response.headers(200, &[]));
        assert!(response.publish(&update(1, 1 << 19)));
        assert!(response.body(b"body"));
        assert!(response.finish());
        gate.recv().expect("the test opens");
        for number in 2..1002 {
            assert!(response.publish(&update(number, 100)));
        }
        response.end(Exit::Normal, 0);
    });
    harness.run(async |_, front| {
        let notes = Arc::new(Notes::default());
        let call = front.call(publishing(&notes));
        let opener = async {
            // Immediately, although there is no response yet.
            notes.wait_for(1).await;
            open.send(()).expect("the worker waits");
        };
        let (result, ()) = tokio::join!(call, opener);
        let (_, body) = result.expect("a response");
        assert_eq!(text(body).await, "body");
        open.send(()).expect("the worker waits");
        notes.wait_for(1002).await;
        assert_eq!(notes.seen()[1].1.data.len(), 1 << 19);
    });
}

#[test]
fn a_script_publishes_on_after_a_response_that_fills_the_buffer() {
    let mut harness = Harness::new(|options| {
        options.response_size = 16 << 10;
        options.limits.response_buffer = 8 << 10;
    });
    harness.worker(|mut response| {
        assert!(response.headers(200, &[]));
        assert!(response.body(&[b'b'; 12 << 10]));
        assert!(response.finish());
        for number in 0..100 {
            assert!(response.publish(&update(number, 1000)));
        }
        response.end(Exit::Normal, 0);
    });
    harness.run(async |_, front| {
        let notes = Arc::new(Notes::default());
        let (_, body) = front.call(publishing(&notes)).await.expect("a response");
        assert_eq!(text(body).await.len(), 12 << 10);
        notes.wait_for(100).await;
    });
}

#[test]
fn without_a_hub_an_update_ends_the_worker() {
    let mut harness = Harness::new(|_| {});
    harness.worker(|mut response| {
        assert!(response.publish(&update(0, 1)));
        answer(response);
    });
    harness.run(async |harness, front| {
        let result = front.call(request(1)).await;
        assert_eq!(result.err(), Some(CallError::Malformed));
        let message = harness.supervisor.recv().await;
        let Some(SupervisorMessage::Kill { reason, .. }) = message else {
            panic!("{message:?}");
        };
        assert!(
            matches!(
                reason,
                KillReason::ProtocolViolation(ProtocolViolation::FrameOrder("publish"))
            ),
            "{reason:?}"
        );
    });
}

#[test]
fn an_invalid_update_ends_the_worker() {
    let mut harness = Harness::new(|_| {});
    harness.worker(|mut response| {
        assert!(response.publish(b"nonsense"));
        answer(response);
    });
    harness.run(async |_, front| {
        let notes = Arc::new(Notes::default());
        let result = front.call(publishing(&notes)).await;
        assert_eq!(result.err(), Some(CallError::Malformed));
        assert!(notes.seen().is_empty());
    });
}
