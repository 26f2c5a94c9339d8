//! Changes of PHP between two configurations. Any change starts a new tree of processes, because pools may depend on
//! each other.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};

use howdah_config::model::{
    CLASSIC_POOL, Config, OptionKind, OptionValue, POOL_LIMITS, WORKER_OPTIONS, WorkerOption,
};
use howdah_pool::{Mode, PoolOptions, WorkerMode};

use crate::failure::Failure;
use crate::php::pools;

/// Name of a setting in the file, and its value as text.
pub(crate) type Setting = (&'static str, String);

/// A changed setting.
pub(crate) struct Change {
    name: &'static str,
    old: String,
    new: String,
}

impl fmt::Display for Change {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, old, new } = self;
        write!(to, "{name} changed from {old} to {new}")
    }
}

/// The changes between the settings of two configurations.
pub(crate) fn between(
    old: impl IntoIterator<Item = Setting>,
    new: impl IntoIterator<Item = Setting>,
) -> impl Iterator<Item = Change> {
    let both = old.into_iter().zip(new);
    both.filter(|(old, new)| old.1 != new.1)
        .map(|((name, old), (_, new))| Change { name, old, new })
}

/// A text for each difference, such as `worker app: num changed from 2 to 4`. The order of pools does not matter.
pub(crate) fn of_php(old: &Config, new: &Config) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    found.extend(between(global(old), global(new)).map(|change| change.to_string()));
    let (of_old, of_new) = (pools::options(old)?, pools::options(new)?);
    // Otherwise the change of `preload` reports it.
    let both_preload = [old, new]
        .iter()
        .all(|config| !config.applications.is_empty());
    for pool in &of_old {
        let Some(next) = same(pool, &of_new) else {
            found.push(format!("{} was removed", pool_label(pool)));
            continue;
        };
        let [of_tree, next_tree] = [old, new].map(|config| tree(config, &pool.name, both_preload));
        let changes = between(of_tree, next_tree);
        for change in changes.chain(between(
            settings_of_process(pool),
            settings_of_process(next),
        )) {
            found.push(if is_secret(change.name) {
                format!("{}: {} changed", pool_label(pool), change.name)
            } else {
                format!("{}: {change}", pool_label(pool))
            });
        }
    }
    for pool in &of_new {
        if same(pool, &of_old).is_none() {
            found.push(format!("{} is new", pool_label(pool)));
        }
    }
    // Slots may be larger than necessary.
    let size = |pools: &[PoolOptions]| pools.first().map(|pool| pool.request_size);
    if size(&of_new) > size(&of_old) {
        let largest = |config: &Config| {
            let sizes = config.global.all_limits();
            sizes.map(|limits| limits.max_header_size).max()
        };
        let [old, new] = [old, new].map(|config| largest(config).unwrap_or_default());
        found.push(if old == new {
            "the size of request bodies that stay in memory has grown".into()
        } else {
            format!("max_header_size changed from {old} to {new}")
        });
    }
    Ok(found)
}

/// What determines the tree of a pool: the PHP that it names, and the application that is preloaded.
fn tree(config: &Config, pool: &str, preloads: bool) -> [Setting; 2] {
    let place = pools::named_pools(config).position(|name| name == pool);
    let settings = place.and_then(|place| config.own_pool_settings().nth(place));
    let php = settings.and_then(|settings| settings.php.as_ref());
    let applications = preloads.then_some(&config.applications);
    let application = applications.and_then(|roots| roots.get(place.map_or(0, |place| place + 1)));
    [
        (
            "php",
            php.map_or_else(|| "none".to_owned(), ToString::to_string),
        ),
        ("preloaded application", display_option(application)),
    ]
}

/// Environment variables may have values that must not be logged.
fn is_secret(name: &str) -> bool {
    WorkerOption::named(name).is_some_and(|option| option.kind == OptionKind::Variables)
}

/// The pool of the same name.
fn same<'a>(pool: &PoolOptions, others: &'a [PoolOptions]) -> Option<&'a PoolOptions> {
    others.iter().find(|other| other.name == pool.name)
}

/// Settings of all pools.
fn global(config: &Config) -> [Setting; 5] {
    let settings = &config.global.php;
    [
        (
            "php",
            settings
                .executable
                .as_ref()
                .map_or_else(|| "none".to_owned(), ToString::to_string),
        ),
        ("php_ini", format!("{:?}", settings.ini.php_ini)),
        ("preload", settings.preload.name().to_owned()),
        ("clear_env", settings.environment.clear.to_string()),
        (
            "variables withheld from PHP",
            list_names(&settings.environment.withheld),
        ),
    ]
}

fn list_names(names: &BTreeSet<String>) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    names.join(", ")
}

fn pool_label(pool: &PoolOptions) -> String {
    if pool.name == CLASSIC_POOL {
        "frankenphp".to_owned()
    } else if matches!(pool.mode, Mode::Classic) {
        format!("pool {}", pool.name)
    } else {
        format!("worker {}", pool.name)
    }
}

