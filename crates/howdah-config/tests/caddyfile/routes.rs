//! `order`, `map`, `forward_auth`, `handle_errors` in blocks, and the fields that `handle_response`
//! copies.

use crate::common::{config, full, handler, placeholder, routes, text};
use howdah_config::model::{
    CopyHeaders, ForwardAuth, Handler, HeaderChange, InterceptAction, Map, MapInput, MapOutput,
    MapPart, Matcher, Part, Placeholder, Status, StatusRange, Template, Upstream,
};

/// The bodies of a site's `respond` directives in the order in which they are applied, and the
/// names of its other directives.
fn applied(global: &str, directives: &str) -> Vec<String> {
    let config = config(&format!("{{\n{global}\n}}\n:80 {{\n{directives}\n}}\n"));
    let name = |handler: &Handler| match handler {
        Handler::Header(_) => "header".to_owned(),
        Handler::Redirect { .. } => "redir".to_owned(),
        Handler::Rewrite(_) => "rewrite".to_owned(),
        Handler::Chain(_) => "chain".to_owned(),
        Handler::Respond { body, .. } => body.as_text().unwrap_or_default().to_owned(),
        other => panic!("{other:?}"),
    };
    let routes = &config.sites[0].routes;
    routes.iter().map(|route| name(&route.handler)).collect()
}

#[test]
fn order_moves_directives() {
    let site = "respond r\nrewrite /a /b\nredir /c /d\nhandle_path /e {\n}\nheader X y";
    let own = ["header", "redir", "rewrite", "chain", "r"];
    assert_eq!(applied("", site), own);
    for (order, expected) in [
        (
            "order respond first",
            ["r", "header", "redir", "rewrite", "chain"],
        ),
        (
            "order header last",
            ["redir", "rewrite", "chain", "r", "header"],
        ),
        (
            "order respond before redir",
            ["header", "r", "redir", "rewrite", "chain"],
        ),
        (
            "order header after handle",
            ["redir", "rewrite", "chain", "header", "r"],
        ),
        (
            "order respond first\norder header before respond\norder redir after header",
            ["header", "redir", "r", "rewrite", "chain"],
        ),
        // Many files have this order, which is the default.
        (
            "order php_server before file_server\norder mercure after encode",
            own,
        ),
    ] {
        assert_eq!(applied(order, site), expected, "{order}");
    }
    // A `route` keeps the order of the file in any case.
    let inner = routes("route {\nrespond a\nheader X y\n}");
    let Handler::Chain(chain) = &inner[0].handler else {
        panic!("{inner:?}");
    };
    assert!(matches!(chain[0].handler, Handler::Respond { .. }));
}

#[test]
fn the_order_of_a_directive_without_effect_has_none() {
    let text = "{\norder vulcain after reverse_proxy\n}\n:80 {\n}\n";
    let parsed = full(text).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(parsed.warnings.len(), 1, "{:?}", parsed.warnings);
}

