//! `reverse_proxy` and `php_fastcgi`: their upstreams and options.

use std::time::Duration;

use crate::common::{full, handler};
use howdah_config::model::{
    Balance, CertificateFiles, DynamicUpstreams, FastCgi, Handler, HealthCheck, Matcher, Policy,
    ProxyHeaderVersion, ReverseProxy, StatusRange, Upstream, UpstreamTls,
};

fn proxy(directive: &str) -> ReverseProxy {
    match handler(directive) {
        Handler::ReverseProxy(proxy) => *proxy,
        Handler::ForwardAuth(auth) => auth.proxy,
        other => panic!("{directive}: {other:?}"),
    }
}

fn tcp(host: &str, port: u16) -> Upstream {
    Upstream::Tcp {
        host: host.into(),
        port,
    }
}

#[test]
fn a_scheme_determines_port_and_encryption() {
    for (directive, upstreams, is_encrypted) in [
        ("reverse_proxy a", vec![tcp("a", 80)], false),
        ("reverse_proxy http://a", vec![tcp("a", 80)], false),
        ("reverse_proxy a:443", vec![tcp("a", 443)], false),
        ("reverse_proxy https://a", vec![tcp("a", 443)], true),
        (
            "reverse_proxy https://a:8443 {\nto https://[::1]\n}",
            vec![tcp("a", 8443), tcp("::1", 443)],
            true,
        ),
        (
            "reverse_proxy a:81-83",
            vec![tcp("a", 81), tcp("a", 82), tcp("a", 83)],
            false,
        ),
        // As in Caddy, the port follows from the scheme, not from the transport.
        (
            "reverse_proxy a b:8443 {\ntransport http {\ntls\n}\n}",
            vec![tcp("a", 80), tcp("b", 8443)],
            true,
        ),
        (
            "reverse_proxy unix//a.sock {\ntransport http {\ntls_server_name a.test\n}\n}",
            vec![Upstream::Unix("/a.sock".into())],
            true,
        ),
        (
            "forward_auth https://a {\nuri /\n}",
            vec![tcp("a", 443)],
            true,
        ),
    ] {
        let proxy = proxy(directive);
        assert_eq!(proxy.upstreams, upstreams, "{directive}");
        assert_eq!(proxy.tls.is_some(), is_encrypted, "{directive}");
    }
}

#[test]
fn options_of_encryption() {
    let tls = |options: &str| {
        proxy(&format!(
            "reverse_proxy a:8443 {{\ntransport http {{\n{options}\n}}\n}}"
        ))
        .tls
    };
    assert_eq!(tls("dial_timeout 1s"), None);
    assert_eq!(tls("tls"), Some(UpstreamTls::default()));
    let all = tls(
        "tls_server_name App.Example\ntls_trust_pool file a.pem b.pem {\npem_file c.pem\n}\n\
         tls_trusted_ca_certs d.pem\ntls_client_auth own.pem own.key\ntls_timeout 2s",
    );
    assert_eq!(
        all,
        Some(UpstreamTls {
            server_name: Some("app.example".into()),
            insecure: false,
            roots: ["a.pem", "b.pem", "c.pem", "d.pem"]
                .map(Into::into)
                .to_vec(),
            client: Some(CertificateFiles {
                certificate: "own.pem".into(),
                key: "own.key".into(),
            }),
            timeout: Some(Duration::from_secs(2)),
        })
    );
    assert!(tls("tls_insecure_skip_verify").is_some_and(|tls| tls.insecure));
}

#[test]
fn upstreams_may_have_placeholders() {
    for text in [
        "{http.request.header.X-Up}:8080",
        "{re.x.1}",
        "{vars.y}.internal:{query.port}",
    ] {
        let proxy = proxy(&format!("reverse_proxy {text}"));
        let [upstream @ Upstream::Template { .. }] = &proxy.upstreams[..] else {
            panic!("{:?}", proxy.upstreams);
        };
        assert_eq!(upstream.to_string(), text);
    }
    for (directive, expected) in [
        (
            "reverse_proxy http://{host}:80",
            "placeholders along with a scheme or a socket",
        ),
        (
            "reverse_proxy unix//run/{host}.sock",
            "placeholders along with a scheme or a socket",
        ),
        ("reverse_proxy {http.nothing}:80", "`{http.nothing}`"),
        (
            "reverse_proxy {host}:81 {\nhealth_uri /\n}",
            "the upstream `{host}:81` cannot be checked without a request",
        ),
        (
            "php_fastcgi {host}:9000",
            "a FastCGI server has no placeholders",
        ),
    ] {
        let errors = full(&format!(":80 {{\n{directive}\n}}\n"))
            .unwrap_err()
            .to_string();
        assert!(errors.contains(expected), "{directive}: {errors}");
    }
}

