//! The page, and that it contains what the dashboard queries.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use http::Method;

use super::{
    CertificateTimes, Connections, FRONT, HubCounts, Measures, OPENMETRICS, PLAIN, Page, Phase,
    Pool, Preload, Process, RouteObservation, Worker, WorkerState, for_client,
};
use crate::trace::{TraceContext, TraceId};

/// A page on which everything has a value.
fn page() -> Page {
    let of_micros = Duration::from_micros;
    let measures = Measures::new(2, 2);
    let shard = measures.shard(0);
    shard.request(Some(1), &Method::GET, 200, (0, 12), of_micros(700));
    shard.request(Some(1), &Method::GET, 204, (0, 0), of_micros(1500));
    measures
        .shard(1)
        .request(Some(1), &Method::GET, 201, (5, 1), of_micros(100));
    shard.request(None, &Method::POST, 0, (7, 0), of_micros(1));
    let purge = Method::from_bytes(b"PURGE").expect("a method");
    shard.request(Some(0), &purge, 503, (0, 0), of_micros(1));
    for (phase, micros) in [
        (Phase::Queue, 100),
        (Phase::Php, 500),
        (Phase::Send, 60_000_000),
    ] {
        shard.phase(Some(1), phase, of_micros(micros));
    }
    measures
        .shard(1)
        .phase(Some(1), Phase::Php, Duration::from_nanos(500_001));
    let worker = |place, state| Worker {
        place,
        state,
        memory: 2048,
        longest_hold: (place > 0).then_some(Duration::from_millis(279)),
    };
    let app = Pool {
        name: "a\"b\nc".into(),
        worker_script: true,
        workers: vec![
            worker(0, WorkerState::Ready),
            worker(1, WorkerState::Busy),
            worker(2, WorkerState::Booting),
        ],
        wanted: 3,
        sequential: 2,
        sequential_cause: Some("a \"cause\"".into()),
        crashes: vec![("GET /bad".into(), 21), ("(other)".into(), 22)],
        quarantined: 1,
        queue: 4,
        waiters: 1,
        in_flight: 5,
        slots: 8,
        started: 9,
        ended: vec![("crashed", 1), ("fatal", 2), ("recycled", 5)],
        boots_failed: 1,
        reloads: (2, 1),
        segments_replaced: 1,
        refused: vec![("queue_full", 6)],
        abandoned: vec![("kept", 7), ("dropped", 8)],
        spooled: 13,
        leaks: 18,
        exits: vec![(("kept", "exit"), 3), (("replaced", "lost"), 1)],
        preload: Some(Preload {
            files: 14,
            classes: 15,
            memory: 16,
            left_out: vec![("function", 17)],
        }),
    };
    Page {
        config: super::ConfigReloads {
            last_successful: false,
            last_success: 1_700_000_000,
        },
        version: "1.2.3".into(),
        php: "8.2.35".into(),
        counted: vec!["php".into(), "a\"b\nc".into()],
        pools: vec![
            Pool {
                name: "php".into(),
                queue: 11,
                ..Pool::default()
            },
            app,
        ],
        connections: Connections {
            open: [3, 1, 0],
            accepted: [30, 10, 0],
        },
        handshakes: [4, 50, 6],
        certificates: vec![(
            "*.a.test".into(),
            CertificateTimes {
                until: 1_800_000_000,
                renewal_deadline: 1_799_000_000,
            },
        )],
        in_flight: 2,
        upstreams: vec![("10.0.0.1:80".into(), true), ("10.0.0.2:80".into(), false)],
        measures: Some(Arc::new(measures)),
        log_lines_lost: 4,
        spans_lost: 3,
        hubs: vec![HubCounts {
            subscribers: 2,
            accepted: 5,
            updates: 7,
            dropped: 1,
        }],
        root_restarts: 1,
        opcache: Some(super::OpcacheCounts {
            memory: [1, 2, 3],
            hits: 7,
            restarts: [0, 1, 0],
            ..super::OpcacheCounts::default()
        }),
        process: Process::read(),
    }
}

#[track_caller]
fn has(text: &str, line: &str) {
    assert!(text.lines().any(|own| own == line), "no {line} in\n{text}");
}

