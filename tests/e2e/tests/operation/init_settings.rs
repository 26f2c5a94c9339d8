//! What the files of `howdah init` refuse, for each framework.

use howdah_testkit::{Response, ServerBuilder, Www};

use crate::init::{init, serve};

/// An application: what identifies it, and requests to it.
struct Layout {
    name: &'static str,
    /// The package in `composer.json`; empty: none.
    package: &'static str,
    /// Files that identify it.
    marks: &'static [&'static str],
    /// The document root.
    root: &'static str,
    /// Files below the document root that are refused.
    refused: &'static [&'static str],
    /// Files below the document root that are sent or run.
    served: &'static [&'static str],
    /// Paths without a file, which the front controller gets.
    routed: &'static [&'static str],
}

/// Files that no application may serve, below its document root.
const HIDDEN: &[&str] = &[
    ".env",
    ".env.local",
    ".git/config",
    ".git/HEAD",
    ".htaccess",
    ".htpasswd",
    ".svn/entries",
    ".user.ini",
];

/// Refused where the document root is the application's folder.
const OWN: &[&str] = &[
    "Caddyfile.bak",
    "backup.sql",
    "backup.sql.gz",
    "composer.json",
    "composer.lock",
    "config.php.bak",
    "config.php~",
    "debug.log",
    "vendor/autoload.php",
    "vendor/composer/installed.json",
    "vendor/package/tests/eval-stdin.php",
];

/// Refused below the document root of a framework with a front controller.
const SCRIPTS: &[&str] = &[
    "assets/shell.php",
    "index-test.php",
    "storage/evil.php",
    "uploads/evil.PHP",
    "uploads/evil.php",
    "uploads/evil.php/path/info",
];

const ASSETS: &[&str] = &["css/app.css", "robots.txt", ".well-known/security.txt"];
const ROUTES: &[&str] = &[
    "",
    "products/1",
    "old/page.php",
    "wiki/php.ini",
    "docs",
    "index.php/products",
];

