//! OPcache, which the processes below a root zygote share: reports and orders.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use howdah_shm::layout::{
    OPCACHE_COMPILE, OPCACHE_INVALIDATE, OPCACHE_PATHS, OPCACHE_SCRIPTS, OPCACHE_USER,
};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

use super::control::{Control, Kind};
use super::encode::{EncodeError, append_user};
use crate::options::User;

/// Maximum length of a report: numbers, and the paths of some hundred thousand scripts.
const ANSWER_SIZE_MAX: u64 = 16 << 20;
/// The reporting process is killed after 10 s.
const ANSWER_TIME: Duration = Duration::from_secs(12);
/// A process that compiles is killed after 30 s.
const COMPILE_TIME: Duration = Duration::from_secs(32);

/// Number of scripts, and their bytes in OPcache's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// How many.
    pub scripts: u64,
    /// Bytes.
    pub size: u64,
}

/// OPcache's statistics. Sizes are bytes; counters count since the tree of processes was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Opcache {
    /// 1: it serves scripts. 0 also while it waits for a restart.
    pub enabled: u64,
    /// 1: it accepts no further scripts.
    pub full: u64,
    /// 1: it restarts as soon as no request uses it.
    pub restart_pending: u64,
    /// Memory in use, in bytes.
    pub used: u64,
    /// Free memory, in bytes.
    pub free: u64,
    /// Memory of scripts that are no longer valid.
    pub wasted: u64,
    /// Bytes of the memory for interned strings.
    pub strings_size: u64,
    /// The part of it that is in use.
    pub strings_used: u64,
    pub scripts: u64,
    /// Keys by which scripts are found.
    pub keys: u64,
    /// Maximum number of keys.
    pub keys_max: u64,
    /// Cache hits.
    pub hits: u64,
    /// Cache misses: scripts that were compiled.
    pub misses: u64,
    /// Restarts because its memory was full.
    pub oom_restarts: u64,
    /// Restarts because it had no free key.
    pub hash_restarts: u64,
    /// Restarts by `opcache_reset()`.
    pub manual_restarts: u64,
    /// Bytes of the memory for machine code.
    pub jit_size: u64,
    /// The part of it that is free.
    pub jit_free: u64,
    /// 1: `opcache.preload` is set.
    pub preload: u64,
    /// 1: `opcache.validate_timestamps` is on.
    pub validates: u64,
    /// `opcache.max_wasted_percentage`.
    pub wasted_percent_max: u64,
    /// Scripts with unchanged files. This and the next two only on request.
    pub live: Tally,
    /// Scripts whose files have changed.
    pub changed: Tally,
    /// Scripts whose files no longer exist.
    pub gone: Tally,
}

impl Opcache {
    /// The sum of this and another one: for all PHPs of a server.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        let tally = |own: Tally, other: Tally| Tally {
            scripts: own.scripts.saturating_add(other.scripts),
            size: own.size.saturating_add(other.size),
        };
        Self {
            enabled: self.enabled.min(other.enabled),
            full: self.full.max(other.full),
            restart_pending: self.restart_pending.max(other.restart_pending),
            used: self.used.saturating_add(other.used),
            free: self.free.saturating_add(other.free),
            wasted: self.wasted.saturating_add(other.wasted),
            strings_size: self.strings_size.saturating_add(other.strings_size),
            strings_used: self.strings_used.saturating_add(other.strings_used),
            scripts: self.scripts.saturating_add(other.scripts),
            keys: self.keys.saturating_add(other.keys),
            keys_max: self.keys_max.saturating_add(other.keys_max),
            hits: self.hits.saturating_add(other.hits),
            misses: self.misses.saturating_add(other.misses),
            oom_restarts: self.oom_restarts.saturating_add(other.oom_restarts),
            hash_restarts: self.hash_restarts.saturating_add(other.hash_restarts),
            manual_restarts: self.manual_restarts.saturating_add(other.manual_restarts),
            jit_size: self.jit_size.saturating_add(other.jit_size),
            jit_free: self.jit_free.saturating_add(other.jit_free),
            preload: self.preload.max(other.preload),
            validates: self.validates.max(other.validates),
            wasted_percent_max: self.wasted_percent_max.min(other.wasted_percent_max),
            live: tally(self.live, other.live),
            changed: tally(self.changed, other.changed),
            gone: tally(self.gone, other.gone),
        }
    }

    /// Its total memory.
    pub fn size(&self) -> u64 {
        self.used
            .saturating_add(self.free)
            .saturating_add(self.wasted)
    }
}

