//! Which checks are due, and when.

use howdah_config::model::{Acme, Address, Config, Issuer, Site};

use super::*;
use crate::slot::Slot;

const HOUR: Duration = Duration::from_secs(3600);

fn site(host: &str, issuer: Option<Issuer>) -> Site {
    let mut site = Site::default();
    site.addresses.push(Address {
        host: Some(host.into()),
        port: 0,
        tls: true,
    });
    site.tls.issuer = issuer;
    site
}

fn of_sites(directory: &tempfile::TempDir, sites: Vec<Site>) -> Tls {
    let mut config = Config {
        sites,
        ..Config::default()
    };
    config.global.https.storage = Some(directory.path().to_owned());
    // It would wait for other certificates, as tests do.
    config.global.https.ocsp_stapling = false;
    Tls::new(&config).expect("valid").expect("it has HTTPS")
}

fn tls(directory: &tempfile::TempDir, lifetime: Duration) -> Tls {
    let issuer = Issuer::Internal { lifetime };
    of_sites(directory, vec![site("localhost", Some(issuer))])
}

fn acme(host: &str, directory: String) -> Site {
    let acme = Acme {
        directory: Some(directory),
        ..Acme::default()
    };
    site(host, Some(Issuer::Acme(acme)))
}

fn managed(tls: &Tls, index: usize) -> ManagedCertificate {
    tls.managed.lock().expect("not poisoned").remove(index)
}

/// A certificate and its key.
fn pair(host: &str) -> (String, String) {
    let made = rcgen::generate_simple_self_signed([host.to_owned()]).expect("made");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// Writes a file with a modification time of so many seconds after 1970.
fn write(file: &Path, text: &str, at: u64) {
    std::fs::write(file, text).expect("written");
    let file = std::fs::File::options().write(true).open(file);
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(at);
    file.and_then(|file| file.set_modified(at)).expect("set");
}

/// A site with a pair of files of the directory.
fn with_files(directory: &tempfile::TempDir, host: &str) -> (Site, CertificateFiles) {
    let files = CertificateFiles {
        certificate: directory.path().join("a.crt"),
        key: directory.path().join("a.key"),
    };
    let (certificate, key) = pair(host);
    write(&files.certificate, &certificate, 1000);
    write(&files.key, &key, 1000);
    let mut site = site(host, None);
    site.tls.files = Some(files.clone());
    (site, files)
}

#[test]
fn files_that_were_refused_are_looked_at_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let (site, files) = with_files(&directory, "a.test");
    let tls = of_sites(&directory, vec![site]);
    let renewer = Renewer::new(&tls, &[], None);
    let mut job = Job::new(managed(&tls, 0));
    let slot = Arc::clone(&job.managed.slot);
    let served = || slot.get().expect("there is one").cert[0].clone();
    let before = served();
    let (certificate, key) = pair("a.test");
    write(&files.certificate, &certificate, 2000);
    write(&files.key, &pair("a.test").1, 2000);
    let stamp = stamps(&files);
    for _ in 0..2 {
        renewer.check_files(&mut job, &files);
        assert_eq!(served(), before);
        assert_eq!(job.refused, Some(stamp), "reported");
    }
    // As for a key that this user may now read, or a clock that is now right: nothing else has
    // changed.
    write(&files.key, &key, 2000);
    assert_eq!(stamps(&files), stamp);
    renewer.check_files(&mut job, &files);
    assert_ne!(served(), before);
    assert_eq!((job.stamp, job.refused), (stamp, None));
}

#[test]
fn a_clock_that_was_ahead_puts_nothing_off() {
    let directory = tempfile::tempdir().expect("a directory");
    let (of_files, _) = with_files(&directory, "a.test");
    let internal = site("localhost", Some(Issuer::Internal { lifetime: HOUR }));
    let by_acme = acme("b.test", "https://127.0.0.1:1/dir".to_owned());
    let tls = of_sites(&directory, vec![of_files, internal, by_acme]);
    for longest in [LOOK_AT_FILES, HOUR, 12 * HOUR] {
        let mut job = Job::new(managed(&tls, 0));
        let now = SystemTime::now();
        for (next, expected) in [(now + longest, now + longest), (now + 48 * HOUR, now)] {
            (job.next, job.advice_at) = (next, next);
            job.apply_clock_change(now);
            assert_eq!(job.next, expected, "{:?}", job.managed);
            assert!(job.advice_at <= now + ADVICE_LATEST);
        }
    }
}

