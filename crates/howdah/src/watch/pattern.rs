//! Which files a `watch` pattern matches, and which folders have to be watched for it.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// Folders that are skipped: their contents are not the application.
const IGNORED_FOLDERS: &[&str] = &["node_modules"];

/// One pattern: a file, a folder with all its contents, or a glob with `*`, `?`, `[…]`, `{a,b}` and `**`. Below the
/// folder where a pattern begins, hidden folders (`.git`) and `node_modules` are skipped, and symbolic links to folders
/// are not followed; a pattern that begins in such a folder applies to it.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// Where it begins: the folder before the first special character. It may not exist yet.
    base: PathBuf,
    /// Levels of folders below `base` that can contain matches; `None`: all.
    depth: Option<usize>,
    matcher: Matcher,
}

#[derive(Debug, Clone)]
enum Matcher {
    /// The path itself, or anything below it.
    Path(PathBuf),
    Glob(GlobMatcher),
}

/// An invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("watch {pattern}: {reason}")]
pub(crate) struct PatternError {
    pattern: String,
    reason: String,
}

impl Pattern {
    /// A relative pattern starts at `cwd`, which is absolute.
    pub(super) fn new(text: &str, cwd: &Path) -> Result<Self, PatternError> {
        let error = |reason: String| PatternError {
            pattern: text.to_owned(),
            reason,
        };
        if text.is_empty() {
            return Err(error("the pattern is empty".into()));
        }
        let special = |part: &&str| part.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let parts: Vec<&str> = text.split('/').collect();
        // A group of alternatives may contain slashes; it is not split, since its brace opens first.
        let plain = parts.iter().take_while(|part| !special(part)).count();
        let base = normal(&cwd.join(leading(&parts[..plain], text)));
        if plain == parts.len() {
            let (path, folder) = (base.clone(), base.is_dir());
            let parent = base.parent().map(Path::to_owned);
            return Ok(Self {
                base: if folder { base } else { parent.unwrap_or(base) },
                depth: None,
                matcher: Matcher::Path(path),
            });
        }
        let rest = parts[plain..].join("/");
        let rest = rest.trim_end_matches('/');
        let start = globset::escape(&base.to_string_lossy());
        let whole = format!("{}/{rest}", start.trim_end_matches('/'));
        let glob = GlobBuilder::new(&whole)
            .literal_separator(true)
            .build()
            .map_err(|cause| error(cause.kind().to_string()))?;
        Ok(Self {
            base,
            depth: (!rest.contains("**")).then(|| rest.matches('/').count()),
            matcher: Matcher::Glob(glob.compile_matcher()),
        })
    }

    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    /// Whether a change of this file counts.
    pub(super) fn matches(&self, path: &Path) -> bool {
        if is_temporary(path) {
            return false;
        }
        match &self.matcher {
            Matcher::Path(own) => path.starts_with(own),
            Matcher::Glob(glob) => glob.is_match(path),
        }
    }

    /// Whether files of this folder, or of one in it, can match.
    pub(super) fn may_match(&self, folder: &Path) -> bool {
        let Ok(below) = folder.strip_prefix(&self.base) else {
            return false;
        };
        if let Matcher::Path(own) = &self.matcher
            && folder != self.base
            && !folder.starts_with(own)
        {
            return false;
        }
        let levels = below.components().count();
        self.depth.is_none_or(|depth| levels <= depth)
            && !below.iter().any(|name| {
                name.as_encoded_bytes().starts_with(b".")
                    || IGNORED_FOLDERS.iter().any(|ignored| name == *ignored)
            })
    }
}

/// The part before the first special character as a path.
fn leading(parts: &[&str], text: &str) -> PathBuf {
    let joined = parts.join("/");
    // `/*.php` begins at the root, of which only an empty part is left.
    if joined.is_empty() && text.starts_with('/') {
        PathBuf::from("/")
    } else {
        PathBuf::from(joined)
    }
}

