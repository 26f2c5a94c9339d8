//! Symbolic links below a root: whether they are followed, and how a path with links is opened.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};
use std::sync::Arc;

use howdah_config::model::Symlinks;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::message::path::on_disk;

/// Links in one path: the kernel's limit.
const LINKS_MAX: u32 = 40;
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const LINK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Which symbolic links are followed.
#[derive(Debug, Clone)]
pub(super) struct LinkPolicy {
    symlinks: Symlinks,
    /// Users of PHP pools other than the server's user.
    php_users: Arc<[u32]>,
}

/// The policy for one path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links<'p> {
    pub(super) policy: &'p LinkPolicy,
    /// Length of the root in the path. Links in the root are always followed.
    pub(super) root: usize,
}

impl LinkPolicy {
    pub(super) fn new(symlinks: Symlinks, php_users: Arc<[u32]>) -> Self {
        Self {
            symlinks,
            php_users,
        }
    }

    /// Whether no link has to be checked.
    pub(super) fn follows_all(&self) -> bool {
        match self.symlinks {
            Symlinks::Follow => true,
            Symlinks::Auto => self.php_users.is_empty(),
            Symlinks::IfOwnerMatch | Symlinks::Off => false,
        }
    }

    /// Whether contents may be cached by path. A cached file may be sent although a link has replaced it, which is
    /// acceptable except for `off` and `if_owner_match`: with these, each request is checked.
    pub(super) fn may_cache(&self) -> bool {
        matches!(self.symlinks, Symlinks::Follow | Symlinks::Auto)
    }

    /// Whether a link owned by the user `link` may point to a file owned by the user `target`.
    fn permits(&self, link: u32, target: u32) -> bool {
        match self.symlinks {
            Symlinks::Follow => true,
            Symlinks::Auto => link == target || !self.php_users.contains(&link),
            Symlinks::IfOwnerMatch => link == target,
            Symlinks::Off => false,
        }
    }

    /// Whether the link at `path` is followed.
    pub(super) fn follows(&self, path: &Path) -> bool {
        // Owners are only looked up where they matter.
        match self.symlinks {
            Symlinks::Off => return false,
            _ if self.follows_all() => return true,
            _ => {}
        }
        let owner = |flags| rustix::fs::statat(CWD, path, flags).map(|stat| stat.st_uid);
        let (Ok(link), Ok(target)) = (owner(AtFlags::SYMLINK_NOFOLLOW), owner(AtFlags::empty()))
        else {
            return false;
        };
        self.permits(link, target)
    }

    /// Opens the path `below` the folder `root`. A link that is not followed is [`Errno::ACCESS`].
    pub(super) fn open_below(
        &self,
        root: &str,
        below: &str,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let root = if root.is_empty() { "/" } else { root };
        let root = retry(|| rustix::fs::open(&*on_disk(root), FOLDER, Mode::empty()))?;
        let below = below.trim_matches('/');
        let below = if below.is_empty() { "." } else { below };
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let name = on_disk(below);
        match retry(|| rustix::fs::openat2(&root, &*name, flags, Mode::empty(), resolve)) {
            // There is a link, or the kernel or a sandbox does not support the call: open one name after the other.
            Err(Errno::LOOP | Errno::NOSYS | Errno::PERM) => self.walk(&root, below, flags),
            opened => opened,
        }
    }

    fn walk(&self, root: &OwnedFd, below: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        // Paths are normalised before they get here.
        if below.split('/').any(|name| name == "..") {
            return Err(Errno::ACCESS);
        }
        let mut walk = Walk {
            policy: self,
            links: 0,
        };
        walk.open(root, Path::new(&*on_disk(below)), flags)
    }
}

/// Opens one name after the other, so that each link is checked.
struct Walk<'p> {
    policy: &'p LinkPolicy,
    links: u32,
}

