//! The user of a server that root has started without a configured user; and whether a user has access to the paths
//! of the configuration.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use howdah_config::model::{self, Config};
use rustix::fs::Access;
use rustix::io::Errno;

use super::privileges;
use crate::admin;
use crate::failure::Failure;
use crate::paths::absolute;
use crate::php_executable::executables;

/// The first existing one is used: Debian's for web servers, and the one of every system.
const NAMES: [&str; 2] = ["www-data", "nobody"];
/// The user and the folder of certificates, determined while the process is root: later this is
/// impossible.
#[derive(Debug)]
struct DefaultUser {
    user: model::User,
    /// Named by the environment.
    is_named: bool,
    storage: Option<PathBuf>,
}

fn usual() -> Option<&'static DefaultUser> {
    static USUAL: OnceLock<Option<DefaultUser>> = OnceLock::new();
    USUAL.get_or_init(find).as_ref()
}

fn find() -> Option<DefaultUser> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    // A missing user is an error at the start, as in the configuration.
    let named = std::env::var(howdah_pool::USER_OF_SERVER)
        .ok()
        .and_then(|name| name.parse().ok());
    let mut users = NAMES.iter().filter_map(|name| name.parse().ok());
    // A container may lack the right to change users, or have no other users.
    let is_named = named.is_some();
    let user = named.or_else(|| users.find(privileges::can_become))?;
    let usual = DefaultUser {
        user,
        is_named,
        storage: howdah_tls::default_storage(),
    };
    // A configured root stays root.
    (!privileges::is_current(&usual.user)).then_some(usual)
}

/// The user of pools without one, in a server that stays root and has pools of other users.
pub(crate) fn of_php(config: &Config) -> Option<&'static model::User> {
    default_user_for(config, None).map(|usual| &usual.user)
}

fn default_user_for(config: &Config, file: Option<&Path>) -> Option<&'static DefaultUser> {
    let usual = usual().filter(|_| config.global.user.is_none())?;
    let is_wanted =
        usual.is_named || named_for_php(config).next().is_some() || default_reaches(config, file);
    is_wanted.then_some(usual)
}

/// What the default user cannot access although the first configuration needs it. The server then stays root, also
/// after reloads: it can give up its rights only at the start.
static ACCESS_PROBLEM: OnceLock<Option<AccessProblem>> = OnceLock::new();

/// Why the server stays root although it was not configured.
pub(crate) fn reason_for_root() -> Option<&'static AccessProblem> {
    ACCESS_PROBLEM.get()?.as_ref()
}

/// The reason, if this process runs as root.
pub(crate) fn reason_for_serving_as_root() -> Option<&'static AccessProblem> {
    reason_for_root().filter(|_| rustix::process::geteuid().is_root())
}

fn default_reaches(config: &Config, file: Option<&Path>) -> bool {
    let find = || {
        let user = &usual()?.user;
        if file.is_some_and(|file| is_mistake(config, file, user)) {
            return None;
        }
        default_user_problem(config, ENTER)
    };
    ACCESS_PROBLEM.get_or_init(find).is_none()
}

/// Whether the default user can access the configuration file, but not a document root or worker script: the file was
/// written for a server with a user, so [`access_problem`] reports the error. If the user cannot access the file either, root
/// is only trying something out.
fn is_mistake(config: &Config, file: &Path, user: &model::User) -> bool {
    let folder = absolute(file).parent().map(Path::to_owned);
    let folder = folder.map(|folder| Place::new("folder of the configuration", folder, ENTER));
    let found = privileges::on_thread_as(user, || {
        let is_reached = |places: Vec<Place>| find_access_problem(places, user).is_none();
        is_reached(folder.into_iter().collect()) && !is_reached(application(config, ENTER))
    });
    found.unwrap_or(false)
}

fn default_user_problem(config: &Config, of_roots: Requirement) -> Option<AccessProblem> {
    let user = &usual()?.user;
    let mut places = required_places(config, of_roots);
    // The server's own folder is given to its user.
    let own = Path::new(admin::ADMIN_SOCKET).parent();
    let folders =
        unix_sockets(config).filter_map(|socket| Some(absolute(socket).parent()?.to_owned()));
    let others = folders.filter(|folder| Some(&**folder) != own);
    places.extend(others.map(|path| Place::new("folder of a Unix socket", path, WRITE)));
    privileges::on_thread_as(user, || find_access_problem(places, user)).ok()?
}

