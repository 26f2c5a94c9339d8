//! The configuration that the options of `howdah php-server` stand for.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use howdah_config::model::{
    AccessLog, Address, CLASSIC_POOL, CONCURRENT_WORKERS_MAX, Config, ContentCoding, Encode,
    FileServer, Handler, Ini, JwtKey, Matcher, Mercure, Part, PhpScript, PhpServer, PhpWorker,
    Placeholder, Preload, Route, Site, SiteTls, Template, TryPolicy, WorkerOptions, WorkerPool,
    redirect_to_https, source,
};

use crate::cli;
use crate::failure::{Failure, setup};

/// One site on one address, with a front controller or a worker script.
pub(crate) fn config(options: cli::PhpServer) -> Result<Config, Failure> {
    let domain = options.domain.as_ref().map(|name| name.to_lowercase());
    // As in `FrankenPHP`: a name has HTTPS, unless `--listen` is given.
    let tls = domain.is_some() && options.listen.is_none();
    let default = if tls { ":443" } else { ":8080" };
    let (bind, port) = listen_address(options.listen.as_deref().unwrap_or(default))?;
    let root = document_root(options.root.clone(), options.worker.first());
    let mut config = Config::default();
    let routes = routes(&options, &root, &mut config)?;
    config.sites.push(Site {
        addresses: vec![Address {
            host: domain.clone(),
            port,
            tls,
        }],
        bind: bind.into_iter().collect(),
        access_logs: options
            .access_log
            .then(AccessLog::default)
            .into_iter()
            .collect(),
        routes,
        hub: options.mercure.then_some(0),
        ..Site::default()
    });
    if tls {
        check_certificate(&config, domain.as_deref())?;
        let from = Address {
            host: domain,
            port: 80,
            tls: false,
        };
        config.sites.push(redirect_to_https(from, None));
    }
    set_global(&mut config, options);
    check_preload(&config)?;
    Ok(config)
}

/// Compression, the hub, and PHP, whose worker pools are added to the configuration.
fn routes(
    options: &cli::PhpServer,
    root: &Path,
    config: &mut Config,
) -> Result<Vec<Route>, Failure> {
    let mut routes = vec![route(None, Handler::Root(Template::text(utf8(root)?)))];
    if !options.no_compress {
        routes.push(route(None, compression()));
    }
    if options.mercure {
        routes.push(mercure_route(config)?);
    }
    config.workers = worker_pools(&options.worker, &options.worker_options.0, root)?;
    if config.workers.is_empty() {
        routes.push(route(None, Handler::PhpServer(PhpServer::default())));
    } else {
        routes.extend(worker_routes(&config.workers)?);
    }
    Ok(routes)
}

/// The options that are global in a Caddyfile.
fn set_global(config: &mut Config, options: cli::PhpServer) {
    // With a worker script no request reaches the classic pool.
    let classic = (!config.workers.is_empty()).then_some(1);
    let global = &mut config.global;
    global.admin = options.admin.setting();
    if let Some(user) = options.user {
        global.set_user(user);
    }
    global.debug = options.debug;
    global.grace_period = Some(options.grace_period);
    global.shutdown_delay = options.shutdown_delay;
    let settings = &mut global.php;
    settings.executable = options.php;
    settings.workers = options.workers.or(classic);
    settings.front_threads = options.front_threads;
    settings.limits = options.limits.0.over(&settings.limits);
    settings.ini = Ini {
        php_ini: options.php_ini,
        php_admin_ini: options.php_admin_ini,
    };
    settings.preload = options.preload;
}

/// `--root`, otherwise the directory of the worker script, `public` or the current directory.
fn document_root(root: Option<PathBuf>, worker: Option<&cli::Worker>) -> PathBuf {
    match (root, worker) {
        (Some(root), _) => root,
        (None, Some(worker)) => worker_root(&worker.file),
        (None, None) if Path::new("public").is_dir() => "public".into(),
        (None, None) => ".".into(),
    }
}

/// Adds a Mercure hub. PHP does not get its keys.
fn mercure_route(config: &mut Config) -> Result<Route, Failure> {
    config
        .hubs
        .push(hub(&|name| std::env::var_os(name).is_some())?);
    let keys = ["PUBLISHER", "SUBSCRIBER"].map(|role| format!("MERCURE_{role}_JWT_KEY"));
    config.global.php.environment.withheld.extend(keys);
    Ok(route(None, Handler::Mercure(0)))
}

