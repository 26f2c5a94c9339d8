//! Metrics of the front's process from the operating system.

use std::time::Duration;

/// The values of Prometheus' usual `process_*` metrics. What cannot be read is left out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Process {
    /// User and system time.
    pub cpu: Option<Duration>,
    /// In bytes.
    pub resident_memory: Option<u64>,
    /// In bytes.
    pub virtual_memory: Option<u64>,
    /// Open descriptors.
    pub open_fds: Option<u64>,
    /// Their soft limit.
    pub max_fds: Option<u64>,
    /// Seconds since 1970.
    pub start_time: Option<f64>,
}

impl Process {
    /// Reads the values of this process.
    pub fn read() -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let system = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let mut process = from_stat(&stat, &system, rustix::param::clock_ticks_per_second());
        process.open_fds = std::fs::read_dir("/proc/self/fd")
            .ok()
            // One of them is the directory itself.
            .map(|entries| entries.count().saturating_sub(1) as u64);
        process.max_fds = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        process
    }
}

/// Fields by their numbers in proc(5), after the command's name, which may contain spaces and brackets.
fn from_stat(stat: &str, system: &str, ticks: u64) -> Process {
    let fields: Vec<u64> = match stat.rsplit_once(')') {
        Some((_, rest)) => rest
            .split_ascii_whitespace()
            .skip(1)
            .map(|field| field.parse().unwrap_or(0))
            .collect(),
        None => return Process::default(),
    };
    let ticks = ticks.max(1);
    // The first remaining field is number 4.
    let field = |number: usize| fields.get(number - 4).copied();
    let boot = system
        .lines()
        .find_map(|line| line.strip_prefix("btime ")?.trim().parse::<u64>().ok());
    Process {
        cpu: field(14).zip(field(15)).map(|(user, kernel)| {
            let ticked = user + kernel;
            Duration::from_secs(ticked / ticks)
                + Duration::from_nanos(ticked % ticks * 1_000_000_000 / ticks)
        }),
        virtual_memory: field(23),
        resident_memory: field(24).map(|pages| pages * rustix::param::page_size() as u64),
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970")]
        start_time: field(22)
            .zip(boot)
            .map(|(started, boot)| boot as f64 + started as f64 / ticks as f64),
        open_fds: None,
        max_fds: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_moves_no_field() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 250 51 0 0 20 0 5 0 300 8192000 25 18446744073709551615 1 1";
        let process = from_stat(stat, "cpu 1\nbtime 1000\n", 100);
        assert_eq!(process.cpu, Some(Duration::from_millis(3010)));
        assert_eq!(process.virtual_memory, Some(8_192_000));
        assert_eq!(
            process.resident_memory,
            Some(25 * rustix::param::page_size() as u64)
        );
        assert_eq!(process.start_time, Some(1003.0));
        assert_eq!(from_stat("", "", 100), Process::default());
    }

    #[test]
    fn this_process_is_alive() {
        let process = Process::read();
        assert!(process.resident_memory.is_some_and(|bytes| bytes > 100_000));
        assert!(process.open_fds.is_some_and(|open| open >= 3));
        assert!(
            process
                .start_time
                .is_some_and(|start| start > 1_600_000_000.0)
        );
    }
}