const LAYOUTS: &[Layout] = &[
    Layout {
        name: "CodeIgniter",
        package: "codeigniter4/framework",
        marks: &["spark", "writable/logs/log.php", "app/Config/Database.php"],
        root: "public",
        refused: SCRIPTS,
        served: ASSETS,
        routed: ROUTES,
    },
    Layout {
        name: "Laravel",
        package: "laravel/framework",
        marks: &["artisan", "storage/logs/laravel.log"],
        root: "public",
        refused: SCRIPTS,
        served: &["css/app.css", "storage/photo.jpg", "build/manifest.json"],
        routed: ROUTES,
    },
    Layout {
        name: "Symfony",
        package: "symfony/framework-bundle",
        marks: &[
            "var/log/prod.log",
            "config/secrets/prod.decrypt.private.php",
        ],
        root: "public",
        refused: SCRIPTS,
        served: &["css/app.css", "bundles/admin/admin.js"],
        routed: ROUTES,
    },
    Layout {
        name: "Slim",
        package: "slim/slim",
        marks: &["logs/app.log", "app/settings.php"],
        root: "public",
        refused: SCRIPTS,
        served: ASSETS,
        routed: ROUTES,
    },
    Layout {
        name: "Mezzio",
        package: "mezzio/mezzio",
        marks: &["data/cache/config-cache.php", "config/autoload/local.php"],
        root: "public",
        refused: SCRIPTS,
        served: ASSETS,
        routed: ROUTES,
    },
    Layout {
        name: "Yii",
        package: "yiisoft/yii2",
        marks: &["yii", "config/db.php", "runtime/logs/app.log"],
        root: "web",
        refused: SCRIPTS,
        served: &["css/app.css", "assets/1a2b3c/yii.js"],
        routed: ROUTES,
    },
    Layout {
        name: "CakePHP",
        package: "cakephp/cakephp",
        // The folder of the application has a front controller too.
        marks: &["index.php", "config/app_local.php", "logs/error.log"],
        root: "webroot",
        refused: SCRIPTS,
        served: ASSETS,
        routed: ROUTES,
    },
    Layout {
        name: "Laminas",
        package: "laminas/laminas-mvc",
        marks: &["config/autoload/local.php", "data/cache/module.php"],
        root: "public",
        refused: SCRIPTS,
        served: ASSETS,
        routed: ROUTES,
    },
    // As on hosting without a separate document root.
    Layout {
        name: "Laravel",
        package: "laravel/framework",
        marks: &[],
        root: ".",
        refused: &[
            "app/Models/User.php",
            "artisan",
            "bootstrap/cache/config.php",
            "config/database.php",
            "database/database.sqlite",
            "node_modules/package/index.js",
            "package.json",
            "storage/framework/sessions/abc",
            "storage/logs/laravel.log",
            "tests/TestCase.php",
            "uploads/evil.php",
            "writable/session/ci_session",
        ],
        served: ASSETS,
        routed: &["", "products/1", "index.php/products"],
    },
    Layout {
        name: "WordPress",
        package: "",
        marks: &["wp-includes/version.php"],
        root: ".",
        refused: &[
            "wp-config-sample.php",
            "wp-config.php",
            "wp-config.php.bak",
            "wp-config.php.save",
            "wp-config.php.swp",
            "wp-config.php~",
            "wp-content/backup.sql.gz",
            "wp-content/blogs.dir/2/files/evil.php",
            "wp-content/debug.log",
            "wp-content/uploads/2026/11/evil.PHP",
            "wp-content/uploads/2026/11/evil.phtml",
            "wp-content/uploads/evil.php",
            "wp-content/uploads/evil.php/photo.jpg",
            "wp-content/uploads/evil.php5",
        ],
        served: &[
            "wp-admin/admin-ajax.php",
            "wp-admin/index.php",
            "wp-content/plugins/shop/assets/shop.css",
            "wp-content/themes/own/style.css",
            "wp-content/uploads/2026/11/photo.jpg",
            "wp-includes/js/jquery.js",
            "wp-login.php",
            "xmlrpc.php",
        ],
        routed: &[
            "",
            "2026/11/hello",
            "error.log-explained",
            "wp-json/wp/v2/posts",
            "php.ini",
        ],
    },
    Layout {
        name: "Drupal",
        package: "",
        marks: &["core/lib/Drupal.php"],
        root: "web",
        refused: &[
            "autoload.php",
            "core/composer.json",
            "core/core.services.yml",
            "core/includes/bootstrap.inc",
            "core/lib/Drupal.php",
            "modules/shop/evil.php",
            "modules/shop/shop.info.yml",
            "modules/shop/shop.install",
            "modules/shop/shop.module",
            "profiles/own/own.profile",
            "sites/default/default.settings.php",
            "sites/default/files/evil.PHP",
            "sites/default/files/x.php",
            "sites/default/files/x.php/y",
            "sites/default/private/contract.pdf",
            "sites/default/services.yml",
            "sites/default/settings.local.php",
            "sites/default/settings.php",
            "sites/default/settings.php~",
            "themes/own/templates/page.html.twig",
            "web.config",
        ],
        served: &[
            "core/install.php",
            "core/misc/drupal.js",
            "core/modules/statistics/statistics.php",
            "sites/default/files/css/css_1.css",
            "sites/default/files/photo.jpg",
            "themes/own/style.css",
            "update.php",
        ],
        routed: &[
            "",
            "node/1",
            "sites/default/files/styles/large/photo.jpg",
            "index.php/node/1",
        ],
    },
    Layout {
        name: "MediaWiki",
        package: "",
        marks: &["includes/Defines.php"],
        root: ".",
        refused: &[
            "LocalSettings.php",
            "LocalSettings.php.bak",
            "LocalSettings.php~",
            "cache/l10n_cache-en.cdb",
            "composer.local.json",
            "docs/README",
            "extensions/Own/maintenance/import.php",
            "images/deleted/a/b/c.png",
            "images/evil.PHP",
            "images/temp/1/a.png",
            "images/x.php",
            "includes/Setup.php",
            "languages/messages/MessagesEn.php",
            "maintenance/update.php",
            "skins/Own/Own.skin.php",
            "sql/mysql/tables-generated.sql",
            "tests/phpunit/bootstrap.php",
        ],
        served: &[
            "api.php",
            "extensions/Own/own.css",
            "images/a/ab/Photo.jpg",
            "load.php",
            "mw-config/index.php",
            "resources/assets/licenses/cc-0.png",
            "rest.php/v1/page/Main",
            "skins/Own/own.css",
            "thumb.php",
        ],
        routed: &[
            "",
            "wiki/Main_Page",
            "wiki/Php.ini",
            "wiki/Index.php",
            "Docs",
            "index.php/Main_Page",
        ],
    },
    Layout {
        name: "Nextcloud",
        package: "",
        marks: &["lib/versioncheck.php"],
        root: ".",
        refused: &[
            "3rdparty/autoload.php",
            "apps/files/lib/evil.php",
            "autotest.sh",
            "build/package.json",
            "config/CAN_INSTALL",
            "config/config.php",
            "console.php",
            "core/templates/login.php",
            "data/.ocdata",
            "data/admin/files/secret.txt",
            "data/nextcloud.log",
            "db_structure.xml",
            "lib/base.php",
            "occ",
            "templates/page.php",
            "tests/bootstrap.php",
        ],
        served: &[
            "apps/files/js/main.js",
            "core/css/server.css",
            "core/img/logo.svg",
            "cron.php",
            "ocs/v2.php/cloud/capabilities",
            "public.php/dav/files/token",
            "remote.php/dav/files/admin/notes.log",
            "remote.php/dav/files/admin/script.php",
            "status.php",
        ],
        routed: &["", "apps/files/", "s/token", "index.php/apps/files"],
    },
    Layout {
        name: "plain PHP",
        package: "",
        marks: &[],
        root: ".",
        refused: &[
            "config.inc",
            "page.php.orig",
            "php.ini",
            "error.log",
            "package.json",
        ],
        served: &[
            "about.php",
            "admin/index.php",
            "css/app.css",
            "images/photo.jpg",
        ],
        routed: &["", "products/1", "php.ini/explained"],
    },
    Layout {
        name: "plain PHP",
        package: "",
        marks: &[],
        root: "public",
        refused: &[],
        served: &["about.php", "css/app.css"],
        routed: &["", "products/1"],
    },
];

