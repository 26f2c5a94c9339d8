//! Plugins of RoadRunner that an application has PHP clients of, according to the `composer.lock` near its script.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Clients of plugins: the package, the plugin, and what replaces it.
const CLIENTS: &[(&str, &str, &str)] = &[
    (
        "roadrunner-php/app-logger",
        "app",
        "log to the standard error",
    ),
    ("roadrunner-php/centrifugo", "centrifuge", "use `mercure`"),
    (
        "roadrunner-php/lock",
        "lock",
        "use locks of the database or of Redis",
    ),
    ("spiral/roadrunner-broadcast", "broadcast", "use `mercure`"),
    ("spiral/roadrunner-grpc", "grpc", "serve it with RoadRunner"),
    (
        "spiral/roadrunner-jobs",
        "jobs",
        "run the consumers with RoadRunner, or use a queue of the framework",
    ),
    ("spiral/roadrunner-kv", "kv", "use APCu, Redis or Memcached"),
    (
        "spiral/roadrunner-metrics",
        "metrics",
        "use a client of Prometheus that stores in APCu or Redis",
    ),
    (
        "spiral/roadrunner-services",
        "service",
        "use units of systemd",
    ),
    ("spiral/roadrunner-tcp", "tcp", "serve it with RoadRunner"),
    (
        "temporal/sdk",
        "temporal",
        "run its workers with RoadRunner",
    ),
];
/// Folders above the script that are searched.
const LEVELS: usize = 4;
/// Size of a `composer.lock` that is read, in bytes.
const LOCK_MAX: u64 = 16 << 20;

#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

/// Warns about the plugins that the application of this command may call. Without a readable `composer.lock` only the
/// calls themselves are reported.
pub(crate) fn warn(pool: &str, command: &[String]) {
    let Some((file, found)) = find(command) else {
        return;
    };
    for (package, plugin, instead) in found {
        tracing::warn!(target: "howdah::php", pool, plugin, package, "the application has a client of a plugin of \
            RoadRunner that Howdah does not have, so its calls fail: {instead} ({})", file.display());
    }
}

type Client = (&'static str, &'static str, &'static str);

fn find(command: &[String]) -> Option<(PathBuf, Vec<Client>)> {
    let mut scripts = command.iter().skip(1).map(Path::new);
    let script = scripts.rfind(|path| path.is_file())?;
    let script = std::path::absolute(script).ok()?;
    let folders = script.ancestors().skip(1).take(LEVELS);
    let mut files = folders.map(|folder| folder.join("composer.lock"));
    let file = files.find(|file| file.is_file())?;
    if file.metadata().ok()?.len() > LOCK_MAX {
        return None;
    }
    let lock: Lock = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
    let is_installed = |(name, ..): &&Client| lock.packages.iter().any(|own| own.name == *name);
    let found = CLIENTS.iter().filter(is_installed).copied().collect();
    Some((file, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_found_above_the_script() {
        let dir = tempfile::tempdir().expect("a directory");
        let bin = dir.path().join("app/bin");
        std::fs::create_dir_all(&bin).expect("made");
        let script = bin.join("worker.php");
        std::fs::write(&script, "<?php").expect("written");
        let script = script.display().to_string();
        let command = ["php", "-d", "memory_limit=1G", &script, "option"].map(str::to_owned);
        let plugins = || {
            let (_, found) = find(&command)?;
            Some(
                found
                    .iter()
                    .map(|(_, plugin, _)| *plugin)
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(plugins(), None);
        let lock = dir.path().join("app/composer.lock");
        std::fs::write(&lock, "{").expect("written");
        assert_eq!(plugins(), None);
        std::fs::write(
            &lock,
            r#"{"packages": [{"name": "spiral/roadrunner-http"}]}"#,
        )
        .expect("written");
        assert_eq!(plugins(), Some(vec![]));
        let text = r#"{"packages": [{"name": "temporal/sdk", "version": "2"}, {"name": "spiral/roadrunner-kv"}],
            "packages-dev": [{"name": "spiral/roadrunner-jobs"}]}"#;
        std::fs::write(&lock, text).expect("written");
        assert_eq!(plugins(), Some(vec!["kv", "temporal"]));
        assert!(find(&["php".to_owned()]).is_none());
    }
}
