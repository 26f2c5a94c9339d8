//! What the configuration names, and so is granted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use crate::process::Program;
use crate::walk;

/// Nobody else looks into a folder of the server.
const OURS: u32 = 0o700;

/// What a server may have done for it. All paths are absolute.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Grants {
    /// Files that it reads: the configuration's own, certificates and their keys.
    pub files: BTreeSet<PathBuf>,
    /// Folders that are its own: the storage of certificates, the crash reports.
    pub folders: BTreeSet<PathBuf>,
    /// Files that it appends to, with those beside them that they are renamed to.
    pub logs: BTreeSet<PathBuf>,
    /// Programs that it has started, by their keys.
    pub programs: BTreeMap<u64, Program>,
    /// Users that it gives its own files to.
    pub receivers: BTreeSet<Receiver>,
    /// Its user, whose files they are.
    pub servers: BTreeSet<u32>,
}

/// A user that files are given to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Receiver {
    /// Number of the user.
    pub uid: u32,
    /// Number of its group.
    pub gid: u32,
}

/// A name in an open folder.
#[derive(Debug)]
pub(crate) struct Place<'p> {
    pub(crate) folder: OwnedFd,
    pub(crate) name: &'p OsStr,
}

impl Grants {
    /// Grants all of another too.
    pub(crate) fn extend(&mut self, other: Self) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
        self.logs.extend(other.logs);
        self.programs.extend(other.programs);
        self.receivers.extend(other.receivers);
        self.servers.extend(other.servers);
    }

    /// Gives a file of the server to a receiver; without `uid`, only to its group.
    pub(crate) fn give(&self, file: &OwnedFd, uid: Option<u32>, gid: u32) -> io::Result<()> {
        let named =
            |receiver: &Receiver| receiver.gid == gid && uid.is_none_or(|uid| receiver.uid == uid);
        let found = rustix::fs::fstat(file)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        if !self.receivers.iter().any(named)
            || !self.servers.contains(&found.st_uid)
            || !matches!(kind, FileType::RegularFile | FileType::Fifo)
        {
            return Err(Errno::ACCESS.into());
        }
        let (user, group) = (uid.map(Uid::from_raw), Some(Gid::from_raw(gid)));
        Ok(rustix::fs::fchown(file, user, group)?)
    }

    /// Opens a granted path.
    pub(crate) fn open(&self, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let reads = flags.difference(OFlags::DIRECTORY) == OFlags::RDONLY;
        if reads && self.files.contains(path) {
            return walk::open(path, OFlags::RDONLY);
        }
        if reads && flags.contains(OFlags::DIRECTORY) && self.folders.contains(path) {
            return walk::open(path, OFlags::RDONLY | OFlags::DIRECTORY);
        }
        if reads && flags.contains(OFlags::DIRECTORY) && self.is_folder_of_logs(path) {
            return folder_of_logs(path);
        }
        let place = self.place(path)?;
        walk::open_in(&place.folder, place.name, flags, mode)
    }

    /// The folder of ours that a path is in, and the rest of the path.
    fn storage_of<'p>(&self, path: &'p Path) -> Option<(&Path, &'p Path)> {
        let mut folders = self.folders.iter();
        folders.find_map(|folder| Some((folder.as_path(), path.strip_prefix(folder).ok()?)))
    }

    /// Where something may be made, renamed and removed.
    pub(crate) fn place<'p>(&self, path: &'p Path) -> io::Result<Place<'p>> {
        if let Some((folder, below)) = self.storage_of(path) {
            let folder = walk::open(folder, OFlags::PATH | OFlags::DIRECTORY)?;
            let (folder, name) = walk::beneath(folder, below)?;
            return Ok(Place { folder, name });
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::ACCESS.into());
        };
        if !self.logs.iter().any(|log| is_of_log(log, folder, name)) {
            return Err(Errno::ACCESS.into());
        }
        let folder = folder_of_logs(folder)?;
        Ok(Place { folder, name })
    }

    /// Makes a folder below one of ours, with those between.
    pub(crate) fn make_folder(&self, path: &Path, mode: Mode) -> io::Result<()> {
        let (folder, below) = self.storage_of(path).ok_or(Errno::ACCESS)?;
        if !folder.exists() {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(OURS).create(folder)?;
        }
        let mut folder = walk::open(folder, OFlags::PATH | OFlags::DIRECTORY)?;
        for part in below.components() {
            let Component::Normal(name) = part else {
                return Err(Errno::ACCESS.into());
            };
            match rustix::fs::mkdirat(&folder, name, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            folder = walk::open_in(&folder, name, flags, Mode::empty())?;
        }
        Ok(())
    }

    fn is_folder_of_logs(&self, path: &Path) -> bool {
        self.logs.iter().any(|log| log.parent() == Some(path))
    }
}

/// Whether this is the log, or one that was put aside: `NAME-…`.
fn is_of_log(log: &Path, folder: &Path, name: &OsStr) -> bool {
    let (Some(own), Some(stem)) = (log.file_name(), log.file_stem()) else {
        return false;
    };
    let rest = name
        .as_encoded_bytes()
        .strip_prefix(stem.as_encoded_bytes());
    log.parent() == Some(folder)
        && (name == own || rest.is_some_and(|rest| rest.first() == Some(&b'-')))
}