#[test]
fn a_time_in_the_storage_that_is_too_far_ahead_is_over() {
    let directory = tempfile::tempdir().expect("a directory");
    let by_acme = acme("b.test", "https://127.0.0.1:1/dir".to_owned());
    let tls = of_sites(&directory, vec![by_acme]);
    let managed = managed(&tls, 0);
    let Kind::Acme(subject) = &managed.kind else {
        panic!("{managed:?}");
    };
    let now = SystemTime::now();
    let set = |until| {
        subject.set_failures(Some(&Failures {
            count: 9,
            until,
            ..Failures::default()
        }));
        subject.failures()
    };
    let kept = set(now + 12 * HOUR);
    assert!(kept.count == 9 && kept.until > now + 11 * HOUR);
    assert_eq!(set(now + 365 * 24 * HOUR).until, SystemTime::UNIX_EPOCH);
    subject.set_failures(None);
    assert_eq!(subject.failures(), Failures::default());
}

#[tokio::test]
async fn a_start_waits_for_the_authority_only_after_retry_after() {
    let directory = tempfile::tempdir().expect("a directory");
    // No server listens there.
    let by_acme = acme("b.test", "https://127.0.0.1:1/dir".to_owned());
    let tls = of_sites(&directory, vec![by_acme]);
    let mut job = Job::new(managed(&tls, 0));
    let Kind::Acme(subject) = &job.managed.kind else {
        panic!("{:?}", job.managed);
    };
    let subject = subject.clone();
    let now = SystemTime::now();
    let mut failures = Failures {
        count: 7,
        until: now + 2 * HOUR,
        at: now - HOUR,
        limited: true,
        reason: "not now".to_owned(),
    };
    subject.set_failures(Some(&failures));
    renew_acme(&mut job, &subject, now).await;
    assert!(job.is_reported && job.next > now, "it waits, and says so");
    assert_eq!(subject.failures().count, 7);
    failures.limited = false;
    subject.set_failures(Some(&failures));
    renew_acme(&mut job, &subject, now).await;
    let now = subject.failures();
    assert_eq!(now.count, 8);
    let reason = "https://127.0.0.1:1/dir: Connection refused";
    assert!(now.reason.starts_with(reason), "{}", now.reason);
}

#[test]
fn revoked_certificates_are_due_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let tls = tls(&directory, HOUR);
    let managed = managed(&tls, 0);
    let certificate = managed.current.clone().expect("it was made");
    let mut job = Job::new(managed);
    job.apply_revocation();
    let now = SystemTime::now();
    assert!(job.due(&certificate) > now && job.next > now);
    job.managed.slot.revoke();
    job.apply_revocation();
    assert!(job.due(&certificate) < now && job.next <= SystemTime::now());
    // A response about the old certificate does not apply to the new one.
    job.managed.slot.revoke();
    job.put(certificate.clone());
    job.apply_revocation();
    assert!(job.due(&certificate) > now);
}

#[tokio::test]
async fn certificates_are_renewed_while_they_are_served() {
    let directory = tempfile::tempdir().expect("a directory");
    // So short that it is due for renewal immediately.
    let tls = tls(&directory, Duration::from_secs(5));
    let slot = {
        let managed = tls.managed.lock().expect("not poisoned");
        std::sync::Arc::clone(&managed[0].slot)
    };
    let before = slot.get().expect("there is one");
    let renewed = async {
        while slot.get().is_some_and(|now| now.cert == before.cert) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = renewed => {}
        () = tls.maintain() => {}
    }
    let after = slot.get().expect("there is one");
    assert_ne!(after.cert[0], before.cert[0]);
    assert_eq!(after.cert[1], before.cert[1], "the intermediate stays");
}

#[tokio::test]
async fn an_authority_that_does_not_answer_holds_up_nothing_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let silent = silent.expect("a port");
    let address = silent.local_addr().expect("it has one");
    let by_acme = acme("b.test", format!("https://{address}/dir"));
    let internal = Issuer::Internal {
        // So short that it is due for renewal immediately.
        lifetime: Duration::from_secs(5),
    };
    let internal = site("localhost", Some(internal));
    let (of_files, files) = with_files(&directory, "a.test");
    let tls = of_sites(&directory, vec![by_acme, of_files, internal]);
    let slot_of = |is_it: fn(&Kind) -> bool| {
        let all = tls.managed.lock().expect("not poisoned");
        let found = all.iter().find(|managed| is_it(&managed.kind));
        Arc::clone(&found.expect("it is managed").slot)
    };
    let of_files = slot_of(|kind| matches!(kind, Kind::Files(_)));
    let internal = slot_of(|kind| matches!(kind, Kind::Internal { .. }));
    let served = |slot: &Slot| slot.get().expect("there is one").cert[0].clone();
    let before = [&of_files, &internal].map(|slot| served(slot));
    let test = async {
        let _waits = silent.accept().await.expect("it is asked");
        let (certificate, key) = pair("a.test");
        write(&files.key, &key, 2000);
        write(&files.certificate, &certificate, 2000);
        for (slot, before) in [&of_files, &internal].into_iter().zip(before) {
            while served(slot) == before {
                slot.changed().await;
            }
        }
    };
    tokio::select! {
        result = tokio::time::timeout(12 * LOOK_AT_FILES, test) => result.expect("all is served"),
        () = tls.maintain() => {}
    }
}
