//! The files of a configuration as they were read.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use howdah_config::model::DEFAULT_WATCH;
use howdah_config::outline::Outline;
use howdah_config::{Config, Disk, Files, LoadError, ParsedConfig, Strictness, Warning};
use howdah_observe::admin::ConfigFile;
use serde_json::{Value, json};

use crate::cli;
use crate::paths::absolute;
use crate::rights::users;

/// The name, in messages, of a text that replaces the file.
pub(crate) const BODY: &str = "request body";

/// The files of a configuration.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The path as given, for messages.
    given: PathBuf,
    /// Contents on disk; `None`: it could not be read.
    texts: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// Replaces the first of them.
    posted: Option<Vec<u8>>,
    statements: Outline,
    reading: ReadOptions,
}

/// Options for reading a file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadOptions {
    /// `--watch`: worker scripts without `watch` watch PHP files.
    pub(crate) watch: bool,
    /// `--lenient`: what this version lacks is left out.
    pub(crate) strictness: Strictness,
}

/// A configuration that was read.
pub(crate) struct LoadedConfig {
    pub(crate) config: Config,
    pub(crate) source: Source,
    pub(crate) warnings: Vec<Warning>,
}

impl cli::ConfigFile {
    pub(crate) fn reading(&self, watch: bool) -> ReadOptions {
        ReadOptions {
            watch,
            strictness: self.strictness(),
        }
    }
}

impl Source {
    pub(crate) fn read(file: &Path, reading: ReadOptions) -> Result<LoadedConfig, LoadError> {
        // Only root may be able to read the files that it names.
        let _ = howdah_monitor::renew();
        let parsed = howdah_config::load_from(file, &MonitorFiles, reading.strictness)?;
        Ok(Self::of(file, None, parsed, reading))
    }

    /// Reads the file again.
    pub(crate) fn reread(&self) -> Result<LoadedConfig, LoadError> {
        Self::read(&self.given, self.reading)
    }

    /// Reads a different file.
    pub(crate) fn read_other(&self, file: &Path) -> Result<LoadedConfig, LoadError> {
        Self::read(file, self.reading)
    }

    /// Reads a text as if it were in the file.
    pub(crate) fn with(&self, text: &str) -> Result<LoadedConfig, String> {
        let parsed =
            howdah_config::load_text(text, &self.given, &MonitorFiles, self.reading.strictness)
                .map_err(|error| {
                    // The file itself has different text in these places.
                    let own = format!("{}:", self.given.display());
                    let of_body = |line: &str| match line.strip_prefix(&own) {
                        Some(rest) => format!("{BODY}:{rest}"),
                        None => line.to_owned(),
                    };
                    let lines: Vec<_> = error.to_string().lines().map(of_body).collect();
                    lines.join("\n")
                })?;
        Ok(Self::of(&self.given, Some(text), parsed, self.reading))
    }

    fn of(
        file: &Path,
        text: Option<&str>,
        parsed: ParsedConfig,
        reading: ReadOptions,
    ) -> LoadedConfig {
        let mut config = parsed.config;
        users::settle(&mut config, file);
        if reading.watch {
            let unwatched = config.workers.iter_mut();
            for pool in unwatched.filter(|pool| pool.options.watch.is_empty()) {
                pool.options.watch.push(DEFAULT_WATCH.to_owned());
            }
        }
        let texts = parsed
            .files
            .iter()
            .map(|file| {
                let file = absolute(Path::new(file));
                let text = howdah_monitor::fs::read(&file).ok();
                (file, text)
            })
            .collect();
        LoadedConfig {
            config,
            source: Self {
                given: file.to_owned(),
                texts,
                posted: text.map(|text| text.as_bytes().to_vec()),
                statements: parsed.outline,
                reading,
            },
            warnings: parsed.warnings,
        }
    }

