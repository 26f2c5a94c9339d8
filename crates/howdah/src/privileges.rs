//! With which rights the server and its PHP processes run.
//!
//! A server with a user of its own (`user` in the global options) is started as root and becomes that user
//! before it reads, writes or starts anything: all it keeps is the right to listen on ports below 1024, which
//! a later reload may need again. Its PHP processes are that user from their start on.
//!
//! A server whose pools alone have users stays root: who has given up its rights could neither start
//! processes of other users again nor end them. It looks the users up, and the pools' zygotes change to them.

use std::ffi::CString;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use howdah_config::model::{self, Config};
use howdah_http::spool::SpoolDir;
use howdah_pool::{PoolOptions, User};
use nix::unistd;
use rustix::fs::Access;
use rustix::process::{DumpableBehavior, Gid, Uid, getegid, geteuid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::commands::Failure;

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
        "howdah was started by uid {0}, which cannot change users: start it as root, or take `user` out"
    )]
    NoRight(u32),
    #[error("the system's list of users cannot be read: {0}")]
    List(#[from] nix::Error),
    #[error("the system refuses {call}: {source}")]
    Refused {
        call: &'static str,
        source: rustix::io::Errno,
    },
    #[error("its threads were started too early; this is a mistake in howdah, please report it")]
    Threads,
    #[error(
        "{directory}, where certificates are kept, is not writable for it: `chown -R {user} {directory}`, or \
         name another with `storage file_system` in the global options"
    )]
    Storage { user: String, directory: String },
}

/// Becomes the server's user, if the configuration names one. To be called before any thread is started and
/// any file is made.
pub(crate) fn become_user(config: &Config) -> Result<(), Failure> {
    // It is for listening: what PHP starts has no use for it.
    let _ =
        rustix::thread::configure_capability_in_ambient_set(CapabilitySet::NET_BIND_SERVICE, false);
    let Some(wanted) = &config.global.user else {
        return Ok(());
    };
    let user = checked(wanted)?;
    let failed = |error| failure(wanted, &error);
    let encrypted = |site: &model::Site| site.addresses.iter().any(|address| address.tls);
    let storage = config.global.https.storage.clone();
    let storage = storage.filter(|_| config.sites.iter().any(encrypted));
    if !is_this(&user) {
        if let Some(directory) = &storage {
            make_directory(directory, &user).map_err(|error| {
                let directory = directory.display();
                Failure::Setup(format!("cannot create {directory}: {error}"))
            })?;
        }
        change(&user).map_err(failed)?;
    }
    let Some(directory) = storage.filter(|directory| directory.exists()) else {
        return Ok(());
    };
    rustix::fs::access(&directory, Access::WRITE_OK).map_err(|_| {
        failed(UserError::Storage {
            user: wanted.to_string(),
            directory: directory.display().to_string(),
        })
    })
}

