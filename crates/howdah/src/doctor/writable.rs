//! Whether the users of the server and of PHP may write what they have to write: logs, crash reports, and PHP's
//! folders.

use std::io;
use std::path::{Path, PathBuf};

use howdah_config::model::{self, Config, LogOutput};
use howdah_observe::access;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::process::geteuid;

use super::report::{Area, PathRequirement, Report};
use crate::crash_folder;
use crate::rights::privileges;

/// PHP settings that name a folder, and what PHP writes there.
const FOLDER_SETTINGS: [(&str, &str); 3] = [
    ("sys_temp_dir", "temporary files"),
    ("upload_tmp_dir", "uploads"),
    ("session.save_path", "sessions"),
];

/// A user whose rights are checked; `None`: that of this process.
#[derive(Debug, Clone, Copy)]
struct Writer<'c>(Option<&'c model::User>);

impl Writer<'_> {
    fn name(self) -> String {
        match self.0 {
            Some(user) => user.to_string(),
            None if geteuid().is_root() => "root".to_owned(),
            None => format!("{}, which runs doctor,", geteuid().as_raw()),
        }
    }

    /// Runs a check with the rights of this user. Without the right to change users, those of this process count.
    fn act<T: Send>(self, check: impl Fn() -> T + Send + Sync) -> T {
        let as_user = self
            .0
            .and_then(|user| privileges::on_thread_as(user, &check).ok());
        as_user.unwrap_or_else(check)
    }

    /// Why it may not create files in a folder. Missing folders are created in the first one that exists.
    fn refusal(self, folder: &Path) -> Option<(PathBuf, io::Error)> {
        self.act(|| {
            let existing = folder.ancestors().find(|above| above.exists())?;
            let access = Access::WRITE_OK | Access::EXEC_OK;
            let refused = if existing.is_dir() {
                io::Error::from(accessat(CWD, existing, access, AtFlags::EACCESS).err()?)
            } else {
                io::ErrorKind::NotADirectory.into()
            };
            Some((existing.to_owned(), refused))
        })
    }
}

/// The user that opens logs and crash reports: in a server that root starts, root does.
fn writer_of_server(config: &Config) -> Writer<'_> {
    let user = config.global.user.as_ref();
    Writer(user.filter(|_| !geteuid().is_root()))
}

/// Files and folders of the server.
pub(super) fn check(config: &Config, report: &mut Report) {
    let writer = writer_of_server(config);
    logs(config, writer, report);
    if let Some(folder) = crash_folder::path(config) {
        match writer.refusal(&folder) {
            None => report.ok(
                Area::Files,
                format!("crash reports {}", folder.display()),
            ),
            Some((place, error)) => report.warning(
                Area::Files,
                format!(
                    "crash reports {}: user {} may not write {}: {error}; the server starts without them",
                    folder.display(),
                    writer.name(),
                    place.display()
                ),
                "let this user write there (chown, chmod), or name another folder with `crash_reports` in the \
                 global options",
            ),
        }
    }
    pool_folders(config, report);
}

fn logs(config: &Config, writer: Writer, report: &mut Report) {
    let of_sites = config.sites.iter().flat_map(|site| &site.access_logs);
    let outputs = of_sites.map(|log| ("access log", &log.output));
    let of_server = config.global.log_outputs().map(|output| ("log", output));
    let mut checked = Vec::new();
    for (kind, output) in outputs.chain(of_server) {
        let LogOutput::File(file) = output else {
            continue;
        };
        if checked.contains(&&file.path) {
            continue;
        }
        checked.push(&file.path);
        let (path, user) = (file.path.display(), writer.name());
        if let Err(access::OpenError { source, .. }) = writer.act(|| access::check(output)) {
            let text = format!("{kind} {path}: user {user} may not write it: {source}");
            let advice = "let this user write the file and its folder (chown, chmod), or name another file; run \
                          doctor as the user that starts the server";
            // Another user may have the right.
            match source.kind() {
                io::ErrorKind::PermissionDenied => report.warning(Area::Files, text, advice),
                _ => report.error(Area::Files, text, advice),
            }
            continue;
        }
        let absolute = crate::paths::absolute(&file.path);
        let is_device = absolute.exists() && !absolute.is_file();
        let folder = absolute
            .parent()
            .filter(|_| file.roll.is_some() && !is_device);
        match folder.and_then(|folder| writer.refusal(folder)) {
            None => report.ok(Area::Files, format!("{kind} {path}")),
            Some((place, error)) => report.warning(
                Area::Files,
                format!(
                    "{kind} {path} is never rotated: user {user} may not write folder {}: {error}",
                    place.display()
                ),
                "let this user write the folder (chown, chmod), or rotate the file with another program and set \
                 `roll_disabled`",
            ),
        }
    }
}

