//! `preload`: PHP is started with the files that previous requests have used (docs/adr/0014-preload-what-is-used.md).
//!
//! The pools' processes record the files that they run. When no new files have been added for a while, and at each
//! reload, a new tree of processes is started with these files, while the old one serves.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use howdah_config::model::{self, Config};
use howdah_pool::{
    PoolOptions, Preload, PreloadMode, Record, RecordedFile, RootOptions, Supervisor,
};

/// How often the record is checked.
pub(crate) const LOOK: Duration = Duration::from_secs(2);
/// When no file has been used for the first time for so long, the application's usual requests have been seen.
const QUIET: Duration = Duration::from_secs(10);
/// Maximum wait if new files are added all the time.
const PATIENCE: Duration = Duration::from_secs(60);
/// Minimum time between the first two starts for new files; it doubles with each further start.
const BETWEEN: Duration = Duration::from_secs(60);
/// Another start pays off if requests use a fifth more files than PHP was started with.
const NEW_PART: usize = 5;

/// Files that the requests of a tree use.
#[derive(Debug, Clone)]
pub(crate) struct UsedFiles {
    record: Record,
    /// Files that the tree was started with, or would have been.
    tried: HashSet<PathBuf>,
    mode: PreloadMode,
}

impl UsedFiles {
    /// For the first tree, or one that follows `before`: its processes record files, and PHP is started with those that
    /// are in use and still exist. `follow` returns the current path of a previous file. `None`: preloading is off.
    pub(crate) fn prepare(
        config: &Config,
        before: Option<&Self>,
        follow: impl Fn(&Path) -> PathBuf,
        (root, pools): (&mut RootOptions, &mut [PoolOptions]),
    ) -> std::io::Result<Option<Self>> {
        let mode = match config.global.php.preload {
            model::Preload::Off => return Ok(None),
            model::Preload::Auto => PreloadMode::Auto,
            model::Preload::All => PreloadMode::All,
        };
        let used = before.map(|before| before.record.read());
        let files: Vec<RecordedFile> = (used.unwrap_or_default().into_iter())
            .map(|file| RecordedFile {
                path: follow(&file.path),
                ..file
            })
            .filter(|file| file.path.is_file())
            .collect();
        let record = Record::with(&files)?;
        for pool in pools.iter_mut() {
            pool.record = Some(record.clone());
        }
        let reader = pools.first().and_then(|pool| pool.user.as_ref());
        let plan = plan(mode, files, reader.map(|user| user.name.as_str()));
        let tried = plan.files.iter().cloned().collect();
        root.preload = Some(plan);
        Ok(Some(Self {
            record,
            tried,
            mode,
        }))
    }

    /// Number of files in use that might be preloaded and that the tree was not started with.
    pub(crate) fn new_files(&self) -> usize {
        let files = plan(self.mode, self.record.read(), None).files;
        let new = files.iter().filter(|path| !self.tried.contains(*path));
        new.count()
    }

    /// Why none of them can be preloaded.
    pub(crate) fn problem(&self) -> Option<String> {
        plan(self.mode, self.record.read(), None).problem
    }

    /// Whether so many new files justify another start.
    fn is_worthwhile(&self, new_files: usize) -> bool {
        new_files > 0 && new_files >= self.tried.len() / NEW_PART
    }
}

/// The files for PHP's start. `reader`: the user of its processes, if not the server's.
fn plan(mode: PreloadMode, used: Vec<RecordedFile>, reader: Option<&str>) -> Preload {
    let mut preload = Preload {
        mode,
        files: Vec::new(),
        user: reader.unwrap_or_default().to_owned(),
        left_out: Vec::new(),
        problem: None,
    };
    if reader.is_some_and(str::is_empty) {
        preload.problem =
            Some("the user of the PHP processes has no name, which PHP needs to preload".into());
    }
    if mode == PreloadMode::Auto {
        let installations = installations(&used);
        if let [first, second, ..] = installations.as_slice() {
            preload.problem = Some(format!(
                "requests use the packages of more than one Composer installation, {} and {}: only the \
                 requests themselves decide which of two versions of a class they find",
                first.display(),
                second.display()
            ));
        }
    }
    let is_left = |file: &RecordedFile| mode == PreloadMode::Auto && !file.autoloaded;
    if preload.problem.is_none() {
        let (left, taken): (Vec<_>, Vec<_>) = used.into_iter().partition(is_left);
        preload.files = taken.into_iter().map(|file| file.path).collect();
        preload.left_out = left.into_iter().map(|file| file.path).collect();
    }
    preload
}

/// Folders of packages for which Composer's autoloader is used.
fn installations(used: &[RecordedFile]) -> Vec<&Path> {
    let loaders = used.iter().map(|file| file.path.as_path());
    let loaders = loaders.filter(|path| path.ends_with("composer/autoload_real.php"));
    loaders.filter_map(|path| path.parent()?.parent()).collect()
}