#[test]
fn requests_are_added_up_over_the_threads() {
    let text = page().render();
    let pool = r#"a\"b\nc"#;
    has(
        &text,
        &format!(r#"howdah_http_requests_total{{pool="{pool}",method="GET",status="2xx"}} 3"#),
    );
    has(
        &text,
        r#"howdah_http_requests_total{pool="php",method="other",status="5xx"} 1"#,
    );
    has(
        &text,
        &format!(r#"howdah_http_requests_total{{pool="{FRONT}",method="POST",status="4xx"}} 1"#),
    );
    has(&text, "howdah_http_request_body_bytes_total 12");
    has(&text, "howdah_http_response_body_bytes_total 13");
    has(&text, r#"howdah_http_connections{protocol="http/1.1"} 3"#);
    has(
        &text,
        r#"howdah_http_connections_accepted_total{protocol="h2"} 10"#,
    );
    assert!(!text.contains("status=\"3xx\""), "a row of zeros:\n{text}");
}

#[test]
fn buckets_are_cumulative_and_bounds_belong_to_them() {
    let text = page().render();
    let bucket = |phase: &str, bound: &str, count: u32| {
        let labels = format!(r#"le="{bound}",pool="a\"b\nc",phase="{phase}""#);
        let line = format!("howdah_php_phase_duration_seconds_bucket{{{labels}}} {count}");
        has(&text, &line);
    };
    bucket("php", "0.0005", 1);
    bucket("php", "0.001", 2);
    bucket("php", "+Inf", 2);
    bucket("send", "10.0", 0);
    bucket("send", "+Inf", 1);
    has(
        &text,
        r#"howdah_php_phase_duration_seconds_sum{pool="a\"b\nc",phase="send"} 60.0"#,
    );
    has(
        &text,
        r#"howdah_http_request_duration_seconds_count{pool="a\"b\nc",status="2xx"} 3"#,
    );
    has(
        &text,
        r#"howdah_http_request_duration_seconds_bucket{le="0.001",pool="a\"b\nc",status="2xx"} 2"#,
    );
    has(
        &text,
        r#"howdah_http_request_duration_seconds_count{pool="php",status="5xx"} 1"#,
    );
    let client_left = r#"{pool="(front)",status="4xx"} 1"#;
    has(
        &text,
        &format!("howdah_http_request_duration_seconds_count{client_left}"),
    );
}

#[test]
fn tls_is_shown_where_there_is_some() {
    let text = page().render();
    for (labels, count) in [
        (r#"version="1.2",result="done""#, 4),
        (r#"version="1.3",result="done""#, 50),
        (r#"version="unknown",result="failed""#, 6),
    ] {
        let line = format!("howdah_tls_handshakes_total{{{labels}}} {count}");
        has(&text, &line);
    }
    has(
        &text,
        r#"howdah_tls_certificate_expiry_timestamp_seconds{host="*.a.test"} 1800000000"#,
    );
    has(
        &text,
        r#"howdah_tls_certificate_renewal_deadline_timestamp_seconds{host="*.a.test"} 1799000000"#,
    );
    let plain = Page {
        handshakes: [0; 3],
        certificates: Vec::new(),
        ..page()
    };
    assert!(!plain.render().contains("howdah_tls_"));
}

#[test]
fn pools_are_shown_in_both_vocabularies() {
    let text = page().render();
    let pool = r#"a\"b\nc"#;
    has(
        &text,
        &format!(r#"howdah_php_workers{{pool="{pool}",state="busy"}} 1"#),
    );
    has(
        &text,
        &format!(r#"howdah_php_workers{{pool="{pool}",state="booting"}} 1"#),
    );
    has(
        &text,
        &format!(r#"howdah_php_worker_memory_bytes{{pool="{pool}",place="1"}} 2048"#),
    );
    let hold = format!(r#"howdah_php_longest_hold_seconds{{pool="{pool}",place="#);
    has(&text, &format!("{hold}\"1\"}} 0.279"));
    assert!(
        !text.contains(&format!("{hold}\"0\"")),
        "it has one request at a time"
    );
    has(
        &text,
        &format!(r#"howdah_php_workers_ended_total{{pool="{pool}",reason="fatal"}} 2"#),
    );
    has(
        &text,
        &format!(r#"howdah_php_requests_refused_total{{pool="{pool}",reason="queue_full"}} 6"#),
    );
    has(
        &text,
        &format!(r#"howdah_php_reloads_total{{pool="{pool}",result="failed"}} 1"#),
    );
    for line in [
        r#"howdah_php_crashes_total{pool="POOL",route="GET /bad"} 21"#,
        r#"howdah_php_crashes_total{pool="POOL",route="(other)"} 22"#,
        r#"howdah_php_quarantined_routes{pool="POOL"} 1"#,
        r#"howdah_php_concurrency_fallback_info{pool="POOL",cause="a \"cause\""} 1"#,
    ] {
        has(&text, &line.replace("POOL", pool));
    }
    assert!(!text.contains(r#"howdah_php_concurrency_fallback_info{pool="php""#));
    has(
        &text,
        &format!(r#"howdah_php_segments_replaced_total{{pool="{pool}"}} 1"#),
    );
    has(
        &text,
        &format!(r#"howdah_php_exits_total{{pool="{pool}",outcome="replaced",reason="lost"}} 1"#),
    );
    has(
        &text,
        &format!(r#"howdah_php_responses_spooled_total{{pool="{pool}"}} 13"#),
    );
    has(
        &text,
        &format!(r#"howdah_php_leaks_found_total{{pool="{pool}"}} 18"#),
    );
    has(
        &text,
        &format!(r#"howdah_php_requests_abandoned_total{{pool="{pool}",outcome="dropped"}} 8"#),
    );
    for (name, value) in [("files", 14), ("classes", 15), ("bytes", 16)] {
        has(
            &text,
            &format!(r#"howdah_php_preloaded_{name}{{pool="{pool}"}} {value}"#),
        );
    }
    has(
        &text,
        &format!(r#"howdah_php_preload_left_out_files{{pool="{pool}",reason="function"}} 17"#),
    );
    assert!(!text.contains(r#"howdah_php_preloaded_files{pool="php"}"#));
    has(&text, "frankenphp_total_threads 3");
    has(&text, "frankenphp_busy_threads 1");
    has(&text, "frankenphp_queue_depth 11");
    let worker = format!(r#"{{worker="{pool}"}}"#);
    for (name, value) in [
        ("total_workers", "3"),
        ("busy_workers", "1"),
        ("ready_workers", "2"),
        ("worker_crashes", "3"),
        ("worker_restarts", "5"),
        ("worker_queue_depth", "4"),
        ("worker_request_count", "2"),
        ("worker_request_time", "0.001000001"),
    ] {
        has(&text, &format!("frankenphp_{name}{worker} {value}"));
    }
    assert!(
        !text.contains(r#"worker="php""#),
        "the classic pool has no worker script"
    );
    has(
        &text,
        r#"howdah_build_info{version="1.2.3",php="8.2.35"} 1"#,
    );
    has(&text, "mercure_subscribers_connected{hub=\"0\"} 2");
    has(&text, "mercure_updates_total{hub=\"0\"} 7");
    assert!(text.contains("process_cpu_seconds_total "));
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn requests_are_shown_under_the_names_of_caddy() {
    let text = page().render();
    for line in [
        r#"caddy_http_requests_in_flight{server="howdah"} 2"#,
        r#"caddy_http_requests_total{server="howdah",method="GET",code="200"} 1"#,
        r#"caddy_http_requests_total{server="howdah",method="GET",code="204"} 1"#,
        r#"caddy_http_requests_total{server="howdah",method="POST",code="499"} 1"#,
        r#"caddy_http_requests_total{server="howdah",method="other",code="503"} 1"#,
        r#"caddy_http_request_duration_seconds_bucket{le="0.0005",server="howdah"} 3"#,
        r#"caddy_http_request_duration_seconds_bucket{le="+Inf",server="howdah"} 5"#,
        r#"caddy_http_request_duration_seconds_count{server="howdah"} 5"#,
        r#"caddy_http_request_duration_seconds_sum{server="howdah"} 0.002302"#,
        r#"caddy_http_response_size_bytes_bucket{le="+Inf",server="howdah"} 5"#,
        r#"caddy_http_response_size_bytes_sum{server="howdah"} 13.0"#,
        r#"caddy_http_response_size_bytes_count{server="howdah"} 5"#,
        r#"caddy_reverse_proxy_upstreams_healthy{upstream="10.0.0.1:80"} 1"#,
        r#"caddy_reverse_proxy_upstreams_healthy{upstream="10.0.0.2:80"} 0"#,
        "caddy_config_last_reload_successful 0",
        "caddy_config_last_reload_success_timestamp_seconds 1700000000",
    ] {
        has(&text, line);
    }
}

#[test]
fn without_counters_of_requests_the_rest_is_there() {
    let quiet = Page {
        measures: None,
        ..page()
    };
    let text = quiet.render();
    assert!(!text.contains("howdah_http_requests_total"));
    assert!(!text.contains("frankenphp_worker_request_count"));
    assert!(!text.contains("caddy_http_requests_total"));
    has(&text, "frankenphp_total_threads 3");
}

#[test]
fn the_format_is_what_the_client_reads() {
    let prometheus =
        "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
    let rendered = page().render();
    let (kind, text) = for_client(Some(prometheus), rendered.clone());
    assert_eq!((kind, &text), (OPENMETRICS, &rendered));
    for accept in [Some("text/plain"), None] {
        let (kind, text) = for_client(accept, rendered.clone());
        assert_eq!(kind, PLAIN);
        let families = strict(&text);
        let kind = |name: &str| families.get(name).map(|(kind, _)| kind.as_str());
        assert_eq!(kind("howdah_http_requests_total"), Some("counter"));
        assert_eq!(kind("process_cpu_seconds_total"), Some("counter"));
        assert_eq!(kind("howdah_http_connections"), Some("gauge"));
        assert_eq!(kind("howdah_php_phase_duration_seconds"), Some("histogram"));
        has(&text, "howdah_http_request_body_bytes_total 12");
        // Nothing is lost.
        let samples: usize = families.values().map(|(_, samples)| samples).sum();
        let rendered = rendered.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(samples, rendered.count());
    }
}

/// Families of the older text format with type and number of samples, parsed strictly by its specification: a family's
/// lines are adjacent, its help and type come first and once, and each sample belongs to it.
fn strict(text: &str) -> HashMap<String, (String, usize)> {
    let mut families: HashMap<String, (String, usize)> = HashMap::new();
    let (mut helped, mut current) = (HashSet::new(), String::new());
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (keyword, name) = (words.next(), words.next().expect("a name"));
            let rest = words.next().expect("a text");
            match keyword {
                Some("HELP") => assert!(helped.insert(name.to_owned()), "twice: {line}"),
                Some("TYPE") => {
                    assert!(["counter", "gauge", "histogram"].contains(&rest), "{line}");
                    assert!(helped.contains(name), "no help: {line}");
                    let twice = families.insert(name.to_owned(), (rest.to_owned(), 0));
                    assert_eq!(twice, None, "twice: {line}");
                    name.clone_into(&mut current);
                }
                _ => panic!("no comment of this format: {line}"),
            }
            continue;
        }
        let name = line.split(['{', ' ']).next().expect("a name");
        let (kind, samples) = families.get_mut(&current).expect("a type before samples");
        let own = match kind.as_str() {
            "histogram" => ["_bucket", "_sum", "_count"]
                .iter()
                .any(|part| name.strip_suffix(part) == Some(current.as_str())),
            _ => name == current,
        };
        assert!(own, "of another family than {current}: {line}");
        let value = line.rsplit_once(' ').expect("a value").1;
        assert!(value.parse::<f64>().is_ok(), "{line}");
        *samples += 1;
    }
    families
}

/// Names of metrics in an expression of a panel: words that start like ours.
fn names(expression: &str) -> Vec<&str> {
    let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words
        .filter(|word| {
            ["howdah_", "frankenphp_", "process_"]
                .iter()
                .any(|own| word.starts_with(own))
        })
        .collect()
}

#[test]
fn the_dashboard_requests_what_is_on_the_page() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/grafana/howdah.json"
    );
    let text = std::fs::read_to_string(file).expect("the dashboard");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let page = page().render();
    let known: Vec<&str> = page
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(['{', ' ']).next().unwrap_or_default())
        .collect();
    let mut expressions = 0;
    for panel in dashboard["panels"].as_array().expect("panels") {
        let Some(targets) = panel["targets"].as_array() else {
            continue;
        };
        for target in targets {
            let expression = target["expr"].as_str().expect("an expression");
            let queried = names(expression);
            assert!(!queried.is_empty(), "no metric in {expression}");
            for name in queried {
                assert!(
                    known.contains(&name),
                    "{name} of {expression} is not on the page"
                );
            }
            expressions += 1;
        }
    }
    for variable in dashboard["templating"]["list"]
        .as_array()
        .expect("variables")
    {
        for name in names(variable["query"].as_str().unwrap_or_default()) {
            assert!(
                known.contains(&name),
                "{name} of a variable is not on the page"
            );
        }
    }
    assert!(
        expressions >= 12,
        "only {expressions} expressions were found"
    );
}

fn observed(route: &str, status: u16, trace: Option<TraceContext>) -> RouteObservation<'_> {
    RouteObservation {
        route,
        status,
        time: Duration::from_millis(30),
        trace,
    }
}

fn route_page(measures: Measures) -> String {
    Page {
        measures: Some(Arc::new(measures)),
        ..Page::default()
    }
    .render()
}

#[test]
fn times_by_route_have_exemplars_which_the_older_format_lacks() {
    let measures = Measures::new(1, 1);
    let page = route_page(Measures::new(1, 1));
    assert!(
        !page.contains("howdah_http_route_duration_seconds"),
        "{page}"
    );
    let trace = TraceContext {
        trace: TraceId(0xabc),
        span: 7,
        parent: None,
        sampled: true,
    };
    measures
        .routes()
        .observe(&observed("GET /a#\"b", 200, Some(trace)));
    measures
        .routes()
        .observe(&observed("GET /a#\"b", 404, None));
    let page = route_page(measures);
    let of_route = |page: &str| -> Vec<String> {
        let lines = page.lines();
        lines
            .filter(|line| line.starts_with("howdah_http_route_duration_seconds"))
            .map(str::to_owned)
            .collect()
    };
    let lines = of_route(&page);
    let sample = "howdah_http_route_duration_seconds_bucket{le=\"0.05\",route=\"GET /a#\\\"b\"} 2";
    let exemplar = lines.iter().find(|line| line.starts_with(sample));
    let exemplar = exemplar.unwrap_or_else(|| panic!("no {sample} in {lines:#?}"));
    assert!(
        exemplar.contains(
            " # {trace_id=\"00000000000000000000000000000abc\",span_id=\"0000000000000007\"} 0.03"
        ),
        "{exemplar}"
    );
    let (media, plain) = for_client(None, page);
    assert_eq!(media, PLAIN);
    let plain = of_route(&plain);
    assert!(plain.contains(&sample.to_owned()), "{plain:#?}");
    assert!(!plain.iter().any(|line| line.contains("trace_id")));
}

#[test]
fn the_number_of_routes_is_limited_and_scanners_make_none() {
    let measures = Measures::new(1, 1);
    for status in [404, 403, 0] {
        measures
            .routes()
            .observe(&observed("GET /.env", status, None));
    }
    for number in 0..150 {
        let route = format!("GET /page-{number}");
        measures.routes().observe(&observed(&route, 200, None));
    }
    let page = route_page(measures);
    let counts: Vec<_> = page
        .lines()
        .filter(|line| line.starts_with("howdah_http_route_duration_seconds_count"))
        .collect();
    assert!(counts.len() <= 101, "{}", counts.len());
    assert!(!page.contains("/.env"), "{page}");
    let rest = counts.iter().find(|line| line.contains("(other)"));
    let rest = rest.and_then(|line| line.rsplit(' ').next()?.parse::<u32>().ok());
    let alone = counts.len() - 1;
    assert_eq!(rest, Some(153 - u32::try_from(alone).expect("few")));
}

#[test]
fn requests_are_counted_by_host_on_demand() {
    let page = page();
    let measures = page.measures.clone().expect("measures");
    assert!(measures.hosts().is_empty());
    let shard = measures.shard(0);
    shard.request_of("a.test", &Method::GET);
    shard.request_of("a.test", &Method::GET);
    measures.shard(1).request_of("a.test", &Method::GET);
    shard.request_of("b.test", &Method::POST);
    for number in 0..2000 {
        shard.request_of(&format!("{number}.test"), &Method::GET);
    }
    let text = page.render();
    let has = |line: &str| text.lines().any(|own| own == line);
    assert!(has(
        r#"caddy_http_requests_total{server="howdah",method="GET",host="a.test"} 3"#
    ));
    assert!(has(
        r#"caddy_http_requests_total{server="howdah",method="POST",host="b.test"} 1"#
    ));
    // Of the invented ones those that came first.
    assert!(has(
        r#"caddy_http_requests_total{server="howdah",method="GET",host="_other"} 1002"#
    ));
    assert!(!text.contains(r#"caddy_http_requests_total{server="howdah",method="GET",code="#));
}
