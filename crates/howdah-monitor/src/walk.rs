//! Opening paths as root, in a file system where others can make symbolic links.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::acting::retry_as_owner;

const LINKS_MAX: u32 = 40;
const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const SAFE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY)
    .union(OFlags::NONBLOCK); // does not wait for the writer of a FIFO

/// Opens the target of an absolute path of the configuration. A link of root is followed; a link of a different user
/// only to a target that this user also owns.
pub(crate) fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let root = || rustix::fs::open("/", PLACE | OFlags::DIRECTORY, Mode::empty());
    let mut left: Vec<OsString> = names(path);
    left.reverse();
    let mut folder = root()?;
    let mut owners = BTreeSet::new();
    let mut links = 0;
    while let Some(name) = left.pop() {
        let place = look_up(&folder, &name, OFlags::empty())?;
        let found = rustix::fs::fstat(&place)?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            links += 1;
            if links > LINKS_MAX {
                return Err(Errno::LOOP.into());
            }
            if found.st_uid != 0 {
                owners.insert(found.st_uid);
            }
            let target = rustix::fs::readlinkat(&place, "", Vec::new())?;
            let target = OsString::from_vec(target.into_bytes());
            let target = Path::new(&target);
            if target.is_absolute() {
                folder = root()?;
            }
            left.extend(names(target).into_iter().rev());
        } else if left.is_empty() {
            if owners.iter().any(|owner| *owner != found.st_uid) {
                return Err(Errno::ACCESS.into());
            }
            return reopen(&place, flags);
        } else {
            folder = place;
        }
    }
    reopen(&folder, flags)
}

/// A name in a folder, opened as a path only: its file need not be readable.
pub(crate) fn look_up(folder: &OwnedFd, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    retry_as_owner(folder, || {
        Ok(rustix::fs::openat(
            folder,
            name,
            PLACE | flags,
            Mode::empty(),
        )?)
    })
}

/// Opens the file of such a descriptor, which is not a link. The kernel's link to it leads to this file even if its
/// name now belongs to another one, and the owner of the file need not be able to search the folder.
fn reopen(place: &OwnedFd, flags: OFlags) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    let flags = (flags | SAFE).difference(OFlags::NOFOLLOW);
    retry_as_owner(place, || Ok(rustix::fs::open(&path, flags, Mode::empty())?))
}

fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}

/// The folder that contains `relative` below another, without following links, and its name there.
pub(crate) fn beneath(mut folder: OwnedFd, relative: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let refused = || io::Error::from(Errno::ACCESS);
    let mut parts = relative.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(refused());
        };
        if parts.peek().is_none() {
            return Ok((folder, name));
        }
        folder = look_up(&folder, name, OFlags::DIRECTORY)?;
    }
    Err(refused())
}

/// Opens a name in a folder that is not a link.
pub(crate) fn open_in(
    folder: &OwnedFd,
    name: &OsStr,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(folder, name, flags | SAFE, mode)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    #[test]
    fn links_lead_no_further_than_their_owners_reach() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        std::fs::create_dir(path("a")).expect("made");
        std::fs::write(path("a/root"), "").expect("written");
        std::fs::write(path("a/other"), "").expect("written");
        lchown(path("a/other"), Some(33), None).expect("root may");
        let link = |target: &str, name: &str, owner: u32| {
            symlink(target, path(name)).expect("a link");
            lchown(path(name), Some(owner), None).expect("root may");
        };
        link("a/root", "root-to-root", 0);
        link("a/other", "other-to-other", 33);
        link("a/root", "other-to-root", 33);
        link("other-to-root", "root-to-other-to-root", 0);
        link("a", "folder", 33);
        link("loop", "loop", 0);
        link(path("a/root").to_str().expect("UTF-8"), "absolute", 0);
        let opens = |name: &str| open(&path(name), OFlags::RDONLY).is_ok();
        for granted in [
            "a/root",
            "root-to-root",
            "other-to-other",
            "absolute",
            "a/../a/root",
        ] {
            assert!(opens(granted), "{granted}");
        }
        for refused in [
            "other-to-root",
            "root-to-other-to-root",
            "folder/root",
            "loop",
            "none",
        ] {
            assert!(!opens(refused), "{refused}");
        }
        let below = |relative: &str| {
            let folder = open(directory.path(), OFlags::PATH).expect("a folder");
            beneath(folder, Path::new(relative))
                .and_then(|(folder, name)| open_in(&folder, name, OFlags::RDONLY, Mode::empty()))
                .is_ok()
        };
        assert!(below("a/root"));
        for refused in [
            "folder/root",
            "root-to-root",
            "a/../a/root",
            "/etc/passwd",
            "",
            "a/none",
        ] {
            assert!(!below(refused), "{refused}");
        }
    }
}
