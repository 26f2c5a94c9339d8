//! The meaning of `php_server` and `php`, and settings of a site.

use crate::common::{config, handler, path_and, placeholder, routes, text};
use crate::directives::{hidden, paths};
use howdah_config::model::{
    AccessLog, FileServer, Handler, LineFormat, LogFormat, PhpScript, PhpServer, Placeholder,
    TryFiles,
};

#[test]
fn php_server_defaults() {
    let expected = PhpServer {
        script: PhpScript::default(),
        root: None,
        index: Some("index.php".into()),
        try_files: TryFiles {
            candidates: vec![
                placeholder(Placeholder::Path),
                path_and("/index.php"),
                text("index.php"),
            ],
            fallback_status: None,
        },
        files: Some(FileServer {
            hide: hidden(),
            ..FileServer::default()
        }),
        fastcgi: None,
    };
    assert_eq!(handler("php_server"), Handler::PhpServer(expected.clone()));
    assert_eq!(handler("php_server {\n}"), Handler::PhpServer(expected));
    assert_eq!(routes("php_server /a/*")[0].matcher, Some(paths("/a/*")));
}

#[test]
fn php_server_options() {
    let server = |block: &str| match handler(&format!("php_server {{\n{block}\n}}")) {
        Handler::PhpServer(server) => server,
        other => panic!("{other:?}"),
    };
    assert_eq!(server("root /srv/app").root, Some(text("/srv/app")));
    let app = server("index app.php");
    assert_eq!(app.index.as_deref(), Some("app.php"));
    assert_eq!(
        app.try_files.candidates[1..],
        [path_and("/app.php"), text("app.php")]
    );
    let off = server("index off");
    assert_eq!((off.index, off.try_files), (None, TryFiles::default()));
    let files_off = server("file_server off");
    assert_eq!(files_off.files, None);
    assert_eq!(
        files_off.try_files.candidates,
        [path_and("/index.php"), text("index.php")]
    );
    let tried = server("try_files {path} a.php =404").try_files;
    assert_eq!(
        tried.candidates,
        [placeholder(Placeholder::Path), text("a.php")]
    );
    assert_eq!(tried.fallback_status, Some(404));
    assert_eq!(server("split .php .phtml").script.split, [".php", ".phtml"]);
    assert_eq!(server("split_path .inc").script.split, [".inc"]);
    let env = server("env A one\nenv B {host}\nenv A two").script.env;
    assert_eq!(
        env,
        [
            ("B".to_owned(), placeholder(Placeholder::Host)),
            ("A".to_owned(), text("two"))
        ]
    );
    assert!(server("resolve_root_symlink").script.resolve_root_symlink);
    assert!(
        !server("resolve_root_symlink false")
            .script
            .resolve_root_symlink
    );
}

#[test]
fn php() {
    let script = PhpScript {
        root: Some(text("app")),
        split: vec![".inc".into()],
        env: vec![("A".into(), text("b"))],
        resolve_root_symlink: false,
        learn_hints: true,
        workers: Vec::new(),
        pool: None,
    };
    assert_eq!(
        handler(
            "php /a* {\nroot app\nsplit .inc\nenv A b\nresolve_root_symlink 0\nearly_hints learn\n}"
        ),
        Handler::Php(script)
    );
}

#[test]
fn site_settings() {
    let site =
        config(":80 {\nbind 127.0.0.1 [::1]\nlog {\nformat json\noutput stderr\nlevel INFO\n}\n}")
            .sites
            .remove(0);
    assert_eq!(
        site.bind,
        [
            "127.0.0.1".parse::<std::net::IpAddr>().unwrap(),
            "::1".parse().unwrap()
        ]
    );
    assert_eq!(
        site.access_logs,
        [AccessLog {
            format: LineFormat {
                encoding: Some(LogFormat::Json),
                ..LineFormat::default()
            },
            ..AccessLog::default()
        }]
    );
    assert!(site.routes.is_empty());
    assert_eq!(
        config(":80 {\nlog\n}").sites[0].access_logs,
        [AccessLog::default()]
    );
    assert_eq!(config(":80 {\n}").sites[0].access_logs, []);
}
