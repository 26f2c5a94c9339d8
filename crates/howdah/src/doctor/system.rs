//! The machine: limits, memory, kernel, clock.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use howdah_config::model::{Config, MAX_CONNECTIONS};
use howdah_pool::Mode;
use rustix::process::{Resource, getrlimit};

use super::php::Facts;
use super::report::{Area, Report};
use crate::commands::report::size;
use crate::php::pools;

/// Memory maps of one request in a concurrent worker: its C stack with the guard page, its VM stack.
const MAPS_EACH: u64 = 3;

/// Memory maps of PHP, its extensions and OPcache, with a reserve.
const MAPS_OF_PHP: u64 = 4096;

/// Descriptors of the front, except those of connections.
const DESCRIPTORS: u64 = 512;

pub(super) fn check(config: &Config, facts: Option<&Facts>, report: &mut Report) {
    // The server raises the soft limit itself.
    open_files(getrlimit(Resource::Nofile).maximum, config, report);
    maps(number_in("/proc/sys/vm/max_map_count"), config, report);
    if let Some(facts) = facts {
        memory(available_memory(), config, facts.memory_limit, report);
    }
    kernel(report);
    let own = std::env::current_exe().and_then(fs::metadata);
    let clocks = Clocks {
        now: SystemTime::now(),
        built: own.and_then(|own| own.modified()).ok(),
        php: facts.map(|facts| facts.time),
    };
    clock(&clocks, report);
}

/// `limit`: `None` means unlimited.
fn open_files(limit: Option<u64>, config: &Config, report: &mut Report) {
    let required = config.global.max_connections.unwrap_or(MAX_CONNECTIONS) as u64 + DESCRIPTORS;
    match limit {
        Some(limit) if limit < required => report.warning(
            Area::System,
            format!("the limit is {limit} open files, and the connections need {required}"),
            format!(
                "LimitNOFILE={required} in the systemd unit (or `ulimit -Hn`), or fewer max_connections"
            ),
        ),
        Some(limit) => report.ok(Area::System, format!("{limit} open files are allowed")),
        None => report.ok(Area::System, "open files without limit"),
    }
}

/// `limit`: `None` if it is unknown.
fn maps(limit: Option<u64>, config: &Config, report: &mut Report) {
    let workers = config.workers.iter().map(|pool| &pool.options);
    let concurrent = workers.filter(|options| options.is_concurrent());
    let Some(requests) = concurrent.map(|options| options.concurrency).max() else {
        return;
    };
    let required = u64::from(requests) * MAPS_EACH + MAPS_OF_PHP;
    match limit {
        Some(limit) if limit < required => report.error(
            Area::System,
            format!("the limit is {limit} memory maps per process, and {requests} concurrent requests need {required}"),
            format!("sysctl vm.max_map_count={}", required.max(65_530)),
        ),
        Some(limit) => report.ok(Area::System, format!("{limit} memory maps for each process")),
        None => report.warning(
            Area::System,
            "cannot read /proc/sys/vm/max_map_count",
            "mount /proc; concurrency needs some memory maps for each request",
        ),
    }
}

fn number_in(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Memory of the machine, or of the control group of this process.
fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let machine = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10;
    let group = fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|text| {
            let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
            number_in(&format!("/sys/fs/cgroup{path}/memory.max"))
        });
    Some(group.map_or(machine, |limit| limit.min(machine)))
}

