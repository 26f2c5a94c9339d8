use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use crate::PATIENCE;

/// A gate at which a PHP script waits for the test and reports that it has arrived. It has two
/// FIFOs, so neither side has to poll:
///
/// ```php
/// file_put_contents("$gate.reached", 'x');        // the test's reached() returns
/// fgetc(fopen("$gate.open", 'r'));                // waits for the test's open()
/// ```
#[derive(Debug)]
pub struct Gate {
    path: PathBuf,
    reached: File,
    open: File,
}

impl Gate {
    /// Creates a gate in `dir`.
    pub fn new(dir: &Path, name: &str) -> io::Result<Self> {
        let path = dir.join(name);
        let fifo = |suffix: &str| {
            let fifo = dir.join(format!("{name}.{suffix}"));
            let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
            mknodat(CWD, &fifo, FileType::Fifo, mode, 0)?;
            // Open for reading and writing, so that `open` of neither side has to wait for the
            // other.
            let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
            options.open(&fifo)
        };
        Ok(Self {
            reached: fifo("reached")?,
            open: fifo("open")?,
            path,
        })
    }

    /// Path that the script gets as `$gate`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until a script has reached the gate. Each call is for one script.
    ///
    /// # Panics
    /// Panics if no script reaches it in time.
    #[track_caller]
    pub fn reached(&mut self) {
        let limit = Timespec {
            tv_sec: PATIENCE.as_secs().cast_signed(),
            tv_nsec: 0,
        };
        let mut fds = [PollFd::new(&self.reached, PollFlags::IN)];
        let ready = poll(&mut fds, Some(&limit)).expect("the FIFO can be polled");
        assert!(
            ready == 1,
            "no script reached the gate {}",
            self.path.display()
        );
        let mut byte = [0];
        self.reached.read_exact(&mut byte).expect("a byte is there");
    }

    /// Lets `count` scripts pass: those that wait now and those that arrive later.
    ///
    /// # Panics
    /// Panics if the FIFO is full.
    #[track_caller]
    pub fn open(&mut self, count: usize) {
        self.open
            .write_all(&vec![b'x'; count])
            .expect("the FIFO has room");
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn lets_through_one_by_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut gate = Gate::new(dir.path(), "gate").expect("FIFOs");
        let come = |path: PathBuf| {
            let reached = format!("{}.reached", path.display());
            std::fs::write(reached, "x").expect("it is written");
            let mut byte = [0];
            let mut open = File::open(format!("{}.open", path.display())).expect("it opens");
            open.read_exact(&mut byte).expect("the gate opens");
        };
        let (path, other) = (gate.path().to_owned(), gate.path().to_owned());
        let first = thread::spawn(move || come(path));
        gate.reached();
        assert!(!first.is_finished());
        gate.open(2);
        first.join().expect("it is let through");
        come(other);
        gate.reached();
    }
}
