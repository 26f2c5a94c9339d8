//! Errors of names and arguments, with their positions.

use crate::common::errors;

/// Errors of a directive on line 2 of a site, without file and line.
pub(crate) fn site(directive: &str) -> String {
    let found = errors(&format!(":80 {{\n{directive}\n}}"));
    assert_eq!(found.len(), 1, "{directive}: {found:?}");
    found[0]
        .strip_prefix("Caddyfile:")
        .expect("the file's name")
        .to_owned()
}

#[test]
fn names_have_hints() {
    for (directive, expected) in [
        (
            "php_servr",
            "2:1: unknown directive `php_servr`; did you mean `php_server`?",
        ),
        (
            "  fileserver",
            "2:3: unknown directive `fileserver`; did you mean `file_server`?",
        ),
        ("xyzzy", "2:1: unknown directive `xyzzy`"),
        (
            "worker a.php",
            "2:1: `worker` is not a directive; put it in `php_server { … }`, or in `frankenphp { … }` in the global options",
        ),
        (
            "encod gzip",
            "2:1: unknown directive `encod`; did you mean `encode`?",
        ),
        (
            "acme_server",
            "2:1: `acme_server` is not supported in this version; the internal authority issues certificates to this server alone",
        ),
        (
            "php_server {\nindx a\n}",
            "3:1: unknown subdirective of `php_server` `indx`; did you mean `index`?",
        ),
        (
            "php_server {\nhot_reload\n}",
            "3:1: `hot_reload` needs a Mercure hub, and the site has none; add a `mercure` block to the site; browsers subscribe without a token if it has `anonymous`",
        ),
        (
            "respond {pth}",
            "2:9: unknown placeholder `{pth}`; did you mean `{path}`?",
        ),
        (
            "respond {heade.X}",
            "2:9: unknown placeholder `{heade.X}`; did you mean `{header.NAME}`?",
        ),
        (
            "respond {something}",
            "2:9: unknown placeholder `{something}`; write `\\{something\\}` for the text itself",
        ),
        (
            "respond {http.request.tls.resumed}",
            "2:9: the placeholder `{http.request.tls.resumed}` is not supported in this version",
        ),
        (
            "respond {path.x}",
            "2:9: unknown placeholder `{path.x}`; write `{path.0}` for the first element of the path",
        ),
        (
            "@static path *.css\nrespond @statc a",
            "3:9: the matcher `@statc` is not defined; did you mean `@static`?",
        ),
        (
            "@a pth /x",
            "2:4: unknown matcher `pth`; did you mean `path`?",
        ),
        ("@a tls", "2:4: `tls` is not supported in this version"),
        (
            "path_regexp ^/a$",
            "2:1: `path_regexp` is not a directive; it is a matcher: give it a name, `@NAME path …`, and put `@NAME` after a directive",
        ),
        (
            "servers {\n}",
            "2:1: `servers` is not a directive; put it into the global options, the block without a name at the top of the file",
        ),
    ] {
        assert_eq!(site(directive), expected, "{directive}");
    }
}

