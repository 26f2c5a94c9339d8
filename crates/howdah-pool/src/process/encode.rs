//! The data of the messages that start a zygote and a worker (`worker/include/howdah_shm.h`,
//! `struct howdah_pool_options` and `struct howdah_spawn`).

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use howdah_config::model::{Connections, Keep, OnExit, Statics};
use howdah_shm::WriteIndices;
use howdah_shm::layout::{
    self, CONTROL_SIZE_MAX, POOL_CLASSIC, POOL_FLAG_BOOT_EACH, POOL_FLAG_CONCURRENCY_FALLBACK,
    POOL_FLAG_DUMPABLE, POOL_FLAG_EXIT_RESTARTS, POOL_FLAG_FRESH_FILES, POOL_FLAG_LEAK_HEADER,
    POOL_FLAG_NO_NEW_PRIVS, POOL_FLAG_NO_ROLLBACK, POOL_FLAG_RECORD, POOL_FLAG_SAMPLES,
    POOL_FLAG_SHARE_STATICS, POOL_FLAG_USER, POOL_OPTIONS_SIZE, POOL_WORKER, SPAWN_SIZE,
};

use crate::options::{Mode, PoolOptions, User};

/// Why a pool's options cannot be sent to PHP.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Its settings.
    #[error("the names and values of its settings have {0} bytes, more than {CONTROL_SIZE_MAX}")]
    TooLarge(usize),
    /// The users of all pools.
    #[error("the users of pools, with their groups, have {0} bytes, more than {CONTROL_SIZE_MAX}")]
    Users(usize),
    /// A string.
    #[error("a NUL byte in {0}")]
    Nul(&'static str),
}

/// Symbolic links as they are now: a release may be switched by changing a link before a reload. What does
/// not exist stays as it is, PHP says so.
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
    let (mut script, mut root) = (PathBuf::new(), PathBuf::new());
    let (mut env, mut warm, mut detect_leaks_allow) = (Vec::new(), Vec::new(), Vec::new());
    let mut detect_leaks_sample = 0;
    let (mut mode, mut flags, mut keep, mut connections, mut cpu_timeout) =
        (POOL_CLASSIC, 0, 0, 0, 0);
    let mut concurrent = [0; 5];
    // The first generation finds OPcache as fresh as the files are.
    if generation > 1 {
        flags |= POOL_FLAG_FRESH_FILES;
    }
    if options.user.is_some() {
        flags |= POOL_FLAG_USER;
    }
    if options.limits.no_new_privs {
        flags |= POOL_FLAG_NO_NEW_PRIVS;
    }
    if options.limits.dumpable {
        flags |= POOL_FLAG_DUMPABLE;
    }
    // A process that is made for one request has no thread made for it in advance.
    if options.limits.slow_log.is_some() || !options.one_request() {
        flags |= POOL_FLAG_SAMPLES;
    }
    if options.record.is_some() {
        flags |= POOL_FLAG_RECORD;
    }
    if let Mode::Worker(script_mode) = &options.mode {
        mode = POOL_WORKER;
        let worker = &script_mode.options;
        let set = [
            (boot_each, POOL_FLAG_BOOT_EACH),
            (worker.exit == OnExit::Restart, POOL_FLAG_EXIT_RESTARTS),
            (!options.limits.rollback, POOL_FLAG_NO_ROLLBACK),
        ];
        flags |= set
            .iter()
            .filter(|(set, _)| *set)
            .fold(0, |flags, (_, flag)| flags | flag);
        keep = keep_bits(worker.keep);
        connections = connections_word(worker.connections);
        cpu_timeout = milliseconds(options.limits.cpu_timeout);
        if worker.is_concurrent() {
            if worker.statics == Statics::Share {
                flags |= POOL_FLAG_SHARE_STATICS;
            }
            if worker.concurrency_fallback {
                flags |= POOL_FLAG_CONCURRENCY_FALLBACK;
            }
            concurrent = [
                worker.concurrency,
                worker.stack_size,
                milliseconds(worker.hog_threshold),
                milliseconds(worker.time_slice),
                milliseconds(worker.hang_timeout),
            ];
        }
        if let Some(leaks) = &worker.detect_leaks {
            detect_leaks_sample = leaks.sample;
            if leaks.in_header {
                flags |= POOL_FLAG_LEAK_HEADER;
            }
            for pattern in &leaks.allow {
                append(
                    &mut detect_leaks_allow,
                    pattern.as_bytes(),
                    "a pattern of leaks",
                )?;
            }
        }
        script = resolved(&script_mode.script);
        root = script_mode
            .root
            .as_deref()
            .map(resolved)
            .unwrap_or_default();
        env = pairs(&worker.env, "a variable")?;
        for path in &worker.warm {
            append(&mut warm, path.as_bytes(), "a path to warm up with")?;
        }
    }
    let name = options.name.as_bytes();
    let (script, root) = (script.as_os_str().as_bytes(), root.as_os_str().as_bytes());
    let php_ini = pairs(&options.ini.php_ini, "a PHP setting")?;
    let php_admin_ini = pairs(&options.ini.php_admin_ini, "a final PHP setting")?;
    let strings = [
        name,
        script,
        root,
        &env,
        &warm,
        &php_ini,
        &php_admin_ini,
        &detect_leaks_allow,
    ];
    let mut words = vec![mode, flags, keep, connections, generation, cpu_timeout];
    words.extend(strings.iter().map(|string| string.len() as u32));
    words.extend(concurrent);
    words.extend([detect_leaks_sample, log_key as u32, (log_key >> 32) as u32]);
    let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    debug_assert_eq!(data.len(), POOL_OPTIONS_SIZE);
    for (string, what) in [
        (name, "its name"),
        (script, "its script"),
        (root, "its root"),
    ] {
        if string.contains(&0) {
            return Err(EncodeError::Nul(what));
        }
    }
    for string in strings {
        data.extend_from_slice(string);
    }
    if let Some(user) = &options.user {
        append_user(&mut data, user)?;
    }
    if data.len() > CONTROL_SIZE_MAX {
        return Err(EncodeError::TooLarge(data.len()));
    }
    Ok(data)
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

/// `struct howdah_identity` and what follows it.
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

/// 0: none. A time below a millisecond is still one.
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

/// When a worker exits by itself (`struct howdah_spawn`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifetime {
    /// It exits after so many requests; 0: never.
    pub(crate) max_requests: u32,
    /// It says so after so many; 0: never.
    pub(crate) retire_after: u32,
    /// It says so when PHP holds more bytes; 0: never.
    pub(crate) max_memory: u64,
    /// The same of what it holds more than when it had settled.
    pub(crate) max_memory_growth: u64,
}

/// The data of SPAWN. `log_key` is what records of the worker carry.
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
    use crate::options::WorkerMode;
    use howdah_config::model::{LeakDetection, WorkerOptions};
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
