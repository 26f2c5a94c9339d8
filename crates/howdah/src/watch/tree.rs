//! The folders that patterns need, watched with inotify.
//!
//! It uses inotify directly: crates that watch recursively watch `.git` and `node_modules` as well, which alone can
//! exceed the kernel's limit of watches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::pattern::Pattern;

/// The events that count in a watched folder. Contents count when the writer closes the file, since they are complete
/// then; a new name counts immediately, because links have no writer.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::EXCL_UNLINK);

/// Files of a target that are stored.
const FILES_MAX: usize = 100;

/// Targets whose files changed: pools and pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Changes {
    /// The patterns by number, with the first of their files.
    pub(super) targets: BTreeMap<usize, Vec<PathBuf>>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    fn add(&mut self, targets: impl IntoIterator<Item = usize>, path: &Path) {
        for target in targets {
            add_file(self.targets.entry(target).or_default(), path.to_owned());
        }
    }

    pub(super) fn merge(&mut self, later: Self) {
        for (target, files) in later.targets {
            let known = self.targets.entry(target).or_default();
            for file in files {
                add_file(known, file);
            }
        }
    }
}

fn add_file(files: &mut Vec<PathBuf>, file: PathBuf) {
    if files.len() < FILES_MAX && !files.contains(&file) {
        files.push(file);
    }
}

/// One event, copied out of the kernel's buffer.
struct FileEvent {
    watch: i32,
    flags: ReadFlags,
    name: Option<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Tree {
    inotify: OwnedFd,
    /// Each with its target.
    patterns: Vec<(usize, Pattern)>,
    folders: HashMap<i32, PathBuf>,
    limit_reported: bool,
}

impl Tree {
    /// Watches everything that the patterns name.
    pub(super) fn new(patterns: Vec<(usize, Pattern)>) -> rustix::io::Result<Self> {
        let mut tree = Self {
            inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            patterns,
            folders: HashMap::new(),
            limit_reported: false,
        };
        // Existing files are not new.
        tree.scan_patterns(|_| true, &mut Changes::default());
        Ok(tree)
    }

    /// Readable when [`read`](Self::read) has something to do.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    pub(super) fn folder_count(&self) -> usize {
        self.folders.len()
    }

    /// Handles the events so far. Does not block.
    pub(super) fn read(&mut self) -> rustix::io::Result<Changes> {
        let mut happened = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => happened.push(FileEvent {
                    watch: event.wd(),
                    flags: event.events(),
                    name: event
                        .file_name()
                        .map(|name| OsStr::from_bytes(name.to_bytes()).into()),
                }),
                Err(Errno::WOULDBLOCK) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        let mut changes = Changes::default();
        for event in happened {
            self.take(&event, &mut changes);
        }
        Ok(changes)
    }

    fn take(&mut self, event: &FileEvent, changes: &mut Changes) {
        if event.flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            // Anything may have happened.
            tracing::warn!(target: "howdah::watch", "too many files changed at the same time; all watched files count as changed");
            self.scan_patterns(|_| true, &mut Changes::default());
            for (target, _) in &self.patterns {
                changes.targets.entry(*target).or_default();
            }
            return;
        }
        if event.flags.contains(ReadFlags::IGNORED) {
            // Deleted, or unmounted.
            if let Some(folder) = self.folders.remove(&event.watch) {
                self.scan_patterns(|pattern| pattern.base().starts_with(&folder), changes);
            }
            return;
        }
        let Some(folder) = self.folders.get(&event.watch) else {
            return;
        };
        if event.flags.contains(ReadFlags::MOVE_SELF) {
            // If its parent folder is watched, that reports it too; but the base of a pattern may be the topmost
            // watched folder.
            let folder = folder.clone();
            self.forget(&folder);
            self.scan_patterns(|pattern| pattern.base().starts_with(&folder), changes);
            return;
        }
        let Some(name) = &event.name else {
            return;
        };
        let path = folder.join(name);
        let appeared = event
            .flags
            .intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        if appeared {
            // Also for a link, which is not a folder, in a pattern's path.
            self.scan_patterns(|pattern| pattern.base().starts_with(&path), changes);
        }
        if !event.flags.contains(ReadFlags::ISDIR) {
            self.report(&path, changes);
        } else if appeared {
            self.scan(path, changes);
        } else if event.flags.contains(ReadFlags::MOVED_FROM) {
            self.forget(&path);
            let patterns = self.patterns.iter();
            let affected = patterns.filter(|(_, pattern)| pattern.may_match(&path));
            changes.add(affected.map(|(pool, _)| *pool), &path);
        }
        // The files of a deleted folder were reported before.
    }

    fn report(&self, path: &Path, changes: &mut Changes) {
        let patterns = self.patterns.iter();
        let matching = patterns.filter(|(_, pattern)| pattern.matches(path));
        changes.add(matching.map(|(pool, _)| *pool), path);
    }

    /// Watches the bases of some patterns and everything below; for a missing base, the nearest folder above it, in
    /// which it may appear. Files that are found count as changed.
    fn scan_patterns(&mut self, which: impl Fn(&Pattern) -> bool, changes: &mut Changes) {
        let bases: BTreeSet<PathBuf> = self
            .patterns
            .iter()
            .filter(|(_, pattern)| which(pattern))
            .map(|(_, pattern)| pattern.base().to_owned())
            .collect();
        for base in bases {
            match base.ancestors().find(|folder| folder.is_dir()) {
                Some(found) if found == base => self.scan(base, changes),
                Some(above) => self.watch(above),
                None => {}
            }
        }
    }

    /// Watches a folder and its subfolders, as far as patterns may match there.
    fn scan(&mut self, folder: PathBuf, changes: &mut Changes) {
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            if !self
                .patterns
                .iter()
                .any(|(_, pattern)| pattern.may_match(&folder))
            {
                continue;
            }
            // First, so that files created while its entries are read are not missed.
            self.watch(&folder);
            let Ok(entries) = std::fs::read_dir(&folder) else {
                // Already removed, or reported by `watch`.
                continue;
            };
            for entry in entries.flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                } else {
                    self.report(&entry.path(), changes);
                }
            }
        }
    }

    fn watch(&mut self, folder: &Path) {
        match inotify::add_watch(&self.inotify, folder, EVENTS) {
            // A folder that was moved keeps its number.
            Ok(watch) => drop(self.folders.insert(watch, folder.to_owned())),
            // Removed again, which caused an event.
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(Errno::NOSPC) => self.limit_reached(folder),
            Err(error) => {
                let folder = folder.display();
                tracing::warn!(target: "howdah::watch", "changes in {folder} are not detected: {error}");
            }
        }
    }

    /// Reported once: every further folder would report the same.
    fn limit_reached(&mut self, folder: &Path) {
        if std::mem::replace(&mut self.limit_reported, true) {
            return;
        }
        let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
        let limit = limit.unwrap_or_default();
        tracing::warn!(
            target: "howdah::watch",
            limit = limit.trim(),
            watched = self.folders.len(),
            "changes in {} and other folders are not detected: the limit of watched folders is reached; \
             raise it with sysctl fs.inotify.max_user_watches=N, or watch fewer folders",
            folder.display()
        );
    }

    fn forget(&mut self, folder: &Path) {
        let inotify = &self.inotify;
        self.folders.retain(|watch, path| {
            let below = path.starts_with(folder);
            if below {
                // An error means that the kernel has already removed it.
                let _ = inotify::remove_watch(inotify, *watch);
            }
            !below
        });
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
