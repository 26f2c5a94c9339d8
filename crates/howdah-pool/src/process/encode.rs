//! The data of the messages that start a zygote and a worker (`worker/include/howdah_shm.h`,
//! `struct howdah_pool_options` and `struct howdah_spawn`).

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use howdah_config::model::{
    Connections, Keep, LeakDetection, OnExit, PoolLimits, Statics, WorkerOptions,
};
use howdah_shm::WriteIndices;
use howdah_shm::layout::{
    self, CONTROL_SIZE_MAX, POOL_CLASSIC, POOL_FLAG_BOOT_EACH, POOL_FLAG_CONCURRENCY_FALLBACK,
    POOL_FLAG_DUMPABLE, POOL_FLAG_EXIT_RESTARTS, POOL_FLAG_FRESH_FILES, POOL_FLAG_LEAK_HEADER,
    POOL_FLAG_NO_NEW_PRIVS, POOL_FLAG_NO_ROLLBACK, POOL_FLAG_RECORD, POOL_FLAG_SAMPLES,
    POOL_FLAG_SHARE_STATICS, POOL_FLAG_USER, POOL_OPTIONS_SIZE, POOL_WORKER, SPAWN_SIZE,
};

use crate::options::{Mode, PoolOptions, User, WorkerMode};

/// Why a pool's options cannot be sent to PHP.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Its settings are too long.
    #[error("the names and values of its settings have {0} bytes, more than {CONTROL_SIZE_MAX}")]
    TooLarge(usize),
    /// The list of the users of all pools is too long.
    #[error("the users of pools, with their groups, have {0} bytes, more than {CONTROL_SIZE_MAX}")]
    Users(usize),
    /// A string contains a NUL byte.
    #[error("a NUL byte in {0}")]
    Nul(&'static str),
}

/// Resolves symbolic links: a deployment may switch a link to the new release before a reload. A missing path stays as
/// it is, and PHP reports it.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The data of POOL for a zygote of this generation.
pub(crate) fn pool(
    options: &PoolOptions,
    generation: u32,
    boot_each: bool,
    log_key: u64,
) -> Result<Vec<u8>, EncodeError> {
    let mut message = PoolMessage::new(options, generation);
    if let Mode::Worker(worker) = &options.mode {
        message.set_worker(worker, &options.limits, boot_each)?;
    }
    let mut data = message.encode(options, log_key)?;
    if let Some(user) = &options.user {
        append_user(&mut data, user)?;
    }
    if data.len() > CONTROL_SIZE_MAX {
        return Err(EncodeError::TooLarge(data.len()));
    }
    Ok(data)
}

/// The part of `struct howdah_pool_options` that depends on the mode of a pool; the rest is the
/// same for all.
#[derive(Debug, Default)]
struct PoolMessage {
    mode: u32,
    flags: u32,
    keep: u32,
    connections: u32,
    generation: u32,
    cpu_timeout: u32,
    /// Concurrent requests, and the limits of each; 0 where a worker has one at a time.
    concurrency: [u32; 5],
    detect_leaks_sample: u32,
    detect_leaks_allow: Vec<u8>,
    script: PathBuf,
    root: PathBuf,
    env: Vec<u8>,
    warm: Vec<u8>,
}

impl PoolMessage {
    /// The message for a classic pool.
    fn new(options: &PoolOptions, generation: u32) -> Self {
        let limits = &options.limits;
        // A process for a single request has no thread that was created in advance.
        let has_samples = limits.slow_log.is_some() || !options.one_request();
        let mut message = Self {
            mode: POOL_CLASSIC,
            generation,
            ..Self::default()
        };
        message.set_flags(&[
            // For the first generation OPcache is as fresh as the files are.
            (generation > 1, POOL_FLAG_FRESH_FILES),
            (options.user.is_some(), POOL_FLAG_USER),
            (limits.no_new_privs, POOL_FLAG_NO_NEW_PRIVS),
            (limits.dumpable, POOL_FLAG_DUMPABLE),
            (has_samples, POOL_FLAG_SAMPLES),
            (options.record.is_some(), POOL_FLAG_RECORD),
        ]);
        message
    }

    fn set_flags(&mut self, flags: &[(bool, u32)]) {
        for (_, flag) in flags.iter().filter(|(is_set, _)| *is_set) {
            self.flags |= flag;
        }
    }

