//! `howdah doctor --leaks`: requests the same pages in different orders from a server that it starts with
//! `--detect-leaks`, and compares the responses. The server reports state that a request leaves behind; responses that
//! depend on previous requests show it too. Two more servers, one with the pages in reverse order, show state that the
//! first request sets for good.

mod compare;
mod server;

use std::io;
use std::path::{Path, PathBuf};

use howdah_config::model::Config;

use self::compare::{NewServers, Page, Visits};
use self::server::{Leak, Response, Target, TestServer};
use super::report::{Area, Finding, Level, Report};
use crate::php_executable::executables;

/// Requests of each page at the first server: the first warms up, the second receives what other pages left behind, the
/// third and fourth show what always differs, the last comes after other pages.
const ROUNDS: usize = 5;
/// Requests of each page at each of the two further servers, if there are several pages.
const ROUNDS_NEW_SERVER: usize = 2;

/// Why the check was not possible.
#[derive(Debug, thiserror::Error)]
enum LeakCheckError {
    #[error("there is no worker script: leaks are left in worker mode only")]
    NoWorker,
    #[error("{0} is not a path such as /cart or a URL such as http://localhost/cart")]
    Url(String),
    #[error("the server does not start: {0}")]
    Start(String),
    #[error("{url}: {error}")]
    Request { url: String, error: io::Error },
}

impl LeakCheckError {
    fn advice(&self) -> &'static str {
        match self {
            Self::NoWorker => "name the worker script with --worker or --config",
            Self::Url(_) => "give paths that begin with /, or whole URLs",
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
pub(super) fn check(config: &Config, root: Option<&Path>, urls: &[String], report: &mut Report) {
    let result = targets(urls).and_then(|targets| {
        if config.workers.is_empty() {
            return Err(LeakCheckError::NoWorker);
        }
        let php = executables(config).split_off(1 + config.pools.len());
        for (pool, php) in config.workers.iter().zip(php) {
            let options = server::Options {
                script: PathBuf::from(&pool.file),
                root: root.map(Path::to_owned),
                php,
                ini: config.global.php.ini.all(),
                env: pool.options.env.clone(),
            };
            check_worker(&options, &targets, report)?;
        }
        Ok(())
    });
    if let Err(error) = result {
        report.error(Area::Leaks, error.to_string(), error.advice());
    }
}

fn targets(urls: &[String]) -> Result<Vec<Target>, LeakCheckError> {
    let parse = |url: &String| Target::parse(url).ok_or_else(|| LeakCheckError::Url(url.clone()));
    urls.iter().map(parse).collect()
}

fn check_worker(
    options: &server::Options,
    targets: &[Target],
    report: &mut Report,
) -> Result<(), LeakCheckError> {
    let (leaks, pages) = request_pages(options, targets)?;
    for leak in &leaks {
        report_leak(leak, report);
    }
    let mut problems = leaks.len();
    for (target, page) in targets.iter().zip(&pages) {
        problems += report_page(target, page, report);
    }
    if problems == 0 {
        let several = targets.len() > 1;
        let rounds = ROUNDS + if several { 2 * ROUNDS_NEW_SERVER } else { 0 };
        report.ok(
            Area::Leaks,
            format!(
                "{}: {} requests of {} in different orders left nothing behind, and got the same responses",
                options.script.display(),
                targets.len() * rounds,
                if several { format!("{} pages", targets.len()) } else { "one page".into() }
            ),
        );
    }
    Ok(())
}

/// Requests the pages in different orders; returns the reported leaks and the responses.
fn request_pages(
    options: &server::Options,
    targets: &[Target],
) -> Result<(Vec<Leak>, Vec<Page>), LeakCheckError> {
    let mut server = start(options)?;
    let mut pages: Vec<Page> = targets.iter().map(|_| Page::default()).collect();
    let send = |page: usize| request(&server, &targets[page]);
    for (page, seen) in pages.iter_mut().enumerate() {
        seen.first = send(page)?;
    }
    for (page, seen) in pages.iter_mut().enumerate() {
        send(page)?;
        seen.before = [send(page)?, send(page)?];
    }
    for page in (0..pages.len()).rev() {
        pages[page].after = send(page)?;
    }
    // The leaks of a request are reported when its worker claims the next one.
    send(0)?;
    let leaks = server.stop();
    if targets.len() > 1 {
        restart(options, targets, &mut pages)?;
    }
    Ok((leaks, pages))
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

/// Reports how the responses of a page depend on other requests; returns the number of such problems.
fn report_page(target: &Target, page: &Page, report: &mut Report) -> usize {
    let mut problems = 0;
    if let Some(difference) = page.difference() {
        problems += 1;
        report.error(
            Area::Leaks,
            format!(
                "{} depends on the requests that were served before: {difference}",
                target.url
            ),
            "look for state of a request in static properties, globals and services of the boot",
        );
    }
    if let Some(difference) = page.difference_by_order() {
        problems += 1;
        report.error(
            Area::Leaks,
            format!(
                "{} depends on which page a new worker serves first: {difference}",
                target.url
            ),
            "look for values of a request that are set once, such as `self::$user ??= …`, or set by one page and shown by another",
        );
    }
    if page.after.status >= 500 {
        report.warning(
            Area::Leaks,
            format!("{} has status {}", target.url, page.after.status),
            "a page that fails shows few leaks: see the log of the application",
        );
    }
    problems
}

fn start(options: &server::Options) -> Result<TestServer, LeakCheckError> {
    TestServer::start(options).map_err(|error| LeakCheckError::Start(error.to_string()))
}

fn request(server: &TestServer, target: &Target) -> Result<Response, LeakCheckError> {
    server.get(target).map_err(|error| LeakCheckError::Request {
        url: target.url.clone(),
        error,
    })
}

/// Requests the pages from two new servers, in reverse order and in the same order as before.
fn restart(
    options: &server::Options,
    targets: &[Target],
    pages: &mut [Page],
) -> Result<(), LeakCheckError> {
    let in_order = |order: Vec<usize>| -> Result<Vec<Visits>, LeakCheckError> {
        let mut visits: Vec<Visits> = targets.iter().map(|_| Visits::default()).collect();
        let server = start(options)?;
        for &page in &order {
            visits[page].first = request(&server, &targets[page])?;
        }
        for &page in &order {
            visits[page].last = request(&server, &targets[page])?;
        }
        Ok(visits)
    };
    let reverse = in_order((0..targets.len()).rev().collect())?;
    // Last: data that the pages have created by then is in this one too.
    let same = in_order((0..targets.len()).collect())?;
    for ((page, reverse_order), same_order) in pages.iter_mut().zip(reverse).zip(same) {
        page.new_servers = Some(NewServers {
            same_order,
            reverse_order,
        });
    }
    Ok(())
}
