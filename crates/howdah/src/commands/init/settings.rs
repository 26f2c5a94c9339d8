//! Settings in the Caddyfile of an application: its mode, and paths that must not be served.

use super::application::{Application, Framework};
use super::worker_script::WorkerScript;

/// How PHP runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) enum Mode {
    /// A script boots once.
    Worker,
    /// State is reset for each request.
    Classic {
        /// The reason, and how to change it.
        reason: String,
    },
}

/// Settings of one application.
#[derive(Debug)]
pub(in crate::commands) struct Settings {
    pub(in crate::commands) mode: Mode,
    /// The whole file, if the framework has one of its own.
    file: Option<&'static str>,
    /// The lines before `php_server`: paths that must not be served.
    site: String,
    /// Settings of the file for versions of the framework before these.
    earlier: Vec<Earlier>,
}

/// A setting for the versions of a framework before one: in the example a line with a comment above it.
#[derive(Debug)]
struct Earlier {
    comment: &'static str,
    setting: &'static str,
    /// Whether this application needs it.
    applies: bool,
}

impl Earlier {
    /// The text with the setting if it applies, and without comments about versions.
    fn apply(&self, text: &str) -> String {
        let comment = format!("# {}", self.comment);
        let disabled = format!("# {}", self.setting);
        let lines = text.lines().filter_map(|line| {
            let bare = line.trim_start();
            if bare == disabled {
                return self.applies.then(|| line.replacen("# ", "", 1));
            }
            (bare != comment).then(|| line.to_owned())
        });
        lines.fold(String::new(), |text, line| text + &line + "\n")
    }
}

const LARAVEL: &str = include_str!("../../../../../examples/laravel/Caddyfile");
const SYMFONY: &str = include_str!("../../../../../examples/symfony/Caddyfile");
const CODEIGNITER: &str = include_str!("../../../../../examples/codeigniter/Caddyfile");

const NO_SCRIPT: &str = "it has no worker script";
const GLOBALS: &str = "it keeps the request in global variables, so it cannot run in worker mode";

/// Added if the document root is the application's folder itself.
const OWN_FOLDER: &str = "\
\t# Files of the application that are not for clients.
\t@private path_regexp (?i)^/(composer\\.(json|lock|phar)|package(-lock)?\\.json|yarn\\.lock|Caddyfile|vendor(/.*)?|node_modules(/.*)?)$
\trespond @private 404
";

/// Added if this folder also has the code of a framework.
const OWN_CODE: &str = "\
\t@code path_regexp (?i)^/(app|artisan|bin|bootstrap|config|data|database|logs?|module|phpunit\\.xml.*|resources|routes|runtime|spark|src|storage|system|templates|tests?|tmp|var|views|writable)(/.*)?$
\trespond @code 404
";

/// Copies that editors and people leave behind, and what contains secrets or data.
const BACKUPS: &str = "\
\t# Copies of scripts, dumps of databases, logs.
\t@backups {
\t\tfile
\t\tpath_regexp (?i)(~|\\.(bak|dist|inc|ini|log|old|orig|save|sql|sqlite3?|sw[op])(\\.(bz2|gz|xz|zip|zst))?)$
\t}
\trespond @backups 404
";

/// What a worker script for RoadRunner does not get, if the application has a document root.
const FILES: &str = "\
\t@files {
\t\tfile
\t\tnot path_regexp (?i)\\.php(/|$)
\t}
\thandle @files {
\t\tfile_server
\t}
";

