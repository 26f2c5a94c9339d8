//! The rights of the server and of its PHP processes.
//!
//! A server that root starts has a separate user (`users`). It changes to that user before it opens, writes or starts
//! anything. It only keeps the capability to listen on ports below 1024, which a later reload may need again, and a
//! monitor beside it, which is still root. Its PHP processes run as that user from their start on. If pools have other
//! users, the monitor starts PHP, and their zygotes change to the users that it has named.

use std::ffi::CString;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::path::Path;
use std::sync::Arc;

use howdah_config::model::{self, Config};
use howdah_http::spool::SpoolDir;
use howdah_pool::{PoolOptions, User};
use nix::unistd;
use rustix::fs::{Access, AtFlags, CWD};
use rustix::process::{DumpableBehavior, Gid, Uid, getegid, geteuid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::monitor::{self, Monitor};
use super::users;
use crate::admin;
use crate::crash_folder;
use crate::failure::Failure;

/// Why processes cannot run as a user.
#[derive(Debug, thiserror::Error)]
enum UserError {
    #[error("there is no such user on this machine: create it, or name another")]
    NoUser,
    #[error("there is no group {0} on this machine: create it, or name another")]
    NoGroup(String),
    #[error("the user has no entry on this machine, so name its group too: `user {0}:GROUP`")]
    NoGroupOfNumber(u32),
    #[error(
        "howdah was started by uid {0}, which cannot change users: start it as root, or remove `user`"
    )]
    NoRight(u32),
    #[error("the system's list of users cannot be read: {0}")]
    List(#[from] nix::Error),
    #[error("{call} failed: {source}")]
    Refused {
        call: &'static str,
        source: rustix::io::Errno,
    },
    #[error("its threads were started too early; this is a bug in howdah, please report it")]
    Threads,
    #[error(
        "{directory}, where certificates are kept, is not writable for it: `chown -R {user} {directory}`, or \
         name another with `storage file_system` in the global options"
    )]
    Storage { user: String, directory: String },
}

/// Sets whether processes of the same user, which may be PHP code, can access this one: its keys, request bodies and
/// control sockets. The kernel resets it at a change of user.
pub(crate) fn set_dumpable(config: &Config) {
    let behavior = if config.global.php.limits.dumpable {
        DumpableBehavior::Dumpable
    } else {
        DumpableBehavior::NotDumpable
    };
    // It cannot fail with these values.
    let _ = rustix::process::set_dumpable_behavior(behavior);
}

/// Changes to the server's user. Must be called before any thread is started and any file is opened. Returns the
/// process that stays root.
pub(crate) fn become_user(config: &Config) -> Result<Option<Monitor>, Failure> {
    // The capability is for listening: programs that PHP starts do not need it.
    let _ =
        rustix::thread::configure_capability_in_ambient_set(CapabilitySet::NET_BIND_SERVICE, false);
    let Some(wanted) = &config.global.user else {
        return Ok(None);
    };
    let user = checked(wanted)?;
    let failed = |error| failure(wanted, &error);
    if is_this(&user) {
        check_storage(config, wanted)?;
        return Ok(None);
    }
    if let Some(access_problem) = users::access_problem(config)? {
        return Err(Failure::Setup(access_problem.advice()));
    }
    make_sockets_folder(config, wanted, &user)?;
    let monitor = if geteuid().is_root() {
        keep_storage(config, &user)?;
        keep_crashes(config, &user);
        Some(monitor::start()?)
    } else {
        None
    };
    change(&user).map_err(failed)?;
    if monitor.is_none() {
        check_storage(config, wanted)?;
    }
    Ok(monitor)
}

fn set_capabilities(kept: CapabilitySet) -> Result<(), UserError> {
    let refused = |call| move |source| UserError::Refused { call, source };
    rustix::thread::set_keep_capabilities(false).map_err(refused("PR_SET_KEEPCAPS"))?;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, sets).map_err(refused("capset"))
}

/// The storage of certificates, if there is one.
fn storage(config: &Config) -> Option<&Path> {
    let encrypted = |site: &model::Site| site.addresses.iter().any(|address| address.tls);
    let storage = config.global.https.storage.as_deref();
    storage.filter(|_| config.sites.iter().any(encrypted))
}

