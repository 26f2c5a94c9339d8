//! Settings of OPcache and its JIT.

use super::opcache_cost;
use super::php::{Facts, Php};
use super::report::{Area, Report};

/// Number of files above which the default for interned strings is too small.
const MANY_FILES: usize = 5_000;
/// Megabytes that are enough for those.
const MANY_STRINGS: u64 = 16;
/// From this version on, `exit()` unwinds compiled code too, so that a worker continues after it.
const JIT_EXITS_UNWIND: &str = "8.4";

/// Checks the settings for an application with so many PHP files.
pub(super) fn check(php: &Php, facts: &Facts, files: usize, report: &mut Report) {
    if let Err(error) = php.start_with_opcache() {
        return report.error(
            Area::Php,
            format!("PHP does not start with OPcache and these settings: {error}"),
            "correct the setting that PHP names: without it the server does not start either",
        );
    }
    let jit = configured_jit(facts);
    settings(php, facts, files, jit.as_deref(), report);
    opcache_cost::check(php, jit.as_deref(), report);
}

fn settings(php: &Php, facts: &Facts, files: usize, jit: Option<&str>, report: &mut Report) {
    let area = Area::Php;
    if !php.has_opcache() || !facts.is_on("opcache.enable") {
        return report.warning(
            area,
            "OPcache is off: PHP compiles every file again and again",
            "install the opcache extension, or set opcache.enable=1",
        );
    }
    let most = facts.number("opcache.max_accelerated_files");
    let memory = facts.number("opcache.memory_consumption");
    if files as u64 > most {
        report.warning(
            area,
            format!("OPcache keeps {most} files and the application has {files}"),
            format!(
                "php_ini opcache.max_accelerated_files {}",
                files.next_multiple_of(10_000)
            ),
        );
    } else {
        report.ok(
            area,
            format!("OPcache: {memory} MB, room for {most} files, the application has {files}"),
        );
    }
    let strings = facts.number("opcache.interned_strings_buffer");
    if files > MANY_FILES && strings < MANY_STRINGS {
        report.warning(
            area,
            format!("OPcache has {strings} MB for interned strings, and the application has {files} files"),
            format!("php_ini opcache.interned_strings_buffer {MANY_STRINGS}: what does not fit is a copy in each process"),
        );
    }
    if !facts.is_on("opcache.save_comments") {
        report.warning(
            area,
            "opcache.save_comments is off: what frameworks read from comments, such as annotations, is missing",
            "php_ini opcache.save_comments 1",
        );
    }
    if facts.is_on("opcache.validate_timestamps") {
        report.ok(
            area,
            "OPcache looks for changed files; in production opcache.validate_timestamps=0 and a reload \
             after each deployment save that",
        );
    }
    report_jit(php, jit, report);
}

/// The value of `opcache.jit`; `None`: the JIT is off.
fn configured_jit(facts: &Facts) -> Option<String> {
    let jit = facts.setting("opcache.jit").to_ascii_lowercase();
    let is_off = matches!(&*jit, "" | "0" | "off" | "no" | "false" | "disable");
    (!is_off && facts.number("opcache.jit_buffer_size") > 0).then_some(jit)
}

fn report_jit(php: &Php, jit: Option<&str>, report: &mut Report) {
    let Some(jit) = jit else {
        return report.ok(
            Area::Php,
            "the JIT is off. It helps code that computes and seldom helps pages that wait for a database: \
             measure your application before you turn it on",
        );
    };
    if php.is_older_than(JIT_EXITS_UNWIND) {
        report.warning(
            Area::Php,
            format!("the JIT is on ({jit}): before PHP {JIT_EXITS_UNWIND} a worker is replaced after a request that calls exit()"),
            "php_ini opcache.jit off, or a later PHP, unless no request of a worker calls exit()",
        );
    } else {
        report.ok(Area::Php, format!("the JIT is on ({jit})"));
    }
}
