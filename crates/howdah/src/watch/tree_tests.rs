use std::fs;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use tempfile::TempDir;

use super::*;

struct WatchedFolder {
    dir: TempDir,
    tree: Tree,
}

impl WatchedFolder {
    /// `prepare` creates the initial files.
    fn new(patterns: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        let dir = TempDir::new().expect("a directory");
        prepare(dir.path());
        let patterns = patterns
            .iter()
            .enumerate()
            .map(|(pool, text)| (pool, Pattern::new(text, dir.path()).expect("valid")))
            .collect();
        let tree = Tree::new(patterns).expect("inotify");
        Self { dir, tree }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str) {
        fs::write(self.path(name), "x").expect("written");
    }

    fn folder(&self, name: &str) {
        fs::create_dir_all(self.path(name)).expect("made");
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("renamed");
    }

    /// The pools that changed up to now: the kernel queues events in the call that causes them.
    fn changed(&mut self) -> Vec<usize> {
        let mut changes = Changes::default();
        // Folders that were just found may have further events.
        loop {
            let limit = Timespec::try_from(Duration::ZERO).expect("zero");
            let mut fds = [PollFd::new(&self.tree.inotify, PollFlags::IN)];
            if poll(&mut fds, Some(&limit)).expect("polled") == 0 {
                return changes.targets.into_keys().collect();
            }
            changes.merge(self.tree.read().expect("read"));
        }
    }
}

#[test]
fn files_that_are_written_renamed_and_deleted() {
    let mut it = WatchedFolder::new(&["src/**/*.php", "src/*.twig"], |dir| {
        fs::create_dir_all(dir.join("src/a/b")).expect("made");
        fs::write(dir.join("src/a/b/x.php"), "").expect("written");
    });
    assert!(it.changed().is_empty(), "what was there is not new");
    it.write("src/a/b/x.php");
    assert_eq!(it.changed(), [0]);
    it.write("src/a/b/x.txt");
    assert!(it.changed().is_empty());
    it.write("src/x.twig");
    assert_eq!(it.changed(), [1]);
    it.write("src/a/x.twig");
    assert!(it.changed().is_empty());
    // As most editors save: a new file is moved over the old one.
    it.write("src/a/b/x.php~");
    assert!(it.changed().is_empty());
    it.rename("src/a/b/x.php~", "src/a/b/x.php");
    assert_eq!(it.changed(), [0]);
    fs::remove_file(it.path("src/a/b/x.php")).expect("removed");
    assert_eq!(it.changed(), [0]);
    std::os::unix::fs::symlink("../x", it.path("src/a/l.php")).expect("linked");
    assert_eq!(it.changed(), [0]);
}

#[test]
fn reading_is_not_a_change() {
    let mut it = WatchedFolder::new(&["*.php"], |dir| {
        fs::write(dir.join("x.php"), "").expect("written");
    });
    fs::read(it.path("x.php")).expect("read");
    assert!(it.changed().is_empty());
}

#[test]
fn folders_that_come_and_go() {
    let mut it = WatchedFolder::new(&["**/*.php"], |_| {});
    it.folder("new/deep");
    it.write("new/deep/x.php");
    assert_eq!(it.changed(), [0], "a file in an unknown folder");
    it.write("new/deep/x.php");
    assert_eq!(it.changed(), [0]);
    it.rename("new", "renamed");
    assert_eq!(it.changed(), [0]);
    it.write("renamed/deep/x.php");
    assert_eq!(it.changed(), [0]);
    let first = it.tree.folders.values().find(|path| path.ends_with("new"));
    assert_eq!(first, None);
    fs::remove_dir_all(it.path("renamed")).expect("removed");
    assert_eq!(it.changed(), [0]);
    assert_eq!(it.tree.folder_count(), 1);
}

#[test]
fn moved_files_are_gone() {
    let outside = TempDir::new().expect("a directory");
    let mut it = WatchedFolder::new(&["**/*.php"], |dir| {
        fs::create_dir_all(dir.join("lib/a")).expect("made");
    });
    fs::rename(it.path("lib"), outside.path().join("lib")).expect("renamed");
    assert_eq!(it.changed(), [0]);
    fs::write(outside.path().join("lib/a/x.php"), "").expect("written");
    assert!(it.changed().is_empty());
    assert_eq!(it.tree.folder_count(), 1);
}

#[test]
fn folders_that_are_passed_over() {
    let mut it = WatchedFolder::new(&["**/*.php", ".config/*.php"], |dir| {
        for folder in [".git/refs", "a/node_modules/b", ".config"] {
            fs::create_dir_all(dir.join(folder)).expect("made");
        }
    });
    it.write(".git/refs/x.php");
    it.write("a/node_modules/b/x.php");
    assert!(it.changed().is_empty());
    it.folder("b/.git");
    it.write("b/.git/x.php");
    assert!(it.changed().is_empty());
    it.write(".config/x.php");
    assert!(it.changed().contains(&1));
}

#[test]
fn missing_files() {
    let mut it = WatchedFolder::new(&["app/src", ".env", "later/**/*.php"], |_| {});
    it.write("other");
    assert!(it.changed().is_empty());
    it.write(".env");
    assert_eq!(it.changed(), [1]);
    it.folder("app");
    assert!(it.changed().is_empty());
    it.folder("app/src/deep");
    it.write("app/src/deep/x");
    assert_eq!(it.changed(), [0]);
    it.folder("later");
    it.write("later/x.php");
    assert_eq!(it.changed(), [2]);
    // And again, after it was replaced.
    fs::remove_dir_all(it.path("later")).expect("removed");
    assert_eq!(it.changed(), [2]);
    it.folder("elsewhere");
    it.write("elsewhere/x.php");
    it.rename("elsewhere", "later");
    assert_eq!(it.changed(), [2]);
    it.write("later/x.php");
    assert_eq!(it.changed(), [2]);
}

#[test]
fn a_base_that_is_moved_away() {
    let mut it = WatchedFolder::new(&["app/*.php"], |dir| {
        fs::create_dir(dir.join("app")).expect("made");
    });
    it.rename("app", "old");
    it.changed();
    it.write("old/x.php");
    assert!(it.changed().is_empty());
    it.folder("app");
    it.write("app/x.php");
    assert_eq!(it.changed(), [0]);
}

#[test]
fn too_many_events_change_everything() {
    let limit: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .expect("readable")
        .trim()
        .parse()
        .expect("a number");
    if limit > 100_000 {
        println!("skipped: the queue of events is too long here");
        return;
    }
    let mut it = WatchedFolder::new(&["*.php", "*.twig"], |_| {});
    it.write("a.txt");
    // Two events each.
    for _ in 0..=limit / 4 {
        it.rename("a.txt", "b.txt");
        it.rename("b.txt", "a.txt");
    }
    assert_eq!(it.changed(), [0, 1]);
    it.write("a.php");
    assert_eq!(it.changed(), [0]);
}
