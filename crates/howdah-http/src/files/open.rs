//! Opening what a path names.

use std::fs::File;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::cache::Identity;

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
    pub(super) identity: Identity,
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
            identity: Identity::new(&stat),
        }),
        FileType::Directory => Opened::Directory,
        _ => Opened::Other,
    })
}
