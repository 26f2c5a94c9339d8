//! The paths, programs and users that the configuration names and thereby grants.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::acting::{as_user, owner, retry_as_owner};
use crate::process::Program;
use crate::receiver::{Receiver, pipe_for};
use crate::walk;

/// No other user can read a folder of the server.
const OURS: u32 = 0o700;

/// Operations that the monitor does for the server. All paths are absolute.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Grants {
    /// Files that it reads: the configuration's own, certificates and their keys.
    pub files: BTreeSet<PathBuf>,
    /// Folders of the server: the storage of certificates, the crash reports.
    pub folders: BTreeSet<PathBuf>,
    /// Files that it appends to, with their rotated files beside them.
    pub logs: BTreeSet<PathBuf>,
    /// Programs that the monitor may start, by their keys.
    pub programs: BTreeMap<u64, Program>,
    /// Users that may receive files of the server.
    pub receivers: BTreeSet<Receiver>,
    /// Its user, whose files they are.
    pub servers: BTreeSet<u32>,
}

/// A name in an open folder.
#[derive(Debug)]
pub(crate) struct Place<'p> {
    pub(crate) folder: OwnedFd,
    pub(crate) name: &'p OsStr,
    rights: Rights,
}

/// The rights with which a folder is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rights {
    /// Root's, and where root has none, those of the folder's owner.
    Root,
    /// Those of the folder's owner, since a name in it could be a link to a file that only root may write.
    Owner,
}

impl Place<'_> {
    /// Runs an operation on the name.
    pub(crate) fn act<T>(&self, work: impl Fn() -> io::Result<T>) -> io::Result<T> {
        match self.rights {
            Rights::Root => retry_as_owner(&self.folder, work),
            Rights::Owner => as_user(owner(&self.folder)?, None, work),
        }
    }
}

