//! Policies and health checks of upstreams.

use std::collections::BTreeSet;

use crate::support::front::{back, front};
use crate::support::upstream::{ConnectionAction, Upstream};
use crate::support::{closed_port, wait_until};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nstatus: ok";

fn answering(text: &'static [u8]) -> Upstream {
    Upstream::answering(text, ConnectionAction::Keep)
}

/// Number of requests for a target at each upstream.
fn counts(upstreams: &[Upstream], target: &str) -> Vec<usize> {
    let count = |own: &Upstream| own.connections(target).len();
    upstreams.iter().map(count).collect()
}

fn addresses(upstreams: &[Upstream]) -> String {
    let text: Vec<_> = upstreams
        .iter()
        .map(|own| own.address.to_string())
        .collect();
    text.join(" ")
}

#[test]
fn equal_parameters_go_to_one_upstream_and_others_by_the_fallback() {
    let upstreams = [OK; 3].map(answering);
    let front = front(
        &addresses(&upstreams),
        "",
        "reverse_proxy UP {\nlb_policy query id {\nfallback weighted_round_robin 2 0 1\n}\n}",
    );
    for _ in 0..4 {
        front.get("/a?id=7");
        front.get("/b?x=1&id=%37");
    }
    let at = counts(&upstreams, "/a?id=7").iter().position(|n| *n == 4);
    assert_eq!(counts(&upstreams, "/b?x=1&id=%37")[at.unwrap()], 4);
    let used: BTreeSet<_> = (0..40)
        .map(|id| {
            let target = format!("/c?id={id}");
            front.get(&target);
            counts(&upstreams, &target)
        })
        .collect();
    assert_eq!(used.len(), 3);
    // Choices by hash also advance the round robin: 48 so far, a multiple of the weights.
    for _ in 0..6 {
        front.get("/d");
    }
    assert_eq!(counts(&upstreams, "/d"), [4, 0, 2]);
}

#[test]
fn a_cookie_may_outlast_the_browser_and_has_a_fallback() {
    let upstreams = [OK; 2].map(answering);
    let front = front(
        &addresses(&upstreams),
        "",
        "reverse_proxy UP {\nlb_policy cookie shop {\nmax_age 1h\nfallback first\n}\n}",
    );
    for _ in 0..4 {
        let reply = front.get_with("/a", "Cookie: shop=other\r\n");
        let cookie = reply.header("set-cookie").unwrap();
        assert!(cookie.starts_with("shop="), "{cookie}");
        assert!(cookie.ends_with("; SameSite=Lax; Max-Age=3600"), "{cookie}");
    }
    assert_eq!(counts(&upstreams, "/a"), [4, 0]);
}

#[test]
fn a_cookie_is_for_frames_of_other_sites_behind_https() {
    let upstream = answering(OK);
    let end = |trusted: &str, proto: &str| {
        let front = front(
            &upstream.address.to_string(),
            trusted,
            "reverse_proxy UP {\nlb_policy cookie\n}",
        );
        let reply = front.get_with("/", &format!("X-Forwarded-Proto: {proto}\r\n"));
        let cookie = reply.header("set-cookie").unwrap().to_owned();
        cookie.split_once("; ").unwrap().1.to_owned()
    };
    let trusted = "servers {\ntrusted_proxies static 127.0.0.1\n}";
    let (plain, secure) = (
        "Path=/; HttpOnly; SameSite=Lax",
        "Path=/; HttpOnly; Secure; SameSite=None",
    );
    assert_eq!(end(trusted, "https"), secure);
    assert_eq!(end(trusted, "http"), plain);
    assert_eq!(end("", "https"), plain);
}

#[test]
fn an_empty_parameter_is_none() {
    let upstreams = [OK; 3].map(answering);
    let front = front(
        &addresses(&upstreams),
        "",
        "reverse_proxy UP {\nlb_policy query id {\nfallback first\n}\n}",
    );
    for target in ["/a?id=", "/a?id", "/a?ID=7"] {
        assert_eq!(front.get(target).status, 200);
        assert_eq!(counts(&upstreams, target), [1, 0, 0], "{target}");
    }
}

#[test]
fn requests_that_may_be_repeated_are_matched() {
    let torn = || Upstream::start(|_, _| None);
    let send = |options: &str, method: &str, path: &str| {
        let upstreams = [torn(), answering(OK)];
        let options = format!("lb_policy first\nlb_retries 1\n{options}");
        let front = front(
            &addresses(&upstreams),
            "",
            &format!("reverse_proxy UP {{\n{options}\n}}"),
        );
        let head = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n");
        front
            .send(&format!("{head}Content-Length: 0\r\n\r\n"))
            .status
    };
    assert_eq!(send("", "GET", "/"), 200);
    assert_eq!(send("", "POST", "/"), 502);
    let rule = "lb_retry_match {\nmethod POST\npath /api/*\n}\nlb_retry_match method PUT";
    assert_eq!(send(rule, "POST", "/api/a"), 200);
    assert_eq!(send(rule, "POST", "/a"), 502);
    assert_eq!(send(rule, "PUT", "/a"), 200);
    // As in Caddy, the rule replaces the default.
    assert_eq!(send(rule, "GET", "/a"), 502);
}

