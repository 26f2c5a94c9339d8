//! `howdah doctor --leaks`: requests the same pages in different orders from a server that it starts with
//! `detect_leaks`, and compares the responses. The server reports state that a request leaves behind; responses that
//! depend on previous requests show it too. Two more servers, one with the pages in reverse order, show state that the
//! first request sets for good. If there is a difference, everything is repeated, and also requested without state:
//! what differs there too comes from chance, time or a data store.

mod caddyfile;
mod compare;
mod leak;
mod response;
mod run;
mod server;
mod status;
mod target;

use std::io;
use std::path::{Path, PathBuf};

use howdah_config::model::{Config, User, WorkerPool};

use self::caddyfile::Application;
use self::compare::{Difference, Differences, Page};
use self::leak::Leak;
use self::run::Run;
use self::target::{Scheme, Target, TargetError};
use super::report::{Area, Finding, Level, Report};
use crate::php_executable::executables;
use crate::request_header::{RequestHeader, hide_values};
use crate::rights::users;

/// Why the check was not possible.
#[derive(Debug, thiserror::Error)]
enum LeakCheckError {
    #[error("there is no worker script: leaks are left in worker mode only")]
    NoWorker,
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("the server does not start: {0}")]
    Start(String),
    #[error("{url}: {error}")]
    Request { url: String, error: io::Error },
}

impl LeakCheckError {
    fn advice(&self) -> &'static str {
        match self {
            Self::NoWorker => "name the worker script with --worker or --config",
            Self::Target(error) => error.advice(),
            Self::Start(_) => {
                "the worker script has to boot first: `howdah php-server --worker SCRIPT` shows its whole log"
            }
            Self::Request { .. } => {
                "see the log of the application; a page has to respond within 30 seconds"
            }
        }
    }
}

/// Checks each worker of the configuration.
pub(super) fn check(
    config: &Config,
    urls: &[String],
    headers: &[RequestHeader],
    report: &mut Report,
) {
    let result = check_workers(config, urls, headers, report);
    if let Err(error) = result {
        let text = hide_values(headers, &error.to_string());
        report.error(Area::Leaks, text, error.advice());
    }
}

fn check_workers(
    config: &Config,
    urls: &[String],
    headers: &[RequestHeader],
    report: &mut Report,
) -> Result<(), LeakCheckError> {
    let targets = target::targets(urls)?;
    if config.workers.is_empty() {
        return Err(LeakCheckError::NoWorker);
    }
    // Without a configuration file, the user is that of `php-server`.
    let mut config = config.clone();
    users::settle_php_server(&mut config);
    let php = executables(&config).split_off(1 + config.pools.len());
    for (pool, php) in config.workers.iter().zip(php) {
        let mut application = application(&config, pool, php);
        application.variables = variables(&targets);
        let run = Run {
            application: &application,
            targets: &targets,
            headers,
            requests: 0,
        };
        check_worker(run, report)?;
    }
    Ok(())
}