/// What OPcache does before it reports. By default it only reports.
#[derive(Debug, Clone, Default)]
pub struct OpcacheOrder {
    /// Compare the scripts with their files. Files that have changed since then count as changed whatever their times
    /// are.
    pub compare: Option<SystemTime>,
    /// Invalidate changed and missing scripts, so that they are compiled at their next use.
    pub invalidate: bool,
    /// Report the paths of scripts whose files exist.
    pub paths: bool,
    /// Compile these files first.
    pub compile: Vec<Vec<u8>>,
}

/// The report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpcacheAnswer {
    /// `None`: it is off.
    pub opcache: Option<Opcache>,
    /// If they were requested.
    pub paths: Vec<Vec<u8>>,
}

/// Why there is no report about OPcache.
#[derive(Debug, thiserror::Error)]
pub enum OpcacheError {
    /// The root zygote that would run it has exited.
    #[error("PHP is restarting or stopping")]
    NoRoot,
    /// The process exited without a report, or took too long.
    #[error("PHP did not report what OPcache contains")]
    NoAnswer,
    /// The report is not valid.
    #[error(
        "PHP's report about OPcache is from a different version of howdah, or OPcache's memory is corrupt"
    )]
    Malformed,
    /// The operating system refused.
    #[error("cannot request a report about OPcache from PHP: {0}")]
    Io(#[from] std::io::Error),
    /// The user whose process had to respond cannot be sent to PHP.
    #[error("cannot request a report about OPcache from PHP: {0}")]
    User(String),
}

impl From<EncodeError> for OpcacheError {
    fn from(error: EncodeError) -> Self {
        Self::User(error.to_string())
    }
}

impl OpcacheOrder {
    fn encode(&self, user: Option<&User>) -> Result<Vec<u8>, EncodeError> {
        let set = [
            (self.compare.is_some(), OPCACHE_SCRIPTS),
            (self.invalidate, OPCACHE_INVALIDATE),
            (self.paths, OPCACHE_PATHS),
            (!self.compile.is_empty(), OPCACHE_COMPILE),
            (user.is_some(), OPCACHE_USER),
        ];
        let chosen = set.iter().filter(|(chosen, _)| *chosen);
        let what = chosen.fold(0, |what, (_, bit)| what | bit);
        let since = self
            .compare
            .and_then(|since| since.duration_since(UNIX_EPOCH).ok());
        let since = since.map_or(i64::MAX, |since| since.as_secs().cast_signed());
        let mut data: Vec<u8> = what.to_le_bytes().to_vec();
        data.extend(0_u32.to_le_bytes());
        data.extend(since.to_le_bytes());
        if let Some(user) = user {
            append_user(&mut data, user)?;
        }
        Ok(data)
    }
}

/// A pending order: our ends of its pipes.
#[derive(Debug)]
pub(crate) struct PendingOrder {
    answer: OwnedFd,
    paths: Option<(OwnedFd, Vec<u8>)>,
}

/// Sends the order to the root, to be carried out by a process of this user.
pub(crate) async fn ask(
    root: &Control,
    order: &OpcacheOrder,
    user: Option<&User>,
) -> Result<PendingOrder, OpcacheError> {
    let data = order.encode(user)?;
    let (answer, theirs) = std::io::pipe()?;
    let mut fds = vec![theirs.as_fd()];
    let paths = if order.compile.is_empty() {
        None
    } else {
        Some(std::io::pipe()?)
    };
    fds.extend(paths.as_ref().map(|(reader, _)| reader.as_fd()));
    let sent = root.send(Kind::Opcache, 0, &data, &fds).await;
    sent.map_err(|_| OpcacheError::NoRoot)?;
    let mut joined = Vec::new();
    for path in &order.compile {
        joined.extend_from_slice(path);
        joined.push(0);
    }
    Ok(PendingOrder {
        answer: answer.into(),
        paths: paths.map(|(_, writer)| (writer.into(), joined)),
    })
}