/// Logs the result, if PHP was started with files. Returns an error if php.ini has its own list.
pub(crate) fn report(supervisor: &Supervisor) -> Result<(), &'static str> {
    let Some(preloaded) = supervisor.preloaded() else {
        return Ok(());
    };
    if preloaded.foreign {
        return Err(FOREIGN);
    }
    let (count, all) = (preloaded.count(), preloaded.files.len());
    if preloaded.done {
        tracing::info!(
            target: "howdah", files = count, classes = preloaded.classes, left_out = all - count,
            "PHP was started with preloaded files; `howdah status --preload` lists it"
        );
    } else if let Some(problem) = &preloaded.problem {
        warn(problem);
    }
    Ok(())
}

pub(crate) fn warn(problem: &str) {
    tracing::warn!(target: "howdah", "nothing is preloaded: {problem}");
}

/// php.ini has its own `opcache.preload`.
const FOREIGN: &str =
    "`preload` and opcache.preload in php.ini both select the preloaded files: remove one of them";

/// Decides when a new tree is worth its start.
#[derive(Debug)]
pub(crate) struct PreloadSchedule {
    /// Number of new files at the last check, and since when.
    new_files: (usize, Instant),
    /// Since when there are any.
    first: Option<Instant>,
    /// No start before this time.
    not_before: Instant,
    between: Duration,
    /// Problems of the last check.
    reported: Vec<String>,
}

impl PreloadSchedule {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            new_files: (0, now),
            first: None,
            not_before: now,
            between: BETWEEN,
            reported: Vec::new(),
        }
    }

    /// Checks what the trees use: whether to start new ones now.
    pub(crate) fn observe(&mut self, trees: &[UsedFiles], now: Instant) -> bool {
        let problems: Vec<String> = trees.iter().filter_map(UsedFiles::problem).collect();
        for problem in &problems {
            if !self.reported.contains(problem) {
                warn(problem);
            }
        }
        self.reported = problems;
        let new_files: Vec<usize> = trees.iter().map(UsedFiles::new_files).collect();
        let worth = trees
            .iter()
            .zip(&new_files)
            .any(|(own, new_files)| own.is_worthwhile(*new_files));
        self.is_due(new_files.iter().sum(), worth, now)
    }

    fn is_due(&mut self, new_files: usize, worth: bool, now: Instant) -> bool {
        if new_files != self.new_files.0 {
            self.new_files = (new_files, now);
        }
        if new_files == 0 {
            self.first = None;
            return false;
        }
        let first = *self.first.get_or_insert(now);
        let settled = now.duration_since(self.new_files.1) >= QUIET;
        let due = settled || now.duration_since(first) >= PATIENCE;
        if !worth || !due || now < self.not_before {
            return false;
        }
        self.first = None;
        self.not_before = now + self.between;
        self.between *= 2;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(files: &[(&str, bool)]) -> Vec<RecordedFile> {
        let own = files.iter().map(|(path, autoloaded)| RecordedFile {
            path: path.into(),
            autoloaded: *autoloaded,
        });
        own.collect()
    }

    fn displayed(paths: &[PathBuf]) -> Vec<String> {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }

    #[test]
    fn files_without_an_autoloader_are_left_out() {
        let used = recorded(&[
            ("/a/index.php", false),
            ("/a/vendor/composer/autoload_real.php", false),
            ("/a/src/A.php", true),
        ]);
        let auto = plan(PreloadMode::Auto, used.clone(), None);
        assert_eq!(displayed(&auto.files), ["/a/src/A.php"]);
        assert_eq!(auto.left_out.len(), 2);
        let all = plan(PreloadMode::All, used, Some("web"));
        assert_eq!((all.files.len(), all.left_out.len()), (3, 0));
        assert_eq!(all.user, "web");
    }

    #[test]
    fn packages_of_two_installations_are_not_preloaded() {
        let used = recorded(&[
            ("/w/a/vendor/composer/autoload_real.php", false),
            ("/w/b/vendor/composer/autoload_real.php", false),
            ("/w/a/A.php", true),
        ]);
        let auto = plan(PreloadMode::Auto, used.clone(), None);
        assert!(auto.files.is_empty());
        let problem = auto.problem.expect("a reason");
        assert!(problem.contains("/w/a/vendor and /w/b/vendor"), "{problem}");
        assert_eq!(plan(PreloadMode::All, used.clone(), None).files.len(), 3);
        let nameless = plan(PreloadMode::All, used, Some(""));
        assert!(nameless.files.is_empty() && nameless.problem.is_some());
    }

    #[test]
    fn a_start_waits_until_no_new_files_come_but_not_for_ever() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut pace = PreloadSchedule::new(begin);
        assert!(!pace.is_due(0, false, at(100)));
        assert!(!pace.is_due(5, true, at(101)));
        assert!(!pace.is_due(6, true, at(108)));
        assert!(!pace.is_due(6, true, at(117)));
        assert!(pace.is_due(6, true, at(118)), "nothing new for 10 s");
        assert!(!pace.is_due(9, true, at(119)));
        assert!(!pace.is_due(9, true, at(150)), "a minute between two");
        assert!(pace.is_due(9, true, at(179)));
        assert!(!pace.is_due(3, false, at(500)), "too few");
        let mut busy = PreloadSchedule::new(begin);
        for second in 0..60 {
            assert!(
                !busy.is_due(1 + second, true, at(second as u64)),
                "{second}"
            );
        }
        assert!(busy.is_due(100, true, at(60)));
    }
}
