//! Files that PHP compiles and links when it starts, once for all requests: the message about them to the root zygote,
//! and its report about each (`worker/include/howdah_shm.h`, `struct howdah_preload`).

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use howdah_shm::layout::{self, PRELOAD_ALL, PRELOAD_AUTO, PRELOAD_SIZE};
use rustix::fs::MemfdFlags;
use serde::Serialize;

/// Which of the named files are preloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreloadMode {
    /// Files that declare classes, interfaces, traits and enums and do nothing else.
    Auto,
    /// All files that can be compiled.
    All,
}

/// The files to preload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preload {
    /// Which files are preloaded.
    pub mode: PreloadMode,
    /// The files, by absolute paths. Without files PHP only reports whether php.ini has an `opcache.preload`.
    pub files: Vec<PathBuf>,
    /// Name of the user who reads them, where the server is root; empty: root.
    pub user: String,
    /// Files in use that are left out, since no autoloader has loaded them.
    pub left_out: Vec<PathBuf>,
    /// Why there are no files.
    pub problem: Option<String>,
}

/// What PHP reports about preloading after its start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PreloadResult {
    /// PHP has preloaded the suitable files. False: it was started without any.
    pub done: bool,
    /// php.ini has an `opcache.preload`, which is used instead.
    #[serde(skip)]
    pub foreign: bool,
    /// Why nothing was preloaded.
    pub problem: Option<String>,
    /// Classes, interfaces, traits and enums that each request finds declared.
    pub classes: u32,
    /// Functions that it finds.
    pub functions: u32,
    /// Bytes of OPcache's memory that they use.
    pub memory: u64,
    /// The files, in the order in which they were named.
    pub files: Vec<PreloadedFile>,
}

/// A file of the record, and its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct PreloadedFile {
    pub path: PathBuf,
    /// Whether it is preloaded.
    pub verdict: Verdict,
    /// Its size in bytes; 0: unknown.
    pub bytes: u64,
}

/// Whether a file is preloaded, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Verdict {
    Preloaded,
    /// It cannot be read.
    Missing,
    /// It has a syntax error.
    Syntax,
    /// It declares nothing.
    NoClass,
    /// It declares a function.
    Function,
    /// It declares a constant.
    Constant,
    /// It declares something under a condition.
    Condition,
    /// It does something besides declaring classes.
    Code,
    /// Another file, or PHP itself, declares the same name.
    Duplicate,
    /// PHP reports a diagnostic when it compiles the file, which each request has to get.
    Diagnostic,
    /// It cannot be compiled.
    Failed,
    /// Its class extends, implements or uses something that is not preloaded.
    Unlinked,
    /// No autoloader has loaded it.
    NotAutoloaded,
    /// It was not tried.
    NotTried,
}

impl PreloadedFile {
    fn new(path: PathBuf, verdict: Verdict) -> Self {
        let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
        Self {
            path,
            verdict,
            bytes,
        }
    }
}

impl Verdict {
    /// Converts a `HOWDAH_VERDICT_*`; any other value means that the root did not try the file.
    fn from_byte(byte: u8) -> Self {
        match byte {
            layout::VERDICT_LOADED => Self::Preloaded,
            layout::VERDICT_MISSING => Self::Missing,
            layout::VERDICT_SYNTAX => Self::Syntax,
            layout::VERDICT_NO_CLASS => Self::NoClass,
            layout::VERDICT_FUNCTION => Self::Function,
            layout::VERDICT_CONSTANT => Self::Constant,
            layout::VERDICT_CONDITION => Self::Condition,
            layout::VERDICT_CODE => Self::Code,
            layout::VERDICT_DUPLICATE => Self::Duplicate,
            layout::VERDICT_DIAGNOSTIC => Self::Diagnostic,
            layout::VERDICT_FAILED => Self::Failed,
            layout::VERDICT_UNLINKED => Self::Unlinked,
            _ => Self::NotTried,
        }
    }

    /// The name in metrics and in the admin API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Preloaded => "preloaded",
            Self::Missing => "missing",
            Self::Syntax => "syntax",
            Self::NoClass => "no_class",
            Self::Function => "function",
            Self::Constant => "constant",
            Self::Condition => "condition",
            Self::Code => "code",
            Self::Duplicate => "duplicate",
            Self::Diagnostic => "diagnostic",
            Self::Failed => "failed",
            Self::Unlinked => "unlinked",
            Self::NotAutoloaded => "not_autoloaded",
            Self::NotTried => "not_tried",
        }
    }
}