/// A folder that only root writes to: in another's, a name may become a link to anything.
fn folder_of_logs(path: &Path) -> io::Result<OwnedFd> {
    let folder = walk::open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let found = rustix::fs::fstat(&folder)?;
    if found.st_uid == 0 && found.st_mode & 0o022 == 0 {
        Ok(folder)
    } else {
        Err(Errno::ACCESS.into())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    const WRITE: OFlags = OFlags::WRONLY.union(OFlags::APPEND).union(OFlags::CREATE);

    fn opens(grants: &Grants, path: &Path, flags: OFlags) -> bool {
        grants.open(path, flags, Mode::RUSR | Mode::WUSR).is_ok()
    }

    #[test]
    fn nothing_is_granted_but_what_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        std::fs::create_dir(path("store")).expect("made");
        for name in ["key", "other", "store/inside"] {
            std::fs::write(path(name), "").expect("written");
        }
        symlink(path("other"), path("store/link")).expect("a link");
        let grants = Grants {
            files: [path("key")].into(),
            folders: [path("store")].into(),
            ..Grants::default()
        };
        assert!(opens(&grants, &path("key"), OFlags::RDONLY));
        assert!(!opens(&grants, &path("key"), WRITE));
        assert!(!opens(
            &grants,
            &path("key"),
            OFlags::RDONLY | OFlags::TRUNC
        ));
        assert!(!opens(&grants, &path("other"), OFlags::RDONLY));
        let list = OFlags::RDONLY | OFlags::DIRECTORY;
        assert!(opens(&grants, &path("store"), list));
        assert!(!opens(&grants, directory.path(), list));
        assert!(opens(&grants, &path("store/inside"), OFlags::RDONLY));
        assert!(opens(&grants, &path("store/new"), WRITE));
        for refused in ["store/link", "store/../other", "store", "storehouse"] {
            assert!(!opens(&grants, &path(refused), OFlags::RDONLY), "{refused}");
        }
        let mode = Mode::RWXU;
        grants.make_folder(&path("store/a/b"), mode).expect("made");
        grants.make_folder(&path("store/a/b"), mode).expect("there");
        assert!(path("store/a/b").is_dir());
        std::fs::remove_dir_all(path("store")).expect("removed");
        grants.make_folder(&path("store/a"), mode).expect("made");
        assert!(path("store/a").is_dir());
        assert!(grants.make_folder(&path("a"), mode).is_err());
        assert!(grants.make_folder(&path("store/../a"), mode).is_err());
    }

    #[test]
    fn files_of_the_server_are_given_to_users_that_are_named() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let grants = Grants {
            receivers: [Receiver {
                uid: 65534,
                gid: 12,
            }]
            .into(),
            servers: [33].into(),
            ..Grants::default()
        };
        let file = |name: &str, owner: u32| -> OwnedFd {
            let path = directory.path().join(name);
            let file = std::fs::File::create(&path).expect("made");
            chown(&path, Some(owner), Some(owner)).expect("root may");
            file.into()
        };
        let owner = |file: &OwnedFd| {
            let found = rustix::fs::fstat(file).expect("it is there");
            (found.st_uid, found.st_gid)
        };
        let own = file("own", 33);
        for (uid, gid) in [(Some(0), 12), (Some(65534), 0), (Some(1000), 12), (None, 0)] {
            assert!(grants.give(&own, uid, gid).is_err(), "{uid:?}:{gid}");
        }
        assert_eq!(owner(&own), (33, 33));
        grants.give(&own, None, 12).expect("its group");
        assert_eq!(owner(&own), (33, 12));
        grants.give(&own, Some(65534), 12).expect("named");
        assert_eq!(owner(&own), (65534, 12));
        // It is not a file of the server any more; others never were.
        assert!(grants.give(&own, Some(65534), 12).is_err());
        assert!(grants.give(&file("root", 0), Some(65534), 12).is_err());
        let folder = std::fs::File::open(directory.path()).expect("opened");
        chown(directory.path(), Some(33), None).expect("root may");
        assert!(grants.give(&folder.into(), Some(65534), 12).is_err());
    }

    #[test]
    fn logs_are_written_in_folders_of_roots_alone() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let grants = Grants {
            logs: [path("access.log")].into(),
            ..Grants::default()
        };
        assert!(opens(&grants, &path("access.log"), WRITE));
        assert!(opens(&grants, &path("access-2026.log.gz"), WRITE));
        for other in ["accessory", "other.log", "access.log.d/x", "access"] {
            assert!(!opens(&grants, &path(other), WRITE), "{other}");
        }
        let list = OFlags::RDONLY | OFlags::DIRECTORY;
        assert!(opens(&grants, directory.path(), list));
        symlink("/etc/hostname", path("access-link")).expect("a link");
        assert!(!opens(&grants, &path("access-link"), WRITE));
        chown(directory.path(), Some(33), None).expect("root may");
        assert!(!opens(&grants, &path("access.log"), WRITE));
        chown(directory.path(), Some(0), None).expect("root may");
        let open_to_all = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(directory.path(), open_to_all).expect("root may");
        assert!(!opens(&grants, &path("access.log"), WRITE));
    }
}
