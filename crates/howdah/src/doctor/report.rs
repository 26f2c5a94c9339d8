//! The findings of the checks, and their output.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

/// Severity; the worst one determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    Warning,
    Error,
}

/// Parts of the report, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Area {
    Configuration,
    Php,
    Files,
    Network,
    System,
    Database,
    Coroutines,
    Leaks,
}

impl Area {
    fn title(self) -> &'static str {
        match self {
            Self::Configuration => "Configuration",
            Self::Php => "PHP",
            Self::Files => "Files",
            Self::Network => "Network",
            Self::System => "System",
            Self::Database => "Database",
            Self::Leaks => "Leaks",
            Self::Coroutines => "Coroutines",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) area: Area,
    pub(super) level: Level,
    pub(super) text: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
    /// `FILE:LINE` of each place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) places: Vec<String>,
}

/// Places that are shown for one finding; `--json` has them all.
const PLACES: usize = 5;

/// All findings.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Json<'a> {
    result: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    coroutines: Option<&'static str>,
    findings: &'a [Finding],
}

impl Report {
    pub(super) fn ok(&mut self, area: Area, text: impl Into<String>) {
        self.add(area, Level::Ok, text.into(), None);
    }

    pub(super) fn warning(
        &mut self,
        area: Area,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.add(area, Level::Warning, text.into(), Some(advice.into()));
    }

    pub(super) fn error(&mut self, area: Area, text: impl Into<String>, advice: impl Into<String>) {
        self.add(area, Level::Error, text.into(), Some(advice.into()));
    }

    fn add(&mut self, area: Area, level: Level, text: String, advice: Option<String>) {
        self.findings.push(Finding {
            area,
            level,
            text,
            advice,
            places: Vec::new(),
        });
    }

    /// Checks that `path` exists and is of the kind `expected`, if it is readable.
    pub(super) fn path(&mut self, what: &str, path: &Path, expected: PathRequirement) {
        self.path_or(what, path, expected, Level::Error);
    }

    /// Checks a path, and adds the consequence to a failure.
    pub(super) fn path_or(
        &mut self,
        what: &str,
        path: &Path,
        expected: PathRequirement,
        level: Level,
    ) {
        match expected.wrong(path) {
            None => self.ok(Area::Files, format!("{what} {}", path.display())),
            Some((wrong, advice)) => {
                let text = format!("{what} {}: {wrong}", path.display());
                self.add(Area::Files, level, text, Some(advice.to_owned()));
            }
        }
    }

    /// The worst of all findings, or of one area.
    pub(super) fn worst(&self, area: Option<Area>) -> Level {
        let of = |finding: &&Finding| area.is_none_or(|area| finding.area == area);
        let levels = self.findings.iter().filter(of);
        levels
            .map(|finding| finding.level)
            .max()
            .unwrap_or(Level::Ok)
    }

    fn verdict(&self) -> Option<&'static str> {
        let mut areas = self.findings.iter().map(|finding| finding.area);
        areas.any(|area| area == Area::Coroutines).then(|| {
            match self.worst(Some(Area::Coroutines)) {
                Level::Ok => "safe",
                Level::Warning => "conditional",
                Level::Error => "unsafe",
            }
        })
    }

    pub(super) fn json(&self) -> String {
        let json = Json {
            result: self.worst(None),
            coroutines: self.verdict(),
            findings: &self.findings,
        };
        serde_json::to_string_pretty(&json).expect("numbers and text only")
    }

    pub(super) fn text(&self) -> String {
        let mut page = String::new();
        let mut findings: Vec<&Finding> = self.findings.iter().collect();
        findings.sort_by_key(|finding| finding.area);
        let mut area = None;
        for finding in findings {
            if area.replace(finding.area) != Some(finding.area) {
                let gap = if page.is_empty() { "" } else { "\n" };
                let _ = writeln!(page, "{gap}{}", finding.area.title());
            }
            show(&mut page, finding);
        }
        if let Some(verdict) = self.verdict() {
            let _ = writeln!(
                page,
                "\nWith concurrency this application is {}",
                match verdict {
                    "safe" =>
                        "safe, as far as can be seen. Long computations, and objects of the boot that hold \
                               something of a request, cannot be seen: try it under load.",
                    "conditional" => "safe if the assumptions of the warnings above hold.",
                    _ => "not safe: see the errors above.",
                }
            );
        }
        let count = |level| -> usize { self.findings.iter().filter(|f| f.level == level).count() };
        let number = |level, noun: &str| {
            let count = count(level);
            format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
        };
        let _ = writeln!(
            page,
            "\n{} ok, {}, {}",
            count(Level::Ok),
            number(Level::Warning, "warning"),
            number(Level::Error, "error")
        );
        page
    }
}