#[test]
fn versions_and_encryption_determine_the_protocol() {
    let with = |upstream: &str, options: &str| {
        format!("reverse_proxy {upstream} {{\ntransport http {{\n{options}\n}}\n}}")
    };
    for (directive, is_http2) in [
        ("reverse_proxy a".to_owned(), false),
        ("reverse_proxy h2c://a h2c://b:81".to_owned(), true),
        ("reverse_proxy unix+h2c//a.sock".to_owned(), true),
        ("forward_auth h2c://a {\nuri /\n}".to_owned(), true),
        (with("a", "versions h2c"), true),
        (with("a", "versions 1.1 h2c"), true),
        (with("a", "versions h2c 2"), true),
        (with("a", "versions 2"), false),
        (with("h2c://a", "versions 1.1"), true),
        (with("https://a", "versions 2"), true),
        (with("https://a", "versions h2c 2"), true),
        (with("https://a", "versions 1.1 2"), false),
        (with("https://a", "versions h2c"), false),
        (with("a", "tls\nversions 2"), true),
    ] {
        assert_eq!(proxy(&directive).uses_http2(), is_http2, "{directive}");
    }
    assert_eq!(proxy("reverse_proxy h2c://a").upstreams, [tcp("a", 80)]);
}

#[test]
fn unused_authorities_are_a_warning() {
    let text = ":80 {\nreverse_proxy a {\ntransport http {\ntls_insecure_skip_verify\n\
                tls_trust_pool file a.pem\n}\n}\n}\n";
    let parsed = full(text).unwrap();
    let warnings: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "Caddyfile:3:1: `tls_insecure_skip_verify` takes any certificate, whatever authorities are named"
        ]
    );
}

fn fastcgi(directive: &str) -> FastCgi {
    match handler(directive) {
        Handler::PhpServer(server) => *server.fastcgi.expect("an upstream"),
        other => panic!("{directive}: {other:?}"),
    }
}

const EVERYTHING: &str = "lb_policy cookie shop key\nlb_retries 2\nlb_try_duration 5s\nlb_try_interval 10ms\n\
                          lb_retry_match method PUT\nlb_retry_match {\nmethod GET\npath /a\n}\n\
                          fail_duration 30s\nmax_fails 3\nunhealthy_status 502 5xx\nunhealthy_status 404\n\
                          unhealthy_latency 2s\nunhealthy_request_count 9";

#[test]
fn upstreams_are_balanced_in_the_same_way() {
    let everything = Balance {
        policy: Policy::Cookie {
            name: "shop".into(),
            secret: "key".into(),
            max_age: None,
            fallback: Box::default(),
        },
        retries: 2,
        try_duration: Duration::from_secs(5),
        try_interval: Duration::from_millis(10),
        retry_match: vec![
            Matcher::Method(vec!["PUT".into()]),
            Matcher::All(vec![
                Matcher::Method(vec!["GET".into()]),
                Matcher::Path(vec!["/a".into()]),
            ]),
        ],
        fail_duration: Duration::from_secs(30),
        max_fails: 3,
        unhealthy_status: vec![
            StatusRange::one(502),
            StatusRange::new(500, 599),
            StatusRange::one(404),
        ],
        unhealthy_latency: Some(Duration::from_secs(2)),
        max_requests: Some(9),
    };
    let balance = proxy(&format!("reverse_proxy a b {{\n{EVERYTHING}\n}}")).balance;
    assert_eq!(balance, everything);
    let balance = fastcgi(&format!("php_fastcgi a:1 b:1 {{\n{EVERYTHING}\n}}")).balance;
    assert_eq!(balance, everything);
    assert_eq!(proxy("reverse_proxy a b c").balance, Balance::default());
}

