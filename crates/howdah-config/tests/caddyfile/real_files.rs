//! Constructs from files of real projects, reworded, and their meaning here.

use crate::common::{Memory, config, environment, errors, full, handler, routes};
use howdah_config::model::{
    Address, Alpn, BasicAuthUser, Handler, HostMetrics, Issuer, ListenerAddress, LogOutput,
    Matcher, Site, Upstream,
};
use howdah_config::{ParsedConfig, Strictness, parse_with};

fn warnings(text: &str) -> Vec<String> {
    let parsed = full(text).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    let messages = parsed.warnings.into_iter();
    messages.map(|warning| warning.message).collect()
}

fn lenient(text: &str) -> ParsedConfig {
    parse_with(
        text,
        "Caddyfile",
        &environment,
        &Memory::default(),
        Strictness::Lenient,
    )
    .unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

#[test]
fn protocols_are_chosen() {
    let limits = |protocols: &str| {
        let text = format!("{{\nservers {{\nprotocols {protocols}\n}}\n}}\n:80 {{\n}}");
        let limits = config(&text).global.limits;
        (limits.http2, limits.h2c, limits.http3)
    };
    assert_eq!(limits("h1"), (false, false, false));
    assert_eq!(limits("h1 h2"), (true, false, false));
    assert_eq!(limits("h1 h2 h2c h3"), (true, true, true));
    let default = config(":80 {\n}").global.limits;
    assert!(default.http2 && default.h2c && default.http3);
}

#[test]
fn sites_offer_http2_where_their_listeners_have_it() {
    let parsed = config(
        "{\nservers :443 {\nprotocols h1\n}\n}\na.test {\n}\nb.test:8443 {\n}\nhttp://c.test {\n}\n\
         d.test:443 d.test:8443 {\n}\n",
    );
    let offered = |host: &str| {
        let has = |site: &&Site| site.addresses[0].host.as_deref() == Some(host);
        let mut sites = parsed.sites.iter().filter(has);
        sites.find_map(|site| site.tls.alpn.clone())
    };
    assert_eq!(offered("a.test"), Some(vec![Alpn::Http1]));
    assert_eq!(offered("b.test"), None);
    assert_eq!(offered("c.test"), None);
    assert_eq!(offered("d.test"), Some(vec![Alpn::Http1]));
}

#[test]
fn metrics_may_have_options() {
    let hosts = |options: &str| {
        let text = format!("{{\nmetrics {{\n{options}\n}}\n}}\n:80 {{\n}}");
        let global = config(&text).global;
        assert!(global.metrics);
        global.host_metrics
    };
    assert_eq!(hosts(""), HostMetrics::Off);
    assert_eq!(hosts("per_host"), HostMetrics::Named);
    let all = "observe_catchall_hosts";
    assert_eq!(hosts(&format!("{all}\nper_host")), HostMetrics::All);
    assert_eq!(hosts(&format!("per_host\n{all}")), HostMetrics::All);
    let wrong = errors("{\nmetrics {\nper_hosts\n}\n}\n:80 {\n}");
    assert!(wrong[0].contains("did you mean `per_host`?"), "{wrong:?}");
}

#[test]
fn an_authority_has_profiles() {
    let parsed = config(
        "a.example {\ntls {\nissuer acme {\nprofile tlsserver\ndisable_http_challenge\n}\n}\n}",
    );
    let Some(Issuer::Acme(acme)) = &parsed.sites[0].tls.issuer else {
        panic!("{:?}", parsed.sites[0].tls);
    };
    assert_eq!(acme.profile.as_deref(), Some("tlsserver"));
}

#[test]
fn a_site_may_have_several_logs() {
    let site = config(":80 {\nlog {\noutput stdout\n}\nlog {\noutput stderr\n}\nlog\nlog a\n}")
        .sites
        .remove(0);
    let outputs: Vec<_> = site.access_logs.iter().map(|log| &log.output).collect();
    assert_eq!(
        outputs,
        [
            &LogOutput::Stdout,
            &LogOutput::Stderr,
            &LogOutput::Stderr,
            &LogOutput::Stderr
        ]
    );
}

#[test]
fn variables_are_values_at_the_start() {
    let email = |text: &str| {
        let text = format!("{{\nemail {text}\n}}\n:80 {{\n}}");
        config(&text).global.https.acme.email
    };
    assert_eq!(
        email("a@{env.PORT}.example").as_deref(),
        Some("a@8080.example")
    );
    assert_eq!(email("{env.NONE}"), None);
    let site = config(
        "localhost {\nlog {\noutput file /var/log/{env.PORT}.log\n}\ntls {env.PORT}.pem key.pem\nrespond {env.PORT}\n}",
    )
    .sites
    .remove(0);
    let LogOutput::File(file) = &site.access_logs[0].output else {
        panic!("{:?}", site.access_logs);
    };
    assert_eq!(file.path.to_str(), Some("/var/log/8080.log"));
    let files = site.tls.files.expect("files");
    assert_eq!(files.certificate.to_str(), Some("8080.pem"));
    // A placeholder of a request remains a placeholder.
    let respond = format!("{:?}", site.routes[0].handler);
    assert!(respond.contains("Env(\"PORT\")"), "{respond}");
}

#[test]
fn php_fastcgi_trusts_proxies_of_its_own() {
    let Handler::PhpServer(server) =
        handler("php_fastcgi unix//run/fpm.sock {\ntrusted_proxies private_ranges 192.0.2.1\n}")
    else {
        panic!("php_fastcgi");
    };
    let fastcgi = server.fastcgi.expect("php_fastcgi");
    assert!(fastcgi.trusted_proxies.expect("ranges").len() > 2);
    let Handler::PhpServer(server) = handler("php_fastcgi php") else {
        panic!("php_fastcgi");
    };
    let upstream = Upstream::Tcp {
        host: "php".into(),
        port: 80,
    };
    assert_eq!(server.fastcgi.expect("php_fastcgi").upstreams, [upstream]);
}

#[test]
fn php_server_has_the_options_of_its_file_server() {
    let Handler::PhpServer(server) =
        handler("php_server {\nfile_server {\nhide *.bak\nprecompressed br\nsymlinks off\n}\n}")
    else {
        panic!("php_server");
    };
    let files = server.files.expect("files");
    assert!(files.hide.contains(&"*.bak".to_owned()));
    assert!(files.hide.contains(&"./Caddyfile".to_owned()));
    assert_eq!(files.precompressed.len(), 1);
    for wrong in ["file_server", "file_server on", "file_server off {\n}"] {
        let found = errors(&format!(":80 {{\nphp_server {{\n{wrong}\n}}\n}}"));
        assert!(found[0].contains("write `file_server off`"), "{found:?}");
    }
}

#[test]
fn a_plain_word_at_php_server_has_no_effect() {
    let found = warnings(":80 {\nphp_server frankenphp\n}");
    assert_eq!(found, ["`frankenphp` is not a matcher and has no effect"]);
    let wrong = errors(":80 {\nphp_server api/*\n}");
    assert!(wrong[0].contains("`api/*` is not a matcher"), "{wrong:?}");
}

#[test]
fn upstreams_and_users_are_values_at_the_start() {
    let hash = "$2y$10$abcdefghijklmnopqrstuuGX3d8yLWjYmVvTxO7Zk0hXcUO1nV8ru";
    let text = format!(
        ":80 {{\nhandle /a {{\nreverse_proxy localhost:{{env.PORT}} {{\nto b:{{env.PORT}}\nheader_up A {{env.PORT}}\n}}\n\
         basic_auth {{\nann{{env.PORT}} {hash}\n}}\n}}\n}}"
    );
    let shown = format!("{:?}", config(&text).sites[0].routes);
    for expected in ["8080", "ann8080"] {
        assert!(shown.contains(expected), "{shown}");
    }
    // Values of header fields are still those of each request.
    assert!(shown.contains("Env(\"PORT\")"), "{shown}");
}

#[test]
fn options_that_only_tune_have_no_effect() {
    let found = warnings(
        "{\npreferred_chains smallest\n}\n:80 {\nlog {\noutput file /var/log/a.log {\nroll_local_time\n}\n}\n\
         mercure {\npublisher_jwt secret-of-at-least-thirty-two-bytes\nanonymous\nname hub\ndispatch_timeout 5s\n\
         topic_selector_cache 10 20\nsubscriber_list_cache_size 5\n}\n}",
    );
    let names = [
        "preferred_chains",
        "roll_local_time",
        "name",
        "dispatch_timeout",
        "topic_selector_cache",
        "subscriber_list_cache_size",
    ];
    for name in names {
        let start = format!("`{name}` has no effect: ");
        assert!(
            found.iter().any(|one| one.starts_with(&start)),
            "{name}: {found:?}"
        );
    }
    assert_eq!(found.len(), names.len(), "{found:?}");
}

#[test]
fn buffers_of_reverse_proxy_have_no_effect() {
    let found = warnings(
        ":80 {\nreverse_proxy app:8080 {\nrequest_buffers 4KiB\nresponse_buffers 4KiB\nstream_close_delay 5m\n\
         transport http {\ncompression off\nexpect_continue_timeout 1s\n}\n}\n}",
    );
    assert_eq!(found.len(), 5, "{found:?}");
    assert_eq!(
        found[2],
        "`stream_close_delay` has no effect: a reload closes no WebSocket"
    );
}

#[test]
fn a_path_keeps_several_slashes() {
    let routes = routes("redir /a//b /c");
    assert_eq!(routes[0].matcher, Some(Matcher::Path(vec!["/a//b".into()])));
}

#[test]
fn tls_internal_needs_no_host() {
    let parsed = config(":8443 {\ntls internal\nrespond ok\n}");
    let site = &parsed.sites[0];
    assert!(site.addresses[0].tls && site.tls.on_demand);
    let named = config("localhost:8443 {\ntls internal\nrespond ok\n}");
    assert!(!named.sites[0].tls.on_demand);
    let text = "localhost:80 {\ntls internal\nrespond ok\n}";
    assert!(!config(text).sites[0].addresses[0].tls);
    assert_eq!(
        warnings(text),
        ["`tls` has no effect for `localhost:80`: the HTTP port is not encrypted"]
    );
}

#[test]
fn an_address_without_a_certificate_is_left_out_of_a_site_that_has_others() {
    let not_served = "the address `:443` is not served, because no certificate is possible: there is no host name for a \
                      certificate; name the hosts in the address, or give `tls CERT KEY`";
    assert_eq!(warnings(":80, :443 {\n}"), [not_served]);
    // Another site is enough, as in Caddy.
    for text in [
        ":80 {\n}\n:443 {\n}",
        ":80 {\n}\nlocalhost:8443 {\n}\n:443 {\n}",
    ] {
        let (parsed, found) = (config(text), warnings(text));
        assert_eq!(found, [not_served], "{text}");
        let addresses = parsed.sites.iter().flat_map(|site| &site.addresses);
        let is_gone = |address: &Address| address.port != 443;
        assert!(addresses.into_iter().all(is_gone), "{text}");
    }
    let found = warnings(":80 {\n}\nhttps://0.0.0.0 {\ntls admin@example.com\n}");
    let not_public = "the address `https://0.0.0.0` is not served, because no certificate is possible: no public authority \
                      issues certificates for this name; write `tls internal`";
    assert_eq!(found, [not_public]);
    let plain =
        "`:443` is served without encryption: `auto_https` is off, and the site has no `tls`";
    let off = "{\nauto_https off\n}\n";
    assert_eq!(warnings(&format!("{off}:80, :443 {{\n}}")), [plain]);
    let found = warnings(&format!(
        "{off}http://a.test, b.test/x {{\nrespond /x 1\n}}"
    ));
    assert!(
        found[0].starts_with("the address `b.test/x` is not served"),
        "{found:?}"
    );
    // An unreachable site is an error.
    for text in [
        ":443 {\n}",
        "https:// {\n}",
        "{\nauto_https off\n}\na.test {\n}",
    ] {
        let found = errors(text);
        assert!(found[0].contains("no certificate is possible"), "{found:?}");
    }
}

#[test]
fn index_off_counts_more_than_try_files() {
    for (text, without) in [
        (
            "php_server {\nindex off\ntry_files a\n}",
            "php_server {\nindex off\n}",
        ),
        (
            "php_fastcgi a:1 {\ntry_files a\nindex off\n}",
            "php_fastcgi a:1 {\nindex off\n}",
        ),
    ] {
        let (text, without) = (
            format!(":80 {{\n{text}\n}}"),
            format!(":80 {{\n{without}\n}}"),
        );
        let no_effect = "`try_files` has no effect with `index off`";
        assert_eq!(warnings(&text), [no_effect], "{text}");
        assert_eq!(config(&text), config(&without), "{text}");
    }
}

#[test]
fn the_last_auto_https_counts() {
    let text = "{\nauto_https disable_redirects\nauto_https off\n}\n:80 {\n}";
    assert_eq!(
        warnings(text),
        ["`auto_https` is given twice: the last one counts"]
    );
    let https = config(text).global.https;
    assert!(!https.certificates && !https.redirects);
    let text = "{\nauto_https off\nauto_https disable_redirects\n}\n:80 {\n}";
    let https = full(text).expect("valid").config.global.https;
    assert!(https.certificates && !https.redirects);
}

#[test]
fn transports_name_versions() {
    config(":80 {\nreverse_proxy a:1 {\ntransport http {\nversions 1.1 2\n}\n}\n}");
    let of = |versions: &str| {
        format!(":80 {{\nreverse_proxy a:1 {{\ntransport http {{\nversions {versions}\n}}\n}}\n}}")
    };
    let wrong = errors(&of("3"));
    assert!(wrong[0].contains("add `1.1`, `2` or `h2c`"), "{wrong:?}");
    let wrong = errors(&of("1.1 1.0"));
    assert!(wrong[0].contains("`1.0` is not a version"), "{wrong:?}");
    assert_eq!(
        warnings(&of("2")),
        ["without TLS `versions 2` is HTTP/1.1: write `versions h2c` for HTTP/2"]
    );
    assert_eq!(
        warnings(&of("h2c\ntls")),
        ["with TLS `versions h2c` is HTTP/1.1: write `versions 2` for HTTP/2"]
    );
}

#[test]
fn an_address_with_a_path_is_a_route_of_the_site_without() {
    let text = ":80 {\nrespond rest\n}\n:80/health {\nrespond healthy\n}\n:80/health/deep* {\nrespond deep\n}";
    let parsed = config(text);
    assert_eq!(parsed.sites.len(), 1);
    let [deep, health, rest] = &parsed.sites[0].routes[..] else {
        panic!("{:?}", parsed.sites[0].routes);
    };
    let path = |path: &str| Some(Matcher::Path(vec![path.to_owned()]));
    assert_eq!(deep.matcher, path("/health/deep*"));
    assert_eq!(health.matcher, path("/health"));
    assert_eq!(rest.matcher, None);
    assert!(deep.group.is_some() && deep.group == health.group && deep.group == rest.group);
    for (route, body) in [(deep, "deep"), (health, "healthy"), (rest, "rest")] {
        let handler = format!("{:?}", route.handler);
        assert!(handler.contains(&format!("\"{body}\"")), "{handler}");
    }
    let found = warnings(text);
    assert_eq!(found.len(), 2);
    assert!(found[0].starts_with("`:80/health` has a path"), "{found:?}");
}

#[test]
fn an_address_with_a_path_needs_no_site_without() {
    let parsed = config("http://a.test/x, http://b.test {\nrespond ok\n}");
    let host = |site: &Site| {
        let hosts = site.addresses.iter().map(|address| address.host.clone());
        hosts.flatten().collect::<Vec<_>>()
    };
    assert_eq!(parsed.sites.len(), 2);
    assert_eq!(host(&parsed.sites[0]), ["a.test"]);
    assert_eq!(host(&parsed.sites[1]), ["b.test"]);
    assert!(matches!(
        parsed.sites[0].routes[0].matcher,
        Some(Matcher::Path(_))
    ));
    assert!(matches!(
        parsed.sites[1].routes[0].handler,
        Handler::Respond { .. }
    ));
}

#[test]
fn a_path_of_one_address_is_none_of_another() {
    let parsed = config(
        "http://a.test, http://b.test:8080 {\nrespond rest\n}\nhttp://a.test/x {\nrespond x\n}",
    );
    let [site] = &parsed.sites[..] else {
        panic!("{:?}", parsed.sites);
    };
    let Some(Matcher::All(all)) = &site.routes[0].matcher else {
        panic!("{:?}", site.routes[0].matcher);
    };
    assert!(all.contains(&Matcher::Host(vec!["a.test".into()])));
    assert!(all.iter().any(|one| matches!(one, Matcher::Vars(..))));
    assert_eq!(site.addresses.len(), 2);
    let first = Address {
        host: Some("a.test".into()),
        port: 80,
        tls: false,
    };
    assert_eq!(site.addresses[0], first);
}

#[test]
fn hashes_of_passwords_may_be_in_base64() {
    let hash = "$2a$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234";
    let encoded =
        "JDJhJDEwJGFiY2RlZmdoaWprbG1ub3BxcnN0dXVBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWjAxMjM0";
    for text in [hash, encoded] {
        let Handler::BasicAuth(auth) = handler(&format!("basicauth {{\nann {text}\n}}")) else {
            panic!("{text}");
        };
        let ann = BasicAuthUser {
            name: "ann".into(),
            hash: hash.into(),
        };
        assert_eq!(auth.users, [ann]);
    }
    let found = errors(":80 {\nbasicauth {\nann c2VjcmV0\n}\n}");
    assert!(found[0].contains("not a bcrypt hash"), "{found:?}");
}

#[test]
fn plugins_that_are_coming_are_named() {
    for directive in ["rate_limit", "cache"] {
        let found = errors(&format!(":80 {{\n{directive} {{\nttl 1h\n}}\n}}"));
        assert!(found[0].contains("is coming"), "{found:?}");
        assert!(found[0].contains("--lenient"), "{found:?}");
    }
}

#[test]
fn plugins_that_restrict_access_are_not_left_out() {
    for directive in ["authorize with policy", "crowdsec", "jwtauth"] {
        let text = format!(":80 {{\n{directive}\nrespond ok\n}}");
        let found = parse_with(
            &text,
            "Caddyfile",
            &environment,
            &Memory::default(),
            Strictness::Lenient,
        );
        let found = found.expect_err(&text).to_string();
        assert!(
            found.contains("`--lenient` does not leave it out"),
            "{found}"
        );
    }
    let parsed =
        lenient("{\norder replace after encode\n}\n:80 {\nreplace a b\npsl\nrespond ok\n}");
    assert_eq!(parsed.warnings.len(), 3);
    let found = errors(":80 {\nreplace a b\n}");
    assert!(found[0].contains("`replace-response`"), "{found:?}");
}

#[test]
fn of_several_roots_for_the_same_requests_the_last_one_counts() {
    let parsed = config(
        ":80 {\n@a path /a\nroot /srv/first\nroot @a /srv/a\nroot * /srv/last\nroot @a /srv/b\n}",
    );
    let roots: Vec<_> = parsed.sites[0]
        .routes
        .iter()
        .filter_map(|route| match &route.handler {
            Handler::Root(root) => root.as_text(),
            _ => None,
        })
        .collect();
    assert_eq!(roots, ["/srv/b", "/srv/last"]);
}

#[test]
fn missing_parts_are_left_out_on_demand() {
    let parsed = lenient(
        "{\norder rate_limit before basic_auth\ncache\nacme_dns cloudflare {$TOKEN}\nservers {\ntrace\n}\n}\n:80 {\n\
         rate_limit {\nzone x {\nkey {remote_host}\n}\n}\nteapot\nreverse_proxy a:1 {\ntransport http {\nresolvers 10.0.0.1\n}\n}\nrespond ok\n}",
    );
    let left: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
    let names = [
        "order",
        "cache",
        "acme_dns",
        "trace",
        "rate_limit",
        "teapot",
        "resolvers",
    ];
    assert_eq!(left.len(), names.len(), "{left:#?}");
    for (warning, name) in left.iter().zip(names) {
        assert!(
            warning.contains(&format!("`{name}` is left out")),
            "{warning}"
        );
    }
    assert_eq!(parsed.config.sites[0].routes.len(), 2);
    let listener = ListenerAddress::Tcp { ip: None, port: 80 };
    assert_eq!(
        parsed.config.global.limits_of(&listener).max_header_size,
        32 << 10
    );
}

#[test]
fn restrictions_are_never_left_out() {
    let refused = |text: &str| {
        let result = parse_with(
            text,
            "Caddyfile",
            &environment,
            &Memory::default(),
            Strictness::Lenient,
        );
        result.expect_err(text).0[0].message.clone()
    };
    for (text, expected) in [
        (":80 {\n@a {\ngeoip x\n}\nrespond @a 403\n}", "geoip"),
        (":80 {\nrespond @none 403\n}", "@none"),
        (
            "a.test {\ntls {\nclient_auth {\nverifier x\n}\n}\n}",
            "verifier",
        ),
        (":80 {\nroot\n}", "root"),
        (":80 {\nbasic_aut {\na b\n}\n}", "basic_aut"),
    ] {
        let message = refused(text);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn options_of_older_and_newer_files_are_taken() {
    let parsed = config(
        "{\nservers {\nmetrics {\nper_host\n}\n}\ndefault_bind tcp4/127.0.0.1\n}\n\
         :80 {\nencode {\nzstd {\ndisable_checksum\n}\ngzip\n}\n\
         forward_auth a:1 {\nuri /\ncopy_headers A>B C {\nD\n}\n}\n}\n\
         :81 {\nbind tcp6/[::1] tcp/127.0.0.2\n}\n",
    );
    assert_eq!(parsed.global.host_metrics, HostMetrics::Named);
    assert!(parsed.global.metrics);
    for wrong in ["tcp4/::1", "tcp6/127.0.0.1", "udp/127.0.0.1"] {
        let found = errors(&format!(":80 {{\nbind {wrong}\n}}"));
        assert!(found[0].contains("is not an IP address"), "{found:?}");
    }
}

#[test]
fn the_status_of_an_error_may_be_that_of_its_page() {
    let text = ":80 {\nhandle_errors {\nrewrite * /{err.status_code}\nreverse_proxy https://pages.test {\n\
                header_up Host {upstream_hostport}\nreplace_status {err.status_code}\n}\n}\n}\n";
    assert_eq!(warnings(text), [""; 0]);
    let bad = errors(":80 {\nintercept {\nreplace_status 99\n}\n}\n");
    assert_eq!(bad.len(), 1, "{bad:?}");
}

#[test]
fn scripts_of_try_files_may_have_the_query_of_the_request() {
    for directive in ["php_server", "php_fastcgi 127.0.0.1:9000"] {
        let text = format!("{directive} {{\ntry_files {{path}} {{path}}/ /index.php?{{query}}\n}}");
        assert_eq!(warnings(&format!(":80 {{\n{text}\n}}\n")), [""; 0]);
        let Handler::PhpServer(server) = handler(&text) else {
            panic!("{directive}");
        };
        assert_eq!(server.try_files.candidates.len(), 3);
    }
}

#[test]
fn options_of_admin_and_pki_need_not_be_removed() {
    let text = "{\nadmin {\norigins localhost:2019 [::1]:2019\n}\npki {\nca local {\nname \"Tests\"\nroot_cn Root\n}\n}\n}\n\
                :80 {\n}\n";
    let found = warnings(text);
    assert_eq!(found.len(), 3, "{found:?}");
    let default = config(":80 {\n}\n").global.admin;
    assert_eq!(config(text).global.admin, default);
    for (refused, name) in [
        ("admin {\nenforce_origin\n}", "enforce_origin"),
        ("pki {\nca local {\nroot {\ncert a\n}\n}\n}", "root"),
        ("pki {\nca other {\n}\n}", "other"),
    ] {
        let found = errors(&format!("{{\n{refused}\n}}\n:80 {{\n}}\n"));
        assert!(found.iter().all(|error| error.contains(name)), "{found:?}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn words_behind_a_transport_of_the_hub_have_no_effect() {
    let text = ":80 {\nmercure {\ntransport bolt bolt:///data/mercure.db\npublisher_jwt key\nanonymous\n}\n}\n";
    let found = warnings(text);
    assert!(
        found.iter().any(|warning| warning.contains("bolt:///data")),
        "{found:?}"
    );
}
