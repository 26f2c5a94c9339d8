//! `run --pidfile`: the file with the server's process id.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

pub(super) fn write(file: &Path, pid: u32) -> io::Result<()> {
    std::fs::write(file, format!("{pid}\n"))
}

/// Removes the file of this process. It stays if a later server has written its id into it, or if this process lacks
/// the right.
pub(super) fn remove(file: &Path, pid: u32) {
    if read(file).is_ok_and(|text| text.trim() == pid.to_string()) {
        let _ = std::fs::remove_file(file);
    }
}

fn read(file: &Path) -> io::Result<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let opened = options
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(file)?;
    let mut text = String::new();
    opened.take(32).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_of_its_own_process_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("pid");
        write(&file, 12).expect("written");
        remove(&file, 1);
        assert!(file.exists(), "a later server's");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        remove(&link, 12);
        assert!(link.is_symlink() && file.exists(), "a link");
        remove(&file, 12);
        assert!(!file.exists());
    }
}
