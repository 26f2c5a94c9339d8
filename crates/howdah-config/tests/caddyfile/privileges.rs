//! Privileges of the processes.

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
fn php_has_other_users_than_the_server() {
    let config = config(&file("user web", "user php", "user other:adm"));
    assert_eq!(config.global.user, Some(user("web")));
    assert_eq!(config.global.php.user, Some(user("php")));
    assert_eq!(config.workers[0].settings.user, Some(user("other:adm")));
    let storage = config.global.https.storage;
    assert_eq!(storage, Some("/var/lib/howdah".into()), "not root's home");
}

#[test]
fn unknown_users_are_reported() {
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
