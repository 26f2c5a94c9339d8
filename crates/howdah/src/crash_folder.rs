//! The folder of crash reports: one JSON file for each, limited in number and size.
//!
//! PHP may run as the server's user, and a report contains data of other requests that PHP must not read. So, where a
//! monitor runs, the folder belongs to root, and the monitor does what the server may not do itself.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use howdah_config::model::Config;
use howdah_monitor::fs;
use howdah_pool::CrashReport;

use crate::paths::absolute;

/// Its name, in the folder that systemd provides, or next to the certificates.
const NAME: &str = "crashes";
/// The variable that systemd sets for a unit with `StateDirectory`.
const STATE_DIRECTORY: &str = "STATE_DIRECTORY";
/// Servers that crash at the same time compete for numbers; so many conflicts in a row do not occur.
const NUMBERS_TRIED: usize = 16;
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Maximum size of a report that is read; larger files are not from this server.
const REPORT_MAX: u64 = 4 << 20;
/// A report is written within milliseconds: an unfinished file of this age belongs to a server that ended meanwhile.
const UNFINISHED_MAX: Duration = Duration::from_secs(60);

/// The folder of a configuration; `None`: there is no place for it, or reports are off.
pub(crate) fn path(config: &Config) -> Option<PathBuf> {
    let own = &config.global.crash_reports;
    if !own.on {
        return None;
    }
    if let Some(folder) = &own.folder {
        return Some(absolute(folder));
    }
    let storage = || config.global.https.storage.clone();
    let parent = state_directory()
        .or_else(storage)
        .or_else(howdah_tls::default_storage)?;
    Some(absolute(&parent).join(NAME))
}

fn state_directory() -> Option<PathBuf> {
    let folders = std::env::var(STATE_DIRECTORY).ok()?;
    let first = PathBuf::from(folders.split(':').next()?);
    first.is_absolute().then_some(first)
}

/// An open folder. Its functions block on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CrashFolder {
    path: PathBuf,
    keep: usize,
    max_size: u64,
}

