//! Renews certificates while the server runs.

mod on_demand;

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use howdah_config::model::CertificateFiles;
use rustls::crypto::CryptoProvider;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::acme::Subject;
use crate::authority::Authority;
use crate::certificate::{Certificate, date};
use crate::failures::Failures;
use crate::schedule;
use crate::storage::jitter;
use crate::tls::{Kind, ManagedCertificate, OnDemandIssuer, Tls, load_files};

/// Names that are requested from an authority at the same time.
const ORDERS: usize = 8;
/// Maximum time between checks of the clock: this machine may have been suspended.
const LOOK: Duration = Duration::from_secs(60);
/// Interval between checks of certificate files, which may be replaced at any time.
const LOOK_AT_FILES: Duration = Duration::from_secs(5);
/// Interval between requests for renewal information, if the authority sends none.
const ADVICE: Duration = Duration::from_secs(6 * 3600);
/// Longest time that an authority may postpone the next request.
const ADVICE_LATEST: Duration = Duration::from_secs(86_400);
/// Latest first request after the start.
const FIRST_ADVICE: Duration = Duration::from_secs(3600);

/// A certificate with the time of its next check.
struct Job {
    managed: ManagedCertificate,
    next: SystemTime,
    /// The state of the served files, and of those that were refused since.
    stamp: Stamp,
    refused: Option<Stamp>,
    /// The authority's last suggestion of ACME renewal information, and the time of the next request.
    advised: Option<SystemTime>,
    advice_at: SystemTime,
    /// Consecutive failures of the storage.
    away: u32,
    /// The authority has revoked it, so another is due.
    revoked: bool,
    /// The wait was reported.
    is_reported: bool,
}

/// Modification times and sizes of files.
type Stamp = [Option<(SystemTime, u64)>; 2];

impl Tls {
    /// Obtains missing certificates and renews the others and their OCSP responses, until it is dropped. Meanwhile the
    /// old ones are served. Must be called once.
    pub async fn maintain(&self) {
        let managed =
            std::mem::take(&mut *self.managed.lock().unwrap_or_else(PoisonError::into_inner));
        let slots = managed.iter().map(|managed| Arc::clone(&managed.slot));
        let slots: Vec<_> = slots.collect();
        // The queue of names that clients request.
        let on_demand = self
            .on_demand
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let renewer = Arc::new(Renewer::new(
            self,
            &managed,
            on_demand.as_ref().map(|(on_demand, _)| on_demand),
        ));
        let on_demand = async {
            if let Some((on_demand, pending)) = on_demand {
                Arc::clone(&renewer).serve(on_demand, pending).await;
            }
        };
        let stapled = async {
            if let Some(stapler) = &self.stapler {
                Arc::clone(stapler).keep(slots).await;
            }
        };
        // An authority may take minutes for a certificate, a responder seconds.
        tokio::join!(Arc::clone(&renewer).renew(managed), on_demand, stapled);
    }
}

/// What the tasks share.
struct Renewer {
    provider: Arc<CryptoProvider>,
    authority: Option<Authority>,
    /// By the authority's directory: an authority that does not respond does not delay others.
    orders: HashMap<String, Semaphore>,
    /// When the server was started or its configuration loaded.
    since: SystemTime,
}

impl Renewer {
    fn new(tls: &Tls, managed: &[ManagedCertificate], on_demand: Option<&OnDemandIssuer>) -> Self {
        let urls = managed.iter().filter_map(|managed| match &managed.kind {
            Kind::Acme(subject) => Some(subject.url().to_owned()),
            Kind::Files(_) | Kind::Internal { .. } => None,
        });
        let on_demand = on_demand
            .into_iter()
            .flat_map(|on_demand| on_demand.authorities.clone());
        let turns = |url| (url, Semaphore::new(ORDERS));
        Self {
            provider: Arc::clone(&tls.provider),
            authority: tls.authority.clone(),
            orders: urls.chain(on_demand).map(turns).collect(),
            since: SystemTime::now(),
        }
    }

