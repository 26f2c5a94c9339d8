//! Limits on the number of processes, of the user and of the control group.

use std::fs;

use howdah_config::model::Config;
use howdah_pool::PoolOptions;
use rustix::process::{Resource, getrlimit};

use super::report::{Area, Report};
use crate::php::pools;

/// Threads and processes besides the workers: the front, the monitor, zygotes and their spares.
const OTHERS: u64 = 64;

/// A limit on processes and threads.
struct Limit {
    owner: &'static str,
    /// `None`: no limit.
    most: Option<u64>,
    /// How to raise it; the number is appended.
    advice: &'static str,
}

pub(super) fn check(config: &Config, report: &mut Report) {
    let limits = [
        Limit {
            owner: "the user",
            most: getrlimit(Resource::Nproc).current,
            advice: "`ulimit -u`, or in the systemd unit LimitNPROC=",
        },
        Limit {
            owner: "the control group",
            most: group_limit(),
            advice: "`--pids-limit` of the container, or in the systemd unit TasksMax=",
        },
    ];
    compare(&limits, &pools::sizes(config), report);
}

fn compare(limits: &[Limit], pools: &[PoolOptions], report: &mut Report) {
    let workers: usize = pools.iter().map(|pool| pool.workers_max).sum();
    let required = required_processes(pools);
    let mut fine = true;
    for Limit {
        owner,
        most,
        advice,
    } in limits
    {
        if let Some(most) = most.filter(|most| *most < required) {
            fine = false;
            report.warning(
                Area::System,
                format!("{most} processes and threads are allowed for {owner}, and {workers} PHP processes, which a reload doubles, need {required}"),
                format!("{advice}{required}, or fewer workers"),
            );
        }
    }
    if fine {
        report.ok(
            Area::System,
            format!("{workers} PHP processes, and as many again during a reload, are allowed"),
        );
    }
}

/// Both generations of a reload; a concurrent worker has an additional thread.
fn required_processes(pools: &[PoolOptions]) -> u64 {
    let workers = pools.iter().map(|pool| pool.workers_max as u64 * 2);
    workers.sum::<u64>() * 2 + pools.len() as u64 * 2 + OTHERS
}

/// `pids.max` of this process's control group.
fn group_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let limit = fs::read_to_string(format!("/sys/fs/cgroup{path}/pids.max")).ok()?;
    // `max` is not a limit.
    limit.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::report::Level;
    use super::*;

    #[test]
    fn a_limit_below_what_a_reload_needs_is_a_warning() {
        let pools = pools::sizes(&Config::default());
        let level = |most: Option<u64>| {
            let mut report = Report::default();
            let limit = Limit {
                owner: "the user",
                most,
                advice: "LimitNPROC=",
            };
            compare(&[limit], &pools, &mut report);
            report.worst(None)
        };
        let required = required_processes(&pools);
        assert_eq!(level(None), Level::Ok);
        assert_eq!(level(Some(required)), Level::Ok);
        assert_eq!(level(Some(required - 1)), Level::Warning);
    }
}