/// Like [`settle`], for `php-server`, with which people try an application. PHP often writes next to its code there,
/// and the first try must not fail: the default user is only used if it may write to the document root.
pub(crate) fn settle_php_server(config: &mut Config) {
    ACCESS_PROBLEM.get_or_init(|| default_user_problem(config, WRITE));
    fill_in(config, None);
}

/// Unix sockets at which the server listens.
pub(crate) fn unix_sockets(config: &Config) -> impl Iterator<Item = &Path> {
    let admin = match &config.global.admin {
        model::Admin::On(model::AdminAddress::Unix(path)) => Some(path.as_path()),
        _ => None,
    };
    let of_sites = config.sites.iter().flat_map(|site| &site.unix_sockets);
    of_sites.map(|socket| socket.path.as_path()).chain(admin)
}

/// Sets the user that the environment names, or the default one if it has access to everything; and where its
/// certificates are stored. The default user need not have access to everything if PHP has separate users: it opens
/// files with fewer rights than they have. `file` is the configuration file.
pub(crate) fn settle(config: &mut Config, file: &Path) {
    fill_in(config, Some(file));
}

fn fill_in(config: &mut Config, file: Option<&Path>) {
    let Some(usual) = default_user_for(config, file) else {
        return;
    };
    if config.global.https.storage.is_none() {
        config.global.https.storage.clone_from(&usual.storage);
    }
    if usual.is_named || reason_for_root().is_none() {
        config.global.user = Some(usual.user.clone());
    }
}

fn named_for_php(config: &Config) -> impl Iterator<Item = &model::User> {
    let of_pools = config
        .own_pool_settings()
        .filter_map(|own| own.user.as_ref());
    let of_roadrunner = config.roadrunner.iter().filter_map(|own| own.user.as_ref());
    of_pools.chain(of_roadrunner).chain(&config.global.php.user)
}

/// The first path without which the server does not start: its user needs it and cannot access it. Other sites are
/// served if a document root is out of reach, unless all of them are.
pub(crate) fn access_problem(config: &Config) -> Result<Option<AccessProblem>, Failure> {
    let Some(user) = &config.global.user else {
        return Ok(None);
    };
    let mut places = required_places(config, ENTER);
    let has_others = named_for_php(config).any(|own| !privileges::is_same(own, user));
    if has_others {
        // PHP's users access their paths themselves.
        places.retain(|place| place.need.access == WRITE.access);
    }
    privileges::on_thread_as(user, || {
        let roots = places.iter().filter(|place| place.kind == DOCUMENT_ROOT);
        let reaches_one = roots
            .map(|place| absolute(&place.path))
            .any(|root| !is_denied(&root, ENTER.access));
        if reaches_one {
            places.retain(|place| place.kind != DOCUMENT_ROOT);
        }
        find_access_problem(places, user)
    })
}

/// An access that a user lacks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AccessProblem {
    user: String,
    /// `enter`, `read` …
    verb: &'static str,
    place: PathBuf,
    /// The setting that names the path.
    behind: Option<String>,
}

impl fmt::Display for AccessProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, verb, place) = (&self.user, self.verb, self.place.display());
        write!(f, "user {user} may not {verb} {place}")?;
        if let Ok(found) = std::fs::metadata(&self.place) {
            let mode = found.mode() & 0o7777;
            write!(f, " (mode {mode:04o}, owner {})", found.uid())?;
        }
        match &self.behind {
            Some(behind) => write!(f, ", the way to the {behind}"),
            None => Ok(()),
        }
    }
}

impl AccessProblem {
    /// The message, with a hint.
    pub(crate) fn advice(&self) -> String {
        format!("{self}; {}", self.remedy())
    }

    /// A hint.
    pub(crate) fn remedy(&self) -> String {
        let place = self.place.display();
        let command = match self.verb {
            "enter" => format!("chmod o+x {place}"),
            "write to" => format!("chown {} {place}", self.user),
            _ => format!("chmod o+r {place}"),
        };
        format!(
            "`{command}`, put the files elsewhere, name another user with `user NAME` in the global \
             options or with --user, or serve as root with `user root`"
        )
    }
}