fn check_storage(config: &Config, wanted: &model::User) -> Result<(), Failure> {
    let Some(directory) = storage(config).filter(|directory| directory.exists()) else {
        return Ok(());
    };
    let access = rustix::fs::accessat(CWD, directory, Access::WRITE_OK, AtFlags::EACCESS);
    access.map_err(|_| {
        let directory = directory.display().to_string();
        let user = wanted.to_string();
        failure(wanted, &UserError::Storage { user, directory })
    })
}

/// Gives the storage to root alone, since PHP may run as the server's user. Earlier versions gave the default folder to
/// that user.
fn keep_storage(config: &Config, user: &User) -> Result<(), Failure> {
    let Some(directory) = storage(config) else {
        return Ok(());
    };
    let failed = |error: io::Error| {
        let directory = directory.display();
        Failure::Setup(format!("cannot keep certificates in {directory}: {error}"))
    };
    make_directory(directory, None).map_err(failed)?;
    let usual = howdah_tls::default_storage().as_deref() == Some(directory);
    let owner = std::fs::metadata(directory).map_err(failed)?.uid();
    if usual && owner == user.uid {
        chown(directory, Some(0), Some(0)).map_err(failed)?;
    }
    Ok(())
}

/// The same for crash reports. Errors are reported when the folder is opened.
fn keep_crashes(config: &Config, user: &User) {
    let Some(folder) = crash_folder::path(config) else {
        return;
    };
    let is_new = !folder.exists();
    let made = make_directory(&folder, None).and_then(|()| std::fs::metadata(&folder));
    let is_ours = is_new || config.global.crash_reports.folder.is_none();
    if is_ours && made.is_ok_and(|found| found.uid() == user.uid) {
        let _ = chown(&folder, Some(0), Some(0));
    }
}

/// Gives the server's folder of sockets, if it is used, to its user, unless a service manager has created it for a
/// group of the user.
fn make_sockets_folder(config: &Config, wanted: &model::User, user: &User) -> Result<(), Failure> {
    let mut sockets = users::unix_sockets(config);
    let by_default = config.global.admin == model::Admin::Default && is_php_restricted(config);
    let folder = Path::new(admin::ADMIN_SOCKET).parent();
    let mut is_in = |folder: &&Path| by_default || sockets.any(|socket| socket.starts_with(folder));
    let Some(folder) = folder.filter(|folder| is_in(folder)) else {
        return Ok(());
    };
    let write = Access::WRITE_OK | Access::EXEC_OK;
    if on_thread_as(wanted, || rustix::fs::access(folder, write))?.is_ok() {
        return Ok(());
    }
    let made = make_directory(folder, Some(0o755))
        .and_then(|()| chown(folder, Some(user.uid), Some(user.gid)));
    made.map_err(|error| Failure::Setup(format!("cannot create {}: {error}", folder.display())))
}

/// Why processes cannot run as the configured users.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UserProblems {
    /// Errors for every process.
    pub(crate) wrong: Vec<String>,
    /// Denied to this process, which is not the one that serves.
    pub(crate) refused: Vec<String>,
}

/// Looks up all configured users.
pub(crate) fn unusable(config: &Config) -> UserProblems {
    let global = &config.global;
    let of_pools = config
        .own_pool_settings()
        .filter_map(|own| own.user.as_ref());
    let of_pools = of_pools.chain(config.roadrunner.iter().filter_map(|own| own.user.as_ref()));
    let users = [&global.user, &global.php.user].into_iter().flatten();
    let mut unusable = UserProblems::default();
    for user in users.chain(of_pools) {
        let found = look_up(user);
        let (list, error) = match found {
            Ok(found) if is_this(&found) || can_change() => continue,
            Ok(_) => {
                let error = UserError::NoRight(geteuid().as_raw());
                (&mut unusable.refused, failure(user, &error))
            }
            Err(error) => (&mut unusable.wrong, failure(user, &error)),
        };
        let text = error.to_string();
        if !list.contains(&text) {
            list.push(text);
        }
    }
    unusable
}