    fn set_worker(
        &mut self,
        mode: &WorkerMode,
        limits: &PoolLimits,
        boot_each: bool,
    ) -> Result<(), EncodeError> {
        let worker = &mode.options;
        self.mode = POOL_WORKER;
        self.set_flags(&[
            (boot_each, POOL_FLAG_BOOT_EACH),
            (worker.exit == OnExit::Restart, POOL_FLAG_EXIT_RESTARTS),
            (!limits.rollback, POOL_FLAG_NO_ROLLBACK),
        ]);
        self.keep = keep_bits(worker.keep);
        self.connections = connections_word(worker.connections);
        self.cpu_timeout = milliseconds(limits.cpu_timeout);
        if worker.is_concurrent() {
            self.set_concurrency(worker);
        }
        if let Some(leaks) = &worker.detect_leaks {
            self.set_leak_detection(leaks)?;
        }
        self.script = resolved(&mode.script);
        self.root = mode.root.as_deref().map(resolved).unwrap_or_default();
        self.env = pairs(&worker.env, "a variable")?;
        for path in &worker.warm {
            append(&mut self.warm, path.as_bytes(), "a path to warm up with")?;
        }
        Ok(())
    }

    fn set_concurrency(&mut self, worker: &WorkerOptions) {
        self.set_flags(&[
            (worker.statics == Statics::Share, POOL_FLAG_SHARE_STATICS),
            (worker.concurrency_fallback, POOL_FLAG_CONCURRENCY_FALLBACK),
        ]);
        self.concurrency = [
            worker.concurrency,
            worker.stack_size,
            milliseconds(worker.hog_threshold),
            milliseconds(worker.time_slice),
            milliseconds(worker.hang_timeout),
        ];
    }

    fn set_leak_detection(&mut self, leaks: &LeakDetection) -> Result<(), EncodeError> {
        self.detect_leaks_sample = leaks.sample;
        self.set_flags(&[(leaks.in_header, POOL_FLAG_LEAK_HEADER)]);
        for pattern in &leaks.allow {
            let allow = &mut self.detect_leaks_allow;
            append(allow, pattern.as_bytes(), "a pattern of leaks")?;
        }
        Ok(())
    }

