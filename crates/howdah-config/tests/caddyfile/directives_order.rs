//! The order of directives, and groups of them.

use crate::common::{handler, routes};
use crate::directives::{paths, respond};
use howdah_config::model::{Handler, Route};

/// Texts of the `respond` handlers of the routes, in order.
fn bodies(routes: &[Route]) -> Vec<&str> {
    routes
        .iter()
        .map(|route| match &route.handler {
            Handler::Respond { body, .. } => body.as_text().expect("text"),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn handle_groups() {
    let routes = routes(
        "handle {\nrespond rest\n}\nhandle /a/* {\nrespond a\n}\nhandle_path /b/* {\nrespond b\n}",
    );
    assert_eq!(routes.len(), 3);
    assert_eq!(routes[0].matcher, Some(paths("/a/*")));
    assert_eq!(routes[1].matcher, Some(paths("/b/*")));
    assert_eq!(routes[2].matcher, None);
    assert!(routes[0].group.is_some());
    assert!(routes.iter().all(|route| route.group == routes[0].group));
    let Handler::Chain(chain) = &routes[1].handler else {
        panic!("{routes:?}")
    };
    assert_eq!(chain[0].handler, Handler::StripPrefix("/b".into()));
    assert_eq!(chain[1].handler, respond("b", None, false));
}

#[test]
fn one_handle_needs_no_group() {
    assert_eq!(routes("handle {\nrespond a\n}")[0].group, None);
    let two = routes("rewrite /a /b\nrewrite /c /d\nroot /a /x\nroot /y");
    let groups: Vec<_> = two
        .iter()
        .map(|route| route.group.expect("a group"))
        .collect();
    assert_eq!(groups[0], groups[1]);
    assert_eq!(groups[2], groups[3]);
    assert_ne!(groups[0], groups[2]);
}

#[test]
fn directives_are_sorted() {
    let routes = routes(
        "file_server\nphp_server\nphp\nreverse_proxy a\nrespond /x x\nabort /x\nerror /x\nencode\n\
         route {\n}\nhandle {\n}\nintercept {\nreplace_status 404\n}\nrequest_header A b\ntry_files {path}\n\
         uri strip_prefix /a\nrewrite /y\nmethod GET\nredir /r /s\nrequest_body {\nmax_size 1\n}\nheader A b\n\
         log_skip\nroot public\nvars a b",
    );
    let names: Vec<_> = routes
        .iter()
        .map(|route| match &route.handler {
            Handler::Root(_) => "root",
            Handler::Header(_) | Handler::DeferredHeader(_) => "header",
            Handler::Encode(_) => "encode",
            Handler::Redirect { .. } => "redir",
            Handler::Rewrite(_) => "rewrite",
            Handler::StripPrefix(_) => "strip",
            Handler::TryFiles(..) => "try_files",
            Handler::Chain(_) => "chain",
            Handler::Respond { .. } => "respond",
            Handler::PhpServer(_) => "php_server",
            Handler::Php(_) => "php",
            Handler::FileServer(_) => "file_server",
            Handler::Vars(_) => "vars",
            Handler::Method(_) => "method",
            Handler::Uri(_) => "uri",
            Handler::RequestHeader(_) => "request_header",
            Handler::RequestBody { .. } => "request_body",
            Handler::BasicAuth(_) => "basic_auth",
            Handler::LogSkip => "log_skip",
            Handler::Intercept(_) => "intercept",
            Handler::Error { .. } => "error",
            Handler::Abort => "abort",
            Handler::ReverseProxy(_) => "reverse_proxy",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        names,
        [
            "vars",
            "root",
            "log_skip",
            "header",
            "request_body",
            "redir",
            "method",
            "rewrite",
            "uri",
            "try_files",
            "request_header",
            "encode",
            "intercept",
            "chain",
            "chain",
            "abort",
            "error",
            "respond",
            "reverse_proxy",
            "php",
            "php_server",
            "file_server"
        ]
    );
}

#[test]
fn specific_paths_come_first() {
    let sorted = routes(
        "@two path /p /q\n@one path /api/users/*\nrespond rest\nrespond /a* short\n\
         respond /api/* api\nrespond @one users\nrespond /api exact",
    );
    assert_eq!(bodies(&sorted), ["users", "api", "exact", "short", "rest"]);
    let same = routes("respond /foo/* wild\nrespond /foo/ exact\nrespond /bar/* bar");
    assert_eq!(bodies(&same), ["bar", "exact", "wild"]);
    let several = routes("@two path /p /q\nrespond none\nrespond @two two\nrespond /p one");
    assert_eq!(bodies(&several), ["two", "one", "none"]);
}

#[test]
fn route_keeps_the_order() {
    let Handler::Chain(chain) = handler("route {\nrespond /a a\nrespond rest\nrespond /a/b ab\n}")
    else {
        panic!("no chain")
    };
    assert_eq!(bodies(&chain), ["a", "rest", "ab"]);
}
