//! OPcache, which all PHP processes share, and what is preloaded into it.

use std::fmt;

use super::page::Page;
use super::writer::Writer;

/// OPcache at the last check. Counters restart with PHP.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpcacheCounts {
    /// Bytes that are used, free and wasted.
    pub memory: [u64; 3],
    /// Bytes of interned strings, and their maximum.
    pub strings: (u64, u64),
    /// Scripts that it holds.
    pub scripts: u64,
    /// Keys in use, and their maximum.
    pub keys: (u64, u64),
    /// It accepts no further scripts.
    pub full: bool,
    /// Cache hits.
    pub hits: u64,
    /// Cache misses: scripts that were compiled.
    pub misses: u64,
    /// Restarts: out of memory, out of keys, `opcache_reset()`.
    pub restarts: [u64; 3],
}

/// What is preloaded for a pool's requests.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Preload {
    pub files: u64,
    /// Classes, interfaces, traits and enums.
    pub classes: u64,
    /// Bytes of OPcache's memory.
    pub memory: u64,
    /// Files that requests use and that are not preloaded, by reason.
    pub left_out: Vec<(&'static str, u64)>,
}

pub(super) fn encode(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    let Some(opcache) = &page.opcache else {
        return Ok(());
    };
    let memory = ["used", "free", "wasted"].into_iter().zip(opcache.memory);
    writer.gauges(
        "howdah_php_opcache_memory_bytes",
        "OPcache's memory, by state.",
        memory.map(|(state, bytes)| (vec![("state", state)], bytes)),
    )?;
    let (used, size) = opcache.strings;
    writer.gauge(
        "howdah_php_opcache_interned_strings_bytes",
        "Interned strings in OPcache.",
        used,
    )?;
    writer.gauge(
        "howdah_php_opcache_interned_strings_max_bytes",
        "Interned strings that OPcache has room for.",
        size,
    )?;
    writer.gauge(
        "howdah_php_opcache_scripts",
        "Scripts that OPcache holds.",
        opcache.scripts,
    )?;
    writer.gauge(
        "howdah_php_opcache_keys",
        "Names by which OPcache finds scripts.",
        opcache.keys.0,
    )?;
    writer.gauge(
        "howdah_php_opcache_keys_max",
        "Maximum number of names in OPcache.",
        opcache.keys.1,
    )?;
    writer.gauge(
        "howdah_php_opcache_full",
        "1 if OPcache takes no further script.",
        opcache.full.into(),
    )?;
    writer.counter(
        "howdah_php_opcache_hits",
        "Scripts that OPcache had.",
        opcache.hits,
    )?;
    writer.counter(
        "howdah_php_opcache_misses",
        "Scripts that were compiled.",
        opcache.misses,
    )?;
    let reasons = ["out_of_memory", "out_of_keys", "reset"];
    let restarts = reasons.into_iter().zip(opcache.restarts);
    writer.counters(
        "howdah_php_opcache_restarts",
        "Times that OPcache restarted in place, by reason.",
        restarts.map(|(reason, count)| (vec![("reason", reason)], count)),
    )
}

/// Metrics of the pools that preload.
pub(super) fn preloads(writer: &mut Writer<'_>, page: &Page) -> fmt::Result {
    let own = || {
        let pools = page.pools.iter();
        pools.filter_map(|pool| Some((pool.name.as_str(), pool.preload.as_ref()?)))
    };
    let each = |value: fn(&Preload) -> u64| {
        own().map(move |(pool, preload)| (vec![("pool", pool)], value(preload)))
    };
    writer.gauges(
        "howdah_php_preloaded_files",
        "Files that PHP was started with.",
        each(|preload| preload.files),
    )?;
    writer.gauges(
        "howdah_php_preloaded_classes",
        "Classes, interfaces, traits and enums that each request finds declared.",
        each(|preload| preload.classes),
    )?;
    writer.gauges(
        "howdah_php_preloaded_bytes",
        "OPcache's memory that preloaded files use.",
        each(|preload| preload.memory),
    )?;
    let left_out = own().flat_map(|(pool, preload)| {
        preload.left_out.iter().map(move |(reason, count)| {
            let labels = vec![("pool", pool), ("reason", *reason)];
            (labels, *count)
        })
    });
    writer.gauges(
        "howdah_php_preload_left_out_files",
        "Files that requests use and that are not preloaded, by reason.",
        left_out,
    )
}