/// The access to a path that a user needs.
#[derive(Debug, Clone, Copy)]
struct Requirement {
    verb: &'static str,
    access: Access,
}

impl Requirement {
    const fn new(verb: &'static str, access: Access) -> Self {
        Self { verb, access }
    }
}

const DOCUMENT_ROOT: &str = "document root";

const ENTER: Requirement = Requirement::new("enter", Access::EXEC_OK);
const READ: Requirement = Requirement::new("read", Access::READ_OK);
const RUN: Requirement = Requirement::new("run", Access::READ_OK.union(Access::EXEC_OK));
const WRITE: Requirement = Requirement::new("write to", Access::WRITE_OK.union(Access::EXEC_OK));

/// A path that the user of a server needs.
struct Place {
    kind: &'static str,
    path: PathBuf,
    need: Requirement,
}

impl Place {
    fn new(kind: &'static str, path: impl Into<PathBuf>, need: Requirement) -> Self {
        let path = path.into();
        Self { kind, path, need }
    }
}

fn required_places(config: &Config, of_roots: Requirement) -> Vec<Place> {
    let mut places = application(config, of_roots);
    let php = executables(config).into_iter();
    places.extend(php.map(|php| Place::new("PHP executable", php, RUN)));
    let temporary = std::env::temp_dir();
    places.push(Place::new("folder of temporary files", temporary, WRITE));
    places
}

fn application(config: &Config, of_roots: Requirement) -> Vec<Place> {
    let roots = config.constant_roots().into_iter();
    let scripts = config.workers.iter().map(|pool| pool.file.as_str());
    roots
        .map(|root| Place::new(DOCUMENT_ROOT, root, of_roots))
        .chain(scripts.map(|script| Place::new("worker script", script, READ)))
        .collect()
}

/// The first path that the user of this thread cannot access. Missing paths are reported elsewhere.
fn find_access_problem(places: Vec<Place>, user: &model::User) -> Option<AccessProblem> {
    for Place { kind, path, need } in places {
        let path = absolute(&path);
        if !is_denied(&path, need.access) {
            continue;
        }
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        let folder = above
            .into_iter()
            .find(|folder| is_denied(folder, ENTER.access));
        if folder.is_none() && kind == DOCUMENT_ROOT && path.is_file() {
            // Nobody can enter it: requests get a 404.
            continue;
        }
        return Some(AccessProblem {
            user: user.to_string(),
            verb: folder.map_or(need.verb, |_| ENTER.verb),
            behind: folder.map(|_| format!("{kind} {}", path.display())),
            place: folder.unwrap_or(&path).to_owned(),
        });
    }
    None
}

fn is_denied(path: &Path, wanted: Access) -> bool {
    rustix::fs::access(path, wanted) == Err(Errno::ACCESS)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_folder_that_bars_the_way_is_named() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("public");
        std::fs::create_dir(&root).expect("made");
        let set = |path: &Path, mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("mine");
        };
        set(directory.path(), 0o700);
        let text = format!(":80 {{\nroot * {}\nfile_server\n}}\n", root.display());
        let parsed = howdah_config::parse(&text, "Caddyfile", &|_| None, &howdah_config::NoFiles);
        let mut config = parsed.expect("valid").config;
        let nobody: model::User = "nobody".parse().expect("a user");
        config.global.user = Some(nobody);
        let access_problem = |config: &Config| access_problem(config).expect("looked up");
        let found = access_problem(&config).expect("mode 0700");
        assert_eq!(found.place, directory.path());
        let text = found.advice();
        for part in [
            "user nobody",
            "mode 0700",
            root.to_str().expect("UTF-8"),
            "`user root`",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        set(directory.path(), 0o755);
        assert_ne!(
            access_problem(&config).map(|found| found.place),
            Some(directory.path().to_owned())
        );
        // A user with all capabilities can access everything.
        config.global.user = Some("root".parse().expect("a user"));
        assert_eq!(access_problem(&config), None);
    }
}
