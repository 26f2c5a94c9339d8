//! The pools of a whole file: absolute paths, unique names, and rules that concern several pools.

use std::path::Path;

use crate::draft::{PoolDraft, WorkerDraft};
use crate::error::{Error, ErrorKind, Position};
use crate::model::{CLASSIC_POOL, ClassicPool, Php, PhpWorker, RoadRunnerPool, WorkerPool};
use crate::pool::ini;
use crate::source::{Files, absolute};
use crate::table::{Context, bad_value};

/// Bytes of all text that is sent to a pool's zygote: one control message, minus its other content.
const MAX_TEXT: usize = 30_000;

/// The workers of a `php_server` or `php`, whose pools are added to those of the file: its own, then those of the
/// global block.
pub(crate) fn of_application(cx: &mut Context, drafts: Vec<WorkerDraft>) -> Vec<PhpWorker> {
    let mut workers = Vec::with_capacity(drafts.len() + cx.global_workers);
    for draft in drafts {
        let matches = draft.matches.clone();
        let pool = cx.workers.len();
        workers.push(PhpWorker { pool, matches });
        cx.workers.push(draft);
    }
    workers.extend((0..cx.global_workers).map(|pool| PhpWorker {
        pool,
        matches: Vec::new(),
    }));
    workers
}

/// The worker pools of a file.
pub(crate) fn worker_pools(
    cx: &mut Context,
    global: &Php,
    classic: &[ClassicPool],
    files: &dyn Files,
) -> Vec<WorkerPool> {
    let drafts = std::mem::take(&mut cx.workers);
    let mut pools: Vec<WorkerPool> = Vec::with_capacity(drafts.len());
    let mut names: Vec<String> = vec![CLASSIC_POOL.to_owned()];
    names.extend(classic.iter().map(|pool| pool.name.clone()));
    // Configured names come first, so that generated ones can differ from them.
    for draft in &drafts {
        if let Some(name) = &draft.name {
            if names.contains(name) {
                cx.errors.push(conflict(
                    &draft.position,
                    format!("two pools have the name `{name}`"),
                    "rename one of them",
                ));
            }
            names.push(name.clone());
        }
    }
    let mut seen: Vec<(usize, String, &[String])> = Vec::new();
    for draft in &drafts {
        let mut pool = draft.pool();
        match file(draft, files) {
            Ok(file) => pool.file = file,
            Err(error) => cx.errors.push(error),
        }
        // Two of them would match the same requests, and the second would never get one.
        let key = (draft.block, pool.file.clone(), &*draft.matches);
        if seen.contains(&key) {
            cx.errors.push(conflict(
                &draft.position,
                format!("the worker `{}` is given twice in one block", pool.file),
                if draft.block == 0 {
                    "remove one of them"
                } else {
                    "remove one of them, or give them different paths with `match`"
                },
            ));
        }
        seen.push(key);
        pool.name = match &draft.name {
            Some(name) => name.clone(),
            None => unique(draft.application.as_deref(), &pool.file, &mut names),
        };
        let env = list_size(&pool.options.env);
        let warm: usize = pool.options.warm.iter().map(|path| path.len() + 1).sum();
        let size = pool.file.len() + env + warm;
        settings(cx, &draft.own, global, size, &draft.position);
        pools.push(pool);
    }
    pools
}