fn show(page: &mut String, finding: &Finding) {
    let level = match finding.level {
        Level::Ok => "ok",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    let _ = writeln!(page, "  {level:<8} {}", printable(&finding.text));
    for place in finding.places.iter().take(PLACES) {
        let _ = writeln!(page, "           at {}", printable(place));
    }
    if let Some(more) = finding.places.len().checked_sub(PLACES)
        && more > 0
    {
        let _ = writeln!(page, "           and {more} more; --json has them all");
    }
    if let Some(advice) = &finding.advice {
        let _ = writeln!(page, "           -> {}", printable(advice));
    }
}

/// Removes control characters: file names can contain any, and a terminal interprets them.
fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// What a path has to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum PathRequirement {
    ReadableFile,
    ReadableFolder,
    WritableFolder,
}

impl PathRequirement {
    /// What is wrong with the path, and how to fix it.
    pub(super) fn wrong(self, path: &Path) -> Option<(String, &'static str)> {
        use rustix::fs::Access;
        let (folder, access) = match self {
            Self::ReadableFile => (false, Access::READ_OK),
            Self::ReadableFolder => (true, Access::READ_OK | Access::EXEC_OK),
            Self::WritableFolder => (true, Access::WRITE_OK | Access::EXEC_OK),
        };
        let found = match std::fs::metadata(path) {
            Ok(found) => found,
            Err(error) => {
                return Some((
                    error.to_string(),
                    "make it, or name the right one; the server's user must be able to enter the folders above",
                ));
            }
        };
        if found.is_dir() != folder {
            let is = if folder { "a folder" } else { "a file" };
            return Some((format!("is not {is}"), "name the right one"));
        }
        rustix::fs::access(path, access).err().map(|error| {
            (
                error.to_string(),
                "give the user that runs the server access to it (chown, chmod), and run doctor as that user",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_counts_and_places_are_cut() {
        let mut report = Report::default();
        report.ok(Area::System, "clock");
        assert_eq!(report.worst(None), Level::Ok);
        report.warning(Area::Coroutines, "a\u{1b}[2J", "do it");
        report.findings[1].places = (0..7).map(|n| format!("a.php:{n}")).collect();
        assert_eq!(report.worst(None), Level::Warning);
        assert_eq!(report.worst(Some(Area::System)), Level::Ok);
        let text = report.text();
        assert!(text.contains("at a.php:4\n           and 2 more"), "{text}");
        assert!(
            !text.contains('\u{1b}') && !text.contains("a.php:5"),
            "{text}"
        );
        assert!(text.contains("safe if the assumptions"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        assert_eq!(json["coroutines"], "conditional");
        assert_eq!(json["findings"][1]["places"][6], "a.php:6");
        report.error(Area::Coroutines, "b", "c");
        assert!(report.text().contains("is not safe"));
    }

    #[test]
    fn variables_of_paths_are_correct() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut report = Report::default();
        report.path("root", dir.path(), PathRequirement::WritableFolder);
        assert_eq!(report.worst(None), Level::Ok);
        report.path("script", dir.path(), PathRequirement::ReadableFile);
        report.path(
            "root",
            &dir.path().join("none"),
            PathRequirement::ReadableFolder,
        );
        assert!(
            report.findings[1].text.ends_with("is not a file"),
            "{report:?}"
        );
        assert!(
            report.findings[2].text.contains("No such file"),
            "{report:?}"
        );
    }
}
