//! What OPcache and the JIT save and cost on this machine: two short programs of ours, run with and without them.

use std::time::Duration;

use serde::Deserialize;

use super::php::{Php, ScriptError};
use super::report::{Area, Report};

/// Number of files that `cost.php` loads.
const FILES: u32 = 40;
/// For all runs: nothing of the application is run, and files that are seconds old are cached.
const ALWAYS: [(&str, &str); 8] = [
    ("opcache.enable_cli", "1"),
    ("opcache.file_cache", ""),
    ("opcache.file_cache_only", "0"),
    ("opcache.file_update_protection", "0"),
    ("opcache.preload", ""),
    ("open_basedir", ""),
    ("memory_limit", "-1"),
    ("display_errors", "stderr"),
];
/// For a JIT that is off.
const TRIED: [(&str, &str); 2] = [
    ("opcache.jit", "tracing"),
    ("opcache.jit_buffer_size", "64M"),
];

/// The report of `cost.php`.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Cost {
    /// Nanoseconds of a computation.
    compute: u64,
    /// Nanoseconds in which files are loaded.
    load: u64,
    opcache: bool,
    jit: bool,
}

/// Measures both, and adds the results. Takes about a second. `jit` is the setting of a JIT that is on.
pub(super) fn check(php: &Php, jit: Option<&str>, report: &mut Report) {
    let run = |settings: &[&[(&str, &str)]]| -> Result<Cost, ScriptError> {
        let settings = [&ALWAYS[..], &settings.concat()].concat();
        php.ask_set(include_str!("cost.php"), &settings)
    };
    let off = [("opcache.enable", "0")];
    let on = [("opcache.enable", "1")];
    let measure = || {
        let without = run(&[&off])?;
        let with = run(&[&on, &[("opcache.jit", "disable")]])?;
        let with_jit = match jit {
            Some(_) => run(&[&on])?,
            None => run(&[&on, &TRIED])?,
        };
        Ok::<_, ScriptError>([without, with, with_jit])
    };
    let lines = match measure() {
        Ok([without, with, with_jit]) => {
            [opcache_line(without, with), jit_line(with, with_jit, jit)]
        }
        Err(error) => [
            format!("OPcache was not measured: {error}"),
            "the JIT was not measured either".to_owned(),
        ],
    };
    for line in lines {
        report.ok(Area::Php, line);
    }
}

fn opcache_line(without: Cost, with: Cost) -> String {
    if !with.opcache {
        return "OPcache was not measured: this PHP cannot turn it on".to_owned();
    }
    format!("OPcache measured: {}", loading(with, without))
}

fn jit_line(without: Cost, with: Cost, jit: Option<&str>) -> String {
    if !with.jit {
        return "the JIT was not measured: OPcache of this PHP cannot turn it on".to_owned();
    }
    let tried = || TRIED.map(|(name, value)| format!("{name}={value}"));
    let setting = jit.map_or_else(|| tried().join(", "), |on| format!("opcache.jit={on}"));
    format!(
        "JIT measured with {setting}: a computation takes {}; {}",
        pair(with.compute, without.compute),
        loading(with, without),
    )
}

fn loading(with: Cost, without: Cost) -> String {
    let times = pair(with.load, without.load);
    format!("{FILES} files load in {times}")
}

/// Both times in nanoseconds, and their ratio.
fn pair(with: u64, without: u64) -> String {
    let milliseconds = |nanoseconds| Duration::from_nanos(nanoseconds).as_secs_f64() * 1e3;
    let (with, without) = (milliseconds(with), milliseconds(without));
    let ratio = without / with.max(f64::MIN_POSITIVE);
    format!("{with:.2} ms, without it {without:.2} ms ({ratio:.1} times as fast)")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFF: Cost = Cost {
        compute: 12_000_000,
        load: 24_000_000,
        opcache: false,
        jit: false,
    };
    const ON: Cost = Cost {
        load: 1_600_000,
        opcache: true,
        ..OFF
    };
    const JIT: Cost = Cost {
        compute: 6_000_000,
        load: 2_000_000,
        jit: true,
        ..ON
    };

    #[test]
    fn times_are_compared_with_and_without() {
        assert_eq!(
            opcache_line(OFF, ON),
            "OPcache measured: 40 files load in 1.60 ms, without it 24.00 ms (15.0 times as fast)"
        );
        let jit = jit_line(ON, JIT, None);
        assert_eq!(
            jit,
            "JIT measured with opcache.jit=tracing, opcache.jit_buffer_size=64M: a computation takes 6.00 ms, \
             without it 12.00 ms (2.0 times as fast); 40 files load in 2.00 ms, without it 1.60 ms (0.8 times as fast)"
        );
        let configured = jit_line(ON, JIT, Some("function"));
        assert!(
            configured.starts_with("JIT measured with opcache.jit=function: "),
            "{configured}"
        );
    }

    #[test]
    fn what_cannot_be_turned_on_is_not_measured() {
        assert!(opcache_line(OFF, OFF).contains("OPcache was not measured: "));
        assert!(jit_line(ON, ON, None).contains("JIT was not measured: "));
    }
}
