//! Extensions that gave wrong results in tests: the tables of `docs/reference/extensions.md`, which `make extensions`
//! writes, one for each distribution.

use std::collections::BTreeMap;

use super::report::{Area, Report};

const PAGE: &str = include_str!("../../../../docs/reference/extensions.md");

/// The modes of the server, which determine the columns that matter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Modes {
    pub(super) worker: bool,
    pub(super) coroutines: bool,
}

/// The test results of one extension.
#[derive(Debug, PartialEq, Eq)]
struct ExtensionResult<'p> {
    name: &'p str,
    version: &'p str,
    classic: &'p str,
    worker: &'p str,
    coroutines: &'p str,
}

/// The part of the page about the PHP closest to a version: the same branch, or else the first.
fn section<'p>(page: &'p str, version: &str) -> &'p str {
    let branch =
        |version: &str| -> Vec<String> { version.split('.').take(2).map(str::to_owned).collect() };
    let mut sections = page.split("\n## ").skip(1);
    let is_meant = |section: &&str| {
        let heading = section.lines().next().unwrap_or_default();
        let tried = heading.split(", PHP ").nth(1).unwrap_or_default();
        branch(tried) == branch(version)
    };
    let first = sections.clone().next();
    sections.find(is_meant).or(first).unwrap_or_default()
}

fn results(page: &str) -> impl Iterator<Item = ExtensionResult<'_>> {
    page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
        let mut cell = || cells.next();
        let (name, version, _) = (cell()?, cell()?, cell()?);
        let result = ExtensionResult {
            name,
            version,
            classic: cell()?,
            worker: cell()?,
            coroutines: cell()?,
        };
        // The header of the table has the same number of cells.
        (result.name != "extension").then_some(result)
    })
}

impl ExtensionResult<'_> {
    /// Modes in which it does not work.
    fn failures(&self, modes: Modes) -> Vec<(&'static str, &str)> {
        let columns = [
            ("classic mode", true, self.classic),
            ("worker mode", modes.worker, self.worker),
            ("coroutines", modes.coroutines, self.coroutines),
        ];
        let failed = columns
            .into_iter()
            .filter(|(_, counts, result)| *counts && matches!(*result, "wrong" | "refused"));
        failed.map(|(mode, _, result)| (mode, result)).collect()
    }
}

/// `loaded`: versions by lower-case name; PHP's own version is that of `core`.
pub(super) fn check(loaded: &BTreeMap<String, String>, modes: Modes, report: &mut Report) {
    let mut tried = 0;
    let php = loaded.get("core").map_or("", String::as_str);
    for result in results(section(PAGE, php)) {
        if !loaded.contains_key(&result.name.to_ascii_lowercase()) {
            continue;
        }
        tried += 1;
        let failures = result.failures(modes);
        if failures.is_empty() {
            continue;
        }
        let failures: Vec<_> = failures
            .iter()
            .map(|(mode, result)| format!("{result} in {mode}"))
            .collect();
        let (name, version) = (result.name, result.version);
        report.warning(
            Area::Php,
            format!(
                "extension {name} did not work when version {version} was tried: {}",
                failures.join(", ")
            ),
            "remove it from the server's ini files, or use a `pool` in classic mode for code that needs it; \
             docs/reference/extensions.md has the tests",
        );
    }
    report.ok(
        Area::Php,
        format!("{tried} of the extensions were tried with Howdah in all modes"),
    );
}

#[cfg(test)]
mod tests {
    use super::super::report::Level;
    use super::*;

    #[test]
    fn the_page_has_a_table() {
        for (php, uopz) in [
            ("8.2.30", "refused"),
            ("8.4.1", "wrong"),
            ("7.4.0", "refused"),
        ] {
            let results: Vec<_> = results(section(PAGE, php)).collect();
            assert!(results.len() > 100, "{}", results.len());
            let of = |name: &str| results.iter().find(|result| result.name == name);
            let apcu = of("apcu").expect("a row");
            assert_eq!((apcu.classic, apcu.coroutines), ("works", "works"));
            assert_eq!(of("uopz").expect("a row").coroutines, uopz, "{php}");
        }
    }

    #[test]
    fn only_modes_that_are_used_count() {
        let loaded: BTreeMap<String, String> = [("uopz".into(), "7".into())].into();
        let worst = |coroutines| {
            let mut report = Report::default();
            let modes = Modes {
                worker: true,
                coroutines,
            };
            check(&loaded, modes, &mut report);
            report.worst(None)
        };
        assert_eq!(worst(false), Level::Ok);
        assert_eq!(worst(true), Level::Warning);
    }
}
