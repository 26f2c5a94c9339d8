//! Checks what zygotes may send, whatever state they are in. A message of a different shape is not a mistake of our
//! zygote: another process holds its socket. The supervisor checks whether a message fits the state.

use howdah_shm::layout::WORKERS_MAX;

use super::control::{Kind, Message};

/// Longest text of a zygote.
const SENTENCE_MAX: usize = 4096;

/// Sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The root zygote, after READY.
    Root,
    /// A pool's zygote.
    Pool,
}

impl Message {
    /// Why the sender cannot have sent this message.
    pub(crate) fn contradiction(&self, sender: Sender) -> Option<String> {
        let kind = self.kind;
        let of_process = match (sender, kind) {
            (Sender::Root, Kind::PoolStarted | Kind::PoolExited)
            | (Sender::Pool, Kind::Spawned | Kind::Exited) => true,
            (_, Kind::Failed) | (Sender::Pool, Kind::Booted) => false,
            _ => return Some(format!("unexpected {kind:?}")),
        };
        let brings = matches!(kind, Kind::PoolStarted | Kind::Spawned);
        let has_status = !brings;
        let fds = usize::from(brings && !self.cut);
        let wrong = if self.worker >= WORKERS_MAX || (kind == Kind::Booted && self.worker != 0) {
            format!("number {}", self.worker)
        } else if self.fds.len() != fds || (self.cut && !brings) {
            format!("{} descriptors", self.fds.len())
        } else if of_process != (self.pid > 0) || self.pid < 0 {
            format!("process {}", self.pid)
        } else if !has_status && self.status != 0 {
            format!("status {}", self.status)
        } else if self.data.len() > if of_process { 0 } else { SENTENCE_MAX } {
            format!("{} bytes of data", self.data.len())
        } else {
            return None;
        };
        Some(format!("{kind:?} with {wrong}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::OwnedFd;

    fn fds(count: usize) -> Vec<OwnedFd> {
        let open = || std::fs::File::open("/dev/null").expect("a file").into();
        std::iter::repeat_with(open).take(count).collect()
    }

    fn message(kind: Kind, worker: u32, pid: i32, status: i32) -> Message {
        Message {
            kind,
            worker,
            pid,
            status,
            data: Vec::new(),
            fds: Vec::new(),
            cut: false,
            room: None,
        }
    }

    #[test]
    fn valid_messages_of_zygotes_are_accepted() {
        let mut spawned = message(Kind::Spawned, 3, 100, 0);
        spawned.fds = fds(1);
        let mut unwatched = message(Kind::Spawned, 3, 100, 0);
        unwatched.cut = true;
        let mut started = message(Kind::PoolStarted, 0, 100, 0);
        started.fds = fds(1);
        let mut failed = message(Kind::Failed, 3, 0, 11);
        failed.data = b"fork: no".to_vec();
        for (message, sender) in [
            (&spawned, Sender::Pool),
            (&unwatched, Sender::Pool),
            (&started, Sender::Root),
            (&failed, Sender::Pool),
            (&failed, Sender::Root),
            (&message(Kind::Booted, 0, 0, 1), Sender::Pool),
            (&message(Kind::Exited, 3, 100, 9), Sender::Pool),
            (&message(Kind::PoolExited, 3, 100, 9), Sender::Root),
        ] {
            assert_eq!(message.contradiction(sender), None, "{message:?}");
        }
    }

    #[test]
    fn impossible_messages_of_zygotes_are_named() {
        let spawned = || message(Kind::Spawned, 3, 100, 0);
        let with = |change: &dyn Fn(&mut Message)| {
            let mut message = spawned();
            message.fds = fds(1);
            change(&mut message);
            message
        };
        let cases = [
            (spawned(), "Spawned with 0 descriptors"),
            (with(&|it| it.fds = fds(2)), "Spawned with 2 descriptors"),
            (with(&|it| it.pid = 0), "Spawned with process 0"),
            (with(&|it| it.pid = -1), "Spawned with process -1"),
            (with(&|it| it.status = 1), "Spawned with status 1"),
            (
                with(&|it| it.worker = u32::MAX),
                "Spawned with number 4294967295",
            ),
            (
                with(&|it| it.data = vec![0]),
                "Spawned with 1 bytes of data",
            ),
            (
                with(&|it| it.kind = Kind::Exited),
                "Exited with 1 descriptors",
            ),
            (message(Kind::Exited, 1, -9, 0), "Exited with process -9"),
            (message(Kind::Booted, 1, 0, 1), "Booted with number 1"),
            (message(Kind::Booted, 0, 7, 1), "Booted with process 7"),
            (message(Kind::Failed, 0, 7, 1), "Failed with process 7"),
            (message(Kind::Ready, 0, 0, 0), "unexpected Ready"),
            (message(Kind::PoolExited, 0, 7, 0), "unexpected PoolExited"),
        ];
        for (message, text) in cases {
            assert_eq!(message.contradiction(Sender::Pool).as_deref(), Some(text));
        }
        assert!(
            message(Kind::Exited, 1, 9, 0)
                .contradiction(Sender::Root)
                .is_some()
        );
    }

    proptest! {
        #[test]
        fn no_message_panics_and_none_without_flaw_is_about_another_place(
            kind in 0u32..15, worker: u32, pid: i32, status: i32, size in 0usize..8192, count in 0usize..3, cut: bool,
        ) {
            prop_assume!(Kind::from_u32(kind).is_some());
            let kind = Kind::from_u32(kind).expect("known");
            let mut message = message(kind, worker, pid, status);
            (message.data, message.fds, message.cut) = (vec![b'x'; size], fds(count), cut);
            for sender in [Sender::Root, Sender::Pool] {
                if message.contradiction(sender).is_none() {
                    prop_assert!(worker < WORKERS_MAX && pid >= 0 && count <= 1 && size <= SENTENCE_MAX);
                }
            }
        }
    }
}