/// Settings that need new processes; not `watch`, nor settings that only matter at the start.
fn settings_of_process(pool: &PoolOptions) -> Vec<Setting> {
    let PoolOptions {
        name: _,
        mode,
        workers,
        workers_max,
        limits,
        end_grace,
        // Derived from limits of requests.
        request_size: _,
        response_size,
        user,
        ini,
        // Derived from `preload`.
        record: _,
    } = pool;
    let classic = matches!(mode, Mode::Classic);
    let mut aspects = vec![
        (
            if classic { "num_threads" } else { "num" },
            workers.to_string(),
        ),
        // With a fixed number it would repeat the previous line.
        (
            "max_threads",
            display_option(Some(workers_max).filter(|most| *most > workers)),
        ),
        ("end_grace", format!("{end_grace:?}")),
        ("response_size", response_size.to_string()),
        ("user", display_option(user.as_ref().map(|user| &user.name))),
        (
            "the user's groups",
            display_option(
                user.as_ref()
                    .map(|user| (user.uid, user.gid, &user.groups))
                    .as_ref(),
            ),
        ),
        ("php_ini", format!("{:?}", ini.php_ini)),
        // Including those of the global block.
        ("php_admin_ini", format!("{:?}", ini.php_admin_ini)),
    ];
    let limits = POOL_LIMITS
        .iter()
        .map(|limit| (limit.name, (limit.get)(limits).to_string()));
    aspects.extend(limits);
    if let Mode::Worker(worker) = mode {
        aspects.extend(of_worker(worker));
    }
    aspects
}

fn of_worker(worker: &WorkerMode) -> impl Iterator<Item = Setting> {
    let root = worker.root.as_ref().map(|root| root.display());
    let options = WORKER_OPTIONS.iter().filter(|option| option.is_compared);
    let options = options.map(|option| {
        let text = match (option.get)(&worker.options) {
            OptionValue::Variables(variables) => format!("{variables:?}"),
            value => value.to_string(),
        };
        (option.name, text)
    });
    [
        ("file", worker.script.display().to_string()),
        ("its document root", display_option(root)),
    ]
    .into_iter()
    .chain(options)
}

/// An optional value.
pub(crate) fn display_option(value: Option<impl Debug>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:?}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use howdah_config::model::{
        Admin, Boot, Keep, Limits, ListenerAddress, PhpExecutable, Preload, WorkerPool,
    };

    use super::*;

    fn config(change: impl FnOnce(&mut Config)) -> Config {
        let mut config = Config::default();
        config.global.php.workers = Some(2);
        let mut app = WorkerPool::new("app", "/srv/app.php");
        app.settings.workers = Some(2);
        let mut other = WorkerPool::new("other", "/srv/other.php");
        other.settings.workers = Some(1);
        config.workers = vec![app, other];
        change(&mut config);
        config
    }

    #[track_caller]
    fn finds(expected: &[&str], change: impl FnOnce(&mut Config)) {
        let found = of_php(&config(|_| {}), &config(change)).expect("no user is named");
        assert_eq!(found, expected);
    }

    #[test]
    fn settings_that_take_new_processes_are_named() {
        finds(&["worker app: num changed from 2 to 4"], |config| {
            config.workers[0].settings.workers = Some(4);
            config.workers[0].settings.workers_max = howdah_config::model::WorkersMax::Same;
        });
        finds(&["frankenphp: num_threads changed from 2 to 3"], |config| {
            config.global.php.workers = Some(3);
        });
        finds(
            &["worker other: request_timeout changed from off to 9s"],
            |config| {
                config.workers[1].settings.limits.request_timeout =
                    Some(Some(Duration::from_secs(9)));
            },
        );
        finds(&["worker other was removed"], |config| {
            config.workers.truncate(1);
        });
        finds(&["worker third is new"], |config| {
            config
                .workers
                .push(WorkerPool::new("third", "/srv/third.php"));
        });
        finds(
            &[
                "worker app: boot changed from zygote to each",
                "worker app: keep changed from none to ini random",
            ],
            |config| {
                config.workers[0].options.boot = Boot::Each;
                config.workers[0].options.keep = Keep::RANDOM.with(Keep::INI);
            },
        );
        finds(&["worker other: php changed from none to 8.4"], |config| {
            config.workers[1].settings.php = Some(PhpExecutable::Version("8.4".into()));
        });
        finds(&["worker app: env changed"], |config| {
            config.workers[0].options.env = vec![("KEY".into(), "secret".into())];
        });
        finds(
            &[r#"php_ini changed from [] to [("memory_limit", "1G")]"#],
            |config| config.global.php.ini.php_ini = vec![("memory_limit".into(), "1G".into())],
        );
        finds(
            &["max_header_size changed from 32768 to 1048576"],
            |config| {
                config.global.limits.max_header_size = 1 << 20;
            },
        );
        // On one listener.
        finds(
            &["max_header_size changed from 32768 to 1048576"],
            |config| {
                let limits = Limits {
                    max_header_size: 1 << 20,
                    ..Limits::default()
                };
                let address = ListenerAddress::Tcp { ip: None, port: 80 };
                config.global.listener_limits = vec![(address, limits)];
            },
        );
    }

    #[test]
    fn a_preloaded_application_that_moves_is_named() {
        let preloading = |root: &str| {
            config(|config| config.applications = ["/a", root, "/a"].map(String::from).into())
        };
        let found = of_php(&preloading("/a"), &preloading("/b")).expect("no user is named");
        let expected = r#"worker app: preloaded application changed from "/a" to "/b""#;
        assert_eq!(found, [expected]);
        finds(&["preload changed from off to auto"], |config| {
            config.global.php.preload = Preload::Auto;
            config.applications = vec!["/a".to_owned(); 3];
        });
    }

    #[test]
    fn all_else_may_change() {
        finds(&[], |config| {
            config.workers.reverse();
            config.workers[0].options.watch = vec!["*.php".into()];
            config.global.admin = Admin::Off;
            config.global.limits.max_body_size = 1;
            config.global.limits.max_header_size = 1000;
            config.global.metrics = true;
            config.global.grace_period = Some(Duration::ZERO);
        });
    }
}
