//! Classic pools of single sites, and settings of PHP for all pools, for one pool, and for
//! requests.

use std::time::Duration;

use crate::common::{config, errors, full};
use howdah_config::model::{
    ClassicPool, Handler, Ini, Part, PhpExecutable, PhpScript, Placeholder, PoolLimitOverrides,
    PoolSettings, WorkersMax,
};

fn file(howdah: &str, site: &str) -> String {
    format!("{{\nhowdah {{\n{howdah}\n}}\n}}\n:80 {{\n{site}\n}}\n")
}

fn script(site: &str, howdah: &str) -> PhpScript {
    let mut routes = config(&file(howdah, site)).sites.remove(0).routes;
    match routes.remove(0).handler {
        Handler::PhpServer(server) => server.script,
        Handler::Php(script) => script,
        other => panic!("{other:?}"),
    }
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    list.iter().map(owned).collect()
}

#[test]
fn a_pool_has_its_own_options_and_inherits_the_rest() {
    let howdah = "request_timeout 9s\npool plain\npool shop {\nworkers 3\nmax_threads auto\nmax_requests 7\n\
                  request_timeout off\nmax_wait_time 2s\nqueue_length 5\ndrop_abandoned\nmax_in_flight 4\nmax_idle_time 6s\nuser web\n\
                  no_new_privs\ndumpable\nphp 8.3\nphp_ini memory_limit 64M\nphp_admin_ini {\nopen_basedir /srv\n}\n}";
    let site = "php_server {\npool shop\n}\nphp {\npool plain\n}";
    let pools = config(&file(howdah, site)).pools;
    let inherited = PoolSettings::default();
    let own = PoolSettings {
        php: Some(PhpExecutable::Version("8.3".into())),
        workers: Some(3),
        workers_max: WorkersMax::Auto,
        limits: PoolLimitOverrides {
            max_requests: Some(7),
            request_timeout: Some(None),
            max_wait_time: Some(Duration::from_secs(2)),
            queue_length: Some(5),
            drop_abandoned: Some(true),
            max_in_flight: Some(Some(4)),
            max_idle_time: Some(Duration::from_secs(6)),
            no_new_privs: Some(true),
            dumpable: Some(true),
            ..PoolLimitOverrides::default()
        },
        user: Some("web".parse().expect("a user")),
        ini: Ini {
            php_ini: pairs(&[("memory_limit", "64M")]),
            php_admin_ini: pairs(&[("open_basedir", "/srv")]),
        },
    };
    let pool = |name: &str, settings| ClassicPool {
        name: name.into(),
        settings,
    };
    assert_eq!(pools, [pool("plain", inherited), pool("shop", own)]);
}

#[test]
fn applications_name_pools() {
    let howdah = "pool a\npool b\nworker /srv/w.php";
    for (site, index) in [
        ("php_server {\npool b\n}", Some(1)),
        ("php {\npool a\n}", Some(0)),
        ("php_server {\npool php\n}", None),
        ("php_server", None),
    ] {
        let script = script(site, howdah);
        assert_eq!((script.pool, script.workers.len()), (index, 1), "{site}");
    }
}

#[test]
fn a_site_has_a_version_of_php() {
    let howdah =
        "php 8.2\npool own {\nphp /opt/howdah-php\n}\npool php8.4 {\nworkers 3\nphp 8.4\n}";
    let sites = "php_server {\nphp 8.3\nworker /srv/a.php\nworker /srv/b.php {\nphp 8.4\n}\n}\n\
        php {\nphp 8.3\n}\nphp {\nphp 8.4\n}\nphp {\npool own\n}";
    let found = config(&file(howdah, sites));
    let pools = found.pools.iter().map(|pool| {
        let php = pool.settings.php.as_ref().map(ToString::to_string);
        (pool.name.as_str(), php, pool.settings.workers)
    });
    let php = |php: &str| Some(php.to_owned());
    assert_eq!(
        pools.collect::<Vec<_>>(),
        [
            ("own", php("/opt/howdah-php"), None),
            ("php8.4", php("8.4"), Some(3)),
            ("php8.3", php("8.3"), None),
        ]
    );
    let workers = found.workers.iter();
    let workers = workers.map(|worker| worker.settings.php.as_ref().map(ToString::to_string));
    assert_eq!(workers.collect::<Vec<_>>(), [php("8.3"), php("8.4")]);
    let routes = found.sites[0].routes.iter();
    let of_routes = routes.filter_map(|route| match &route.handler {
        Handler::PhpServer(server) => Some(server.script.pool),
        Handler::Php(script) => Some(script.pool),
        _ => None,
    });
    let mut chosen: Vec<_> = of_routes.collect();
    chosen.sort_unstable();
    assert_eq!(chosen, [Some(0), Some(1), Some(2), Some(2)]);
}