    /// Runs a task for each certificate: one that waits for its authority does not delay others.
    /// Never ends.
    async fn renew(self: Arc<Self>, managed: Vec<ManagedCertificate>) {
        let mut tasks = JoinSet::new();
        for managed in managed {
            let own = Arc::clone(&self);
            tasks.spawn(async move { own.maintain_one(Job::new(managed)).await });
        }
        // They never end by themselves.
        while tasks.join_next().await.is_some() {}
        std::future::pending::<()>().await;
    }

    async fn maintain_one(&self, mut job: Job) -> Infallible {
        job.warn_expired();
        loop {
            job.apply_clock_change(SystemTime::now());
            job.apply_revocation();
            if job.next <= SystemTime::now() {
                self.turn(&mut job).await;
            }
            let left = job.next.duration_since(SystemTime::now());
            tokio::time::sleep(left.unwrap_or_default().min(LOOK)).await;
        }
    }

    async fn turn(&self, job: &mut Job) {
        match &job.managed.kind {
            Kind::Files(files) => {
                let files = files.clone();
                self.check_files(job, &files);
            }
            Kind::Internal { host, lifetime } => {
                let (host, lifetime) = (host.clone(), *lifetime);
                self.renew_internal(job, &host, lifetime);
            }
            Kind::Acme(subject) => {
                let subject = subject.clone();
                let _turn = match self.orders.get(subject.url()) {
                    Some(orders) => orders.acquire().await.ok(),
                    None => None,
                };
                renew_acme(job, &subject, self.since).await;
            }
        }
    }

    fn check_files(&self, job: &mut Job, files: &CertificateFiles) {
        job.next = SystemTime::now() + LOOK_AT_FILES;
        let stamp = stamps(files);
        if stamp == job.stamp {
            job.refused = None;
            return;
        }
        let file = files.certificate.display();
        match load_files(files, &self.provider) {
            Ok(certificate) => {
                let until = date(certificate.not_after);
                (job.stamp, job.refused) = (stamp, None);
                job.put(certificate);
                tracing::info!(target: "howdah::tls", %file, until, "certificate read again");
            }
            // They may become valid without a change: their time comes, or this user gets access.
            Err(error) => {
                if job.refused.replace(stamp) != Some(stamp) {
                    tracing::warn!(target: "howdah::tls", %error, "the changed certificate is invalid; the previous \
                        one stays in use, and the files are checked again");
                }
            }
        }
    }

    fn renew_internal(&self, job: &mut Job, host: &str, lifetime: Duration) {
        let Some(authority) = &self.authority else {
            return;
        };
        match authority.issue(host, lifetime) {
            Ok(certificate) => {
                job.away = 0;
                job.next = renewal(Some(&certificate));
                tracing::debug!(target: "howdah::tls", host, until = date(certificate.not_after), "certificate renewed by the internal authority");
                job.put(certificate);
            }
            // Reported elsewhere.
            Err(error) if error.is_storage_away() => job.wait_for_storage(),
            Err(error) => {
                job.next = SystemTime::now() + LOOK;
                tracing::warn!(target: "howdah::tls", host, %error, "a certificate was not renewed");
            }
        }
    }
}

