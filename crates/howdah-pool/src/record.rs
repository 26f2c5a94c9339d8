//! The files that a pool's processes have run: shared memory that they write and the front reads, and that outlives
//! their generations (`worker/include/howdah_shm.h`, `struct howdah_record`).

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use howdah_shm::layout::{RECORD_AUTOLOADED, RECORD_HEADER_SIZE, RECORD_SIZE};
use rustix::fs::MemfdFlags;

/// Longest path (`PATH_MAX`).
const PATH_SIZE_MAX: usize = 4096;

/// A pool's record. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Record(Arc<File>);

/// A file that processes of the pool have run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFile {
    /// Its path, links resolved.
    pub path: PathBuf,
    /// An autoloader has included it.
    pub autoloaded: bool,
}

impl Record {
    /// An empty record.
    pub fn new() -> std::io::Result<Self> {
        let memory = File::from(rustix::fs::memfd_create(
            "howdah-record",
            MemfdFlags::CLOEXEC,
        )?);
        memory.set_len(RECORD_SIZE as u64)?;
        Ok(Self(Arc::new(memory)))
    }

    /// A record that starts with these files.
    pub fn with(files: &[RecordedFile]) -> std::io::Result<Self> {
        let record = Self::new()?;
        let mut bytes = vec![0; RECORD_HEADER_SIZE];
        for file in files {
            let path = file.path.as_os_str().as_bytes();
            let flag = if file.autoloaded {
                RECORD_AUTOLOADED
            } else {
                0
            };
            let needed = 4 + path.len().next_multiple_of(4);
            if bytes.len() + needed + 4 > RECORD_SIZE {
                break;
            }
            bytes.extend((path.len() as u32 | flag).to_le_bytes());
            bytes.extend_from_slice(path);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        let used = (bytes.len() - RECORD_HEADER_SIZE) as u32;
        bytes[..4].copy_from_slice(&used.to_le_bytes());
        record.0.write_all_at(&bytes, 0)?;
        Ok(record)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The files so far, in the order of their first run. Invalid entries are left out.
    #[must_use]
    pub fn read(&self) -> Vec<RecordedFile> {
        let mut used = [0; 4];
        let mut bytes = Vec::new();
        if self.0.read_exact_at(&mut used, 0).is_ok() {
            let size = (u32::from_le_bytes(used) as usize).min(RECORD_SIZE - RECORD_HEADER_SIZE);
            bytes.resize(size, 0);
            if self
                .0
                .read_exact_at(&mut bytes, RECORD_HEADER_SIZE as u64)
                .is_err()
            {
                bytes.clear();
            }
        }
        entries(&bytes)
    }
}

fn entries(bytes: &[u8]) -> Vec<RecordedFile> {
    let mut found: Vec<RecordedFile> = Vec::new();
    let mut known: HashMap<PathBuf, usize> = HashMap::new();
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<4>() {
        let word = u32::from_le_bytes(*word);
        let (size, autoloaded) = (
            (word & !RECORD_AUTOLOADED) as usize,
            word & RECORD_AUTOLOADED != 0,
        );
        if size == 0 || size > PATH_SIZE_MAX || size.next_multiple_of(4) > after.len() {
            break; // the end, or an entry that is being written
        }
        let (path, _) = after.split_at(size);
        rest = &after[size.next_multiple_of(4)..];
        if path.first() != Some(&b'/') || path.iter().any(|byte| *byte < b' ') {
            continue;
        }
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        if let Some(at) = known.get(&path) {
            found[*at].autoloaded |= autoloaded;
        } else {
            known.insert(path.clone(), found.len());
            found.push(RecordedFile { path, autoloaded });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, flag: u32) -> Vec<u8> {
        let mut bytes = (path.len() as u32 | flag).to_le_bytes().to_vec();
        bytes.extend_from_slice(path.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn paths(bytes: &[u8]) -> Vec<String> {
        let show = |file: RecordedFile| format!("{} {}", file.path.display(), file.autoloaded);
        entries(bytes).into_iter().map(show).collect()
    }

    #[test]
    fn entries_are_read_once_each_and_up_to_one_that_is_not_written_yet() {
        let mut bytes = entry("/a.php", 0);
        bytes.extend(entry("/bb.php", RECORD_AUTOLOADED));
        bytes.extend(entry("/a.php", RECORD_AUTOLOADED));
        bytes.extend(entry("relative.php", 0));
        bytes.extend(entry("/new\nline.php", 0));
        bytes.extend(entry("/c.php", 0));
        let whole = ["/a.php true", "/bb.php true", "/c.php false"];
        assert_eq!(paths(&bytes), whole);
        let end = bytes.len();
        bytes.extend(entry("/later.php", 0));
        bytes[end..end + 4].fill(0);
        assert_eq!(paths(&bytes), whole);
        bytes[end..end + 4].copy_from_slice(&5000_u32.to_le_bytes());
        assert_eq!(paths(&bytes), whole, "longer than any path");
        bytes[end..end + 4].copy_from_slice(&40_u32.to_le_bytes());
        assert_eq!(paths(&bytes), whole, "longer than what is there");
    }

    #[test]
    fn the_start_of_a_record_is_read_back() {
        let files = [("/a.php", true), ("/bb.php", false)].map(|(path, autoloaded)| RecordedFile {
            path: path.into(),
            autoloaded,
        });
        assert_eq!(Record::with(&files).expect("memory").read(), files);
    }

    #[test]
    fn a_record_that_claims_more_than_it_holds_does_no_harm() {
        let record = Record::new().expect("memory");
        assert!(record.read().is_empty());
        let bytes = entry("/a.php", 0);
        record
            .0
            .write_all_at(&bytes, RECORD_HEADER_SIZE as u64)
            .expect("written");
        record
            .0
            .write_all_at(&u32::MAX.to_le_bytes(), 0)
            .expect("written");
        assert_eq!(record.read().len(), 1);
    }
}