/// The pools of `roadrunner` of a file, with their names.
pub(crate) fn roadrunner_pools(
    cx: &mut Context,
    classic: &[ClassicPool],
    workers: &[WorkerPool],
) -> Vec<RoadRunnerPool> {
    let mut names: Vec<String> = vec![CLASSIC_POOL.to_owned()];
    names.extend(classic.iter().map(|pool| pool.name.clone()));
    names.extend(workers.iter().map(|pool| pool.name.clone()));
    let mut pools = Vec::with_capacity(cx.roadrunner.len());
    for (pool, position) in &cx.roadrunner {
        if pool.name.is_empty() {
            continue;
        }
        if names.contains(&pool.name) {
            cx.errors.push(conflict(
                position,
                format!("two pools have the name `{}`", pool.name),
                "rename one of them",
            ));
        }
        names.push(pool.name.clone());
    }
    for (mut pool, _) in std::mem::take(&mut cx.roadrunner) {
        if pool.name.is_empty() {
            let script = pool.command.iter().find(|word| {
                Path::new(word)
                    .extension()
                    .is_some_and(|ending| ending == "php")
            });
            let script = script.or(pool.command.first()).cloned();
            pool.name = unique(None, &script.unwrap_or_default(), &mut names);
        }
        pools.push(pool);
    }
    pools
}

/// The classic pools of a file; warns about those that no application names.
pub(crate) fn classic_pools(cx: &mut Context, global: &Php) -> Vec<ClassicPool> {
    let drafts = std::mem::take(&mut cx.pools);
    let mut pools = Vec::with_capacity(drafts.len());
    for draft in drafts {
        if !draft.is_used {
            cx.warn(
                &draft.position,
                format!(
                    "no site has the pool `{}`: write `pool {0}` in a `php_server` or `php`",
                    draft.name
                ),
            );
        }
        settings(cx, &draft.own, global, 0, &draft.position);
        pools.push(ClassicPool {
            settings: draft.own.settings,
            name: draft.name,
        });
    }
    pools
}

/// Checks the settings of a pool. `size`: bytes of all other text that is sent to its zygote.
fn settings(cx: &mut Context, own: &PoolDraft, global: &Php, size: usize, position: &Position) {
    ini::check(cx, &own.ini_places, &global.ini);
    let lists = [
        &own.settings.ini.php_ini,
        &own.settings.ini.php_admin_ini,
        &global.ini.php_admin_ini,
    ];
    let size = size + lists.iter().map(|list| list_size(list)).sum::<usize>();
    if size > MAX_TEXT {
        cx.errors.push(bad_value(
            position,
            format!("the variables, paths and settings of this pool have {size} bytes"),
            format!("at most {MAX_TEXT} are possible; put large values in a file"),
        ));
    }
}

/// Bytes of names and values.
fn list_size(list: &[(String, String)]) -> usize {
    let sizes = list
        .iter()
        .map(|(name, value)| name.len() + value.len() + 2);
    sizes.sum()
}

fn file(draft: &WorkerDraft, files: &dyn Files) -> Result<String, Error> {
    let file = draft.file.as_deref().unwrap_or_default();
    let folder = Path::new(draft.folder.as_deref().unwrap_or_default());
    let path = folder.join(file);
    if path.is_absolute() {
        return Ok(absolute(Path::new("/"), &path.to_string_lossy()));
    }
    match files.working_directory() {
        Ok(start) => Ok(absolute(&start, &path.to_string_lossy())),
        Err(why) => Err(bad_value(
            &draft.position,
            format!("cannot determine the working directory, to which `{file}` is relative: {why}"),
            "write the absolute path of the file",
        )),
    }
}

/// A name that no other pool has, and its position among them.
fn unique(application: Option<&str>, file: &str, names: &mut Vec<String>) -> String {
    let stem = Path::new(file).file_stem().unwrap_or_default();
    let base: String = match application {
        Some(name) => name.to_owned(),
        None => stem
            .to_string_lossy()
            .chars()
            .map(|char| if char.is_control() { '_' } else { char })
            .take(MAX_STEM)
            .collect(),
    };
    let mut name = base.clone();
    let mut number = 1;
    while names.contains(&name) {
        number += 1;
        name = format!("{base}-{number}");
    }
    names.push(name.clone());
    name
}

/// Characters of a name that is derived from a file's.
const MAX_STEM: usize = 60;

fn conflict(position: &Position, message: String, hint: &str) -> Error {
    Error::new(ErrorKind::Conflict, position, message, hint)
}
