//! Files that the server creates or opens with its own rights at configured paths: no other user may have created a
//! link there, or be able to, or the server would write to a place of their choice.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Checks a file that is about to be opened for writing. A symbolic link is allowed if root or the server's user
/// created it.
///
/// # Errors
/// [`ErrorKind::PermissionDenied`] with what is wrong and what to do about it.
pub(crate) fn place(path: &Path) -> io::Result<()> {
    folder(path)?;
    match path.symlink_metadata() {
        Ok(link) if link.is_symlink() => {
            check_owner(path, &link, "a symbolic link")?;
            path.canonicalize().map_or(Ok(()), |target| folder(&target))
        }
        Ok(file) if shared(path) => check_owner(path, &file, "a file"),
        // A missing file is created, and a file that cannot be inspected is not opened either.
        _ => Ok(()),
    }
}

/// Refuses a path in a world-writable folder without the sticky bit, where all users may rename its files.
///
/// # Errors
/// [`ErrorKind::PermissionDenied`] with the folder; if it cannot be inspected, using the path reports the error.
/// Folders that are missing will belong to this server.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let mut above = path.ancestors().skip(1);
    let Some(parent) = above.find_map(|folder| folder.canonicalize().ok()) else {
        return Ok(());
    };
    for folder in parent.ancestors() {
        let Ok(found) = folder.metadata() else {
            continue;
        };
        if found.mode() & OTHERS_WRITE != 0 && found.mode() & STICKY == 0 {
            return Err(refused(format!(
                "folder {} is writable by others: remove that permission (chmod o-w) or use another folder",
                folder.display()
            )));
        }
    }
    Ok(())
}

/// Whether everybody may create files in the folder of this path.
fn shared(path: &Path) -> bool {
    parent(path)
        .metadata()
        .is_ok_and(|folder| folder.mode() & OTHERS_WRITE != 0)
}

fn parent(path: &Path) -> PathBuf {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

fn check_owner(path: &Path, found: &Metadata, what: &str) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    if [0, own].contains(&found.uid()) {
        return Ok(());
    }
    Err(refused(format!(
        "{} is {what} that belongs to user {}: remove it or use another path",
        path.display(),
        found.uid()
    )))
}

fn refused(text: String) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    fn append(path: &Path) -> io::Result<()> {
        place(path)?;
        std::fs::File::options()
            .append(true)
            .create(true)
            .open(path)?;
        Ok(())
    }

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("changed");
    }

    #[test]
    fn a_world_writable_folder_is_refused_by_its_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let inner = dir.path().join("inner");
        std::fs::create_dir(&inner).expect("made");
        let path = inner.join("a.log");
        append(&path).expect("opened");
        for (folder, bits) in [(&*inner, 0o777), (dir.path(), 0o703)] {
            mode(folder, bits);
            let text = append(&path).expect_err("refused").to_string();
            assert!(
                text.contains(&*folder.to_string_lossy()) && text.contains("chmod o-w"),
                "{text}"
            );
            mode(folder, 0o1777);
            append(&path).expect("sticky");
            mode(folder, 0o775);
            append(&path).expect("the group is the owner's affair");
        }
    }

    #[test]
    fn a_missing_folder_is_judged_by_the_one_above_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a/b/c.log");
        place(&path).expect("its folder can be created");
        mode(dir.path(), 0o777);
        place(&path).expect_err("refused");
    }

    #[test]
    fn links_of_others_are_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        symlink(&target, &link).expect("linked");
        append(&link).expect("a link of ours, and its target is made");
        assert!(target.exists());
        if lchown(&link, Some(12345), None).is_err() {
            assert!(!rustix::process::geteuid().is_root());
            eprintln!("left out: only root can give a link to another user");
            return;
        }
        let text = append(&link).expect_err("refused").to_string();
        assert!(
            text.contains("a symbolic link that belongs to user 12345"),
            "{text}"
        );
        // A file of another user where everybody may create one.
        let file = dir.path().join("file");
        std::fs::write(&file, "").expect("written");
        lchown(&file, Some(12345), None).expect("given");
        append(&file).expect("its folder is ours");
        mode(dir.path(), 0o1777);
        let text = append(&file).expect_err("refused").to_string();
        assert!(text.contains("a file that belongs to user 12345"), "{text}");
    }

    #[test]
    fn a_link_into_a_world_writable_folder_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = dir.path().join("open");
        std::fs::create_dir(&open).expect("made");
        let (target, link) = (open.join("target"), dir.path().join("link"));
        std::fs::write(&target, "").expect("written");
        symlink(&target, &link).expect("linked");
        append(&link).expect("opened");
        mode(&open, 0o777);
        append(&link).expect_err("refused");
    }
}
