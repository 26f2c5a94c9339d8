use std::fs;
use std::sync::Mutex;

use howdah_observe::admin::{
    CertificateAuthority, CrashesError, LogSink, ProfileError, ProfileReply, ProfileRequest,
    ReloadError, ReloadReport, SequentialPool, Thread, UnhealthyError,
};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::*;

/// How long anything may take before a test counts as hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// Records reloads, each of which waits for a permit.
struct FakeControl {
    reloads: Mutex<Vec<String>>,
    begun: Semaphore,
    permits: Semaphore,
}

impl Control for FakeControl {
    async fn reload(&self, pool: Option<String>) -> Result<ReloadReport, ReloadError> {
        let pool = pool.expect("a watcher names the pool");
        self.reloads.lock().expect("no panic").push(pool.clone());
        self.begun.add_permits(1);
        self.permits.acquire().await.expect("never closed").forget();
        let text = "a boot that fails changes nothing".into();
        Err(ReloadError::Boot { pool, text })
    }

    async fn configure(&self, _: Configuration) -> Result<ReloadReport, ReloadError> {
        self.reload(Some("the configuration".into())).await
    }

    async fn status(&self) -> Value {
        Value::Null
    }

    async fn threads(&self) -> Vec<Thread> {
        Vec::new()
    }

    async fn requests(&self, _: bool) -> Value {
        Value::Null
    }

    fn log_sink(&self, _: &str) -> Option<Value> {
        None
    }

    fn set_log_sink(&self, _: &str, _: LogSink) -> Result<(), String> {
        Ok(())
    }

    fn remove_log_sink(&self, _: &str) -> bool {
        false
    }

    async fn activity(&self, _: Option<u64>) -> Value {
        Value::Null
    }

    async fn preloads(&self) -> Value {
        Value::Null
    }

    async fn profile(&self, _: ProfileRequest) -> Result<ProfileReply, ProfileError> {
        Err(ProfileError::NoSamples)
    }

    async fn crashes(&self) -> Result<Value, CrashesError> {
        Err(CrashesError::Off)
    }

    async fn crash(&self, _: u64) -> Result<Value, CrashesError> {
        Err(CrashesError::Off)
    }

    async fn clear_crashes(&self) -> Result<Value, CrashesError> {
        Err(CrashesError::Off)
    }

    async fn metrics(&self) -> String {
        String::new()
    }

    fn config_json(&self) -> Value {
        Value::Null
    }

    fn config(&self) -> Value {
        Value::Null
    }

    fn config_file(&self) -> Option<std::path::PathBuf> {
        None
    }

    fn is_php_restricted(&self) -> bool {
        false
    }

    fn crashes_are_private(&self) -> bool {
        false
    }

    fn servers(&self) -> Value {
        Value::Null
    }

    async fn authority(&self) -> Result<Option<CertificateAuthority>, String> {
        Ok(None)
    }

    fn counts_requests(&self) -> bool {
        false
    }

    async fn health(&self) -> Result<Vec<SequentialPool>, UnhealthyError> {
        Ok(Vec::new())
    }

    fn stop(&self) {}
}

async fn wait_for_reload(fake: &FakeControl) {
    let permit = tokio::time::timeout(PATIENCE, fake.begun.acquire()).await;
    permit
        .expect("a reload begins")
        .expect("never closed")
        .forget();
}

fn watch(dir: &Path, pools: &[(&str, &[&str])]) -> WatchList {
    let owned: Vec<(&str, Vec<String>)> = pools
        .iter()
        .map(|(name, texts)| (*name, texts.iter().map(|text| (*text).to_owned()).collect()))
        .collect();
    let pools = owned.iter().map(|(name, texts)| (*name, texts.as_slice()));
    WatchList::new(pools, [], dir).expect("valid")
}

