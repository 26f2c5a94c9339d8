//! `log` of a site.

use std::time::Duration;

use crate::common::{config, errors, full, handler};
use howdah_config::model::{
    AccessLog, CrashReports, DurationFormat, Edit, Filter, Handler, LogFile, LogFormat, LogOutput,
    Part, Placeholder, Roll, Template, TimeFormat,
};

fn log(lines: &str) -> AccessLog {
    let mut config = config(&format!(":80 {{\nlog {{\n{lines}\n}}\n}}"));
    config.sites[0].access_logs.remove(0)
}

fn filters(lines: &str) -> Vec<(String, Filter)> {
    let filters = log(&format!("format filter {{\n{lines}\n}}"))
        .format
        .filters;
    filters
        .into_iter()
        .map(|(path, filter)| (path.join(">"), filter))
        .collect()
}

#[track_caller]
fn refused(lines: &str, expected: &str) {
    let text = format!(":80 {{\nlog {{\n{lines}\n}}\n}}");
    let found = errors(&text);
    assert!(
        found.iter().any(|error| error.contains(expected)),
        "{found:?}"
    );
}

#[test]
fn outputs() {
    assert_eq!(log("output stdout").output, LogOutput::Stdout);
    assert_eq!(log("output discard").output, LogOutput::Discard);
    let file = |path: &str| LogFile {
        path: path.into(),
        mode: 0o600,
        roll: Some(Roll::default()),
    };
    assert_eq!(
        log("output file a.log").output,
        LogOutput::File(file("a.log"))
    );
    let rolled = "output file /var/log/a.log {\nmode 640\nroll_size 1MiB\nroll_keep 2\nroll_keep_for 720h\nroll_uncompressed\n}";
    assert_eq!(
        log(rolled).output,
        LogOutput::File(LogFile {
            mode: 0o640,
            roll: Some(Roll {
                size: 1 << 20,
                keep: 2,
                keep_for: Duration::from_secs(30 * 86_400),
                gzip: false,
            }),
            ..file("/var/log/a.log")
        })
    );
    let never = "output file a {\nroll_disabled\n}";
    assert!(matches!(
        log(never).output,
        LogOutput::File(LogFile { roll: None, .. })
    ));
    refused("output file", "`output file` takes one path");
    refused("output file a/", "`a/` is not the path of a file");
    refused("output file {host}.log", "cannot contain a placeholder");
    refused(
        "output file a {\nmode 999\n}",
        "`999` are not valid permissions",
    );
    refused(
        "output file a {\nroll_kep 3\n}",
        "did you mean `roll_keep`?",
    );
    refused("output net localhost:1", "`net` is not supported");
    refused("output stdout {\nmode 600\n}", "takes no block");
}

#[test]
fn formats() {
    let format = log("format json {\ntime_format iso8601\nduration_format ms\n}").format;
    assert_eq!(format.encoding, Some(LogFormat::Json));
    assert_eq!(format.time, Some(TimeFormat::Iso8601));
    assert_eq!(format.duration, DurationFormat::Millis);
    let wrapped = "format filter {\nwrap console {\ntime_format wall\n}\nstatus delete\n}";
    let format = log(wrapped).format;
    assert_eq!(format.encoding, Some(LogFormat::Console));
    assert_eq!(format.time, Some(TimeFormat::Wall));
    let format = log("format json {\ntime_format \"2006-01-02 15:04\"\n}").format;
    assert!(matches!(format.time, Some(TimeFormat::Layout(_))));
    refused(
        "format json {\ntime_format iso8061\n}",
        "did you mean `iso8601`?",
    );
    refused("format json {\ntime_local\n}", "times are in UTC");
}

