//! The meaning of `file_server` and `try_files`.

use crate::common::{handler, matcher, path_and, placeholder, routes, text};
use crate::directives::hidden;
use howdah_config::model::{
    ContentCoding, FileServer, Handler, Matcher, Part, Placeholder, Symlinks, Template, TryFiles,
    TryPolicy,
};

#[test]
fn file_server() {
    let files = FileServer {
        hide: hidden(),
        ..FileServer::default()
    };
    assert_eq!(handler("file_server"), Handler::FileServer(files));
    let files = FileServer {
        root: Some(text("public")),
        index: vec!["a.html".into()],
        hide: vec![
            ".git".into(),
            "*.bak".into(),
            "x".into(),
            "./Caddyfile".into(),
        ],
        precompressed: vec![ContentCoding::Zstd, ContentCoding::Gzip],
        ..FileServer::default()
    };
    assert_eq!(
        handler(
            "file_server {\nroot public\nindex a.html\nhide .git *.bak\nhide x\nprecompressed zstd gzip\n}"
        ),
        Handler::FileServer(files)
    );
    let Handler::FileServer(files) = handler("file_server {\nsymlinks if_owner_match\n}") else {
        panic!("file_server")
    };
    assert_eq!(files.symlinks, Symlinks::IfOwnerMatch);
    let Handler::PhpServer(php) = handler("php_server {\nsymlinks off\n}") else {
        panic!("php_server")
    };
    let symlinks = php.files.map(|files| files.symlinks);
    assert_eq!(symlinks, Some(Symlinks::Off));
    let Handler::FileServer(files) = handler("file_server {\nprecompressed\n}") else {
        panic!("file_server")
    };
    let all = [
        ContentCoding::Brotli,
        ContentCoding::Zstd,
        ContentCoding::Gzip,
    ];
    assert_eq!(files.precompressed, all);
}

#[test]
fn try_files() {
    let files = TryFiles {
        candidates: vec![
            placeholder(Placeholder::Path),
            path_and("/"),
            text("/index.html"),
        ],
        fallback_status: Some(404),
    };
    assert_eq!(
        handler("try_files {path} {path}/ /index.html =404"),
        Handler::TryFiles(files.clone(), TryPolicy::FirstExist)
    );
    for (name, policy) in [
        ("first_exist", TryPolicy::FirstExist),
        ("first_exist_fallback", TryPolicy::FirstExistFallback),
        ("smallest_size", TryPolicy::SmallestSize),
        ("largest_size", TryPolicy::LargestSize),
        ("most_recently_modified", TryPolicy::MostRecentlyModified),
    ] {
        let line = format!("try_files {{path}} {{path}}/ /index.html =404 {{\npolicy {name}\n}}");
        assert_eq!(handler(&line), Handler::TryFiles(files.clone(), policy));
        let file = Matcher::File {
            fallback_status: None,
            root: None,
            candidates: vec![text("a")],
            split: Vec::new(),
            policy,
        };
        assert_eq!(
            matcher(&format!("@a file a {{\ntry_policy {name}\n}}")),
            file
        );
    }
}

#[test]
fn the_last_file_needs_no_look() {
    let last = |files: &str| {
        let routes = routes(&format!(
            "try_files {files} {{\npolicy first_exist_fallback\n}}"
        ));
        let group = routes[0].group;
        assert!(group.is_some() && routes.iter().all(|route| route.group == group));
        let before = routes.len() - 1;
        assert!(routes[..before].iter().all(|route| route.matcher.is_some()));
        routes[before].clone()
    };
    let rewritten = last("{path} app.php?a=b");
    assert_eq!(rewritten.matcher, None);
    assert!(matches!(rewritten.handler, Handler::Rewrite(_)));
    let file = last("a.php?b {path} app.html");
    assert_eq!(file.matcher, None);
    let files = TryFiles {
        candidates: vec![placeholder(Placeholder::Path), text("app.html")],
        fallback_status: None,
    };
    let expected = Handler::TryFiles(files, TryPolicy::FirstExistFallback);
    assert_eq!(file.handler, expected);
}

#[test]
fn try_files_with_a_query_is_a_group_of_rewrites() {
    let routes = routes("try_files {path} app.php?{query}&p={path} =404");
    let group = routes[0].group;
    assert!(group.is_some() && routes.iter().all(|route| route.group == group));
    let file = |candidate| {
        Some(Matcher::File {
            fallback_status: None,
            root: None,
            candidates: vec![candidate],
            split: Vec::new(),
            policy: TryPolicy::FirstExist,
        })
    };
    assert_eq!(routes.len(), 3);
    assert_eq!(routes[0].matcher, file(placeholder(Placeholder::Path)));
    assert_eq!(routes[1].matcher, file(text("app.php")));
    let rewrite = Template {
        parts: vec![
            Part::Text("/app.php?".into()),
            Part::Placeholder(Placeholder::Query),
            Part::Text("&p=".into()),
            Part::Placeholder(Placeholder::Path),
        ],
    };
    assert_eq!(routes[1].handler, Handler::Rewrite(rewrite));
    assert_eq!(routes[2].matcher, None);
    let answer = TryFiles {
        candidates: vec![],
        fallback_status: Some(404),
    };
    assert_eq!(
        routes[2].handler,
        Handler::TryFiles(answer, TryPolicy::FirstExist)
    );
}