#[test]
fn arguments_are_counted() {
    for (directive, expected) in [
        (
            "root",
            "2:1: `root` takes 1 to 2 arguments, 0 given; write `root [MATCHER] PATH`",
        ),
        (
            "root * a b",
            "2:10: `root` takes 1 to 2 arguments, 3 given; write `root [MATCHER] PATH`",
        ),
        (
            "root a b",
            "2:6: `a` is not a matcher; write `root [MATCHER] PATH`, with quotes around an argument with spaces",
        ),
        (
            "root a {\n}",
            "2:1: `root` takes no block; write `root [MATCHER] PATH`",
        ),
        (
            "handle /a",
            "2:1: `handle` needs a block; write `handle [MATCHER] { … }`",
        ),
        (
            "handle a {\n}",
            "2:8: `a` is not a matcher; write `handle [MATCHER] { … }`; a path matcher starts with `/`, a named one with `@`",
        ),
        (
            "@inside host a\nmetrics @inside /metrics",
            "3:17: `/metrics` is one matcher too many; write `metrics [MATCHER] [{ … }]`; several conditions make a named matcher: `@name { … }`",
        ),
        (
            "handle_path a {\n}",
            "2:13: `handle_path` takes a path, not `a`; write for example `handle_path /app/* { … }`",
        ),
        (
            "respond /a",
            "2:1: `/a` is the matcher, and there is nothing to respond; write `respond * /a` to respond with that text",
        ),
        (
            "redir /a",
            "2:1: `/a` is the matcher, and there is nowhere to redirect to; write `redir * /a` to redirect all requests there",
        ),
        (
            "php_server {\nroot\n}",
            "3:1: `root` takes 1 argument, 0 given; write `root PATH`",
        ),
        (
            "php_server {\nenv A\n}",
            "3:1: `env` takes 2 arguments, 1 given; write `env NAME VALUE  or  env { NAME VALUE … }`",
        ),
        (
            "php_server {\nroot a\nroot b\n}",
            "4:1: `root` is given twice; remove one of them",
        ),
        (
            "php_server {\nsplit a\nsplit_path b\n}",
            "4:1: `split_path` is given twice; remove one of them",
        ),
        (
            "log a\nlog a",
            "3:1: two `log` of the site have the same name; rename one of them",
        ),
        (
            "handle {\nlog\n}",
            "3:1: `log` is inside of another directive; put it directly in the block of the site",
        ),
        (
            "header X",
            "2:8: the header field `X` has no value; write `-X` to remove it, or `\"\"` for an empty value",
        ),
        (
            "header A b c d",
            "2:8: the header field `A` has too many values; put quotes around a value with spaces",
        ),
        (
            "header",
            "2:1: `header` needs a field; write `header [MATCHER] [+|?|-|>]NAME [VALUE|FIND REPLACE]  or  header [MATCHER] { … }`",
        ),
        (
            "@a",
            "2:1: `@a` has no matcher; write for example `path /api/*`",
        ),
        (
            "@a path /x\n@a path /y",
            "3:1: the matcher `@a` is defined twice; rename one of them",
        ),
        (
            "@a header X",
            "2:4: `header X` needs a value; write `*` for any value, or `!NAME` for no such field",
        ),
    ] {
        assert_eq!(site(directive), expected, "{directive}");
    }
}

#[test]
fn several_errors_are_reported_at_once() {
    let text = "{\nhttp_port x\nemail a\n}\nhttp://*x:80 {\n\trespnd a\n\tphp_server {\n\t\tindx a\n\t\tenv A\n\t}\n\theader {\n\t\tA\n\t\tB\n\t}\n}";
    let places: Vec<_> = errors(text)
        .iter()
        .map(|error| error.split(": ").next().unwrap_or_default().to_owned())
        .collect();
    let expected = ["2:11", "3:7", "5:1", "6:2", "8:3", "9:3", "12:3", "13:3"];
    assert_eq!(places, expected.map(|place| format!("Caddyfile:{place}")));
}

#[test]
fn a_second_site_without_braces_is_explained() {
    assert_eq!(
        errors(":80\nrespond a\n\n:81\nrespond b"),
        [
            "Caddyfile:4:1: unknown directive `:81`; if it is the address of a second site, put \
             `{ … }` around each site"
        ]
    );
}

#[test]
fn nesting_is_bounded() {
    let deep = format!(
        ":80 {{\n{}{}}}",
        "handle {\n".repeat(5000),
        "}\n".repeat(5000)
    );
    assert!(errors(&deep)[0].contains("blocks are nested more than 64 deep"));
    let not = format!(":80 {{\n@a {} path /x\n}}", "not ".repeat(5000));
    assert!(errors(&not)[0].contains("`not` is nested more than 16 deep"));
}

#[test]
fn text_of_a_variable_has_the_place_of_the_variable() {
    assert_eq!(
        errors(":80 {\n  {$NONE:php_servr}\n}"),
        ["Caddyfile:2:3: unknown directive `php_servr`; did you mean `php_server`?"]
    );
}

#[test]
fn json_is_distinguished_from_a_caddyfile() {
    assert_eq!(
        errors("{\n\t\"apps\": {\"http\": {}}\n}"),
        ["Caddyfile:1:1: this is JSON; write a Caddyfile: JSON is not read"]
    );
    assert!(
        howdah_config::parse(
            "{\n}\n:80\n",
            "Caddyfile",
            &|_| None,
            &howdah_config::NoFiles
        )
        .is_ok()
    );
}
