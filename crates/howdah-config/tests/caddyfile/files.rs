//! Complete files: global options, addresses, imports, and files of other projects.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::{Memory, config, environment, errors, full};
use howdah_config::model::{
    Address, Config, Handler, Ini, Limits, ListenerAddress, LogFormat, LogLevel, Part, Php,
    PhpExecutable, Placeholder, PoolLimits, Preload, ProxyPolicy, ProxyProtocol, WorkersMax,
};
use howdah_config::{LoadError, load, parse};

fn addresses(text: &str) -> Vec<(Option<String>, u16)> {
    let sites = config(text).sites;
    sites
        .into_iter()
        .flat_map(|site| site.addresses)
        .map(|Address { host, port, .. }| (host, port))
        .collect()
}

#[test]
fn global_options() {
    let global = config(
        "{\ndebug\nhttp_port 8000\ngrace_period 1m\nadmin off\nauto_https disable_redirects\n\
         skip_install_trust\npersist_config off\nlog {\nlevel warn\nformat console\n}\nservers {\n\
         timeouts {\nread_header 1s\nread_body 2s\nwrite 3s\nidle 4s\n}\nmax_header_size 16KiB\n\
         max_body_size 1GB\nmemory_body_size 4096\nmax_connections 7\n}\nfrankenphp {\n\
         num_threads 3\nmax_threads 9\nmax_idle_time 1m\nmax_requests 100\nmax_wait_time 5s\nqueue_length 6\ndrop_abandoned\nrequest_timeout 1m30s\n\
         response_buffer 2MiB\nresponse_spool 9MiB\nfront_threads 2\nphp /opt/php\nphp_ini memory_limit 1G\nphp_ini {\n\
         display_errors 0\nmemory_limit 2G\n}\n}\n}\n",
    )
    .global;
    assert!(global.debug);
    assert_eq!(global.http_port, Some(8000));
    assert_eq!(global.grace_period, Some(Duration::from_mins(1)));
    for zero in ["0", "0s"] {
        let text = format!("{{\ngrace_period {zero}\n}}\n:80 {{\n}}");
        let unlimited = config(&text).global.grace_period;
        assert_eq!(unlimited, Some(Duration::MAX));
    }
    assert_eq!(global.log.level, Some(LogLevel::Warn));
    assert_eq!(global.log.format, Some(LogFormat::Console));
    assert_eq!(
        global.limits,
        Limits {
            read_header: Duration::from_secs(1),
            read_body: Duration::from_secs(2),
            write: Duration::from_secs(3),
            idle: Duration::from_secs(4),
            max_header_size: 16_384,
            max_body_size: 1_000_000_000,
            memory_body_size: 4096,
            log_credentials: false,
            ..Limits::default()
        }
    );
    assert_eq!(global.max_connections, Some(7));
    assert_eq!(
        global.php,
        Php {
            executable: Some(PhpExecutable::File("/opt/php".into())),
            workers: Some(3),
            workers_max: WorkersMax::Number(9),
            front_threads: Some(2),
            ini: Ini {
                php_ini: vec![
                    ("display_errors".into(), "0".into()),
                    ("memory_limit".into(), "2G".into())
                ],
                ..Ini::default()
            },
            limits: PoolLimits {
                max_idle_time: Duration::from_mins(1),
                max_requests: 100,
                queue_length: 6,
                max_wait_time: Duration::from_secs(5),
                drop_abandoned: true,
                request_timeout: Some(Duration::from_secs(90)),
                response_buffer: 2 << 20,
                response_spool: Some(9 << 20),
                ..PoolLimits::default()
            },
            user: None,
            preload: Preload::Off,
            environment: howdah_config::model::Environment::default(),
        }
    );
}

#[test]
fn an_empty_file_is_the_defaults_and_a_warning() {
    let parsed = full("# nothing\n").unwrap();
    assert_eq!(parsed.config, Config::default());
    assert_eq!(
        parsed.warnings[0].to_string(),
        "Caddyfile:1:1: the file has no site, so nothing is served"
    );
    assert_eq!(parsed.files, ["Caddyfile"]);
}

