//! Decides whether a reload needs a fresh tree of PHP processes, with its own OPcache, or only new processes of the
//! current tree (docs/adr/0011-a-fresh-tree-by-need.md).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use howdah_config::model::Config;
use howdah_pool::Opcache;

/// Share of OPcache's memory that scripts of removed or changed files may use: a tenth.
const STALE_PART: u64 = 10;
const MIB: u64 = 1 << 20;

/// Why new code needs a fresh tree; `None`: new processes are enough. `held`: OPcache, with its scripts compared.
/// `moved`: a folder that is a different one than when the tree was started.
pub(crate) fn reason(held: &Opcache, moved: Option<PathChange<'_>>) -> Option<String> {
    let scripts = held.live.scripts + held.changed.scripts + held.gone.scripts;
    if held.preload != 0 {
        return Some("opcache.preload is set, and its classes stay until PHP restarts".into());
    }
    if held.validates == 0 && scripts > 0 {
        return Some(
            "opcache.validate_timestamps is 0, so OPcache does not check whether files changed"
                .into(),
        );
    }
    // It finds scripts by the paths of requests, and never resolves links.
    if let Some(moved) = moved.filter(|_| scripts > 0) {
        return Some(moved.to_string());
    }
    if held.restart_pending != 0 || held.full != 0 {
        return Some("OPcache is full, or waits for a restart".into());
    }
    let stale = held
        .wasted
        .saturating_add(held.changed.size)
        .saturating_add(held.gone.size);
    if stale > held.size() / STALE_PART {
        return Some(format!(
            "{} of {} MiB of OPcache are used by files that changed or were removed",
            stale.div_ceil(MIB),
            held.size() / MIB
        ));
    }
    if held.free < held.live.size.saturating_add(held.changed.size) {
        return Some(format!(
            "as many scripts again do not fit into OPcache: {} of {} MiB are free",
            held.free / MIB,
            held.size() / MIB
        ));
    }
    if held.keys > held.keys_max / 2 {
        return Some(format!(
            "more than half of OPcache's keys are in use: {} of {}",
            held.keys, held.keys_max
        ));
    }
    if held.jit_free < held.jit_size / 2 {
        return Some("more than half of the JIT's memory is in use".into());
    }
    None
}

/// A configured folder, and what its path led to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    named: PathBuf,
    /// Without links.
    real: PathBuf,
    /// Device and inode: a different folder may have been renamed to the same path.
    identity: (u64, u64),
}

impl Place {
    fn of(named: PathBuf) -> Option<Self> {
        let real = named.canonicalize().ok()?;
        let folder = real.metadata().ok()?;
        Some(Self {
            named,
            real,
            identity: (folder.dev(), folder.ino()),
        })
    }
}

/// Why a configured path points to a different folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathChange<'a> {
    /// A link in it was changed.
    Link(&'a Path),
    /// The folder was replaced.
    Folder(&'a Path),
}

impl std::fmt::Display for PathChange<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Link(path) => write!(out, "{} points to a different folder", path.display()),
            Self::Folder(path) => write!(out, "{} is a different folder now", path.display()),
        }
    }
}

/// Configured paths that may contain links: each with its current target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Places(Vec<Place>);

impl Places {
    /// The document roots and the folders of worker scripts.
    pub(crate) fn of(config: &Config) -> Self {
        let roots = config.constant_roots().into_iter().map(PathBuf::from);
        let workers = config.workers.iter();
        let scripts =
            workers.filter_map(|pool| Path::new(&pool.file).parent().map(Path::to_path_buf));
        let mut named: Vec<_> = roots.chain(scripts).collect();
        named.sort();
        named.dedup();
        Self(named.into_iter().filter_map(Place::of).collect())
    }

    fn find(&self, named: &Path) -> Option<&Place> {
        self.0.iter().find(|place| place.named == named)
    }