async fn renew_acme(job: &mut Job, subject: &Subject, since: SystemTime) {
    let now = SystemTime::now();
    let before = subject.failures();
    let free_at = before.free_at(since);
    if free_at > now {
        job.log_postponed(subject, &before, free_at);
        job.next = free_at.min(now + LOOK);
        return;
    }
    let failures = before.count;
    if let Some(current) = job.managed.current.clone() {
        if job.advice_at <= now {
            apply_renewal_info(job, subject, &current).await;
        }
        let due = job.due(&current);
        if due > SystemTime::now() {
            job.next = due.min(job.advice_at);
            return;
        }
    }
    let host = subject.host.as_str();
    let replaced = job.managed.current.clone();
    let is_new = |kept: &Certificate| {
        renewal(Some(kept)) > now
            && replaced
                .as_ref()
                .is_none_or(|old| old.key.cert != kept.key.cert)
    };
    match subject.obtain(failures, replaced.as_ref(), is_new).await {
        Ok((certificate, issued)) => {
            let (until, authority) = (date(certificate.not_after), subject.url());
            // Before it is reported: who reads the line may connect at once.
            install(job, subject, certificate, failures);
            if issued {
                tracing::info!(target: "howdah::tls", host, authority, until, "certificate obtained");
            } else {
                tracing::info!(target: "howdah::tls", host, authority, until, "certificate taken from the storage");
            }
        }
        // Reported elsewhere; no authority has refused anything.
        Err(error) if error.is_storage_away() => job.wait_for_storage(),
        Err(error) => {
            job.away = 0;
            let next = postpone(job, subject, failures, error.wait(), error.to_string());
            tracing::warn!(
                target: "howdah::tls",
                host,
                authority = subject.url(),
                %error,
                failures = failures.saturating_add(1),
                next = date(next),
                "no certificate was obtained",
            );
        }
    }
}

/// Serves a new certificate, and schedules its renewal. `failures`: before it was obtained.
fn install(job: &mut Job, subject: &Subject, certificate: Certificate, failures: u32) {
    let now = SystemTime::now();
    let renewal = renewal(Some(&certificate));
    job.away = 0;
    job.is_reported = false;
    job.advised = None;
    job.advice_at = now + ADVICE;
    job.next = renewal.min(job.advice_at);
    job.put(certificate);
    if renewal <= now {
        // One of the clocks is wrong. Requesting another would continue forever. A restart does not
        // change that, since this is the authority's own wait.
        let reason = "the new certificate was to be renewed already".to_owned();
        let next = postpone(job, subject, failures, Some(Duration::ZERO), reason);
        tracing::warn!(
            target: "howdah::tls",
            host = subject.host.as_str(),
            next = date(next),
            "the new certificate is already due for renewal: check this machine's clock",
        );
    } else if failures > 0 {
        subject.set_failures(None);
    }
}

/// Counts another failure; returns the time of the next attempt. `min_wait`: the authority's
/// `Retry-After`.
fn postpone(
    job: &mut Job,
    subject: &Subject,
    failures: u32,
    min_wait: Option<Duration>,
    reason: String,
) -> SystemTime {
    let count = failures.saturating_add(1);
    let at = SystemTime::now();
    job.next = at + schedule::retry_after(count, min_wait, jitter());
    job.is_reported = true;
    subject.set_failures(Some(&Failures {
        count,
        until: job.next,
        at,
        limited: min_wait.is_some(),
        reason,
    }));
    job.next
}

/// Requests the authority's renewal information: the renewal is due earlier if certificates will be revoked.
async fn apply_renewal_info(job: &mut Job, subject: &Subject, current: &Certificate) {
    let advice = subject.advice(current).await;
    let now = SystemTime::now();
    let Some(advice) = advice else {
        job.advice_at = now + ADVICE;
        return;
    };
    let ask_again = advice.ask_again.clamp(LOOK, ADVICE_LATEST);
    job.advice_at = now + ask_again;
    let width = advice.end.duration_since(advice.start).unwrap_or_default();
    // Once chosen, the time stays unless the window moves away from it.
    let keeps = job
        .advised
        .is_some_and(|chosen| (advice.start..=advice.end).contains(&chosen));
    if !keeps {
        job.advised = Some(advice.start + width.mul_f64(jitter()));
    }
}