#[test]
fn addresses_of_sites() {
    let host = |host: &str, port| (Some(host.to_owned()), port);
    for (text, expected) in [
        (":8080 {\n}", vec![(None, 8080)]),
        (":8080", vec![(None, 8080)]),
        ("http://", vec![(None, 80)]),
        ("http://:8080", vec![(None, 8080)]),
        ("http://Example.com", vec![host("example.com", 80)]),
        ("http://example.com:81", vec![host("example.com", 81)]),
        ("HTTP://*.example.com", vec![host("*.example.com", 80)]),
        ("example.com:80", vec![host("example.com", 80)]),
        ("http://[::1]:8080", vec![host("::1", 8080)]),
        ("http://[2001:DB8::1]", vec![host("2001:db8::1", 80)]),
        (
            "http://a, http://b {\n}",
            vec![host("a", 80), host("b", 80)],
        ),
        (
            "http://a,\nhttp://b\n{\n}",
            vec![host("a", 80), host("b", 80)],
        ),
        (
            "http://a http://b {\n}\n:81 {\n}",
            vec![host("a", 80), host("b", 80), (None, 81)],
        ),
        (
            "{\nhttp_port 8000\n}\nhttp://a {\n}\nb:8000 {\n}",
            vec![host("a", 8000), host("b", 8000)],
        ),
        (":{$PORT}", vec![(None, 8080)]),
        ("{$NONE::8081} {\n}", vec![(None, 8081)]),
    ] {
        assert_eq!(addresses(text), expected, "{text}");
    }
}

#[test]
fn the_same_port_on_other_addresses_is_another_site() {
    let text = ":80 {\nbind 127.0.0.1\n}\n:80 {\nbind 127.0.0.2\n}";
    assert_eq!(config(text).sites.len(), 2);
}

#[test]
fn a_single_site_needs_no_braces() {
    let with = config(":80 {\nroot * public\nphp_server {\nindex a.php\n}\n}\n");
    let without = config("# a comment\n:80\n\nroot * public\nphp_server {\n\tindex a.php\n}\n");
    assert_eq!(with, without);
    assert_eq!(config(":80\n{$LINES}").sites[0].routes.len(), 2);
}

fn imported(text: &str, files: &[(&'static str, &'static str)]) -> Result<Config, String> {
    let memory = Memory(files.iter().copied().collect::<BTreeMap<_, _>>());
    parse(text, "conf/Caddyfile", &environment, &memory)
        .map(|parsed| parsed.config)
        .map_err(|errors| errors.to_string())
}

#[test]
fn snippets_take_arguments() {
    let text = "(answer) {\n\trespond {args[0]} \"{args[1]}, {args[0]}\"\n}\n(all) {\n\t@a path {args[:]}\n\trespond @a {args[1:2]}\n}\n(outer) {\n\timport answer /{args[0]} 1{args[1]}\n}\n(old) {\n\trespond {args.0} \"{args.1}-{args.0}\"\n}\n";
    let expect = |short: &str, long: &str| {
        let site = config(&format!("{text}:80 {{\n{short}\n}}"));
        assert_eq!(site, config(&format!(":80 {{\n{long}\n}}")), "{short}");
    };
    expect("import answer /a b", "respond /a \"b, /a\"");
    expect("import all /a /b /c", "@a path /a /b /c\nrespond @a /b");
    expect("import outer x y", "respond /x \"1y, /x\"");
    expect("import old /a b", "respond /a \"b-/a\"");
    // A brace in an argument is text.
    expect("import answer * \"{\"", "respond * \"{, *\"");
}

