//! Acting as the owner of a file. The monitor is root, but needs none of the capabilities with which root ignores
//! permissions: it takes the owner's rights where its own are not sufficient. So a service manager can withhold
//! `CAP_DAC_OVERRIDE`, `CAP_FOWNER`, `CAP_CHOWN` and `CAP_KILL`, and a file that it creates belongs to the right user.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::process::{Gid, Uid, getegid, geteuid, getgid, getuid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

/// Runs `work` as the user, on this thread only; with a group if one is given.
///
/// # Errors
/// Those of `work`; or the process is neither this user nor root.
pub(crate) fn as_user<T>(
    user: Uid,
    group: Option<Gid>,
    work: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    if geteuid() == user && group.is_none() {
        return work();
    }
    let acting = EffectiveUserGuard::begin(user, group)?;
    let done = work();
    drop(acting);
    done
}

/// Runs `work` as root, and where root has no permission, as the owner of a file or folder.
///
/// # Errors
/// Those of `work`.
pub(crate) fn retry_as_owner<T>(
    owned: impl AsFd,
    work: impl Fn() -> io::Result<T>,
) -> io::Result<T> {
    match work() {
        Err(error) if is_denied(&error) && geteuid().is_root() => {
            as_user(owner(owned)?, None, work)
        }
        done => done,
    }
}

pub(crate) fn owner(owned: impl AsFd) -> io::Result<Uid> {
    Ok(Uid::from_raw(fstat(owned)?.st_uid))
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// While this exists, this thread has a different effective user and group. Real and saved ones stay root's: no
/// process of that user can signal or trace the monitor, and the way back needs no capability.
struct EffectiveUserGuard {
    group: Gid,
}

impl EffectiveUserGuard {
    fn begin(user: Uid, group: Option<Gid>) -> io::Result<Self> {
        if !geteuid().is_root() || !getuid().is_root() {
            return Err(Errno::PERM.into());
        }
        let acting = Self { group: getegid() };
        if let Some(group) = group {
            set_thread_res_gid(getgid(), group, getgid())?;
        }
        set_thread_res_uid(Uid::ROOT, user, Uid::ROOT)?;
        Ok(acting)
    }
}

impl Drop for EffectiveUserGuard {
    fn drop(&mut self) {
        let user = set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT);
        let group = set_thread_res_gid(getgid(), self.group, getgid());
        // The thread would continue with the rights of a different user.
        if user.is_err() || group.is_err() {
            std::process::abort();
        }
    }
}

/// Drops the capabilities to ignore permissions from this thread, as the packaged unit does.
#[cfg(test)]
pub(crate) fn drop_capabilities() {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let kept = CapabilitySet::SETUID | CapabilitySet::SETGID;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).expect("root may");
}