    /// The first path that points to a different folder `now`.
    pub(crate) fn first_change<'a>(&'a self, now: &Self) -> Option<PathChange<'a>> {
        self.0.iter().find_map(|old| {
            let new = now.find(&old.named)?;
            if new.real != old.real {
                return Some(PathChange::Link(&old.named));
            }
            (new.identity != old.identity).then_some(PathChange::Folder(&old.named))
        })
    }

    /// The releases that were replaced: old folder, new folder.
    fn moved_releases<'a>(&'a self, now: &'a Self) -> Vec<(&'a Path, &'a Path)> {
        let moved = self.0.iter().filter_map(|old| {
            let new = now.find(&old.named)?;
            (old.real != new.real).then(|| strip_common_end(&old.real, &new.real))
        });
        // Not the root of the file system.
        moved.filter(|(old, _)| old.parent().is_some()).collect()
    }

    /// The current paths of scripts that were in use: files of a replaced release, or of an earlier one, are searched
    /// for in the release that replaced it.
    pub(crate) fn follow(&self, now: &Self, paths: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let follow = |path: Vec<u8>| {
            let path = PathBuf::from(OsString::from_vec(path));
            self.follow_path(now, &path).into_os_string().into_vec()
        };
        let mut paths: Vec<_> = paths.into_iter().map(follow).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Like [`follow`](Self::follow), for one path.
    pub(crate) fn follow_path(&self, now: &Self, path: &Path) -> PathBuf {
        let moved = self.moved_releases(now).into_iter();
        let mut new = moved.filter_map(|(old, new)| Some(new.join(inside(path, old, new)?)));
        new.next().unwrap_or_else(|| path.to_path_buf())
    }
}

/// The path of a file relative to its release: the old one, or any release in the same folder.
fn inside<'p>(path: &'p Path, old: &Path, new: &Path) -> Option<&'p Path> {
    let releases = old.parent().filter(|parent| new.parent() == Some(parent));
    let Some(releases) = releases else {
        return path.strip_prefix(old).ok();
    };
    let mut inside = path.strip_prefix(releases).ok()?.components();
    inside.next()?;
    Some(inside.as_path())
}

/// Two paths without their common last folders: `/r/1/public` and `/r/2/public` become `/r/1` and `/r/2`.
fn strip_common_end<'a>(old: &'a Path, new: &'a Path) -> (&'a Path, &'a Path) {
    let (mut old, mut new) = (old, new);
    while let (Some(name), Some(old_parent), Some(new_parent)) =
        (old.file_name(), old.parent(), new.parent())
        && new.file_name() == Some(name)
    {
        (old, new) = (old_parent, new_parent);
    }
    (old, new)
}

#[cfg(test)]
mod tests {
    use howdah_pool::Tally;

    use super::*;

    /// 100 MiB, of which an application uses 20.
    fn opcache_with(change: impl FnOnce(&mut Opcache)) -> Opcache {
        let mut held = Opcache {
            enabled: 1,
            validates: 1,
            used: 30 * MIB,
            free: 70 * MIB,
            keys: 200,
            keys_max: 1000,
            live: Tally {
                scripts: 100,
                size: 20 * MIB,
            },
            ..Opcache::default()
        };
        change(&mut held);
        held
    }

    #[track_caller]
    fn assert_reload(expected: &str, change: impl FnOnce(&mut Opcache)) {
        let reason = reason(&opcache_with(change), None).expect("a fresh tree");
        assert!(reason.contains(expected), "{reason}");
    }

    #[test]
    fn new_processes_are_enough_where_opcache_looks_at_files() {
        assert_eq!(reason(&opcache_with(|_| {}), None), None);
        assert_eq!(
            reason(&Opcache::default(), None),
            None,
            "OPcache holds nothing"
        );
        let few = opcache_with(|held| {
            held.changed = Tally {
                scripts: 3,
                size: MIB,
            };
        });
        assert_eq!(reason(&few, None), None);
        let unused = |held: &mut Opcache| {
            held.validates = 0;
            held.live = Tally::default();
        };
        assert_eq!(reason(&opcache_with(unused), None), None);
    }