impl CrashFolder {
    /// The folder, whether or not it exists.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let own = &config.global.crash_reports;
        Some(Self {
            path: path(config)?,
            keep: own.keep,
            max_size: own.max_size,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder. Returns the number of the next report, if reports can be written.
    pub(crate) fn prepare(&self) -> io::Result<u64> {
        self.create()?;
        self.remove_unfinished()?;
        let next = self.numbers()?.last().map_or(1, |last| last + 1);
        let probe = self.path.join(format!(".probe-{}", unique()));
        fs::create(&probe, FILE_MODE, false)?;
        fs::remove_file(&probe)?;
        Ok(next)
    }

    fn create(&self) -> io::Result<()> {
        match fs::create_dir_all(&self.path, FOLDER_MODE) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(io::Error::new(
                ErrorKind::NotADirectory,
                "it is not a folder",
            )),
            created => created,
        }
    }

    /// Gives a report a number after all others if another server that shares the folder is ahead: it would be removed
    /// as the oldest one. `next`: the next number of this server.
    pub(crate) fn renumber(&self, report: &mut CrashReport, next: u64) -> io::Result<()> {
        // It may have been removed since the start, or replaced by something else.
        self.create()?;
        let last = self.numbers()?.last().copied().unwrap_or(0);
        if last >= next {
            report.number = last + 1;
        }
        Ok(())
    }

    /// Writes a report and removes the oldest ones that exceed the limits. The report gets the next number if another
    /// server has used its number.
    pub(crate) fn write(&self, report: &mut CrashReport) -> io::Result<()> {
        for _ in 0..NUMBERS_TRIED {
            match self.write_as_numbered(report) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    let last = self.numbers()?.last().copied();
                    report.number = last.unwrap_or(0).max(report.number) + 1;
                }
                done => return done,
            }
        }
        self.write_as_numbered(report)
    }

    fn write_as_numbered(&self, report: &CrashReport) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(report)?;
        bytes.push(b'\n');
        let size = bytes.len() as u64;
        if size > self.max_size {
            let text = format!("it has {size} bytes, and `max_size` is {}", self.max_size);
            return Err(io::Error::other(text));
        }
        // It may have been removed since the start.
        self.create()?;
        self.remove_unfinished()?;
        self.make_room(size)?;
        let name = self.file(report.number);
        let partial = name.with_extension(format!("{}.partial", unique()));
        let mut file = fs::create(&partial, FILE_MODE, false)?;
        let written = (file.write_all(&bytes))
            .and_then(|()| file.sync_all())
            // Never overwrites a report of another server with the same folder.
            .and_then(|()| fs::hard_link(&partial, &name));
        let removed = fs::remove_file(&partial);
        written.and(removed)
    }

    /// All reports that can be read, the newest first.
    pub(crate) fn list(&self) -> io::Result<Vec<CrashReport>> {
        let numbers = self.numbers()?;
        let reports = numbers.iter().rev().filter_map(|number| {
            // It was removed meanwhile, or is not a report.
            self.read(*number).ok().flatten()
        });
        Ok(reports.collect())
    }

    /// `None`: no report has this number.
    pub(crate) fn read(&self, number: u64) -> io::Result<Option<CrashReport>> {
        let file = match fs::open(&self.file(number)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(file, REPORT_MAX), &mut bytes)?;
        Ok(Some(serde_json::from_slice(&bytes)?))
    }

    /// Removes all reports. Returns how many there were.
    pub(crate) fn clear(&self) -> io::Result<usize> {
        let mut removed = 0;
        for number in self.numbers()? {
            removed += usize::from(remove_if_there(&self.file(number))?);
        }
        Ok(removed)
    }

    /// Removes unfinished files of servers that have exited.
    fn remove_unfinished(&self) -> io::Result<()> {
        for name in self.names()?.iter().filter(|name| is_unfinished(name)) {
            let path = self.path.join(name);
            let modified = fs::open(&path)
                .and_then(|file| file.metadata())
                .and_then(|found| found.modified());
            // Another server may remove it at the same time.
            let age = modified.ok().and_then(|modified| modified.elapsed().ok());
            if age.is_some_and(|age| age > UNFINISHED_MAX) {
                remove_if_there(&path)?;
            }
        }
        Ok(())
    }

    /// All files; an empty list if the folder is missing.
    fn names(&self) -> io::Result<Vec<String>> {
        let names = match fs::names(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            names => names?,
        };
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        Ok(names.collect())
    }

    /// Numbers of all reports, ascending.
    fn numbers(&self) -> io::Result<Vec<u64>> {
        let names = self.names()?;
        let mut numbers: Vec<u64> = (names.iter())
            .filter_map(|name| {
                let digits = name.strip_prefix("crash-")?.strip_suffix(".json")?;
                let number = digits.parse().ok()?;
                // Others are not from a server: a copy, or a number that has no successor.
                (number < u64::MAX && *name == file_name(number)).then_some(number)
            })
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn make_room(&self, size: u64) -> io::Result<()> {
        let mut files = Vec::new();
        for number in self.numbers()? {
            let path = self.file(number);
            let size = fs::open(&path).and_then(|file| File::metadata(&file));
            files.push((path, size.map_or(0, |found| found.len())));
        }
        let mut total: u64 = files.iter().map(|(_, size)| size).sum();
        let mut count = files.len();
        for (path, own) in files {
            if count < self.keep && total.saturating_add(size) <= self.max_size {
                break;
            }
            // Another server may remove it at the same time, or `howdah crashes clear`.
            remove_if_there(&path)?;
            total -= own;
            count -= 1;
        }
        Ok(())
    }

    fn file(&self, number: u64) -> PathBuf {
        self.path.join(file_name(number))
    }
}

fn file_name(number: u64) -> String {
    format!("crash-{number:08}.json")
}

