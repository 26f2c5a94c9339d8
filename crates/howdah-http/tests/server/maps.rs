//! `map`, `handle_errors` in blocks, `order`, and paths without a slash in `rewrite`.

use crate::support::front::front;

fn assert_bodies(site: &str, cases: &[(&str, &str)]) {
    let harness = front("", "", site);
    for (target, expected) in cases {
        let reply = harness.get(target);
        assert_eq!(reply.text(), *expected, "{target}: {reply:?}");
    }
}

#[test]
fn the_first_line_that_fits_counts() {
    assert_bodies(
        "map {path} {kind} {rest} {\n\
         /exact one {method}\n\
         ~^/u/([0-9]+)/(?P<what>.*)$ user-$1 \"${what} $9${none}|\"\n\
         ~^/only - rest\n\
         ~^/o first -\n\
         default none \"{query}\"\n}\n\
         respond \"{kind},{rest},{vars.kind}\"",
        &[
            ("/exact", "one,GET,one"),
            ("/u/12/a%20b", "user-12,a b |,user-12"),
            ("/only", "first,rest,first"),
            ("/other", "first,,first"),
            ("/none?a=b", "none,a=b,none"),
        ],
    );
}

#[test]
fn placeholders_of_maps_are_for_matchers_and_directives() {
    assert_bodies(
        "map {query.tenant} {tenant} {\n~^[a-z]+$ \"$0\"\n}\n\
         @none vars {tenant} \"\"\n@big expression `{tenant}.startsWith('b')`\n\
         respond @none nobody\nrespond @big \"big {tenant}\"\nrewrite * /{tenant}\nrespond {path}",
        &[
            ("/?tenant=abc", "/abc"),
            ("/?tenant=bcd", "big bcd"),
            ("/?tenant=1", "nobody"),
            ("/", "nobody"),
        ],
    );
}

#[test]
fn errors_are_handled_where_they_happen() {
    let site = "handle /a/* {\nerror /a/404 404\nerror /a/500 500\nroute /a/inner/* {\nhandle_errors {\nrespond inner\n}\n\
                error /a/inner/x 404\n}\nerror 400\nhandle_errors 404 {\nrespond \"a {err.status_code}\"\n}\n}\n\
                error 404\nhandle_errors {\nrespond \"site {err.status_code}\"\n}";
    assert_bodies(
        site,
        &[
            ("/a/404", "a 404"),
            ("/a/500", "site 500"),
            ("/a/inner/x", "inner"),
            // The inner block sent no response.
            ("/a/inner/y", "site 400"),
            ("/b", "site 404"),
        ],
    );
}

#[test]
fn a_path_without_a_slash_is_one_that_a_rewrite_names() {
    let site = "@front {\nnot path /static/*\n}\nrewrite @front index.php\n@script path index.php\n\
                respond @script \"script {path}\"\nrespond other";
    assert_bodies(
        site,
        &[("/x/y", "script /index.php"), ("/static/a.css", "other")],
    );
}
