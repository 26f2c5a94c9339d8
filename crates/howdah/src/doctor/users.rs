//! The users of the server and PHP: whether they exist, and have access to what they serve.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use howdah_config::model::{self, Config};
use howdah_pool::User;

use super::report::{Area, Report};
use crate::rights::{privileges, users};

const READ: u32 = 0o4;
const WRITE: u32 = 0o2;
const PASS: u32 = 0o1;

pub(super) fn check(config: &Config, roots: &[PathBuf], report: &mut Report) {
    if let Some(access_problem) = users::reason_for_serving_as_root() {
        let text = format!("the server would serve clients as root: {access_problem}");
        report.warning(Area::System, text, access_problem.remedy());
    }
    let global = &config.global;
    let all = global.php.user.as_ref().or(global.user.as_ref());
    let mut access: Vec<(&model::User, &Path)> = Vec::new();
    for root in roots {
        // The server reads files, PHP reads scripts.
        access.extend(global.user.iter().chain(all).map(|user| (user, &**root)));
    }
    for pool in &config.workers {
        let user = pool.settings.user.as_ref().or(all);
        access.extend(user.map(|user| (user, Path::new(&pool.file))));
    }
    let mut known: Vec<(&model::User, Option<User>)> = Vec::new();
    let of_pools = config
        .own_pool_settings()
        .filter_map(|own| own.user.as_ref());
    let named = global.user.iter().chain(all).chain(of_pools);
    for user in named.chain(access.iter().map(|(user, _)| *user)) {
        if !known.iter().any(|(name, _)| *name == user) {
            known.push((user, find(config, user, report)));
        }
    }
    let account = |user| known.iter().find(|(name, _)| *name == user)?.1.as_ref();
    let mut reported = Vec::new();
    for (user, path) in access {
        if reported.contains(&(user, path)) {
            continue;
        }
        reported.push((user, path));
        if let Some(place) = account(user).and_then(|user| denied_part(user, path, READ)) {
            report_denied(report, user, "read", path, &place);
        }
    }
    // A server that root starts has its monitor open the storage.
    let storage = global.https.storage.as_deref();
    let storage = storage.filter(|_| !rustix::process::geteuid().is_root());
    if let (Some(user), Some(storage)) = (&global.user, storage)
        && let Some(place) = account(user).and_then(|user| denied_part(user, storage, READ | WRITE))
    {
        report_denied(report, user, "write", storage, &place);
    }
    // Their files are created when the server already runs as that user.
    let sockets = config.sites.iter().flat_map(|site| &site.unix_sockets);
    let folders: BTreeSet<&Path> = sockets.filter_map(|socket| socket.path.parent()).collect();
    for folder in folders {
        if let Some(user) = &global.user
            && let Some(place) = account(user).and_then(|user| denied_part(user, folder, WRITE))
        {
            report_denied(report, user, "write", folder, &place);
        }
    }
}

fn find(config: &Config, user: &model::User, report: &mut Report) -> Option<User> {
    match privileges::pool_user(config, Some(user)) {
        Ok(found) => {
            report.ok(Area::System, format!("user {user} can be used"));
            found
        }
        Err(failure) => {
            let advice = "without it the server does not start";
            report.error(Area::System, failure.to_string(), advice);
            None
        }
    }
}

/// Reports denied access, as a warning only, since access control lists may allow it.
fn report_denied(report: &mut Report, user: &model::User, verb: &str, path: &Path, place: &Path) {
    let (path, place) = (path.display(), place.display());
    report.warning(
        Area::Files,
        format!("user {user} may not {verb} {path}: the mode of {place} forbids it"),
        "change the mode or the owner, or name another `user`",
    );
}

/// The part of a path that denies a user the access to its last part. A missing part does not
/// count: other checks report it.
fn denied_part(user: &User, path: &Path, access: u32) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok()?;
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    let refused = |part: &&Path| {
        let found = can_access(user, part, if **part == *path { access } else { PASS });
        found.is_ok_and(|may| !may)
    };
    parts.into_iter().find(refused).map(Path::to_owned)
}

fn can_access(user: &User, path: &Path, access: u32) -> io::Result<bool> {
    let facts = fs::metadata(path)?;
    let shift = if facts.uid() == user.uid {
        6
    } else if facts.gid() == user.gid || user.groups.contains(&facts.gid()) {
        3
    } else {
        0
    };
    let pass = if facts.is_dir() { PASS } else { 0 };
    let access = access | pass;
    Ok(user.uid == 0 || facts.mode() >> shift & access == access)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn modes_decide_who_reaches_a_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mine");
        };
        let file = dir.path().join("index.php");
        fs::write(&file, "").expect("written");
        mode(dir.path(), 0o751);
        mode(&file, 0o640);
        let facts = fs::metadata(&file).expect("it is there");
        let user = |uid, gid| User {
            uid,
            gid,
            groups: vec![gid],
            name: String::new(),
            home: PathBuf::new(),
        };
        let stranger = user(facts.uid() + 1, facts.gid() + 1);
        let member = user(facts.uid() + 1, facts.gid());
        let place = fs::canonicalize(&file).expect("it is there");
        assert_eq!(denied_part(&stranger, &file, READ), Some(place.clone()));
        assert_eq!(denied_part(&member, &file, READ), None);
        assert_eq!(denied_part(&member, &file, READ | WRITE), Some(place));
        mode(dir.path(), 0o750);
        let above = fs::canonicalize(dir.path()).expect("it is there");
        assert_eq!(denied_part(&stranger, &file, READ), Some(above));
        assert_eq!(denied_part(&user(0, 0), &file, READ | WRITE), None);
        assert_eq!(denied_part(&stranger, &dir.path().join("none"), READ), None);
    }
}