/// The response of each application.
const FRONT: &str = "the front controller";

/// The file that a request is for, without its path info.
fn file_of(target: &str) -> String {
    let script = target.to_ascii_lowercase().find(".php/");
    script
        .map_or(target, |at| &target[..at + ".php".len()])
        .to_owned()
}

fn is_script(file: &str) -> bool {
    let ending = std::path::Path::new(file).extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("php"))
}

#[test]
fn each_framework_refuses_what_is_not_for_clients() {
    let mut wrong = Vec::new();
    for layout in LAYOUTS {
        let label = format!("{} in {}", layout.name, layout.root);
        let www = Www::new();
        let below = |file: &str| format!("{}/{file}", layout.root);
        for mark in layout.marks {
            let path = match layout.package {
                "" => below(mark),
                _ => (*mark).to_owned(),
            };
            www.write(&path, "secret");
        }
        if !layout.package.is_empty() {
            let composer = format!(r#"{{"require": {{"{}": "^4.12"}}}}"#, layout.package);
            www.write("composer.json", composer);
        }
        let own = if layout.root == "." { OWN } else { &[] };
        let refused = || HIDDEN.iter().chain(own).chain(layout.refused);
        for target in refused().chain(layout.served) {
            let file = file_of(target);
            // A script that runs shows a different text than its source.
            let text = if file.starts_with("composer.") {
                "{}".to_owned()
            } else if is_script(&file) {
                format!("<?php echo 'ran ', 'the script {file}';")
            } else {
                format!("content of {file}")
            };
            if file != "composer.json" || layout.package.is_empty() {
                www.write(&below(&file), text);
            }
        }
        www.write(
            &below("index.php"),
            "<?php echo 'the front ', 'controller';",
        );
        let said = init(&www, &[]);
        assert!(
            said.contains(&format!(": {}", layout.name)),
            "{label}: {said}"
        );
        let server = serve(&www);
        let mut report = |target: &str, response: &Response| {
            let (status, text) = (response.status(), response.text());
            wrong.push(format!("{label}: {target}: {status} {text}"));
        };
        for target in refused() {
            let response = server.get(&format!("/{target}"));
            if !matches!(response.status(), 403 | 404) && response.text() != FRONT {
                report(target, &response);
            }
        }
        for target in layout.served {
            let response = server.get(&format!("/{target}"));
            let file = file_of(target);
            let expected = if is_script(&file) {
                format!("ran the script {file}")
            } else {
                format!("content of {file}")
            };
            if response.status() != 200 || response.text() != expected {
                report(target, &response);
            }
        }
        for target in layout.routed {
            let response = server.get(&format!("/{target}"));
            if response.text() != "the front controller" {
                report(target, &response);
            }
        }
        if layout.root == "." {
            server.get("/Caddyfile").assert_status(404);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn development_refuses_the_same() {
    let www = Www::new()
        .file(
            "composer.json",
            r#"{"require": {"laravel/framework": "^12.0"}}"#,
        )
        .file("public/index.php", "<?php echo 'front';")
        .file("public/storage/evil.php", "<?php echo 'evil';");
    let server = ServerBuilder::command(["dev", "--listen", "127.0.0.1:0"])
        .current_dir(www.path())
        .start();
    server.allow_log("served for development");
    server.get("/storage/evil.php").assert_status(404);
}
