//! OCSP stapling: handshakes include the authority's statement that a certificate is not revoked, so that clients need
//! not request it.
//!
//! Each certificate has a task. It queries the responder that the certificate names, puts the verified response in the
//! slot, and queries again after half of the response's life. A response is served until it expires, also from the
//! storage after a start, so that a responder may be unavailable for days.

mod fetch;
mod request;
mod response;

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::certificate::date;
use crate::schedule;
use crate::slot::Slot;
use crate::storage::{Storage, file_name, jitter};
use fetch::FetchError;
use request::{OcspQuery, OcspQueryError};
use response::{Answer, ResponseError, Verdict};

/// Concurrent requests to responders.
const QUESTIONS: usize = 8;
/// Maximum time between checks of the clock: this machine may have been suspended.
const LOOK: Duration = Duration::from_secs(60);

/// Why there is no response to staple.
#[derive(Debug, thiserror::Error)]
enum OcspError {
    #[error(transparent)]
    OcspQuery(#[from] OcspQueryError),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Response(#[from] ResponseError),
}

/// Staples OCSP responses.
#[derive(Debug)]
pub(crate) struct Stapler {
    /// Where responses are stored, if anywhere.
    storage: Option<Storage>,
    provider: Arc<CryptoProvider>,
    questions: Semaphore,
}

impl Stapler {
    pub(crate) fn new(storage: Option<Storage>, provider: Arc<CryptoProvider>) -> Self {
        Self {
            storage,
            provider,
            questions: Semaphore::new(QUESTIONS),
        }
    }

    /// Staples the stored response.
    pub(crate) fn restore(&self, slot: &Slot) {
        let Some(key) = slot.get() else { return };
        let question = OcspQuery::about(&key.cert).ok().flatten();
        if let Some(question) = question
            && let Some(kept) = self.cached(&question)
        {
            slot.staple(&key, Some(&kept.der));
        }
    }

    /// Keeps the responses of all slots fresh, until it is dropped.
    pub(crate) async fn keep(self: Arc<Self>, slots: Vec<Arc<Slot>>) {
        let mut tasks = JoinSet::new();
        for slot in slots {
            let own = Arc::clone(&self);
            tasks.spawn(async move { own.maintain_one(&slot).await });
        }
        // They never end by themselves.
        while tasks.join_next().await.is_some() {}
        std::future::pending::<()>().await;
    }

    async fn maintain_one(&self, slot: &Slot) -> Infallible {
        loop {
            let changed = slot.changed();
            let key = slot.get();
            let question = key.as_ref().map(|key| OcspQuery::about(&key.cert));
            match (key, question) {
                (Some(key), Some(Ok(Some(question)))) => {
                    tokio::select! {
                        biased;
                        () = changed => {}
                        _ = self.refresh(slot, &key, &question) => {}
                    }
                }
                (_, Some(Err(error))) => {
                    tracing::info!(target: "howdah::tls", %error, "no OCSP response is stapled");
                    changed.await;
                }
                _ => changed.await,
            }
        }
    }

    /// Runs as long as the certificate is the same.
    async fn refresh(
        &self,
        slot: &Slot,
        key: &Arc<CertifiedKey>,
        question: &OcspQuery,
    ) -> Infallible {
        let name = question.name.as_str();
        // The storage may be unavailable, and the certificate may have been in use before this
        // configuration.
        let stapled = || key.ocsp.clone().and_then(|der| self.accept(der, question));
        let mut current = self.cached(question).or_else(stapled);
        let mut next = SystemTime::now();
        let mut failures = 0;
        if let Some(kept) = &current {
            next = refresh_at(kept, next);
            slot.staple(key, Some(&kept.der));
        }
        loop {
            if let Some(over) = &current
                && over.until <= SystemTime::now()
            {
                current = None;
                slot.staple(key, None);
                tracing::warn!(target: "howdah::tls", name, "the OCSP response has expired, and none is stapled now");
            }
            if next <= SystemTime::now() {
                let answer = self.fetch(question, current.as_ref()).await;
                let now = SystemTime::now();
                match answer {
                    Ok(answer) => {
                        failures = 0;
                        next = refresh_at(&answer, now);
                        current = self.take(slot, key, question, answer);
                    }
                    Err(error) => {
                        failures += 1;
                        next = now + schedule::ocsp_retry(failures, jitter());
                        let next = date(next);
                        if failures == 1 {
                            tracing::warn!(target: "howdah::tls", name, responder = %question.responder, %error, next, "no OCSP response was obtained");
                        } else {
                            tracing::debug!(target: "howdah::tls", name, responder = %question.responder, %error, next, failures, "no OCSP response was obtained");
                        }
                    }
                }
            }
            let wake = current.as_ref().map_or(next, |it| next.min(it.until));
            let wait = wake.duration_since(SystemTime::now()).unwrap_or_default();
            tokio::time::sleep(wait.min(LOOK)).await;
        }
    }