    /// The structure and the strings that follow it, in the order of their lengths in the
    /// structure.
    fn encode(&self, options: &PoolOptions, log_key: u64) -> Result<Vec<u8>, EncodeError> {
        let php_ini = pairs(&options.ini.php_ini, "a PHP setting")?;
        let php_admin_ini = pairs(&options.ini.php_admin_ini, "a final PHP setting")?;
        let (script, root) = (self.script.as_os_str(), self.root.as_os_str());
        let names: [(&[u8], &'static str); 3] = [
            (options.name.as_bytes(), "its name"),
            (script.as_bytes(), "its script"),
            (root.as_bytes(), "its root"),
        ];
        for (string, what) in names {
            if string.contains(&0) {
                return Err(EncodeError::Nul(what));
            }
        }
        let [name, script, root] = names.map(|(string, _)| string);
        let strings = [
            name,
            script,
            root,
            &self.env,
            &self.warm,
            &php_ini,
            &php_admin_ini,
            &self.detect_leaks_allow,
        ];
        let mut words = vec![
            self.mode,
            self.flags,
            self.keep,
            self.connections,
            self.generation,
            self.cpu_timeout,
        ];
        words.extend(strings.iter().map(|string| string.len() as u32));
        words.extend(self.concurrency);
        words.push(self.detect_leaks_sample);
        words.extend([log_key as u32, (log_key >> 32) as u32]);
        let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        debug_assert_eq!(data.len(), POOL_OPTIONS_SIZE);
        for string in strings {
            data.extend_from_slice(string);
        }
        Ok(data)
    }
}

/// `HOWDAH_CONNECTIONS_*`.
fn connections_word(connections: Connections) -> u32 {
    match connections {
        Connections::Replace => layout::CONNECTIONS_REPLACE,
        Connections::Revive => layout::CONNECTIONS_REVIVE,
        Connections::Ignore => layout::CONNECTIONS_IGNORE,
    }
}

/// Each kind of state and its bit in the contract.
const KEEP: [(Keep, u32); 11] = [
    (Keep::INI, layout::KEEP_INI),
    (Keep::HANDLERS, layout::KEEP_HANDLERS),
    (Keep::LOCALE, layout::KEEP_LOCALE),
    (Keep::TIMEZONE, layout::KEEP_TIMEZONE),
    (Keep::CWD, layout::KEEP_CWD),
    (Keep::UMASK, layout::KEEP_UMASK),
    (Keep::ENV, layout::KEEP_ENV),
    (Keep::MBSTRING, layout::KEEP_MBSTRING),
    (Keep::LIBXML, layout::KEEP_LIBXML),
    (Keep::RANDOM, layout::KEEP_RANDOM),
    (Keep::SESSION, layout::KEEP_SESSION),
];

/// `HOWDAH_KEEP_*`.
fn keep_bits(keep: Keep) -> u32 {
    let kinds = KEEP.iter().filter(|(kind, _)| keep.contains(*kind));
    kinds.map(|(_, bit)| bit).sum()
}

/// `struct howdah_identity` and the strings that follow it.
pub(crate) fn append_user(data: &mut Vec<u8>, user: &User) -> Result<(), EncodeError> {
    let (name, home) = (user.name.as_bytes(), user.home.as_os_str().as_bytes());
    for (string, what) in [(name, "the name of its user"), (home, "its user's home")] {
        if string.contains(&0) {
            return Err(EncodeError::Nul(what));
        }
    }
    let sizes = [user.groups.len(), name.len(), home.len()].map(|size| size as u32);
    for word in [user.uid, user.gid]
        .iter()
        .chain(&sizes)
        .chain(&user.groups)
    {
        data.extend_from_slice(&word.to_le_bytes());
    }
    data.extend_from_slice(name);
    data.extend_from_slice(home);
    Ok(())
}

/// 0: none. A time below a millisecond is rounded up to one.
fn milliseconds(time: Option<Duration>) -> u32 {
    time.map_or(0, |time| {
        u32::try_from(time.as_millis()).unwrap_or(u32::MAX).max(1)
    })
}

/// NAME NUL VALUE NUL …
fn pairs(list: &[(String, String)], what: &'static str) -> Result<Vec<u8>, EncodeError> {
    let mut pairs = Vec::new();
    for (name, value) in list {
        append(&mut pairs, name.as_bytes(), what)?;
        append(&mut pairs, value.as_bytes(), what)?;
    }
    Ok(pairs)
}

fn append(list: &mut Vec<u8>, item: &[u8], what: &'static str) -> Result<(), EncodeError> {
    if item.contains(&0) {
        return Err(EncodeError::Nul(what));
    }
    list.extend_from_slice(item);
    list.push(0);
    Ok(())
}

/// The limits after which a worker exits by itself (`struct howdah_spawn`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifetime {
    /// It exits after this number of requests; 0: no limit.
    pub(crate) max_requests: u32,
    /// It announces its exit after this number; 0: never.
    pub(crate) retire_after: u32,
    /// It announces its exit when PHP holds more bytes; 0: never.
    pub(crate) max_memory: u64,
    /// The limit of memory beyond the amount that it had once settled.
    pub(crate) max_memory_growth: u64,
}

