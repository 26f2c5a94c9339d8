//! The activity of a process, as far as the kernel shows it to everybody.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

/// Length that contains the state in `/proc/…/stat`: it follows the number and the name, which has at most 15 bytes in
/// parentheses.
const STATE_WITHIN: usize = 64;

#[derive(Debug)]
pub(crate) struct ProcessActivity {
    id: u32,
    clock: Option<ClockId>,
    stat: Option<File>,
}

impl ProcessActivity {
    pub(crate) fn new(id: u32) -> Self {
        let pid = Pid::from_raw(id.cast_signed());
        Self {
            id,
            clock: clock_getcpuclockid(pid).ok(),
            stat: File::open(format!("/proc/{id}/stat")).ok(),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Processor time of all its threads so far; `None`: unknown.
    pub(crate) fn time(&self) -> Option<Duration> {
        self.clock?.now().ok().map(Duration::from)
    }

    /// Whether its first thread runs or waits for a processor. False if that is unknown.
    pub(crate) fn is_runnable(&self) -> bool {
        let mut text = [0; STATE_WITHIN];
        let size = self
            .stat
            .as_ref()
            .and_then(|stat| stat.read_at(&mut text, 0).ok());
        size.is_some_and(|size| state(&text[..size]) == Some(b'R'))
    }
}

/// `NUMBER (NAME) STATE …`; the name may contain anything.
fn state(text: &[u8]) -> Option<u8> {
    let end = memchr::memrchr(b')', text)?;
    text.get(end + 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_follows_the_name() {
        assert_eq!(state(b"12 (howdah-php) R 1 12 12 0 -1"), Some(b'R'));
        assert_eq!(state(b"12 (a) S (b)) D 1 12"), Some(b'D'));
        assert_eq!(state(b"12 (howdah-php)"), None);
        assert_eq!(state(b""), None);
    }

    #[test]
    fn a_process_that_runs_is_seen() {
        let this = ProcessActivity::new(std::process::id());
        let before = this.time().unwrap();
        let mut sum = 1_u64;
        while this.time().unwrap() == before {
            sum = std::hint::black_box(sum.wrapping_mul(31));
        }
        // Above the kernel's largest process id.
        let missing = ProcessActivity::new((1 << 22) + 1);
        assert_eq!((missing.time(), missing.is_runnable()), (None, false));
    }
}
