//! Like `std::fs`. If this process lacks the right, its monitor performs the operation; without a monitor, or for a
//! path that the configuration does not name, the system's error is returned.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Dir, OFlags, XattrFlags};
use rustix::io::Errno;

use crate::acl;
use crate::client::{ask, is_connected};
use crate::protocol::{Operation, Reply, Request};
use crate::receiver::{self, Receiver};
use crate::walk;

/// The second path of an operation that has one path.
const NO_SECOND_PATH: &str = "";

fn or_monitor<T>(own: io::Result<T>, ask: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match own {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => ask().map_err(|other| {
            // A refusal explains less than the system's own error.
            match other.kind() {
                io::ErrorKind::PermissionDenied => error,
                _ => other,
            }
        }),
        own => own,
    }
}

fn open_by_monitor(path: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
    let request = Request {
        path,
        ..Request::of_numbers(Operation::Open, flags.bits(), mode)
    };
    first(ask(&request, None)?)
}

fn done_by_monitor(operation: Operation, path: &Path, other: &Path, mode: u32) -> io::Result<()> {
    let request = Request {
        path,
        other,
        ..Request::of_numbers(operation, 0, mode)
    };
    ask(&request, None).map(drop)
}

/// Lets another user of the configuration read a file of this process's user: by an access control list, and where the
/// file system has none, by giving the file away.
///
/// # Errors
/// Those of `setxattr` and `std::os::unix::fs::fchown`.
pub fn let_read(file: impl AsFd, receiver: Receiver) -> io::Result<()> {
    let list = acl::readable_for(receiver.uid);
    match rustix::fs::fsetxattr(&file, acl::ATTRIBUTE, &list, XattrFlags::empty()) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
        set => return Ok(set?),
    }
    let (user, group) = receiver.ids();
    let own = rustix::fs::fchown(&file, Some(user), Some(group));
    or_monitor(own.map_err(io::Error::from), || {
        let request = Request::of_numbers(Operation::Give, receiver.uid, receiver.gid);
        ask(&request, Some(file.as_fd())).map(drop)
    })
}

/// Creates a file of another configured user, which can move and remove it, in a folder of this process's user in which
/// that user can write. Fails if the name exists.
///
/// # Errors
/// Those of `openat`. Without a monitor, this process must be root.
pub fn create_for(folder: impl AsFd, name: &OsStr, receiver: Receiver) -> io::Result<File> {
    if !is_connected() {
        return receiver.create(folder, name).map(File::from);
    }
    let request = Request {
        path: &Path::new("/").join(name),
        ..Request::of_numbers(Operation::CreateFor, receiver.uid, receiver.gid)
    };
    first(ask(&request, Some(folder.as_fd()))?)
}

/// A pipe that processes of this group can open for writing, as `/dev/stderr` and similar paths. They can neither read
/// nor own it.
///
/// # Errors
/// Those of `pipe`. Without a monitor, this process must be root.
pub fn pipe_for(gid: u32) -> io::Result<(PipeReader, PipeWriter)> {
    let ends = if is_connected() {
        ask(&Request::of_numbers(Operation::PipeFor, 0, gid), None)?.descriptors
    } else {
        receiver::pipe_for(gid)?.into()
    };
    let mut ends = ends.into_iter();
    match (ends.next(), ends.next()) {
        (Some(reader), Some(writer)) => Ok((reader.into(), writer.into())),
        // This process has reached its limit of descriptors.
        _ => Err(Errno::MFILE.into()),
    }
}

fn first(reply: Reply) -> io::Result<File> {
    let file = reply.descriptors.into_iter().next();
    file.map(File::from).ok_or_else(|| Errno::MFILE.into())
}

/// Opens for reading.
///
/// # Errors
/// Those of `std::fs::File::open`.
pub fn open(path: &Path) -> io::Result<File> {
    or_monitor(File::open(path), || {
        if is_connected() {
            return open_by_monitor(path, OFlags::RDONLY, 0);
        }
        // Root to which a service manager has not granted the right to ignore permissions.
        let path = std::path::absolute(path)?;
        Ok(walk::open(&path, OFlags::RDONLY)?.into())
    })
}

/// The bytes of a file.
///
/// # Errors
/// Those of `std::fs::read`.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file.
///
/// # Errors
/// Those of `std::fs::read_to_string`.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Opens for appending; a missing file is created with this mode. Does not wait for the reader of a FIFO.
///
/// # Errors
/// Those of `std::fs::OpenOptions::open`, and that a FIFO has no reader.
pub fn append(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(mode);
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let opened = or_monitor(options.open(path), || open_by_monitor(path, flags, mode));
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO) => io::Error::new(error.kind(), "no process reads this FIFO"),
        _ => error,
    })?;
    // Writes wait, as to a file: a line must not be cut where a pipe is full.
    let flags = rustix::fs::fcntl_getfl(&file)?.difference(OFlags::NONBLOCK);
    rustix::fs::fcntl_setfl(&file, flags)?;
    Ok(file)
}

