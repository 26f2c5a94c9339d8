//! Reloads pools when their files change, and pages in browsers: `watch` and `hot_reload`, for development.
//!
//! A separate thread waits for the kernel's events and collects them until they pause, since an editor, a version
//! control system or a package manager changes many files at once. It notifies the main thread, where pools are
//! reloaded one after the other; changes meanwhile cause the next reload.

mod pattern;
mod start;
mod tree;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah_mercure::{Draft, Hub};
use howdah_observe::admin::{Configuration, Control};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::time::Timespec;
use tokio::sync::mpsc;

use pattern::Pattern;
pub(crate) use pattern::PatternError;
pub(crate) use start::{start_watch, watched};
use tree::{Changes, Tree};

use crate::config::source::Source;

/// Files must be unchanged for so long before a reload.
const QUIET: Duration = Duration::from_millis(100);
/// A reload is not postponed for longer than this, however often files change.
const LONGEST: Duration = Duration::from_secs(2);
/// A reload that takes longer does not delay others.
const RELOAD_TIME: Duration = Duration::from_secs(5);

/// Used as a pool's name for the files of the configuration.
pub(crate) const CONFIGURATION: &str = "";

/// The checked list of what to watch.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchList {
    pools: Vec<String>,
    /// Each with the number of its pool; pages are numbered after the pools.
    patterns: Vec<(usize, Pattern)>,
    source: Option<Source>,
}

impl WatchList {
    /// Patterns of the pools and of pages; relative ones start at `cwd`, an absolute path.
    pub(crate) fn new<'a>(
        pools: impl IntoIterator<Item = (&'a str, &'a [String])>,
        pages: impl IntoIterator<Item = &'a [String]>,
        cwd: &Path,
    ) -> Result<Self, PatternError> {
        let mut watch = Self::default();
        for (name, texts) in pools {
            for text in texts {
                let pattern = Pattern::new(text, cwd)?;
                watch.patterns.push((watch.pools.len(), pattern));
            }
            watch.pools.push(name.to_owned());
        }
        for (number, texts) in pages.into_iter().enumerate() {
            for text in texts {
                let pattern = Pattern::new(text, cwd)?;
                watch.patterns.push((watch.pools.len() + number, pattern));
            }
        }
        Ok(watch)
    }

    /// Includes the files of the configuration as they were read: changes before the watch starts count too.
    pub(crate) fn since(mut self, source: Option<&Source>) -> Self {
        self.source = source.cloned();
        self
    }

    /// Whether there is nothing to watch.
    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Starts to watch. Dropping the watcher ends it.
    pub(crate) fn start(self) -> io::Result<(Watcher, ChangeReceiver)> {
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC)?;
        let (sender, notices) = mpsc::unbounded_channel();
        let (patterns, source) = (self.patterns, self.source);
        let number = self.pools.iter().position(|pool| pool == CONFIGURATION);
        let has_patterns = |number: &usize| patterns.iter().any(|(target, _)| target == number);
        let configuration = number.filter(has_patterns).zip(source);
        let thread = std::thread::Builder::new()
            .name("watch".into())
            .spawn(move || {
                if let Err(error) = run(patterns, configuration, &stopped, &sender) {
                    tracing::warn!(target: "howdah::watch", "{}", explain(error));
                }
            })?;
        let watcher = Watcher {
            stop: Some(stop),
            thread: Some(thread),
        };
        let changed = ChangeReceiver {
            pools: self.pools,
            notices,
        };
        Ok((watcher, changed))
    }
}

/// The thread that watches.
#[derive(Debug)]
pub(crate) struct Watcher {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was reported by the panic hook.
            let _ = thread.join();
        }
    }
}

/// Browsers that show a page: `hot_reload`.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) hub: Arc<Hub>,
    pub(crate) topic: String,
}

impl Page {
    /// Notifies browsers of changed files, as a JSON list.
    fn notify_browsers(&self, files: &[PathBuf]) {
        let files = files.iter().map(|file| file.to_string_lossy());
        let data = files.collect::<serde_json::Value>().to_string();
        let draft = Draft {
            topics: vec![self.topic.clone()],
            data,
            ..Draft::default()
        };
        if let Err(error) = self.hub.publish(draft) {
            tracing::warn!(target: "howdah::watch", topic = self.topic, "browsers cannot be notified of changed \
                files: {error}");
        }
    }
}

/// Receives changes.
#[derive(Debug)]
pub(crate) struct ChangeReceiver {
    pools: Vec<String>,
    notices: mpsc::UnboundedReceiver<Notice>,
}

/// Events of the thread.
#[derive(Debug)]
enum Notice {
    /// The number of folders that are watched from now on.
    Watching(usize),
    Changed(Changes),
}

impl ChangeReceiver {
    /// Reloads after changes, until the watcher ends: pools first, then the pages that they generate. If a pool cannot
    /// be reloaded, its previous generation continues; the control reports it, and the next change is the next attempt.
    pub(crate) async fn reload(mut self, control: Arc<impl Control>, pages: Vec<Page>) {
        let mut changes = Changes::default();
        loop {
            if changes.is_empty() {
                let Some(notice) = self.notices.recv().await else {
                    return;
                };
                changes.add_notice(notice);
            }
            // Changes during the previous reload.
            while let Ok(later) = self.notices.try_recv() {
                changes.add_notice(later);
            }
            changes = self
                .act(std::mem::take(&mut changes), &*control, &pages)
                .await;
        }
    }