impl Grants {
    /// Adds all grants of another one.
    pub(crate) fn extend(&mut self, other: Self) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
        self.logs.extend(other.logs);
        self.programs.extend(other.programs);
        self.receivers.extend(other.receivers);
        self.servers.extend(other.servers);
    }

    /// Gives a file of the server to a receiver.
    pub(crate) fn give(&self, file: &OwnedFd, receiver: Receiver) -> io::Result<()> {
        let found = rustix::fs::fstat(file)?;
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        if !self.receivers.contains(&receiver) || !self.servers.contains(&found.st_uid) || !is_file
        {
            return Err(Errno::ACCESS.into());
        }
        let (user, group) = receiver.ids();
        Ok(rustix::fs::fchown(file, Some(user), Some(group))?)
    }

    /// Creates a file of a receiver in a folder of the server.
    pub(crate) fn create_for(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        receiver: Receiver,
    ) -> io::Result<OwnedFd> {
        let owner = rustix::fs::fstat(folder)?.st_uid;
        if !self.receivers.contains(&receiver) || !self.servers.contains(&owner) {
            return Err(Errno::ACCESS.into());
        }
        receiver.create(folder, name)
    }

    /// A pipe that processes of a receiver's group can open for writing.
    pub(crate) fn pipe_for(&self, group: u32) -> io::Result<[OwnedFd; 2]> {
        let mut receivers = self.receivers.iter();
        if !receivers.any(|receiver| receiver.gid == group) {
            return Err(Errno::ACCESS.into());
        }
        pipe_for(group)
    }

    /// Opens a path that the configuration grants. Any other path is `EACCES`.
    pub(crate) fn open(&self, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let reads = flags.difference(OFlags::DIRECTORY) == OFlags::RDONLY;
        if reads && self.files.contains(path) {
            return walk::open(path, OFlags::RDONLY);
        }
        if reads && flags.contains(OFlags::DIRECTORY) && self.folders.contains(path) {
            return walk::open(path, OFlags::RDONLY | OFlags::DIRECTORY);
        }
        if reads && flags.contains(OFlags::DIRECTORY) && self.is_folder_of_logs(path) {
            return self.folder_of_logs(path);
        }
        let place = self.place(path)?;
        place.act(|| walk::open_in(&place.folder, place.name, flags, mode))
    }

    /// The folder of ours that contains a path, and the rest of the path.
    fn storage_of<'p>(&self, path: &'p Path) -> Option<(&Path, &'p Path)> {
        let mut folders = self.folders.iter();
        folders.find_map(|folder| Some((folder.as_path(), path.strip_prefix(folder).ok()?)))
    }

    /// A place in which files may be created, renamed and removed.
    pub(crate) fn place<'p>(&self, path: &'p Path) -> io::Result<Place<'p>> {
        if let Some((folder, below)) = self.storage_of(path) {
            let folder = walk::open(folder, OFlags::PATH | OFlags::DIRECTORY)?;
            let (folder, name) = walk::beneath(folder, below)?;
            return Ok(Place {
                folder,
                name,
                rights: Rights::Root,
            });
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::ACCESS.into());
        };
        if !self.logs.iter().any(|log| is_of_log(log, folder, name)) {
            return Err(Errno::ACCESS.into());
        }
        Ok(Place {
            folder: self.folder_of_logs(folder)?,
            name,
            rights: Rights::Owner,
        })
    }

    /// A folder that belongs to root or to a user without PHP, and to which no other user can write: others could
    /// replace a name by a link to anything.
    fn folder_of_logs(&self, path: &Path) -> io::Result<OwnedFd> {
        let folder = walk::open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let found = rustix::fs::fstat(&folder)?;
        let mut receivers = self.receivers.iter().map(|receiver| receiver.uid);
        let runs_php = receivers.any(|user| user == found.st_uid);
        if runs_php || self.servers.contains(&found.st_uid) || found.st_mode & 0o022 != 0 {
            return Err(Errno::ACCESS.into());
        }
        Ok(folder)
    }

    /// Creates a folder below one of the server's, or that of a log, with missing parents.
    pub(crate) fn make_folder(&self, path: &Path, mode: Mode) -> io::Result<()> {
        if self.is_folder_of_logs(path) {
            return self.make_folder_of_logs(path, mode);
        }
        let (folder, below) = self.storage_of(path).ok_or(Errno::ACCESS)?;
        if !folder.exists() {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(OURS);
            let above = folder.ancestors().find(|above| above.is_dir());
            let above = walk::open(above.unwrap_or(folder), OFlags::PATH | OFlags::DIRECTORY)?;
            retry_as_owner(above, || builder.create(folder))?;
        }
        let mut folder = walk::open(folder, OFlags::PATH | OFlags::DIRECTORY)?;
        for part in below.components() {
            let Component::Normal(name) = part else {
                return Err(Errno::ACCESS.into());
            };
            let result = retry_as_owner(&folder, || Ok(rustix::fs::mkdirat(&folder, name, mode)?));
            match result {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            folder = walk::look_up(&folder, name, OFlags::DIRECTORY)?;
        }
        Ok(())
    }

    /// Each folder is created by the owner of the one above it, which must be fit for logs too.
    fn make_folder_of_logs(&self, path: &Path, mode: Mode) -> io::Result<()> {
        let above = path.ancestors().find(|above| above.is_dir());
        let above = above.ok_or(Errno::NOENT)?;
        let below = path.strip_prefix(above).map_err(|_| Errno::INVAL)?;
        let mut folder = self.folder_of_logs(above)?;
        for part in below.components() {
            let Component::Normal(name) = part else {
                return Err(Errno::ACCESS.into());
            };
            as_user(owner(&folder)?, None, || {
                Ok(rustix::fs::mkdirat(&folder, name, mode)?)
            })?;
            folder = walk::look_up(&folder, name, OFlags::DIRECTORY)?;
        }
        Ok(())
    }

    fn is_folder_of_logs(&self, path: &Path) -> bool {
        self.logs.iter().any(|log| log.parent() == Some(path))
    }
}