fn compression() -> Handler {
    let formats = [
        ContentCoding::Zstd,
        ContentCoding::Brotli,
        ContentCoding::Gzip,
    ];
    Handler::Encode(Encode::new(formats.map(ContentCoding::by_default).to_vec()))
}

/// A pool for each `--worker`, with unique names.
fn worker_pools(
    workers: &[cli::Worker],
    options: &WorkerOptions,
    root: &Path,
) -> Result<Vec<WorkerPool>, Failure> {
    let mut pools: Vec<WorkerPool> = Vec::new();
    for worker in workers {
        let mut pool = worker_pool(worker, root)?;
        pool.options = options.clone();
        if pool.options.is_concurrent() && pool.settings.workers > Some(CONCURRENT_WORKERS_MAX) {
            return Err(setup(format_args!(
                "--worker: with --concurrency there may be {CONCURRENT_WORKERS_MAX} processes, and one for \
                 each core is enough"
            )));
        }
        if pools.iter().any(|other| other.name == pool.name) {
            pool.name = format!("{}-{}", pool.name, pools.len() + 1);
        }
        pools.push(pool);
    }
    Ok(pools)
}

/// Checks `--preload`: with one application, this is the only possible error.
fn check_preload(config: &Config) -> Result<(), Failure> {
    let settings = &config.global.php;
    if settings.preloads_itself() && settings.preload != Preload::Off {
        return Err(setup(
            "--preload and --php-ini opcache.preload both select the preloaded files: remove one of them",
        ));
    }
    Ok(())
}

/// The error for a name that cannot have a certificate.
fn check_certificate(config: &Config, domain: Option<&str>) -> Result<(), Failure> {
    let tls = SiteTls::default();
    let found = source(domain, &tls, &config.global.https);
    let name = domain.unwrap_or_default();
    found.map(drop).map_err(|reason| {
        setup(format_args!(
            "--domain {name}: {reason}; add --listen to serve it without encryption"
        ))
    })
}

/// The hub of `--mercure`, with the keys from the same variables as in `FrankenPHP`. Subscribers
/// need a token.
fn hub(is_set: &dyn Fn(&str) -> bool) -> Result<Mercure, Failure> {
    let variable = |name: String| Template {
        parts: vec![Part::Placeholder(Placeholder::Env(name))],
    };
    let key = |whose: &str| {
        let name = format!("MERCURE_{whose}_JWT_KEY");
        if !is_set(&name) {
            return Err(setup(format_args!(
                "--mercure: the environment variable {name} is not set; a secret of 32 bytes or more does"
            )));
        }
        Ok(JwtKey {
            key: variable(name),
            algorithm: variable(format!("MERCURE_{whose}_JWT_ALG")),
        })
    };
    Ok(Mercure {
        publisher: Some(key("PUBLISHER")?),
        subscriber: Some(key("SUBSCRIBER")?),
        ..Mercure::default()
    })
}

fn route(matcher: Option<Matcher>, handler: Handler) -> Route {
    Route {
        matcher,
        handler,
        group: None,
    }
}

/// The folder of the script if that is `public`, else the `public` next to it, else its folder.
fn worker_root(file: &Path) -> PathBuf {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    // `public` itself may be the working directory.
    let absolute = std::path::absolute(&folder).unwrap_or_else(|_| folder.clone());
    let public = folder.join("public");
    if !absolute.ends_with("public") && public.is_dir() {
        public
    } else {
        folder
    }
}

fn worker_pool(worker: &cli::Worker, root: &Path) -> Result<WorkerPool, Failure> {
    let absolute = |path: &Path| {
        let path = std::path::absolute(path).map_err(setup)?;
        utf8(&path)
    };
    let stem = worker.file.file_stem().and_then(|stem| stem.to_str());
    let name = stem.filter(|stem| *stem != CLASSIC_POOL && stem.len() <= 64);
    let mut pool = WorkerPool::new(name.unwrap_or("worker"), absolute(&worker.file)?);
    pool.root = Some(absolute(root)?);
    pool.settings.workers = worker.count;
    Ok(pool)
}

