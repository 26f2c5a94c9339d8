//! Document roots that are missing when a configuration is loaded.

use howdah_config::model::Config;
use rustix::fs::Access;
use rustix::io::Errno;

/// Document roots that are not folders yet, or that this process may not enter, each with the problem. A volume may be
/// mounted later, and an application may create its folders: until then requests get a 403 or 404, and other sites work.
pub(crate) fn missing_roots(config: &Config) -> Vec<String> {
    let mut roots = config.constant_roots();
    roots.sort_unstable();
    roots.dedup();
    let wrong = roots.into_iter().filter_map(|root| {
        let wrong = match std::fs::metadata(root) {
            Ok(found) if found.is_dir() => match rustix::fs::access(root, Access::EXEC_OK) {
                Err(Errno::ACCESS) => {
                    format!("user {} may not enter it", rustix::process::geteuid())
                }
                _ => return None,
            },
            Ok(_) => "it is not a directory".to_owned(),
            Err(error) => error.to_string(),
        };
        Some(format!("document root {root}: {wrong}"))
    });
    wrong.collect()
}

pub(crate) fn warn_of_roots(config: &Config) {
    for wrong in missing_roots(config) {
        tracing::warn!(target: "howdah", "{wrong}; requests for its files get a 403 or 404 until it can be used");
    }
}
