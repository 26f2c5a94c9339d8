//! PHP as the server will run it: versions, ini files, OPcache, folders that it writes to.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use howdah_pool::PhpInfo;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::report::{Area, Report};

/// The PHP executable with the server's ini files and the settings of the configuration.
#[derive(Debug)]
pub(super) struct Php {
    executable: PathBuf,
    info: PhpInfo,
    settings: Vec<(String, String)>,
}

/// The report of `facts.php`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Facts {
    settings: BTreeMap<String, Option<String>>,
    /// Lower-case names and versions.
    pub(super) extensions: BTreeMap<String, String>,
    /// Bytes; negative: no limit.
    pub(super) memory_limit: i64,
    temp: PathBuf,
    timezone: String,
    timezones: bool,
    pub(super) time: u64,
}

/// The report of `script.php`.
#[derive(Debug, Deserialize)]
struct WorkerScript {
    error: Option<String>,
    line: u64,
    /// It calls a function that handles requests.
    serves: bool,
}

/// One of our scripts gave no valid result.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScriptError {
    #[error("cannot run {0}: {1}")]
    Io(PathBuf, std::io::Error),
    #[error("PHP printed: {0}")]
    Failed(String),
    #[error("PHP's output cannot be parsed: {0}")]
    Answer(#[from] serde_json::Error),
}

impl Facts {
    pub(super) fn setting(&self, name: &str) -> &str {
        let value = self.settings.get(name).and_then(Option::as_deref);
        value.unwrap_or_default()
    }

    /// Folders that PHP writes to, with what it writes there.
    pub(super) fn folders(&self) -> Vec<(&str, &Path)> {
        let mut folders = vec![("temporary files", &*self.temp)];
        let uploads = Path::new(self.setting("upload_tmp_dir"));
        if !uploads.as_os_str().is_empty() {
            folders.push(("uploads", uploads));
        }
        if self.setting("session.save_handler") == "files" {
            // `DEPTH;MODE;PATH`.
            let path = self.setting("session.save_path").rsplit(';').next();
            let path = Path::new(path.unwrap_or_default());
            let is_default = path.as_os_str().is_empty();
            folders.push(("sessions", if is_default { &self.temp } else { path }));
        }
        folders
    }

    pub(super) fn number(&self, name: &str) -> u64 {
        self.setting(name).parse().unwrap_or(0)
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        let value = self.setting(name).to_ascii_lowercase();
        matches!(value.as_str(), "1" | "on" | "yes" | "true")
    }
}

impl Php {
    pub(super) fn find(
        executable: PathBuf,
        settings: &[(String, String)],
    ) -> Result<Self, howdah_pool::StartError> {
        Ok(Self {
            info: howdah_pool::php_info(&executable)?,
            executable,
            settings: settings.to_vec(),
        })
    }

