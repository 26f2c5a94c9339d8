//! `hot_reload`, and the hub that a site's scripts publish to.

use crate::common::{config, errors};
use howdah_config::model::{Handler, HotReload, Template};

const HUB: &str = "mercure {\npublisher_jwt x\nanonymous\n}";

#[test]
fn the_hub_of_a_site_is_the_first_of_its_block() {
    let config = config(&format!(
        ":80 {{\nphp_server\n}}\n:81 {{\nphp_server\nhandle /a/* {{\n{HUB}\n}}\n{HUB}\n}}\n:82 {{\n{HUB}\n}}"
    ));
    let hubs: Vec<_> = config.sites.iter().map(|site| site.hub).collect();
    assert_eq!(hubs, [None, Some(0), Some(2)]);
}

#[test]
fn scripts_know_what_browsers_subscribe_to() {
    let config = config(&format!(
        ":80 {{\n{HUB}\n}}\n:81 {{\nroute {{\nphp_server {{\nhot_reload\n}}\nphp {{\nhot_reload a/*.js b {{\ntopic \"a b/c?é\"\nwatch c.css\n}}\n}}\n}}\n{HUB}\n}}"
    ));
    let reload = |topic: &str, watch: &[&str]| HotReload {
        hub: 1,
        topic: topic.into(),
        watch: watch.iter().map(|&pattern| pattern.into()).collect(),
    };
    let default =
        "./**/*.{css,env,gif,htm,html,jpg,jpeg,js,mjs,php,png,svg,twig,webp,xml,yaml,yml}";
    let expected = [
        reload("urn:howdah:hot-reload:1", &[default]),
        reload("a b/c?é", &["a/*.js", "b", "c.css"]),
    ];
    assert_eq!(config.hot_reloads, expected);
    let Some(Handler::Chain(routes)) = config.sites[1]
        .routes
        .iter()
        .map(|r| &r.handler)
        .find(|handler| matches!(handler, Handler::Chain(_)))
    else {
        panic!("{:?}", config.sites[1].routes);
    };
    let env: Vec<_> = routes
        .iter()
        .map(|route| match &route.handler {
            Handler::PhpServer(server) => &server.script.env,
            Handler::Php(script) => &script.env,
            other => panic!("{other:?}"),
        })
        .collect();
    let variable = |url: &str| vec![("FRANKENPHP_HOT_RELOAD".to_owned(), Template::text(url))];
    assert_eq!(
        env,
        [
            &variable("/.well-known/mercure?topic=urn%3Ahowdah%3Ahot-reload%3A1"),
            &variable("/.well-known/mercure?topic=a%20b%2Fc%3F%C3%A9"),
        ]
    );
}

#[test]
fn errors_are_reported() {
    let of = |block: &str| errors(&format!(":80 {{\n{HUB}\nphp_server {{\n{block}\n}}\n}}"));
    for (block, start) in [
        (
            "hot_reload {\ntopic\n}",
            "Caddyfile:8:1: `topic` takes 1 argument, 0 given",
        ),
        (
            "hot_reload {\ntopic \"\"\n}",
            "Caddyfile:8:7: the topic is empty",
        ),
        (
            "hot_reload {\nwatch\n}",
            "Caddyfile:8:1: `watch` takes at least 1 argument",
        ),
        (
            "hot_reload {\nwtch a\n}",
            "Caddyfile:8:1: unknown subdirective of `hot_reload` `wtch`",
        ),
        (
            "hot_reload \"\"",
            "Caddyfile:7:12: `` is not a pattern of files",
        ),
        (
            "hot_reload\nhot_reload",
            "Caddyfile:8:1: `hot_reload` is given twice",
        ),
    ] {
        let found = of(block);
        assert!(found[0].starts_with(start), "{found:?}");
    }
    let named = "&(a) {\nphp_server {\nhot_reload\n}\n}\n";
    let found = errors(&format!("{named}:80 {{\ninvoke a\n}}"));
    assert!(found[0].contains("needs a Mercure hub"), "{found:?}");
    assert_eq!(config(&format!("{named}:80 {{\n}}")).hot_reloads, []);
}