/// Runs a function with the rights of the user who owns the storage of certificates, who then owns new files. The
/// caller keeps its rights.
pub(crate) fn as_keeper<T: Send>(
    config: &Config,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let Some(wanted) = &config.global.user else {
        return Ok(work());
    };
    let storage = config.global.https.storage.as_deref();
    let owner = storage.and_then(|storage| std::fs::metadata(storage).ok());
    let user = checked(wanted)?;
    if owner.is_none_or(|owner| owner.uid() != user.uid) {
        return Ok(work());
    }
    on_thread_as(wanted, work)
}

/// Runs a function on a thread with the rights of this user only.
pub(crate) fn on_thread_as<T: Send>(
    wanted: &model::User,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let user = checked(wanted)?;
    if is_this(&user) {
        return Ok(work());
    }
    let worker = || change_thread(&user).map(|()| work());
    let done = std::thread::scope(|scope| scope.spawn(worker).join());
    match done {
        Ok(result) => result.map_err(|error| failure(wanted, &error)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Whether this process could change to that user.
pub(crate) fn can_become(user: &model::User) -> bool {
    on_thread_as(user, || ()).is_ok()
}

/// Whether this process already runs as that user.
pub(crate) fn is_current(user: &model::User) -> bool {
    look_up(user).is_ok_and(|user| is_this(&user))
}

/// Whether two names mean the same user.
pub(crate) fn is_same(one: &model::User, other: &model::User) -> bool {
    let ids = |user| look_up(user).map(|found| (found.uid, found.gid)).ok();
    one == other || (ids(one).is_some() && ids(one) == ids(other))
}

/// User of a pool's processes: its own, or that of all PHP processes, or the server's.
pub(crate) fn pool_user(
    config: &Config,
    own: Option<&model::User>,
) -> Result<Option<User>, Failure> {
    let global = &config.global;
    let server = global.user.as_ref().or_else(|| users::of_php(config));
    let wanted = own.or(global.php.user.as_ref()).or(server);
    wanted.map(checked).transpose()
}

/// Whether PHP of some pool runs as a different user than this process, which then has more rights. An unknown user
/// counts as a different one.
pub(crate) fn is_php_restricted(config: &Config) -> bool {
    let server = config.global.user.as_ref().map(look_up);
    let own = match server {
        Some(Ok(server)) => server.uid,
        _ => geteuid().as_raw(),
    };
    pool_users(config)
        .any(|user| user.map_or(true, |user| user.is_some_and(|user| user.uid != own)))
}

/// The user of each pool, unsorted; `None` is that of this process.
fn pool_users(config: &Config) -> impl Iterator<Item = Result<Option<User>, Failure>> {
    let own = config.own_pool_settings().map(|own| own.user.as_ref());
    let of_roadrunner = config.roadrunner.iter().map(|own| own.user.as_ref());
    let users = std::iter::once(None).chain(own).chain(of_roadrunner);
    users.map(|own| pool_user(config, own))
}

/// Ids of users of pools whose rights differ from this process's. Root is left out, since it has access to everything
/// anyway.
pub(crate) fn restricted_users(config: &Config) -> Arc<[u32]> {
    let own = geteuid().as_raw();
    let users = pool_users(config).filter_map(|user| user.ok().flatten());
    let mut users: Vec<u32> = users.map(|user| user.uid).collect();
    users.retain(|uid| *uid != own && *uid != 0);
    users.sort_unstable();
    users.dedup();
    users.into()
}

/// Lets processes of other users open the request bodies that they get, and logs which processes run as root although
/// that was not configured.
pub(crate) fn prepare(pools: &[PoolOptions], spool: &SpoolDir) -> Result<(), Failure> {
    let own = geteuid();
    let mut users = pools.iter().filter_map(|pool| pool.user.as_ref());
    if users.any(|user| user.uid != own.as_raw()) {
        spool.open_to_users().map_err(|error| {
            let path = spool.path().display();
            Failure::Setup(format!("cannot open {path} to PHP's user: {error}"))
        })?;
    }
    let is_root = |pool: &PoolOptions| pool.user.as_ref().is_none_or(|user| user.uid == 0);
    if let Some(access_problem) = users::reason_for_serving_as_root() {
        tracing::warn!(target: "howdah", "clients are served as root: {}", access_problem.advice());
    } else if own.is_root() && pools.iter().any(is_root) {
        tracing::info!(
            target: "howdah",
            "PHP runs as root: name another user with `user` in the Caddyfile, or with --user"
        );
    }
    Ok(())
}

fn failure(user: &model::User, error: &UserError) -> Failure {
    Failure::Setup(format!("user {user}: {error}"))
}

/// A user to which this process can change.
fn checked(wanted: &model::User) -> Result<User, Failure> {
    let user = look_up(wanted).and_then(|user| {
        if is_this(&user) || can_change() {
            Ok(user)
        } else {
            Err(UserError::NoRight(geteuid().as_raw()))
        }
    });
    user.map_err(|error| failure(wanted, &error))
}

fn look_up(wanted: &model::User) -> Result<User, UserError> {
    let number: Option<u32> = wanted.name.parse().ok();
    let mut entry = unistd::User::from_name(&wanted.name)?;
    if let (None, Some(number)) = (&entry, number) {
        entry = unistd::User::from_uid(number.into())?;
    }
    let group = wanted.group.as_deref().map(look_up_group).transpose()?;
    let Some(entry) = entry else {
        let uid = number.filter(|number| *number != u32::MAX);
        let uid = uid.ok_or(UserError::NoUser)?;
        let gid = group.ok_or(UserError::NoGroupOfNumber(uid))?;
        return Ok(User {
            uid,
            gid,
            groups: vec![gid],
            name: String::new(),
            home: Path::new("").into(),
        });
    };
    let gid = group.unwrap_or(entry.gid.as_raw());
    // A name in the system's list contains no NUL.
    let name = CString::new(entry.name.as_str()).map_err(|_| UserError::NoUser)?;
    let groups = unistd::getgrouplist(&name, gid.into())?;
    Ok(User {
        uid: entry.uid.as_raw(),
        gid,
        groups: groups.into_iter().map(unistd::Gid::as_raw).collect(),
        name: entry.name,
        home: entry.dir,
    })
}

fn look_up_group(name: &str) -> Result<u32, UserError> {
    if let Some(group) = unistd::Group::from_name(name)? {
        return Ok(group.gid.as_raw());
    }
    let number = name.parse().ok().filter(|number| *number != u32::MAX);
    number.ok_or_else(|| UserError::NoGroup(name.to_owned()))
}

/// Whether this process already runs as that user.
fn is_this(user: &User) -> bool {
    (geteuid().as_raw(), getegid().as_raw()) == (user.uid, user.gid)
}

/// Whether processes of this server, started by it or by its monitor, can change to other users.
fn can_change() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    howdah_monitor::is_connected()
        || rustix::thread::capabilities(None).is_ok_and(|own| own.effective.contains(needed))
}

/// Creates a directory. By default only its owner has access.
fn make_directory(directory: &Path, mode: Option<u32>) -> io::Result<()> {
    if directory.exists() {
        return Ok(());
    }
    if let Some(parent) = directory.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mode = mode.unwrap_or(0o700);
    std::fs::DirBuilder::new().mode(mode).create(directory)
}

/// Each connection needs a descriptor; the usual soft limit of 1,024 is for programs that use `select`.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(target: "howdah", "cannot raise the limit of open files: {error}");
    }
}