#[test]
fn versions_of_php_that_cannot_be() {
    for (howdah, site, message) in [
        (
            "",
            "php_server {\nphp /opt/php\n}",
            "`/opt/php` is not a version of PHP",
        ),
        (
            "pool a",
            "php_server {\npool a\nphp 8.3\n}",
            "`pool` and `php` both determine which processes run the scripts",
        ),
        (
            "pool php8.3",
            "php_server {\nphp 8.3\n}",
            "the pool `php8.3` has a different PHP",
        ),
    ] {
        let found = errors(&file(howdah, site));
        assert!(
            found.iter().any(|error| error.contains(message)),
            "{found:?}"
        );
    }
}

#[test]
fn a_pool_that_no_site_has_is_a_warning() {
    let parsed = full(&file("pool a\npool b", "php_server {\npool a\n}")).expect("valid");
    let warnings: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["Caddyfile:4:1: no site has the pool `b`: write `pool b` in a `php_server` or `php`"]
    );
}

#[test]
fn pools_that_cannot_be() {
    for (howdah, site, expected) in [
        (
            "pool",
            "",
            "3:1: `pool` takes 1 argument, 0 given; write `pool NAME { … }`",
        ),
        (
            "pool a\npool a",
            "",
            "4:6: two pools have the name `a`; rename one of them",
        ),
        (
            "pool a\nworker /srv/w.php {\nname a\n}",
            "php_server {\npool a\n}",
            "4:1: two pools have the name `a`; rename one of them",
        ),
        (
            "pool php",
            "",
            "3:6: `php` is the name of the pool that all sites without one have; give another name",
        ),
        (
            "pool a {\nworkers 4\nmax_threads 2\n}",
            "",
            "3:1: `max_threads` is 2, which is less than the 4 processes that always run; `max_threads` is the larger of the two",
        ),
        (
            "pool a {\nnum 4\n}",
            "",
            "4:1: `num` is not an option of `pool`; write `workers`",
        ),
        (
            "pool a {\nworkers 4\nnum_threads 4\n}",
            "",
            "5:1: `num_threads` is given twice; remove one of them",
        ),
        (
            "pool shop",
            "php_server {\npool shoop\n}",
            "8:6: there is no pool `shoop`; did you mean `shop`?",
        ),
        (
            "workers 2",
            "php_server {\npool shop\n}",
            "8:6: there is no pool `shop`; write `pool shop { … }` in the global `howdah { … }`",
        ),
        (
            "pool a",
            "php_server {\npool a\npool php\n}",
            "9:1: `pool` is given twice; remove one of them",
        ),
        (
            "worker /srv/w.php {\nname app\n}",
            "php {\npool app\n}",
            "10:6: `app` is a worker, which gets the requests for its script anyway; name a `pool` of the global block, or remove it",
        ),
    ] {
        let found = errors(&file(howdah, site));
        let expected = format!("Caddyfile:{expected}");
        assert!(found.contains(&expected), "{howdah} {site}: {found:#?}");
    }
}

#[test]
fn settings_of_all_of_a_pool_and_of_a_worker() {
    let howdah = "php_ini a 1\nphp_ini a 2\nphp_ini extension one\nphp_ini extension two\nphp_admin_ini {\nb \"x y\"\nc 3\n}\n\
                  worker /srv/w.php {\nphp_ini d 4\nphp_admin_ini a 5\nphp_admin_ini c 6\n}";
    let config = config(&file(howdah, "php_server"));
    let global = Ini {
        php_ini: pairs(&[("a", "2"), ("extension", "one"), ("extension", "two")]),
        php_admin_ini: pairs(&[("b", "x y"), ("c", "3")]),
    };
    assert_eq!(config.global.php.ini, global);
    let own = Ini {
        php_ini: pairs(&[("d", "4")]),
        php_admin_ini: pairs(&[("a", "5"), ("c", "6")]),
    };
    assert_eq!(config.workers[0].settings.ini, own);
}

#[test]
fn settings_that_cannot_be() {
    for (howdah, expected) in [
        (
            "php_admin_ini a b c",
            "3:19: `php_admin_ini` takes 2 arguments, 3 given; write `php_admin_ini NAME VALUE  or  php_admin_ini { NAME VALUE … }`",
        ),
        (
            "php_admin_ini a=b 1",
            "3:15: `a=b` is not the name of a PHP setting; write for example `php_admin_ini open_basedir /srv/shop:/tmp`",
        ),
        (
            "php_admin_ini extension gd",
            "3:15: `extension` loads something and sets nothing; write it with `php_ini` in the global block",
        ),
        (
            "php_ini a 1\nphp_admin_ini a 2",
            "4:15: `a` is set by `php_ini` and `php_admin_ini`; remove one of them",
        ),
        (
            "pool p {\nphp_ini extension gd\n}",
            "4:9: `extension` loads something for all pools; write it in the global block",
        ),
        (
            "worker /srv/w.php {\nphp_ini {\na 1\n}\n}\nphp_admin_ini a 2",
            "5:1: `php_admin_ini` of the global block sets `a`, which is final; write `php_admin_ini` here too, which comes \
             before that of the global block",
        ),
    ] {
        let found = errors(&file(howdah, "php_server"));
        let expected = format!("Caddyfile:{expected}");
        assert!(found.contains(&expected), "{howdah}: {found:#?}");
    }
}