impl Walk<'_> {
    fn open(&mut self, folder: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let (parents, name) = match (path.parent(), path.file_name()) {
            (Some(parents), Some(name)) => (parents, name),
            // It ends in `..`, or is the root.
            _ => (path, OsStr::new(".")),
        };
        let mut folder = open_at(folder, OsStr::new("."), FOLDER)?;
        for component in parents.components() {
            folder = match component {
                Component::RootDir => open_at(&folder, OsStr::new("/"), FOLDER)?,
                Component::ParentDir => open_at(&folder, OsStr::new(".."), FOLDER)?,
                Component::Normal(name) => self.step(&folder, name, FOLDER)?,
                Component::CurDir | Component::Prefix(_) => folder,
            };
        }
        self.step(&folder, name, flags)
    }

    fn step(&mut self, folder: &OwnedFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        let error = match open_at(folder, name, flags | OFlags::NOFOLLOW) {
            // The error for a link, which depends on the flags.
            Err(error @ (Errno::LOOP | Errno::NOTDIR)) => error,
            opened => return opened,
        };
        let link = open_at(folder, name, LINK)?;
        let found = rustix::fs::fstat(&link)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
            return Err(error);
        }
        if self.policy.symlinks == Symlinks::Off {
            return Err(Errno::ACCESS);
        }
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Errno::LOOP);
        }
        let target = rustix::fs::readlinkat(&link, "", Vec::new())?;
        let target = OsString::from_vec(target.into_bytes());
        let opened = self.open(folder, Path::new(&target), flags)?;
        let owner = rustix::fs::fstat(&opened)?.st_uid;
        if self.policy.permits(found.st_uid, owner) {
            Ok(opened)
        } else {
            Err(Errno::ACCESS)
        }
    }
}

fn open_at(folder: &OwnedFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    retry(|| rustix::fs::openat(folder.as_fd(), name, flags, Mode::empty()))
}