#[test]
fn checks_follow_redirects() {
    let redirect = |location: &'static str| {
        Upstream::start(move |head, _| {
            let answer = if head.starts_with("POST /up ") {
                format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
            } else if head.starts_with("GET /bad ") {
                "HTTP/1.1 503 Gone\r\nContent-Length: 0\r\n\r\n".to_owned()
            } else {
                String::from_utf8_lossy(OK).into_owned()
            };
            Some((answer.into_bytes(), ConnectionAction::Keep))
        })
    };
    let upstreams = [
        redirect("/bad"),
        redirect("http://other.test/well"),
        redirect("http://app.test/well?a#b"),
    ];
    let front = front(
        &addresses(&upstreams),
        "",
        "reverse_proxy UP {\nlb_policy first\nhealth_uri /up\nhealth_method POST\n\
         health_follow_redirects\nhealth_interval 10ms\nhealth_headers {\nHost app.test\n}\n}",
    );
    wait_until("the last upstream gets the requests", || {
        front.get("/a");
        counts(&upstreams, "/a")[2] > 0
    });
    assert!(counts(&upstreams, "/bad")[0] > 0);
    // Redirects to other hosts are the response.
    assert_eq!(counts(&upstreams, "/well"), [0; 3]);
    let requests = upstreams[2].requests.lock().unwrap();
    let followed = requests
        .iter()
        .find(|(_, head)| head.starts_with("GET /well?a "))
        .map(|(_, head)| head.to_ascii_lowercase())
        .unwrap();
    assert!(!followed.contains("content-length"), "{followed}");
}

#[test]
fn checks_have_a_method_headers_and_a_port() {
    let (upstream, checked) = (answering(OK), answering(OK));
    let options = format!(
        "health_uri /up\nhealth_interval 1h\nhealth_method HEAD\nhealth_port {}\n\
         health_headers {{\nHost app.test\nX-Check \"a b\"\n}}",
        checked.address.port()
    );
    let front = front(
        &upstream.address.to_string(),
        "",
        &format!("reverse_proxy UP {{\n{options}\n}}"),
    );
    assert_eq!(front.get("/a").status, 200);
    wait_until("the upstream is checked", || {
        !checked.requests.lock().unwrap().is_empty()
    });
    let head = checked.requests.lock().unwrap()[0].1.to_ascii_lowercase();
    assert!(head.starts_with("head /up http/1.1\r\n"), "{head}");
    for field in ["host: app.test", "x-check: a b", "user-agent: howdah"] {
        assert!(head.contains(&format!("\r\n{field}\r\n")), "{head}");
    }
    assert_eq!(upstream.connections("/up"), Vec::<usize>::new());
}

#[test]
fn another_server_may_be_asked_about_an_upstream() {
    let (upstream, asked) = (answering(OK), answering(OK));
    let options = format!(
        "health_uri /up\nhealth_interval 1h\nhealth_method POST\nhealth_upstream {}\nhealth_request_body ping\n\
         health_headers {{\nX-Of \"<{{http.reverse_proxy.active.target_upstream}}>\"\nX-Two b c\n}}",
        asked.address
    );
    let front = front(
        &upstream.address.to_string(),
        "",
        &format!("reverse_proxy UP {{\n{options}\n}}"),
    );
    assert_eq!(front.get("/a").status, 200);
    wait_until("the other server is asked", || {
        !asked.requests.lock().unwrap().is_empty()
    });
    let head = asked.requests.lock().unwrap()[0].1.to_ascii_lowercase();
    assert!(head.starts_with("post /up http/1.1\r\n"), "{head}");
    for field in [
        format!("host: {}", asked.address),
        format!("x-of: <{}>", upstream.address),
        "x-two: b".to_owned(),
        "x-two: c".to_owned(),
        "content-length: 4".to_owned(),
    ] {
        assert!(head.contains(&format!("\r\n{field}\r\n")), "{head}");
    }
    assert_eq!(upstream.connections("/up"), Vec::<usize>::new());
}

#[test]
fn a_healthy_body_matches() {
    let sick = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nstatus: sick");
    let upstreams = [sick, answering(OK)];
    let front = front(
        &addresses(&upstreams),
        "",
        "reverse_proxy UP {\nlb_policy first\nhealth_uri /up\nhealth_interval 10ms\n\
         health_body \"status: (ok|fine)$\"\nhealth_fails 3\n}",
    );
    wait_until("the sick upstream gets no requests", || {
        front.get("/a").text() == "status: ok"
    });
    // The first two failures had no effect.
    assert!(counts(&upstreams, "/up")[0] >= 3);
}

