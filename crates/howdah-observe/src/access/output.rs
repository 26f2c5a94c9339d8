//! Outputs of logs: a stream, or a file that is rotated.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use howdah_config::model::{LogFile, LogOutput};
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::OpenError;
use super::roll::{ErrorReporter, Rolls};
use crate::trusted;

/// Mode of a folder that is created for a log.
const FOLDER_MODE: u32 = 0o700;

/// An open output.
pub(crate) enum Output {
    Stream(Box<dyn Write + Send>),
    File(SharedFile),
}

/// A file with its size.
pub(crate) struct RollingFile {
    options: LogFile,
    /// `None` after it was rotated and could not be created again.
    file: Option<File>,
    size: u64,
    /// The last write ended in the middle of a line.
    torn: bool,
    rolls: Rolls,
}

/// A file that has one writer, although several logs of requests and of the server may write to it.
type SharedFile = Arc<Mutex<RollingFile>>;

/// The open files.
static OPEN_FILES: LazyLock<Mutex<HashMap<LogFile, Weak<Mutex<RollingFile>>>>> =
    LazyLock::new(Mutex::default);

pub(crate) fn is_terminal(output: &LogOutput) -> bool {
    match output {
        LogOutput::Stderr => io::stderr().is_terminal(),
        LogOutput::Stdout => io::stdout().is_terminal(),
        LogOutput::Discard | LogOutput::File(_) => false,
    }
}

impl Output {
    pub(crate) fn open(output: &LogOutput, report_error: ErrorReporter) -> Result<Self, OpenError> {
        Ok(match output {
            LogOutput::Stderr => Self::Stream(Box::new(io::stderr())),
            LogOutput::Stdout => Self::Stream(Box::new(io::stdout())),
            LogOutput::Discard => Self::Stream(Box::new(io::sink())),
            LogOutput::File(options) => {
                let file = open_shared(options, report_error);
                Self::File(file.map_err(|source| OpenError {
                    path: options.path.clone(),
                    source,
                })?)
            }
        })
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stream(_) => "standard output or error".to_owned(),
            Self::File(file) => lock(file).options.path.display().to_string(),
        }
    }

    /// Checks whether an output could be opened. A missing file is not created.
    pub(super) fn check(output: &LogOutput) -> Result<(), OpenError> {
        let LogOutput::File(LogFile { path, .. }) = output else {
            return Ok(());
        };
        can_append(path).map_err(|source| OpenError {
            path: path.clone(),
            source,
        })
    }

    /// Bytes until the file is rotated; `None`: no limit.
    pub(super) fn remaining_bytes(&self) -> Option<u64> {
        match self {
            Self::Stream(_) => None,
            Self::File(file) => {
                let file = lock(file);
                let roll = file.options.roll.as_ref()?;
                Some(roll.size.saturating_sub(file.size))
            }
        }
    }

    /// Opens a file again, which may have been moved or removed. The open one stays if that fails.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        match self {
            Self::Stream(_) => Ok(()),
            Self::File(file) => lock(file).reopen(),
        }
    }

    /// Writes complete lines.
    pub(crate) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        match self {
            Self::Stream(stream) => {
                stream.write_all(text)?;
                stream.flush()
            }
            Self::File(file) => lock(file).write(text),
        }
    }
}

/// A panic of a thread that has written leaves at most an incomplete line.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file of these options, opened again if it is open.
fn open_shared(options: &LogFile, report_error: ErrorReporter) -> io::Result<SharedFile> {
    let mut files = lock(&OPEN_FILES);
    files.retain(|_, file| file.strong_count() > 0);
    if let Some(file) = files.get(options).and_then(Weak::upgrade) {
        lock(&file).reopen()?;
        return Ok(file);
    }
    let file = Arc::new(Mutex::new(RollingFile::open(options, report_error)?));
    files.insert(options.clone(), Arc::downgrade(&file));
    Ok(file)
}

impl RollingFile {
    fn open(options: &LogFile, report_error: ErrorReporter) -> io::Result<Self> {
        let (file, size) = open(options)?;
        let mut options = options.clone();
        // Renaming a device such as /dev/null would remove it for everybody.
        if !file.metadata()?.is_file() {
            options.roll = None;
        }
        Ok(Self {
            options,
            file: Some(file),
            size,
            torn: false,
            rolls: Rolls::new(report_error),
        })
    }

    fn reopen(&mut self) -> io::Result<()> {
        let Some(current) = &self.file else {
            return Ok(()); // The next write opens it.
        };
        let current = current.metadata()?;
        if !current.is_file() {
            return Ok(());
        }
        let (file, size) = open(&self.options)?;
        let new = file.metadata()?;
        self.torn &= (new.dev(), new.ino()) == (current.dev(), current.ino());
        (self.file, self.size) = (Some(file), size);
        Ok(())
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if let Some(roll) = &self.options.roll
            && self.size > 0
            && self.size + text.len() as u64 > roll.size
        {
            self.file = None;
            self.rolls.rotate(&self.options.path, roll)?;
            // So that a file that cannot be created now is retried, and not rotated.
            self.size = 0;
        }
        let file = match &mut self.file {
            Some(file) => file,
            empty @ None => {
                let (file, size) = open(&self.options)?;
                (self.size, self.torn) = (size, false);
                empty.insert(file)
            }
        };
        if self.torn {
            file.write_all(b"\n")?;
            self.torn = false;
            self.size += 1;
        }
        let mut rest = text;
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.size += written as u64;
                    rest = &rest[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.torn = rest.len() < text.len();
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

fn can_append(path: &Path) -> io::Result<()> {
    trusted::folder(path)?;
    match path.metadata() {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => return can_access(path, Access::WRITE_OK),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    // Missing folders are created in the first one that exists.
    let path = std::path::absolute(path)?;
    let above = path.ancestors().skip(1).find(|above| above.exists());
    can_access(
        above.unwrap_or(Path::new("/")),
        Access::WRITE_OK | Access::EXEC_OK,
    )
}

/// Checks as the effective user, which opens the file; the real user differs if root has started the server.
fn can_access(path: &Path, access: Access) -> io::Result<()> {
    Ok(accessat(CWD, path, access, AtFlags::EACCESS)?)
}

/// Opens a file. As in Caddy, a missing folder is created, which only its owner can enter.
fn open(options: &LogFile) -> io::Result<(File, u64)> {
    let path = &options.path;
    trusted::place(path)?;
    let append = || howdah_monitor::fs::append(path, options.mode);
    let file = match append() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folder_of(path)?;
            append()?
        }
        opened => opened?,
    };
    let size = file.metadata()?.len();
    Ok((file, size))
}

fn make_folder_of(path: &Path) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    howdah_monitor::fs::create_dir_all(folder, FOLDER_MODE).map_err(|error| {
        let text = format!("folder {} cannot be created: {error}", folder.display());
        io::Error::new(error.kind(), text)
    })
}
