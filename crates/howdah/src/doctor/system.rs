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
    open_files(config, report);
    maps(config, report);
    if let Some(facts) = facts {
        memory(config, facts, report);
    }
    kernel(report);
    clock(facts, report);
}

fn open_files(config: &Config, report: &mut Report) {
    let required = config.global.max_connections.unwrap_or(MAX_CONNECTIONS) as u64 + DESCRIPTORS;
    // The server raises the soft limit itself.
    match getrlimit(Resource::Nofile).maximum {
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

fn maps(config: &Config, report: &mut Report) {
    let workers = config.workers.iter().map(|pool| &pool.options);
    let concurrent = workers.filter(|options| options.is_concurrent());
    let Some(requests) = concurrent.map(|options| options.concurrency).max() else {
        return;
    };
    let required = u64::from(requests) * MAPS_EACH + MAPS_OF_PHP;
    match number_in("/proc/sys/vm/max_map_count") {
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

fn memory(config: &Config, facts: &Facts, report: &mut Report) {
    let Ok(limit) = u64::try_from(facts.memory_limit) else {
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
    match available_memory() {
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

/// A clock that is behind this program's own file is wrong: certificates and sessions depend on it.
fn clock(facts: Option<&Facts>, report: &mut Report) {
    let now = SystemTime::now();
    let own = std::env::current_exe().and_then(fs::metadata);
    let built = own.and_then(|own| own.modified());
    // An hour: files may come from machines with different clocks.
    let is_behind = built.is_ok_and(|built| {
        built
            .duration_since(now)
            .is_ok_and(|ahead| ahead.as_secs() > 3600)
    });
    let seconds = now
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let differs = facts.is_some_and(|facts| facts.time.abs_diff(seconds) > 3600);
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
