//! A lock among servers that share a Redis server.
//!
//! A lock is a key with the name of its owner. It expires after a while unless the owner prolongs
//! it: the lock of a crashed owner becomes free. Only the owner releases it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::remote::{Remote, is_unavailable};
use crate::storage::unique;

/// Times of the protocol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseTiming {
    /// The lease is free when its owner has not renewed it for this time.
    pub(crate) life: Duration,
    /// How often the owner prolongs it.
    pub(crate) heartbeat: Duration,
    /// How often a waiting server checks.
    pub(crate) poll: Duration,
}

impl Default for LeaseTiming {
    fn default() -> Self {
        Self {
            life: Duration::from_secs(30),
            heartbeat: Duration::from_secs(5),
            poll: Duration::from_secs(1),
        }
    }
}

/// A lock, and the name of its owner.
#[derive(Debug, Clone)]
struct Lock {
    remote: Arc<Remote>,
    key: String,
    owner: String,
}

/// Released when it is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    lock: Lock,
    lost: Arc<AtomicBool>,
    heartbeat: JoinHandle<()>,
}

/// Waits until it has acquired the lock of this key.
pub(crate) async fn lease(
    remote: &Arc<Remote>,
    key: String,
    pace: LeaseTiming,
) -> io::Result<Lease> {
    let lock = Lock {
        remote: Arc::clone(remote),
        key,
        owner: unique(),
    };
    while !remote.take(&lock.key, &lock.owner, pace.life)? {
        tokio::time::sleep(pace.poll).await;
    }
    let lost = Arc::new(AtomicBool::new(false));
    let heartbeat = tokio::spawn(keep(lock.clone(), Arc::clone(&lost), pace));
    Ok(Lease {
        lock,
        lost,
        heartbeat,
    })
}

async fn keep(lock: Lock, lost: Arc<AtomicBool>, pace: LeaseTiming) {
    loop {
        tokio::time::sleep(pace.heartbeat).await;
        let kept = {
            let lock = lock.clone();
            let keep = move || lock.remote.keep(&lock.key, &lock.owner, pace.life);
            // An order continues while Redis takes its time.
            tokio::task::spawn_blocking(keep).await
        };
        match kept {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => {
                lost.store(true, Relaxed);
                return;
            }
            // The outage was reported; afterwards Redis shows the lock's owner.
            Ok(Err(error)) if is_unavailable(&error) => {}
            Ok(Err(error)) => {
                tracing::warn!(target: "howdah::tls", lock = lock.remote.url(&lock.key), %error, "a lock cannot be renewed");
            }
            // The runtime shuts down.
            Err(_) => return,
        }
    }
}

impl Lease {
    /// Whether another server took it, because this one could not reach Redis for so long.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Relaxed)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.heartbeat.abort();
        let lock = &self.lock;
        if let Err(error) = lock.remote.release(&lock.key, &lock.owner)
            && !is_unavailable(&error)
        {
            tracing::warn!(
                target: "howdah::tls",
                lock = lock.remote.url(&lock.key),
                %error,
                "a lock cannot be released; others wait until it expires",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use howdah_testkit::Redis as Server;

    use super::*;
    use crate::remote::config_of;

    /// What waits here ends by an event; the life is long enough for a busy machine.
    fn pace() -> LeaseTiming {
        LeaseTiming {
            life: Duration::from_secs(600),
            heartbeat: Duration::from_millis(10),
            poll: Duration::from_millis(1),
        }
    }

    fn remote(server: &Server) -> Arc<Remote> {
        Arc::new(Remote::new(&config_of(server)).expect("valid"))
    }

    async fn acquire(remote: &Arc<Remote>, pace: LeaseTiming) -> Lease {
        lease(remote, "locks/a".into(), pace).await.expect("taken")
    }

    #[tokio::test]
    async fn one_at_a_time() {
        let Some(server) = Server::start() else {
            return;
        };
        let (first, second) = (remote(&server), remote(&server));
        let held = acquire(&first, pace()).await;
        let waiting =
            tokio::spawn(async move { acquire(&second, pace()).await.lock.owner.clone() });
        // The other one checks many times while this one keeps it.
        for _ in 0..20 {
            tokio::time::sleep(pace().heartbeat).await;
        }
        assert!(!waiting.is_finished() && !held.is_lost());
        let owner = first.get("locks/a").expect("answered").expect("held");
        assert_eq!(owner, held.lock.owner.as_bytes());
        drop(held);
        let other = waiting.await.expect("no panic");
        assert_ne!(other.as_bytes(), owner);
        assert_eq!(
            first.get("locks/a").expect("answered"),
            None,
            "all gave it back"
        );
    }

    #[tokio::test]
    async fn a_dead_owner_does_not_hold_it_for_ever() {
        let Some(server) = Server::start() else {
            return;
        };
        let remote = remote(&server);
        let moment = Duration::from_millis(100);
        assert!(remote.take("locks/a", "dead", moment).expect("answered"));
        let held = acquire(&remote, pace()).await;
        assert!(!held.is_lost());
    }

    #[tokio::test]
    async fn an_owner_notices_a_lost_lock_and_does_not_touch_it() {
        let Some(server) = Server::start() else {
            return;
        };
        let remote = remote(&server);
        let held = acquire(&remote, pace()).await;
        remote.set("locks/a", b"other", None).expect("answered");
        while !held.is_lost() {
            // A heartbeat that had just checked may have written its name once more.
            remote.set("locks/a", b"other", None).expect("answered");
            tokio::task::yield_now().await;
        }
        drop(held);
        let owner = remote.get("locks/a").expect("answered");
        assert_eq!(owner.as_deref(), Some(&b"other"[..]));
    }

    #[tokio::test]
    async fn it_is_kept_over_a_restart_of_redis() {
        let Some(mut server) = Server::start() else {
            return;
        };
        let remote = remote(&server);
        let held = acquire(&remote, pace()).await;
        server.stop();
        while remote.get("locks/a").is_ok() {
            tokio::task::yield_now().await;
        }
        server.start_again();
        let owner = loop {
            match remote.get("locks/a") {
                Ok(owner) => break owner,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        assert_eq!(owner.as_deref(), Some(held.lock.owner.as_bytes()));
        assert!(!held.is_lost());
    }
}
