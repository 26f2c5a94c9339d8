//! Processes by id: their descendants, whether they still run, and signals to exactly one process.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A process as `/proc` shows it. The start time distinguishes it from a later process with the
/// same id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Process {
    pub pid: u32,
    /// Process id of the parent.
    pub parent: u32,
    /// Start time in clock ticks since boot.
    pub start_time: u64,
    /// State as in `/proc/PID/stat`: `R`, `S`, `Z`, …
    pub state: char,
    /// Command line with spaces instead of NULs. Without a command line, the short name in
    /// brackets.
    pub command: String,
}

impl Process {
    /// Finds the process with this id.
    pub fn find(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in brackets may contain any character, including brackets.
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

    /// Whether the process still runs. A zombie does not run: it only waits for its parent to reap
    /// it.
    pub fn is_alive(&self) -> bool {
        Self::find(self.pid)
            .is_some_and(|now| now.start_time == self.start_time && !matches!(now.state, 'Z' | 'X'))
    }

    /// Waits until the process has exited. Returns false if it still runs after `limit`.
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

/// All living descendants of `pid`, without `pid` itself.
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

/// Memory of a process in KiB: the sum of all values in `/proc/PID/smaps_rollup` whose names start
/// with `name`, such as `Private_Dirty`.
///
/// # Panics
/// Panics if the process does not exist.
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

/// Polls `done` until it returns true. Returns false if it did not within `limit`. For conditions
/// without an event of the kernel, such as the exit of a process that is not a child.
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
