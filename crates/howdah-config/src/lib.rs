//! Caddyfile text to a typed, validated configuration. Pure: its only inputs are the text, the
//! environment that it names, the files that it imports, and the working directory.
//!
//! ```text
//! text ─env─▶ characters ─lexer─▶ tokens ─import─▶ tokens ─tree─▶ statements ─tables─▶ Config
//! ```
//!
//! [`parse`] and [`load`] return a [`ParsedConfig`] or all [`Errors`] that were found; [`fmt`](fn@fmt) formats a file;
//! [`reference_markdown`] is the reference page. The parser, the hints and the page are all generated from the tables
//! of names. The crate knows neither HTTP nor PHP processes.
//!
//! Its folders are layers, each of which uses those below it:
//!
//! ```text
//! reference, site               the page; site blocks and their addresses
//! global                        the global block
//! directive                     directives of a site, one file each
//! pool, listen, https, logs     options by subject, in whatever block they are
//! matcher                       matchers and expressions
//! table                         how names, values and placeholders are read
//! syntax, draft                 text to statements; what is read before the whole file is known
//! analysis                      what follows from a whole configuration
//! model                         the configuration: types that know nothing of the rest
//! error, source                 messages; files
//! ```
#![forbid(unsafe_code)]

mod analysis;
mod directive;
mod draft;
mod error;
mod global;
mod https;
mod listen;
mod logs;
mod matcher;
pub mod model;
mod pool;
mod reference;
mod site;
mod source;
mod syntax;
mod table;

use std::path::Path;

pub use error::{Error, ErrorKind, Errors, LoadError, Position, Warning};
pub use model::Config;
pub use reference::reference_markdown;
pub use source::{Disk, Files, NoFiles};
pub use syntax::{fmt, outline};
pub use table::value::parse_size;

/// The port of `http://` addresses without one.
const DEFAULT_HTTP_PORT: u16 = 80;

/// A valid configuration, and its warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedConfig {
    /// The configuration.
    pub config: Config,
    /// Warnings about statements that are valid but probably mistakes, in the order of the file.
    pub warnings: Vec<Warning>,
    /// The statements from which it was made.
    pub outline: outline::Outline,
    /// Every file that was read, the configuration itself first: the files to watch for changes.
    pub files: Vec<String>,
}

/// Reads a configuration from text.
///
/// `name` is the file's name in messages; relative imports start in its folder. `env` looks up
/// `{$NAME}`, `files` reads imports and knows the working directory.
///
/// # Errors
/// All independent errors. After a syntax error (quotes, braces, imports) the rest is not checked.
pub fn parse(
    text: &str,
    name: &str,
    env: &dyn Fn(&str) -> Option<String>,
    files: &dyn Files,
) -> Result<ParsedConfig, Errors> {
    parse_with(text, name, env, files, Strictness::Strict)
}

/// How names of other servers are treated that this version lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Each is an error.
    #[default]
    Strict,
    /// Each is left out with a warning, unless it restricts access.
    Lenient,
}

/// Like [`parse`], with a choice of how unsupported names are treated.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(
    text: &str,
    name: &str,
    env: &dyn Fn(&str) -> Option<String>,
    files: &dyn Files,
    strictness: Strictness,
) -> Result<ParsedConfig, Errors> {
    refuse_json(text, name)?;
    let mut stream = syntax::import::Stream::new(text, name, env, files)?;
    let mut tree = syntax::tree::parse(&mut stream)?;
    let outline = outline::Outline::new(&tree);
    directive::map::define(&mut tree);
    syntax::start_values::fill(&mut tree, env);
    let mut cx = table::Context::default();
    cx.lenient = strictness == Strictness::Lenient;
    cx.errors = syntax::contents::read(&mut tree, files, &mut stream.files);
    cx.warnings = std::mem::take(&mut stream.warnings);
    cx.hidden = stream.files.iter().map(|file| hidden(file)).collect();
    let mut config = read_config(&mut cx, &mut tree, files);
    sort_messages(&mut cx, &stream.files);
    if !cx.errors.is_empty() {
        return Err(Errors(cx.errors));
    }
    if config.sites.is_empty() {
        cx.warnings.push(Warning {
            position: start(name),
            message: "the file has no site, so nothing is served".into(),
        });
    }
    config.global.php.environment.withheld = std::mem::take(&mut stream.used);
    if let Ok(folder) = files.working_directory() {
        config.find_boot_roots(&folder, cx.global_workers);
        if let Some(position) = &cx.preload {
            config.applications = pool::preload::applications(&config, &folder, position)
                .map_err(|error| Errors(vec![error]))?;
        }
    }
    Ok(ParsedConfig {
        config,
        warnings: cx.warnings,
        outline,
        files: stream.files,
    })
}