    /// Whether the files have changed.
    pub(crate) fn check(&self) -> ConfigFile {
        let mut texts = self.texts.iter().enumerate();
        ConfigFile {
            file: absolute(&self.given).display().to_string(),
            changed: texts.any(|(place, (file, text))| {
                let posted = self.posted.as_ref().filter(|_| place == 0);
                howdah_monitor::fs::read(file).ok().as_ref() != posted.or(text.as_ref())
            }),
        }
    }

    /// The absolute path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        absolute(&self.given)
    }

    /// The first of the files that has changed on disk since they were read.
    pub(crate) fn changed_file(&self) -> Option<&Path> {
        let differs = |(file, text): &&(PathBuf, _)| howdah_monitor::fs::read(file).ok() != *text;
        self.texts.iter().find(differs).map(|(file, _)| &**file)
    }

    /// The form that `/config` shows.
    pub(crate) fn to_json(&self) -> Value {
        // Without files that only root may read: the client may be PHP.
        let secret = |(file, _): &(PathBuf, _)| {
            std::fs::File::open(file)
                .is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
        };
        let statements = (!self.texts.iter().any(secret)).then_some(&self.statements);
        json!({"file": absolute(&self.given), "statements": statements})
    }

    /// The files to watch for changes; none unless configured.
    pub(crate) fn watched(&self) -> Vec<String> {
        let files = self.texts.iter().filter(|_| self.reading.watch);
        files
            .filter_map(|(file, _)| file.to_str().map(str::to_owned))
            .collect()
    }
}

/// Reads files that this process or its monitor may read.
#[derive(Debug, Clone, Copy)]
struct MonitorFiles;

impl Files for MonitorFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        howdah_monitor::fs::read_to_string(path)
    }

    fn glob(&self, pattern: &str) -> io::Result<Vec<PathBuf>> {
        Disk.glob(pattern)
    }

    fn working_directory(&self) -> io::Result<PathBuf> {
        Disk.working_directory()
    }
}

/// A configuration for commands that only inspect it.
pub(crate) fn look(file: &Path, strictness: Strictness) -> Result<ParsedConfig, LoadError> {
    let mut parsed = howdah_config::load_from(file, &Disk, strictness)?;
    users::settle(&mut parsed.config, file);
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_configuration_is_noticed() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("Caddyfile"), "import more\n").expect("written");
        std::fs::write(path("more"), ":8080\n").expect("written");
        let read = Source::read(&path("Caddyfile"), ReadOptions::default()).expect("valid");
        let source = read.source;
        assert_eq!(
            source.check(),
            ConfigFile {
                file: path("Caddyfile").display().to_string(),
                changed: false
            }
        );
        assert!(source.watched().is_empty());
        std::fs::write(path("more"), ":8081\n").expect("written");
        assert!(source.check().changed);
        assert_eq!(source.changed_file(), Some(&*path("more")));
        let again = source.reread().expect("valid");
        assert_eq!(again.config.sites[0].addresses[0].port, 8081);
        assert!(!again.source.check().changed);
        std::fs::write(path("more"), ":8080\n").expect("written");
        assert!(!source.check().changed);
        std::fs::remove_file(path("more")).expect("removed");
        assert!(source.check().changed);
        assert!(source.reread().is_err());
    }

    #[test]
    fn a_text_is_as_good_as_a_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("Caddyfile");
        std::fs::write(&file, ":8080\n").expect("written");
        let watching = ReadOptions {
            watch: true,
            ..ReadOptions::default()
        };
        let source = Source::read(&file, watching).expect("valid").source;
        assert_eq!(source.watched(), [file.to_str().expect("UTF-8")]);
        let read = source.with(":8081\n").expect("valid");
        assert_eq!(read.config.sites[0].addresses[0].port, 8081);
        assert!(read.source.check().changed, "the file says something else");
        assert_eq!(read.source.changed_file(), None, "as it did before");
        let error = source.with("{\n\tadmni off\n}\n").map(drop);
        let error = error.expect_err("no such option");
        assert!(error.starts_with("request body:2:2: "), "{error}");
    }
}
