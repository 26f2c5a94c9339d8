//! Files of the application whose permissions are too wide.

use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::report::{Area, Finding, Level, Report};

/// Most files that are checked; an application has some ten thousand.
const FILES_MAX: usize = 200_000;
const WORLD_READABLE: u32 = 0o004;
const WORLD_WRITABLE: u32 = 0o002;
/// The bit of a folder in which users can only remove their own files.
const STICKY: u32 = 0o1000;

/// Files with permissions that are too wide.
#[derive(Debug, Default)]
struct ExposedFiles {
    /// Code that every user of the machine can change.
    writable: Vec<PathBuf>,
    /// Secrets that every user of the machine can read.
    readable: Vec<PathBuf>,
    /// Secrets below a document root.
    served: Vec<PathBuf>,
}

/// `roots` are the document roots, `application` is the folder with the code.
pub(super) fn check(application: Option<&Path>, roots: &[PathBuf], report: &mut Report) {
    let mut found = ExposedFiles::default();
    let mut left = FILES_MAX;
    let mut folders: Vec<&Path> = application.into_iter().collect();
    let is_outside = |root: &&PathBuf| !application.is_some_and(|folder| root.starts_with(folder));
    folders.extend(roots.iter().filter(is_outside).map(|root| &**root));
    if folders.is_empty() {
        return;
    }
    for folder in &folders {
        walk(folder, roots, &mut left, &mut found);
    }
    let before = report.findings.len();
    add(
        report,
        Level::Error,
        "code that every user of this machine can change",
        "chmod o-w: every user who can write there can run code as the server's user",
        found.writable,
    );
    add(
        report,
        Level::Warning,
        "secrets that every user of this machine can read",
        "chmod 640, with the group of the server's user",
        found.readable,
    );
    add(
        report,
        Level::Warning,
        "secrets below a document root, where one wrong rule serves them",
        "move them above the document root",
        found.served,
    );
    if report.findings.len() == before {
        report.ok(
            Area::Files,
            format!(
                "{} files: no code that everybody can change, no secrets that everybody can read",
                FILES_MAX - left
            ),
        );
    }
}

fn add(report: &mut Report, level: Level, text: &str, advice: &str, mut paths: Vec<PathBuf>) {
    if paths.is_empty() {
        return;
    }
    paths.sort();
    report.findings.push(Finding {
        area: Area::Files,
        level,
        text: text.to_owned(),
        advice: Some(advice.to_owned()),
        places: paths
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
    });
}

/// Symbolic links are not followed: their targets may belong to any user.
fn walk(folder: &Path, roots: &[PathBuf], left: &mut usize, found: &mut ExposedFiles) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // PHP cannot read what this user cannot read.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else {
                continue;
            };
            if *left == 0 {
                return;
            }
            *left -= 1;
            if metadata.is_symlink() {
                continue;
            }
            let mode = metadata.permissions().mode();
            if is_code(&path, &metadata) && mode & WORLD_WRITABLE != 0 && mode & STICKY == 0 {
                found.writable.push(path.clone());
            }
            if metadata.is_file() && is_secret(&path) {
                if mode & WORLD_READABLE != 0 {
                    found.readable.push(path.clone());
                }
                if roots.iter().any(|root| path.starts_with(root)) {
                    found.served.push(path.clone());
                }
            }
            if metadata.is_dir() && !is_foreign(&path) {
                folders.push(path);
            }
        }
    }
}

/// Folders of packages, whose tests contain keys, and of tools.
fn is_foreign(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    ["vendor", "node_modules", ".git"]
        .iter()
        .any(|foreign| name == *foreign)
}

/// PHP files, and folders with them: whoever can write to a folder can replace its files.
fn is_code(path: &Path, metadata: &Metadata) -> bool {
    let is_php = |path: &Path| path.extension().is_some_and(|extension| extension == "php");
    if metadata.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        return entries.map(|entry| entry.path()).any(|path| is_php(&path));
    }
    metadata.is_file() && is_php(path)
}

fn is_secret(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name == ".env" {
        return true;
    }
    if let Some(kind) = name.strip_prefix(".env.") {
        // Those without values are documentation.
        return !matches!(kind, "example" | "dist" | "sample" | "template" | "test");
    }
    if matches!(&*name, "id_rsa" | "id_ecdsa" | "id_ed25519" | "auth.json") {
        return true;
    }
    let is_key = |extension: &str| matches!(extension, "key" | "pem" | "p12" | "pfx");
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("p12" | "pfx") => true,
        Some(extension) if is_key(extension) => has_private_key(path),
        _ => false,
    }
}

/// Certificates are public.
fn has_private_key(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| {
        let start = &bytes[..bytes.len().min(64 << 10)];
        String::from_utf8_lossy(start).contains("PRIVATE KEY-----")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str, mode: u32) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    }

    fn places<'r>(report: &'r Report, text: &str) -> Vec<&'r str> {
        let findings = report.findings.iter();
        let of = findings.filter(|finding| finding.text.contains(text));
        of.flat_map(|finding| &finding.places)
            .map(|place| place.rsplit('/').next().expect("a name"))
            .collect()
    }

    #[test]
    fn files_that_everybody_may_read_or_change_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let app = folder.path();
        let public = app.join("public");
        write(&public.join("index.php"), "<?php", 0o644);
        write(&public.join("open.php"), "<?php", 0o666);
        write(&app.join(".env"), "KEY=1", 0o644);
        write(&app.join(".env.example"), "KEY=", 0o644);
        write(&app.join(".env.local"), "KEY=1", 0o600);
        write(
            &app.join("tls/site.pem"),
            "-----BEGIN CERTIFICATE-----",
            0o644,
        );
        let key = "-----BEGIN PRIVATE KEY-----";
        write(&app.join("tls/site.key"), key, 0o644);
        write(&public.join("backup.key"), key, 0o600);
        write(&app.join("vendor/package/tests/test.key"), key, 0o644);
        let mut report = Report::default();
        check(Some(app), &[public], &mut report);
        assert_eq!(places(&report, "can change"), ["open.php"]);
        assert_eq!(places(&report, "can read"), [".env", "site.key"]);
        assert_eq!(places(&report, "below a document root"), ["backup.key"]);
    }

    #[test]
    fn a_folder_with_code_that_everybody_may_write_in_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let code = folder.path().join("code");
        write(&code.join("index.php"), "<?php", 0o644);
        let cache = folder.path().join("cache");
        fs::create_dir(&cache).expect("made");
        for folder in [&code, &cache] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("set");
        }
        let mut report = Report::default();
        check(Some(folder.path()), &[], &mut report);
        assert_eq!(places(&report, "can change"), ["code"]);
        assert_eq!(report.worst(None), Level::Error);
    }

    #[test]
    fn an_application_in_order_is_fine() {
        let folder = tempfile::tempdir().expect("a folder");
        write(&folder.path().join("index.php"), "<?php", 0o644);
        let mut report = Report::default();
        check(None, &[folder.path().to_owned()], &mut report);
        assert_eq!(report.worst(None), Level::Ok);
        assert_eq!(report.findings.len(), 1);
    }
}
