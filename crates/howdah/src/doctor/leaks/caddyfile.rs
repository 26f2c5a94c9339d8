//! The configuration of the server for the leak check: one worker with the settings of the checked one, on a free
//! port.

use std::fmt::Write as _;
use std::path::PathBuf;

use howdah_config::model::{
    Ini, LeakDetection, LimitBlocks, LimitValue, OptionKind, OptionValue, POOL_LIMITS, PoolLimits,
    User, WORKER_OPTIONS, WorkerOption, WorkerOptions,
};

/// A variable with `{`: the text `{$` would be replaced before the file is read.
pub(super) const BRACE: &str = "HOWDAH_DOCTOR_BRACE";

/// The application that the server runs.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) script: String,
    pub(super) root: String,
    pub(super) php: PathBuf,
    /// Settings of the global block.
    pub(super) ini: Ini,
    pub(super) worker_ini: Ini,
    pub(super) worker: WorkerOptions,
    pub(super) limits: PoolLimits,
    pub(super) user: Option<User>,
    pub(super) php_user: Option<User>,
    pub(super) clear_env: bool,
    /// Variables of this process that PHP does not inherit.
    pub(super) withheld: Vec<String>,
    /// Values of `$_SERVER` that the server does not set itself.
    pub(super) variables: Vec<(&'static str, &'static str)>,
}

/// What the requests of a server share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A worker, whose leaks are logged.
    DetectLeaks,
    /// The boot alone: what differs does not come from the memory of a worker.
    Isolated,
}

/// Options that the check sets itself, or does without.
const OWN: [&str; 6] = [
    "watch",
    "max_consecutive_failures",
    "isolation",
    "concurrency",
    "detect_leaks",
    // The copies of an isolated boot are requests themselves.
    "warm",
];

impl Application {
    pub(super) fn caddyfile(&self, mode: Mode) -> String {
        let mut text = Text::default();
        text.open("");
        text.line("admin off");
        text.line("crash_reports off");
        text.open("log");
        text.line("format json");
        text.close();
        if let Some(user) = &self.user {
            text.line(&format!("user {user}"));
        }
        text.open("howdah");
        text.line(&format!("php {}", template(&self.php.to_string_lossy())));
        text.line("workers 1");
        text.line("front_threads 1");
        if self.clear_env {
            text.line("clear_env");
        }
        text.ini(&self.ini);
        text.close();
        text.close();
        text.open("http://:0");
        text.line("bind 127.0.0.1");
        text.line(&format!("root * {}", template(&self.root)));
        // As `php-server` does.
        text.open("@file");
        text.line("not path *.php *.php/*");
        text.line("file {path}");
        text.close();
        text.open("handle @file");
        text.line("file_server");
        text.close();
        text.open("handle");
        text.open("php_server");
        for (name, value) in &self.variables {
            text.line(&format!("env {name} {value}"));
        }
        self.worker(mode, &mut text);
        text.close();
        text.close();
        text.close();
        text.0
    }

    fn worker(&self, mode: Mode, text: &mut Text) {
        text.open("worker");
        text.line(&format!("file {}", template(&self.script)));
        text.line("num 1");
        text.line("match *");
        text.line("max_consecutive_failures 1");
        if let Some(user) = &self.php_user {
            text.line(&format!("user {user}"));
        }
        self.switches(text);
        text.ini(&self.worker_ini);
        let taken =
            |option: &&WorkerOption| !option.needs_concurrency && !OWN.contains(&option.name);
        let defaults = WorkerOptions::default();
        for option in WORKER_OPTIONS.iter().filter(taken) {
            let value = (option.get)(&self.worker);
            if value != (option.get)(&defaults) {
                text.option(option, value);
            }
        }
        match mode {
            Mode::DetectLeaks => {
                for path in &self.worker.warm {
                    text.line(&format!("warm {}", template(path)));
                }
                text.detect_leaks(self.worker.detect_leaks.as_ref());
            }
            Mode::Isolated => text.line("isolation request"),
        }
        text.close();
    }

    /// Limits that are switches. The others replace workers or end requests.
    fn switches(&self, text: &mut Text) {
        let defaults = PoolLimits::default();
        for limit in POOL_LIMITS {
            let value = (limit.get)(&self.limits);
            if let LimitValue::Switch(is_on) = value
                && limit.blocks != LimitBlocks::Global
                && value != (limit.get)(&defaults)
            {
                let value = if is_on { "on" } else { "off" };
                text.line(&format!("{} {value}", limit.name));
            }
        }
    }
}

/// The lines of a file.
#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn open(&mut self, name: &str) {
        self.line(format!("{name} {{").trim_start());
    }

    fn close(&mut self) {
        self.line("}");
    }

    fn ini(&mut self, ini: &Ini) {
        for (directive, settings) in [
            ("php_ini", &ini.php_ini),
            ("php_admin_ini", &ini.php_admin_ini),
        ] {
            for (name, value) in settings {
                self.line(&format!("{directive} {name} {}", quoted(value)));
            }
        }
    }

    fn option(&mut self, option: &WorkerOption, value: OptionValue) {
        let name = option.name;
        match value {
            OptionValue::Variables(variables) => {
                for (variable, value) in variables {
                    let (variable, value) = (quoted(&variable), template(&value));
                    self.line(&format!("{name} {variable} {value}"));
                }
            }
            OptionValue::Words(words) => {
                let is_path = option.kind == OptionKind::Paths;
                let quote = |word: &String| {
                    if is_path {
                        template(word)
                    } else {
                        quoted(word)
                    }
                };
                let words: Vec<String> = words.iter().map(quote).collect();
                self.line(&format!("{name} {}", words.join(" ")));
            }
            value => self.line(&format!("{name} {value}")),
        }
    }

    fn detect_leaks(&mut self, own: Option<&LeakDetection>) {
        let allow = own.map_or(&[][..], |own| &own.allow);
        if allow.is_empty() {
            self.line("detect_leaks");
            return;
        }
        self.open("detect_leaks");
        for pattern in allow {
            self.line(&format!("allow {}", quoted(pattern)));
        }
        self.close();
    }
}

/// A word in which braces are no placeholders.
fn template(text: &str) -> String {
    quoted(&text.replace('{', r"\{").replace('}', r"\}"))
}

/// A word with any characters.
fn quoted(text: &str) -> String {
    let text = text.replace("{$", &format!("{{${BRACE}}}$"));
    if !text.contains('`') {
        return format!("`{text}`");
    }
    let mut marker = "END".to_owned();
    while text.contains(&marker) {
        marker.push('D');
    }
    format!("<<{marker}\n{text}\n{marker}")
}

#[cfg(test)]
#[path = "caddyfile_tests.rs"]
mod tests;