/// Does this with the rights of the server's user, if the configuration names one: what it makes is that
/// user's. Whoever calls keeps its rights.
pub(crate) fn as_user<T: Send>(
    config: &Config,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let Some(wanted) = &config.global.user else {
        return Ok(work());
    };
    let user = checked(wanted)?;
    if is_this(&user) {
        return Ok(work());
    }
    if let Some(directory) = &config.global.https.storage {
        make_directory(directory, &user).map_err(|error| {
            let directory = directory.display();
            Failure::Setup(format!("cannot create {directory}: {error}"))
        })?;
    }
    let worker = || change_thread(&user).map(|()| work());
    let done = std::thread::scope(|scope| scope.spawn(worker).join());
    match done {
        Ok(result) => result.map_err(|error| failure(wanted, &error)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Whose the processes of a pool are: its own user, or that of all PHP processes, or the server's.
pub(crate) fn pool_user(
    config: &Config,
    own: Option<&model::User>,
) -> Result<Option<User>, Failure> {
    let global = &config.global;
    let wanted = own.or(global.php.user.as_ref()).or(global.user.as_ref());
    wanted.map(checked).transpose()
}

/// Whether PHP of some pool runs as another user than this process, which then has more rights. A user that
/// cannot be looked up is another.
pub(crate) fn confined(config: &Config) -> bool {
    let own = geteuid().as_raw();
    let of_pools = config.workers.iter().map(|pool| pool.user.as_ref());
    let mut users = std::iter::once(None)
        .chain(of_pools)
        .map(|pool| pool_user(config, pool));
    users.any(|user| user.map_or(true, |user| user.is_some_and(|user| user.uid != own)))
}

/// Has processes of other users find the request bodies that they are given, and says who runs as root
/// although nobody asked for it.
pub(crate) fn prepare(pools: &[PoolOptions], spool: &SpoolDir) -> Result<(), Failure> {
    let own = geteuid();
    let mut users = pools.iter().filter_map(|pool| pool.user.as_ref());
    if users.any(|user| user.uid != own.as_raw()) {
        spool.open_to_users().map_err(|error| {
            let path = spool.path().display();
            Failure::Setup(format!("cannot open {path} to PHP's user: {error}"))
        })?;
    }
    if own.is_root() && pools.iter().any(|pool| pool.user.is_none()) {
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

/// A user that this process can become.
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
    // A name of the system's list has no NUL.
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

/// Whether this process is that user already.
fn is_this(user: &User) -> bool {
    (geteuid().as_raw(), getegid().as_raw()) == (user.uid, user.gid)
}

fn can_change() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    rustix::thread::capabilities(None).is_ok_and(|own| own.effective.contains(needed))
}

/// The directory of certificates is made while there is the right to.
fn make_directory(directory: &Path, user: &User) -> io::Result<()> {
    if directory.exists() {
        return Ok(());
    }
    if let Some(parent) = directory.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::DirBuilder::new().mode(0o700).create(directory)?;
    std::os::unix::fs::chown(directory, Some(user.uid), Some(user.gid))
}

/// Changes the user of this thread alone, which has no rights of its old one afterwards.
fn change_thread(user: &User) -> Result<(), UserError> {
    let refused = |call| move |source| UserError::Refused { call, source };
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let groups: Vec<Gid> = user.groups.iter().copied().map(Gid::from_raw).collect();
    rustix::thread::set_thread_groups(&groups).map_err(refused("setgroups"))?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(refused("setresgid"))?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(refused("setresuid"))
}

/// Changes this process's user for good. It has one thread, whose rights those to come inherit.
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
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(refused("setresuid"))?;
    rustix::thread::set_keep_capabilities(false).map_err(refused("PR_SET_KEEPCAPS"))?;
    let kept = had.permitted & CapabilitySet::NET_BIND_SERVICE;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, sets).map_err(refused("capset"))?;
    // The kernel takes /proc/self away from a process that changes its user.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
        .map_err(refused("PR_SET_DUMPABLE"))?;
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
    fn what_does_not_exist_is_told() {
        let message = |text| found(text).expect_err("does not exist");
        assert!(message("howdah-no-user").contains("no such user"));
        assert!(message("root:howdah-no-group").contains("no group howdah-no-group"));
        assert!(message("4242424").contains("`user 4242424:GROUP`"));
        assert!(message(&u32::MAX.to_string()).contains("no such user"));
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
        assert_eq!(name(&config, None), None);
        assert_eq!(name(&config, Some(&this)), Some(own));
        config.global.php.user = Some(this.parse().expect("a user"));
        assert_eq!(name(&config, None), Some(own));
        assert!(!confined(&config));
        config.global.php.user = Some("howdah-no-user".parse().expect("a user"));
        assert!(confined(&config));
        assert_eq!(name(&config, Some(&this)), Some(own));
        let error = pool_user(&config, None)
            .expect_err("no such user")
            .to_string();
        assert!(error.starts_with("user howdah-no-user: "), "{error}");
    }
}
