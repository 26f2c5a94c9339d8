//! Known vulnerabilities of PHP that requests can reach with any server. Reviewed on 2026-11-27; later ones are
//! missing. `docs/advisories.md` describes its use.

use std::path::Path;

use howdah_pool::PhpInfo;

/// Folders of a distribution's packages, which are fixed without a new version of PHP.
const PACKAGED: [&str; 2] = ["/usr/bin", "/usr/libexec"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Vulnerability {
    pub(crate) ids: &'static str,
    pub(crate) what: &'static str,
    /// The first fixed version of each branch.
    fixed: [[u32; 3]; 4],
}

const VULNERABILITIES: [Vulnerability; 2] = [
    Vulnerability {
        ids: "CVE-2026-109618, CVE-2026-109619",
        what: "a request that runs out of memory may execute arbitrary code",
        fixed: [[8, 2, 35], [8, 3, 36], [8, 4, 27], [8, 5, 12]],
    },
    Vulnerability {
        ids: "CVE-2026-6722, CVE-2026-7261",
        what: "a request to a SoapServer can execute code",
        fixed: [[8, 2, 31], [8, 3, 31], [8, 4, 21], [8, 5, 6]],
    },
];

/// Vulnerabilities of a PHP that was built from source.
pub(crate) fn of(php: &PhpInfo) -> Vec<&'static Vulnerability> {
    let binary = php.binary.as_deref().map(Path::new);
    // Without its path, its origin is unknown.
    if binary.is_none_or(|binary| PACKAGED.iter().any(|place| binary.starts_with(place))) {
        return Vec::new();
    }
    version(&php.php).map(with).unwrap_or_default()
}

fn with(version: [u32; 3]) -> Vec<&'static Vulnerability> {
    let has = |vulnerability: &&Vulnerability| {
        let branch = vulnerability
            .fixed
            .iter()
            .find(|fixed| fixed[..2] == version[..2]);
        branch.is_some_and(|fixed| version < *fixed)
    };
    VULNERABILITIES.iter().filter(has).collect()
}

/// Parses `8.4.12`. A version with a suffix is not a release of php.net.
fn version(text: &str) -> Option<[u32; 3]> {
    let parts: Vec<u32> = text
        .split('.')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    parts.try_into().ok()
}

/// Logs a warning for each at startup.
pub(crate) fn warn(php: &PhpInfo) {
    for Vulnerability { ids, what, .. } in of(php) {
        tracing::warn!(target: "howdah", php = php.php, "this PHP has a known vulnerability ({ids}): {what}; upgrade PHP");
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A PHP of this version.
    pub(crate) fn php(version: &str, binary: Option<&str>) -> PhpInfo {
        PhpInfo {
            php: version.into(),
            zts: false,
            opcache: true,
            ini_file: None,
            ini_scanned: None,
            ini_files: Vec::new(),
            binary: binary.map(Into::into),
            extensions: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn ids(version: &str, binary: Option<&str>) -> usize {
        of(&php(version, binary)).len()
    }

    #[test]
    fn only_a_php_from_source_is_measured_by_its_version() {
        let own = Some("/usr/local/bin/php");
        for (version, count) in [
            ("8.2.30", 2),
            ("8.2.34", 1),
            ("8.2.35", 0),
            ("8.3.35", 1),
            ("8.3.36", 0),
            ("8.4.26", 1),
            ("8.4.27", 0),
            ("8.5.11", 1),
            ("8.5.12", 0),
            ("8.6.0", 0),
            ("8.5.0-dev", 0),
            ("8.3.6-0ubuntu0.24.04.5", 0),
        ] {
            assert_eq!(ids(version, own), count, "{version}");
        }
        for binary in [None, Some("/usr/bin/php8.3")] {
            assert_eq!(ids("8.3.6", binary), 0, "{binary:?}");
        }
    }
}
