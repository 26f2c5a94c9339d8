//! Processes by id: their descendants, whether they still run, and signals to exactly one of them.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A process as `/proc` shows it. The start time tells it from a later one with the same id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Id of its parent.
    pub parent: u32,
    /// Clock ticks since boot at its start.
    pub start_time: u64,
    /// `R`, `S`, `Z`, … as in `/proc/PID/stat`.
    pub state: char,
    /// Command line with spaces for NULs; the short name in brackets if there is none.
    pub command: String,
}

impl Process {
    /// The process with this id, if there is one.
    pub fn find(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in brackets may contain anything, brackets included.
        let open = stat.find('(')?;
        let close = stat.rfind(')')?;
        let name = stat.get(open + 1..close)?;
        let fields: Vec<&str> = stat.get(close + 1..)?.split_ascii_whitespace().collect();
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command)
            .replace('\0', " ")
            .trim()
            .to_owned();
        Some(Self {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            start_time: fields.get(19)?.parse().ok()?,
            state: fields.first()?.chars().next()?,
            command: if command.is_empty() {
                format!("[{name}]")
            } else {
                command
            },
        })
    }

    /// Whether it still runs. A zombie does not: it only waits for its parent to look.
    pub fn is_alive(&self) -> bool {
        Self::find(self.pid)
            .is_some_and(|now| now.start_time == self.start_time && !matches!(now.state, 'Z' | 'X'))
    }

    /// Waits until it is gone; false if it is still there after `limit`.
    #[must_use]
    pub fn wait_exited(&self, limit: Duration) -> bool {
        wait_until(limit, || !self.is_alive())
    }
}

/// All processes of the machine.
pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Process::find)
        .collect()
}

/// All living processes below `pid`, without it.
pub fn descendants(pid: u32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|p| p.parent == parent && p.state != 'Z') {
            parents.push(process.pid);
            found.push(process.clone());
        }
    }
    found
}

/// Living processes that were started with `NAME=VALUE` in their environment.
pub fn with_environment(assignment: &str) -> Vec<Process> {
    let carries = |process: &Process| {
        fs::read(format!("/proc/{}/environ", process.pid)).is_ok_and(|environ| {
            environ
                .split(|b| *b == 0)
                .any(|e| e == assignment.as_bytes())
        })
    };
    all()
        .into_iter()
        .filter(|p| p.state != 'Z')
        .filter(carries)
        .collect()
}

/// KiB of a process's memory: the sum of all figures of `/proc/PID/smaps_rollup` (`Private_Dirty` and such)
/// whose names begin so.
///
/// # Panics
/// If the process is not there.
#[track_caller]
#[must_use]
pub fn memory_kib(pid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("it is there");
    let kib = |line: &str| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok();
    let lines = text.lines().filter(|line| line.starts_with(name));
    lines.filter_map(kib).sum()
}

/// Sends a signal to one process.
pub fn kill(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{pid} is not a process id"),
            )
        })?;
    Ok(kill_process(pid, signal)?)
}

/// Asks `done` until it says yes; false if it never did within `limit`. For facts that the kernel
/// offers no event for, such as the end of a process that is not a child.
#[must_use]
pub fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if done() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn sees_children_until_they_are_gone() {
        let mut child = Command::new("cat")
            .env("HOWDAH_PROCESS_TEST", "yes")
            .stdin(Stdio::piped())
            .spawn()
            .expect("cat starts");
        let pid = child.id();
        let mine = descendants(std::process::id());
        let process = mine
            .iter()
            .find(|p| p.pid == pid)
            .expect("the child is listed")
            .clone();
        assert!(process.is_alive());
        assert!(wait_until(Duration::from_secs(10), || {
            with_environment("HOWDAH_PROCESS_TEST=yes")
                .iter()
                .any(|p| p.pid == pid)
        }));
        kill(pid, Signal::KILL).expect("the signal is sent");
        assert!(process.wait_exited(Duration::from_secs(10)));
        child.wait().expect("the child is reaped");
        assert!(Process::find(pid).is_none_or(|p| p.start_time != process.start_time));
    }

    #[test]
    fn refuses_invalid_process_ids() {
        assert!(kill(0, Signal::TERM).is_err());
        assert!(kill(u32::MAX, Signal::TERM).is_err());
    }

    #[test]
    fn gives_up_waiting() {
        assert!(!wait_until(Duration::from_millis(5), || false));
    }
}
