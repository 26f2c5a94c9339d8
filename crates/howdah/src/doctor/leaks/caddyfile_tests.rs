use howdah_config::NoFiles;
use howdah_config::model::{Config, Isolation, Keep};

use super::*;

fn application() -> Application {
    Application {
        script: "/srv/a b/{path}/worker.php".into(),
        root: "/srv/a b/{path}".into(),
        php: "/opt/{host}/howdah-php".into(),
        ini: Ini::default(),
        worker_ini: Ini::default(),
        worker: WorkerOptions::default(),
        limits: PoolLimits::default(),
        user: None,
        php_user: None,
        clear_env: false,
        withheld: Vec::new(),
        variables: Vec::new(),
    }
}

fn parsed(application: &Application, mode: Mode) -> Config {
    let text = application.caddyfile(mode);
    let env = |name: &str| (name == BRACE).then(|| "{".to_owned());
    let parsed = howdah_config::parse(&text, "Caddyfile", &env, &NoFiles);
    let parsed = parsed.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(parsed.warnings, [], "{text}");
    parsed.config
}

#[test]
fn the_options_of_the_worker_are_taken_over() {
    let mut application = application();
    let worker = &mut application.worker;
    let values = [
        "a b",
        "{path}",
        "{$HOME}",
        r#"a"b\"#,
        "`x` {$HOME}",
        "one\ntwo\nEND",
        r"\{a\}",
        "",
    ];
    worker.env = values
        .iter()
        .enumerate()
        .map(|(number, value)| (format!("V{number}"), (*value).to_owned()))
        .collect();
    worker.keep = Keep::ENV.with(Keep::INI);
    worker.warm = vec!["/a?b={c}".into()];
    worker.concurrency = 50;
    worker.isolation = Isolation::Request;
    worker.watch = vec!["**/*.php".into()];
    worker.detect_leaks = Some(LeakDetection {
        sample: 500,
        allow: vec![
            r"App\Cache::$*".into(),
            "$GLOBALS['a b']".into(),
            "{$HOME} `x`".into(),
        ],
        in_header: false,
    });
    application.limits.rollback = false;
    application.limits.no_new_privs = true;
    application.clear_env = true;
    application.ini.php_ini = vec![("error_log".into(), "a b {path} `c`".into())];
    application.worker_ini.php_admin_ini = vec![("open_basedir".into(), "/srv:/tmp".into())];

    let config = parsed(&application, Mode::DetectLeaks);
    let pool = &config.workers[0];
    assert_eq!(pool.file, application.script);
    assert_eq!(pool.root.as_ref(), Some(&application.root));
    assert_eq!(pool.options.env, application.worker.env);
    assert_eq!(pool.options.keep, application.worker.keep);
    assert_eq!(pool.options.warm, application.worker.warm);
    let limits = pool.settings.limits.over(&PoolLimits::default());
    assert_eq!(limits, application.limits);
    assert_eq!(pool.settings.ini, application.worker_ini);
    assert_eq!(config.global.php.ini, application.ini);
    assert!(config.global.php.environment.clear);
    let leaks = pool.options.detect_leaks.as_ref().expect("on");
    let allow = &application.worker.detect_leaks.as_ref().expect("set").allow;
    assert_eq!((leaks.sample, &leaks.allow), (1, allow));
    assert_eq!(
        (pool.options.concurrency, pool.options.isolation),
        (1, Isolation::Worker)
    );
    assert!(pool.options.watch.is_empty());

    let isolated = parsed(&application, Mode::Isolated);
    let options = &isolated.workers[0].options;
    assert_eq!(options.isolation, Isolation::Request);
    assert_eq!(
        (&options.env, &options.detect_leaks),
        (&application.worker.env, &None)
    );
}

#[test]
fn defaults_and_users() {
    let mut application = application();
    application.user = Some("www-data".parse().expect("valid"));
    application.php_user = Some("1000:1000".parse().expect("valid"));
    application.variables = vec![("HTTPS", "on")];
    let config = parsed(&application, Mode::DetectLeaks);
    assert_eq!(config.global.user, application.user);
    let pool = &config.workers[0];
    assert_eq!(pool.settings.user, application.php_user);
    let defaults = WorkerOptions {
        detect_leaks: Some(LeakDetection::default()),
        max_consecutive_failures: Some(1),
        ..WorkerOptions::default()
    };
    assert_eq!(pool.options.keep, defaults.keep);
    assert_eq!(pool.options.detect_leaks, defaults.detect_leaks);
    assert_eq!(pool.options.max_consecutive_failures, Some(1));
}