#[test]
fn a_response_that_stops_is_cut_off() {
    let back = back();
    let front = front(
        &back.address(),
        "",
        "reverse_proxy UP {\ntransport http {\nread_timeout 50ms\n}\n}",
    );
    assert_eq!(front.get("/").status, 200);
    let mut client = front.connect();
    // The application waits before it sends the second part.
    client.write(b"GET /?mode=gate HTTP/1.1\r\nHost: a\r\n\r\n");
    let (text, _) = client.rest();
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("first"), "{text}");
    assert!(!text.ends_with("0\r\n\r\n"), "{text}");
}

#[test]
fn a_response_header_may_be_copied() {
    let upstream =
        answering(b"HTTP/1.1 404 Not Found\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 0\r\n\r\n");
    let front = front(
        &upstream.address.to_string(),
        "",
        "reverse_proxy UP {\nheader_down X-Copy {rp.header.X-A}\nheader_down X-Status \"was {rp.status_code}\"\n\
         header_down X-None {http.reverse_proxy.header.X-B}\nheader_down -X-A\n}",
    );
    let reply = front.get("/");
    let field = |name| reply.header(name).map(str::to_owned);
    assert_eq!(field("x-copy").as_deref(), Some("1,2"));
    assert_eq!(field("x-status").as_deref(), Some("was 404"));
    assert_eq!(field("x-none").as_deref(), Some(""));
    assert_eq!(field("x-a"), None);
}

#[test]
fn placeholders_name_the_upstream_that_responds() {
    let (_socket, dead) = closed_port();
    let upstream = answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("access.log");
    let all = "{rp.upstream.host} {rp.upstream.port} {http.reverse_proxy.upstream.address} {rp.upstream.requests} {rp.upstream.max_requests} {rp.retries}";
    let site = format!(
        "log {{\noutput file {}\n}}\nlog_append proxied \"{all}\"\nlog_append took {{rp.upstream.duration_ms}}\n\
         header X-After \"{all} {{upstream_hostport}}\"\n\
         reverse_proxy UP {{\nlb_policy first\nlb_retries 1\nfail_duration 1m\nunhealthy_request_count 9\nheader_up X-Up \"{all} {{rp.upstream.latency}}|\"\n\
         header_down X-Down \"{all} {{rp.upstream.latency_ms}}\"\n\
         @missing status 404\nhandle_response @missing {{\nrespond \"{all}\"\n}}\n}}",
        log.display()
    );
    let address = upstream.address.to_string();
    let front = front(&format!("{dead} {address}"), "", &site);
    let reply = front.get("/");
    let port = upstream.address.port();
    let expected = format!("127.0.0.1 {port} tcp/127.0.0.1:{port} 0 9 1");
    assert_eq!(reply.text(), expected);
    assert_eq!(
        reply.header("x-after"),
        Some(&*format!("{expected} {address}"))
    );
    let down = reply.header("x-down").unwrap();
    let latency = down.strip_prefix(&*format!("{expected} ")).unwrap();
    assert!(latency.parse::<f64>().unwrap() > 0.0, "{down}");
    let sent = upstream.requests.lock().unwrap()[0].1.to_ascii_lowercase();
    assert!(sent.contains(&format!("x-up: {expected} |")), "{sent}");
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    wait_until("it is logged", || read().ends_with('\n'));
    let line: serde_json::Value = serde_json::from_str(read().trim_end()).unwrap();
    assert_eq!(line["proxied"], expected);
    let took = line["took"].as_str().unwrap();
    assert!(took.parse::<f64>().unwrap() > 0.0, "{took}");
    // The upstream that failed is not tried again.
    let expected = expected.strip_suffix('1').unwrap();
    assert_eq!(front.get("/").text(), format!("{expected}0"));
}

#[test]
fn a_name_is_resolved_to_upstreams() {
    let upstream = answering(OK);
    let port = upstream.address.port();
    let site = format!(
        "reverse_proxy /named {{\ndynamic a localhost {port} {{\nversions ipv4\nrefresh 10s\n}}\nheader_down X-Of {{upstream_hostport}}\n}}\n\
         reverse_proxy /unknown {address} {{\ndynamic a {{\nname nowhere.invalid\nport {port}\n}}\n}}\n\
         reverse_proxy /none {{\ndynamic a nowhere.invalid {port}\n}}",
        address = upstream.address
    );
    let front = front("", "", &site);
    for _ in 0..2 {
        let reply = front.get("/named");
        assert_eq!((reply.status, reply.text()), (200, "status: ok"));
        assert_eq!(reply.header("x-of"), Some(&*upstream.address.to_string()));
    }
    assert_eq!(upstream.connections("/named"), [0, 0]);
    assert_eq!(front.get("/unknown").status, 200);
    assert_eq!(front.get("/none").status, 503);
}
