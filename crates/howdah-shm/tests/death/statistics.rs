//! Counters of the worker processes in mapped memory. Offsets are as in `queue_worker.c`.
//!
//! The memory is not in a file on disk. A worker that writes to a page of such a file may wait long
//! for a busy disk and look as if it had missed a wakeup.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::os::unix::fs::FileExt;

const DEATHS: u64 = 0;
const STEPS: u64 = 64;
const CORRUPT: u64 = 64 * 8;
const TWICE: u64 = 65 * 8;
const DROPPED: u64 = 66 * 8;
const FAILED: u64 = 67 * 8;
const SIZE: u64 = 128 * 8;

pub(crate) struct Statistics(pub(crate) File);

impl Statistics {
    pub(crate) fn new(slots: u64) -> Self {
        let memory = memfd_create("statistics", MemfdFlags::CLOEXEC).expect("shared memory");
        let file = File::from(memory);
        file.set_len(SIZE + slots * 8)
            .expect("room for the statistics");
        Self(file)
    }

    fn read(&self, at: u64) -> u64 {
        let mut word = [0; 8];
        self.0
            .read_exact_at(&mut word, at)
            .expect("the statistics can be read");
        u64::from_ne_bytes(word)
    }

    /// Number of injected exits at each step.
    pub(crate) fn deaths(&self) -> Vec<(u64, u64)> {
        (0..STEPS)
            .map(|step| (step, self.read(DEATHS + step * 8)))
            .filter(|&(_, deaths)| deaths != 0)
            .collect()
    }

    pub(crate) fn corrupt(&self) -> u64 {
        self.read(CORRUPT)
    }

    pub(crate) fn twice(&self) -> u64 {
        self.read(TWICE)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.read(DROPPED)
    }

    pub(crate) fn failed(&self) -> u64 {
        self.read(FAILED)
    }
}
