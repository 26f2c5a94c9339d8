//! What a configuration watches, and the start of the watch.

use howdah_config::model::Config;

use super::{CONFIGURATION, ChangeReceiver, WatchList, Watcher};
use crate::config::source::Source;
use crate::failure::Failure;

/// The files whose changes reload pools, or the configuration. An invalid pattern is an error of the configuration.
pub(crate) fn watched(config: &Config, source: Option<&Source>) -> Result<WatchList, Failure> {
    let files = source.map(Source::watched).unwrap_or_default();
    let pools = config.workers.iter();
    let patterns = pools
        .map(|pool| (pool.name.as_str(), pool.options.watch.as_slice()))
        .chain([(CONFIGURATION, files.as_slice())]);
    let cwd = std::env::current_dir().map_err(|error| Failure::Setup(error.to_string()))?;
    let pages = config.hot_reloads.iter().map(|page| page.watch.as_slice());
    let watch = WatchList::new(patterns, pages, &cwd);
    let watch = watch.map_err(|error| Failure::Setup(error.to_string()))?;
    Ok(watch.since(source))
}

/// A server whose files cannot be watched still serves.
pub(crate) fn start_watch(watch: WatchList) -> Option<(Watcher, ChangeReceiver)> {
    if watch.is_empty() {
        return None;
    }
    match watch.start() {
        Ok(watching) => Some(watching),
        Err(error) => {
            tracing::warn!(target: "howdah::watch", "files are not watched: {error}");
            None
        }
    }
}
