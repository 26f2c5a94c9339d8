//! Compares the connections that PHP may open to a database with the number that it permits. The database is queried
//! through PHP, which has its drivers.

use howdah_config::model::Config;
use howdah_pool::Mode;
use serde::Deserialize;

use super::php::Php;
use super::report::{Area, Report};
use crate::php::pools;

/// The variable that passes the DSN to the script: every user of the machine can read arguments.
const VARIABLE: &str = "HOWDAH_DOCTOR_DSN";
/// `--dsn env:NAME` reads it from that variable.
const FROM_ENVIRONMENT: &str = "env:";

/// The report of `database.php`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Answer {
    Error {
        error: String,
        /// The DSN is valid, and the database did not respond or refused.
        is_refusal: bool,
    },
    Limits(Limits),
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Limits {
    max: u64,
    /// The part that is reserved for administrators.
    reserved: u64,
    /// The limit of this user; 0: no limit.
    user_max: u64,
    /// Used by other clients at the moment.
    used: u64,
}

impl Limits {
    /// Connections that this user may have.
    fn available(&self) -> u64 {
        let all = self.max.saturating_sub(self.reserved);
        match self.user_max {
            0 => all,
            own => own.min(all),
        }
    }
}

/// Connections of all PHP processes, if each request in PHP has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Budget {
    /// While one generation of workers runs.
    serving: u64,
    /// During a reload, with two generations.
    reloading: u64,
}

impl Budget {
    fn of(config: &Config) -> Self {
        let of_pool = |pool: &howdah_pool::PoolOptions| {
            let requests = match &pool.mode {
                Mode::Worker(worker) => u64::from(worker.options.concurrency),
                Mode::Classic => 1,
            };
            pool.workers_max as u64 * requests
        };
        let serving = pools::sizes(config).iter().map(of_pool).sum();
        Self {
            serving,
            reloading: serving * 2,
        }
    }
}

pub(super) fn check(php: &Php, config: &Config, dsn: &str, report: &mut Report) {
    let dsn = match dsn.strip_prefix(FROM_ENVIRONMENT) {
        None => dsn.to_owned(),
        Some(name) => match std::env::var(name) {
            Ok(dsn) => dsn,
            Err(_) => {
                return report.error(
                    Area::Database,
                    format!("the environment has no {name}"),
                    "export it, or name the DSN with --dsn",
                );
            }
        },
    };
    let kind = kind_of(&dsn);
    let script = include_str!("database.php");
    match php.ask_with(script, &[], &[(VARIABLE, &dsn)]) {
        Ok(Answer::Limits(limits)) => compare(kind, limits, Budget::of(config), report),
        Ok(Answer::Error {
            error,
            is_refusal: true,
        }) => report.error(
            Area::Database,
            format!("{kind}: {error}"),
            "check that the database runs, that address, user and password are right, and that it accepts them from this machine",
        ),
        Ok(Answer::Error { error, .. }) => report.error(
            Area::Database,
            format!("{kind}: {error}"),
            "install the PDO driver for the server's PHP, or give a DSN of PDO such as pgsql:host=db;dbname=shop;user=shop;password=…, or mysql://user:password@host/name",
        ),
        Err(error) => report.error(
            Area::Database,
            format!("{kind}: {error}"),
            "install the PDO driver of the database for the server's PHP",
        ),
    }
}

/// The driver. The rest is never shown, since it contains the password.
fn kind_of(dsn: &str) -> &str {
    let is_word = |text: &&str| {
        let mut bytes = text.bytes();
        !text.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-_".contains(&byte))
    };
    let kind = dsn.split_once(':').map(|(kind, _)| kind);
    kind.filter(is_word).unwrap_or("the DSN")
}

fn compare(kind: &str, limits: Limits, budget: Budget, report: &mut Report) {
    let area = Area::Database;
    let available = limits.available();
    let Budget { serving, reloading } = budget;
    let used = limits.used;
    let advice = format!(
        "fewer workers or less concurrency, howdah.pool_size below concurrency, max_connections of the database above \
         {}, or a proxy for connections",
        reloading + used
    );
    if serving > available {
        report.error(
            area,
            format!("{kind}: PHP may open {serving} connections, one for each request in PHP, and {available} are permitted"),
            advice,
        );
    } else if serving + used > available {
        report.warning(
            area,
            format!("{kind}: PHP may open {serving} connections and others have {used}, and {available} are permitted"),
            advice,
        );
    } else if reloading + used > available {
        report.warning(
            area,
            format!("{kind}: during a reload PHP may open {reloading} connections, and {available} are permitted, of which others have {used}"),
            advice,
        );
    } else {
        report.ok(
            area,
            format!("{kind}: {serving} connections of PHP, {reloading} during a reload, of {available} that are permitted"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Level;
    use super::*;

    fn level(serving: u64, used: u64, user_max: u64) -> Level {
        let mut report = Report::default();
        let limits = Limits {
            max: 103,
            reserved: 3,
            user_max,
            used,
        };
        let budget = Budget {
            serving,
            reloading: serving * 2,
        };
        compare("pgsql", limits, budget, &mut report);
        report.worst(None)
    }

    #[test]
    fn connections_are_compared_with_the_limit() {
        assert_eq!(level(50, 0, 0), Level::Ok);
        assert_eq!(level(50, 1, 0), Level::Warning, "during a reload");
        assert_eq!(level(100, 0, 0), Level::Warning);
        assert_eq!(level(101, 0, 0), Level::Error);
        assert_eq!(level(20, 0, 10), Level::Error, "the user's own limit");
    }

    #[test]
    fn each_request_of_a_concurrent_worker_has_a_connection() {
        let budget = |concurrency: &str| {
            let text = format!(
                "{{\nfrankenphp {{\nworker {{\nfile w.php\nnum 2\n{concurrency}\n}}\n}}\n}}\n"
            );
            let path = std::path::Path::new("Caddyfile");
            let parsed = howdah_config::load_text(
                &text,
                path,
                &howdah_config::NoFiles,
                howdah_config::Strictness::Strict,
            );
            Budget::of(&parsed.expect("valid").config)
        };
        let (plain, concurrent) = (budget(""), budget("concurrency 10"));
        assert_eq!(concurrent.serving - plain.serving, 18);
        assert_eq!(plain.reloading, plain.serving * 2);
    }
}