    #[test]
    fn changes_that_cannot_be_undone_take_a_fresh_tree() {
        assert_reload("preload", |held| held.preload = 1);
        assert_reload("validate_timestamps", |held| held.validates = 0);
        assert_reload("full", |held| held.full = 1);
        assert_reload("restart", |held| held.restart_pending = 1);
        assert_reload("11 of 100 MiB", |held| {
            held.gone.size = 6 * MIB;
            held.changed.size = 5 * MIB;
        });
        assert_reload("10 of 99 MiB", |held| {
            held.wasted = 10 * MIB;
            held.free = 59 * MIB;
        });
        assert_reload("19 of 49 MiB are free", |held| held.free = 19 * MIB);
        assert_reload("501 of 1000", |held| held.keys = 501);
        assert_reload("JIT", |held| (held.jit_size, held.jit_free) = (100, 49));
    }

    #[test]
    fn a_link_that_leads_elsewhere_takes_a_fresh_tree() {
        let before = places(&[("/app/current", "/r/1"), ("/b", "/b")]);
        let now = places(&[("/app/current", "/r/2"), ("/b", "/b")]);
        assert_eq!(before.first_change(&before), None);
        assert_eq!(before.first_change(&Places::default()), None);
        let moved = before.first_change(&now);
        let reason = |held: &Opcache| reason(held, moved);
        let text = reason(&opcache_with(|_| {})).expect("a fresh tree");
        assert_eq!(text, "/app/current points to a different folder");
        assert_eq!(reason(&Opcache::default()), None, "OPcache holds nothing");
    }

    fn places(pairs: &[(&str, &str)]) -> Places {
        let place = |(named, real): &(&str, &str)| Place {
            named: named.into(),
            real: real.into(),
            identity: (1, 1),
        };
        Places(pairs.iter().map(place).collect())
    }

    #[test]
    fn a_folder_of_the_same_name_takes_a_fresh_tree() {
        let before = places(&[("/app/public", "/app/public")]);
        let mut now = before.clone();
        now.0[0].identity = (1, 2);
        let moved = before.first_change(&now);
        assert_eq!(moved, Some(PathChange::Folder(Path::new("/app/public"))));
        let text = reason(&opcache_with(|_| {}), moved).expect("a fresh tree");
        assert_eq!(text, "/app/public is a different folder now");
        assert!(before.moved_releases(&now).is_empty());
    }

    #[test]
    fn scripts_are_looked_for_in_the_release_that_took_the_place() {
        let before = places(&[("/app/current/public", "/app/releases/1/public")]);
        let now = places(&[("/app/current/public", "/app/releases/2/public")]);
        let follow = |before: &Places, now: &Places, paths: &[&str]| {
            let paths = paths.iter().map(|path| path.as_bytes().to_vec());
            let followed = before.follow(now, paths.collect()).into_iter();
            let text = |path| String::from_utf8(path).expect("text");
            followed.map(text).collect::<Vec<_>>()
        };
        let paths = [
            "/app/releases/0/src/a.php",
            "/app/releases/1/src/a.php",
            "/usr/share/php/b.php",
        ];
        let expected = ["/app/releases/2/src/a.php", "/usr/share/php/b.php"];
        assert_eq!(follow(&before, &now, &paths), expected);
        assert_eq!(follow(&before, &before, &paths), paths);
        assert_eq!(follow(&before, &Places::default(), &paths), paths);
        // Not two releases of one folder.
        let elsewhere = places(&[("/app/current/public", "/next/public")]);
        let expected = [paths[0], "/next/src/a.php", paths[2]];
        assert_eq!(follow(&before, &elsewhere, &paths), expected);
    }

    #[test]
    fn releases_differ_by_more_than_their_last_folder() {
        let strip = |old, new| strip_common_end(Path::new(old), Path::new(new));
        let pair = |old, new| (Path::new(old), Path::new(new));
        assert_eq!(strip("/r/1/a/b", "/r/2/a/b"), pair("/r/1", "/r/2"));
        assert_eq!(strip("/r/1", "/r/2/public"), pair("/r/1", "/r/2/public"));
        assert_eq!(strip("/a", "/b/a"), pair("/", "/b"));
    }
}