/// Files that are not scripts are sent; a worker script gets the requests for its own path, and the first one gets all
/// others.
fn worker_routes(workers: &[WorkerPool]) -> Result<Vec<Route>, Failure> {
    let path = Template {
        parts: vec![Part::Placeholder(Placeholder::Path)],
    };
    let file = Matcher::File {
        fallback_status: None,
        root: None,
        candidates: vec![path],
        split: Vec::new(),
        policy: TryPolicy::FirstExist,
    };
    let script = Matcher::Path(vec!["*.php".into(), "*.php/*".into()]);
    let is_static = Matcher::All(vec![Matcher::Not(Box::new(script)), file]);
    let mut routes = vec![route(
        Some(is_static),
        Handler::FileServer(FileServer::default()),
    )];
    for (pool, worker) in workers.iter().enumerate().skip(1) {
        let below = worker.root.as_deref().and_then(|root| {
            let rest = worker.file.strip_prefix(root)?;
            rest.starts_with('/').then_some(rest)
        });
        let own = below.ok_or_else(|| {
            setup(format_args!(
                "--worker {}: only the first worker script may be outside of the document root",
                worker.file
            ))
        })?;
        let own = Matcher::Path(vec![own.to_owned(), format!("{own}/*")]);
        routes.push(route(Some(own), all_of(pool)));
    }
    routes.push(route(None, all_of(0)));
    Ok(routes)
}

/// The worker script of this pool handles the request.
fn all_of(pool: usize) -> Handler {
    let worker = PhpWorker {
        pool,
        matches: vec!["*".into()],
    };
    Handler::Php(PhpScript {
        workers: vec![worker],
        ..PhpScript::default()
    })
}

fn utf8(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        setup(format_args!(
            "{}: document roots and worker scripts must have UTF-8 names",
            path.display()
        ))
    })
}