    /// A newer response: one that another server has stored, or the responder's.
    async fn fetch(
        &self,
        question: &OcspQuery,
        current: Option<&Answer>,
    ) -> Result<Answer, OcspError> {
        if let Some(kept) = self.cached(question)
            && current.is_none_or(|current| kept.from > current.from)
        {
            return Ok(kept);
        }
        let permit = self.questions.acquire().await;
        let der = fetch::post(&question.responder, question.der()?).await?;
        drop(permit);
        self.check(der, question)
    }

    /// Staples a good response, and returns it.
    fn take(
        &self,
        slot: &Slot,
        key: &Arc<CertifiedKey>,
        question: &OcspQuery,
        answer: Answer,
    ) -> Option<Answer> {
        let name = question.name.as_str();
        match answer.verdict {
            Verdict::Good => {
                self.store(question, Some(&answer.der));
                slot.staple(key, Some(&answer.der));
                tracing::info!(target: "howdah::tls", name, until = date(answer.until), "OCSP response stapled");
                Some(answer)
            }
            Verdict::Revoked { on, reason } => {
                self.store(question, None);
                slot.staple(key, None);
                slot.revoke();
                tracing::error!(
                    target: "howdah::tls",
                    name,
                    on = date(on),
                    reason = reason.map(|reason| format!("{reason:?}")),
                    "the certificate is revoked, and clients that check this reject it: replace it if it is a file; \
                    a certificate by ACME is renewed automatically",
                );
                None
            }
        }
    }

    fn check(&self, der: Vec<u8>, question: &OcspQuery) -> Result<Answer, OcspError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        Ok(Answer::check(der, question, algorithms, SystemTime::now())?)
    }

    /// An earlier good response that is still valid.
    fn cached(&self, question: &OcspQuery) -> Option<Answer> {
        let der = self.storage.as_ref()?.read(file(question)).ok()??;
        self.accept(der, question)
    }

    fn accept(&self, der: Vec<u8>, question: &OcspQuery) -> Option<Answer> {
        let answer = self.check(der, question).ok()?;
        (answer.verdict == Verdict::Good).then_some(answer)
    }

    fn store(&self, question: &OcspQuery, der: Option<&[u8]>) {
        let Some(storage) = &self.storage else { return };
        let file = file(question);
        let kept = match der {
            Some(der) => storage.read(&file).ok().flatten().as_deref() == Some(der),
            None => false,
        };
        if kept {
            return;
        }
        let stored = match der {
            Some(der) => storage.write(&file, der),
            None => storage.remove(&file),
        };
        if let Err(error) = stored {
            let file = storage.path(&file);
            tracing::debug!(target: "howdah::tls", file = %file.display(), error = %crate::directory::reason(&error), "the \
                OCSP response cannot be stored for the next start");
        }
    }
}

fn file(question: &OcspQuery) -> PathBuf {
    PathBuf::from("ocsp").join(format!("{}.der", file_name(&question.name)))
}

fn refresh_at(answer: &Answer, now: SystemTime) -> SystemTime {
    schedule::ocsp_refresh(answer.from, answer.until, now, jitter())
}

#[cfg(test)]
mod tests;