#[test]
fn policies_have_arguments_and_fallbacks() {
    let policy = |text: &str| {
        proxy(&format!("reverse_proxy a b {{\nlb_policy {text}\n}}"))
            .balance
            .policy
    };
    assert_eq!(policy("random_choose 3"), Policy::RandomChoose(3));
    for text in [
        "random",
        "random_choose 3",
        "round_robin",
        "weighted_round_robin 0 2",
        "least_conn",
        "first",
        "ip_hash",
        "client_ip_hash",
        "uri_hash",
        "header X-A",
        "query id",
        "cookie",
    ] {
        let name = text.split(' ').next();
        assert_eq!(Some(policy(text).name()), name, "as written");
    }
    let weighted = Policy::WeightedRoundRobin(vec![0, 2]);
    assert_eq!(policy("weighted_round_robin 0 2"), weighted);
    assert_eq!(
        policy("query id {\nfallback weighted_round_robin 0 2\n}"),
        Policy::Query {
            key: "id".into(),
            fallback: Box::new(weighted),
        }
    );
    assert_eq!(
        policy("header X-A {\nfallback cookie {\nmax_age 1h\nfallback first\n}\n}"),
        Policy::Header {
            name: "X-A".into(),
            fallback: Box::new(Policy::Cookie {
                name: "lb".into(),
                secret: String::new(),
                max_age: Some(Duration::from_secs(3600)),
                fallback: Box::new(Policy::First),
            }),
        }
    );
    for (text, expected) in [
        ("random_choose 1", "`1` is not a whole number"),
        ("random_choose", "wrong number of arguments"),
        ("weighted_round_robin 0 0", "all weights are 0"),
        ("weighted_round_robin 1", "has 1 weights for 2 upstreams"),
        (
            "query a {\nfallback weighted_round_robin 1\n}",
            "has 1 weights for 2 upstreams",
        ),
        (
            "first {\nfallback random\n}",
            "`lb_policy first` takes no block",
        ),
        (
            "query a {\nmax_age 1h\n}",
            "`max_age` has no effect with `query`",
        ),
        ("query a {\nfallback best\n}", "`best` is not a policy"),
        ("cookie a b c", "wrong number of arguments"),
    ] {
        let file = format!(":80 {{\nreverse_proxy a b {{\nlb_policy {text}\n}}\n}}\n");
        let errors = full(&file).unwrap_err().to_string();
        assert!(errors.contains(expected), "{text}: {errors}");
    }
}

#[test]
fn upstreams_are_health_checked_the_same_way() {
    for (options, expected) in [
        ("", None),
        (
            "health_uri /up?full",
            Some(HealthCheck::new("/up?full".into())),
        ),
        (
            "health_status 4xx\nhealth_uri /ping\nhealth_interval 1s\nhealth_timeout 2s",
            Some(HealthCheck {
                interval: Duration::from_secs(1),
                timeout: Duration::from_secs(2),
                status: StatusRange::new(400, 499),
                ..HealthCheck::new("/ping".into())
            }),
        ),
        (
            "health_uri /\nhealth_method head\nhealth_headers {\nHost app.test\nX-A \"b c\"\n}\nhealth_body ^ok\n\
             health_port 81\nhealth_passes 2\nhealth_fails 3",
            Some(HealthCheck {
                method: "HEAD".into(),
                headers: vec![
                    ("Host".into(), vec!["app.test".into()]),
                    ("X-A".into(), vec!["b c".into()]),
                ],
                body: Some("^ok".into()),
                port: Some(81),
                passes: 2,
                fails: 3,
                ..HealthCheck::new("/".into())
            }),
        ),
        (
            "health_port 81\nhealth_upstream 10.0.0.1:82\nhealth_request_body \"a b\"\nhealth_headers {\n\
             X-A b c\nX-Of \"<{http.reverse_proxy.active.target_upstream}>\"\n}",
            Some(HealthCheck {
                headers: vec![
                    ("X-A".into(), vec!["b".into()]),
                    ("X-A".into(), vec!["c".into()]),
                    ("X-Of".into(), vec!["<".into(), ">".into()]),
                ],
                request_body: "a b".into(),
                port: Some(81),
                upstream: Some(Upstream::Tcp {
                    host: "10.0.0.1".into(),
                    port: 82,
                }),
                ..HealthCheck::new("/".into())
            }),
        ),
    ] {
        let health = proxy(&format!("reverse_proxy a {{\n{options}\n}}")).health;
        assert_eq!(health, expected, "{options}");
        let health = fastcgi(&format!("php_fastcgi a:1 {{\n{options}\n}}")).health;
        assert_eq!(health, expected, "{options}");
    }
}