/// `HOST:PORT`, `:PORT` or `HOST`; `localhost` is 127.0.0.1.
pub(super) fn listen_address(text: &str) -> Result<(Option<IpAddr>, u16), Failure> {
    let wrong = || {
        setup(format_args!(
            "--listen {text}: expected HOST:PORT or :PORT, such as 127.0.0.1:8080"
        ))
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().map_err(|_| wrong())?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let ip = match host {
        "" => None,
        "localhost" => Some(IpAddr::from([127, 0, 0, 1])),
        _ => Some(host.parse().map_err(|_| wrong())?),
    };
    Ok((ip, port))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use howdah_config::model::DEFAULT_WATCH;

    use super::*;
    use crate::cli::{Cli, Command};

    fn parsed(arguments: &[&str]) -> Config {
        let line = ["howdah", "php-server"].iter().chain(arguments);
        let Command::PhpServer(options) = Cli::try_parse_from(line).expect("parsed").into_command()
        else {
            panic!("php-server")
        };
        config(*options).expect("valid")
    }

    #[test]
    fn listen_addresses() {
        let table = [
            (":8080", None, 8080),
            ("127.0.0.1:0", Some("127.0.0.1"), 0),
            ("localhost:80", Some("127.0.0.1"), 80),
            ("[::1]:443", Some("::1"), 443),
        ];
        for (text, ip, port) in table {
            let expected = (ip.map(|ip| ip.parse().expect("an address")), port);
            assert_eq!(listen_address(text).expect(text), expected);
        }
        for wrong in ["8080", ":", ":99999", "nowhere:80", ""] {
            assert!(listen_address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_domain_has_https_unless_an_address_is_given() {
        let addresses = |arguments: &[&str]| -> Vec<_> {
            let sites = parsed(arguments).sites.into_iter();
            sites.flat_map(|site| site.addresses).collect()
        };
        let address = |port, tls| Address {
            host: Some("a.example".into()),
            port,
            tls,
        };
        let both = [address(443, true), address(80, false)];
        assert_eq!(addresses(&["-d", "A.example"]), both);
        let plain = [address(8000, false)];
        assert_eq!(addresses(&["-d", "a.example", "-l", ":8000"]), plain);
        let line = ["howdah", "php-server", "-d", "*.a.example"];
        let Command::PhpServer(options) = Cli::try_parse_from(line).expect("parsed").into_command()
        else {
            panic!("php-server")
        };
        let error = config(*options).expect_err("only through DNS").to_string();
        assert!(error.starts_with("--domain *.a.example: "), "{error}");
    }

    #[test]
    fn a_worker_makes_a_pool_of_its_own() {
        let config = parsed(&[
            "-w",
            "/srv/app/public/index.php,3",
            "--watch",
            "--watch=a/*.php",
        ]);
        let [pool] = &config.workers[..] else {
            panic!("one pool: {:?}", config.workers)
        };
        assert_eq!(pool.file, "/srv/app/public/index.php");
        assert_eq!(pool.root.as_deref(), Some("/srv/app/public"));
        assert_eq!(
            (pool.name.as_str(), pool.settings.workers),
            ("index", Some(3))
        );
        assert_eq!(pool.options.watch, [DEFAULT_WATCH, "a/*.php"]);
        assert_eq!(config.constant_roots(), ["/srv/app/public"]);
        assert_eq!(config.global.php.workers, Some(1));

        let two = parsed(&["-r", "/srv", "-w", "/app.php,2", "-w", "/srv/api/app.php,3"]);
        let names: Vec<_> = two.workers.iter().map(|pool| pool.name.as_str()).collect();
        assert_eq!(names, ["app", "app-2"]);
        let own = Matcher::Path(vec!["/api/app.php".into(), "/api/app.php/*".into()]);
        let routes = two.sites[0].routes.iter();
        let matchers: Vec<_> = routes.map(|route| route.matcher.clone()).collect();
        assert!(matchers.contains(&Some(own)), "{matchers:?}");
        let line = [
            "howdah",
            "php-server",
            "-r",
            "/srv",
            "-w",
            "/a.php",
            "-w",
            "/b.php",
        ];
        let Command::PhpServer(options) = Cli::try_parse_from(line).expect("parsed").into_command()
        else {
            panic!("php-server")
        };
        let error = super::config(*options).expect_err("outside").to_string();
        assert!(error.contains("/b.php"), "{error}");

        let many = parsed(&["-w", "a.php", "--concurrency", "50"]);
        assert_eq!(many.workers[0].options.concurrency, 50);
        let one = parsed(&["-w", "a.php", "--concurrency", "1"]);
        assert!(!one.workers[0].options.is_concurrent());

        let developed = parsed(&["-w", "a.php", "--detect-leaks"]);
        let in_header = |pool: &WorkerPool| {
            let leaks = pool.options.detect_leaks.as_ref();
            leaks.map(|leaks| leaks.in_header)
        };
        assert_eq!(in_header(&developed.workers[0]), Some(true));
        assert_eq!(in_header(&one.workers[0]), None);

        let classic = parsed(&["-r", "/srv/www"]);
        assert!(classic.workers.is_empty());
        assert_eq!(classic.global.php.workers, None);
        assert_eq!(classic.constant_roots(), ["/srv/www"]);
    }

    #[test]
    fn responses_are_compressed_by_default() {
        let encodes = |arguments: &[&str]| {
            let config = parsed(arguments);
            let mut handlers = config.sites[0].routes.iter().map(|route| &route.handler);
            handlers.any(|handler| matches!(handler, Handler::Encode(_)))
        };
        assert!(encodes(&[]) && encodes(&["-w", "a.php"]));
        assert!(!encodes(&["--no-compress"]) && !encodes(&["-w", "a.php", "--no-compress"]));
    }

    #[test]
    fn a_hub_wants_both_keys() {
        let with = |names: &[&str]| hub(&|name| names.contains(&name));
        let (publisher, subscriber) = ("MERCURE_PUBLISHER_JWT_KEY", "MERCURE_SUBSCRIBER_JWT_KEY");
        let made = with(&[publisher, subscriber]).expect("valid");
        assert!(made.subscriber.is_some() && !made.anonymous);
        let error = with(&[publisher]).expect_err("one is missing").to_string();
        assert!(error.contains(subscriber), "{error}");
        let config = parsed(&[]);
        assert!(config.hubs.is_empty() && config.sites[0].hub.is_none());
    }

    #[test]
    fn the_root_follows_the_worker_script() {
        let parent = tempfile::tempdir().expect("a directory");
        let app = parent.path();
        assert_eq!(worker_root(&app.join("worker.php")), app);
        let public = app.join("public");
        std::fs::create_dir_all(public.join("public")).expect("created");
        assert_eq!(worker_root(&app.join("worker.php")), public);
        assert_eq!(worker_root(&public.join("index.php")), public);
        let config = parsed(&["-w", "php.php", "-r", "/srv"]);
        assert_eq!(config.workers[0].name, "worker");
        assert_eq!(config.constant_roots(), ["/srv"]);
        assert!(config.workers[0].file.ends_with("/php.php"));
    }
}