/// Creates a file for writing; with `replace`, an existing one is truncated.
///
/// # Errors
/// Those of `std::fs::OpenOptions::open`.
pub fn create(path: &Path, mode: u32, replace: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).mode(mode);
    let (own, last) = if replace {
        (options.create(true).truncate(true), OFlags::TRUNC)
    } else {
        (options.create_new(true), OFlags::EXCL)
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | last;
    or_monitor(own.open(path), || open_by_monitor(path, flags, mode))
}

/// Renames a file.
///
/// # Errors
/// Those of `std::fs::rename`.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    or_monitor(std::fs::rename(from, to), || {
        done_by_monitor(Operation::Rename, from, to, 0)
    })
}

/// Creates another name for a file.
///
/// # Errors
/// Those of `std::fs::hard_link`.
pub fn hard_link(original: &Path, link: &Path) -> io::Result<()> {
    or_monitor(std::fs::hard_link(original, link), || {
        done_by_monitor(Operation::Link, original, link, 0)
    })
}

/// Removes a file.
///
/// # Errors
/// Those of `std::fs::remove_file`.
pub fn remove_file(path: &Path) -> io::Result<()> {
    or_monitor(std::fs::remove_file(path), || {
        done_by_monitor(Operation::Remove, path, Path::new(NO_SECOND_PATH), 0)
    })
}

/// Creates a folder with this mode, and missing parents.
///
/// # Errors
/// Those of `std::fs::create_dir_all`.
pub fn create_dir_all(path: &Path, mode: u32) -> io::Result<()> {
    let own = DirBuilder::new().recursive(true).mode(mode).create(path);
    or_monitor(own, || {
        done_by_monitor(Operation::MakeFolder, path, Path::new(NO_SECOND_PATH), mode)
    })
}

/// The names in a folder.
///
/// # Errors
/// Those of `std::fs::read_dir`.
pub fn names(path: &Path) -> io::Result<Vec<OsString>> {
    let own = std::fs::read_dir(path).and_then(|entries| {
        let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
        names.collect()
    });
    or_monitor(own, || {
        let folder = open_by_monitor(path, OFlags::RDONLY | OFlags::DIRECTORY, 0)?;
        let mut names = Vec::new();
        // Not by `Dir::read_from`, which opens the folder again: this process lacks the right.
        for entry in Dir::new(folder)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    use rustix::thread::set_thread_res_uid;

    use super::*;

    const OTHER: Receiver = Receiver {
        uid: 65534,
        gid: 65534,
    };

    #[test]
    fn a_fifo_without_a_reader_is_not_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, 0o600.into(), 0).expect("made");
        let text = append(&path, 0o600).expect_err("refused").to_string();
        assert!(text.contains("no process reads this FIFO"), "{text}");
        let reader = OpenOptions::new().read(true).write(true).open(&path);
        let reader = reader.expect("opened");
        let writer = append(&path, 0o600).expect("it has a reader");
        let flags = rustix::fs::fcntl_getfl(&writer).expect("flags");
        assert!(!flags.contains(OFlags::NONBLOCK) && flags.contains(OFlags::APPEND));
        drop(reader);
    }

    #[test]
    fn one_other_user_can_read_a_file() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let others = std::fs::Permissions::from_mode(0o711);
        std::fs::set_permissions(&directory, others).expect("root may");
        let path = directory.path().join("body");
        let file = create(&path, 0o600, false).expect("made");
        chown(&path, Some(33), Some(33)).expect("root may");
        let_read(&file, OTHER).expect("a file system with lists");
        let opens = |uid: u32| {
            let open = || {
                let user = rustix::fs::Uid::from_raw(uid);
                set_thread_res_uid(user, user, user).expect("root may");
                let own = File::open(&path).is_ok();
                let writes = OpenOptions::new().write(true).open(&path).is_ok();
                (own, writes)
            };
            std::thread::scope(|scope| scope.spawn(open).join().expect("no panic"))
        };
        assert_eq!(opens(OTHER.uid), (true, false));
        assert_eq!(opens(33), (true, true));
        assert_eq!(opens(1000), (false, false));
        let found = std::fs::metadata(&path).expect("it is there");
        assert_eq!((found.uid(), found.gid()), (33, 33));
    }
}
