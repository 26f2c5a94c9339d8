//! Complete files as projects and their users write them. Each is parsed with the environment that
//! its project sets, and may cause only the warnings named here.

use crate::common::Memory;
use howdah_config::model::{Handler, Matcher, Route, StatusRange};
use howdah_config::{ParsedConfig, fmt, parse};

/// A file of a project.
struct Project {
    name: &'static str,
    text: &'static str,
    env: &'static [(&'static str, &'static str)],
    /// Handlers of its first site, as written by [`outline`].
    does: &'static str,
    /// Warnings about the file, without their positions.
    warnings: &'static [&'static str],
}

fn read(text: &str, env: &[(&str, &str)]) -> ParsedConfig {
    let lookup = |name: &str| {
        let found = env.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    parse(text, "Caddyfile", &lookup, &Memory::default())
        .unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

/// Names of the handlers in order, with `?` after those that have a matcher.
fn outline(routes: &[Route]) -> String {
    let name = |route: &Route| {
        let name = match &route.handler {
            Handler::Root(_) => "root",
            Handler::Header(_) | Handler::DeferredHeader(_) => "header",
            Handler::Encode(_) => "encode",
            Handler::Redirect { .. } => "redir",
            Handler::Rewrite(_) => "rewrite",
            Handler::StripPrefix(_) => "strip",
            Handler::TryFiles(..) => "try_files",
            Handler::Chain(inner) => &format!("({})", outline(inner)),
            Handler::HandleErrors(_) => "errors",
            Handler::Respond { .. } => "respond",
            Handler::Mercure(_) => "mercure",
            Handler::LogSkip => "log_skip",
            Handler::PhpServer(server) if server.fastcgi.is_some() => "php_fastcgi",
            Handler::PhpServer(_) => "php_server",
            Handler::Php(_) => "php",
            Handler::FileServer(_) => "file_server",
            Handler::RequestHeader(_) => "request_header",
            Handler::RequestBody { .. } => "request_body",
            Handler::BasicAuth(_) => "basic_auth",
            Handler::Intercept(_) => "intercept",
            Handler::Error { .. } => "error",
            Handler::ReverseProxy(_) => "reverse_proxy",
            Handler::ForwardAuth(_) => "forward_auth",
            Handler::Map(_) => "map",
            other => panic!("{other:?}"),
        };
        let matcher = if route.matcher.is_some() { "?" } else { "" };
        format!("{name}{matcher}")
    };
    routes.iter().map(name).collect::<Vec<_>>().join(" ")
}

const NO_VULCAIN: &str = "`vulcain` has no effect: Vulcain is not part of this version";

const JWT: &[(&str, &str)] = &[
    (
        "MERCURE_PUBLISHER_JWT_KEY",
        "key-of-at-least-thirty-two-bytes",
    ),
    (
        "MERCURE_SUBSCRIBER_JWT_KEY",
        "key-of-at-least-thirty-two-bytes",
    ),
    ("MERCURE_TRANSPORT_URL", "local://local"),
    ("PWA_UPSTREAM", "pwa:3000"),
];

const PROJECTS: &[Project] = &[
    Project {
        name: "Symfony in Docker",
        text: r#"
{
	skip_install_trust

	{$CADDY_GLOBAL_OPTIONS}

	frankenphp {
		{$FRANKENPHP_CONFIG}
	}
}

{$CADDY_EXTRA_CONFIG}

{$SERVER_NAME:localhost} {
	log {
		{$CADDY_SERVER_LOG_OPTIONS}
		# Tokens of subscribers are nobody's business
		format filter {
			request>uri query {
				replace authorization REDACTED
			}
		}
	}

	root /srv/app/public
	encode zstd br gzip

	mercure {
		publisher_jwt {env.MERCURE_PUBLISHER_JWT_KEY} {env.MERCURE_PUBLISHER_JWT_ALG}
		subscriber_jwt {env.MERCURE_SUBSCRIBER_JWT_KEY} {env.MERCURE_SUBSCRIBER_JWT_ALG}
		anonymous
		subscriptions
		{$MERCURE_EXTRA_DIRECTIVES}
	}

	vulcain

	{$CADDY_SERVER_EXTRA_DIRECTIVES}

	header ?Permissions-Policy "browsing-topics=()"

	@application {
		not path /.well-known/mercure*
		not file {path}
	}
	rewrite @application index.php

	@script path index.php
	php @script {
		worker {
			file ./public/index.php
			{$FRANKENPHP_WORKER_CONFIG}
		}
	}

	file_server {
		hide *.php
	}
}
"#,
        env: JWT,
        does: "root header rewrite? encode mercure php? file_server",
        warnings: &[NO_VULCAIN],
    },
    Project {
        name: "API Platform",
        text: r#"
{
	{$CADDY_GLOBAL_OPTIONS}

	frankenphp {
		{$FRANKENPHP_CONFIG:worker ./public/index.php}
	}

	order mercure after encode
	order vulcain after reverse_proxy
	order php_server before file_server
}

{$SERVER_NAME:localhost} {
	log {
		format filter {
			wrap console
			fields {
				uri query {
					replace authorization REDACTED
				}
			}
		}
	}

	root * /srv/api/public
	encode zstd gzip

	mercure {
		transport_url {$MERCURE_TRANSPORT_URL:bolt:///data/mercure.db}
		publisher_jwt {env.MERCURE_PUBLISHER_JWT_KEY} {env.MERCURE_PUBLISHER_JWT_ALG}
		subscriber_jwt {env.MERCURE_SUBSCRIBER_JWT_KEY} {env.MERCURE_SUBSCRIBER_JWT_ALG}
		anonymous
		subscriptions
	}

	vulcain

	header ?Link `</docs.jsonld>; rel="http://www.w3.org/ns/hydra/core#apiDocumentation", </.well-known/mercure>; rel="mercure"`
	header ?Permissions-Policy "browsing-topics=()"

	# Pages and their parts are the client application's, but for those of the API
	@pages expression `(
			header({'Accept': '*text/html*'})
			&& !path(
				'/docs*', '/graphql*', '/bundles*', '/contexts*', '/_profiler*', '/_wdt*',
				'*.json*', '*.html', '*.csv', '*.yml', '*.yaml', '*.xml'
			)
		)
		|| path('/favicon.ico', '/manifest.json', '/robots.txt', '/sitemap*', '/_next*', '/__next*')
		|| query({'_rsc': '*'})`
	reverse_proxy @pages http://{$PWA_UPSTREAM}

	php_server
}
"#,
        env: JWT,
        does: "root header header encode mercure reverse_proxy? php_server",
        warnings: &[
            NO_VULCAIN, // in `order`
            NO_VULCAIN,
        ],
    },
    Project {
        name: "Octane, with the errors in its route",
        text: r#"
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

		@assets {
			path *.css *.js *.map *.ico *.png *.svg *.woff2 *.txt *.json
		}
		file_server @assets

		php_server {
			index frankenphp-worker.php
			try_files {path} frankenphp-worker.php
			resolve_root_symlink
		}

		handle_errors {
			header Content-Type "text/html; charset=utf-8"
			respond "<!doctype html><title>{err.status_code}</title><style>body{margin:1em}h1{color:#333}</style><h1>{err.status_text}</h1>" {err.status_code}
		}
	}
}
"#,
        env: &[
            ("CADDY_GLOBAL_OPTIONS", "auto_https disable_redirects"),
            ("CADDY_SERVER_ADMIN_HOST", "localhost"),
            ("CADDY_SERVER_ADMIN_PORT", "2019"),
            ("APP_PUBLIC_PATH", "/srv/laravel/public"),
            ("CADDY_SERVER_SERVER_NAME", "http://:8000"),
            ("CADDY_SERVER_LOG_LEVEL", "INFO"),
            ("CADDY_SERVER_LOGGER", "json"),
        ],
        does: "(errors root encode file_server? php_server)",
        warnings: &[],
    },
    Project {
        name: "WordPress",
        text: r#"
{
	local_certs
	auto_https disable_redirects # the load balancer has done so
	{$CADDY_GLOBAL_OPTIONS}

	frankenphp {
		{$FRANKENPHP_CONFIG}
	}

	order mercure after encode
	order php_server before file_server
	order php before file_server
	order request_header before header
}

{$SERVER_NAME:localhost} {
	@assets {
		file
		path *.ico *.css *.js *.gif *.jpg *.jpeg *.png *.svg *.woff
	}
	@admin {
		path /xmlrpc.php /wp-*
	}
	header @assets Cache-Control max-age=360000
	header @admin Cache-Control no-store
	header Cache-Control max-age=2400

	root * /var/www/html
	encode zstd br gzip

	@forbidden {
		path /wp-config.php /readme.html /wp-content/uploads/*.php
		path *.sql /wp-admin/includes/*
	}
	respond @forbidden "Access denied" 403

	@sensitive path_regexp ^/wp-content/debug[.]log$
	error @sensitive 404

	request_header X-Forwarded-Proto {header.CloudFront-Forwarded-Proto}
	php_server
}
"#,
        env: &[],
        does: "root request_header header? header? header encode error? respond? php_server",
        warnings: &[],
    },
    Project {
        name: "Drupal",
        text: r#"
{
	frankenphp {
		{$FRANKENPHP_CONFIG}
	}
	order php_server before file_server
	order php before file_server
}

{$SERVER_NAME:localhost} {
	root * web/
	encode zstd br gzip

	@hidden path_regexp \..*/.*\.php$
	error @hidden 403

	@vendor path_regexp /vendor/.*\.php$
	error @vendor 404

	@uploads path_regexp ^/sites/[^/]+/files/.*\.php$
	error @uploads 404

	@private path_regexp ^/sites/.*/private/
	error @private 403

	@sources {
		not path /.well-known*
		path_regexp \.(engine|inc|install|make|module|profile|po|sh|.*sql|theme|twig|tpl(\.php)?|xtmpl|yml)(~|\.sw[op]|\.bak)?$|^/(\..*|Entries.*|Root|composer\.(json|lock)|web\.config)$|^\/#.*#$|\.php(~|\.sw[op]|\.bak)$
	}
	error @sources 403

	@assets {
		file
		path *.avif *.css *.js *.png *.svg *.woff2
	}
	header @assets Cache-Control "max-age=31536000,public,immutable"

	{$CADDY_SERVER_EXTRA_DIRECTIVES}

	php_server
}
"#,
        env: &[],
        does: "root header? encode error? error? error? error? error? php_server",
        warnings: &[],
    },
    Project {
        name: "PHP-FPM",
        text: r#"
{
	email admin@example.com
	grace_period 10s
	persist_config off
	servers {
		timeouts {
			read_header 5s
			idle 1m
		}
		trusted_proxies static private_ranges
		trusted_proxies_strict
		client_ip_headers X-Forwarded-For X-Real-IP
		max_header_size 16KB
		enable_full_duplex
		metrics
	}
}

(security) {
	header {
		Strict-Transport-Security max-age=31536000
		X-Content-Type-Options nosniff
		-Server
		-X-Powered-By
		defer
	}
}

www.example.com {
	redir https://example.com{uri} permanent
}

example.com {
	import security
	root * /srv/example/public
	encode zstd gzip
	log {
		output file /var/log/example.log {
			roll_size 100MiB
			roll_keep 5
		}
		format json
	}

	@dot path */.*
	respond @dot 404
	handle /storage/* {
		file_server
	}
	request_body {
		max_size 20MB
	}
	php_fastcgi unix//run/php/php-fpm.sock {
		try_files {path} index.php
		env APP_ENV prod
		resolve_root_symlink
		read_timeout 60s
		capture_stderr
	}
	@script path *.php*
	error @script "Not found" 404
	file_server {
		precompressed br gzip
	}

	handle_errors 404 410 {
		rewrite * /errors/404.html
		file_server
	}
	handle_errors {
		@maintenance expression {err.status_code} == 503
		handle @maintenance {
			respond "Back soon" 503
		}
		respond "{err.status_code} {err.status_text}"
	}
}
"#,
        env: &[],
        does: "redir",
        warnings: &[],
    },
    Project {
        name: "several servers behind one, with health checks and WebSockets",
        text: r#"
{
	default_bind 127.0.0.1
	order basic_auth first
}

(backend) {
	reverse_proxy {args[0]} {
		to {args[1]}
		lb_policy least_conn
		lb_try_duration 5s
		lb_try_interval 250ms
		health_uri /up
		health_interval 10s
		health_timeout 2s
		health_status 2xx
		fail_duration 30s
		max_fails 3
		unhealthy_status 5xx
		header_up Host {upstream_hostport}
		header_up X-Real-IP {client_ip}
		header_down -Server
		trusted_proxies private_ranges
		transport http {
			dial_timeout 2s
			response_header_timeout 30s
			keepalive 1m
		}
		@maintenance status 503
		handle_response @maintenance {
			copy_response_headers {
				include Retry-After
			}
			respond "Back soon" 503
		}
	}
}

http://app.example.com {
	map {header.X-Tenant} {tenant} {backend_name} {
		~^(acme|corp)$ $1 own
		default shared common
	}
	header X-Tenant {tenant}
	@websocket {
		header Connection *Upgrade*
		header Upgrade websocket
	}
	handle @websocket {
		reverse_proxy localhost:8080 {
			stream_timeout 24h
		}
	}
	handle /app/* {
		import backend 10.0.0.1:80 10.0.0.2:80
	}
	handle_path /files/* {
		root * /srv/files
		file_server browse
	}
	handle {
		forward_auth authelia:9091 {
			uri /api/authz/forward-auth
			copy_headers Remote-User Remote-Groups Remote-Email Remote-Name
		}
		reverse_proxy unix//run/app.sock
	}
	basic_auth /metrics {
		ann $2y$10$abcdefghijklmnopqrstuuGX3d8yLWjYmVvTxO7Zk0hXcUO1nV8ru
	}
	log_skip /up
}
"#,
        env: &[],
        does: "basic_auth? map log_skip? header (reverse_proxy)? (strip root file_server)? (reverse_proxy)? (forward_auth reverse_proxy)",
        warnings: &[],
    },
    Project {
        name: "a Mercure hub",
        text: r#"
{
	{$GLOBAL_OPTIONS}
}

{$SERVER_NAME:localhost} {
	log {
		format filter {
			fields {
				request>uri query {
					replace authorization REDACTED
				}
			}
		}
	}

	encode zstd gzip

	mercure {
		publisher_jwt {env.MERCURE_PUBLISHER_JWT_KEY} {env.MERCURE_PUBLISHER_JWT_ALG}
		subscriber_jwt {env.MERCURE_SUBSCRIBER_JWT_KEY} {env.MERCURE_SUBSCRIBER_JWT_ALG}
		cors_origins *
		{$MERCURE_EXTRA_DIRECTIVES}
	}

	{$CADDY_SERVER_EXTRA_DIRECTIVES}

	skip_log /robots.txt
	skip_log /healthz

	header / Content-Type "text/html; charset=utf-8"
	respond / `<!DOCTYPE html>
<html lang=en>
<title>A hub</title>
<p>It is at <code>/.well-known/mercure</code>.`
	respond /robots.txt `User-agent: *
Disallow: /`
	respond /healthz 200
	respond "Not Found" 404
}
"#,
        env: JWT,
        does: "log_skip? log_skip? header? encode mercure respond? respond? respond? respond",
        warnings: &[],
    },
];

#[test]
fn files_of_projects_run() {
    for project in PROJECTS {
        let Project {
            name, text, env, ..
        } = project;
        let parsed = read(text, env);
        assert_eq!(
            read(&fmt(text), env).config,
            parsed.config,
            "{name}: `fmt` changed it"
        );
        let routes = &parsed.config.sites[0].routes;
        assert_eq!(outline(routes), project.does, "{name}");
        let warnings: Vec<_> = parsed.warnings.iter().map(|one| &one.message).collect();
        let as_expected = warnings.len() == project.warnings.len()
            && warnings
                .iter()
                .zip(project.warnings)
                .all(|(warning, start)| warning.starts_with(start));
        assert!(as_expected, "{name}: {warnings:?}");
    }
}

fn project(name: &str) -> ParsedConfig {
    let found = PROJECTS
        .iter()
        .find(|project| project.name.starts_with(name));
    let project = found.unwrap_or_else(|| panic!("{name}"));
    read(project.text, project.env)
}

#[test]
fn the_script_of_symfony_is_the_one_that_the_rewrite_names() {
    let config = project("Symfony").config;
    let php = config.sites[0]
        .routes
        .iter()
        .find(|route| matches!(route.handler, Handler::Php(_)))
        .expect("a `php`");
    assert_eq!(php.matcher, Some(Matcher::Path(vec!["/index.php".into()])));
    assert_eq!(config.workers[0].file, "/public/index.php");
}

#[test]
fn the_other_sites_of_a_file_are_read_too() {
    let config = project("PHP-FPM").config;
    assert!(config.global.metrics);
    let main = &config.sites[1];
    assert_eq!(
        outline(&main.routes),
        "root header request_body encode (file_server)? error? respond? php_fastcgi file_server"
    );
    assert_eq!(
        main.errors[0].statuses,
        [StatusRange::one(404), StatusRange::one(410)]
    );
    assert_eq!(outline(&main.errors[1].routes), "(respond)? respond");
}
