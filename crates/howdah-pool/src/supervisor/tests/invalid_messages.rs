//! Zygotes whose control socket another process uses: messages that contradict the state end the zygote, and have no
//! other effect.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Weak;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{Server, run, worker_pool};
use crate::process::control::{Header, Kind};

fn pidfd(pid: i32) -> OwnedFd {
    let pid = Pid::from_raw(pid).expect("a pid");
    pidfd_open(pid, PidfdFlags::empty()).expect("a pidfd")
}

/// A message with as many descriptors of the test as `fds`.
#[derive(Debug, Clone, Copy)]
struct InvalidMessage {
    header: Header,
    data: &'static [u8],
    fds: usize,
}

/// A message without data.
fn message(kind: Kind, worker: u32, pid: i32, status: i32, fds: usize) -> InvalidMessage {
    InvalidMessage {
        header: Header {
            kind,
            worker,
            pid,
            status,
        },
        data: b"",
        fds,
    }
}

/// Sends it as the newest zygote, and waits for the next one.
async fn send_invalid(server: &Server, message: InvalidMessage, before: u32) {
    calm(server, before).await;
    let control = server.plan(|plan| plan.controls.last().and_then(Weak::upgrade));
    let control = control.expect("a zygote");
    let own = pidfd(std::process::id().cast_signed());
    let fds = vec![own.as_fd(); message.fds];
    let sent = control.report(message.header, message.data, &fds).await;
    sent.expect("sent");
    server
        .until("another generation", |status| {
            status.generation > before && status.ready == 1
        })
        .await;
}

/// The worker serves, and from then on waits for its exit: unlike a process it would continue when it is killed.
async fn calm(server: &Server, generation: u32) {
    let answer = server.get("lame").await.expect("an answer");
    assert_eq!(answer, format!("generation {generation}"));
}

#[test]
fn each_invalid_message_ends_its_generation_and_the_next_serves() {
    let own = std::process::id().cast_signed();
    // The place of worker 1 is vacant; worker 0 runs.
    let messages = [
        message(Kind::Spawned, 0, own, 0, 1),
        message(Kind::Spawned, 1, own, 0, 1),
        message(Kind::Spawned, 1, own, 0, 0),
        message(Kind::Spawned, 1, -1, 0, 0),
        message(Kind::Spawned, 60000, own, 0, 1),
        message(Kind::Spawned, 1, own, 0, 3),
        message(Kind::Booted, 0, 0, 1, 0),
        message(Kind::Booted, 0, 0, 77, 0),
        message(Kind::Exited, 0, own, 9, 1),
        message(Kind::Exited, 60000, own, 9, 0),
        InvalidMessage {
            data: b"no",
            ..message(Kind::Failed, 0, 0, 11, 0)
        },
        InvalidMessage {
            data: b"no",
            ..message(Kind::Failed, 1, 0, 11, 0)
        },
        InvalidMessage {
            data: b"{}",
            ..message(Kind::Ready, 0, 0, 0, 0)
        },
        message(Kind::Pool, 0, 0, 0, 0),
        message(Kind::PoolStarted, 0, own, 0, 1),
        message(Kind::PoolExited, 0, own, 9, 0),
        message(Kind::Kill, 0, own, 0, 0),
    ];
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        for (before, message) in messages.into_iter().enumerate() {
            send_invalid(&server, message, before as u32 + 1).await;
        }
        calm(&server, messages.len() as u32 + 1).await;
        let status = server.status().await;
        assert_eq!(status.counters.boots_failed, 0, "{status:?}");
    })
    .expect("started");
}

#[test]
fn a_worker_that_runs_has_not_exited() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        let pid = server.status().await.workers[0].pid;
        send_invalid(&server, message(Kind::Exited, 0, pid, 9, 0), 1).await;
    })
    .expect("started");
}

#[test]
fn a_process_that_is_not_the_zygotes_own_is_not_taken_for_a_worker() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        server.plan(|plan| plan.strange_workers = 1);
        // The next worker is announced as process 1, with its pidfd.
        assert!(server.get("fatal").await.is_ok());
        server
            .until("another generation", |status| {
                status.generation == 2 && status.ready == 1
            })
            .await;
        assert_eq!(server.get("").await, Ok("generation 2".into()));
    })
    .expect("started");
}

#[test]
fn a_flood_is_one_message() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        calm(&server, 1).await;
        let control = server.plan(|plan| plan.controls[0].upgrade());
        let control = control.expect("a zygote");
        // Until the other end is closed.
        while control
            .send(Kind::Ready, 0, &vec![b'x'; 30000], &[])
            .await
            .is_ok()
        {}
        let status = server
            .until("another generation", |status| {
                status.generation == 2 && status.ready == 1
            })
            .await;
        assert_eq!(status.generations.len(), 1, "{status:?}");
    })
    .expect("started");
}

#[test]
fn a_root_that_sends_invalid_messages_is_restarted() {
    run(worker_pool(1, |_, _| {}), &[], async |server| {
        // The executable that starts another root is missing: only the exit of this one matters.
        let root = server.plan(|plan| plan.root.upgrade().expect("a root"));
        let own = std::process::id().cast_signed();
        let fd = pidfd(own);
        let fds = [fd.as_fd()];
        let header = Header {
            pid: own,
            ..Header::new(Kind::PoolStarted, 0)
        };
        let sent = root.report(header, b"", &fds);
        sent.await.expect("sent");
        let closed = async {
            while root.send(Kind::Ready, 0, b"", &[]).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        let closed = tokio::time::timeout(std::time::Duration::from_secs(60), closed).await;
        closed.expect("its socket is closed");
    })
    .expect("started");
}