#[test]
fn files_are_imported() {
    let files = [
        (
            "conf/site.conf",
            ":80 {\nimport parts/*.conf\nimport none/*.conf\n}",
        ),
        ("conf/parts/a.conf", "root * public\n# comment"),
        ("conf/parts/b.conf", "php_server"),
        ("conf/loop.conf", "import loop.conf"),
        ("conf/snippets", "(s) {\n\trespond {args[0]}\n}\n"),
        ("conf/args", "root * {args[0]}"),
    ];
    let expected = config(":80 {\nroot * public\nphp_server\n}").sites[0]
        .routes
        .len();
    assert_eq!(
        imported("import site.conf", &files).unwrap().sites[0]
            .routes
            .len(),
        expected
    );
    let text = "import snippets\n:80 {\nimport s ok\nimport args public\n}";
    assert_eq!(
        imported(text, &files).unwrap().sites[0].routes,
        config(":80 {\nrespond ok\nroot * public\n}").sites[0].routes
    );
    for (text, expected) in [
        (
            "import loop.conf",
            "conf/loop.conf:1:8: `conf/loop.conf` imports itself; remove one of the imports",
        ),
        (
            "import Caddyfile",
            "conf/Caddyfile:1:8: `conf/Caddyfile` imports itself; remove one of the imports",
        ),
        (
            "import gone",
            "conf/Caddyfile:1:8: there is no snippet and no file `conf/gone`; a snippet must be \
             defined above its import",
        ),
        (
            ":80 {\nimport args\n}",
            "conf/args:1:8: `{args[0]}` cannot be filled: 0 arguments were given to the import; \
             `{args[0]}` is the first argument; `{args[:]}`, a word of its own, is all of them",
        ),
        (
            "(a) {\nimport b\n}\n(b) {\nimport a\n}\n:80 {\nimport a\n}",
            "conf/Caddyfile:5:8: `(a)` imports itself; remove one of the imports",
        ),
        (
            "(ab) {\n}\n(ab) {\n}",
            "conf/Caddyfile:3:1: the snippet `(ab)` is defined twice; rename one of them",
        ),
        (
            "(answer) {\n}\n:80 {\nimport anwser\n}",
            "conf/Caddyfile:4:8: there is no snippet and no file `conf/anwser`; did you mean the \
             snippet `answer`?",
        ),
    ] {
        assert_eq!(imported(text, &files).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn imports_that_multiply_are_stopped() {
    let mut text = String::from("(s0) {\n\trespond a\n}\n");
    for level in 1..30 {
        let import = format!("import s{}\n", level - 1);
        text.extend(["(s", &level.to_string(), ") {\n", &import, &import, "}\n"]);
    }
    text.push_str(":80 {\n\timport s29\n}\n");
    let errors = errors(&text);
    assert!(
        errors[0].contains("imports add more than 200000 words"),
        "{errors:?}"
    );
}

#[test]
fn loading_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let main = folder.path().join("Caddyfile");
    let reason = |path: &std::path::Path| {
        let error = load(path).expect_err("cannot be read");
        assert!(matches!(error, LoadError::Read { .. }));
        error.to_string()
    };
    let unread = format!("cannot read {}: ", main.display());
    assert_eq!(
        reason(&main),
        format!(
            "{unread}No such file or directory (os error 2); `--config` names a different file, \
             and `howdah init` writes one for an application"
        )
    );
    assert!(reason(folder.path()).ends_with(": Is a directory (os error 21)"));
    std::fs::write(&main, b":80 {\nrespond \xff\n}").unwrap();
    assert_eq!(
        reason(&main),
        format!("{unread}stream did not contain valid UTF-8")
    );
    write("Caddyfile", "import sites-*\n");
    write("sites-b", ":81 {\n}");
    write("sites-a", ":80 {\n\tfile_server\n}");
    write(".sites-c", "not read");
    let parsed = load(&main).unwrap();
    let ports: Vec<_> = parsed
        .config
        .sites
        .iter()
        .map(|site| site.addresses[0].port)
        .collect();
    assert_eq!(ports, [80, 81]);
    assert_eq!(parsed.files.len(), 3);
    let Handler::FileServer(files) = &parsed.config.sites[0].routes[0].handler else {
        panic!("{parsed:?}")
    };
    assert_eq!(
        files.hide, parsed.files,
        "the configuration itself is not sent"
    );
    write("sites-b", ":81 {\n\tphp_servr\n}");
    let error = load(&main).unwrap_err().to_string();
    let file = folder.path().join("sites-b");
    assert_eq!(
        error,
        format!(
            "{}:2:2: unknown directive `php_servr`; did you mean `php_server`?",
            file.display()
        )
    );
}

#[test]
fn load_balancers_are_named() {
    let protocol = |block: &str| {
        let text = format!("{{\nservers {{\nlistener_wrappers {{\n{block}\n}}\n}}\n}}\n:80");
        config(&text).global.limits.proxy_protocol
    };
    assert_eq!(protocol("tls"), None);
    let usual = ProxyProtocol::default();
    assert_eq!(usual.timeout, Duration::from_secs(5));
    assert_eq!(protocol("proxy_protocol\ntls"), Some(usual));
    let own = protocol(
        "proxy_protocol {\ntimeout 0\nallow 10.0.0.0/8 ::1\nallow 192.0.2.0/24\ndeny 10.0.9.0/24\n\
         fallback_policy REQUIRE\n}",
    );
    let own = own.expect("it is on");
    assert_eq!(own.timeout, Duration::MAX);
    for (address, policy) in [
        ("10.0.0.1", ProxyPolicy::Use),
        ("::ffff:10.0.0.1", ProxyPolicy::Use),
        ("::1", ProxyPolicy::Use),
        ("192.0.2.9", ProxyPolicy::Use),
        ("10.0.9.1", ProxyPolicy::Reject),
        ("198.51.100.1", ProxyPolicy::Require),
    ] {
        assert_eq!(
            own.policy(address.parse().expect("an address")),
            policy,
            "{address}"
        );
    }
    for (block, expected) in [
        ("tls\nproxy_protocol", "`proxy_protocol` comes after `tls`"),
        (
            "proxy_protocol {\nfallback_policy maybe\n}",
            "unknown policy `maybe`",
        ),
        (
            "proxy_protocol {\nallow 10.0.0.0/99\n}",
            "`10.0.0.0/99` is neither",
        ),
        ("http_redirect", "`http_redirect` is not supported"),
    ] {
        let text = format!("{{\nservers {{\nlistener_wrappers {{\n{block}\n}}\n}}\n}}\n:80");
        let found = errors(&text);
        assert!(found[0].contains(expected), "{found:?}");
    }
}

#[test]
fn servers_of_one_listener() {
    let parsed = full(
        "{\nservers {\nmax_header_size 1KiB\nmax_connections 5\n}\nservers [::1]:8080 {\ntimeouts {\nidle 1s\n}\n\
         trusted_proxies static 10.0.0.0/8\n}\nservers :443 {\nprotocols h1 h2\n}\nservers :80 {\nlog_credentials\n\
         }\nservers unix//run/a.sock {\nmax_body_size 9\n}\nservers unix//run/b.sock|0222 {\nmax_body_size 8\n}\n}\n\
         a.test {\n}\nhttp://:8080 {\nbind 127.0.0.1 ::1 unix//run/a.sock|0222 unix//run/b.sock|0222\n}\n",
    )
    .expect("valid");
    assert_eq!(parsed.warnings, []);
    let global = parsed.config.global;
    assert_eq!(global.max_connections, Some(5));
    let limits = |address: ListenerAddress| global.limits_of(&address);
    let tcp = |ip: Option<&str>, port| ListenerAddress::Tcp {
        ip: ip.map(|ip| ip.parse().expect("an address")),
        port,
    };
    // This listener has no block of its own and gets the default one.
    assert_eq!(limits(tcp(Some("127.0.0.1"), 8080)).max_header_size, 1024);
    // Blocks are not merged.
    let own = limits(tcp(Some("::1"), 8080));
    assert_eq!(own.idle, Duration::from_secs(1));
    assert_eq!((own.proxies.ranges.len(), own.max_header_size), (1, 32_768));
    assert!(!limits(tcp(None, 443)).http3);
    // Listeners of the redirects to HTTPS.
    assert!(limits(tcp(None, 80)).log_credentials);
    for (path, size) in [("/run/a.sock", 9), ("/run/b.sock", 8)] {
        let own = limits(ListenerAddress::Unix(path.into()));
        assert_eq!(own.max_body_size, size, "{path}");
    }
    assert_eq!(global.all_limits().count(), 6);
}

#[test]
fn protocols_of_a_bind() {
    let parsed = full(
        "{\nservers {\nmax_header_size 1KiB\n}\nservers [::1]:8080 {\nprotocols h1\nmax_body_size 9\n}\n\
         default_bind 127.0.0.2 {\nprotocols h1 h2\n}\n}\n\
         http://:8080 {\nbind 127.0.0.1 unix//run/a.sock {\nprotocols h1\n}\nbind ::1 {\nprotocols h1 h2c\n}\n\
         bind 127.0.0.3\n}\nhttp://:8081 {\n}\n",
    )
    .expect("valid");
    assert_eq!(parsed.warnings, []);
    let global = parsed.config.global;
    let limits = |ip: &str, port| {
        let ip = Some(ip.parse().expect("an address"));
        global.limits_of(&ListenerAddress::Tcp { ip, port })
    };
    let one = limits("127.0.0.1", 8080);
    assert_eq!((one.http2, one.h2c, one.http3), (false, false, false));
    assert_eq!(one.max_header_size, 1024);
    // The rest of its `servers` remains.
    let one = limits("::1", 8080);
    assert_eq!((one.http2, one.h2c, one.http3), (false, true, false));
    assert_eq!(one.max_body_size, 9);
    assert!(limits("127.0.0.3", 8080).h2c);
    let one = limits("127.0.0.2", 8081);
    assert_eq!((one.http2, one.h2c, one.http3), (true, false, false));
    let socket = ListenerAddress::Unix("/run/a.sock".into());
    assert!(!global.limits_of(&socket).h2c);

    let found = errors(
        "http://a.test {\nbind ::1 {\nprotocols h1\n}\n}\nhttp://b.test {\nbind ::1 {\nprotocols h1 h2c\n}\n}\n",
    );
    assert_eq!(
        found,
        [
            "Caddyfile:7:1: `[::1]:80` has different `protocols` here; write the same as at Caddyfile:2:1"
        ]
    );
}

#[test]
fn servers_of_a_listener_that_no_site_has() {
    for (options, sites, warning) in [
        (
            "servers :443 {\n}",
            ":80 {\n}\nhttp://a.test:80 {\nbind 127.0.0.1\n}",
            "2:9: no site listens on `:443`, so these options of `servers` have no effect; sites listen on `:80`, `127.0.0.1:80`",
        ),
        (
            "servers :80 {\n}",
            ":80 {\nbind ::1\n}",
            "2:9: no site listens on `:80`, so these options of `servers` have no effect; sites listen on `[::1]:80`",
        ),
        (
            "servers unix//run/a.sock|0200 {\n}",
            ":80 {\nbind unix//run/a.sock|0222\n}",
            "2:9: no site listens on `unix//run/a.sock|0200`, so these options of `servers` have no effect; sites listen on `unix//run/a.sock|0222`",
        ),
        (
            "servers :80 {\nmetrics\n}",
            ":80",
            "3:1: `metrics` counts the requests of all listeners: use the global option of that name",
        ),
    ] {
        let parsed = full(&format!("{{\n{options}\n}}\n{sites}\n")).expect("valid");
        let found: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(found, [format!("Caddyfile:{warning}")], "{options}");
    }
}

/// `{file.PATH}` is read with the configuration. The content of the file is taken literally.
#[test]
fn placeholders_for_files() {
    let files = Memory(BTreeMap::from([
        ("/run/secrets/key", "one{path}\\{ two\r\n"),
        ("token", "abc\n\n"),
    ]));
    let read = |text: &str| parse(text, "Caddyfile", &environment, &files);
    let parsed = read(
        ":80 {\nmercure {\npublisher_jwt {file./run/secrets/key}\nanonymous\n}\n\
         respond \"a {file./run/secrets/key} {method} \\{file.x}\"\n\
         @is expression `path('/{file./run/secrets/key}')`\nrespond @is yes\n}",
    )
    .expect("valid");
    let key = parsed.config.hubs[0].publisher.as_ref().expect("a key");
    assert_eq!(key.key.as_text(), Some("one{path}\\{ two"));
    let Handler::Respond { body, .. } = &parsed.config.sites[0]
        .routes
        .last()
        .expect("a route")
        .handler
    else {
        panic!("{:?}", parsed.config.sites[0].routes)
    };
    assert_eq!(
        body.parts,
        [
            Part::Text("a one{path}\\{ two ".into()),
            Part::Placeholder(Placeholder::Method),
            Part::Text(" {file.x}".into()),
        ]
    );
    // The file is watched, and the admin API does not show the secret.
    assert_eq!(parsed.files, ["Caddyfile", "/run/secrets/key"]);
    assert!(!format!("{:?}", parsed.outline).contains("two"));
    // Only one line end is removed, and a header field never gets two lines.
    let error = read(":80 {\nrequest_header Authorization \"Bearer {file.token}\"\n}").unwrap_err();
    assert!(error.to_string().starts_with("Caddyfile:2:"), "{error}");
    let big = "x".repeat(1024 * 1024 + 1).leak();
    let files = Memory(BTreeMap::from([("big", &*big)]));
    let error = parse(
        ":80 {\nrespond {file.big}\n}",
        "Caddyfile",
        &environment,
        &files,
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "Caddyfile:2:9: the file `big` has more than 1 MiB"
    );
}
