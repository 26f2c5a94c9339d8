//! Files that other projects write or ship. They must work unchanged. Each directive without an
//! effect is a warning.

use crate::common::{Memory, config};
use howdah_config::model::{
    Admin, AdminAddress, Edit, Filter, Handler, LogFormat, Matcher, Part, Placeholder, Route,
    Template,
};
use howdah_config::{ParsedConfig, fmt, parse};

fn read(text: &str, env: &[(&str, &str)]) -> ParsedConfig {
    let lookup = |name: &str| {
        let found = env.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let read = |text: &str| {
        parse(text, "Caddyfile", &lookup, &Memory::default())
            .unwrap_or_else(|errors| panic!("{text}\n{errors}"))
    };
    let parsed = read(text);
    assert_eq!(
        read(&fmt(text)).config,
        parsed.config,
        "`fmt` changed it:\n{}",
        fmt(text)
    );
    parsed
}

fn warnings(parsed: &ParsedConfig) -> Vec<String> {
    parsed.warnings.iter().map(ToString::to_string).collect()
}

/// Names of the handlers, including those in chains.
fn handlers(routes: &[Route]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for route in routes {
        match &route.handler {
            Handler::Chain(routes) => {
                names.push("chain");
                names.extend(handlers(routes));
            }
            Handler::Root(_) => names.push("root"),
            Handler::Encode(_) => names.push("encode"),
            Handler::PhpServer(_) => names.push("php_server"),
            Handler::FileServer(_) => names.push("file_server"),
            Handler::Mercure(_) => names.push("mercure"),
            other => panic!("{other:?}"),
        }
    }
    names
}

const CODEIGNITER: &str = r"
# Made by a command of the framework.
{
    frankenphp {
        worker {
            file public/frankenphp-worker.php
            # num 16
            watch app/**/*.php
            watch vendor/**/*.php
            watch .env
        }
    }

    # No admin API
    admin off
}

:8080 {
    root * public
    encode zstd br gzip
    php_server {
        try_files {path} frankenphp-worker.php
    }
    file_server
}
";

#[test]
fn codeigniter() {
    let parsed = read(CODEIGNITER, &[]);
    assert!(parsed.warnings.is_empty(), "{:?}", warnings(&parsed));
    let ParsedConfig { config, .. } = parsed;
    assert_eq!(config.global.admin, Admin::Off);
    let pool = &config.workers[0];
    assert_eq!(pool.name, "frankenphp-worker");
    assert_eq!(pool.file, "/public/frankenphp-worker.php");
    assert_eq!(pool.root.as_deref(), Some("/public"));
    assert_eq!(pool.settings.workers, None);
    assert_eq!(
        pool.options.watch,
        ["app/**/*.php", "vendor/**/*.php", ".env"]
    );
    let routes = &config.sites[0].routes;
    assert_eq!(
        handlers(routes),
        ["root", "encode", "php_server", "file_server"]
    );
    let Handler::PhpServer(server) = &routes[2].handler else {
        panic!("{routes:?}");
    };
    assert_eq!(server.script.workers[0].pool, 0);
    let candidates = &server.try_files.candidates;
    assert_eq!(candidates[0].parts, [Part::Placeholder(Placeholder::Path)]);
    assert_eq!(candidates[1], Template::text("frankenphp-worker.php"));
}

/// Octane's stub of 2024: a worker on one line, and the front controller as `index`.
const OCTANE: &str = r#"
{
    {$CADDY_GLOBAL_OPTIONS}

    admin localhost:{$CADDY_SERVER_ADMIN_PORT}

    frankenphp {
        worker "{$APP_PUBLIC_PATH}/frankenphp-worker.php" {$CADDY_SERVER_WORKER_COUNT}
    }
}

{$CADDY_SERVER_SERVER_NAME} {
    log {
        level {$CADDY_SERVER_LOG_LEVEL}

        # What a hub may get in its query
        format filter {
            wrap {$CADDY_SERVER_LOGGER}
            fields {
                uri query {
                    replace authorization REDACTED
                }
            }
        }
    }

    route {
        root * "{$APP_PUBLIC_PATH}"
        encode zstd gzip

        {$CADDY_SERVER_EXTRA_DIRECTIVES}

        php_server {
            index frankenphp-worker.php
            resolve_root_symlink
        }
    }
}
"#;

/// Octane's stub of 2025 and later: a block for the worker, separate static files, and error pages.
const OCTANE_NEW: &str = r#"
{
    {$CADDY_GLOBAL_OPTIONS}

    admin {$CADDY_SERVER_ADMIN_HOST}:{$CADDY_SERVER_ADMIN_PORT}

    frankenphp {
        worker {
            file "{$APP_PUBLIC_PATH}/frankenphp-worker.php"
            {$CADDY_SERVER_WORKER_DIRECTIVE}
            {$CADDY_SERVER_WATCH_DIRECTIVES}
        }
    }
}

{$CADDY_EXTRA_CONFIG}

{$CADDY_SERVER_SERVER_NAME} {
    log {
        level {$CADDY_SERVER_LOG_LEVEL}
        format filter {
            wrap {$CADDY_SERVER_LOGGER}
            fields {
                uri query {
                    replace authorization REDACTED
                }
            }
        }
    }

    route {
        root * "{$APP_PUBLIC_PATH}"
        encode zstd br gzip

        {$CADDY_SERVER_EXTRA_DIRECTIVES}

        @static {
            path *.css *.js *.png *.svg *.woff2
        }
        file_server @static

        php_server {
            try_files {path} frankenphp-worker.php
            resolve_root_symlink
        }
    }

    handle_errors {
        header Content-Type text/plain
        respond "{err.status_code} {err.status_text}" {err.status_code}
    }
}
"#;

const OCTANE_ENV: [(&str, &str); 10] = [
    ("CADDY_GLOBAL_OPTIONS", "auto_https disable_redirects"),
    ("CADDY_SERVER_ADMIN_HOST", "localhost"),
    ("CADDY_SERVER_ADMIN_PORT", "2020"),
    ("APP_PUBLIC_PATH", "/srv/app/public"),
    ("CADDY_SERVER_WORKER_COUNT", "4"),
    ("CADDY_SERVER_WORKER_DIRECTIVE", "num 4"),
    (
        "CADDY_SERVER_WATCH_DIRECTIVES",
        "watch app\nwatch config/**/*.php",
    ),
    ("CADDY_SERVER_SERVER_NAME", "http://:8001"),
    ("CADDY_SERVER_LOG_LEVEL", "WARN"),
    ("CADDY_SERVER_LOGGER", "json"),
];

#[test]
fn octane_of_both_ages() {
    for (text, handlers_expected, watch) in [
        (
            OCTANE,
            vec!["chain", "root", "encode", "php_server"],
            vec![],
        ),
        (
            OCTANE_NEW,
            vec!["chain", "root", "encode", "file_server", "php_server"],
            vec!["app", "config/**/*.php"],
        ),
    ] {
        let config = read(text, &OCTANE_ENV).config;
        let expected = AdminAddress::Tcp {
            host: "localhost".into(),
            port: 2020,
        };
        assert_eq!(config.global.admin, Admin::On(expected));
        let [pool] = config.workers.as_slice() else {
            panic!("{:?}", config.workers);
        };
        assert_eq!(pool.file, "/srv/app/public/frankenphp-worker.php");
        assert_eq!(pool.root.as_deref(), Some("/srv/app/public"));
        assert_eq!(pool.settings.workers, Some(4));
        assert_eq!(pool.options.watch, watch);
        let [site] = config.sites.as_slice() else {
            panic!("{:?}", config.sites);
        };
        assert_eq!(
            (site.addresses[0].host.as_deref(), site.addresses[0].port),
            (None, 8001)
        );
        let log = &site.access_logs[0];
        assert_eq!(log.format.encoding, Some(LogFormat::Json));
        let edit = Edit::Replace("authorization".into(), "REDACTED".into());
        let path = ["request", "uri"].map(str::to_owned).to_vec();
        assert_eq!(log.format.filters, [(path, Filter::Query(vec![edit]))]);
        assert!(log.errors_only);
        assert_eq!(handlers(&site.routes), handlers_expected);
    }
}

#[test]
fn octane_alone_does_not_get_a_hub() {
    assert_eq!(warnings(&read(OCTANE_NEW, &OCTANE_ENV)), [""; 0]);
    // Without a number and without directives, as Octane calls it by default. Then with a hub.
    let mut env = OCTANE_ENV.to_vec();
    env.retain(|(name, _)| !name.starts_with("CADDY_SERVER_W"));
    env.push((
        "CADDY_SERVER_EXTRA_DIRECTIVES",
        "mercure {\npublisher_jwt key HS256\nanonymous\n}",
    ));
    for text in [OCTANE, OCTANE_NEW] {
        let parsed = read(text, &env);
        assert_eq!(parsed.config.workers[0].settings.workers, None);
        assert!(parsed.config.hubs[0].anonymous);
        assert_eq!(
            handlers(&parsed.config.sites[0].routes)[..2],
            ["chain", "root"]
        );
    }
}

#[test]
fn static_files_of_octane_have_a_matcher() {
    let config = read(OCTANE_NEW, &OCTANE_ENV).config;
    let Handler::Chain(routes) = &config.sites[0].routes[0].handler else {
        panic!("{config:?}");
    };
    assert!(
        matches!(&routes[2].matcher, Some(Matcher::Path(paths)) if paths.len() == 5),
        "{:?}",
        routes[2]
    );
}

/// The file in FrankenPHP's image.
const FRANKENPHP: &str = r"
{
	skip_install_trust

	{$CADDY_GLOBAL_OPTIONS}

	frankenphp {
		{$FRANKENPHP_CONFIG}
	}
}

{$CADDY_EXTRA_CONFIG}

{$SERVER_NAME:localhost} {
	#log {
	#	format filter {
	#		request>uri query {
	#			replace authorization REDACTED
	#		}
	#	}
	#}

	root {$SERVER_ROOT:public/}
	encode zstd br gzip

	# A hub, and preloading
	#mercure {
	#}
	#vulcain

	{$CADDY_SERVER_EXTRA_DIRECTIVES}

	php_server {
		#worker /path/to/your/worker.php
	}
}

import Caddyfile.d/*.caddyfile
";

#[test]
fn the_image_of_frankenphp() {
    let parsed = read(FRANKENPHP, &[]);
    assert_eq!(
        parsed.config.sites,
        config("localhost {\nroot public/\nencode zstd br gzip\nphp_server\n}").sites
    );
    assert_eq!(
        warnings(&parsed),
        ["Caddyfile:38:8: no file matches `Caddyfile.d/*.caddyfile`"]
    );
}

#[test]
fn settings_of_users_of_the_image() {
    let with_all = FRANKENPHP.replace("\t#", "\t").replace(
        "mercure {\n\t}",
        "mercure {\n\t\tpublisher_jwt {$JWT_KEY}\n\t\tanonymous\n\t}",
    );
    let parsed = read(
        &with_all.replace("A hub, and preloading", "# A hub, and preloading"),
        &[
            ("SERVER_NAME", ":80"),
            ("SERVER_ROOT", "/app/public"),
            (
                "FRANKENPHP_CONFIG",
                "worker ./public/index.php 2\nnum_threads 4\nmax_threads auto",
            ),
            (
                "CADDY_GLOBAL_OPTIONS",
                "debug\norder php_server before file_server\norder php before file_server",
            ),
            (
                "CADDY_EXTRA_CONFIG",
                "http://other.example {\nrespond other\n}",
            ),
            ("CADDY_SERVER_EXTRA_DIRECTIVES", "header -Server"),
            ("JWT_KEY", "a-secret-of-at-least-32-bytes-of-text"),
        ],
    );
    let config = &parsed.config;
    assert_eq!(config.sites.len(), 2);
    assert_eq!(config.hubs.len(), 1);
    assert_eq!(config.workers.len(), 2);
    assert_eq!(config.workers[0].file, "/public/index.php");
    assert_eq!(config.workers[0].settings.workers, Some(2));
    assert_eq!(config.workers[1].file, "/path/to/your/worker.php");
    assert_eq!(config.workers[1].root.as_deref(), Some("/app/public"));
    assert_eq!(config.global.php.workers, Some(4));
    let printed = warnings(&parsed).join("\n");
    assert!(printed.contains("`vulcain` has no effect"), "{printed}");
}

#[test]
fn addresses_of_the_admin_api() {
    let tcp = |host: &str, port| {
        Admin::On(AdminAddress::Tcp {
            host: host.into(),
            port,
        })
    };
    for (option, expected, shown) in [
        ("", Admin::Default, ""),
        ("admin off", Admin::Off, ""),
        (
            "admin localhost:2019",
            tcp("localhost", 2019),
            "localhost:2019",
        ),
        ("admin LOCALHOST", tcp("localhost", 2019), "localhost:2019"),
        ("admin :2020", tcp("", 2020), ":2020"),
        ("admin 127.0.0.1:1", tcp("127.0.0.1", 1), "127.0.0.1:1"),
        ("admin tcp/[::1]:5", tcp("::1", 5), "[::1]:5"),
        (
            "admin unix//run/a.sock",
            Admin::On(AdminAddress::Unix("/run/a.sock".into())),
            "unix//run/a.sock",
        ),
    ] {
        let admin = config(&format!("{{\n{option}\n}}\n:80 {{\n}}"))
            .global
            .admin;
        assert_eq!(admin, expected, "{option}");
        if let Admin::On(address) = admin {
            assert_eq!(address.to_string(), shown);
        }
    }
    assert_eq!(AdminAddress::default().to_string(), "localhost:2019");
}