/// Folders of PHP that a pool has for itself.
fn pool_folders(config: &Config, report: &mut Report) {
    let global = &config.global;
    for pool in config.own_pool_settings() {
        let user = pool.user.as_ref().or(global.php.user.as_ref());
        let writer = Writer(user.or(global.user.as_ref()));
        for (name, value) in pool.ini.all() {
            let setting = FOLDER_SETTINGS.iter().find(|(setting, _)| *setting == name);
            let path = Path::new(value.rsplit(';').next().unwrap_or_default());
            if let Some((_, what)) = setting.filter(|_| path.is_absolute()) {
                php_folder(what, path, &[writer], report);
            }
        }
    }
}

/// Folders of all pools, as PHP reports them.
pub(super) fn php_folders(config: &Config, folders: &[(&str, &Path)], report: &mut Report) {
    let global = &config.global;
    let all = global.php.user.as_ref().or(global.user.as_ref());
    let mut users = vec![all];
    for pool in config.own_pool_settings() {
        let user = pool.user.as_ref().or(all);
        if !users.contains(&user) {
            users.push(user);
        }
    }
    let writers: Vec<Writer> = users.into_iter().map(Writer).collect();
    for (what, folder) in folders {
        php_folder(what, folder, &writers, report);
    }
}

fn php_folder(what: &str, folder: &Path, writers: &[Writer], report: &mut Report) {
    let requirement = PathRequirement::WritableFolder;
    let denied = || {
        let mut writers = writers.iter();
        writers.find_map(|writer| Some((writer, writer.refusal(folder)?)))
    };
    // What is wrong for this process is wrong for all: it is missing, or not a folder.
    match denied().filter(|_| requirement.wrong(folder).is_none()) {
        Some((writer, (place, error))) => report.error(
            Area::Files,
            format!(
                "{what} {}: user {} may not write {}: {error}",
                folder.display(),
                writer.name(),
                place.display()
            ),
            "let this user of PHP write there (chown, chmod), or name another folder with `php_ini`",
        ),
        None => report.path(what, folder, requirement),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use howdah_config::model::{AccessLog, LogFile, Roll, Site};

    use super::super::report::Level;
    use super::*;

    fn levels(report: &Report, text: &str) -> Vec<Level> {
        let found = report.findings.iter();
        let found = found.filter(|finding| finding.text.contains(text));
        found.map(|finding| finding.level).collect()
    }

    #[test]
    fn logs_and_crash_reports_must_be_writable() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("a-file");
        std::fs::write(&file, "").expect("written");
        let output = |path: PathBuf| {
            LogOutput::File(LogFile {
                path,
                mode: 0o600,
                roll: Some(Roll::default()),
            })
        };
        let mut config = Config::default();
        let log = |path| AccessLog {
            output: output(path),
            ..AccessLog::default()
        };
        config.sites.push(Site {
            access_logs: vec![
                log(file.clone()),
                log(dir.path().join("new/access.log")),
                log(file.join("below.log")),
            ],
            ..Site::default()
        });
        config.global.crash_reports.on = true;
        config.global.crash_reports.folder = Some(file.join("crashes"));
        let mut report = Report::default();
        check(&config, &mut report);
        assert_eq!(levels(&report, "new/access.log"), [Level::Ok], "{report:?}");
        assert_eq!(levels(&report, "below.log"), [Level::Error], "{report:?}");
        assert_eq!(
            levels(&report, "crash reports"),
            [Level::Warning],
            "{report:?}"
        );
    }

    #[test]
    fn folders_of_php_are_checked_for_its_user() {
        if !geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let set = |mode| {
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode))
                .expect("set");
        };
        let mut config = Config::default();
        config.global.php.user = Some("nobody".parse().expect("a name"));
        let mut report = Report::default();
        set(0o755);
        php_folders(&config, &[("sessions", dir.path())], &mut report);
        assert_eq!(report.worst(None), Level::Error, "{report:?}");
        assert!(
            report.findings[0]
                .text
                .contains("user nobody may not write"),
            "{report:?}"
        );
        let mut report = Report::default();
        set(0o1777);
        php_folders(&config, &[("sessions", dir.path())], &mut report);
        assert_eq!(report.worst(None), Level::Ok, "{report:?}");
    }
}
