//! The worker pools of a whole file: absolute paths, unique names, and what no worker can tell alone.

use std::path::{Component, Path, PathBuf};

use crate::error::{Error, ErrorKind, Position};
use crate::model::{CLASSIC_POOL, Php, PhpWorker, WorkerPool};
use crate::source::Files;
use crate::table::{Context, bad_value};
use crate::worker::Draft;

/// Bytes of all the text that a pool's zygote is told: one control message, less what it has besides.
const MAX_TEXT: usize = 30_000;

/// The workers of a `php_server` or `php`, whose pools are added to those of the file: its own, then
/// those of the global block.
pub(crate) fn of_application(cx: &mut Context, drafts: Vec<Draft>) -> Vec<PhpWorker> {
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

/// All pools of a file.
pub(crate) fn finish(cx: &mut Context, classic: &Php, files: &dyn Files) -> Vec<WorkerPool> {
    let drafts = std::mem::take(&mut cx.workers);
    let mut pools: Vec<WorkerPool> = Vec::with_capacity(drafts.len());
    let mut names: Vec<String> = vec![CLASSIC_POOL.to_owned()];
    // Names that are given come first, so that those that are made up can differ from them.
    for draft in &drafts {
        if let Some(name) = &draft.name {
            if names.contains(name) {
                cx.errors.push(conflict(
                    &draft.position,
                    format!("two workers have the name `{name}`"),
                    "rename one of them",
                ));
            }
            names.push(name.clone());
        }
    }
    let mut seen: Vec<(usize, String, &[String])> = Vec::new();
    for draft in &drafts {
        let mut pool = draft.pool(classic);
        match file(draft, files) {
            Ok(file) => pool.file = file,
            Err(error) => cx.errors.push(error),
        }
        // Two of them would be asked for the same requests, and the second would never get one.
        let key = (draft.block, pool.file.clone(), &*draft.matches);
        if seen.contains(&key) {
            cx.errors.push(conflict(
                &draft.position,
                format!("the worker `{}` is given twice in one block", pool.file),
                if draft.block == 0 {
                    "take one of them out"
                } else {
                    "take one of them out, or give them different paths with `match`"
                },
            ));
        }
        seen.push(key);
        pool.name = match &draft.name {
            Some(name) => name.clone(),
            None => unique(draft.application.as_deref(), &pool.file, &mut names),
        };
        if let Some(error) = too_long(&pool, &draft.position) {
            cx.errors.push(error);
        }
        pools.push(pool);
    }
    pools
}

/// `path` below `folder`, without `.` and doubled slashes. A `..` stays, since what is before it may be
/// a symbolic link.
pub(crate) fn absolute(folder: &Path, path: &str) -> String {
    let mut clean = PathBuf::new();
    for part in folder.join(path).components() {
        if part != Component::CurDir {
            clean.push(part);
        }
    }
    clean.to_string_lossy().into_owned()
}

fn file(draft: &Draft, files: &dyn Files) -> Result<String, Error> {
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
            format!("cannot tell the working directory, where `{file}` starts: {why}"),
            "write the absolute path of the file",
        )),
    }
}

/// A name that no other pool has, and its place among them.
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

/// Characters of a name that is made of a file's.
const MAX_STEM: usize = 60;

fn too_long(pool: &WorkerPool, position: &Position) -> Option<Error> {
    let env = pool
        .env
        .iter()
        .map(|(name, value)| name.len() + value.len() + 2);
    let warm = pool.warm.iter().map(|path| path.len() + 1);
    let size: usize = pool.file.len() + env.chain(warm).sum::<usize>();
    (size > MAX_TEXT).then(|| {
        bad_value(
            position,
            format!("the variables and paths of this worker have {size} bytes"),
            format!("at most {MAX_TEXT} are possible; put large values in a file"),
        )
    })
}

fn conflict(position: &Position, message: String, hint: &str) -> Error {
    Error::new(ErrorKind::Conflict, position, message, hint)
}