impl PendingOrder {
    /// Waits for the report.
    pub(crate) async fn answer(self) -> Result<OpcacheAnswer, OpcacheError> {
        let limit = if self.paths.is_some() {
            COMPILE_TIME
        } else {
            ANSWER_TIME
        };
        let both = async {
            let (answer, ()) = tokio::join!(read(self.answer), write(self.paths));
            answer
        };
        let bytes = tokio::time::timeout(limit, both)
            .await
            .map_err(|_| OpcacheError::NoAnswer)??;
        parse(&bytes)
    }
}

async fn read(answer: OwnedFd) -> Result<Vec<u8>, OpcacheError> {
    let mut bytes = Vec::new();
    let answer = pipe::Receiver::from_owned_fd(answer)?;
    answer
        .take(ANSWER_SIZE_MAX + 1)
        .read_to_end(&mut bytes)
        .await?;
    Ok(bytes)
}

async fn write(paths: Option<(OwnedFd, Vec<u8>)>) {
    let Some((writer, paths)) = paths else { return };
    if let Ok(mut writer) = pipe::Sender::from_owned_fd(writer) {
        // A process that stops reading sends no report either.
        let _ = writer.write_all(&paths).await;
    }
}

/// Parses a report. Its source is memory that every worker can write.
fn parse(bytes: &[u8]) -> Result<OpcacheAnswer, OpcacheError> {
    if bytes.is_empty() {
        return Err(OpcacheError::NoAnswer);
    }
    if bytes.len() as u64 > ANSWER_SIZE_MAX {
        return Err(OpcacheError::Malformed);
    }
    let mut parts = bytes.split(|byte| *byte == 0);
    let numbers = parts.next().unwrap_or_default();
    let numbers: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(numbers).map_err(|_| OpcacheError::Malformed)?;
    let opcache = if numbers.is_empty() {
        None
    } else {
        let opcache = serde_json::from_value(numbers.into());
        Some(opcache.map_err(|_| OpcacheError::Malformed)?)
    };
    let paths = parts.filter(|path| !path.is_empty());
    Ok(OpcacheAnswer {
        opcache,
        paths: paths.map(<[u8]>::to_vec).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_its_bits_and_a_time() {
        let order = OpcacheOrder {
            compare: Some(UNIX_EPOCH + Duration::from_secs(7)),
            invalidate: true,
            ..OpcacheOrder::default()
        };
        let mut expected = vec![3, 0, 0, 0, 0, 0, 0, 0, 7];
        expected.extend([0; 7]);
        assert_eq!(order.encode(None).expect("encoded"), expected);
        let nothing = OpcacheOrder::default().encode(None).expect("encoded");
        assert_eq!(nothing[8..], i64::MAX.to_le_bytes());
    }

    #[test]
    fn answers_are_numbers_and_paths() {
        let answer =
            parse(b"{\"enabled\":1,\"used\":5,\"gone\":{\"scripts\":1,\"size\":9}}\0/a\0/b\0")
                .expect("an answer");
        let opcache = answer.opcache.expect("it is on");
        assert_eq!(
            (opcache.enabled, opcache.used, opcache.gone.size),
            (1, 5, 9)
        );
        assert_eq!(answer.paths, [b"/a".to_vec(), b"/b".to_vec()]);
        assert_eq!(parse(b"{}").expect("an answer"), OpcacheAnswer::default());
    }

    #[test]
    fn nonsense_is_not_a_reply() {
        assert!(matches!(parse(b""), Err(OpcacheError::NoAnswer)));
        for wrong in [&b"{\"used\":-1}"[..], b"[]", b"{", b"{\"gone\":3}"] {
            assert!(matches!(parse(wrong), Err(OpcacheError::Malformed)));
        }
    }

    #[test]
    fn two_memories_are_shown_as_one() {
        let one = |full, used, gone| Opcache {
            enabled: 1,
            full,
            used,
            gone: Tally {
                scripts: gone,
                size: 7,
            },
            ..Opcache::default()
        };
        let both = one(0, 5, 1).with(&one(1, 6, 2));
        let gone = Tally {
            scripts: 3,
            size: 14,
        };
        assert_eq!(
            both,
            Opcache {
                gone,
                ..one(1, 11, 0)
            }
        );
    }

    #[test]
    fn sizes_that_no_memory_has_do_not_overflow() {
        let opcache = Opcache {
            used: u64::MAX,
            free: 1,
            ..Opcache::default()
        };
        assert_eq!(opcache.size(), u64::MAX);
    }
}