    /// Runs a script of this program, passed on standard input.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        script: &str,
        arguments: &[&Path],
    ) -> Result<T, ScriptError> {
        self.ask_with(script, arguments, &[])
    }

    /// Like [`ask`](Self::ask), with additional environment variables.
    pub(super) fn ask_with<T: DeserializeOwned>(
        &self,
        script: &str,
        arguments: &[&Path],
        environment: &[(&str, &str)],
    ) -> Result<T, ScriptError> {
        let mut settings = Vec::new();
        if !arguments.is_empty() {
            // Only the script without arguments reports these two.
            settings.extend([("display_errors", "stderr"), ("memory_limit", "-1")]);
        }
        self.run(script, arguments, environment, &settings)
    }

    /// Starts PHP with OPcache, which its command line leaves out. The code of `opcache.preload` is not run.
    pub(super) fn start_with_opcache(&self) -> Result<(), ScriptError> {
        let settings = [("opcache.enable_cli", "1"), ("opcache.preload", "")];
        self.ask_set("<?php echo 'null';", &settings)
    }

    /// Reports settings that name files which do not exist.
    pub(super) fn check_files(&self, report: &mut Report) {
        const FILES: [&str; 3] = ["opcache.preload", "auto_prepend_file", "auto_append_file"];
        for (name, value) in &self.settings {
            // PHP looks for others in its `include_path`, too.
            let is_missing = |file: &str| file.starts_with('/') && !Path::new(file).exists();
            let missing = match &**name {
                name if FILES.contains(&name) => is_missing(value),
                "open_basedir" => value.split(':').all(is_missing),
                _ => false,
            };
            if missing && !value.is_empty() {
                report.error(
                    Area::Php,
                    format!("php_ini {name}: {value} does not exist"),
                    "create it, or correct the path: PHP does not start, or every request fails",
                );
            }
        }
    }

    /// Runs a script with additional settings.
    pub(super) fn ask_set<T: DeserializeOwned>(
        &self,
        script: &str,
        settings: &[(&str, &str)],
    ) -> Result<T, ScriptError> {
        self.run(script, &[], &[], settings)
    }

    fn run<T: DeserializeOwned>(
        &self,
        script: &str,
        arguments: &[&Path],
        environment: &[(&str, &str)],
        settings: &[(&str, &str)],
    ) -> Result<T, ScriptError> {
        let io = |error| ScriptError::Io(self.executable.clone(), error);
        let mut command = Command::new(&self.executable);
        command.arg("cli").envs(environment.iter().copied());
        // Debian's command line has different ini files; these are the server's.
        if let Some(file) = &self.info.ini_file {
            command.arg("-c").arg(file);
        }
        if let Some(folder) = &self.info.ini_scanned {
            command.env("PHP_INI_SCAN_DIR", folder);
        }
        // No code of the application may run, or print into the result.
        let own = [
            ("auto_prepend_file", ""),
            ("auto_append_file", ""),
            ("display_startup_errors", "0"),
        ];
        let configured = self.settings.iter();
        let configured = configured.map(|(name, value)| (name.as_str(), value.as_str()));
        let own = own.iter().chain(settings).copied();
        for (name, value) in configured.chain(own) {
            command.arg("-d").arg(format!("{name}={value}"));
        }
        command.arg("--").args(arguments);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.stderr(Stdio::piped()).spawn().map_err(io)?;
        if let Some(mut input) = child.stdin.take() {
            // PHP reads the whole script before it runs it; if it does not, its exit status reports that.
            match input.write_all(script.as_bytes()) {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    return Err(io(error));
                }
                _ => {}
            }
        }
        let output = child.wait_with_output().map_err(io)?;
        if !output.status.success() {
            let output_text = [output.stderr, output.stdout].concat();
            let output_text = String::from_utf8_lossy(&output_text);
            let first = output_text.lines().find(|line| !line.trim().is_empty());
            return Err(ScriptError::Failed(
                first.unwrap_or("nothing").trim().to_owned(),
            ));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Whether PHP can compile a worker script, and whether it looks like one. It is not executed.
    pub(super) fn worker_script(&self, file: &Path, report: &mut Report) {
        let found: WorkerScript = match self.ask(include_str!("script.php"), &[file]) {
            Ok(found) => found,
            Err(error) => {
                let text = format!("worker script {} was not read: {error}", file.display());
                report.warning(Area::Php, text, "fix what PHP reports");
                return;
            }
        };
        let file = file.display();
        if let Some(error) = found.error {
            report.error(
                Area::Php,
                format!("worker script {file}:{}: {error}", found.line),
                "fix it: no worker can boot",
            );
        } else if !found.serves {
            report.warning(
                Area::Php,
                format!("worker script {file} does not call frankenphp_handle_request()"),
                "unless something that it loads does, no worker is ever ready: \
                 docs/guides/worker-mode.md has scripts for frameworks",
            );
        }
    }

    pub(super) fn check(&self, report: &mut Report) -> Option<Facts> {
        let area = Area::Php;
        let build = if self.info.zts { "ZTS" } else { "NTS" };
        let executable = self.executable.display();
        report.ok(
            area,
            format!("PHP {} ({build}), {executable}", self.info.php),
        );
        vulnerabilities(&self.info, report);
        match (&self.info.ini_file, &self.info.ini_scanned) {
            (None, _) => report.warning(
                area,
                "PHP reads no php.ini: its built-in settings are for development",
                "copy php.ini-production of the PHP package, or set what you need with php_ini",
            ),
            (Some(file), folder) => {
                let more = folder.as_deref().map(|folder| format!(" and {folder}"));
                report.ok(
                    area,
                    format!("ini files: {file}{}", more.unwrap_or_default()),
                );
            }
        }
        for line in &self.info.warnings {
            report.warning(
                area,
                format!("PHP reports when it starts: {line}"),
                "correct the ini file, or install what it names",
            );
        }
        let facts: Facts = match self.ask(include_str!("facts.php"), &[]) {
            Ok(facts) => facts,
            Err(error) => {
                report.error(
                    area,
                    error.to_string(),
                    "fix php.ini or the named extension; `howdah php-cli -m` shows what PHP loads",
                );
                return None;
            }
        };
        extensions(&facts.extensions, report);
        settings(&facts, report);
        time_zone(&facts, report);
        Some(facts)
    }

    /// Whether this file runs it.
    pub(super) fn is_at(&self, executable: &Path) -> bool {
        self.executable == executable
    }

    pub(super) fn has_opcache(&self) -> bool {
        self.info.opcache
    }

    /// Whether it is older than the release `MAJOR.MINOR`.
    pub(super) fn is_older_than(&self, release: &str) -> bool {
        let numbers = |version: &str| -> Vec<u32> {
            let parts = version.split('.').take(2);
            parts.filter_map(|part| part.parse().ok()).collect()
        };
        numbers(&self.info.php) < numbers(release)
    }
}

