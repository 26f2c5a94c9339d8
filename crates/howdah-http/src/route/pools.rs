//! Which pool runs a script: a worker pool whose `match` matches the path or whose file is the
//! script, otherwise the classic pool of the site.

use std::rc::Rc;
use std::sync::Arc;

use howdah_config::model;

use crate::answer::files::stat::Root;
use crate::answer::upstream::state::StateCursor;
use crate::answer::upstream::tls::TlsClients;
use crate::message::path::from_disk;
use crate::message::pattern::Pattern;
use crate::message::running_pools::RunningPools;
use crate::route::context::Context;
use crate::route::matcher::matches_path;

/// The number of the classic pool for all sites that name none.
const CLASSIC: usize = 0;

/// The pools of a configuration: the scripts of all worker pools in the order of the configuration. Created once per
/// front thread.
#[derive(Debug, Default)]
pub(crate) struct ScriptPools {
    /// Numbers of the classic pools that sites name.
    classic: Rc<[usize]>,
    /// The worker files, each with the number of its running pool.
    files: Rc<[(usize, Rc<WorkerFile>)]>,
    /// Numbers of the pools of `roadrunner`.
    roadrunner: Rc<[usize]>,
    /// Users of the pools, except the server's user.
    pub(super) users: Arc<[u32]>,
    /// The hub of the site that is compiled.
    pub(super) hub: Option<usize>,
    /// TLS configurations for upstreams, shared by all front threads.
    pub(super) clients: Arc<TlsClients>,
    /// State of upstreams, shared by all front threads.
    pub(super) states: StateCursor,
}

/// A worker pool's script.
#[derive(Debug)]
pub(crate) struct WorkerFile {
    /// Absolute path as configured.
    written: Rc<str>,
    /// The path with symbolic links resolved when the server started.
    resolved: Rc<str>,
}

impl ScriptPools {
    pub(crate) fn new(
        config: &model::Config,
        running: &RunningPools,
        (clients, states): (Arc<TlsClients>, StateCursor),
    ) -> Self {
        let file = |pool: &model::WorkerPool| {
            let written: Rc<str> = pool.file.as_str().into();
            let resolved = std::fs::canonicalize(&pool.file).ok();
            // A missing file stays as configured.
            let resolved = resolved.map_or_else(
                || Rc::clone(&written),
                |resolved| from_disk(resolved.as_os_str()).into(),
            );
            Rc::new(WorkerFile { written, resolved })
        };
        let files = config.workers.iter().map(file);
        let numbers = running.numbers.as_slice();
        let (classic, numbers) = numbers.split_at(config.pools.len().min(numbers.len()));
        let (numbers, roadrunner) = numbers.split_at(config.workers.len().min(numbers.len()));
        Self {
            classic: classic.into(),
            files: numbers.iter().copied().zip(files).collect(),
            roadrunner: roadrunner.into(),
            users: Arc::clone(&running.users),
            hub: None,
            clients,
            states,
        }
    }

    /// The number of a classic pool of the configuration; `None`: the one for all sites.
    pub(super) fn classic(&self, pool: Option<u16>) -> usize {
        let number = pool.and_then(|pool| self.classic.get(usize::from(pool)));
        number.copied().unwrap_or(CLASSIC)
    }

    /// The number of a pool of `roadrunner`.
    pub(super) fn roadrunner(&self, pool: usize) -> usize {
        self.roadrunner.get(pool).copied().unwrap_or(CLASSIC)
    }

    /// The running pools of a site with this hub.
    pub(super) fn of_site(&self, hub: Option<usize>) -> Self {
        Self {
            classic: Rc::clone(&self.classic),
            files: Rc::clone(&self.files),
            roadrunner: Rc::clone(&self.roadrunner),
            users: Arc::clone(&self.users),
            hub,
            clients: Arc::clone(&self.clients),
            states: self.states.clone(),
        }
    }
}

