//! How a configuration starts PHP.

use std::path::PathBuf;
use std::time::Duration;

use howdah_config::model::Config;
use howdah_pool::{Mode, PoolOptions, RootOptions, User};

use crate::php_executable::executables;

/// PHP's modules and a preload script may take a while on a cold machine.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// How one PHP is started for its pools.
#[derive(Debug)]
pub(crate) struct TreeOptions {
    pub(crate) root: RootOptions,
    pub(crate) pools: Vec<PoolOptions>,
    /// Index of each pool among all pools of the configuration.
    pub(crate) places: Vec<usize>,
    pub(crate) application: Option<Application>,
}

/// An application whose classes are preloaded. No process of a different application or user may have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Application {
    pub(crate) document_root: String,
    user: Option<User>,
}

/// The trees of a configuration, in a server with so many front threads: one for each PHP that a pool names and, with
/// `preload`, for each application. The first one is that of the classic pool of all sites.
pub(crate) fn tree_options(
    config: &Config,
    pools: Vec<PoolOptions>,
    fronts: usize,
) -> Vec<TreeOptions> {
    type Key = (PathBuf, Option<Application>);
    let mut trees: Vec<(Key, Vec<(usize, PoolOptions)>)> = Vec::new();
    let executables = executables(config);
    for ((place, pool), executable) in pools.into_iter().enumerate().zip(executables) {
        let document_root = config.applications.get(place).cloned();
        let application = document_root.map(|document_root| Application {
            document_root,
            user: pool.user.clone(),
        });
        let key = (executable, application);
        match trees.iter_mut().find(|(known, _)| *known == key) {
            Some((_, pools)) => pools.push((place, pool)),
            None => trees.push((key, vec![(place, pool)])),
        }
    }
    let trees = trees.into_iter().map(|((executable, application), pools)| {
        let (places, pools): (Vec<_>, Vec<_>) = pools.into_iter().unzip();
        TreeOptions {
            root: root_options(config, executable, &pools, fronts),
            pools,
            places,
            application,
        }
    });
    trees.collect()
}

fn root_options(
    config: &Config,
    executable: PathBuf,
    pools: &[PoolOptions],
    fronts: usize,
) -> RootOptions {
    let settings = &config.global.php;
    let mut users: Vec<User> = Vec::new();
    for user in pools.iter().filter_map(|pool| pool.user.as_ref()) {
        if !users.contains(user) {
            users.push(user.clone());
        }
    }
    let own = rustix::process::geteuid().as_raw();
    let by_monitor = howdah_monitor::is_connected() && users.iter().any(|user| user.uid != own);
    let mut workers = pools.iter().filter_map(|pool| match &pool.mode {
        Mode::Worker(worker) => Some(worker),
        Mode::Classic => None,
    });
    let booted = workers.clone().next().is_some();
    RootOptions {
        executable,
        withheld: settings.environment.withheld.iter().cloned().collect(),
        clear_env: settings.environment.clear,
        ini: settings.ini.all(),
        concurrent: workers.any(|worker| worker.options.is_concurrent()),
        booted,
        preload: None,
        fronts,
        start_timeout: START_TIMEOUT,
        users,
        by_monitor,
        crashes: None,
    }
}

/// A description of the environment variables that PHP does not inherit; `None`: it inherits all. It never contains
/// their values, which may be secrets.
pub(crate) fn withheld_variables(config: &Config) -> Option<String> {
    let environment = &config.global.php.environment;
    let names: Vec<&str> = howdah_pool::withheld_from_php(&environment.withheld).collect();
    let names = names.join(", ");
    match (environment.clear, names.is_empty()) {
        (false, true) => None,
        (false, false) => Some(format!(
            "PHP does not inherit these environment variables, because the Caddyfile uses them: {names}"
        )),
        (true, true) => Some("PHP inherits no environment variables, because of clear_env".into()),
        (true, false) => Some(format!(
            "PHP inherits no environment variables, because of clear_env; the Caddyfile uses {names}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use howdah_config::model::{PhpExecutable, WorkerPool};

    use super::*;

    #[test]
    fn each_php_has_the_pools_that_name_it() {
        let mut config = Config::default();
        let pool = |name: &str, php: Option<&str>| {
            let mut pool = WorkerPool::new(name, "/srv/a.php");
            pool.settings.php = php.map(|php| PhpExecutable::File(php.into()));
            pool
        };
        config.global.php.executable = Some(PhpExecutable::File("/a".into()));
        config.workers = vec![
            pool("one", Some("/b")),
            pool("two", None),
            pool("three", Some("/b")),
            pool("four", Some("/a")),
        ];
        config.workers[1].options.concurrency = 10;
        let pools = crate::php::pools::options(&config).expect("no user is named");
        let trees = tree_options(&config, pools, 2);
        let found: Vec<_> = trees
            .iter()
            .map(|tree| {
                let root = &tree.root;
                let executable = root.executable.to_str().expect("UTF-8");
                (executable, root.concurrent, tree.places.as_slice())
            })
            .collect();
        let expected: [(_, _, &[usize]); 2] = [("/a", true, &[0, 2, 4]), ("/b", false, &[1, 3])];
        assert_eq!(found, expected);
        assert_eq!(
            crate::php::trees::names(&trees),
            ["php", "one", "two", "three", "four"]
        );
    }

    #[test]
    fn each_preloaded_application_and_user_has_a_tree() {
        let workers = ["one", "two", "three"].map(|name| WorkerPool::new(name, "/srv/a.php"));
        let config = Config {
            workers: workers.into(),
            applications: ["/a", "/b", "/a", "/a"].map(String::from).into(),
            ..Config::default()
        };
        let mut pools = crate::php::pools::options(&config).expect("no user is named");
        let (uid, gid) = (1000, 1000);
        pools[3].user = Some(User {
            name: "other".into(),
            uid,
            gid,
            groups: Vec::new(),
            home: "/".into(),
        });
        let trees = tree_options(&config, pools, 1);
        let found: Vec<_> = trees
            .iter()
            .map(|tree| {
                let application = tree.application.as_ref().expect("each has one");
                (application.document_root.as_str(), tree.places.as_slice())
            })
            .collect();
        let expected: [(_, &[usize]); 3] = [("/a", &[0, 2]), ("/b", &[1]), ("/a", &[3])];
        assert_eq!(found, expected);
    }

    #[test]
    fn withheld_variables_are_named_unless_php_always_inherits_them() {
        let mut config = Config::default();
        assert_eq!(withheld_variables(&config), None);
        let environment = &mut config.global.php.environment;
        environment.withheld = ["HOME", "LD_PRELOAD"].map(String::from).into();
        assert_eq!(withheld_variables(&config), None);
        let environment = &mut config.global.php.environment;
        environment
            .withheld
            .extend(["KEY", "DSN"].map(String::from));
        let text = withheld_variables(&config).expect("two");
        assert!(text.ends_with("uses them: DSN, KEY"), "{text}");
        config.global.php.environment.clear = true;
        let text = withheld_variables(&config).expect("all");
        assert!(
            text.ends_with("clear_env; the Caddyfile uses DSN, KEY"),
            "{text}"
        );
        config.global.php.environment.withheld.clear();
        let text = withheld_variables(&config).expect("all");
        assert!(text.ends_with("because of clear_env"), "{text}");
    }
}
