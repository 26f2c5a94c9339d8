//! As `std::fs`. Where this process lacks the right, its monitor is asked; without a monitor, or for a path that
//! the configuration does not name, the error is that of the system.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Dir, Gid, OFlags, Uid};

use crate::client::ask;
use crate::protocol::{Operation, Request, SAME_USER};

/// The second path of an operation that has one path.
const NO_SECOND_PATH: &str = "";

fn or_monitor<T>(own: io::Result<T>, ask: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match own {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => ask().map_err(|other| {
            // That it is not granted says less than why it was asked for.
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
    let file = ask(&request, None)?.descriptors.into_iter().next();
    file.map(File::from)
        .ok_or_else(|| io::ErrorKind::Other.into())
}

fn done_by_monitor(operation: Operation, path: &Path, other: &Path, mode: u32) -> io::Result<()> {
    let request = Request {
        path,
        other,
        ..Request::of_numbers(operation, 0, mode)
    };
    ask(&request, None).map(drop)
}

/// Gives a file or pipe to another user of the configuration; without `uid`, only to its group.
///
/// # Errors
/// As `std::os::unix::fs::fchown`.
pub fn give(file: impl AsFd, uid: Option<u32>, gid: u32) -> io::Result<()> {
    let (user, group) = (uid.map(Uid::from_raw), Some(Gid::from_raw(gid)));
    let own = rustix::fs::fchown(&file, user, group);
    or_monitor(own.map_err(io::Error::from), || {
        let request = Request::of_numbers(Operation::Give, uid.unwrap_or(SAME_USER), gid);
        ask(&request, Some(file.as_fd())).map(drop)
    })
}

/// Opens for reading.
///
/// # Errors
/// As `std::fs::File::open`.
pub fn open(path: &Path) -> io::Result<File> {
    or_monitor(File::open(path), || {
        open_by_monitor(path, OFlags::RDONLY, 0)
    })
}

/// The bytes of a file.
///
/// # Errors
/// As `std::fs::read`.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file.
///
/// # Errors
/// As `std::fs::read_to_string`.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Opens for appending; the file is made with this mode if there is none.
///
/// # Errors
/// As `std::fs::OpenOptions::open`.
pub fn append(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let own = options.append(true).create(true).mode(mode).open(path);
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    or_monitor(own, || open_by_monitor(path, flags, mode))
}

/// Opens a new file for writing; `replace`: or an old one, emptied.
///
/// # Errors
/// As `std::fs::OpenOptions::open`.
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
/// As `std::fs::rename`.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    or_monitor(std::fs::rename(from, to), || {
        done_by_monitor(Operation::Rename, from, to, 0)
    })
}

/// Makes another name of a file.
///
/// # Errors
/// As `std::fs::hard_link`.
pub fn hard_link(original: &Path, link: &Path) -> io::Result<()> {
    or_monitor(std::fs::hard_link(original, link), || {
        done_by_monitor(Operation::Link, original, link, 0)
    })
}

/// Removes a file.
///
/// # Errors
/// As `std::fs::remove_file`.
pub fn remove_file(path: &Path) -> io::Result<()> {
    or_monitor(std::fs::remove_file(path), || {
        done_by_monitor(Operation::Remove, path, Path::new(NO_SECOND_PATH), 0)
    })
}

/// Makes a folder of this mode, and those above it that are missing.
///
/// # Errors
/// As `std::fs::create_dir_all`.
pub fn create_dir_all(path: &Path, mode: u32) -> io::Result<()> {
    let own = DirBuilder::new().recursive(true).mode(mode).create(path);
    or_monitor(own, || {
        done_by_monitor(Operation::MakeFolder, path, Path::new(NO_SECOND_PATH), mode)
    })
}

/// The names in a folder.
///
/// # Errors
/// As `std::fs::read_dir`.
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