impl Job {
    fn new(managed: ManagedCertificate) -> Self {
        let now = SystemTime::now();
        // A server with many names, or one that is restarted often, does not send all requests at
        // the same time.
        let advice_at = now + FIRST_ADVICE.mul_f64(jitter());
        let mut stamp = Stamp::default();
        let next = match &managed.kind {
            Kind::Files(files) => {
                stamp = stamps(files);
                now + LOOK_AT_FILES
            }
            Kind::Internal { .. } => renewal(managed.current.as_ref()),
            Kind::Acme(_) => match &managed.current {
                Some(current) => renewal(Some(current)).min(advice_at),
                None => renewal(None),
            },
        };
        Self {
            managed,
            next,
            stamp,
            refused: None,
            advised: None,
            advice_at,
            away: 0,
            revoked: false,
            is_reported: false,
        }
    }

    /// A check that is scheduled later than any wait allows was scheduled by a clock that was wrong: it is due
    /// immediately.
    fn apply_clock_change(&mut self, now: SystemTime) {
        self.advice_at = self.advice_at.min(now + ADVICE_LATEST);
        let longest = match &self.managed.kind {
            Kind::Files(_) => LOOK_AT_FILES,
            // After its whole life it would not even be valid yet.
            Kind::Internal { lifetime, .. } => *lifetime + 2 * LOOK,
            Kind::Acme(_) if self.managed.current.is_none() => schedule::longest_retry(),
            Kind::Acme(_) => ADVICE_LATEST,
        };
        if self.next > now + longest {
            self.next = now;
        }
    }

    fn apply_revocation(&mut self) {
        if self.managed.slot.take_revocation() {
            self.revoked = true;
            self.next = SystemTime::now();
        }
    }

    /// Called before the first check.
    fn warn_expired(&self) {
        if let (Kind::Acme(subject), Some(current)) = (&self.managed.kind, &self.managed.current)
            && current.not_after < SystemTime::now()
        {
            tracing::warn!(
                target: "howdah::tls",
                host = subject.host,
                until = date(current.not_after),
                "the stored certificate has expired, and is served until it is renewed",
            );
        }
    }

    /// Logged once: an earlier run of the server may have logged the failure.
    fn log_postponed(&mut self, subject: &Subject, failures: &Failures, next: SystemTime) {
        if !std::mem::replace(&mut self.is_reported, true) {
            tracing::warn!(
                target: "howdah::tls",
                host = subject.host,
                authority = subject.url(),
                failures = failures.count,
                error = failures.reason,
                next = date(next),
                file = %subject.failures_path().display(),
                "the next certificate request is at `next`, because the last one failed; to request one now, remove \
                `file` and reload",
            );
        }
    }

    fn wait_for_storage(&mut self) {
        self.away = self.away.saturating_add(1);
        self.next = SystemTime::now() + schedule::storage_retry(self.away, jitter());
    }

    fn put(&mut self, certificate: Certificate) {
        self.managed.slot.set(&certificate);
        self.managed.current = Some(certificate);
        self.revoked = false;
    }

    /// When to renew: immediately if it is revoked, otherwise as the authority suggested, but never too late.
    fn due(&self, current: &Certificate) -> SystemTime {
        if self.revoked {
            return SystemTime::UNIX_EPOCH;
        }
        let life = current
            .not_after
            .duration_since(current.not_before)
            .unwrap_or_default();
        let latest = current.not_after.checked_sub(life / 6);
        match (self.advised, latest) {
            (Some(advised), Some(latest)) => advised.min(latest),
            _ => renewal(Some(current)),
        }
    }
}

/// When a certificate is renewed; a missing one immediately.
fn renewal(certificate: Option<&Certificate>) -> SystemTime {
    certificate.map_or(SystemTime::UNIX_EPOCH, |own| {
        schedule::renew_at(own.not_before, own.not_after)
    })
}

fn stamps(files: &CertificateFiles) -> Stamp {
    let stamp = |file: &Path| {
        let metadata = howdah_monitor::fs::open(file).ok()?.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    [stamp(&files.certificate), stamp(&files.key)]
}

#[cfg(test)]
mod tests;