/// Reads the statements of the global block, named routes and sites, and resolves the pools that they name. Errors
/// are left in `cx`.
fn read_config(
    cx: &mut table::Context,
    tree: &mut syntax::tree::Tree,
    files: &dyn Files,
) -> Config {
    let mut draft = global::Draft::default();
    cx.read(&global::OPTIONS, &tree.global, &mut draft);
    let mut global = draft.global;
    logs::global::settle(cx, &mut global);
    if let Some(user) = global.user.take() {
        global.set_user(user);
    }
    cx.http_port = global.http_port.unwrap_or(DEFAULT_HTTP_PORT);
    cx.https = global.https.clone();
    cx.global_workers = cx.workers.len();
    directive::define_named(cx, std::mem::take(&mut tree.named));
    let mut sites = site::sites(cx, &tree.sites);
    draft.servers.apply(cx, &mut sites, &mut global);
    let hot_reloads = cx.hot_reloads.len();
    directive::check_named(cx);
    cx.hot_reloads.truncate(hot_reloads);
    global.metrics |= cx.metrics;
    if cx.metrics_per_host && global.host_metrics == model::HostMetrics::Off {
        global.host_metrics = model::HostMetrics::Named;
    }
    global.tracing = cx.tracing;
    let pools = pool::resolve::classic_pools(cx, &global.php);
    let workers = pool::resolve::worker_pools(cx, &global.php, &pools, files);
    let roadrunner = pool::resolve::roadrunner_pools(cx, &pools, &workers);
    Config {
        global,
        sites,
        pools,
        workers,
        roadrunner,
        hubs: std::mem::take(&mut cx.hubs),
        hot_reloads: cx.hot_reloads.drain(..).map(|(own, _)| own).collect(),
        applications: Vec::new(),
    }
}

/// Sorts errors and warnings by position: matchers are read before the directives that use them, and imports before
/// everything else.
fn sort_messages(cx: &mut table::Context, files: &[String]) {
    let place = |position: &Position| {
        let file = files.iter().position(|file| **file == *position.file);
        (file, position.line, position.column)
    };
    cx.errors.sort_by_key(|error| place(&error.position));
    // A named route that is invoked twice is read twice.
    cx.errors
        .dedup_by(|one, other| one.position == other.position && one.message == other.message);
    cx.warnings.sort_by_key(|warning| place(&warning.position));
}

/// A directive and its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct DirectiveSummary {
    pub name: &'static str,
    /// The first sentence of its description.
    pub summary: &'static str,
}

/// The directives that a site may have, in the order in which they are applied.
#[must_use]
pub fn directives() -> Vec<DirectiveSummary> {
    let supported = directive::DIRECTIVES
        .items
        .iter()
        .filter_map(|item| match item {
            table::Item::Supported(entry, _) => Some(entry),
            _ => None,
        });
    supported
        .map(|entry| DirectiveSummary {
            name: entry.name,
            summary: entry
                .about
                .find(". ")
                .map_or(entry.about, |at| &entry.about[..=at]),
        })
        .collect()
}

/// The start of a file.
fn start(name: &str) -> Position {
    Position {
        file: name.into(),
        line: 1,
        column: 1,
    }
}

/// Caddy also accepts its configuration as JSON, whose braces would cause confusing errors in a
/// Caddyfile.
fn refuse_json(text: &str, name: &str) -> Result<(), Errors> {
    let object = text.trim_start().strip_prefix('{').map(str::trim_start);
    if object.is_none_or(|rest| !rest.starts_with('"')) {
        return Ok(());
    }
    Err(Errors(vec![Error::new(
        ErrorKind::Value,
        &start(name),
        "this is JSON".to_owned(),
        "write a Caddyfile: JSON is not read",
    )]))
}

/// Reads a configuration file, with the environment of this process and imports from disk.
///
/// # Errors
/// The file cannot be read, or see [`parse`].
pub fn load(path: &Path) -> Result<ParsedConfig, LoadError> {
    load_from(path, &Disk, Strictness::Strict)
}

/// Like [`load`], with a different source of files.
///
/// # Errors
/// As [`load`].
pub fn load_from(
    path: &Path,
    files: &dyn Files,
    strictness: Strictness,
) -> Result<ParsedConfig, LoadError> {
    let text = files.read(path).map_err(|source| LoadError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(load_text(&text, path, files, strictness)?)
}

/// Like [`load_from`], with a text in place of the file's contents.
///
/// # Errors
/// As [`parse`].
pub fn load_text(
    text: &str,
    path: &Path,
    files: &dyn Files,
    strictness: Strictness,
) -> Result<ParsedConfig, Errors> {
    let env = |name: &str| {
        // A name with `=` or NUL cannot be set, and `std` panics on it.
        if name.is_empty() || name.contains(['=', '\0']) {
            return None;
        }
        std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
    };
    parse_with(text, &path.to_string_lossy(), &env, files, strictness)
}

/// A configuration file as an entry of `hide`: with a slash, so that it means this file and not
/// every file of that name.
fn hidden(file: &str) -> String {
    if file.contains('/') {
        file.to_owned()
    } else {
        format!("./{file}")
    }
}
