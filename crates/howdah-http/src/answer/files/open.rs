//! Opens the file or folder that a path names.

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::links::{self, Links};
use crate::message::file_origin::Identity;
use crate::message::path::on_disk;

pub(super) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK) // does not wait for the writer of a FIFO
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

/// The file, folder or other object that a path names.
pub(super) enum OpenOutcome {
    File(RegularFile),
    Directory,
    /// A FIFO, a device, a socket.
    Other,
}

/// An open file with its metadata when it was opened.
pub(super) struct RegularFile {
    pub(super) file: File,
    pub(super) identity: Identity,
}

/// Opens for reading. A link that is not followed is [`Errno::ACCESS`].
pub(super) fn open(path: &str, links: Links<'_>) -> Result<OpenOutcome, Errno> {
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

/// Opens the path as a bare descriptor.
pub(super) fn descriptor(path: &str, links: Links<'_>) -> Result<OwnedFd, Errno> {
    if links.policy.follows_all() {
        return links::retry(|| rustix::fs::open(&*on_disk(path), READ, Mode::empty()));
    }
    let (root, below) = path.split_at(links.root.min(path.len()));
    links.policy.open_below(root, below, READ)
}

#[cfg(test)]
mod tests {
    use howdah_config::model::Symlinks;
    use rustix::fs::CWD;

    use super::*;
    use crate::answer::files::links::LinkPolicy;

    #[test]
    fn a_folder_is_distinguished_from_a_file_and_a_fifo() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().to_str().expect("UTF-8").to_owned();
        std::fs::create_dir(directory.path().join("folder")).expect("created");
        let fifo = FileType::Fifo;
        rustix::fs::mknodat(CWD, format!("{root}/fifo"), fifo, Mode::RUSR, 0).expect("a FIFO");
        for followed in [
            Symlinks::Auto,
            Symlinks::Follow,
            Symlinks::IfOwnerMatch,
            Symlinks::Off,
        ] {
            let policy = LinkPolicy::new(followed, [].into());
            let links = Links {
                policy: &policy,
                root: root.len(),
            };
            let open = |below: &str| open(&format!("{root}{below}"), links);
            assert!(matches!(open("/folder/"), Ok(OpenOutcome::Directory)));
            assert!(matches!(open("/"), Ok(OpenOutcome::Directory)));
            assert!(matches!(open("/fifo"), Ok(OpenOutcome::Other)));
        }
    }
}