fn vulnerabilities(info: &PhpInfo, report: &mut Report) {
    for known in crate::php::vulnerabilities::of(info) {
        let (ids, what) = (known.ids, known.what);
        report.error(
            Area::Php,
            format!("this PHP has a known vulnerability ({ids}): {what}"),
            "upgrade PHP",
        );
    }
}

/// Extensions with known problems, with or without concurrent requests.
const TROUBLE: [(&str, &str); 8] = [
    ("xdebug", "makes PHP several times slower"),
    (
        "pcov",
        "counts lines for tests and switches optimisations off",
    ),
    (
        "swoole",
        "has a built-in server, which competes for signals and processes",
    ),
    (
        "openswoole",
        "has a built-in server, which competes for signals and processes",
    ),
    ("parallel", "needs a thread-safe PHP"),
    (
        "uopz",
        "changes classes and functions behind OPcache's back",
    ),
    (
        "runkit7",
        "changes classes and functions behind OPcache's back",
    ),
    (
        "grpc",
        "starts threads, which do not survive the fork of a worker: make its clients in requests",
    ),
];

/// `loaded`: lower-case names and versions.
fn extensions(loaded: &BTreeMap<String, String>, report: &mut Report) {
    let mut fine = true;
    for (name, reason) in TROUBLE {
        if loaded.contains_key(name) {
            fine = false;
            report.warning(
                Area::Php,
                format!("extension {name}: {reason}"),
                "remove it from the ini files that the server reads, unless you need it",
            );
        }
    }
    if fine {
        let count = loaded.len();
        report.ok(
            Area::Php,
            format!("{count} extensions, none with known problems"),
        );
    }
}

fn settings(facts: &Facts, report: &mut Report) {
    let shown = facts.setting("display_errors").to_ascii_lowercase();
    if matches!(shown.as_str(), "1" | "on" | "yes" | "true" | "stdout") {
        report.warning(
            Area::Php,
            "display_errors is on: visitors see errors with paths and data",
            "php_ini display_errors off, unless this is a development machine",
        );
    }
    if facts.memory_limit < 0 {
        report.warning(
            Area::Php,
            "memory_limit is off: one request can take the whole machine's memory",
            "php_ini memory_limit 128M, or what your requests need",
        );
    }
}

fn time_zone(facts: &Facts, report: &mut Report) {
    let zone = facts.setting("date.timezone");
    if facts.timezones {
        report.ok(Area::Php, format!("time zone {}", facts.timezone));
    } else {
        report.warning(
            Area::Php,
            format!(
                "date.timezone is {zone}, which is not a time zone of PHP; PHP uses {}",
                facts.timezone
            ),
            "set a name such as Europe/Vienna or UTC",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Level;
    use super::*;
    use crate::php::vulnerabilities::tests::php;

    #[test]
    fn each_remote_hole_of_a_php_from_source_is_an_error() {
        let found = |version, binary| {
            let mut report = Report::default();
            vulnerabilities(&php(version, Some(binary)), &mut report);
            report.findings
        };
        let old = found("8.3.30", "/usr/local/bin/php");
        assert_eq!(old.len(), 2, "{old:?}");
        for (finding, id) in old.iter().zip(["CVE-2026-109618", "CVE-2026-6722"]) {
            assert_eq!(finding.level, Level::Error);
            assert!(finding.text.contains(id), "{}", finding.text);
            assert_eq!(finding.advice.as_deref(), Some("upgrade PHP"));
        }
        assert_eq!(found("8.3.35", "/usr/local/bin/php").len(), 1);
        assert_eq!(found("8.3.36", "/usr/local/bin/php"), []);
        assert_eq!(found("8.3.30", "/usr/bin/php8.3"), []);
    }

    #[test]
    fn each_extension_with_known_problems_is_a_warning() {
        let found = |names: &[&str]| {
            let loaded = names.iter().map(|name| ((*name).into(), "1".into()));
            let mut report = Report::default();
            extensions(&loaded.collect(), &mut report);
            report.findings
        };
        for (name, reason) in TROUBLE {
            let [finding] = &found(&["core", name, "pdo"])[..] else {
                panic!("{name}: not one finding");
            };
            assert_eq!(finding.level, Level::Warning, "{name}");
            assert_eq!(finding.text, format!("extension {name}: {reason}"));
            assert!(finding.advice.is_some(), "{name}");
        }
        assert_eq!(found(&["xdebug", "grpc"]).len(), 2);
        let [fine] = &found(&["core", "pdo"])[..] else {
            panic!("not one finding");
        };
        assert_eq!(fine.level, Level::Ok);
        assert_eq!(fine.text, "2 extensions, none with known problems");
    }
}