/// The data of SPAWN. Records of the worker carry `log_key`.
pub(crate) fn spawn(lifetime: Lifetime, log_key: u64, indices: &WriteIndices) -> Vec<u8> {
    let mut data = Vec::with_capacity(SPAWN_SIZE + 4 * indices.as_slice().len());
    for word in [lifetime.max_requests, lifetime.retire_after] {
        data.extend_from_slice(&word.to_le_bytes());
    }
    for word in [log_key, lifetime.max_memory, lifetime.max_memory_growth] {
        data.extend_from_slice(&word.to_le_bytes());
    }
    for word in indices.as_slice() {
        data.extend_from_slice(&word.to_le_bytes());
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use howdah_shm::layout::IDENTITY_SIZE;

    fn words(data: &[u8]) -> Vec<u32> {
        data[..POOL_OPTIONS_SIZE]
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
            .collect()
    }

    #[test]
    fn a_classic_pool_is_its_name_and_its_generation() {
        let data = pool(&PoolOptions::new("php", 2), 1, false, 7).expect("encoded");
        assert_eq!(
            words(&data),
            [
                1,
                POOL_FLAG_SAMPLES,
                0,
                0,
                1,
                0,
                3,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                7,
                0
            ]
        );
        assert_eq!(&data[POOL_OPTIONS_SIZE..], b"php");
        let data = pool(&PoolOptions::new("php", 2), 2, false, 7).expect("encoded");
        let flags = POOL_FLAG_SAMPLES | POOL_FLAG_FRESH_FILES;
        assert_eq!(words(&data)[1], flags, "a reload");
    }

    #[test]
    fn every_kind_of_state_has_its_bit() {
        assert_eq!(keep_bits(Keep::ALL), layout::KEEP_ALL);
        assert_eq!(keep_bits(Keep::NONE), 0);
    }

    #[test]
    fn a_worker_pool_shows_all_its_options() {
        let mut options = PoolOptions::new("app", 2);
        let worker = WorkerMode {
            root: Some("/app".into()),
            options: WorkerOptions {
                env: vec![("A".into(), "1".into()), ("B".into(), String::new())],
                exit: OnExit::Restart,
                keep: Keep::INI.with(Keep::LOCALE),
                connections: Connections::Revive,
                warm: vec!["/a".into(), "/b".into()],
                detect_leaks: Some(LeakDetection {
                    sample: 50,
                    allow: vec!["A::$b".into()],
                    in_header: true,
                }),
                concurrency: 100,
                statics: Statics::Share,
                stack_size: 65536,
                time_slice: Some(Duration::from_micros(10)),
                ..WorkerOptions::default()
            },
            ..WorkerMode::new("/app/w.php")
        };
        options.mode = Mode::Worker(worker.into());
        options.limits.rollback = false;
        options.limits.cpu_timeout = Some(Duration::from_secs(2));
        options.ini.php_ini = vec![("x".into(), "1".into())];
        options.ini.php_admin_ini = vec![("y.z".into(), "a b".into())];
        let data = pool(&options, 3, true, 7).expect("encoded");
        assert_eq!(
            words(&data),
            [
                2, 3103, 5, 1, 3, 2000, 3, 10, 4, 7, 6, 4, 8, 6, 100, 65536, 100, 1, 60_000, 50, 7,
                0
            ]
        );
        assert_eq!(
            &data[POOL_OPTIONS_SIZE..],
            b"app/app/w.php/appA\x001\0B\0\0/a\0/b\0x\x001\0y.z\0a b\0A::$b\0"
        );
    }

    #[test]
    fn a_user_follows_the_strings() {
        let mut options = PoolOptions::new("php", 2);
        options.limits.no_new_privs = true;
        options.limits.dumpable = true;
        options.user = Some(User {
            uid: 33,
            gid: 34,
            groups: vec![34, 4],
            name: "web".into(),
            home: "/var/www".into(),
        });
        let data = pool(&options, 1, false, 7).expect("encoded");
        let flags =
            POOL_FLAG_SAMPLES | POOL_FLAG_USER | POOL_FLAG_NO_NEW_PRIVS | POOL_FLAG_DUMPABLE;
        assert_eq!(words(&data)[1], flags);
        let user = data[POOL_OPTIONS_SIZE..]
            .strip_prefix(b"php")
            .expect("the name");
        let (numbers, strings) = user.split_at(IDENTITY_SIZE + 2 * 4);
        let numbers: Vec<u8> = numbers.iter().copied().step_by(4).collect();
        assert_eq!(numbers, [33, 34, 2, 3, 8, 34, 4]);
        assert_eq!(strings, b"web/var/www");
    }

    #[test]
    fn links_are_resolved_again_for_each_boot() {
        let base = tempfile::tempdir().expect("a directory");
        let base = base.path().canonicalize().expect("it is there");
        let (link, script) = (base.join("current"), base.join("current/w.php"));
        let mut options = PoolOptions::new("app", 2);
        let mut worker = WorkerMode::new(script);
        worker.root = Some(link.clone());
        options.mode = Mode::Worker(worker.into());
        for release in ["1", "2"] {
            let folder = base.join(release);
            std::fs::create_dir(&folder).expect("made");
            std::fs::write(folder.join("w.php"), "").expect("written");
            let fresh = base.join("fresh");
            std::os::unix::fs::symlink(&folder, &fresh).expect("a link");
            std::fs::rename(&fresh, &link).expect("switched");
            let data = pool(&options, 1, false, 7).expect("encoded");
            let folder = folder.to_str().expect("text");
            let strings = format!("app{folder}/w.php{folder}");
            assert_eq!(&data[POOL_OPTIONS_SIZE..], strings.as_bytes());
        }
    }

    #[test]
    fn what_the_contract_cannot_express_is_refused() {
        let mut options = PoolOptions::new("app", 2);
        let mut worker = Box::new(WorkerMode::new("/app/w.php"));
        worker.options.env = vec![("A".into(), "a\0b".into())];
        options.mode = Mode::Worker(worker.clone());
        assert_eq!(
            pool(&options, 1, false, 7),
            Err(EncodeError::Nul("a variable"))
        );
        worker.options.env = vec![("A".into(), "x".repeat(CONTROL_SIZE_MAX))];
        options.mode = Mode::Worker(worker);
        assert!(matches!(
            pool(&options, 1, false, 7),
            Err(EncodeError::TooLarge(_))
        ));
    }
}
