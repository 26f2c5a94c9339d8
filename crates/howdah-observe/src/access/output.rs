//! Where lines go: a stream, or a file that is rolled.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;

use howdah_config::model::{LogFile, LogOutput};

use super::OpenError;
use super::roll::{Rolls, Tell};

/// An open output.
pub(crate) enum Output {
    Stream(Box<dyn Write + Send>),
    File(Box<Rolled>),
}

/// A file with its size.
pub(crate) struct Rolled {
    options: LogFile,
    /// `None` after it was put aside and could not be made anew.
    file: Option<File>,
    size: u64,
    /// The last write broke off in the middle of a line.
    torn: bool,
    rolls: Rolls,
}

/// Whether a person reads what goes there.
pub(crate) fn is_terminal(output: &LogOutput) -> bool {
    match output {
        LogOutput::Stderr => io::stderr().is_terminal(),
        LogOutput::Stdout => io::stdout().is_terminal(),
        LogOutput::Discard | LogOutput::File(_) => false,
    }
}

impl Output {
    pub(crate) fn open(output: &LogOutput, tell: Tell) -> Result<Self, OpenError> {
        Ok(match output {
            LogOutput::Stderr => Self::Stream(Box::new(io::stderr())),
            LogOutput::Stdout => Self::Stream(Box::new(io::stdout())),
            LogOutput::Discard => Self::Stream(Box::new(io::sink())),
            LogOutput::File(options) => {
                let failed = |source| OpenError {
                    path: options.path.clone(),
                    source,
                };
                let (file, size) = open(options).map_err(failed)?;
                Self::File(Box::new(Rolled {
                    options: options.clone(),
                    file: Some(file),
                    size,
                    torn: false,
                    rolls: Rolls::new(tell),
                }))
            }
        })
    }

    /// Bytes that fit before the file is put aside; `None`: no limit.
    pub(super) fn room(&self) -> Option<u64> {
        match self {
            Self::Stream(_) => None,
            Self::File(file) => {
                let roll = file.options.roll.as_ref()?;
                Some(roll.size.saturating_sub(file.size))
            }
        }
    }

    /// Writes whole lines.
    pub(crate) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        match self {
            Self::Stream(stream) => {
                stream.write_all(text)?;
                stream.flush()
            }
            Self::File(file) => file.write(text),
        }
    }
}

impl Rolled {
    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if let Some(roll) = &self.options.roll
            && self.size > 0
            && self.size + text.len() as u64 > roll.size
        {
            self.file = None;
            self.rolls.put_aside(&self.options.path, roll)?;
            // So that one that cannot be made now is tried again, and not put aside.
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
        if std::mem::take(&mut self.torn) {
            file.write_all(b"\n")?;
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

fn open(options: &LogFile) -> io::Result<(File, u64)> {
    let file = File::options()
        .append(true)
        .create(true)
        .mode(options.mode)
        .open(&options.path)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}