#[test]
fn upstreams_of_php_are_taken_in_turns() {
    let turns = Balance {
        policy: Policy::RoundRobin,
        ..Balance::default()
    };
    for (options, expected) in [
        (
            "",
            Balance {
                retries: 2,
                ..turns.clone()
            },
        ),
        (
            "lb_try_interval 1s",
            Balance {
                retries: 2,
                try_interval: Duration::from_secs(1),
                ..turns.clone()
            },
        ),
        (
            "lb_retries 1",
            Balance {
                retries: 1,
                ..turns.clone()
            },
        ),
        (
            "lb_try_duration 1s",
            Balance {
                try_duration: Duration::from_secs(1),
                try_interval: Duration::from_millis(250),
                ..turns.clone()
            },
        ),
    ] {
        let fastcgi = fastcgi(&format!("php_fastcgi a:1 b:1 {{\nto c:1\n{options}\n}}"));
        let upstreams = ["a", "b", "c"].map(|host| tcp(host, 1));
        assert_eq!(fastcgi.upstreams, upstreams, "{options}");
        assert_eq!(fastcgi.balance, expected, "{options}");
    }
}

#[test]
fn a_directive_without_upstreams_is_a_warning() {
    for (directive, example) in [
        ("reverse_proxy", "reverse_proxy localhost:9000"),
        ("reverse_proxy /api/*", "reverse_proxy localhost:9000"),
        ("php_fastcgi", "php_fastcgi unix//run/php/php-fpm.sock"),
        ("forward_auth {\nuri /\n}", "forward_auth localhost:9000"),
    ] {
        let parsed = full(&format!("localhost\n{directive}")).expect("valid");
        let name = directive.split(' ').next().unwrap_or_default();
        let expected = format!(
            "Caddyfile:2:1: `{name}` has no upstream: its requests get 503; write for example `{example}`"
        );
        let warnings: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, [expected]);
    }
}

#[test]
fn a_time_of_zero_is_no_limit() {
    let proxy = proxy(
        "reverse_proxy a {\nfail_duration 0\nlb_retries 1\nlb_try_duration 0s\nunhealthy_latency 0\n\
         transport http {\nread_timeout 0\nwrite_timeout 0\nresponse_header_timeout 0s\n}\n}",
    );
    let balance = Balance {
        retries: 1,
        ..Balance::default()
    };
    assert_eq!(proxy.balance, balance);
    let limits = [
        proxy.read_timeout,
        proxy.write_timeout,
        proxy.response_header_timeout,
    ];
    assert_eq!(limits, [None; 3]);
    let fastcgi = fastcgi("php_fastcgi a:1 {\nread_timeout 0\nwrite_timeout 0\n}");
    assert_eq!((fastcgi.read_timeout, fastcgi.write_timeout), (None, None));
}

#[test]
fn a_proxy_may_speak_fastcgi() {
    let expected = handler(
        "php_fastcgi unix//run/php.sock {\nlb_policy first\nroot /srv\nsplit .php\nenv A b\nindex off\n}",
    );
    let given = handler(
        "reverse_proxy unix//run/php.sock {\nlb_policy first\n\
         transport fastcgi {\nroot /srv\nsplit .php\nenv A b\n}\n}",
    );
    assert_eq!(given, expected);
}

#[test]
fn upstreams_may_be_the_addresses_of_a_name() {
    let expected = DynamicUpstreams {
        name: "app".into(),
        port: 9000,
        refresh: Duration::from_secs(60),
        ipv4: true,
        ipv6: true,
    };
    assert_eq!(
        proxy("reverse_proxy {\ndynamic a app 9000\n}").dynamic,
        Some(expected.clone())
    );
    let whole = proxy(
        "reverse_proxy a:1 {\ndynamic a {\nname app\nport 9000\nrefresh 5s\nversions ipv6\n}\n}",
    );
    assert_eq!(whole.upstreams, [tcp("a", 1)]);
    assert_eq!(
        whole.dynamic,
        Some(DynamicUpstreams {
            refresh: Duration::from_secs(5),
            ipv4: false,
            ..expected.clone()
        })
    );
    for (directive, port) in [
        ("reverse_proxy {\ndynamic a app\n}", 80),
        (
            "reverse_proxy {\ndynamic a app\ntransport http {\ntls\n}\n}",
            443,
        ),
    ] {
        assert_eq!(proxy(directive).dynamic.unwrap().port, port, "{directive}");
    }
}

#[test]
fn addresses_of_connections_to_upstreams() {
    let option = |option: &str| {
        proxy(&format!(
            "reverse_proxy a:1 {{\ntransport http {{\n{option}\n}}\n}}"
        ))
    };
    for (text, version) in [
        ("v1", ProxyHeaderVersion::V1),
        ("v2", ProxyHeaderVersion::V2),
    ] {
        let found = option(&format!("proxy_protocol {text}"));
        assert_eq!(found.proxy_protocol, Some(version));
    }
    let local = option("local_address 10.0.0.5").local_address;
    assert_eq!(local, Some("10.0.0.5".parse().unwrap()));
}