/// `available`: bytes of the machine; `memory_limit`: PHP's, in bytes, negative without a limit.
fn memory(available: Option<u64>, config: &Config, memory_limit: i64, report: &mut Report) {
    let Ok(limit) = u64::try_from(memory_limit) else {
        return; // Reported among PHP's settings.
    };
    let requests: u64 = pools::sizes(config)
        .iter()
        .map(|pool| {
            let each = match &pool.mode {
                Mode::Worker(worker) => u64::from(worker.options.concurrency),
                Mode::Classic => 1,
            };
            let requests = pool.workers_max as u64 * each;
            pool.limits
                .max_in_flight
                .map_or(requests, |most| requests.min(most as u64))
        })
        .sum();
    let required = requests.saturating_mul(limit);
    let limit = size(limit);
    match available {
        Some(available) if required > available => report.warning(
            Area::System,
            format!(
                "{requests} concurrent requests of {limit} (memory_limit) may need {}, and the machine has {}",
                size(required),
                size(available)
            ),
            "that is the worst case; where requests do take that much, have fewer workers, less concurrency, \
             max_in_flight, or a lower memory_limit",
        ),
        Some(available) => report.ok(
            Area::System,
            format!(
                "{requests} concurrent requests of {limit} fit into {}",
                size(available)
            ),
        ),
        None => report.warning(
            Area::System,
            "cannot determine the size of the memory",
            "mount /proc",
        ),
    }
}

fn kernel(report: &mut Report) {
    let own = rustix::process::getpid();
    let pidfd = rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty());
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let memfd = rustix::fs::memfd_create("howdah-doctor", flags);
    let features = [
        ("pidfd_open", pidfd.err()),
        ("memfd_create", memfd.err()),
        ("futex", futex().err()),
    ];
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let mut fine = true;
    for (name, error) in features {
        if let Some(error) = error {
            fine = false;
            report.error(
                Area::System,
                format!("the kernel ({release}) refuses {name}: {error}"),
                "Linux 5.4 or later is needed, and a container's seccomp profile that allows it",
            );
        }
    }
    if fine {
        report.ok(
            Area::System,
            format!("kernel {release} has pidfd, memfd and futex"),
        );
    }
}

fn futex() -> rustix::io::Result<usize> {
    let word = std::sync::atomic::AtomicU32::new(0);
    rustix::thread::futex::wake(&word, rustix::thread::futex::Flags::empty(), 1)
}

/// The times that are compared.
struct Clocks {
    now: SystemTime,
    /// Modification of this program's file, if it is known.
    built: Option<SystemTime>,
    /// PHP's time in seconds since 1970, if PHP ran.
    php: Option<u64>,
}