fn value(directive: &str, value: &str) -> Vec<Part> {
    let text = format!(":80 {{\n{directive} {{\nenv PHP_VALUE {value}\n}}\n}}\n");
    let mut routes = config(&text).sites.remove(0).routes;
    match routes.remove(0).handler {
        Handler::PhpServer(mut server) => server.script.env.remove(0).1.parts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn settings_of_requests_are_lines_and_placeholders_are_quoted() {
    let text = |text: &str| Part::Text(text.into());
    let host = || Part::Placeholder(Placeholder::Host);
    for (written, parts) in [
        ("memory_limit=1G", vec![text("memory_limit=1G")]),
        (
            "\"a=1\n\n; b is not\nc = \\\"x\ny\\\"\"",
            vec![text("a=1\n\n; b is not\nc = \"x\ny\"")],
        ),
        ("a={host}", vec![text("a='"), host(), text("'")]),
        (
            "`x=1\na = \"/srv/{host}/b\" \nc=2`",
            vec![text("x=1\na='/srv/"), host(), text("/b'\nc=2")],
        ),
        (
            "\"a={host}{host}\nb={host}\"",
            vec![
                text("a='"),
                host(),
                host(),
                text("'\nb='"),
                host(),
                text("'"),
            ],
        ),
    ] {
        assert_eq!(value("php_server", written), parts, "{written}");
    }
    // PHP-FPM accepts settings that this server refuses.
    let disabled = vec![text("disable_functions=exec")];
    assert_eq!(
        value("php_fastcgi a:9000", "disable_functions=exec"),
        disabled
    );
}

#[test]
fn settings_of_requests_that_cannot_be() {
    let hint = "write `NAME=VALUE` as in php.ini, each on a line of its own; a placeholder may be in a value";
    for (env, expected) in [
        ("PHP_VALUE memory_limit", format!("3:15: `memory_limit` is not a setting of PHP; {hint}")),
        ("PHP_VALUE [PATH=/srv]", format!("3:15: `[PATH` is not a setting of PHP; {hint}")),
        (
            "PHP_VALUE {host}=1",
            format!("3:15: a placeholder that is not in a value is not a setting of PHP; {hint}"),
        ),
        (
            "PHP_VALUE {host}",
            format!("3:15: a placeholder that is not in a value is not a setting of PHP; {hint}"),
        ),
        (
            "PHP_VALUE \"a={host}'\"",
            format!("3:15: a quote beside a placeholder is not a setting of PHP; {hint}"),
        ),
        (
            "PHP_ADMIN_VALUE \"a=1 \\n b=2\"",
            "3:21: `\\n` does not start a new line in a Caddyfile; write each setting on a line of its own, within the quotes".into(),
        ),
        (
            "PHP_ADMIN_VALUE disable_functions=exec",
            "3:21: `disable_functions` cannot be set for single requests: PHP does not restore it; write it with \
             `php_admin_ini` in a `pool` of the global block, and `pool NAME` in this one"
                .into(),
        ),
        (
            "PHP_VALUE a=1\nenv PHP_VALUE b=1",
            "4:5: `PHP_VALUE` is given twice, and PHP would use only the last one; write all settings in one value, each on \
             a line of its own"
                .into(),
        ),
    ] {
        let found = errors(&format!(":80 {{\nphp_server {{\nenv {env}\n}}\n}}\n"));
        let expected = format!("Caddyfile:{expected}");
        assert!(found.contains(&expected), "{env}: {found:#?}");
    }
    let worker = ":80 {\nphp_server {\nworker /srv/w.php {\nenv PHP_VALUE a=1\n}\n}\n}\n";
    assert_eq!(
        errors(worker),
        [
            "Caddyfile:4:5: `env PHP_VALUE` of a worker sets nothing in PHP; write `php_ini` or `php_admin_ini`, or put it \
             in the `php_server`, for its requests"
        ]
    );
}

#[test]
fn options_that_php_fpm_lacks_too_are_warnings() {
    let text = ":80 {\nphp_server {\nenv PHP_FLAG session.auto_start=off\nworker /srv/w.php\nenv PHP_VALUE a=1\n}\n}\n";
    let parsed = full(text).expect("valid");
    let warnings: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "Caddyfile:3:5: `PHP_FLAG` sets nothing in PHP, as with PHP-FPM: write `env PHP_VALUE \"NAME=on\"`"
        ]
    );
    let env = pairs(&[("PHP_FLAG", "session.auto_start=off")]);
    assert_eq!(
        parsed.config.workers[0].options.env, env,
        "settings are of requests"
    );
}