#[test]
fn filters_stand_bare_or_in_fields() {
    let expected = [
        ("request>uri".to_owned(), Filter::Delete),
        ("status".to_owned(), Filter::Replace("x".into())),
    ];
    assert_eq!(filters("uri delete\nstatus replace x"), expected);
    assert_eq!(
        filters("fields {\nrequest>uri delete\nstatus replace x\n}"),
        expected
    );
    let edits = vec![
        Edit::Replace("a".into(), "b".into()),
        Edit::Delete("c".into()),
        Edit::Hash("d".into()),
    ];
    let block = "{\nreplace a b\ndelete c\nhash d\n}";
    let table = [
        (format!("uri query {block}"), Filter::Query(edits.clone())),
        (
            format!("request>headers>Cookie cookie {block}"),
            Filter::Cookie(edits),
        ),
        ("uri hash".to_owned(), Filter::Hash),
        ("uri rename u".to_owned(), Filter::Rename("u".into())),
        ("remote_ip ip_mask 16 32".to_owned(), Filter::IpMask(16, 32)),
        ("remote_ip ip_mask 16".to_owned(), Filter::IpMask(16, 128)),
        (
            "remote_ip ip_mask {\nipv6 48\n}".to_owned(),
            Filter::IpMask(32, 48),
        ),
        (
            "uri regexp a+ $0".to_owned(),
            Filter::Regexp("a+".into(), "$0".into()),
        ),
    ];
    for (line, expected) in table {
        assert_eq!(filters(&line)[0].1, expected, "{line}");
    }
    for (line, expected) in [
        ("uri", "the field `uri` has no filter"),
        ("uri delet", "did you mean `delete`?"),
        ("uri replace", "write `FIELD replace TEXT`"),
        ("uri ip_mask 33", "write `FIELD ip_mask"),
        ("uri ip_mask", "write `FIELD ip_mask"),
        ("uri regexp ( x", "`(` is not a regular expression"),
        (
            "uri query {\nrename a b\n}",
            "`rename` is not supported here",
        ),
    ] {
        refused(&format!("format filter {{\n{line}\n}}"), expected);
    }
}

#[test]
fn the_servers_own_log_has_the_outputs_of_a_site() {
    let global = |output: &str| config(&format!("{{\nlog {{\n{output}\n}}\n}}\n:80 {{\nlog\n}}"));
    let own = global("output stdout");
    assert_eq!(own.global.log.output, LogOutput::Stdout);
    // Requests of a site whose `log` has no options belong to it.
    assert_eq!(own.sites[0].access_logs[0].output, LogOutput::Stdout);
    assert_eq!(global("level INFO").global.log.output, LogOutput::Stderr);
    let file = global("output file own.log {\nmode 640\n}")
        .global
        .log
        .output;
    let LogOutput::File(file) = file else {
        panic!("{file:?}");
    };
    assert_eq!((file.path.to_str(), file.mode), (Some("own.log"), 0o640));
    let refused = errors("{\nlog {\noutput net localhost:1\n}\n}\n:80");
    assert!(refused[0].contains("`net` is not supported"), "{refused:?}");
}

#[test]
fn the_global_format_holds_for_sites_without_their_own() {
    let global = "{\nlog {\nformat filter {\nwrap console\nuri delete\n}\n}\n}\n";
    let config = config(&format!(
        "{global}:80 {{\nlog\nlog own {{\nformat json\n}}\n}}"
    ));
    assert_eq!(config.global.log.format, Some(LogFormat::Console));
    let logs = &config.sites[0].access_logs;
    assert_eq!(logs[0].format.encoding, Some(LogFormat::Console));
    assert_eq!(logs[0].format.filters.len(), 1);
    assert_eq!(logs[1].format.encoding, Some(LogFormat::Json));
    assert!(logs[1].format.filters.is_empty());
}

#[test]
fn several_logs_have_names() {
    let config = config(":80 {\nlog\nlog b {\nhostnames B.example c.example\n}\n}");
    let logs = &config.sites[0].access_logs;
    assert_eq!(
        (logs[0].name.as_deref(), logs[1].name.as_deref()),
        (None, Some("b"))
    );
    assert_eq!(logs[1].hostnames, ["b.example", "c.example"]);
    refused("hostnames *.example.com", "`*.example.com` is not a host");
    let twice = errors(":80 {\nlog a\nlog a\n}");
    assert!(twice[0].contains("have the same name"), "{twice:?}");
}

/// Outputs and loggers of the access logs of the first site.
fn access(global: &str, site: &str) -> Vec<(LogOutput, String)> {
    let config = config(&format!("{{\n{global}\n}}\n:80 {{\n{site}\n}}"));
    let logs = config.sites[0].access_logs.iter();
    logs.filter(|log| log.output != LogOutput::Discard)
        .map(|log| (log.output.clone(), log.logger()))
        .collect()
}