pub(super) fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            // `openat2` requests a retry when something was renamed meanwhile.
            Err(Errno::INTR | Errno::AGAIN) => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::unix::fs::{lchown, symlink};

    use super::*;
    use crate::answer::files::open::READ;

    const ROOT: u32 = 0;
    const PHP: u32 = 33;
    const OTHER: u32 = 34;

    fn contents(file: OwnedFd) -> String {
        let mut text = String::new();
        File::from(file).read_to_string(&mut text).expect("UTF-8");
        text
    }

    /// Reads a file in each possible way: its contents or the error.
    fn read_below(root: &str, below: &str, policy: &LinkPolicy) -> Result<String, Errno> {
        let by_kernel = policy.open_below(root, below, READ).map(contents);
        let folder = rustix::fs::open(root, FOLDER, Mode::empty()).expect("a folder");
        let by_name = policy
            .walk(&folder, below.trim_matches('/'), READ)
            .map(contents);
        assert_eq!(by_kernel, by_name, "{below}");
        by_kernel
    }

    fn owned(text: Result<&str, Errno>) -> Result<String, Errno> {
        text.map(str::to_owned)
    }

    #[test]
    fn links_are_followed_as_far_as_they_may() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("release/a")).expect("created");
        symlink("release", path("current")).expect("a link");
        fs::write(path("secret"), "secret").expect("written");
        fs::write(path("release/a/file"), "file").expect("written");
        let absolute = path("secret");
        for (target, link) in [
            ("a", "folder"),
            ("a/file", "same"),
            ("../secret", "outside"),
            (absolute.to_str().expect("UTF-8"), "absolute"),
            ("a/..", "here"),
            ("same", "same-again"),
            ("void", "nowhere"),
            ("circle", "circle"),
        ] {
            symlink(target, path("release").join(link)).expect("a link");
        }
        let root = path("current").to_str().expect("UTF-8").to_owned();
        let table = [
            ("/a/file", Ok("file"), Ok("file")),
            ("/same", Ok("file"), Err(Errno::ACCESS)),
            ("/same-again", Ok("file"), Err(Errno::ACCESS)),
            ("/folder/file", Ok("file"), Err(Errno::ACCESS)),
            ("/here/a/file", Ok("file"), Err(Errno::ACCESS)),
            ("/outside", Ok("secret"), Err(Errno::ACCESS)),
            ("/absolute", Ok("secret"), Err(Errno::ACCESS)),
            ("/nowhere", Err(Errno::NOENT), Err(Errno::ACCESS)),
            ("/circle", Err(Errno::LOOP), Err(Errno::ACCESS)),
            ("/none", Err(Errno::NOENT), Err(Errno::NOENT)),
            ("/a/file/x", Err(Errno::NOTDIR), Err(Errno::NOTDIR)),
        ];
        for (below, some, none) in table {
            let read = |symlinks| read_below(&root, below, &LinkPolicy::new(symlinks, [].into()));
            assert_eq!(read(Symlinks::Follow), owned(some), "{below}");
            assert_eq!(read(Symlinks::Auto), owned(some), "{below}");
            assert_eq!(read(Symlinks::IfOwnerMatch), owned(some), "{below}");
            assert_eq!(read(Symlinks::Off), owned(none), "{below}");
        }
    }

    #[test]
    fn links_of_others_lead_only_to_what_is_theirs() {
        // Only root can give away a link.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let give = |name: &str, owner| lchown(path(name), Some(owner), None).expect("root may");
        for folder in ["www", "of-php", "of-root"] {
            fs::create_dir(path(folder)).expect("created");
        }
        for (file, owner) in [
            ("of-php/php", PHP),
            ("of-root/root", ROOT),
            ("of-php/other", OTHER),
        ] {
            fs::write(path(file), file).expect("written");
            give(file, owner);
        }
        give("of-php", PHP);
        let link = |target: &str, name: &str, owner| {
            symlink(target, path(name)).expect("a link");
            give(name, owner);
        };
        link("../of-php/php", "www/own", PHP);
        link("../of-root/root", "www/root", PHP);
        link("../of-php/other", "www/other", PHP);
        link("../of-php", "www/folder", PHP);
        link("../of-root", "www/foreign-folder", PHP);
        link("/", "www/top", PHP);
        link("root", "www/operators", ROOT);
        link("../of-root/root", "www/plain", ROOT);
        link("../of-php/other", "www/others", OTHER);
        let root = path("www").to_str().expect("UTF-8").to_owned();
        let secret = path("of-root/root");
        let below_top = format!("/top{}", secret.to_str().expect("UTF-8"));
        let denied = Err(Errno::ACCESS);
        for (below, automatic, same_owner) in [
            ("/own", Ok("of-php/php"), Ok("of-php/php")),
            ("/root", denied, denied),
            ("/other", denied, denied),
            ("/folder/php", Ok("of-php/php"), Ok("of-php/php")),
            // Folders of PHP's users have files of others because those were put there.
            ("/folder/other", Ok("of-php/other"), Ok("of-php/other")),
            ("/foreign-folder/root", denied, denied),
            (&below_top, denied, denied),
            // A link that leads through a folder of PHP's users.
            ("/operators", denied, denied),
            ("/plain", Ok("of-root/root"), Ok("of-root/root")),
            ("/others", Ok("of-php/other"), Ok("of-php/other")),
        ] {
            let read = |symlinks, users: &[u32]| {
                read_below(&root, below, &LinkPolicy::new(symlinks, users.into()))
            };
            assert_eq!(read(Symlinks::Auto, &[PHP]), owned(automatic), "{below}");
            assert_eq!(
                read(Symlinks::IfOwnerMatch, &[]),
                owned(same_owner),
                "{below}"
            );
            assert!(read(Symlinks::Follow, &[PHP]).is_ok(), "{below}");
            assert!(read(Symlinks::Auto, &[OTHER]).is_ok(), "{below}");
        }
        let follows = |name: &str| {
            LinkPolicy::new(Symlinks::Auto, [PHP].into()).follows(&path("www").join(name))
        };
        assert!(follows("own") && follows("plain"));
        assert!(!follows("root") && !follows("top"));
    }
}