/// Whether this is the log, or a rotated one: `NAME-…`.
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    use super::*;
    use crate::acting::drop_capabilities;

    const WRITE: OFlags = OFlags::WRONLY.union(OFlags::APPEND).union(OFlags::CREATE);

    fn opens(grants: &Grants, path: &Path, flags: OFlags) -> bool {
        grants.open(path, flags, Mode::RUSR | Mode::WUSR).is_ok()
    }

    #[test]
    fn only_configured_paths_are_granted() {
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

    const OTHER: Receiver = Receiver {
        uid: 65534,
        gid: 12,
    };

    fn owner_of(file: &OwnedFd) -> (u32, u32) {
        let found = rustix::fs::fstat(file).expect("it is there");
        (found.st_uid, found.st_gid)
    }

    fn for_other() -> Grants {
        Grants {
            receivers: [OTHER].into(),
            servers: [33].into(),
            ..Grants::default()
        }
    }

    #[test]
    fn files_of_the_server_are_given_to_users_that_are_named() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let grants = for_other();
        let file = |name: &str, owner: u32| -> OwnedFd {
            let path = directory.path().join(name);
            let file = std::fs::File::create(&path).expect("made");
            chown(&path, Some(owner), Some(owner)).expect("root may");
            file.into()
        };
        let own = file("own", 33);
        for (uid, gid) in [(0, 12), (65534, 0), (1000, 12)] {
            let receiver = Receiver { uid, gid };
            assert!(grants.give(&own, receiver).is_err(), "{uid}:{gid}");
        }
        assert_eq!(owner_of(&own), (33, 33));
        grants.give(&own, OTHER).expect("named");
        assert_eq!(owner_of(&own), (65534, 12));
        // It no longer belongs to the server, and the other files never did.
        assert!(grants.give(&own, OTHER).is_err());
        assert!(grants.give(&file("root", 0), OTHER).is_err());
        let folder = std::fs::File::open(directory.path()).expect("opened");
        chown(directory.path(), Some(33), None).expect("root may");
        assert!(grants.give(&folder.into(), OTHER).is_err());
    }

    #[test]
    fn files_and_pipes_are_made_for_users_that_are_named() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let open: OwnedFd = std::fs::File::open(directory.path()).expect("open").into();
        let grants = for_other();
        let make = |name: &str, receiver| grants.create_for(&open, OsStr::new(name), receiver);
        let shared = std::fs::Permissions::from_mode(0o733);
        std::fs::set_permissions(directory.path(), shared).expect("root may");
        assert!(make("a", OTHER).is_err(), "a folder of root's");
        chown(directory.path(), Some(33), None).expect("root may");
        assert_eq!(owner_of(&make("a", OTHER).expect("named")), (65534, 12));
        assert!(make("a", OTHER).is_err(), "it is there");
        std::os::unix::fs::symlink("/tmp/elsewhere", directory.path().join("b")).expect("a link");
        assert!(make("b", OTHER).is_err(), "a link");
        let root = Receiver { uid: 0, gid: 12 };
        assert!(make("c", root).is_err(), "not named");

        let [_, writer] = grants.pipe_for(12).expect("named");
        assert_eq!(owner_of(&writer), (0, 12));
        let mode = rustix::fs::fstat(&writer).expect("it is there").st_mode;
        assert_eq!(mode & 0o777, 0o220);
        assert!(grants.pipe_for(33).is_err(), "not named");
    }

    fn without_capabilities(work: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                drop_capabilities();
                work();
            });
            thread.join().expect("no panic");
        });
    }

    #[test]
    fn root_acts_as_the_owner_where_it_lacks_the_rights() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let mode = |name: &str, mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path(name), mode).expect("root may");
            chown(path(name), Some(33), Some(33)).expect("root may");
        };
        for folder in ["private", "store", "logs"] {
            std::fs::create_dir(path(folder)).expect("made");
        }
        std::fs::write(path("private/key"), "key").expect("written");
        std::fs::write(path("private/root"), "root").expect("written");
        std::fs::write(path("store/old"), "old").expect("written");
        for name in ["private", "store", "store/old"] {
            mode(name, 0o700);
        }
        mode("private/key", 0o400);
        mode("logs", 0o755);
        let only_root = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path("private/root"), only_root).expect("root may");
        let grants = Grants {
            files: [path("private/key"), path("private/root")].into(),
            folders: [path("store")].into(),
            logs: [path("logs/access.log")].into(),
            ..Grants::default()
        };
        let is_owner = |name: &str| {
            let found = std::fs::symlink_metadata(path(name)).expect("it is there");
            (found.uid(), found.gid())
        };
        without_capabilities(|| {
            assert!(std::fs::read(path("private/key")).is_err());
            for name in ["private/key", "private/root", "store/old"] {
                assert!(opens(&grants, &path(name), OFlags::RDONLY), "{name}");
            }
            assert!(opens(&grants, &path("store/new"), WRITE));
            let folder = path("store/a/b");
            grants
                .make_folder(&folder, Mode::RWXU)
                .expect("the owner may");
            assert!(opens(&grants, &path("store/a/b/c"), WRITE));
            let old = path("store/old");
            let place = grants.place(&old).expect("granted");
            let flags = rustix::fs::AtFlags::empty();
            let remove = || Ok(rustix::fs::unlinkat(&place.folder, place.name, flags)?);
            place.act(remove).expect("the owner may");
            assert!(opens(&grants, &path("logs/access.log"), WRITE));
            // It is root again.
            assert!(rustix::process::geteuid().is_root());
        });
        for name in ["store/new", "store/a/b/c", "logs/access.log"] {
            assert_eq!(is_owner(name), (33, 0), "{name}");
        }
        assert!(!path("store/old").exists());
    }

    #[test]
    fn no_owner_of_a_folder_has_root_write_to_a_log() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let grants = Grants {
            logs: [path("logs/access.log")].into(),
            receivers: [OTHER].into(),
            ..Grants::default()
        };
        std::fs::create_dir(path("logs")).expect("made");
        std::fs::write(path("secret"), "").expect("written");
        std::fs::hard_link(path("secret"), path("logs/access.log")).expect("one of root's");
        let only_root = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path("secret"), only_root).expect("root may");
        chown(path("logs"), Some(33), None).expect("root may");
        assert!(!opens(&grants, &path("logs/access.log"), WRITE));
        std::fs::remove_file(path("logs/access.log")).expect("root may");
        assert!(opens(&grants, &path("logs/access.log"), WRITE));
        // PHP's users could write what the server reports.
        chown(path("logs"), Some(OTHER.uid), None).expect("root may");
        assert!(!opens(&grants, &path("logs/access.log"), WRITE));
    }

    #[test]
    fn logs_are_written_where_only_the_owner_writes() {
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
        let open_to_all = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(directory.path(), open_to_all).expect("root may");
        assert!(!opens(&grants, &path("access.log"), WRITE));
    }

    #[test]
    fn folders_of_logs_are_created_where_only_the_owner_writes() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let grants = Grants {
            logs: [path("a/b/access.log"), path("c/access.log")].into(),
            receivers: [OTHER].into(),
            ..Grants::default()
        };
        let makes = |name: &str| grants.make_folder(&path(name), Mode::from(0o700)).is_ok();
        assert!(!makes("a"), "the folder of no log");
        assert!(makes("a/b"));
        for made in ["a", "a/b"] {
            let made = std::fs::metadata(path(made)).expect("made");
            assert_eq!((made.mode() & 0o777, made.uid()), (0o700, 0));
        }
        assert!(opens(&grants, &path("a/b/access.log"), WRITE));
        chown(directory.path(), Some(OTHER.uid), None).expect("root may");
        assert!(!makes("c"), "where PHP could replace it");
    }
}