impl PreloadResult {
    /// How many files are preloaded; 0 if preloading failed.
    #[must_use]
    pub fn count(&self) -> usize {
        self.files
            .iter()
            .filter(|file| file.verdict == Verdict::Preloaded)
            .count()
    }
}

/// The memory that is passed to the root.
#[derive(Debug)]
pub(crate) struct Plan {
    memory: File,
    files: Vec<PathBuf>,
    left_out: Vec<PathBuf>,
    problem: Option<String>,
}

impl Plan {
    pub(crate) fn new(preload: &Preload) -> std::io::Result<Self> {
        let fit = |path: &&PathBuf| path.is_absolute() && !path.as_os_str().as_bytes().contains(&0);
        let files: Vec<PathBuf> = preload.files.iter().filter(fit).cloned().collect();
        let mut user = preload.user.clone().into_bytes();
        if !user.is_empty() {
            user.push(0);
        }
        let paths: Vec<u8> = files
            .iter()
            .flat_map(|path| path.as_os_str().as_bytes().iter().copied().chain([0]))
            .collect();
        let mode = match preload.mode {
            PreloadMode::Auto => PRELOAD_AUTO,
            PreloadMode::All => PRELOAD_ALL,
        };
        let words = [
            mode,
            files.len() as u32,
            user.len() as u32,
            paths.len() as u32,
        ];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(PRELOAD_SIZE + files.len(), 0);
        bytes.extend_from_slice(&user);
        bytes.extend_from_slice(&paths);
        let memory = File::from(rustix::fs::memfd_create(
            "howdah-preload",
            MemfdFlags::CLOEXEC,
        )?);
        memory.write_all_at(&bytes, 0)?;
        Ok(Self {
            memory,
            files,
            left_out: preload.left_out.clone(),
            problem: preload.problem.clone(),
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }

    /// The result that the root wrote; invalid values are made harmless.
    pub(crate) fn result(self) -> PreloadResult {
        let mut bytes = vec![0; PRELOAD_SIZE + self.files.len()];
        if self.memory.read_exact_at(&mut bytes, 0).is_err() {
            return PreloadResult::default();
        }
        let (head, verdicts) = bytes.split_at(PRELOAD_SIZE);
        let word = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&head[at..at + 4]);
            u32::from_le_bytes(word)
        };
        let message = head[40..]
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default();
        let message = String::from_utf8_lossy(message).trim().to_owned();
        let done = word(16) != 0;
        let left_out = self.left_out.into_iter();
        let left_out = left_out.map(|path| PreloadedFile::new(path, Verdict::NotAutoloaded));
        PreloadResult {
            done,
            foreign: word(20) != 0,
            problem: self
                .problem
                .or((!done && !message.is_empty()).then_some(message)),
            classes: word(24),
            functions: word(28),
            memory: u64::from(word(32)) | u64::from(word(36)) << 32,
            files: (self.files.into_iter().zip(verdicts))
                .map(|(path, byte)| PreloadedFile::new(path, Verdict::from_byte(*byte)))
                .chain(left_out)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_gets_all_options_and_its_replies_are_checked() {
        let preload = Preload {
            mode: PreloadMode::All,
            files: vec!["/a.php".into(), "relative.php".into(), "/b.php".into()],
            user: "web".into(),
            left_out: vec!["/c.php".into()],
            problem: None,
        };
        let plan = Plan::new(&preload).expect("made");
        let size = PRELOAD_SIZE + 2 + 4 + 14;
        let mut bytes = vec![0; size];
        plan.memory.read_exact_at(&mut bytes, 0).expect("written");
        assert_eq!(plan.memory.metadata().expect("its size").len(), size as u64);
        assert_eq!(
            bytes[..16],
            [2, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 14, 0, 0, 0]
        );
        assert_eq!(bytes[PRELOAD_SIZE..], *b"\0\0web\0/a.php\0/b.php\0");

        let mut report = vec![
            1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1,
        ];
        report.resize(24, 0);
        report.extend_from_slice(b"too much\0");
        plan.memory.write_all_at(&report, 16).expect("written");
        plan.memory
            .write_all_at(&[1, 99], PRELOAD_SIZE as u64)
            .expect("written");
        let result = plan.result();
        assert!(result.done && !result.foreign);
        assert_eq!((result.classes, result.memory), (3, (1 << 32) + (1 << 16)));
        assert_eq!(result.problem, None, "it is done");
        let verdicts: Vec<_> = result.files.iter().map(|file| file.verdict).collect();
        let expected = [
            Verdict::Preloaded,
            Verdict::NotTried,
            Verdict::NotAutoloaded,
        ];
        assert_eq!(verdicts, expected);
        assert_eq!(result.count(), 1);
    }
}