/// Changes the user of this thread only, which then has no rights of the old one.
fn change_thread(user: &User) -> Result<(), UserError> {
    let refused = |call| move |source| UserError::Refused { call, source };
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let groups: Vec<Gid> = user.groups.iter().copied().map(Gid::from_raw).collect();
    rustix::thread::set_thread_groups(&groups).map_err(refused("setgroups"))?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(refused("setresgid"))?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(refused("setresuid"))
}

/// Real and saved user of a server that root starts. A process may signal another, change its limits or trace it only
/// if its user is the other's real or saved one (kill(2), prlimit(2)). So PHP, which often has the server's user,
/// cannot stop the server. Distributions and systemd do not assign this number (<https://systemd.io/UIDS-GIDS>), and it
/// exists in containers with the usual 65,536 users.
const REAL_USER: u32 = 65_533;

/// Permanently changes this process's user. It has one thread, whose rights later threads inherit.
fn change(user: &User) -> Result<(), UserError> {
    let refused = |call| move |source| UserError::Refused { call, source };
    let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
    if threads.is_ok_and(|count| count != 1) {
        return Err(UserError::Threads);
    }
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let groups: Vec<Gid> = user.groups.iter().copied().map(Gid::from_raw).collect();
    let had = rustix::thread::capabilities(None).map_err(refused("capget"))?;
    rustix::thread::set_keep_capabilities(true).map_err(refused("PR_SET_KEEPCAPS"))?;
    rustix::thread::set_thread_groups(&groups).map_err(refused("setgroups"))?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(refused("setresgid"))?;
    let real = Uid::from_raw(REAL_USER);
    // A user namespace may lack it.
    if rustix::thread::set_thread_res_uid(real, uid, real).is_err() {
        rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(refused("setresuid"))?;
    }
    set_capabilities(had.permitted & CapabilitySet::NET_BIND_SERVICE)?;
    let root = Uid::ROOT;
    if uid != root && rustix::thread::set_thread_res_uid(root, root, root).is_ok() {
        return Err(UserError::Refused {
            call: "to make it final",
            source: rustix::io::Errno::PERM,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<User, String> {
        let user = text.parse().expect("the form of a user");
        look_up(&user).map_err(|error| error.to_string())
    }

    #[test]
    fn users_are_found_by_name_and_number() {
        let root = found("root").expect("everywhere");
        assert_eq!((root.uid, root.gid, root.name.as_str()), (0, 0, "root"));
        assert!(root.groups.contains(&0));
        assert_eq!(found("0"), Ok(root.clone()));
        let other = found("root:4242").expect("a number needs no entry");
        assert_eq!((other.uid, other.gid), (0, 4242));
        assert!(other.groups.contains(&4242) && other.name == "root");
        let nobody = found("4242424:17").expect("numbers need no entry");
        assert_eq!(
            (nobody.uid, nobody.gid, nobody.groups),
            (4_242_424, 17, vec![17])
        );
        assert_eq!(nobody.name, "");
    }

    #[test]
    fn missing_paths_are_reported() {
        let message = |text| found(text).expect_err("does not exist");
        assert!(message("howdah-no-user").contains("no such user"));
        assert!(message("root:howdah-no-group").contains("no group howdah-no-group"));
        assert!(message("4242424").contains("`user 4242424:GROUP`"));
        assert!(message(&u32::MAX.to_string()).contains("no such user"));
        let mut config = Config::default();
        for user in [&mut config.global.user, &mut config.global.php.user] {
            *user = Some("howdah-no-user".parse().expect("a user"));
        }
        let unusable = unusable(&config);
        assert_eq!(unusable.wrong.len(), 1, "{unusable:?}");
        assert!(unusable.refused.is_empty(), "{unusable:?}");
    }

    #[test]
    fn the_nearest_setting_counts() {
        let mut config = Config::default();
        let name = |config: &Config, own: Option<&str>| {
            let own: Option<model::User> = own.map(|own| own.parse().expect("a user"));
            let user = pool_user(config, own.as_ref()).expect("this process's");
            user.map(|user| (user.uid, user.gid))
        };
        let own = (geteuid().as_raw(), getegid().as_raw());
        let this = format!("{}:{}", own.0, own.1);
        // If root starts it, PHP has a different user unless the configuration names one.
        let default = name(&config, None);
        assert_eq!(default.is_some(), geteuid().is_root(), "{default:?}");
        assert!(default.is_none_or(|(uid, _)| uid != 0), "{default:?}");
        assert_eq!(name(&config, Some(&this)), Some(own));
        config.global.php.user = Some(this.parse().expect("a user"));
        assert_eq!(name(&config, None), Some(own));
        assert!(!is_php_restricted(&config));
        config.global.php.user = Some("howdah-no-user".parse().expect("a user"));
        assert!(is_php_restricted(&config));
        assert_eq!(name(&config, Some(&this)), Some(own));
        let error = pool_user(&config, None)
            .expect_err("no such user")
            .to_string();
        assert!(error.starts_with("user howdah-no-user: "), "{error}");
    }
}
