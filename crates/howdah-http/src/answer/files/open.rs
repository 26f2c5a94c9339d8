//! Opening what a path names.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use howdah_config::model::Symlinks;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::message::file_origin::Identity;

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK) // never waits for the writer of a FIFO
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// What a path names.
pub(super) enum OpenOutcome {
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

/// Which symbolic links on a path are followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links {
    pub(super) followed: Symlinks,
    /// Bytes of the path that are its root, whose own links are always followed.
    pub(super) root: usize,
}

impl Links {
    /// Whether a path is all that has to be known.
    pub(super) fn follow_all(self) -> bool {
        self.followed == Symlinks::Follow
    }
}

/// Opens for reading. A link that is not followed is [`Errno::ACCESS`].
pub(super) fn open(path: &str, links: Links) -> Result<OpenOutcome, Errno> {
    let file = descriptor(path, links)?;
    let stat = rustix::fs::fstat(&file)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => OpenOutcome::File(RegularFile {
            file: file.into(),
            identity: Identity::new(&stat),
        }),
        FileType::Directory => OpenOutcome::Directory,
        _ => OpenOutcome::Other,
    })
}

/// The same as a bare descriptor.
pub(super) fn descriptor(path: &str, links: Links) -> Result<OwnedFd, Errno> {
    if links.follow_all() {
        return retry(|| rustix::fs::open(path, READ, Mode::empty()));
    }
    let (root, below) = path.split_at(links.root.min(path.len()));
    let root = if root.is_empty() { "/" } else { root };
    let folder = retry(|| rustix::fs::open(root, FOLDER, Mode::empty()))?;
    let names = || below.split('/').filter(|name| !name.is_empty());
    let relative = names().next().map_or(".", |_| below.trim_matches('/'));
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = retry(|| rustix::fs::openat2(&folder, relative, READ, Mode::empty(), resolve));
    match opened {
        // A link, or a kernel or a sandbox that does not know the call: one name after the other.
        Err(Errno::LOOP | Errno::NOSYS | Errno::PERM) => walk(folder, names(), links.followed),
        opened => opened,
    }
}

/// Opens each name in the folder before it.
fn walk<'n>(
    mut folder: OwnedFd,
    names: impl Iterator<Item = &'n str>,
    followed: Symlinks,
) -> Result<OwnedFd, Errno> {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return retry(|| rustix::fs::openat(&folder, ".", READ, Mode::empty()));
    }
    while let Some(name) = names.next() {
        // Paths are normalised before they get here.
        if name == ".." {
            return Err(Errno::ACCESS);
        }
        let flags = if names.peek().is_some() { FOLDER } else { READ };
        folder = step(&folder, name, flags, followed)?;
    }
    Ok(folder)
}

fn step(folder: &OwnedFd, name: &str, flags: OFlags, followed: Symlinks) -> Result<OwnedFd, Errno> {
    let open = |flags| retry(|| rustix::fs::openat(folder, name, flags, Mode::empty()));
    let error = match open(flags | OFlags::NOFOLLOW) {
        // What a link is refused with, depending on the flags.
        Err(error @ (Errno::LOOP | Errno::NOTDIR)) => error,
        opened => return opened,
    };
    let link = rustix::fs::statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(link.st_mode) != FileType::Symlink {
        return Err(error);
    }
    if followed == Symlinks::Off {
        return Err(Errno::ACCESS);
    }
    // Whatever is there by now: only a link's owner could have put it there.
    let opened = open(flags)?;
    if rustix::fs::fstat(&opened)?.st_uid == link.st_uid {
        Ok(opened)
    } else {
        Err(Errno::ACCESS)
    }
}

