//! Worker pools: the configured text and the resulting pool.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{environment, errors, text};
use howdah_config::model::{
    Boot, Connections, DEFAULT_WATCH, Handler, Isolation, Keep, LeakDetection, OnExit, PhpScript,
    PhpWorker, PoolLimitOverrides, PoolSettings, Statics, WorkerOptions, WorkerPool, WorkersMax,
};
use howdah_config::{Config, Files, ParsedConfig, parse};

/// A loader without files, with `/srv/app` as the working directory.
struct App;

impl Files for App {
    fn read(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn glob(&self, _: &str) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    fn working_directory(&self) -> io::Result<PathBuf> {
        Ok("/srv/app".into())
    }
}

fn parsed(text: &str) -> ParsedConfig {
    parse(text, "Caddyfile", &environment, &App).unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

fn config(text: &str) -> Config {
    parsed(text).config
}

fn global(options: &str) -> Config {
    config(&format!(
        "{{\nfrankenphp {{\n{options}\n}}\n}}\n:80 {{\nroot * public\nphp_server\n}}"
    ))
}

/// The pool of a file with this one worker.
fn pool(worker: &str) -> WorkerPool {
    let mut workers = global(worker).workers;
    assert_eq!(workers.len(), 1, "{worker}");
    workers.remove(0)
}

fn block(options: &str) -> WorkerPool {
    pool(&format!("worker public/w.php {{\n{options}\n}}"))
}

/// The PHP handlers of all sites, in order.
fn scripts(config: &Config) -> Vec<&PhpScript> {
    fn collect<'a>(handler: &'a Handler, found: &mut Vec<&'a PhpScript>) {
        match handler {
            Handler::Php(script) => found.push(script),
            Handler::PhpServer(server) => found.push(&server.script),
            Handler::Chain(routes) => routes
                .iter()
                .for_each(|route| collect(&route.handler, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for route in config.sites.iter().flat_map(|site| &site.routes) {
        collect(&route.handler, &mut found);
    }
    found
}

fn names(config: &Config) -> Vec<&str> {
    config
        .workers
        .iter()
        .map(|pool| pool.name.as_str())
        .collect()
}

#[test]
fn short_and_long_form_are_the_same() {
    let expected = WorkerPool {
        root: Some("/srv/app/public".into()),
        settings: PoolSettings {
            workers: Some(3),
            ..PoolSettings::default()
        },
        ..WorkerPool::new("w", "/srv/app/public/w.php")
    };
    for worker in [
        "worker public/w.php 3",
        "worker {\nfile public/w.php\nnum 3\n}",
        "worker ./public//w.php {\nnum 3\n}",
        "worker /srv/app/public/w.php 3 {\n}",
        "worker \"public/w.php\" {$NONE:3}",
    ] {
        assert_eq!(pool(worker), expected, "{worker}");
    }
    // FrankenPHP's 0 means: not set.
    assert_eq!(pool("worker public/w.php 0").settings.workers, None);
    assert_eq!(
        pool("worker public/w.php watch").options.watch,
        [DEFAULT_WATCH]
    );
}

#[test]
fn defaults() {
    let pool = pool("worker public/w.php");
    assert_eq!(pool.settings.workers, None);
    assert_eq!(pool.settings.workers_max, WorkersMax::Same);
    assert_eq!(pool.options, WorkerOptions::default());
    assert_eq!(pool.settings.limits, PoolLimitOverrides::default());
    let options = pool.options;
    assert!(options.env.is_empty() && options.watch.is_empty() && options.warm.is_empty());
}

#[test]
fn options() {
    type Change = fn(&mut WorkerPool);
    let cases: &[(&str, Change)] = &[
        ("num 16", |pool| pool.settings.workers = Some(16)),
        ("max_threads auto", |pool| {
            pool.settings.workers_max = WorkersMax::Auto;
        }),
        ("max_threads 7", |pool| {
            pool.settings.workers_max = WorkersMax::Number(7);
        }),
        ("name \"my api\"", |pool| pool.name = "my api".into()),
        ("env A b\nenv C \"d e\"\nenv A f", |pool| {
            pool.options.env = vec![("C".into(), "d e".into()), ("A".into(), "f".into())];
        }),
        ("env {\nA b\nC {$PORT}\n}", |pool| {
            pool.options.env = vec![("A".into(), "b".into()), ("C".into(), "8080".into())];
        }),
        ("watch", |pool| {
            pool.options.watch = vec!["./**/*.{env,php,twig,yaml,yml}".into()];
        }),
        ("watch a/**/*.{php,env} .env\nwatch /b", |pool| {
            pool.options.watch = vec!["a/**/*.{php,env}".into(), ".env".into(), "/b".into()];
        }),
        ("max_requests 0", |pool| {
            pool.settings.limits.max_requests = Some(0);
        }),
        ("max_consecutive_failures 0", |pool| {
            pool.options.max_consecutive_failures = Some(0);
        }),
        ("max_consecutive_failures -1", |pool| {
            pool.options.max_consecutive_failures = None;
        }),
        ("boot each", |pool| pool.options.boot = Boot::Each),
        ("boot zygote", |_| {}),
        ("exit restart", |pool| pool.options.exit = OnExit::Restart),
        ("exit request", |_| {}),
        ("isolation request", |pool| {
            pool.options.isolation = Isolation::Request;
        }),
        ("isolation worker", |_| {}),
        ("concurrency 1", |_| {}),
        ("concurrency 100", |pool| {
            pool.options.concurrency = 100;
        }),
        (
            "time_slice 5ms\nhog_threshold off\nhang_timeout 20s\nstack_size 1MiB\nstatics share\nconcurrency_fallback\nconcurrency 2",
            |pool| {
                pool.options = WorkerOptions {
                    concurrency: 2,
                    statics: Statics::Share,
                    concurrency_fallback: true,
                    stack_size: 1 << 20,
                    hog_threshold: None,
                    hang_timeout: Some(Duration::from_secs(20)),
                    time_slice: Some(Duration::from_millis(5)),
                    ..WorkerOptions::default()
                };
            },
        ),
        ("concurrency 2\nstatics isolate\ntime_slice off", |pool| {
            pool.options.concurrency = 2;
        }),
        ("keep ini handlers\nkeep random ini", |pool| {
            pool.options.keep = Keep::INI.with(Keep::HANDLERS).with(Keep::RANDOM);
        }),
        ("keep all", |pool| pool.options.keep = Keep::ALL),
        ("connections revive", |pool| {
            pool.options.connections = Connections::Revive;
        }),
        ("connections ignore", |pool| {
            pool.options.connections = Connections::Ignore;
        }),
        ("rollback off", |pool| {
            pool.settings.limits.rollback = Some(false);
        }),
        ("rollback on", |pool| {
            pool.settings.limits.rollback = Some(true);
        }),
        ("warm / /a?b=c\nwarm /d", |pool| {
            pool.options.warm = vec!["/".into(), "/a?b=c".into(), "/d".into()];
        }),
        ("detect_leaks", |pool| {
            pool.options.detect_leaks = Some(LeakDetection::default());
        }),
        (
            "detect_leaks sample 50 {\nallow A::$b \"time zone\"\nallow *\n}",
            |pool| {
                pool.options.detect_leaks = Some(LeakDetection {
                    sample: 50,
                    allow: vec!["A::$b".into(), "time zone".into(), "*".into()],
                    in_header: false,
                });
            },
        ),
        ("max_age 1h", |pool| {
            pool.settings.limits.max_age = Some(Some(Duration::from_hours(1)));
        }),
        ("max_age off", |pool| {
            pool.settings.limits.max_age = Some(None);
        }),
        ("max_memory 1MiB", |pool| {
            pool.settings.limits.max_memory = Some(Some(1 << 20));
        }),
        ("max_memory_growth 1kB", |pool| {
            pool.settings.limits.max_memory_growth = Some(Some(1000));
        }),
        ("request_timeout 2s", |pool| {
            pool.settings.limits.request_timeout = Some(Some(Duration::from_secs(2)));
        }),
        ("cpu_timeout 3s", |pool| {
            pool.settings.limits.cpu_timeout = Some(Some(Duration::from_secs(3)));
        }),
        ("max_wait_time 4s", |pool| {
            pool.settings.limits.max_wait_time = Some(Duration::from_secs(4));
        }),
        ("queue_length 5", |pool| {
            pool.settings.limits.queue_length = Some(5);
        }),
        ("max_in_flight 6", |pool| {
            pool.settings.limits.max_in_flight = Some(Some(6));
        }),
        ("drop_abandoned", |pool| {
            pool.settings.limits.drop_abandoned = Some(true);
        }),
        ("drop_abandoned off", |pool| {
            pool.settings.limits.drop_abandoned = Some(false);
        }),
        ("max_idle_time 7s", |pool| {
            pool.settings.limits.max_idle_time = Some(Duration::from_secs(7));
        }),
    ];
    for (options, change) in cases {
        let mut expected = WorkerPool {
            root: Some("/srv/app/public".into()),
            ..WorkerPool::new("w", "/srv/app/public/w.php")
        };
        change(&mut expected);
        assert_eq!(block(options), expected, "{options}");
    }
}

#[test]
fn each_word_of_keep_is_one_kind_of_state() {
    let kinds = [
        ("ini", Keep::INI),
        ("handlers", Keep::HANDLERS),
        ("locale", Keep::LOCALE),
        ("timezone", Keep::TIMEZONE),
        ("cwd", Keep::CWD),
        ("umask", Keep::UMASK),
        ("env", Keep::ENV),
        ("mbstring", Keep::MBSTRING),
        ("libxml", Keep::LIBXML),
        ("random", Keep::RANDOM),
        ("session", Keep::SESSION),
    ];
    let mut all = Keep::NONE;
    for (word, kind) in kinds {
        assert_eq!(block(&format!("keep {word}")).options.keep, kind, "{word}");
        assert!(!all.contains(kind), "{word}");
        all = all.with(kind);
    }
    assert_eq!(all, Keep::ALL);
    assert_eq!(block("keep all").options.keep, Keep::ALL);
}

#[test]
fn the_time_limit_is_the_classic_pools_unless_it_is_given() {
    let timeout = |worker: &str| {
        let options = format!("worker public/w.php {{\n{worker}\n}}\nrequest_timeout 9s");
        let config = global(&options);
        let limits = &config.workers[0].settings.limits;
        limits.over(&config.global.php.limits).request_timeout
    };
    assert_eq!(timeout(""), Some(Duration::from_secs(9)));
    assert_eq!(timeout("request_timeout 1s"), Some(Duration::from_secs(1)));
    assert_eq!(timeout("request_timeout off"), None);
}

#[test]
fn names_are_unique() {
    let config = config(
        "{\nfrankenphp {\nworker a/worker.php\nworker b/worker.php\nworker c/php.php\n\
         worker d.php {\nname worker-2\n}\n}\n}\n:80 {\nphp_server {\nname shop\nworker e.php\n\
         worker f.php\nworker g.php {\nname g\n}\n}\n}",
    );
    assert_eq!(
        names(&config),
        [
            "worker", "worker-3", "php-2", "worker-2", "shop", "shop-2", "g"
        ]
    );
}

#[test]
fn global_workers_are_for_all_and_others_for_one() {
    let config = config(
        "{\nhowdah {\nworker public/a.php\n}\n}\n:80 {\nroot * public\nphp_server {\n\
         worker public/b.php {\nmatch /api/* *.json\nmatch /x\n}\nworker public/c.php\n}\n}\n\
         :81 {\nphp /x/* {\nworker d.php\n}\nrespond no\n}\n:82 {\nroot * public\nroute {\n\
         php_server\n}\n}",
    );
    let worker = |pool, matches: &[&str]| PhpWorker {
        pool,
        matches: matches.iter().map(|path| (*path).to_owned()).collect(),
    };
    let lists: Vec<_> = scripts(&config)
        .into_iter()
        .map(|script| script.workers.clone())
        .collect();
    assert_eq!(
        lists,
        [
            vec![
                worker(1, &["/api/*", "*.json", "/x"]),
                worker(2, &[]),
                worker(0, &[])
            ],
            vec![worker(3, &[]), worker(0, &[])],
            vec![worker(0, &[])],
        ]
    );
    assert_eq!(names(&config), ["a", "b", "c", "d"]);
}

#[test]
fn an_application_gives_its_workers_a_start() {
    let config = config(
        "{\nfrankenphp {\nworker /srv/app/public/g.php\nworker /elsewhere/h.php\n}\n}\n\
         :80 {\nroot * public\nphp_server {\nroot /srv/shop/public\nenv APP_ENV prod\n\
         env HOST {host}\nenv SHOP a\nworker index.php {\nenv SHOP b\nenv Z z\n}\n\
         worker /other/w.php\n}\n}\n:81 {\nroot * public\nhandle {\nphp_server {\n\
         worker public/i.php\n}\n}\n}\n:82 {\nroot * /{host}\nphp_server {\nworker j.php\n}\n}\n\
         :83 {\nphp_server {\nworker k.php\n}\n}",
    );
    let got: Vec<_> = config
        .workers
        .iter()
        .map(|pool| (pool.file.as_str(), pool.root.as_deref()))
        .collect();
    assert_eq!(
        got,
        [
            ("/srv/app/public/g.php", Some("/srv/app/public")),
            ("/elsewhere/h.php", None),
            ("/srv/shop/public/index.php", Some("/srv/shop/public")),
            ("/other/w.php", Some("/srv/shop/public")),
            ("/srv/app/public/i.php", Some("/srv/app/public")),
            ("/srv/app/j.php", None),
            ("/srv/app/k.php", Some("/srv/app")),
        ]
    );
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    // The worker's values override others. A value with a placeholder exists only in a request.
    assert_eq!(
        config.workers[2].options.env,
        [pair("APP_ENV", "prod"), pair("SHOP", "b"), pair("Z", "z")]
    );
    let script = scripts(&config)[0];
    assert_eq!(script.env.len(), 3);
    assert_eq!(script.env[2], ("SHOP".into(), text("a")));
}

#[test]
fn warnings() {
    let messages = |text: &str| -> Vec<String> {
        let warnings = parsed(text).warnings;
        warnings.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        messages(":80 {\nphp_server {\nname a\n}\n}"),
        ["Caddyfile:3:1: `name` has no effect: there is no `worker` in this block that it names"]
    );
    assert_eq!(
        messages(":80 {\nphp_server {\nworker a.php {\nisolation request\nboot each\n}\n}\n}"),
        [
            "Caddyfile:3:1: with `isolation request` and `boot each` every request boots the \
             application again: remove `boot each`"
        ]
    );
    assert_eq!(
        messages(":80 {\nphp {\nrequest_body_timeout 5s\n}\n}"),
        [
            "Caddyfile:3:1: `request_body_timeout` has no effect: `read_body` in the global \
             `servers { timeouts { … } }` is the limit"
        ]
    );
}

#[test]
fn workers_are_checked() {
    let long = "x".repeat(30_000);
    for (options, expected) in [
        (
            "worker",
            "3:1: `worker` takes 1 to 2 arguments, 0 given; write `worker FILE [NUMBER|watch] [{ … }]  or  worker { … }`",
        ),
        (
            "worker a b c",
            "3:12: `worker` takes 1 to 2 arguments, 3 given; write `worker FILE [NUMBER|watch] [{ … }]  or  worker { … }`",
        ),
        (
            "worker {\n}",
            "3:1: the worker has no file; write `worker FILE`, or `file FILE` in its block",
        ),
        (
            "worker a.php -1",
            "3:14: `-1` is neither a number of workers nor `watch`; write `worker FILE [NUMBER|watch] [{ … }]  or  worker { … }`",
        ),
        (
            "worker a.php 256",
            "3:14: 256 processes are too many for one pool; give a number of at most 255",
        ),
        (
            "worker public/",
            "3:8: `public/` is not a file; write for example `worker public/worker.php`",
        ),
        (
            "worker {path}",
            "3:8: the file of a worker cannot contain a placeholder: `{path}`; write `{$NAME}` for an environment variable, which is read when the server starts",
        ),
        (
            "worker a.php {\nfile b.php\n}",
            "4:1: `file` is given twice; remove one of them",
        ),
        (
            "worker a.php 3 {\nnum 4\n}",
            "4:1: `num` is given twice; remove one of them",
        ),
        (
            "worker a.php 3 {\nmax_threads 2\n}",
            "3:1: `max_threads` is 2, which is less than the 3 processes that always run; `max_threads` is the larger of the two",
        ),
        (
            "worker a.php\nworker ./a.php",
            "4:1: the worker `/a.php` is given twice in one block; remove one of them",
        ),
        (
            "worker a.php {\nname x\n}\nworker b.php {\nname x\n}",
            "6:1: two pools have the name `x`; rename one of them",
        ),
        (
            "worker a.php {\nname php\n}",
            "4:6: `php` is the name of the pool that all sites without one have; give another name",
        ),
        (
            "worker a.php {\nname \" \"\n}",
            "4:6: ` ` is not a name; give one line of at most 100 bytes",
        ),
        (
            "worker a.php {\nmatch /x\n}",
            "4:1: `match` belongs to one application, and this worker is for all; move the worker into the `php_server` that has these paths",
        ),
        (
            "worker a.php {\nconcurrency 0\n}",
            "4:13: `0` is not a whole number for `concurrency`; give a number of at least 1",
        ),
        (
            "worker a.php {\nconcurrency 1025\n}",
            "4:13: `1025` is out of range for `concurrency`; give a value from `1` to `1024`",
        ),
        (
            "worker a.php {\ndetect_leaks\nconcurrency 2\n}",
            "3:1: with `concurrency` several requests change the state of a worker at the same time, so `detect_leaks` cannot attribute a change to a request; remove one of them",
        ),
        (
            "worker a.php {\nisolation request\ndetect_leaks\n}",
            "3:1: with `isolation request` no request sees the state of an earlier one, so `detect_leaks` has nothing to find; remove one of them",
        ),
        (
            "worker a.php {\ndetect_leaks sample 0\n}",
            "4:21: `0` is not a number of requests; write for example `detect_leaks sample 500`",
        ),
        (
            "worker a.php {\ndetect_leaks often\n}",
            "4:14: `often` is not an argument of `detect_leaks`; write `detect_leaks [sample NUMBER] [{ allow PATTERN… }]`",
        ),
        (
            "worker a.php {\ndetect_leaks {\ndeny A\n}\n}",
            "5:1: `deny` is not an option of `detect_leaks`; write `allow PATTERN…`",
        ),
        (
            "worker a.php {\nconcurrency 2\nisolation request\n}",
            "3:1: `isolation request` runs each request in a separate process, `concurrency` runs many in one; remove one of them",
        ),
        (
            "worker a.php 112 {\nconcurrency 2\n}",
            "3:1: 112 processes with `concurrency` are too many for one pool; give a number of at most 111; one process for each core is enough",
        ),
        (
            "worker a.php {\nhog_threshold 1s\n}",
            "3:1: `hog_threshold` has no effect without `concurrency`; add `concurrency NUMBER`, or remove `hog_threshold`",
        ),
        (
            "worker a.php {\nstack_size 1KiB\n}",
            "4:12: `1KiB` is out of range for `stack_size`; give a value from `64KiB` to `64MiB`",
        ),
        (
            "worker a.php {\nstatics copy\n}",
            "4:9: `copy` is not a value of `statics`; known are isolate, share",
        ),
        (
            "worker a.php {\nboot always\n}",
            "4:6: `always` is not a value of `boot`; known are zygote, each",
        ),
        (
            "worker a.php {\nkeep locle\n}",
            "4:6: `locle` is not a value of `keep`; known are ini, handlers, locale, timezone, cwd, umask, env, mbstring, libxml, random, session, all",
        ),
        (
            "worker a.php {\nwarm b\n}",
            "4:6: `b` is not a path of a request; write it as a browser sends it, for example `/products?page=1`",
        ),
        (
            "worker a.php {\nwarm \"/a b\"\n}",
            "4:6: `/a b` is not a path of a request; write it as a browser sends it, for example `/products?page=1`",
        ),
        (
            "worker a.php {\nenv A {host}\n}",
            "4:7: a variable of a worker cannot contain a placeholder: `{host}`; write `{$NAME}` for an environment variable, which is read when the server starts",
        ),
        (
            "worker a.php {\nenv {\nA\n}\n}",
            "5:1: `A` needs one value; write `NAME VALUE`, with quotes around a value with spaces",
        ),
        (
            "worker a.php {\nenv A=B c\n}",
            "4:5: `A=B` is not the name of a variable; write for example `env APP_ENV production`",
        ),
        (
            "worker a.php {\nwatch \"\"\n}",
            "4:7: `` is not a pattern of files; write for example `watch app/**/*.php`",
        ),
        (
            "worker a.php {\nmax_consecutive_failures -2\n}",
            "4:26: `-2` is not a whole number for `max_consecutive_failures`; give a number of at least 0, or `-1` for no limit",
        ),
        (
            &format!("worker a.php {{\nenv A {long}\n}}"),
            "3:1: the variables, paths and settings of this pool have 30009 bytes; at most 30000 are possible; put large values in a file",
        ),
    ] {
        let found = errors(&format!("{{\nfrankenphp {{\n{options}\n}}\n}}"));
        assert_eq!(found, [format!("Caddyfile:{expected}")], "{options}");
    }
    assert_eq!(
        errors(":80 {\nphp_server {\nroot /{host}\nworker a.php\n}\n}"),
        [
            "Caddyfile:4:1: the file of the worker starts at a root that has a placeholder; write \
             the absolute path of the file"
        ]
    );
    assert_eq!(
        errors(
            ":80 {\nphp_server {\nworker a.php {\nmatch /x\n}\nworker a.php\nworker a.php {\nname b\n}\n\
             worker a.php {\nname c\nmatch /x\n}\n}\n}"
        ),
        [7, 10].map(|line| format!(
            "Caddyfile:{line}:1: the worker `/a.php` is given twice in one block; remove one of them, or give them different paths with `match`"
        ))
    );
}

#[test]
fn one_file_may_have_a_pool_for_some_paths() {
    let config = config(
        ":80 {\nphp_server {\nroot /app/public\nworker index.php {\nmatch /slow/*\nnum 1\nmax_threads 20\n}\n\
         worker index.php {\nmatch *\nnum 1\n}\nworker index.php\n}\n}",
    );
    let pools = config.workers.iter().map(|pool| {
        assert_eq!(pool.file, "/app/public/index.php");
        pool.name.as_str()
    });
    assert_eq!(pools.collect::<Vec<_>>(), ["index", "index-2", "index-3"]);
}

#[test]
fn an_unknown_working_directory_is_only_needed_for_relative_files() {
    struct Nowhere;
    impl Files for Nowhere {
        fn read(&self, _: &Path) -> io::Result<String> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn glob(&self, _: &str) -> io::Result<Vec<PathBuf>> {
            Ok(Vec::new())
        }
        fn working_directory(&self) -> io::Result<PathBuf> {
            Err(io::ErrorKind::NotFound.into())
        }
    }
    let read = |file: &str| {
        let text = format!(":80 {{\nphp_server {{\nworker {file}\n}}\n}}");
        parse(&text, "F", &environment, &Nowhere)
    };
    assert_eq!(read("/a/b.php").unwrap().config.workers[0].file, "/a/b.php");
    assert_eq!(
        read("b.php").unwrap_err().to_string(),
        "F:3:1: cannot determine the working directory, to which `b.php` is relative: entity not found; write the absolute path of the file"
    );
}
