//! What the observer of a request is notified of.

use howdah_shm::{Exit, WorkerId};

use super::tests::{Harness, answer, request, text};
use super::*;

/// Records its notifications.
#[derive(Default)]
struct RecordingObserver {
    claims: RefCell<Vec<(u64, WorkerId)>>,
    crashes: Cell<u32>,
    measured: Cell<u32>,
    done: Cell<u32>,
}

impl Observer for RecordingObserver {
    fn on_claim(&self, claimed_ns: u64, worker: WorkerId) {
        assert_eq!(self.done.get(), 0, "claimed after it was done");
        self.claims.borrow_mut().push((claimed_ns, worker));
    }

    fn on_crash(&self) {
        self.crashes.set(self.crashes.get() + 1);
    }

    fn on_usage(&self, usage: ScriptUsage) {
        assert_eq!(usage, ScriptUsage::default(), "usage was not requested");
        self.measured.set(self.measured.get() + 1);
    }

    fn on_done(&self) {
        self.done.set(self.done.get() + 1);
    }
}

#[test]
fn an_observer_hears_of_a_crash_between_two_claims() {
    let mut harness = Harness::new(|_| {});
    let (dead, thread) = harness.start_crashing_worker(true);
    harness.run(async |harness, front| {
        let noted = Rc::new(RecordingObserver::default());
        let call = front.call(Request {
            repeatable: true,
            observer: Some(noted.clone()),
            ..request(5)
        });
        let help = async {
            harness.wait_dead(thread).await;
            harness.pool.fronts[0]
                .send(FrontMessage::WorkerGone(dead))
                .expect("sent");
            harness.worker(answer);
        };
        let (response, ()) = tokio::join!(call, help);
        assert_eq!(text(response.expect("a response").1).await, "request 5");
        let claims = noted.claims.borrow().len();
        assert_eq!((claims, noted.crashes.get(), noted.done.get()), (2, 1, 1));
    });
}

#[test]
fn an_observer_hears_of_the_claim_and_the_end_once() {
    let mut harness = Harness::new(|_| {});
    let id = harness.worker(|mut response| {
        response.headers(200, &[]);
        response.flush();
        response.body(b"x");
        response.flush();
        response.end(Exit::Normal, 0);
    });
    harness.run(async |_, front| {
        let noted = Rc::new(RecordingObserver::default());
        let observed = Request {
            observer: Some(noted.clone()),
            ..request(1)
        };
        let (_, body) = front.call(observed).await.expect("a response");
        assert_eq!(text(body).await, "x");
        let claims = noted.claims.borrow().clone();
        assert_eq!(claims.len(), 1);
        assert_eq!(claims[0].1, id);
        assert_ne!(claims[0].0, 0);
        // The end of the response may come before the report that the worker is done.
        while noted.done.get() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(noted.done.get(), 1);
        assert_eq!(noted.measured.get(), 1);
        assert_eq!(Rc::strong_count(&noted), 1, "it is kept after the end");
    });
}
