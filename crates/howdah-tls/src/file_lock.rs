//! A lock among servers that share a directory.
//!
//! A lock is a file with the name of its owner and a number that the owner increments every few seconds. If the number
//! does not change for a long time, a waiting server assumes that the owner has crashed. Clocks of different machines
//! are not compared.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::directory::{Directory, Readers};
use crate::storage::unique;

/// Times of the protocol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockTiming {
    /// How often the owner increments the number.
    pub(crate) heartbeat: Duration,
    /// How long it may stay the same.
    pub(crate) stale: Duration,
    /// How often a waiting server checks.
    pub(crate) poll: Duration,
}

impl Default for LockTiming {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(5),
            stale: Duration::from_secs(30),
            poll: Duration::from_secs(1),
        }
    }
}

/// Released when it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    storage: Directory,
    file: PathBuf,
    owner: String,
    lost: Arc<AtomicBool>,
    heartbeat: JoinHandle<()>,
}

/// Waits until it has acquired the lock of this file.
pub(crate) async fn lock(storage: &Directory, file: PathBuf, pace: LockTiming) -> io::Result<Lock> {
    let owner = unique();
    let mut seen: Option<(Vec<u8>, Instant)> = None;
    loop {
        if storage.create(&file, text(&owner, 0).as_bytes())? {
            return Ok(Lock::hold(storage, file, owner, pace));
        }
        let now = Instant::now();
        match (storage.read(&file)?, &seen) {
            // Released meanwhile.
            (None, _) => continue,
            (Some(content), Some((same, since))) if content == *same => {
                if now.duration_since(*since) >= pace.stale {
                    remove_stale(storage, &file, &content, &owner)?;
                    seen = None;
                    continue;
                }
            }
            (Some(content), _) => seen = Some((content, now)),
        }
        tokio::time::sleep(pace.poll).await;
    }
}

fn text(owner: &str, number: u64) -> String {
    format!("{owner} {number}\n")
}

/// Removes the file of an owner that is assumed to have crashed. Of several servers that do so at the same time, one
/// moves the file away; if another of them has already created a new one, that one is restored.
fn remove_stale(storage: &Directory, file: &PathBuf, dead: &[u8], own: &str) -> io::Result<()> {
    let mut aside = file.clone().into_os_string();
    aside.push(format!(".{own}"));
    let aside = PathBuf::from(aside);
    match howdah_monitor::fs::rename(&storage.path(file), &storage.path(&aside)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        result => result?,
    }
    let moved = storage.read(&aside)?;
    storage.remove(&aside)?;
    if let Some(moved) = moved
        && moved != dead
    {
        storage.create(file, &moved)?;
    }
    Ok(())
}

impl Lock {
    fn hold(storage: &Directory, file: PathBuf, owner: String, pace: LockTiming) -> Self {
        let lost = Arc::new(AtomicBool::new(false));
        let heartbeat = {
            let (storage, file) = (storage.clone(), file.clone());
            let (owner, lost) = (owner.clone(), Arc::clone(&lost));
            tokio::spawn(async move {
                let mut number = 0;
                loop {
                    tokio::time::sleep(pace.heartbeat).await;
                    number += 1;
                    match renew(&storage, &file, &owner, number) {
                        Ok(true) => {}
                        Ok(false) => {
                            lost.store(true, Relaxed);
                            return;
                        }
                        // The disk may be full or unavailable for a moment; others wait for a long
                        // time.
                        Err(error) => tracing::warn!(
                            file = %storage.path(&file).display(),
                            error = %crate::directory::reason(&error),
                            "a lock cannot be renewed",
                        ),
                    }
                }
            })
        };
        Self {
            storage: storage.clone(),
            file,
            owner,
            lost,
            heartbeat,
        }
    }

    /// Whether another server took it because this one was stopped for so long.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Relaxed)
    }
}

/// Returns whether the owner still has the lock.
fn renew(storage: &Directory, file: &PathBuf, owner: &str, number: u64) -> io::Result<bool> {
    if !is_owned_by(storage, file, owner)? {
        return Ok(false);
    }
    storage.write(file, text(owner, number).as_bytes(), Readers::Owner)?;
    Ok(true)
}

