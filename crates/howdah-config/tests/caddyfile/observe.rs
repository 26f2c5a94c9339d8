//! `metrics`, `tracing` and `mercure`.

use std::time::Duration;

use crate::common::{config, errors, full, handler};
use howdah_config::model::{Handler, Matcher, Part, Placeholder, Template};

#[test]
fn metrics_count_if_they_are_used() {
    assert!(!config(":80 {\n}").global.metrics);
    assert!(config("{\nmetrics\n}\n:80 {\n}").global.metrics);
    let site = config(":80 {\nhandle /x {\nmetrics /metrics {\ndisable_openmetrics\n}\n}\n}");
    assert!(site.global.metrics, "a directive inside of another counts");
    assert_eq!(handler("metrics"), Handler::Metrics { openmetrics: true });
    assert_eq!(handler("readiness"), Handler::Readiness);
    let found = errors(":80 {\nreadiness /a b\n}");
    assert!(found[0].contains("readiness"), "{found:?}");
}

#[test]
fn traces() {
    assert!(!config(":80 {\n}").global.tracing);
    let traced = config(":80 {\ntracing /api/* {\nspan api\n}\n}");
    assert!(traced.global.tracing);
    let route = &traced.sites[0].routes[0];
    assert_eq!(route.matcher, Some(Matcher::Path(vec!["/api/*".into()])));
    assert_eq!(route.handler, Handler::Tracing(Template::text("api")));
    for (name, expected) in [
        ("http.vars.trace_id", Placeholder::TraceId),
        ("vars.span_id", Placeholder::SpanId),
    ] {
        let Handler::Respond { body, .. } = handler(&format!("respond {{{name}}}")) else {
            panic!("{name}")
        };
        assert_eq!(body.parts, [Part::Placeholder(expected)]);
    }
}

#[test]
fn costs_of_a_request_are_placeholders_of_its_response_only() {
    for directive in [
        "log_append cost {http.request.duration}",
        "header X-Cost {howdah.cpu_ms}",
        "header {\n?X-Cost {howdah.php_ms}\n}",
        "reverse_proxy a.test:80 {\nheader_down X-Cost {http.response.status}\n}",
    ] {
        config(&format!(":80 {{\n{directive}\n}}"));
    }
    for (directive, position, name) in [
        (
            "respond {http.request.duration}",
            "2:9",
            "http.request.duration",
        ),
        ("respond \"in {howdah.php_ms} ms\"", "2:9", "howdah.php_ms"),
        (
            "request_header X-Cost {howdah.cpu_ms}",
            "2:23",
            "howdah.cpu_ms",
        ),
        (
            "reverse_proxy a.test:80 {\nheader_up X-Cost {http.response.size}\n}",
            "3:18",
            "http.response.size",
        ),
        ("vars cost {howdah.queue_ms}", "2:11", "howdah.queue_ms"),
        (
            "rewrite /{http.response.status}",
            "2:9",
            "http.response.status",
        ),
    ] {
        let expected = format!(
            "Caddyfile:{position}: the placeholder `{{{name}}}` has no value before the response; \
             use it in `header`, `header_down` or `log_append`"
        );
        let found = errors(&format!(":80 {{\n{directive}\n}}"));
        assert_eq!(found, [expected], "{directive}");
    }
}

fn hub(lines: &str) -> howdah_config::model::Mercure {
    let text = format!(":80 {{\nmercure {{\npublisher_jwt k\nanonymous\n{lines}\n}}\n}}");
    config(&text).hubs.remove(0)
}

#[test]
fn hubs() {
    let default = hub("");
    assert_eq!(default.heartbeat, Some(Duration::from_secs(40)));
    assert_eq!(default.history, 1_000);
    assert_eq!(default.cookie, "mercureAuthorization");
    let own = hub(
        "subscriber_jwt {env.KEY} {env.ALG}\nsubscriptions\ncors_origins https://a http://b:1\n\
         publish_origins *\nheartbeat 0\nwrite_timeout 1h\ntransport local\ncookie_name c\n\
         protocol_version_compatibility 7",
    );
    let key = own.subscriber.expect("a key").key;
    assert_eq!(
        key.parts,
        [Part::Placeholder(Placeholder::Env("KEY".into()))]
    );
    assert_eq!(own.cors_origins, ["https://a", "http://b:1"]);
    assert_eq!((own.heartbeat, own.history), (None, 0));
    assert_eq!(own.write_timeout, Some(Duration::from_secs(3600)));
    assert!(own.version_7 && own.subscriptions);
}

#[test]
fn a_file_as_transport_is_a_warning() {
    for line in [
        "transport bolt {\npath x.db\nsize 5\n}",
        "transport_url bolt:///data/x.db?size=5",
    ] {
        let text = format!(":80 {{\nmercure {{\npublisher_jwt k\nanonymous\n{line}\n}}\n}}");
        let parsed = full(&text).expect("valid");
        assert_eq!(parsed.config.hubs[0].history, 5, "{line}");
        let warnings = parsed.warnings;
        assert_eq!(warnings.len(), 1, "{line}");
        assert!(warnings[0].message.contains("a restart discards them"));
    }
    assert_eq!(hub("transport_url local://local").history, 0);
}

#[test]
fn a_hub_without_publishers_serves_php_alone() {
    let config =
        full("localhost\nmercure {\nanonymous\n}\nroot public/\nphp_server {\nhot_reload\n}");
    let config = config.expect("valid").config;
    let [hub] = &config.hubs[..] else {
        panic!("one hub: {:?}", config.hubs)
    };
    assert!(hub.publisher.is_none() && hub.subscriber.is_none() && hub.anonymous);
    assert_eq!(config.hot_reloads[0].hub, 0);
}

#[test]
fn pages_of_a_hub_are_a_warning() {
    for name in ["demo", "ui", "debugger", "playground"] {
        let text = format!(":80 {{\nmercure {{\nanonymous\n{name}\n}}\n}}");
        let warnings = full(&text).expect("valid").warnings;
        let expected = format!("`{name}` has no effect: the hub has no built-in pages");
        let found: Vec<_> = warnings.into_iter().map(|one| one.message).collect();
        assert_eq!(found, [expected]);
    }
}

#[test]
fn invalid_hubs() {
    for (lines, expected) in [
        ("", "has neither"),
        (
            "publisher_jwt k",
            "has neither `subscriber_jwt` nor `anonymous`",
        ),
        (
            "publisher_jwt {host}\nanonymous",
            "a key cannot depend on the request",
        ),
        (
            "publisher_jwt k\nanonymous\ncors_origins a.example",
            "`a.example` is not an origin",
        ),
        (
            "publisher_jwt k\nanonymous\ntransport redis",
            "`redis` is not supported",
        ),
        (
            "publisher_jwt k\nanonymous\ntransport local\ntransport_url bolt://x",
            "given twice",
        ),
        (
            "publisher_jwks_url https://x",
            "`publisher_jwks_url` is not supported",
        ),
        ("publsher_jwt k", "did you mean `publisher_jwt`?"),
    ] {
        let found = errors(&format!(":80 {{\nmercure {{\n{lines}\n}}\n}}"));
        assert!(found[0].contains(expected), "{lines}: {found:?}");
    }
}