#[test]
fn global_logs_have_requests_of_the_loggers_that_they_include() {
    use LogOutput::{Stderr, Stdout};
    let own = |output: LogOutput, name: &str| (output, format!("http.log.access{name}"));
    let all = "log all {\noutput stdout\n}";
    assert_eq!(
        access(all, "log\nlog shop"),
        [
            own(Stderr, ""),
            own(Stdout, ""),
            own(Stderr, ".shop"),
            own(Stdout, ".shop")
        ]
    );
    // What another log includes is not in the default one, but in one with its own output.
    let shop = "log shop {\noutput stdout\ninclude http.log.access.shop\n}";
    assert_eq!(
        access(shop, "log\nlog shop {\nhostnames a.example\n}"),
        [own(Stderr, ""), own(Stdout, ".shop")]
    );
    let own_output = "log shop {\noutput stderr\n}";
    assert_eq!(
        access(shop, own_output),
        [own(Stderr, ".shop"), own(Stdout, ".shop")]
    );
    // The longer name decides.
    let most = "log most {\noutput stdout\ninclude http.log\nexclude http.log.access.shop\n}";
    assert_eq!(
        access(
            most,
            "log shop {\noutput stderr\n}\nlog shops {\noutput stderr\n}"
        ),
        [
            own(Stderr, ".shop"),
            own(Stderr, ".shops"),
            own(Stdout, ".shops")
        ]
    );
    assert_eq!(access("log {\nexclude http.log.access\n}", "log"), []);
    assert_eq!(access(all, "respond x"), []);
}

#[test]
fn global_logs_have_names_levels_and_formats() {
    let text = "{\nlog default {\nlevel ERROR\n}\nlog a {\nlevel WARN\nformat console {\ntime_format wall\n}\n\
                exclude tls howdah::php\n}\nlog b {\ninclude admin.api\n}\n}\n:80 {\nlog\n}";
    let config = config(text);
    let global = &config.global;
    let names: Vec<_> = global.named_logs.iter().map(|log| &*log.name).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(global.log.loggers.exclude, ["admin.api"]);
    let a = &global.named_logs[0];
    assert_eq!(a.options.loggers.exclude, ["tls", "howdah.php"]);
    assert_eq!(a.options.format, Some(LogFormat::Console));
    let logs = &config.sites[0].access_logs;
    assert_eq!(logs.len(), 2);
    assert!(logs[0].errors_only && logs[1].errors_only);
    assert_eq!(logs[1].format.time, Some(TimeFormat::Wall));
    let names = global.log_outputs().count();
    assert_eq!(names, 3);
    for (lines, expected) in [
        (
            "log\nlog default",
            "the global log `default` is given twice",
        ),
        ("log a\nlog a", "the global log `a` is given twice"),
        ("log a {\ninclude\n}", "`include` takes at least 1 argument"),
    ] {
        let found = errors(&format!("{{\n{lines}\n}}\n:80"));
        assert!(found[0].contains(expected), "{found:?}");
    }
    let text = "{\nlog {\nexclude http.matchers.x http.log tls.x\n}\n}\n:80 {\nlog\n}";
    let found = full(text).expect("valid").warnings;
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    let expected = "no logger has the name `http.matchers.x`, so it has no effect here";
    assert!(found[0].contains(expected), "{found:?}");
    assert_eq!(found.len(), 2, "{found:?}");
    refused(
        "include tls",
        "a `log` of the global options selects loggers",
    );
}

#[test]
fn directives_about_single_requests() {
    assert_eq!(handler("log_skip"), Handler::LogSkip);
    assert_eq!(handler("skip_log"), Handler::LogSkip);
    let host = Template {
        parts: vec![Part::Placeholder(Placeholder::Host)],
    };
    assert_eq!(
        handler("log_append h {host}"),
        Handler::LogAppend("h".into(), host)
    );
    assert!(errors(":80 {\nlog_append h\n}")[0].contains("takes 2 to 3"));
    assert!(errors(":80 {\nlog_append /a h\n}")[0].contains("takes a name and a value"));
}

#[test]
fn crash_reports() {
    let of = |text: &str| {
        config(&format!("{{\n{text}\n}}\n:80 {{\n}}"))
            .global
            .crash_reports
    };
    assert_eq!(of(""), CrashReports::default());
    assert!(of("").on);
    assert!(!of("crash_reports off").on);
    let limited = CrashReports {
        folder: Some("/var/crashes".into()),
        keep: 5,
        max_size: 1 << 20,
        ..CrashReports::default()
    };
    let text = "crash_reports /var/crashes {\nkeep 5\nmax_size 1MiB\n}";
    assert_eq!(of(text), limited);
    for (text, expected) in [
        ("crash_reports a b", "argument"),
        ("crash_reports off {\nkeep 1\n}", "takes no block"),
        ("crash_reports {\nkeep 0\n}", "not a whole number"),
        ("crash_reports {\nmax_size 0\n}", "cannot be zero"),
        ("crash_reports {http.request.uri}", "placeholder"),
    ] {
        let found = errors(&format!("{{\n{text}\n}}\n:80 {{\n}}"));
        assert!(
            found.iter().any(|error| error.contains(expected)),
            "{text}: {found:?}"
        );
    }
}