/// The worker pools to which a `php_server` or `php` passes requests.
#[derive(Debug)]
pub(crate) struct WorkerPools {
    list: Box<[Worker]>,
    any_match: bool,
}

#[derive(Debug)]
struct Worker {
    pool: usize,
    file: Rc<WorkerFile>,
    /// If empty: requests whose script is the file.
    paths: Box<[Pattern]>,
}

/// What a worker pool whose `match` matches has to run.
pub(crate) struct WorkerMatch {
    pub(crate) pool: usize,
    /// `SCRIPT_NAME`; empty if the file is not below the root.
    pub(crate) name: String,
    /// What follows the name in the path; empty if the path does not start with the name.
    pub(crate) path_info: String,
    /// The file, if it is not below the root.
    pub(crate) file: Option<Rc<str>>,
}

impl WorkerPools {
    /// Pools that are missing in `files` are left out: their indices come from the same configuration.
    pub(crate) fn compile(workers: &[model::PhpWorker], files: &ScriptPools) -> Self {
        let list: Box<[Worker]> = workers
            .iter()
            .filter_map(|worker| {
                let (pool, file) = files.files.get(worker.pool)?;
                Some(Worker {
                    pool: *pool,
                    file: Rc::clone(file),
                    paths: worker
                        .matches
                        .iter()
                        .map(|text| Pattern::path(text))
                        .collect(),
                })
            })
            .collect();
        Self {
            any_match: list.iter().any(|worker| !worker.paths.is_empty()),
            list,
        }
    }

    /// The pool whose `match` matches the path.
    pub(crate) fn by_path(&self, root: &Root, context: &Context<'_>) -> Option<WorkerMatch> {
        if !self.any_match {
            return None;
        }
        let worker = self
            .list
            .iter()
            .find(|worker| matches_path(&worker.paths, &context.path))?;
        let file = &worker.file;
        let name =
            below(&file.written, root.path()).or_else(|| below(&file.resolved, &root.resolved()));
        let path_info = name
            .and_then(|name| context.path.strip_prefix(name))
            .filter(|rest| rest.starts_with('/'))
            .unwrap_or_default();
        Some(WorkerMatch {
            pool: worker.pool,
            path_info: path_info.to_owned(),
            file: name.is_none().then(|| Rc::clone(&file.resolved)),
            name: name.map(str::to_owned).unwrap_or_default(),
        })
    }

    /// The worker pool whose file is the script, symbolic links resolved.
    pub(crate) fn worker_of(
        &self,
        root: &Root,
        name: &str,
        context: &Context<'_>,
    ) -> Option<usize> {
        let mut candidates = self
            .list
            .iter()
            .filter(|worker| worker.paths.is_empty())
            .peekable();
        candidates.peek()?;
        let is = |file: &str, root: &str| below(file, root) == Some(name);
        let resolved = root.resolved();
        let plain = candidates.clone().find(|worker| {
            is(&worker.file.written, root.path()) || is(&worker.file.resolved, &resolved)
        });
        plain
            .or_else(|| {
                // A symbolic link below the root may point to it as well.
                let path = context.lookup.real_path(root, name)?;
                candidates.find(|worker| worker.file.resolved == path)
            })
            .map(|worker| worker.pool)
    }
}

/// The part of `file` below `root`, with a leading slash.
fn below<'f>(file: &'f str, root: &str) -> Option<&'f str> {
    let root = root.strip_suffix('/').unwrap_or(root);
    file.strip_prefix(root).filter(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn files_below_a_root() {
        for (file, root, rest) in [
            ("/srv/www/a.php", "/srv/www", Some("/a.php")),
            ("/srv/www/a/b.php", "/srv/www", Some("/a/b.php")),
            ("/a.php", "/", Some("/a.php")),
            ("/srv/www2/a.php", "/srv/www", None),
            ("/srv/a.php", "/srv/www", None),
        ] {
            assert_eq!(below(file, root), rest, "{file} {root}");
        }
    }
}