    /// Reloads, and returns what to do next: a reload that takes long does not delay later ones.
    async fn act(
        &mut self,
        mut changes: Changes,
        control: &impl Control,
        pages: &[Page],
    ) -> Changes {
        let mut later = Changes::default();
        if let Some(files) = self.configuration(&changes) {
            let file = files.first().map_or(Path::new(""), PathBuf::as_path);
            tracing::info!(target: "howdah::watch", file = %file.display(), "the configuration changed");
            // With all pools. The result has been logged.
            let reload = control.configure(Configuration::Same);
            self.wait(reload, &mut later).await;
            return later;
        }
        while let Some((target, files)) = changes.targets.pop_first() {
            let file = files.first().map_or(Path::new(""), PathBuf::as_path);
            let file = file.display();
            if let Some(pool) = self.pools.get(target).cloned() {
                tracing::info!(target: "howdah::watch", pool, %file, "files changed");
                // The control has logged the result.
                let reload = control.reload(Some(pool));
                if !self.wait(reload, &mut later).await {
                    changes.merge(later);
                    return changes;
                }
            } else if let Some(page) = pages.get(target - self.pools.len()) {
                tracing::info!(target: "howdah::watch", topic = page.topic, %file, "files changed");
                page.notify_browsers(&files);
            }
        }
        later
    }

    /// Waits for a reload, but not longer than [`RELOAD_TIME`] if files change meanwhile: it may hang, and the change
    /// may fix it. The reload continues by itself; the pool decides whether to abort it.
    async fn wait<T>(&mut self, reload: impl Future<Output = T>, later: &mut Changes) -> bool {
        let mut reload = pin!(reload);
        let mut long = pin!(tokio::time::sleep(RELOAD_TIME));
        loop {
            tokio::select! {
                _ = &mut reload => return true,
                Some(notice) = self.notices.recv() => later.add_notice(notice),
                () = &mut long, if !later.is_empty() => return false,
            }
        }
    }
}

impl ChangeReceiver {
    /// The files of the configuration among those that changed.
    fn configuration<'c>(&self, changes: &'c Changes) -> Option<&'c [PathBuf]> {
        let number = self.pools.iter().position(|pool| pool == CONFIGURATION)?;
        changes.targets.get(&number).map(Vec::as_slice)
    }
}

impl Changes {
    fn add_notice(&mut self, notice: Notice) {
        match notice {
            Notice::Watching(folders) => {
                tracing::info!(target: "howdah::watch", folders, "watching files");
            }
            Notice::Changed(changes) => self.merge(changes),
        }
    }
}

/// Runs until `stopped` is closed or the receiver is dropped.
fn run(
    patterns: Vec<(usize, Pattern)>,
    configuration: Option<(usize, Source)>,
    stopped: &OwnedFd,
    sender: &mpsc::UnboundedSender<Notice>,
) -> rustix::io::Result<()> {
    let mut tree = Tree::new(patterns)?;
    if sender.send(Notice::Watching(tree.folder_count())).is_err() {
        return Ok(());
    }
    let mut collected = Changes::default();
    // When the first and the last of them were seen.
    let mut seen: Option<(Instant, Instant)> = None;
    // Changes before there were events to read.
    if let Some((number, source)) = configuration
        && let Some(file) = source.changed_file()
    {
        collected.targets.insert(number, vec![file.to_owned()]);
        seen = Some((Instant::now(), Instant::now()));
    }
    loop {
        let due = seen.map(|(first, last)| (last + QUIET).min(first + LONGEST));
        let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
        if wait.is_some_and(|wait| wait.is_zero()) {
            seen = None;
            let notice = Notice::Changed(std::mem::take(&mut collected));
            if sender.send(notice).is_err() {
                return Ok(());
            }
            continue;
        }
        let (ended, readable) = wait_for(stopped, &tree, wait)?;
        if ended {
            return Ok(());
        }
        if readable {
            let changes = tree.read()?;
            if !changes.is_empty() {
                let now = Instant::now();
                seen = Some((seen.map_or(now, |(first, _)| first), now));
                collected.merge(changes);
            }
        }
    }
}

fn wait_for(
    stopped: &OwnedFd,
    tree: &Tree,
    limit: Option<Duration>,
) -> rustix::io::Result<(bool, bool)> {
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    let mut fds = [
        PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(tree.fd(), PollFlags::IN),
    ];
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error),
    }
    Ok((!fds[0].revents().is_empty(), !fds[1].revents().is_empty()))
}

fn explain(error: rustix::io::Errno) -> String {
    if error == rustix::io::Errno::MFILE {
        return "files are not watched: the limit of watching programs is reached; raise it with \
                sysctl fs.inotify.max_user_instances=N"
            .into();
    }
    format!("files are not watched: {error}")
}

#[cfg(test)]
mod tests;