/// Removes a file. Returns false if it is missing.
fn remove_if_there(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// A number for the name of an unfinished file. Servers in several containers may share the folder and have the same
/// process id.
fn unique() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// `crash-NUMBER.UNIQUE.partial` and `.probe-UNIQUE`.
fn is_unfinished(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let report = name
        .strip_prefix("crash-")
        .and_then(|rest| rest.strip_suffix(".partial"))
        .and_then(|rest| rest.split_once('.'));
    report.is_some_and(|(number, unique)| is_number(number) && is_number(unique))
        || name.strip_prefix(".probe-").is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;

    fn folder(path: &Path, keep: usize, max_size: u64) -> CrashFolder {
        CrashFolder {
            path: path.join("crashes"),
            keep,
            max_size,
        }
    }

    fn report(number: u64) -> CrashReport {
        CrashReport {
            number,
            cause: "x".repeat(1000),
            ..CrashReport::default()
        }
    }

    fn numbers(folder: &CrashFolder) -> Vec<u64> {
        let reports = folder.list().expect("readable");
        reports.iter().map(|report| report.number).collect()
    }

    #[test]
    fn the_newest_reports_are_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = folder(directory.path(), 3, 1 << 20);
        assert_eq!(own.prepare().expect("made"), 1);
        for number in 1..=5 {
            own.write(&mut report(number)).expect("written");
        }
        assert_eq!(numbers(&own), [5, 4, 3]);
        assert_eq!(own.prepare().expect("made"), 6);
        assert_eq!(own.read(4).expect("readable"), Some(report(4)));
        assert_eq!(own.read(1).expect("readable"), None);
        let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode();
        assert_eq!(mode(own.path()) & 0o777, 0o700);
        assert_eq!(mode(&own.file(5)) & 0o777, 0o600);
        let left = std::fs::read_dir(own.path()).expect("readable").count();
        assert_eq!(left, 3, "nothing else is left");
        assert_eq!(own.clear().expect("removed"), 3);
        assert!(numbers(&own).is_empty());
    }

    #[test]
    fn reports_have_a_size_together() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = folder(directory.path(), 100, 5000);
        own.prepare().expect("made");
        for number in 1..=9 {
            own.write(&mut report(number)).expect("written");
        }
        let left = numbers(&own);
        assert!(left.len() < 4 && left[0] == 9, "{left:?}");
        let mut large = CrashReport {
            cause: "x".repeat(6000),
            ..report(10)
        };
        let error = own.write(&mut large).expect_err("too large");
        assert!(error.to_string().contains("max_size"), "{error}");
        assert_eq!(numbers(&own), left, "nothing was removed for it");
    }

    #[test]
    fn servers_may_share_a_folder() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = folder(directory.path(), 5, 1 << 20);
        own.prepare().expect("made");
        own.write(&mut report(8)).expect("written");
        let mut second = report(8);
        own.write(&mut second).expect("written");
        assert_eq!(second.number, 9, "8 was taken");
        assert_eq!(numbers(&own), [9, 8]);
        let left = std::fs::read_dir(own.path()).expect("readable").count();
        assert_eq!(left, 2, "nothing else is left");
    }

    #[test]
    fn a_report_of_a_server_that_is_behind_is_the_newest() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = folder(directory.path(), 2, 1 << 20);
        own.prepare().expect("made");
        for number in 1..=5 {
            own.write(&mut report(number)).expect("written");
        }
        let mut behind = report(1);
        own.renumber(&mut behind, 2).expect("readable");
        own.write(&mut behind).expect("written");
        assert_eq!(numbers(&own), [6, 5]);
        // A report of this server that took longer than a later one.
        let mut late = report(7);
        own.write(&mut report(8)).expect("written");
        own.renumber(&mut late, 9).expect("readable");
        assert_eq!(late.number, 7);
    }

    /// Servers that write and remove reports in one folder at the same time lose none of their own.
    #[test]
    fn servers_that_share_a_folder_do_not_disturb_each_other() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = folder(directory.path(), 5, 1 << 20);
        own.prepare().expect("made");
        let write_all = || {
            for number in 1..=40 {
                own.prepare().expect("prepared");
                let mut own_report = report(number);
                own.write(&mut own_report).expect("written");
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(write_all);
            }
        });
        // Both may have made room for the last one.
        assert!((5..=6).contains(&numbers(&own).len()));
    }

    #[test]
    fn names_that_no_server_gives_are_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = folder(directory.path(), 2, 1 << 20);
        own.prepare().expect("made");
        let max = u64::MAX;
        let names = ["crash-+0000003.json", "crash-5.json", &file_name(max)];
        for name in names {
            std::fs::write(own.path().join(name), "mine").expect("written");
        }
        assert_eq!(own.prepare().expect("prepared"), 1);
        for number in 1..=4 {
            own.write(&mut report(number)).expect("written");
        }
        assert_eq!(numbers(&own), [4, 3]);
        assert!(names.iter().all(|name| own.path().join(name).exists()));
    }

    #[test]
    fn other_files_are_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = folder(directory.path(), 5, 1 << 20);
        own.prepare().expect("made");
        let other = own.path().join("notes.txt");
        std::fs::write(&other, "mine").expect("written");
        std::fs::write(own.file(7), "garbage").expect("written");
        assert!(numbers(&own).is_empty() && own.read(7).is_err());
        own.write(&mut report(8)).expect("written");
        own.clear().expect("removed");
        assert!(other.exists());
    }

    #[test]
    fn a_removed_folder_is_created_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = folder(directory.path(), 5, 1 << 20);
        own.prepare().expect("made");
        std::fs::remove_dir_all(own.path()).expect("removed");
        assert!(numbers(&own).is_empty());
        own.write(&mut report(7)).expect("written");
        assert_eq!(numbers(&own), [7]);
        let mode = std::fs::metadata(own.path()).expect("there").permissions();
        assert_eq!(mode.mode() & 0o777, 0o700);
    }

    #[test]
    fn a_file_or_a_dangling_link_in_place_of_the_folder_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = folder(directory.path(), 5, 1 << 20);
        let refused = || {
            let prepared = own.prepare().expect_err("no folder").to_string();
            let written = own.write(&mut report(1)).expect_err("no folder");
            assert_eq!([prepared, written.to_string()], ["it is not a folder"; 2]);
        };
        std::fs::write(own.path(), "mine").expect("written");
        refused();
        assert_eq!(std::fs::read(own.path()).expect("kept"), b"mine");
        std::fs::remove_file(own.path()).expect("removed");
        let target = directory.path().join("none");
        std::os::unix::fs::symlink(&target, own.path()).expect("linked");
        refused();
        assert!(!target.exists());
        std::fs::create_dir(&target).expect("made");
        own.write(&mut report(1)).expect("written to the target");
    }

    #[test]
    fn unfinished_files_of_an_exited_server_are_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = folder(directory.path(), 5, 1 << 20);
        own.prepare().expect("made");
        let old = SystemTime::now() - UNFINISHED_MAX - Duration::from_secs(1);
        let make = |name: &str, modified: Option<SystemTime>| {
            let path = own.path().join(name);
            let file = File::create(&path).expect("created");
            if let Some(modified) = modified {
                file.set_modified(modified).expect("set");
            }
            path
        };
        let left = || {
            [
                make("crash-00000003.4711.partial", Some(old)),
                make(".probe-4711", Some(old)),
            ]
        };
        let kept = [
            make("crash-00000004.4712.partial", None),
            make("notes.partial", Some(old)),
        ];
        let by_start = left();
        own.prepare().expect("prepared");
        assert!(by_start.iter().all(|path| !path.exists()), "by the start");
        let by_report = left();
        own.write(&mut report(5)).expect("written");
        assert!(by_report.iter().all(|path| !path.exists()), "by a report");
        assert!(kept.iter().all(|path| path.exists()), "not these");
        assert_eq!(numbers(&own), [5]);
    }
}