fn is_owned_by(storage: &Directory, file: &PathBuf, owner: &str) -> io::Result<bool> {
    let content = storage.read(file)?.unwrap_or_default();
    Ok(content.starts_with(owner.as_bytes()))
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.heartbeat.abort();
        let removed = match is_owned_by(&self.storage, &self.file, &self.owner) {
            Ok(true) => self.storage.remove(&self.file),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            tracing::warn!(
                file = %self.storage.path(&self.file).display(),
                error = %crate::directory::reason(&error),
                "a lock cannot be released; others wait until it is stale",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times are not critical: what waits here ends by an event, never by such a time alone.
    fn pace() -> LockTiming {
        LockTiming {
            heartbeat: Duration::from_millis(10),
            stale: Duration::from_secs(600),
            poll: Duration::from_millis(1),
        }
    }

    fn storage() -> (tempfile::TempDir, Directory) {
        let directory = tempfile::tempdir().expect("a directory");
        let storage = Directory::new(directory.path().to_owned());
        (directory, storage)
    }

    #[tokio::test]
    async fn one_at_a_time() {
        let (_directory, storage) = storage();
        let first = lock(&storage, "locks/a.lock".into(), pace())
            .await
            .expect("taken");
        let other = lock(&storage, "locks/b.lock".into(), pace())
            .await
            .expect("another name");
        let waiting = {
            let storage = storage.clone();
            tokio::spawn(async move {
                lock(&storage, "locks/a.lock".into(), pace())
                    .await
                    .map(|lock| lock.owner.clone())
            })
        };
        let content = || {
            storage
                .read("locks/a.lock")
                .expect("readable")
                .expect("held")
        };
        // The owner increments the number while the other one waits.
        let begin = content();
        while content() == begin {
            tokio::task::yield_now().await;
        }
        assert!(content().starts_with(first.owner.as_bytes()));
        assert!(!waiting.is_finished() && !first.is_lost());
        drop(first);
        let second = waiting.await.expect("no panic").expect("taken");
        assert!(!second.is_empty());
        drop(other);
        let left = std::fs::read_dir(storage.path("locks")).expect("it is there");
        assert_eq!(left.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_owner_does_not_hold_it_for_ever() {
        let (_directory, storage) = storage();
        storage
            .write("locks/a.lock", b"dead 7\n", Readers::Owner)
            .expect("written");
        let start = Instant::now();
        let taken = lock(&storage, "locks/a.lock".into(), LockTiming::default())
            .await
            .expect("taken");
        let waited = start.elapsed();
        assert!(waited >= LockTiming::default().stale, "{waited:?}");
        assert!(waited < LockTiming::default().stale * 2, "{waited:?}");
        drop(taken);
    }

    #[tokio::test]
    async fn only_the_dead_one_is_taken_away() {
        let (_directory, storage) = storage();
        let file = PathBuf::from("locks/a.lock");
        storage
            .write(&file, b"alive 3\n", Readers::Owner)
            .expect("written");
        remove_stale(&storage, &file, b"dead 7\n", "me").expect("put back");
        let content = storage.read(&file).expect("readable");
        assert_eq!(content.as_deref(), Some(&b"alive 3\n"[..]));
        remove_stale(&storage, &file, b"alive 3\n", "me").expect("taken away");
        assert_eq!(storage.read(&file).expect("readable"), None);
    }

    #[tokio::test]
    async fn an_owner_learns_that_it_lost_it() {
        let (_directory, storage) = storage();
        let own = lock(&storage, "locks/a.lock".into(), pace())
            .await
            .expect("taken");
        storage
            .write("locks/a.lock", b"other 0\n", Readers::Owner)
            .expect("written");
        while !own.is_lost() {
            // A heartbeat that had just checked may have written its number once more.
            storage
                .write("locks/a.lock", b"other 0\n", Readers::Owner)
                .expect("written");
            tokio::task::yield_now().await;
        }
        drop(own);
        assert!(storage.read("locks/a.lock").expect("readable").is_some());
    }
}
