//! How extensions behave when a worker runs several requests at the same time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::report::{Area, Report};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It shares nothing, or does not wait.
    Good,
    /// One object has a connection for each request.
    Pooled,
    /// One request uses a client at a time.
    Locked,
    /// Its calls block the whole process.
    Blocking,
    /// A profiler of the process: what it records belongs to all requests.
    Mixing,
    /// Not suitable for a worker with several requests.
    Unfit,
}

/// Extensions that are not listed are used by one request at a time, as a whole.
const KNOWN: &[(Kind, &[&str])] = &[
    (
        Kind::Good,
        &[
            "apcu",
            "ast",
            "bcmath",
            "bz2",
            "calendar",
            "cgi-fcgi",
            "cli",
            "core",
            "ctype",
            "date",
            "dom",
            "ds",
            "exif",
            "fileinfo",
            "filter",
            "gettext",
            "gmp",
            "hash",
            "howdah",
            "iconv",
            "igbinary",
            "intl",
            "json",
            "lexbor",
            "libxml",
            "mailparse",
            "mbstring",
            "mysqlnd",
            "opcache",
            "openssl",
            "pcntl",
            "pcre",
            "pdo",
            "phar",
            "posix",
            "protobuf",
            "random",
            "readline",
            "reflection",
            "session",
            "shmop",
            "simplexml",
            "sockets",
            "sodium",
            "spl",
            "standard",
            "sysvmsg",
            "sysvsem",
            "sysvshm",
            "tokenizer",
            "uri",
            "uuid",
            "xml",
            "xmlreader",
            "xmlwriter",
            "xsl",
            "yaml",
            "zend opcache",
            "zip",
            "zlib",
        ],
    ),
    (Kind::Pooled, &["pdo_mysql", "pdo_pgsql", "pdo_sqlite"]),
    (
        Kind::Locked,
        &[
            "curl",
            "ftp",
            "memcached",
            "msgpack",
            "mysqli",
            "pdo_dblib",
            "pdo_firebird",
            "pdo_oci",
            "pdo_odbc",
            "pdo_sqlsrv",
            "pgsql",
            "redis",
            "soap",
            "sqlite3",
        ],
    ),
    (
        Kind::Blocking,
        &["dba", "enchant", "ffi", "gd", "imagick", "pspell", "tidy"],
    ),
    (Kind::Mixing, &["excimer", "tideways_xhprof"]),
    (
        Kind::Unfit,
        &[
            "openswoole",
            "parallel",
            "pcov",
            "runkit7",
            "swoole",
            "uopz",
            "xdebug",
        ],
    ),
];

fn kind(name: &str) -> Option<Kind> {
    let mut known = KNOWN.iter();
    known.find_map(|(kind, names)| names.contains(&name).then_some(*kind))
}

pub(super) fn check(loaded: &BTreeMap<String, String>, report: &mut Report) {
    let area = Area::Coroutines;
    let of = |wanted: Option<Kind>| {
        let names = loaded.keys().filter(|name| kind(name) == wanted);
        let mut list = String::new();
        for name in names {
            let gap = if list.is_empty() { "" } else { ", " };
            let _ = write!(list, "{gap}{name}");
        }
        (!list.is_empty()).then_some(list)
    };
    let good = loaded.keys().filter(|name| kind(name) == Some(Kind::Good));
    report.ok(
        area,
        format!(
            "{} extensions never wait or have no shared state",
            good.count()
        ),
    );
    if let Some(names) = of(Some(Kind::Pooled)) {
        report.ok(area, format!("a connection for each request: {names}"));
    }
    if let Some(names) = of(Some(Kind::Locked)) {
        report.ok(
            area,
            format!("requests share these handles, one at a time: {names}"),
        );
    }
    if let Some(names) = of(Some(Kind::Blocking)) {
        report.ok(
            area,
            format!("these block other requests while in use: {names}"),
        );
    }
    if let Some(names) = of(None) {
        report.warning(
            area,
            format!("extensions unknown to Howdah, each used by one request at a time: {names}"),
            "fine if requests seldom use them; try them under load",
        );
    }
    if let Some(names) = of(Some(Kind::Mixing)) {
        report.warning(
            area,
            format!("profilers that mix the requests of a process: {names}"),
            "use `howdah profile`, or profile in a worker without `concurrency`",
        );
    }
    if let Some(names) = of(Some(Kind::Unfit)) {
        report.error(
            area,
            format!("extensions that take part in how PHP runs code: {names}"),
            "remove them from the ini files that the server reads",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Level;
    use super::*;

    #[test]
    fn it_knows_the_variables_of_the_worker() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../worker/src/database/clients_modules.c"
        );
        let source = std::fs::read_to_string(file).expect("the worker's list");
        let list = source.split_once("known[] = {").expect("its start").1;
        let list = list.split_once("};").expect("its end").0;
        let names: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
        assert!(names.len() > 50);
        for name in &names {
            assert!(kind(name).is_some(), "{name} is not known here");
        }
        for (kind, here) in KNOWN
            .iter()
            .filter(|(kind, _)| !matches!(kind, Kind::Mixing | Kind::Unfit))
        {
            for name in here.iter().filter(|name| **name != "zend opcache") {
                assert!(names.contains(name), "{name} ({kind:?}) is not known there");
            }
        }
    }

    #[test]
    fn the_unknown_is_a_warning_and_a_debugger_an_error() {
        let loaded = |names: &[&str]| {
            names
                .iter()
                .map(|name| ((*name).into(), "1".into()))
                .collect()
        };
        let mut report = Report::default();
        check(&loaded(&["core", "pdo_pgsql", "redis", "gd"]), &mut report);
        assert_eq!(report.worst(None), Level::Ok);
        assert!(
            report
                .findings
                .iter()
                .any(|f| f.text.ends_with("time: redis"))
        );
        check(&loaded(&["rdkafka"]), &mut report);
        assert_eq!(report.worst(None), Level::Warning);
        check(&loaded(&["excimer", "tideways_xhprof"]), &mut report);
        assert!(report.findings.iter().any(|finding| {
            finding.level == Level::Warning
                && finding
                    .text
                    .ends_with("mix the requests of a process: excimer, tideways_xhprof")
        }));
        check(&loaded(&["xdebug"]), &mut report);
        assert_eq!(report.worst(None), Level::Error);
    }
}
