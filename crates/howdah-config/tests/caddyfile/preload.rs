//! `preload` requires one application per pool. Other configurations are rejected with a
//! suggestion.

use crate::common::{config, errors};
use howdah_config::model::Preload;

fn with(sites: &str) -> String {
    format!("{{\nfrankenphp {{\npreload auto\npool other {{\nuser other\n}}\n}}\n}}\n{sites}")
}

#[test]
fn one_application_for_each_pool_is_accepted() {
    for sites in [
        ":80 {\nroot /srv/a\nphp_server\n}",
        // Two sites with the same root, and sites without scripts.
        "a.test {\nroot /srv/a\nphp_server\n}\nb.test {\nroot /srv/a\nphp_server\n}",
        "a.test {\nroot /srv/a\nphp_server\n}\nb.test {\nroot /srv/b\nfile_server\n}",
        // A pool with a different user for each application.
        "a.test {\nroot /srv/a\nphp_server\n}\nb.test {\nroot /srv/b\nphp_server {\npool other\n}\n}",
        // PHP runs in a different server.
        "a.test {\nroot /srv/a\nphp_server\n}\nb.test {\nroot /srv/b\nphp_fastcgi unix//run/fpm.sock\n}",
    ] {
        let parsed = config(&with(sites));
        assert_eq!(parsed.global.php.preload, Preload::Auto, "{sites}");
    }
}

#[test]
fn several_applications_in_one_pool_are_refused() {
    for (sites, message) in [
        (
            "a.test {\nroot /srv/a\nphp_server\n}\nb.test {\nroot /srv/b\nphp_server\n}",
            "the pool `php` has PHP below /srv/a and below /srv/b",
        ),
        (
            ":80 {\nhandle /a/* {\nroot /srv/a\nphp_server\n}\nhandle {\nroot /srv/b\nphp_server\n}\n}",
            "the pool `php` has PHP below /srv/a and below /srv/b",
        ),
        (
            ":80 {\nroot /srv/a\nphp_server\nhandle_errors {\nroot /srv/errors\nphp_server\n}\n}",
            "the pool `php` has PHP below /srv/a and below /srv/errors",
        ),
        (
            ":80 {\nroot /srv/{host}\nphp_server\n}",
            "the same document root for all requests",
        ),
        (
            ":80 {\nroot /a/* /srv/a\nroot /b/* /srv/b\nphp_server\n}",
            "the same document root for all requests",
        ),
    ] {
        let found = errors(&with(sites));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("Caddyfile:3:1: ") && found[0].contains(message),
            "{sites}: {found:?}"
        );
        assert!(
            found[0].contains("a pool of its own (`pool` in its `php_server`)"),
            "{found:?}"
        );
    }
}