#[test]
fn default_bind_is_for_sites_without_bind() {
    let config = config("{\ndefault_bind 127.0.0.1 ::1\n}\n:80 {\n}\n:81 {\nbind 127.0.0.2\n}\n");
    let bound = |site: usize| {
        let bind = config.sites[site].bind.iter();
        bind.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(bound(0), ["127.0.0.1", "::1"]);
    assert_eq!(bound(1), ["127.0.0.2"]);
}

#[test]
fn errors_of_a_block_are_handled_in_it() {
    let routes = routes("route {\nrespond /a a\nhandle_errors 404 {\nrespond b\n}\n}");
    let Handler::Chain(chain) = &routes[0].handler else {
        panic!("{routes:?}");
    };
    let [first, second] = chain.as_slice() else {
        panic!("{chain:?}");
    };
    let Handler::HandleErrors(errors) = &first.handler else {
        panic!("{chain:?}");
    };
    assert_eq!(errors[0].statuses, [StatusRange::one(404)]);
    assert!(matches!(second.handler, Handler::Respond { .. }));
    let config = config(":80 {\nhandle_errors {\nrespond b\n}\n}");
    assert_eq!(config.sites[0].errors.len(), 1);
    assert!(config.sites[0].routes.is_empty());
}

fn map(directive: &str) -> Map {
    match handler(directive) {
        Handler::Map(map) => *map,
        other => panic!("{other:?}"),
    }
}

fn output(parts: Vec<MapPart>) -> MapOutput {
    MapOutput { parts }
}

#[test]
fn maps_name_their_placeholders() {
    let map = map(
        "map {host} {tenant} {theme} {\nshop shop dark\n~^(.*)-(?P<x>a)$ $1:${x}$${path} -\n\"default\" d {path}\ndefault none \"\"\n}",
    );
    assert_eq!(map.source, placeholder(Placeholder::Host));
    assert_eq!(map.variables, ["tenant", "theme"]);
    let of = |template: Template| MapPart::Text(template);
    assert_eq!(map.rows[0].input, MapInput::Text("shop".into()));
    assert_eq!(map.rows[0].outputs[1], Some(output(vec![of(text("dark"))])));
    assert_eq!(
        map.rows[1].input,
        MapInput::Regexp("^(.*)-(?P<x>a)$".into())
    );
    let tail = Template {
        parts: vec![Part::Text("$".into()), Part::Placeholder(Placeholder::Path)],
    };
    let parts = vec![
        MapPart::Group("1".into()),
        of(text(":")),
        MapPart::Group("x".into()),
        of(tail),
    ];
    assert_eq!(map.rows[1].outputs, [Some(output(parts)), None]);
    assert_eq!(map.rows[2].input, MapInput::Text("default".into()));
    assert_eq!(map.defaults[1], output(vec![of(text(""))]));
    // The name may be used anywhere: before the definition, in blocks, in named routes.
    let config = config(
        "&(n) {\nrespond \"{tenant}\"\n}\n:80 {\nroot * /srv/{tenant}\nhandle /a {\nheader T \"is {tenant}\"\n}\n\
         @t vars {tenant} a\ninvoke @t n\nmap {host} {tenant} {\ndefault a\n}\n}",
    );
    let tenant = Placeholder::Var("tenant".into());
    let text = format!("{config:?}");
    assert_eq!(text.matches(&format!("{tenant:?}")).count(), 4, "{text}");
    // Other placeholders are unchanged.
    assert_eq!(
        handler("respond \"{\\\"a\\\": {}}\""),
        handler("respond `{\"a\": {}}`")
    );
}

#[test]
fn forward_auth_expands_to_a_proxy() {
    let Handler::ForwardAuth(auth) = handler(
        "forward_auth /admin/* auth:9091 {\nuri /verify?rd={uri}\ncopy_headers Remote-User Remote-Email>X-Email\n\
         copy_headers {\nRemote-Groups\n}\nheader_up X-Own yes\ntransport http {\ndial_timeout 1s\n}\n}",
    ) else {
        panic!("no forward_auth");
    };
    let ForwardAuth {
        proxy,
        copy_headers,
    } = *auth;
    assert_eq!(
        proxy.upstreams,
        [Upstream::Tcp {
            host: "auth".into(),
            port: 9091
        }]
    );
    assert_eq!(proxy.method, Some(text("GET")));
    let uri = Template {
        parts: vec![
            Part::Text("/verify?rd=".into()),
            Part::Placeholder(Placeholder::Uri),
        ],
    };
    assert_eq!(proxy.rewrite, Some(uri));
    assert_eq!(
        proxy.header_up,
        [
            HeaderChange::Set(
                "X-Forwarded-Method".into(),
                placeholder(Placeholder::Method)
            ),
            HeaderChange::Set("X-Forwarded-Uri".into(), placeholder(Placeholder::Uri)),
            HeaderChange::Set("X-Own".into(), text("yes")),
        ]
    );
    assert_eq!(proxy.dial_timeout.as_secs(), 1);
    let copied: Vec<_> = copy_headers
        .iter()
        .map(|field| (field.from.as_str(), field.to.as_str()))
        .collect();
    let expected = [
        ("Remote-User", "Remote-User"),
        ("Remote-Email", "X-Email"),
        ("Remote-Groups", "Remote-Groups"),
    ];
    assert_eq!(copied, expected);
    // It runs before the directives that it protects.
    let order = routes("php_server\nforward_auth a {\nuri /\n}");
    assert!(matches!(order[0].handler, Handler::ForwardAuth(_)));
}

#[test]
fn responses_are_copied() {
    let copied = |directive: &str| {
        let Handler::ReverseProxy(proxy) = handler(&format!(
            "reverse_proxy a {{\nhandle_response {{\n{directive}\n}}\n}}"
        )) else {
            panic!("no proxy");
        };
        assert!(!proxy.intercept.keeps_header);
        let InterceptAction::Handle(routes) = &proxy.intercept.rules[0].action else {
            panic!("{proxy:?}");
        };
        routes[0].clone()
    };
    let plain = copied("copy_response");
    assert_eq!(plain.handler, Handler::CopyResponse(Status::Default));
    let coded = copied("copy_response /a 404");
    assert_eq!(coded.handler, Handler::CopyResponse(Status::Code(404)));
    assert_eq!(coded.matcher, Some(Matcher::Path(vec!["/a".into()])));
    for (directive, expected) in [
        ("copy_response_headers", CopyHeaders::All),
        (
            "copy_response_headers {\ninclude A B\ninclude C\n}",
            CopyHeaders::Only(vec!["A".into(), "B".into(), "C".into()]),
        ),
        (
            "copy_response_headers {\nexclude A\n}",
            CopyHeaders::AllBut(vec!["A".into()]),
        ),
    ] {
        let handler = copied(directive).handler;
        assert_eq!(
            handler,
            Handler::CopyResponseHeaders(expected),
            "{directive}"
        );
    }
    let Handler::PhpServer(server) = handler(
        "php_fastcgi a:9000 {\n@accel header X-Accel-Redirect *\nhandle_response @accel {\nrewrite * {rp.header.X-Accel-Redirect}\nfile_server\n}\nreplace_status 404\n}",
    ) else {
        panic!("no php_fastcgi");
    };
    let intercept = server.fastcgi.map(|fastcgi| fastcgi.intercept);
    assert_eq!(intercept.map(|intercept| intercept.rules.len()), Some(2));
    let Handler::Intercept(intercept) =
        handler("intercept {\nhandle_response {\ncopy_response\n}\n}")
    else {
        panic!("no intercept");
    };
    assert!(intercept.keeps_header);
}