/// For frameworks with a front controller.
const FRONT_CONTROLLER: &str = "\
\t# Only the front controller runs: no PHP among uploads and assets.
\t@scripts {
\t\tfile {
\t\t\tsplit_path .php
\t\t}
\t\tpath_regexp (?i)\\.php(/|$)
\t\tnot path /index.php /index.php/*
\t}
\trespond @scripts 404
";

const WORDPRESS: &str = "\
\t# Uploads are sent and never run.
\t@uploads path_regexp (?i)^/((wp-content|app)/(blogs\\.dir|files|uploads)|files)/.*\\.(php[0-9]?|phtml|phar)(/|$)
\trespond @uploads 403
\t@private path_regexp (?i)^/(wp-config(-sample)?\\.php|wp-content/debug\\.log|composer\\.(json|lock)|vendor/.*|Caddyfile)
\trespond @private 404
";

const DRUPAL: &str = "\
\t# Files of modules and of Composer, settings, private files, and PHP among uploads.
\t@private path_regexp (?i)\\.(engine|inc|install|make|module|profile|po|sh|theme|twig|tpl(\\.php)?|xtmpl|ya?ml)$|(^|/)(composer\\.(json|lock)|package\\.json|web\\.config|yarn\\.lock)$|^/(Caddyfile|autoload\\.php|vendor/.*)$|^/sites/[^/]+/(private/|settings|services|default\\.s)
\trespond @private 404
\t@uploads path_regexp (?i)^/sites/[^/]+/files/.*\\.(php[0-9]?|phtml|phar)(/|$)
\trespond @uploads 403
\t# Scripts that Drupal calls by their paths.
\t@scripts {
\t\tfile {
\t\t\tsplit_path .php
\t\t}
\t\tpath_regexp (?i)\\.php(/|$)
\t\tnot path_regexp ^/([^/]+|core/[^/]+|core/modules/statistics/statistics)\\.php(/|$)
\t}
\trespond @scripts 403
";

const MEDIAWIKI: &str = "\
\t# Uploads are sent and never run.
\t@uploads path_regexp (?i)^/images/.*\\.(php[0-9]?|phtml|phar)(/|$)
\trespond @uploads 403
\t# What belongs to the installation is not for clients.
\t@private path_regexp ^/(LocalSettings\\.php.*|Caddyfile|composer\\.(json|lock|local\\.json).*|(cache|docs|images/(deleted|lockdir|temp)|includes|languages|maintenance|serialized|sql|tests|vendor)(/.*)?)$
\trespond @private 404
\t# The entry points of MediaWiki; extensions have none.
\t@scripts {
\t\tfile {
\t\t\tsplit_path .php
\t\t}
\t\tpath_regexp (?i)\\.php(/|$)
\t\tnot path_regexp ^/(api|img_auth|index|load|opensearch_desc|rest|thumb|thumb_handler|mw-config/index)\\.php(/|$)
\t}
\trespond @scripts 404
";

const NEXTCLOUD: &str = "\
\tredir /.well-known/carddav /remote.php/dav 301
\tredir /.well-known/caldav /remote.php/dav 301
\t@private path_regexp ^/((3rdparty|build|config|data|lib|templates|tests)(/.*)?|autotest.*|console.*|db_.*|indie.*|issue.*|occ.*|composer\\.(json|lock)|package(-lock)?\\.json|vendor(/.*)?|Caddyfile)$
\trespond @private 404
\t# The entry points of Nextcloud.
\t@scripts {
\t\tfile {
\t\t\tsplit_path .php
\t\t}
\t\tpath_regexp (?i)\\.php(/|$)
\t\tnot path_regexp ^/(index|remote|public|cron|core/ajax/update|status|ocs/v[12]|ocs-provider/.+|updater/.+|.+/richdocumentscode(_arm64)?/proxy)\\.php(/|$)
\t}
\trespond @scripts 404
\theader Referrer-Policy no-referrer
\theader X-Content-Type-Options nosniff
\theader X-Frame-Options SAMEORIGIN
\theader X-Permitted-Cross-Domain-Policies none
\theader X-Robots-Tag \"noindex, nofollow\"
";

impl Application {
    pub(in crate::commands) fn settings(&self) -> Settings {
        const AGAIN: &str = "then `howdah init --undo && howdah init`";
        let is_own = self.root == ".";
        let parts: &[&str] = match self.framework {
            Framework::WordPress => &[WORDPRESS, BACKUPS],
            Framework::Drupal => &[DRUPAL, BACKUPS],
            Framework::MediaWiki => &[MEDIAWIKI, BACKUPS],
            Framework::Nextcloud => &[NEXTCLOUD, BACKUPS],
            Framework::Plain if is_own => &[OWN_FOLDER, BACKUPS],
            Framework::Plain => &[],
            _ if is_own => &[OWN_FOLDER, OWN_CODE, BACKUPS, FRONT_CONTROLLER],
            _ => &[FRONT_CONTROLLER],
        };
        let settings = |mode, file| Settings {
            mode,
            file,
            site: parts.concat(),
            earlier: Vec::new(),
        };
        let worker = |file| settings(Mode::Worker, Some(file));
        let classic = |reason: &str| {
            let reason = reason.to_owned();
            settings(Mode::Classic { reason }, None)
        };
        let has_script = !matches!(self.script, WorkerScript::Missing { .. });
        match self.framework {
            Framework::Laravel if has_script => worker(LARAVEL),
            Framework::Laravel => classic(&format!(
                "for worker mode install Octane (`composer require laravel/octane`), {AGAIN}"
            )),
            Framework::CodeIgniter if has_script => worker(CODEIGNITER),
            Framework::CodeIgniter => classic(&format!(
                "for worker mode run `php spark worker:install` (CodeIgniter 4.7 or later; before, `composer \
                     require howdah/codeigniter4`), {AGAIN}"
            )),
            Framework::Symfony if self.has_runtime || self.is_at_least(7, 4) => Settings {
                earlier: vec![
                    Earlier {
                        comment: "Before Symfony 7.4, with howdah/runtime:",
                        setting: r"env APP_RUNTIME Howdah\Runtime\Runtime",
                        applies: !self.is_at_least(7, 4),
                    },
                    Earlier {
                        comment: "Symfony 5, whose session service makes its settings once:",
                        setting: "keep session",
                        applies: !self.is_at_least(6, 0),
                    },
                ],
                ..worker(SYMFONY)
            },
            Framework::Symfony => classic(&format!(
                "for worker mode with Symfony before 7.4 run `composer require howdah/runtime`, {AGAIN}"
            )),
            Framework::WordPress | Framework::MediaWiki | Framework::Nextcloud => classic(GLOBALS),
            Framework::Drupal => classic(NO_SCRIPT),
            Framework::CakePhp
            | Framework::Laminas
            | Framework::Mezzio
            | Framework::Plain
            | Framework::Slim
            | Framework::Yii => match &self.script {
                WorkerScript::Missing { reason } => classic(reason.as_deref().unwrap_or(NO_SCRIPT)),
                _ => settings(Mode::Worker, None),
            },
        }
    }
}

impl Settings {
    /// The lines before `php_server`: paths that must not be served.
    pub(in crate::commands) fn site(&self) -> &str {
        &self.site
    }

    /// The text of the Caddyfile.
    pub(in crate::commands) fn caddyfile(&self, application: &Application) -> String {
        const WRITTEN: &str = "# Written by `howdah init`; `howdah init --undo` removes it.\n";
        if let Some(file) = self.file {
            let file = file.replacen("\tphp_server", &format!("{}\tphp_server", self.site), 1);
            let text = format!("{WRITTEN}{file}");
            let earlier = self.earlier.iter();
            return earlier.fold(text, |text, setting| setting.apply(&text));
        }
        if let WorkerScript::RoadRunner { path, is_pool } = &application.script {
            let site = roadrunner_site(path, *is_pool, application.root);
            return format!(
                "{WRITTEN}# {application} on http://localhost:8080. From the application's folder: howdah run\n{site}"
            );
        }
        let script = application.script.path();
        let script = script.filter(|_| self.mode == Mode::Worker);
        let worker = script.map_or_else(String::new, |script| {
            format!(
                "{{\n\tfrankenphp {{\n\t\tworker {{\n\t\t\tfile {script}\n\t\t\tmax_requests 10000\n\t\t}}\n\t}}\n}}\n\n"
            )
        });
        let name = script.and_then(|script| script.rsplit('/').next());
        let front = name.filter(|name| *name != "index.php");
        let front = front.map_or_else(String::new, |name| {
            format!(" {{\n\t\ttry_files {{path}} {name}\n\t}}")
        });
        format!(
            "{WRITTEN}# {application} on http://localhost:8080. From the application's folder: howdah run\n{worker}:8080 \
             {{\n\troot * {root}\n\tencode zstd br gzip\n{site}\tphp_server{front}\n}}\n",
            root = application.root,
            site = self.site,
        )
    }
}

/// The site of an application whose worker script is for RoadRunner.
fn roadrunner_site(path: &str, is_pool: bool, root: &str) -> String {
    let handler = if is_pool {
        format!("roadrunner {path}\n")
    } else {
        format!(
            "php {{\n\t\t\tworker {{\n\t\t\t\tfile {path}\n\t\t\t\tmatch *\n\t\t\t\tmax_requests 10000\n\t\t\t}}\n\t\t}}\n"
        )
    };
    // The application's own folder has files that are not for clients.
    let (root, files) = match root {
        "." => (String::new(), ""),
        root => (format!("\troot * {root}\n"), FILES),
    };
    format!(":8080 {{\n{root}\tencode zstd br gzip\n{files}\thandle {{\n\t\t{handler}\t}}\n}}\n")
}

#[cfg(test)]
mod tests {
    use howdah_config::{NoFiles, parse};

    use super::*;

    /// The Caddyfile for a folder with these files.
    fn caddyfile(files: &[(&str, &str)]) -> (Mode, String) {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let found = Application::find(dir.path())
            .expect("readable")
            .expect("an application");
        let settings = found.settings();
        let text = settings.caddyfile(&found);
        let env = |name: &str| (name == "PWD").then(|| "/srv/app".to_owned());
        let parsed = parse(&text, "Caddyfile", &env, &NoFiles);
        let parsed = parsed.unwrap_or_else(|errors| panic!("{text}\n{errors}"));
        assert_eq!(parsed.warnings, [], "{text}");
        assert_eq!(howdah_config::fmt(&text), text);
        let workers = parsed.config.workers.len();
        assert_eq!(
            workers,
            usize::from(settings.mode == Mode::Worker),
            "{text}"
        );
        (settings.mode, text)
    }

    #[test]
    fn each_application_has_a_valid_file() {
        for files in [
            &["index.php"][..],
            &["public/index.php"],
            &["wp-includes/version.php"],
            &["web/core/lib/Drupal.php"],
            &["includes/Defines.php"],
            &["lib/versioncheck.php"],
        ] {
            let files: Vec<_> = files.iter().map(|file| (*file, "")).collect();
            let (mode, text) = caddyfile(&files);
            assert_ne!(mode, Mode::Worker);
            // Files in the application's folder must not be served.
            let is_root = !text.contains("root * public");
            assert_eq!(text.contains("@private"), is_root, "{text}");
        }
    }

    #[test]
    fn slim_and_mezzio_have_a_script_if_it_can_be_made() {
        let front = "<?php $app = AppFactory::create(); $app->run();";
        let of = |package: &str, index: &str| {
            let composer = format!(r#"{{"require": {{{package}}}}}"#);
            let (mode, text) =
                caddyfile(&[("composer.json", &composer), ("public/index.php", index)]);
            match mode {
                Mode::Worker => text,
                Mode::Classic { reason } => reason,
            }
        };
        for package in [r#""slim/slim": "^4.12""#, r#""mezzio/mezzio": "^3.7""#] {
            let text = of(package, front);
            assert!(text.contains("file public/howdah-worker.php\n"), "{text}");
            assert!(
                text.contains("try_files {path} howdah-worker.php\n"),
                "{text}"
            );
            let reason = of(package, "<?php echo 1;");
            assert!(
                reason.contains("`composer require howdah/psr15`"),
                "{reason}"
            );
        }
        let reason = of(r#""slim/slim": "^3.12""#, front);
        assert!(reason.contains("update Slim"), "{reason}");
        // The script of howdah/psr15 is the front controller itself.
        let runner =
            r"<?php (new Howdah\Psr15\Runner($app, Howdah\Psr15\Requests::find()))->run();";
        for package in ["", r#""slim/slim": "^4.12""#] {
            let text = of(package, runner);
            assert!(text.contains("file public/index.php\n"), "{text}");
            assert!(text.contains("\tphp_server\n"), "{text}");
        }
    }

    #[test]
    fn a_worker_script_for_roadrunner_is_used() {
        let script = "<?php $psr7 = new Spiral\\RoadRunner\\Http\\PSR7Worker($worker);";
        let of = |package: &str, files: &[(&str, &str)]| {
            let composer = format!(r#"{{"require": {{"{package}": "^3.5"}}}}"#);
            let dir = tempfile::tempdir().expect("a directory");
            for (name, text) in files.iter().chain(&[("composer.json", composer.as_str())]) {
                let path = dir.path().join(name);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                std::fs::write(path, text).expect("written");
            }
            let found = Application::find(dir.path()).expect("readable");
            found.map(|found| {
                let text = found.settings().caddyfile(&found);
                let parsed = parse(&text, "Caddyfile", &|_| None, &NoFiles);
                let parsed = parsed.unwrap_or_else(|errors| panic!("{text}\n{errors}"));
                assert_eq!(parsed.warnings, [], "{text}");
                assert_eq!(howdah_config::fmt(&text), text);
                assert_eq!(found.settings().mode, Mode::Worker);
                (text, parsed.config.workers.len())
            })
        };
        let http = "spiral/roadrunner-http";
        let (text, workers) = of(http, &[("worker.php", script)]).expect("an application");
        assert!(text.contains("\t\troadrunner worker.php\n"), "{text}");
        assert!(!text.contains("root") && workers == 0, "{text}");
        let files = [("public/a.css", ""), ("bin/psr.php", script), ("a.php", "")];
        let (text, _) = of(http, &files).expect("an application");
        assert!(text.contains("\t\troadrunner bin/psr.php\n"), "{text}");
        assert!(text.contains("\troot * public\n") && text.contains("not path_regexp"));
        let files = [("public/index.php", "<?php"), ("worker.php", script)];
        let (text, workers) = of("howdah/psr7-worker", &files).expect("an application");
        assert!(text.contains("\t\t\t\tfile worker.php\n"), "{text}");
        assert_eq!(workers, 1);
        assert_eq!(of(http, &[("worker.php", "<?php")]), None);
        assert_eq!(of("none/of-them", &[("worker.php", script)]), None);
    }

    #[test]
    fn worker_mode_is_for_what_has_a_script() {
        let with = |package: &str, version: &str, more: &[(&str, &str)]| {
            let lock = format!(r#"{{"packages":[{{"name":"{package}","version":"{version}"}}]}}"#);
            let files = [
                &[("composer.lock", lock.as_str()), ("public/index.php", "")],
                more,
            ]
            .concat();
            caddyfile(&files)
        };
        let script = [("public/frankenphp-worker.php", "")];
        for package in ["laravel/framework", "codeigniter4/framework"] {
            assert_eq!(with(package, "v12.0.0", &script).0, Mode::Worker);
            assert_ne!(with(package, "v12.0.0", &[]).0, Mode::Worker);
        }
        // Installed, but without its script.
        let octane = [("vendor/laravel/octane/bin/frankenphp-worker.php", "")];
        assert_eq!(
            with("laravel/framework", "v12.0.0", &octane).0,
            Mode::Worker
        );
        let template = "vendor/howdah/codeigniter4/src/Commands/Views/worker.php.tpl";
        let (mode, _) = with("codeigniter4/framework", "v4.6.0", &[(template, "<?php")]);
        assert_eq!(mode, Mode::Worker);
        let symfony = "symfony/framework-bundle";
        let (mode, text) = with(symfony, "v7.4.0", &[]);
        assert_eq!(mode, Mode::Worker);
        assert!(
            !text.contains("APP_RUNTIME") && !text.contains("Symfony 5"),
            "{text}"
        );
        assert!(text.contains("\tencode zstd br gzip\n"), "{text}");
        assert_ne!(with(symfony, "v6.4.0", &[]).0, Mode::Worker);
        let runtime = [("composer.json", r#"{"require":{"howdah/runtime":"^1.0"}}"#)];
        let (mode, text) = with(symfony, "v6.4.0", &runtime);
        assert_eq!(mode, Mode::Worker);
        assert!(text.contains("\t\tenv APP_RUNTIME Howdah"), "{text}");
        assert!(
            !text.contains("session") && !text.contains("Before"),
            "{text}"
        );
        let (_, text) = with(symfony, "v5.4.40", &runtime);
        assert!(text.contains("\t\tkeep session"), "{text}");
    }
}
