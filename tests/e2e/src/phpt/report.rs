//! Counts and stores results.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use super::Outcome;
use super::run::Tested;

/// All results of a run.
#[derive(Debug, Default)]
pub struct Report {
    tests: BTreeMap<String, (Outcome, Option<Outcome>)>,
    /// Number of servers that did not exit properly. The reason was printed.
    pub servers_unwell: usize,
}

/// Word for an outcome, as in `run-tests.php`.
pub fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "PASS",
        Outcome::Fail { .. } => "FAIL",
        Outcome::Skip(_) => "SKIP",
        Outcome::ExpectedFail(_) => "XFAIL",
        Outcome::UnexpectedPass => "WARN",
        Outcome::Borked(_) => "BORK",
    }
}

/// One line for a test.
pub fn line(tested: &Tested) -> String {
    let mut line = format!("{} {}", word(&tested.outcome), tested.name);
    let reason = match &tested.outcome {
        Outcome::Fail { reason, .. }
        | Outcome::Skip(reason)
        | Outcome::ExpectedFail(reason)
        | Outcome::Borked(reason) => reason.lines().next().unwrap_or_default(),
        Outcome::UnexpectedPass => "passes, but is marked as failing",
        Outcome::Pass => "",
    };
    // Writing to a String cannot fail.
    if !reason.is_empty() {
        let _ = write!(line, " ({reason})");
    }
    if let Some(fpm) = &tested.fpm {
        let _ = write!(line, " [php-fpm: {}]", word(fpm));
    }
    line
}

impl Report {
    pub(super) fn add(&mut self, tested: Tested) {
        self.tests.insert(tested.name, (tested.outcome, tested.fpm));
    }

    /// Adds the outcome of a test.
    pub fn outcome(&self, name: &str) -> Option<&Outcome> {
        self.tests.get(name).map(|(outcome, _)| outcome)
    }

    /// Names of the tests with this outcome, see [`word`].
    pub fn with(&self, wanted: &str) -> Vec<&str> {
        let with = self
            .tests
            .iter()
            .filter(|(_, (outcome, _))| word(outcome) == wanted);
        with.map(|(name, _)| name.as_str()).collect()
    }

    /// Tests that pass with PHP-FPM but not with the server.
    pub fn worse_than_fpm(&self) -> Vec<&str> {
        let worse = self.tests.iter().filter(|(_, (outcome, fpm))| {
            matches!(outcome, Outcome::Fail { .. }) && matches!(fpm, Some(Outcome::Pass))
        });
        worse.map(|(name, _)| name.as_str()).collect()
    }

    /// Whether the run succeeded: it has no failure, or with PHP-FPM for comparison, no failure
    /// that PHP-FPM does not have.
    pub fn is_good(&self) -> bool {
        let compared = self.tests.values().any(|(_, fpm)| fpm.is_some());
        let failed = if compared {
            self.worse_than_fpm().len()
        } else {
            self.with("FAIL").len()
        };
        failed == 0 && self.servers_unwell == 0
    }

    /// Counts as text of a few lines.
    pub fn summary(&self) -> String {
        let mut text = format!("{} tests", self.tests.len());
        // Writing to a String cannot fail.
        for word in ["PASS", "FAIL", "SKIP", "XFAIL", "WARN", "BORK"] {
            let _ = write!(text, ", {word} {}", self.with(word).len());
        }
        if self.tests.values().any(|(_, fpm)| fpm.is_some()) {
            let worse = self.worse_than_fpm();
            let _ = write!(text, "\n{} fail here and pass with php-fpm", worse.len());
            for name in worse {
                let _ = write!(text, "\n  {name}");
            }
        }
        if self.servers_unwell > 0 {
            let _ = write!(
                text,
                "\n{} servers did not end as they should",
                self.servers_unwell
            );
        }
        text
    }

    /// Writes `pass.txt`, `fail.txt`, `skip.txt`, …, and `NAME.exp` and `NAME.out` for each
    /// failure.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        for word in ["PASS", "FAIL", "SKIP", "XFAIL", "WARN", "BORK"] {
            let mut list = String::new();
            for name in self.with(word) {
                let reason = match self.outcome(name) {
                    Some(
                        Outcome::Fail { reason, .. }
                        | Outcome::Skip(reason)
                        | Outcome::ExpectedFail(reason)
                        | Outcome::Borked(reason),
                    ) => reason.as_str(),
                    _ => "",
                };
                // Writing to a String cannot fail.
                let _ = writeln!(list, "{name}\t{}", reason.replace(['\n', '\r', '\t'], " "));
            }
            fs::write(dir.join(format!("{}.txt", word.to_lowercase())), list)?;
        }
        let worse: String = self
            .worse_than_fpm()
            .iter()
            .flat_map(|name| [name, "\n"])
            .collect();
        fs::write(dir.join("worse-than-fpm.txt"), worse)?;
        for (name, (outcome, _)) in &self.tests {
            let Outcome::Fail { wanted, got, .. } = outcome else {
                continue;
            };
            let file = |kind: &str| dir.join(format!("{}.{kind}", name.replace('/', "__")));
            fs::write(file("exp"), wanted)?;
            fs::write(file("out"), got)?;
        }
        Ok(())
    }
}
