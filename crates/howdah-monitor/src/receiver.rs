//! Files and pipes for the users of pools: they belong to these users from the start, since giving a file away needs a
//! capability.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Gid, Mode, OFlags, Uid};
use rustix::pipe::PipeFlags;

use crate::acting::as_user;

/// A user that files are given to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Receiver {
    /// Number of the user.
    pub uid: u32,
    /// Number of its group.
    pub gid: u32,
}

impl Receiver {
    pub(crate) fn ids(self) -> (Uid, Gid) {
        (Uid::from_raw(self.uid), Gid::from_raw(self.gid))
    }

    /// Creates a file that belongs to it, in a folder that it may write to.
    pub(crate) fn create(self, folder: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
        const NEW: OFlags = OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL);
        let flags = NEW | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (user, group) = self.ids();
        as_user(user, Some(group), || {
            let mode = Mode::RUSR | Mode::WUSR;
            Ok(rustix::fs::openat(folder, name, flags, mode)?)
        })
    }
}

/// A pipe of root that the group can open for writing: it can neither read nor own it.
pub(crate) fn pipe_for(group: u32) -> io::Result<[OwnedFd; 2]> {
    as_user(Uid::ROOT, Some(Gid::from_raw(group)), || {
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        rustix::fs::fchmod(&writer, Mode::WUSR | Mode::WGRP)?;
        Ok([reader, writer])
    })
}
