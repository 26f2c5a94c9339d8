//! `run --pidfile`: the file with the server's process id.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Refuses a link: whoever may write to the folder could have the server overwrite any file.
pub(super) fn write(file: &Path, pid: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut opened = open(file, options.write(true).create(true).truncate(true))?;
    opened.write_all(format!("{pid}\n").as_bytes())
}

/// Removes the file of this process. It stays if a later server has written its id into it, or if this process lacks
/// the right.
pub(super) fn remove(file: &Path, pid: u32) {
    if read(file).is_ok_and(|text| text.trim() == pid.to_string()) {
        let _ = std::fs::remove_file(file);
    }
}

fn read(file: &Path) -> io::Result<String> {
    let opened = open(file, OpenOptions::new().read(true))?;
    let mut text = String::new();
    opened.take(32).read_to_string(&mut text)?;
    Ok(text)
}

/// Opens the file, but no link, and without waiting for the other end of a FIFO.
fn open(file: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = options.custom_flags(flags.bits().cast_signed()).open(file);
    opened.map_err(|error| match rustix::io::Errno::from_io_error(&error) {
        Some(rustix::io::Errno::LOOP) => io::Error::new(
            error.kind(),
            "a process id is not written to a symbolic link: name the file itself",
        ),
        _ => error,
    })
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
        let text = write(&link, 13).expect_err("a link").to_string();
        assert!(text.contains("symbolic link"), "{text}");
        assert_eq!(read(&file).expect("read"), "12\n");
        remove(&file, 12);
        assert!(!file.exists());
    }
}