#[tokio::test]
async fn reloads_what_changed_and_what_changed_meanwhile() {
    let dir = tempfile::tempdir().expect("a directory");
    let watch = watch(dir.path(), &[("a", &["*.php"]), ("b", &["*.twig"])]);
    let (watcher, mut changed) = watch.start().expect("started");
    let first = tokio::time::timeout(PATIENCE, changed.notices.recv()).await;
    assert!(matches!(first, Ok(Some(Notice::Watching(1)))), "{first:?}");
    let fake = Arc::new(FakeControl {
        reloads: Mutex::default(),
        begun: Semaphore::new(0),
        permits: Semaphore::new(0),
    });
    let reloading = tokio::spawn(changed.reload(fake.clone(), Vec::new()));
    for name in ["1.php", "2.php", "3.php"] {
        fs::write(dir.path().join(name), "").expect("written");
    }
    wait_for_reload(&fake).await;
    // The first reload has not ended; these two are the second and the third.
    fs::write(dir.path().join("4.php"), "").expect("written");
    fs::write(dir.path().join("4.twig"), "").expect("written");
    fake.permits.add_permits(3);
    wait_for_reload(&fake).await;
    wait_for_reload(&fake).await;
    drop(watcher);
    tokio::time::timeout(PATIENCE, reloading)
        .await
        .expect("it ends")
        .expect("no panic");
    let reloads = fake.reloads.lock().expect("no panic").clone();
    assert_eq!(reloads, ["a", "a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_reload_that_hangs_does_not_keep_the_next() {
    let (sender, notices) = mpsc::unbounded_channel();
    let pools = vec!["a".to_owned()];
    let fake = Arc::new(FakeControl {
        reloads: Mutex::default(),
        begun: Semaphore::new(0),
        permits: Semaphore::new(0),
    });
    let changed = ChangeReceiver { pools, notices };
    let reloading = tokio::spawn(changed.reload(fake.clone(), Vec::new()));
    let change = || {
        let mut found = Changes::default();
        found.targets.insert(0, vec!["a.php".into()]);
        sender.send(Notice::Changed(found)).expect("it listens");
    };
    change();
    wait_for_reload(&fake).await;
    change();
    wait_for_reload(&fake).await;
    fake.permits.add_permits(1);
    drop(sender);
    reloading.await.expect("no panic");
    assert_eq!(fake.reloads.lock().expect("no panic").len(), 2);
}

#[tokio::test]
async fn the_configuration_brings_all_pools_with_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let watch = watch(
        dir.path(),
        &[("a", &["*.php"]), (CONFIGURATION, &["Caddyfile"])],
    );
    let (watcher, mut changed) = watch.start().expect("started");
    let first = tokio::time::timeout(PATIENCE, changed.notices.recv()).await;
    assert!(matches!(first, Ok(Some(Notice::Watching(1)))), "{first:?}");
    let fake = Arc::new(FakeControl {
        reloads: Mutex::default(),
        begun: Semaphore::new(0),
        permits: Semaphore::new(1),
    });
    let reloading = tokio::spawn(changed.reload(fake.clone(), Vec::new()));
    fs::write(dir.path().join("Caddyfile"), ":80").expect("written");
    wait_for_reload(&fake).await;
    drop(watcher);
    tokio::time::timeout(PATIENCE, reloading)
        .await
        .expect("it ends")
        .expect("no panic");
    let reloads = fake.reloads.lock().expect("no panic").clone();
    assert_eq!(reloads, ["the configuration"]);
}

#[test]
fn nothing_to_watch() {
    let dir = Path::new("/");
    assert!(watch(dir, &[]).is_empty());
    assert!(watch(dir, &[("a", &[])]).is_empty());
    assert!(!watch(dir, &[("a", &["x"])]).is_empty());
    let error =
        WatchList::new([("a", ["{".to_owned()].as_slice())], [], dir).expect_err("no pattern");
    assert!(error.to_string().starts_with("watch {: "), "{error}");
}
