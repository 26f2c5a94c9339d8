//! Interpretation of OPcache's figures: which part is full, the setting for it, and whether a fresh tree is due.

use howdah_pool::Opcache;

const MIB: u64 = 1 << 20;

/// Why a fresh tree has to take over without a reload. `was_pending`: it waited for a restart at the previous check.
pub(crate) fn renewal_reason(opcache: &Opcache, was_pending: bool) -> Option<String> {
    if opcache.restart_pending != 0 && was_pending {
        return Some("OPcache waits to restart until a request stops using it".into());
    }
    let wasted = u128::from(opcache.wasted) * 100;
    let percent = wasted / u128::from(opcache.size().max(1));
    let is_full = opcache.full != 0 && percent >= u128::from(opcache.wasted_percent_max);
    (is_full || percent >= 50).then(|| {
        format!(
            "OPcache contains {} MiB of outdated code, of {}",
            opcache.wasted.div_ceil(MIB),
            opcache.size() / MIB
        )
    })
}

/// The start of a log line about the OPcache of one of several PHPs.
pub(crate) fn prefix(php: &str, count: usize) -> String {
    if count > 1 {
        format!("PHP {php}: ")
    } else {
        String::new()
    }
}

/// The figures of all PHPs combined.
pub(crate) fn merged(opcaches: &[(String, Opcache)]) -> Option<Opcache> {
    let all = opcaches.iter().map(|(_, opcache)| *opcache);
    all.reduce(|all, own| all.with(&own))
}

/// A part of OPcache that is full, and the setting that enlarges it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FullPart {
    Memory,
    Keys,
    Strings,
}

impl FullPart {
    const ALL: [Self; 3] = [Self::Memory, Self::Keys, Self::Strings];

    fn of(self, opcache: &Opcache) -> bool {
        let keys = opcache.keys_max > 0 && opcache.keys >= opcache.keys_max;
        match self {
            Self::Memory => opcache.full != 0 && !keys,
            Self::Keys => keys,
            Self::Strings => {
                opcache.strings_size > 0 && opcache.strings_used >= opcache.strings_size / 100 * 99
            }
        }
    }
}

pub(crate) fn advice(opcache: &Opcache) -> Vec<String> {
    let full = FullPart::ALL.into_iter().filter(|full| full.of(opcache));
    full.map(|full| warning(full, opcache)).collect()
}

fn warning(full: FullPart, opcache: &Opcache) -> String {
    match full {
        FullPart::Memory => format!(
            "OPcache is full: scripts that it does not hold are compiled for each request; raise \
             opcache.memory_consumption, which is {} (MiB)",
            opcache.size() / MIB
        ),
        FullPart::Keys => format!(
            "OPcache is out of keys: scripts that it does not hold are compiled for each request; raise \
             opcache.max_accelerated_files above {}",
            opcache.keys_max
        ),
        FullPart::Strings => format!(
            "OPcache's memory for strings is full: each process keeps further ones for itself; raise \
             opcache.interned_strings_buffer, which is {} (MiB)",
            opcache.strings_size.div_ceil(MIB)
        ),
    }
}

/// Warnings that were logged, until their cause ends.
#[derive(Debug, Default)]
pub(crate) struct OpcacheWarnings(Vec<FullPart>);

impl OpcacheWarnings {
    /// `prefix`: which OPcache, if there are several.
    pub(crate) fn report(&mut self, prefix: &str, opcache: &Opcache) {
        for full in FullPart::ALL {
            let known = self.0.contains(&full);
            if !full.of(opcache) {
                self.0.retain(|part| *part != full);
            } else if !known {
                self.0.push(full);
                tracing::warn!(target: "howdah", "{prefix}{}", warning(full, opcache));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opcache(change: impl FnOnce(&mut Opcache)) -> Opcache {
        let mut opcache = Opcache {
            enabled: 1,
            used: 60 * MIB,
            free: 40 * MIB,
            keys: 10,
            keys_max: 100,
            strings_size: 8 * MIB,
            strings_used: MIB,
            wasted_percent_max: 5,
            ..Opcache::default()
        };
        change(&mut opcache);
        opcache
    }

    #[test]
    fn full_memory_is_reported_with_its_setting() {
        let advise = |change: fn(&mut Opcache)| advice(&opcache(change)).join("\n");
        assert_eq!(advise(|_| {}), "");
        assert!(advise(|own| own.full = 1).contains("memory_consumption, which is 100 (MiB)"));
        let keys = advise(|own| (own.full, own.keys) = (1, 100));
        assert!(keys.contains("max_accelerated_files above 100") && !keys.contains("memory_cons"));
        let strings = advise(|own| own.strings_used = 8 * MIB);
        assert!(strings.contains("interned_strings_buffer, which is 8 (MiB)"));
        assert_eq!(advise(|own| (own.keys, own.keys_max) = (0, 0)), "");
    }

    #[test]
    fn it_is_reported_once() {
        let mut warnings = OpcacheWarnings::default();
        let full = opcache(|own| own.full = 1);
        warnings.report("", &full);
        warnings.report("", &full);
        assert_eq!(warnings.0, [FullPart::Memory]);
        warnings.report("", &opcache(|_| {}));
        assert_eq!(warnings.0, []);
    }

    #[test]
    fn waste_takes_a_fresh_tree_when_it_is_in_the_way() {
        let waste = |full, wasted| {
            renewal_reason(
                &opcache(|own| {
                    (own.full, own.wasted) = (full, wasted * MIB);
                    own.used -= wasted * MIB;
                }),
                false,
            )
        };
        assert_eq!(waste(0, 0), None);
        assert_eq!(waste(0, 40), None);
        assert_eq!(waste(1, 4), None, "a fresh tree would be as full");
        let text = waste(1, 6).expect("a fresh tree");
        assert!(text.contains("6 MiB") && text.contains("of 100"), "{text}");
        assert!(waste(0, 50).is_some());
        let pending = opcache(|own| own.restart_pending = 1);
        assert_eq!(renewal_reason(&pending, false), None);
        assert!(renewal_reason(&pending, true).is_some());
        assert_eq!(renewal_reason(&Opcache::default(), true), None);
    }
}