/// Without `.` and `..`, which the kernel's paths do not contain either.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Temporary files that editors create next to the edited one.
fn is_temporary(path: &Path) -> bool {
    let Some(name) = path.file_name() else {
        return false;
    };
    let name = name.as_encoded_bytes();
    let vim_swap = || {
        let extension = path.extension().map(OsStr::as_encoded_bytes);
        name.starts_with(b".")
            && extension.is_some_and(|text| matches!(text, [b's', b'w', _] | b"swpx"))
    };
    name == b"4913"
        || name.ends_with(b"~")
        || name.starts_with(b".#")
        || (name.starts_with(b"#") && name.ends_with(b"#"))
        || name.ends_with(b"___jb_tmp___")
        || name.ends_with(b"___jb_old___")
        || name.starts_with(b".goutputstream-")
        || vim_swap()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text, Path::new("/app")).expect(text)
    }

    #[test]
    fn matching() {
        let table = [
            ("./**/*.{env,php,twig,yaml,yml}", "/app/.env", true),
            ("./**/*.{env,php,twig,yaml,yml}", "/app/a/b/c.php", true),
            ("./**/*.{env,php,twig,yaml,yml}", "/app/c.txt", false),
            ("./**/*.{env,php,twig,yaml,yml}", "/other/c.php", false),
            ("src/*.php", "/app/src/a.php", true),
            ("src/*.php", "/app/src/b/a.php", false),
            ("src/*/a.php", "/app/src/b/a.php", true),
            ("src", "/app/src", true),
            ("src", "/app/src/deep/any.thing", true),
            ("src/", "/app/src/any.thing", true),
            ("src", "/app/srcs/x", false),
            ("../lib/x.php", "/lib/x.php", true),
            ("/etc/php/**/*.ini", "/etc/php/8.2/cli/php.ini", true),
            ("/*.php", "/x.php", true),
            ("{src,lib/*}/a.php", "/app/lib/x/a.php", true),
            ("data/[ab].php", "/app/data/b.php", true),
            (".env", "/app/.env", true),
            (".env", "/app/.env.local", false),
            ("**", "/app/a/b", true),
        ];
        for (text, path, expected) in table {
            assert_eq!(
                pattern(text).matches(Path::new(path)),
                expected,
                "{text} {path}"
            );
        }
    }

    #[test]
    fn special_characters_of_the_working_directory_are_none() {
        let pattern = Pattern::new("*.php", Path::new("/a[b]{c}*")).expect("valid");
        assert!(pattern.matches(Path::new("/a[b]{c}*/x.php")));
        assert!(!pattern.matches(Path::new("/ab/x.php")));
        assert_eq!(pattern.base(), Path::new("/a[b]{c}*"));
    }

    #[test]
    fn folders() {
        let table = [
            ("./**/*.php", "/app", true),
            ("./**/*.php", "/app/a/b/vendor", true),
            ("./**/*.php", "/app/.git", false),
            ("./**/*.php", "/app/.git/refs", false),
            ("./**/*.php", "/app/x/node_modules/y", false),
            ("./**/*.php", "/", false),
            (".config/**/*.php", "/app/.config/x", true),
            ("src/*.php", "/app/src", true),
            ("src/*.php", "/app/src/b", false),
            ("src/*/a.php", "/app/src/b", true),
            ("src/*/a.php", "/app/src/b/c", false),
            (".env", "/app", true),
            (".env", "/app/src", false),
        ];
        for (text, folder, expected) in table {
            assert_eq!(
                pattern(text).may_match(Path::new(folder)),
                expected,
                "{text} {folder}"
            );
        }
    }

    #[test]
    fn files_of_editors_do_not_count() {
        let all = pattern("**");
        for name in [
            "a.php~",
            ".a.php.swp",
            ".a.php.swx",
            "4913",
            ".#a.php",
            "#a.php#",
            "a.php___jb_tmp___",
            ".goutputstream-AB12",
        ] {
            assert!(!all.matches(&Path::new("/app").join(name)), "{name}");
        }
        for name in ["a.php", "4913.php", "a.swf", ".env"] {
            assert!(all.matches(&Path::new("/app").join(name)), "{name}");
        }
    }

    #[test]
    fn mistakes() {
        for wrong in ["", "a/{b", "a/[b", "a/**/{x,{y}"] {
            let error = Pattern::new(wrong, Path::new("/app")).expect_err(wrong);
            assert!(
                error.to_string().starts_with(&format!("watch {wrong}: ")),
                "{error}"
            );
        }
    }
}
