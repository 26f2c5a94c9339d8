//! A storage in Redis, with copies of the data that a server needs for its start in a directory of
//! this machine.
//!
//! Redis is authoritative. The copies are only read while it does not respond: a certificate that was replaced or
//! removed in Redis does not come back from a copy.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::directory::{Directory, Readers};
use crate::remote::{Remote, is_unavailable};

/// How long a proof is stored at most; that of a crashed server expires.
const PROOF: Duration = Duration::from_secs(3600);
/// Maximum number of concurrent lookups of proofs for clients. Others wait: each needs a thread, and anybody can cause
/// one.
const LOOKUPS: usize = 8;

#[derive(Debug)]
pub(crate) struct RedisStorage {
    remote: Arc<Remote>,
    copies: Option<Directory>,
    /// It was reported that copies cannot be written.
    warned: AtomicBool,
    lookups: Semaphore,
}

impl RedisStorage {
    pub(crate) fn new(remote: Remote, copies: Option<PathBuf>) -> Self {
        Self {
            remote: Arc::new(remote),
            copies: copies.map(Directory::new),
            warned: AtomicBool::new(false),
            lookups: Semaphore::new(LOOKUPS),
        }
    }

    pub(crate) fn remote(&self) -> &Arc<Remote> {
        &self.remote
    }

    /// The path for messages.
    pub(crate) fn path(&self, relative: &Path) -> PathBuf {
        self.remote.url(&key(relative)).into()
    }

    pub(crate) fn read(&self, relative: &Path) -> io::Result<Option<Vec<u8>>> {
        let copies = self.copies_of(relative);
        match self.remote.get(&key(relative)) {
            Ok(Some(bytes)) => {
                self.copy(relative, &bytes);
                Ok(Some(bytes))
            }
            Err(error) if is_unavailable(&error) => {
                match copies.map(|copies| copies.read(relative)) {
                    Some(Ok(Some(copy))) => Ok(Some(copy)),
                    _ => Err(error),
                }
            }
            answer => answer,
        }
    }

    /// Stores a value. It is copied even if Redis did not accept it, so that this machine has it.
    pub(crate) fn write(&self, relative: &Path, bytes: &[u8]) -> io::Result<()> {
        let written = self.remote.set(&key(relative), bytes, None);
        self.copy(relative, bytes);
        written
    }

    pub(crate) fn create(&self, relative: &Path, bytes: &[u8]) -> io::Result<bool> {
        self.remote.set_new(&key(relative), bytes)
    }

    pub(crate) fn remove(&self, relative: &Path) -> io::Result<()> {
        self.remote.delete(&key(relative))?;
        match self.copies_of(relative) {
            Some(copies) => copies.remove(relative),
            None => Ok(()),
        }
    }

    /// Stores a value that is needed for minutes.
    pub(crate) fn show(&self, relative: &Path, bytes: &[u8]) -> io::Result<()> {
        self.remote.set(&key(relative), bytes, Some(PROOF))
    }

    /// Looks up a value of [`show`](Self::show) for a client. `None` also if the lookup fails.
    pub(crate) async fn read_for_client(self: &Arc<Self>, relative: PathBuf) -> Option<Vec<u8>> {
        let _turn = self.lookups.acquire().await.ok()?;
        let own = Arc::clone(self);
        let look = move || own.remote.get(&key(&relative)).ok().flatten();
        tokio::task::spawn_blocking(look).await.ok().flatten()
    }

    /// Certificates, authorities and accounts; not proofs, nor times of next requests.
    fn copies_of(&self, relative: &Path) -> Option<&Directory> {
        let kept = ["acme", "authority", "certificates"];
        let kept = kept.iter().any(|folder| relative.starts_with(folder));
        let failed = relative.extension().is_some_and(|end| end == "failed");
        self.copies.as_ref().filter(|_| kept && !failed)
    }

    fn copy(&self, relative: &Path, bytes: &[u8]) {
        let Some(copies) = self.copies_of(relative) else {
            return;
        };
        let same = copies
            .read(relative)
            .is_ok_and(|copy| copy.is_some_and(|copy| copy == bytes));
        if same {
            return;
        }
        let is_public = relative.extension().is_some_and(|end| end == "crt")
            && relative.starts_with("authority");
        let readers = if is_public {
            Readers::All
        } else {
            Readers::Owner
        };
        if let Err(error) = copies.write(relative, bytes, readers)
            && !self.warned.swap(true, Relaxed)
        {
            tracing::warn!(
                target: "howdah::tls",
                file = %copies.path(relative).display(),
                error = %crate::directory::reason(&error),
                "certificates cannot be copied to this machine, so a start while Redis is unavailable has none: set \
                a directory with `root` in `storage redis`",
            );
        }
    }
}

fn key(relative: &Path) -> String {
    relative.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use howdah_testkit::Redis as Server;

    use super::*;
    use crate::remote::config_of;

    #[test]
    fn copies_are_read_while_redis_is_away_and_only_then() {
        let Some(mut server) = Server::start() else {
            return;
        };
        let directory = tempfile::tempdir().expect("a directory");
        let config = config_of(&server);
        let shared = || {
            let remote = Remote::new(&config).expect("valid");
            RedisStorage::new(remote, Some(directory.path().to_owned()))
        };
        let (first, second) = (shared(), shared());
        let certificate = Path::new("certificates/issuer/a.test/a.test.key");
        let failed = Path::new("acme/server/a.test.failed");
        let proof = Path::new("challenges/http/token");
        first.write(certificate, b"one").expect("written");
        first.write(failed, b"1 2").expect("written");
        first.show(proof, b"proof").expect("shown");
        let copy = directory.path().join(certificate);
        assert_eq!(std::fs::read(&copy).expect("copied"), b"one");
        let copied = std::fs::read_dir(directory.path()).expect("it is there");
        assert_eq!(copied.count(), 1, "no proof");
        // Another machine replaces it.
        std::fs::write(&copy, "old").expect("written");
        let read = second.read(certificate).expect("answered");
        assert_eq!(read.as_deref(), Some(&b"one"[..]));
        assert_eq!(std::fs::read(&copy).expect("copied"), b"one");
        // Removed manually in Redis.
        first.write(Path::new("acme/x.pem"), b"x").expect("written");
        first.remote.delete("acme/x.pem").expect("answered");
        assert_eq!(first.read(Path::new("acme/x.pem")).expect("answered"), None);

        server.stop();
        for storage in [&first, &second, &shared()] {
            let read = storage.read(certificate).expect("the copy");
            assert_eq!(read.as_deref(), Some(&b"one"[..]));
            assert!(is_unavailable(
                &storage.read(failed).expect_err("not copied")
            ));
        }
        assert!(is_unavailable(
            &first.write(certificate, b"two").expect_err("away")
        ));
        assert_eq!(std::fs::read(&copy).expect("copied"), b"two");
    }

    #[tokio::test]
    async fn proofs_are_found_on_every_machine_until_they_are_removed() {
        let Some(server) = Server::start() else {
            return;
        };
        let shared = || {
            let remote = Remote::new(&config_of(&server)).expect("valid");
            Arc::new(RedisStorage::new(remote, None))
        };
        let (first, second) = (shared(), shared());
        let proof = Path::new("challenges/http/token");
        assert_eq!(second.read_for_client(proof.to_owned()).await, None);
        first.show(proof, b"proof").expect("shown");
        let found = second.read_for_client(proof.to_owned()).await;
        assert_eq!(found.as_deref(), Some(&b"proof"[..]));
        first.remove(proof).expect("removed");
        assert_eq!(second.read_for_client(proof.to_owned()).await, None);
    }
}
