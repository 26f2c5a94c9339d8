//! Information from the operating system for a report.

/// Processes that the kernel has killed for lack of memory since the machine started, in containers too.
pub(super) fn oom_kills() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    count(&text)
}

fn count(vmstat: &str) -> Option<u64> {
    let line = vmstat
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?;
    line.trim().parse().ok()
}

/// The distribution and its kernel.
pub(super) fn system() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let name = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map_or("Linux", |name| name.trim_matches('"'));
    format!(
        "{name}, kernel {}, {}",
        kernel.trim(),
        std::env::consts::ARCH
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_for_lack_of_memory_are_counted() {
        assert_eq!(count("pgfault 5\noom_kill 3\nx 1\n"), Some(3));
        assert_eq!(count("oom_killer 3\n"), None);
        assert!(oom_kills().is_some(), "Linux 4.13 and later count them");
        assert!(system().contains("kernel "));
    }
}
