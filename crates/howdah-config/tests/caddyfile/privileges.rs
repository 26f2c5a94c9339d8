//! With which rights processes are to run.

use crate::common::{config, errors};
use howdah_config::model::User;

fn user(text: &str) -> User {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn file(global: &str, php: &str, worker: &str) -> String {
    format!(
        "{{\n{global}\nfrankenphp {{\n{php}\nworker /srv/w.php {{\n{worker}\n}}\n}}\n}}\n:80 {{\nroot * /srv\nphp_server\n}}\n"
    )
}

#[test]
fn each_place_has_its_own() {
    let plain = config(&file("", "", ""));
    assert_eq!(plain.global.user, None);
    assert_eq!(plain.global.php.user, None);
    assert!(!plain.global.php.limits.no_new_privs);
    assert_eq!(plain.workers[0].settings.user, None);
    assert_eq!(plain.workers[0].settings.limits.no_new_privs, None);
    assert!(!plain.global.php.limits.dumpable);
    assert_eq!(plain.workers[0].settings.limits.dumpable, None);

    let config = config(&file(
        "",
        "user www-data:adm\nno_new_privs\ndumpable",
        "user 1000:1001\nno_new_privs off\ndumpable off",
    ));
    let php = &config.global.php;
    assert_eq!(php.user, Some(user("www-data:adm")));
    assert!(php.limits.no_new_privs);
    assert!(php.limits.dumpable);
    assert_eq!(config.workers[0].settings.user, Some(user("1000:1001")));
    assert_eq!(config.workers[0].settings.limits.no_new_privs, Some(false));
    assert_eq!(config.workers[0].settings.limits.dumpable, Some(false));
}

#[test]
fn the_servers_user_is_everyones() {
    let config = config(&file("user web", "user web", "user web"));
    assert_eq!(config.global.user, Some(user("web")));
    let storage = config.global.https.storage;
    assert_eq!(storage, Some("/var/lib/howdah".into()), "not root's home");

    let found = errors(&file("user web", "user web", "user other"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with(
            "Caddyfile:6:1: the server becomes the user web and can run no PHP as other"
        ),
        "{found:?}"
    );
    let found = errors(&file("user web", "user web:adm", ""));
    assert_eq!(found.len(), 1, "another group is another user: {found:?}");
    let in_site = "{\nuser web\n}\n:80 {\nphp_server {\nworker /srv/w.php {\nuser other\n}\n}\n}\n";
    let found = errors(in_site);
    assert!(
        found[0].starts_with("Caddyfile:7:1: the server becomes"),
        "{found:?}"
    );
}

#[test]
fn what_is_no_user_is_told() {
    for wrong in ["a:b:c", ":www", "www:", "a/b", "\"a b\"", "\"\""] {
        for text in [
            file(&format!("user {wrong}"), "", ""),
            file("", &format!("user {wrong}"), ""),
            file("", "", &format!("user {wrong}")),
        ] {
            let found = errors(&text);
            assert!(
                found.len() == 1 && found[0].contains("is not a valid user"),
                "{wrong}: {found:?}"
            );
        }
    }
    let found = errors(&file("", "no_new_privs maybe", ""));
    assert!(
        found[0].contains("`maybe` is not a value of `no_new_privs`"),
        "{found:?}"
    );
}

#[test]
fn it_is_shown_as_it_is_written() {
    for text in ["www-data", "www-data:adm", "33:4"] {
        assert_eq!(user(text).to_string(), text);
    }
}