/// Whether the link at `path` is followed where some are not.
pub(super) fn follows(path: &std::path::Path, followed: Symlinks) -> bool {
    let owner = |flags| rustix::fs::statat(CWD, path, flags).map(|stat| stat.st_uid);
    match followed {
        Symlinks::Follow => true,
        Symlinks::Off => false,
        Symlinks::IfOwnerMatch => {
            let (link, target) = (owner(AtFlags::SYMLINK_NOFOLLOW), owner(AtFlags::empty()));
            link.is_ok() && link == target
        }
    }
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            // `openat2` asks for it when something was renamed meanwhile.
            Err(Errno::INTR | Errno::AGAIN) => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    fn contents(file: OwnedFd) -> String {
        let mut text = String::new();
        File::from(file).read_to_string(&mut text).expect("UTF-8");
        text
    }

    /// By each way there is: what was read or why not.
    fn opened(root: &str, below: &str, followed: Symlinks) -> Result<String, Errno> {
        let links = Links {
            followed,
            root: root.len(),
        };
        let by_kernel = descriptor(&format!("{root}{below}"), links).map(contents);
        if !links.follow_all() {
            let folder = rustix::fs::open(root, FOLDER, Mode::empty()).expect("a folder");
            let names = below.split('/').filter(|name| !name.is_empty());
            let by_name = walk(folder, names, followed).map(contents);
            assert_eq!(by_kernel, by_name, "{below}");
        }
        by_kernel
    }

    #[test]
    fn links_are_followed_as_far_as_they_may() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("release/a")).expect("created");
        symlink("release", path("current")).expect("a link");
        fs::write(path("secret"), "secret").expect("written");
        fs::write(path("release/a/file"), "file").expect("written");
        for (target, link) in [
            ("a", "folder"),
            ("a/file", "same"),
            ("../secret", "outside"),
            ("void", "nowhere"),
        ] {
            symlink(target, path("release").join(link)).expect("a link");
        }
        let root = path("current").to_str().expect("UTF-8").to_owned();
        let table = [
            ("/a/file", Ok("file"), Ok("file"), Ok("file")),
            ("/same", Ok("file"), Ok("file"), Err(Errno::ACCESS)),
            ("/folder/file", Ok("file"), Ok("file"), Err(Errno::ACCESS)),
            ("/outside", Ok("secret"), Ok("secret"), Err(Errno::ACCESS)),
            (
                "/nowhere",
                Err(Errno::NOENT),
                Err(Errno::NOENT),
                Err(Errno::ACCESS),
            ),
            (
                "/none",
                Err(Errno::NOENT),
                Err(Errno::NOENT),
                Err(Errno::NOENT),
            ),
            (
                "/a/file/x",
                Err(Errno::NOTDIR),
                Err(Errno::NOTDIR),
                Err(Errno::NOTDIR),
            ),
        ];
        for (below, all, same_owner, none) in table {
            let read = |followed| opened(&root, below, followed);
            let owned = |text: Result<&str, Errno>| text.map(str::to_owned);
            assert_eq!(read(Symlinks::Follow), owned(all), "{below}");
            assert_eq!(read(Symlinks::IfOwnerMatch), owned(same_owner), "{below}");
            assert_eq!(read(Symlinks::Off), owned(none), "{below}");
        }
        // Another's link; only root can make one for a test.
        if rustix::process::geteuid().is_root() {
            for link in ["same", "folder"] {
                lchown(path("release").join(link), Some(33), None).expect("root may");
            }
            for below in ["/same", "/folder/file"] {
                let read = |followed| opened(&root, below, followed);
                assert_eq!(read(Symlinks::Follow), Ok("file".to_owned()));
                assert_eq!(read(Symlinks::IfOwnerMatch), Err(Errno::ACCESS));
            }
        }
    }

    #[test]
    fn a_folder_is_distinguished_from_a_file_and_a_fifo() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().to_str().expect("UTF-8").to_owned();
        fs::create_dir(directory.path().join("folder")).expect("created");
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(CWD, format!("{root}/fifo"), fifo, Mode::RUSR, 0).expect("a FIFO");
        for followed in [Symlinks::Follow, Symlinks::IfOwnerMatch, Symlinks::Off] {
            let links = Links {
                followed,
                root: root.len(),
            };
            let open = |below: &str| open(&format!("{root}{below}"), links);
            assert!(matches!(open("/folder/"), Ok(OpenOutcome::Directory)));
            assert!(matches!(open("/"), Ok(OpenOutcome::Directory)));
            assert!(matches!(open("/fifo"), Ok(OpenOutcome::Other)));
        }
    }
}
