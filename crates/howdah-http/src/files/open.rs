//! Opening what a path names.

use std::fs::File;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// What a path names.
pub(super) enum Opened {
    File(RegularFile),
    Directory,
    /// A FIFO, a device, a socket.
    Other,
}

/// An open file with what was true when it was opened.
pub(super) struct RegularFile {
    pub(super) file: File,
    pub(super) size: u64,
    /// Seconds and nanoseconds since 1970.
    pub(super) modified: (i64, u64),
}

/// Opens for reading. Never waits for the writer of a FIFO.
pub(super) fn open(path: &str) -> Result<Opened, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = loop {
        match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::INTR) => {}
            result => break result?,
        }
    };
    let stat = rustix::fs::fstat(&file)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Opened::File(RegularFile {
            file: file.into(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime, stat.st_mtime_nsec),
        }),
        FileType::Directory => Opened::Directory,
        _ => Opened::Other,
    })
}
