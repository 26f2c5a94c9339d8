//! The ini files that a tree has read: a reload starts a fresh tree if they have changed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use howdah_pool::PhpInfo;

/// The php.ini and the files of the scanned folders, as they were when the tree was started.
#[derive(Debug, Clone, Default)]
pub(crate) struct IniFiles {
    /// Folders in which a new file would be read too.
    scanned: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Option<Version>>,
}

/// What differs once a file is written or replaced. Times are in seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl IniFiles {
    pub(crate) fn of(php: &PhpInfo) -> Self {
        let main = php.ini_file.as_deref().map(Path::new);
        let read = php.ini_files.iter().map(PathBuf::as_path);
        let others = read.clone().filter(|file| Some(*file) != main);
        let folders = others.filter_map(Path::parent);
        // An empty name is the default folder.
        let named = php.ini_scanned.iter().flat_map(|list| list.split(':'));
        let named = named.filter(|name| !name.is_empty()).map(Path::new);
        let mut scanned: Vec<_> = folders.chain(named).map(Path::to_path_buf).collect();
        scanned.sort();
        scanned.dedup();
        let read: Vec<PathBuf> = read.map(Path::to_path_buf).collect();
        Self {
            files: versions(&read, &scanned),
            scanned,
        }
    }

    /// A file that was changed, removed or added.
    pub(crate) fn first_changed(&self) -> Option<PathBuf> {
        let known: Vec<PathBuf> = self.files.keys().cloned().collect();
        let now = versions(&known, &self.scanned);
        let changed = |(file, version): &(&PathBuf, &Option<Version>)| {
            self.files.get(*file) != Some(*version)
        };
        now.iter().find(changed).map(|(file, _)| file.clone())
    }
}

/// Of these files, and of those that PHP reads in these folders.
fn versions(files: &[PathBuf], folders: &[PathBuf]) -> BTreeMap<PathBuf, Option<Version>> {
    let listed = folders.iter().filter_map(|folder| folder.read_dir().ok());
    let listed = listed.flatten().filter_map(Result::ok);
    let listed = listed.map(|entry| entry.path());
    let read = listed.filter(|path| path.extension().is_some_and(|end| end == "ini"));
    let all = read.chain(files.iter().cloned());
    let with_version = |path: PathBuf| {
        let version = version(&path);
        (path, version)
    };
    all.map(with_version).collect()
}

/// `None`: there is no such file.
fn version(path: &Path) -> Option<Version> {
    let file = path.metadata().ok()?;
    Some(Version {
        device: file.dev(),
        inode: file.ino(),
        size: file.len(),
        modified: (file.mtime(), file.mtime_nsec()),
        changed: (file.ctime(), file.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn php(folder: &Path) -> PhpInfo {
        let scanned = folder.join("conf.d");
        let list = format!(":{}", scanned.display());
        let files = [folder.join("php.ini"), scanned.join("a.ini")];
        let info = serde_json::json!({
            "php": "8.2.1", "ini_file": files[0], "ini_scanned": list, "ini_files": files,
        });
        serde_json::from_value(info).expect("information")
    }

    #[test]
    fn changes_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("conf.d")).expect("made");
        fs::write(path("php.ini"), "memory_limit=1G").expect("written");
        fs::write(path("conf.d/a.ini"), "").expect("written");
        let find = |change: &dyn Fn()| {
            let files = IniFiles::of(&php(folder.path()));
            assert_eq!(files.first_changed(), None);
            change();
            files.first_changed()
        };
        fs::write(path("new"), "memory_limit=2G").expect("written");
        let replace = || fs::rename(path("new"), path("php.ini")).expect("renamed");
        assert_eq!(find(&replace), Some(path("php.ini")));
        let append = || fs::write(path("conf.d/a.ini"), "user_agent=a").expect("written");
        assert_eq!(find(&append), Some(path("conf.d/a.ini")));
        let add = || fs::write(path("conf.d/b.ini"), "").expect("written");
        assert_eq!(find(&add), Some(path("conf.d/b.ini")));
        let remove = || fs::remove_file(path("conf.d/b.ini")).expect("removed");
        assert_eq!(find(&remove), Some(path("conf.d/b.ini")));
        let other = || fs::write(path("conf.d/readme"), "").expect("written");
        assert_eq!(find(&other), None);
    }
}