/// A clock that is behind this program's own file is wrong: certificates and sessions depend on it.
fn clock(clocks: &Clocks, report: &mut Report) {
    // An hour: files may come from machines with different clocks.
    let is_behind = clocks.built.is_some_and(|built| {
        built
            .duration_since(clocks.now)
            .is_ok_and(|ahead| ahead.as_secs() > 3600)
    });
    let seconds = clocks
        .now
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let differs = clocks.php.is_some_and(|time| time.abs_diff(seconds) > 3600);
    if is_behind || differs {
        report.warning(
            Area::System,
            "the clock is wrong: it shows a time before this program was built, or PHP has a different one",
            "let the machine get its time from the network (timedatectl set-ntp true)",
        );
    } else {
        report.ok(Area::System, "clock");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use howdah_config::{Disk, Strictness, load_text};

    use super::super::report::{Finding, Level};
    use super::*;

    fn config(global: &str) -> Config {
        let text = format!("{{\n{global}\n}}\n:8080\n");
        let parsed = load_text(&text, Path::new("test"), &Disk, Strictness::Strict);
        parsed.expect("a configuration").config
    }

    /// The only finding of a check, `None` if it has nothing to report.
    fn finding(check: impl FnOnce(&mut Report)) -> Option<Finding> {
        let mut report = Report::default();
        check(&mut report);
        assert!(report.findings.len() < 2, "{:?}", report.findings);
        report.findings.pop()
    }

    fn level(check: impl FnOnce(&mut Report)) -> Option<Level> {
        finding(check).map(|finding| finding.level)
    }

    #[test]
    fn open_files_are_enough_for_all_connections() {
        let of = |limit, config: &Config| finding(|report| open_files(limit, config, report));
        let config = config("servers {\nmax_connections 1000\n}");
        let low = of(Some(1511), &config).expect("a finding");
        assert_eq!(low.level, Level::Warning);
        assert!(low.text.contains("1511 open files"), "{}", low.text);
        let advice = low.advice.expect("advice");
        assert!(advice.contains("LimitNOFILE=1512"), "{advice}");
        for limit in [Some(1512), None] {
            let found = of(limit, &config).expect("a finding");
            assert_eq!(found.level, Level::Ok, "{limit:?}");
        }
        let default = MAX_CONNECTIONS as u64 + DESCRIPTORS;
        for (limit, expected) in [(default, Level::Ok), (default - 1, Level::Warning)] {
            let found = of(Some(limit), &Config::default()).expect("a finding");
            assert_eq!(found.level, expected, "{limit}");
        }
    }

    #[test]
    fn memory_maps_are_enough_for_the_most_concurrent_pool() {
        let worker = |name: &str, concurrency: &str| {
            format!("worker {{\nname {name}\nfile {name}.php\nnum 1\n{concurrency}\n}}\n")
        };
        let workers = worker("a", "concurrency 100") + &worker("b", "concurrency 1024");
        let concurrent = config(&format!("frankenphp {{\n{workers}}}"));
        let of = |limit| finding(|report| maps(limit, &concurrent, report));
        let low = of(Some(7167)).expect("a finding");
        assert_eq!(low.level, Level::Error);
        // The default of Linux is not lowered.
        let advice = low.advice.as_deref();
        assert_eq!(advice, Some("sysctl vm.max_map_count=65530"));
        assert_eq!(of(Some(7168)).expect("a finding").level, Level::Ok);
        assert_eq!(of(None).expect("a finding").level, Level::Warning);
        let single = config(&format!("frankenphp {{\n{}}}", worker("c", "")));
        assert_eq!(level(|report| maps(Some(1), &single, report)), None);
    }

    #[test]
    fn memory_is_enough_for_all_requests_at_their_limit() {
        const LIMIT: i64 = 128 << 20;
        let of = |available, global: &str, limit| {
            level(|report| memory(available, &config(global), limit, report))
        };
        // Three in classic mode, and four in each of two workers.
        let pools = "frankenphp {\nnum_threads 3\nmax_threads 3\n\
             worker {\nfile a.php\nnum 2\nconcurrency 4\n}\n}";
        let required = (11 * 128) << 20;
        assert_eq!(of(Some(required), pools, LIMIT), Some(Level::Ok));
        assert_eq!(of(Some(required - 1), pools, LIMIT), Some(Level::Warning));
        assert_eq!(of(Some(required), pools, LIMIT + 1), Some(Level::Warning));
        assert_eq!(of(None, pools, LIMIT), Some(Level::Warning));
        assert_eq!(of(Some(1), pools, -1), None);
    }

    #[test]
    fn max_in_flight_limits_the_requests_that_need_memory() {
        // One in classic mode, and two in the workers.
        let config = config(
            "frankenphp {\nnum_threads 1\nmax_threads 1\n\
             worker {\nfile a.php\nnum 2\nconcurrency 4\nmax_in_flight 2\n}\n}",
        );
        for (available, expected) in [(30, Level::Ok), (29, Level::Warning)] {
            let found = level(|report| memory(Some(available), &config, 10, report));
            assert_eq!(found, Some(expected), "{available}");
        }
    }

    #[test]
    fn a_clock_is_wrong_more_than_an_hour_away() {
        const NOW: u64 = 1_800_000_000;
        let of = |built: Option<u64>, php| {
            let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
            let clocks = Clocks {
                now: at(NOW),
                built: built.map(at),
                php,
            };
            level(|report| clock(&clocks, report)).expect("a finding")
        };
        for (built, php, expected) in [
            (None, None, Level::Ok),
            (Some(NOW - 86_400), Some(NOW), Level::Ok),
            (Some(NOW + 3600), Some(NOW + 3600), Level::Ok),
            (Some(NOW + 3601), None, Level::Warning),
            (None, Some(NOW + 3601), Level::Warning),
            (None, Some(NOW - 3600), Level::Ok),
            (None, Some(NOW - 3601), Level::Warning),
        ] {
            assert_eq!(of(built, php), expected, "{built:?} {php:?}");
        }
    }
}