fn application(config: &Config, pool: &WorkerPool, php: PathBuf) -> Application {
    let settings = &config.global.php;
    let roots = super::roots(config);
    let is_text = |root: &PathBuf| root.to_str().map(str::to_owned);
    let root = pool.root.clone().or_else(|| roots.iter().find_map(is_text));
    // Only root can change users.
    let user = |user: Option<&User>| user.filter(|_| is_root()).cloned();
    Application {
        script: pool.file.clone(),
        root: root.unwrap_or_else(|| folder(&pool.file)),
        php,
        ini: settings.ini.clone(),
        worker_ini: pool.settings.ini.clone(),
        worker: pool.options.clone(),
        limits: pool.settings.limits.over(&settings.limits),
        user: is_root().then(|| config.global.user.clone().unwrap_or_else(root_user)),
        php_user: user(pool.settings.user.as_ref().or(settings.user.as_ref())),
        clear_env: settings.environment.clear,
        withheld: settings.environment.withheld.iter().cloned().collect(),
        variables: Vec::new(),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user of a server that stays root, for want of another one that can read the application.
fn root_user() -> User {
    User {
        name: "root".into(),
        group: None,
    }
}

fn folder(file: &str) -> String {
    let folder = Path::new(file).parent().and_then(Path::to_str);
    folder.unwrap_or("/").to_owned()
}

/// What PHP sees of HTTPS, which the server itself does not have.
fn variables(targets: &[Target]) -> Vec<(&'static str, &'static str)> {
    let has_https = |target: &Target| target.scheme == Some(Scheme::Https);
    if !targets.iter().any(has_https) {
        return Vec::new();
    }
    let mut variables = vec![("HTTPS", "on"), ("REQUEST_SCHEME", "https")];
    if targets.iter().all(|target| !target.has_port) {
        variables.push(("SERVER_PORT", "443"));
    }
    variables
}

fn check_worker(mut run: Run<'_>, report: &mut Report) -> Result<(), LeakCheckError> {
    let (leaks, mut pages) = run.first_server()?;
    for leak in &leaks {
        report_leak(leak, report);
    }
    run.new_servers(&mut pages)?;
    let differences = confirmed_differences(&mut run, &pages)?;
    let mut is_clean = leaks.is_empty();
    for ((target, page), differences) in run.targets.iter().zip(&pages).zip(&differences) {
        is_clean &= report_differences(&run, target, differences, report);
        is_clean &= report_status(&run, target, page, report);
    }
    if is_clean {
        let pages = match pages.len() {
            1 => "one page".to_owned(),
            number => format!("{number} pages"),
        };
        report.ok(
            Area::Leaks,
            format!(
                "{}: {} requests of {pages} in different orders left nothing behind, and got the same responses",
                run.application.script, run.requests
            ),
        );
    }
    Ok(())
}

/// The differences of each page that come from the memory of the worker.
fn confirmed_differences(
    run: &mut Run<'_>,
    pages: &[Page],
) -> Result<Vec<Differences>, LeakCheckError> {
    let found: Vec<Differences> = pages.iter().map(Page::differences).collect();
    let suspects = found
        .iter()
        .enumerate()
        .filter(|(_, found)| !found.is_empty());
    let suspects: Vec<usize> = suspects.map(|(page, _)| page).collect();
    if suspects.is_empty() {
        return Ok(found);
    }
    let (_, mut again) = run.first_server()?;
    run.new_servers(&mut again)?;
    let stateless = run.stateless(&suspects)?;
    let confirmed = found.into_iter().zip(&again).zip(&stateless);
    Ok(confirmed
        .map(|((found, again), stateless)| found.confirmed_by(&again.differences(), stateless))
        .collect())
}

fn report_leak(leak: &Leak, report: &mut Report) {
    report.findings.push(Finding {
        area: Area::Leaks,
        level: Level::Error,
        text: leak.text(),
        advice: Some(
            "reset it after the request, or permit it with `detect_leaks { allow … }`; docs/guides/leaks.md".into(),
        ),
        places: leak.places(),
    });
}

/// Reports how the responses of a page depend on other requests; returns whether they do not.
fn report_differences(
    run: &Run<'_>,
    target: &Target,
    differences: &Differences,
    report: &mut Report,
) -> bool {
    let mut is_clean = true;
    let mut add = |what: &str, difference: String, advice: &str| {
        is_clean = false;
        let difference = hide_values(run.headers, &difference);
        let text = format!("{} depends on {what}: {difference}", target.url);
        report.error(Area::Leaks, text, advice);
    };
    if let Some(difference) = differences.after.text() {
        add(
            "the requests that were served before",
            difference,
            "look for state of a request in static properties, globals and services of the boot",
        );
    }
    if let Some(difference) = differences.by_order.iter().find_map(Difference::text) {
        add(
            "which page a new worker serves first",
            difference,
            "look for values of a request that are set once, such as `self::$user ??= …`, or set by one page and shown by another",
        );
    }
    is_clean
}

/// Reports responses that do not have the page; returns whether all have it.
fn report_status(run: &Run<'_>, target: &Target, page: &Page, report: &mut Report) -> bool {
    let Some(failure) = status::failure(page) else {
        return true;
    };
    let text = hide_values(run.headers, &failure.text);
    report.findings.push(Finding {
        area: Area::Leaks,
        level: failure.level,
        text: format!("{} {text}", target.url),
        advice: Some(failure.advice.into()),
        places: Vec::new(),
    });
    false
}
