//! Errors in matchers, and in directives that change requests, replace responses or proxy requests.

use crate::common::{errors, full};

/// Checks that each directive in a site causes exactly this error.
fn check(cases: &[(&str, &str)]) {
    for (directives, expected) in cases {
        let text = format!(":80 {{\n{directives}\n}}\n");
        let found = errors(&text);
        let found: Vec<_> = found
            .iter()
            .map(|error| error.trim_start_matches("Caddyfile:"))
            .collect();
        assert_eq!(found, [*expected], "{directives}");
    }
}

#[test]
fn matchers() {
    check(&[
        (
            "@a path_regexp (",
            "2:16: `(` is not a regular expression: error: unclosed group",
        ),
        (
            "@a path_regexp a.b x",
            "2:16: `a.b` is not a name for a regular expression; a name has letters, digits, `-` and `_`",
        ),
        (
            "@a query page",
            "2:10: `page` is not `NAME=VALUE`; write `NAME=*` for any value",
        ),
        (
            "@a protocol http/4",
            "2:13: `http/4` is not a protocol; known are http, https, grpc, http/1.0, http/1.1, http/2 and http/3, the last four also with `+`",
        ),
        (
            "@a remote_ip 10.0.0.0/33",
            "2:14: `10.0.0.0/33` is neither an IP address nor `ADDRESS/BITS`; write for example `10.0.0.0/8`, `::1` or `private_ranges`",
        ),
        (
            "@a remote_ip forwarded",
            "2:14: `forwarded` is not supported in this version; use `client_ip`",
        ),
        ("@a vars \"\" x", "2:9: the name of the variable is empty"),
    ]);
}

#[test]
fn paths_that_no_request_has() {
    check(&[
        (
            "respond /a%2Fb/* no",
            "2:9: `/a%2Fb/*` matches nothing: paths are compared decoded; write `/` in place of `%2F`",
        ),
        (
            "@a path /a/%*",
            "2:9: `/a/%*` matches nothing: paths are compared decoded; write `*` in place of `%*`",
        ),
        (
            "handle_path /a//b/* {\nabort\n}",
            "2:13: `/a//b/*` matches nothing: paths are compared with their slashes merged; write one slash",
        ),
        (
            "@a path /100%",
            "2:9: `/100%` has a `%` without two hexadecimal digits; write `%25` for the percent sign itself",
        ),
        (
            "@a not path /%+1",
            "2:13: `/%+1` has a `%` without two hexadecimal digits; write `%25` for the percent sign itself",
        ),
        (
            "@a path /what%3f",
            "2:9: `%3F` cannot be in a path pattern: `/what%3f`; use the matcher `path_regexp`, which the decoded path is compared with",
        ),
    ]);
}

#[test]
fn files_and_ranges_in_placeholders() {
    check(&[
        (
            "respond \"a {file./none}\"",
            "2:9: cannot read the file of `{file./none}`: entity not found; write `\\{` if a brace is meant",
        ),
        (
            "respond {http.request.remote.host/24}",
            "2:9: the placeholder `{http.request.remote.host/24}` is not supported in this version",
        ),
    ]);
}

#[test]
fn expressions() {
    let hint = "write for example `{method} == \"GET\" && path('/api/*')`; parts are joined by `&&` and `||`";
    let assert_error = |expression: &str, message: &str| {
        check(&[(
            &format!("@a expression `{expression}`"),
            &format!("2:15: {message}"),
        )]);
    };
    for (expression, message) in [
        ("{method} ==", "the expression ends where a value should be"),
        ("{method} == 'GET", "a ' is missing in the expression"),
        (
            "({method} == 'GET'",
            "`)` is missing before the end of the expression",
        ),
        ("{method} = 'GET'", "`=` is not supported in this version"),
        (
            "{method} == 'GET' {path}",
            "`{path}` is not expected in the expression",
        ),
        ("path", "`path` is not a value"),
        ("{path}.", "a function is missing after `.`"),
        ("{path} in '/a'", "`in` takes a list"),
        ("size() > 1", "`size()` takes 1 argument in expressions"),
        (
            "{path}.substring() == 'a'",
            "`substring()` takes 1 or 2 arguments in expressions",
        ),
        (
            "{path}.exists(p, p == 'a')",
            "`.exists()` is only for a list in brackets",
        ),
        (
            "['a'].exists('p', true)",
            "the name of a variable is missing in `.exists()`",
        ),
        ("['a'].exists(p, q == 'a')", "`q` is not a value"),
        ("[].all(p, q == 'a')", "`q` is not a value"),
        (
            "true ? false",
            "`:` is missing before the end of the expression",
        ),
    ] {
        assert_error(expression, &format!("{message}; {hint}"));
    }
    assert_error(
        "pth('/a')",
        "`pth()` is not supported in expressions; did you mean `path`?",
    );
    assert_error(
        "{path}.startWith('/a')",
        "`.startWith()` is not supported in expressions; did you mean `startsWith`?",
    );
    assert_error(
        "path('')",
        "the path is empty and matches nothing; a path starts with `/`, or with `*` for its end: `*.php`",
    );
    assert_error(
        "{path}.matches('(')",
        "`(` is not a regular expression: error: unclosed group",
    );
    let all_of = "['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'].all(a, ";
    let long = format!("{}true{}", all_of.repeat(5), ")".repeat(5));
    assert_error(&long, "the expression is too long; use several matchers");
    for deep in [
        format!("{}true{}", "(".repeat(1000), ")".repeat(1000)),
        format!("{}1{} == 1", "[".repeat(1000), "]".repeat(1000)),
        format!("{}1 == 1", "-".repeat(1000)),
        format!("{}1", "true ? ".repeat(1000)),
    ] {
        assert_error(
            &deep,
            "the expression is nested more than 32 deep; use several matchers",
        );
    }
    let deep = format!("{}true", "!".repeat(1000));
    assert_error(
        &deep,
        "the expression is nested more than 32 deep; use several matchers",
    );
    assert!(
        full(
            ":80 {\n@a `{query.a} == 'x'`\n@b expression {query.a} in ['x', 'y']\nrespond @a ok\n}"
        )
        .is_ok()
    );
}

#[test]
fn requests() {
    check(&[
        (
            "vars a",
            "2:1: `vars` takes a name and a value, 1 given; write `vars [MATCHER] NAME VALUE  or  vars [MATCHER] { NAME VALUE … }`, with quotes around a value with spaces",
        ),
        (
            "method a/b",
            "2:8: `a/b` is not a method; write for example `GET`",
        ),
        (
            "uri strip /a",
            "2:5: `strip` is not an operation of `uri`; known are strip_prefix, strip_suffix, replace, path_regexp and query; a matcher starts with `/` or `@`",
        ),
        (
            "uri query",
            "2:1: `uri query` takes one change, or a block with one on each line; write `NAME VALUE`, `+NAME VALUE`, `-NAME`, `OLD>NEW` or `NAME REGEXP REPLACEMENT`",
        ),
        (
            "uri query -a b",
            "2:11: `-a` is not a valid change of the query; write `NAME VALUE`, `+NAME VALUE`, `-NAME`, `OLD>NEW` or `NAME REGEXP REPLACEMENT`",
        ),
        (
            "uri query {\na\n}",
            "3:1: `a` is not a valid change of the query; write `NAME VALUE`, `+NAME VALUE`, `-NAME`, `OLD>NEW` or `NAME REGEXP REPLACEMENT`",
        ),
        (
            "uri query a ( b",
            "2:13: `(` is not a regular expression: error: unclosed group",
        ),
        (
            "uri strip_prefix /a {\n}",
            "2:1: `uri` takes no block; write `uri [MATCHER] strip_prefix|strip_suffix TEXT  or  uri [MATCHER] replace FIND REPLACE [LIMIT]  or  uri [MATCHER] path_regexp FIND REPLACE  or  uri [MATCHER] query CHANGE|{ CHANGE … }`",
        ),
        (
            "uri replace a b c",
            "2:17: `c` is not a number; the last argument is the maximum number of replacements",
        ),
        (
            "request_body {\nmax_siz 1\n}",
            "3:1: unknown subdirective of `request_body` `max_siz`; did you mean `max_size`?",
        ),
        (
            "request_header A b c d",
            "2:16: the header field `A` has too many values; put quotes around a value with spaces",
        ),
        (
            "basic_auth {\nann secret\n}",
            "3:5: this is not a bcrypt hash of a password; make one with `php -r 'echo password_hash(\"…\", PASSWORD_BCRYPT);'` or `htpasswd -nB USER`",
        ),
        (
            "basic_auth argon2id {\n}",
            "2:12: `argon2id` is not supported in this version; only `bcrypt` is supported",
        ),
        (
            "basic_auth {\n}",
            "2:1: `basic_auth` has no user; write `NAME HASH` in its block",
        ),
    ]);
}

#[test]
fn responses() {
    check(&[
        (
            "error 200",
            "2:7: `200` is not a valid status code here; give a number from 400 to 599",
        ),
        (
            "handle_errors {\nhandle_errors {\n}\n}",
            "3:1: `handle_errors` cannot be used in this block; put it in the block of the site, or in a `route` or `handle` of it",
        ),
        (
            "intercept {\nhandle_response {\nroute {\nhandle_errors {\n}\n}\n}\n}",
            "5:1: `handle_errors` cannot be used in this block; put it in the block of the site, or in a `route` or `handle` of it",
        ),
        (
            "handle_errors 4x {\n}",
            "2:15: `4x` is not a valid status code here; give a number from 200 to 599",
        ),
        (
            "invoke nothing",
            "2:8: there is no named route `&(nothing)`; define it at the top of the file: `&(nothing) { … }`",
        ),
        (
            "intercept {\nhandle_response @a {\n}\n}",
            "3:17: the matcher of responses `@a` is not defined; define it in this block: `@a status 404`",
        ),
        (
            "intercept {\n@a\n}",
            "3:1: `@a` has no response matcher; write `@a status CODE…` or `@a header NAME VALUE`",
        ),
        (
            "intercept {\nreplace_status 99\n}",
            "3:16: `99` is not a valid status code here; give a number from 200 to 599",
        ),
        (
            "templates",
            "2:1: `templates` is not supported in this version; pages with parts that change are PHP's: rename the file to `.php`",
        ),
        (
            "fs assets",
            "2:1: `fs` is not supported in this version; files are read from the disk: remove the line, or use `root`",
        ),
        (
            "copy_response",
            "2:1: `copy_response` is not in a `handle_response`; put it in `handle_response` of `reverse_proxy` or `intercept`",
        ),
        (
            "intercept {\nhandle_response {\ncopy_response 200 x\n}\n}",
            "4:19: `copy_response` does not take `x`; write `copy_response [MATCHER] [CODE] [{ … }]`",
        ),
        (
            "reverse_proxy a {\nhandle_response {\ncopy_response_headers {\ninclude A\nexclude B\n}\n}\n}",
            "6:1: `include` and `exclude` contradict each other; remove one of them",
        ),
    ]);
    let twice = errors("&(a) {\nrespond ok\n}\n&(a) {\n}\n:80 {\ninvoke a\n}\n");
    assert_eq!(
        twice,
        ["Caddyfile:4:1: the named route `&(a)` is defined twice; rename one of them"]
    );
    let itself =
        errors("&(a) {\ninvoke b\n}\n&(b) {\ninvoke a\n}\n:80 {\ninvoke a\ninvoke /x a\n}\n");
    assert_eq!(
        itself,
        ["Caddyfile:5:8: the named route `&(a)` invokes itself; remove one of the `invoke`"]
    );
    // A named route that is not used is parsed as well.
    let unused = errors("&(a) {\nrespnd\n}\n:80 {\n}\n");
    assert_eq!(
        unused,
        ["Caddyfile:2:1: unknown directive `respnd`; did you mean `respond`?"]
    );
}

#[test]
fn upstreams() {
    check(&[
        (
            "reverse_proxy h2c://a b",
            "2:23: of `h2c://a` and `b` only one is HTTP/2 without TLS; write `h2c://` before all of them, or give the others a `reverse_proxy` of their own",
        ),
        (
            "reverse_proxy h2c://a {\ntransport http {\ntls\n}\n}",
            "2:15: `h2c://a` is not encrypted, but the transport is; write `https://`, or remove the `tls` options",
        ),
        (
            "php_fastcgi h2c://a",
            "2:13: `h2c://a` is not supported in this version; FastCGI is not HTTP/2; write `HOST:PORT`, or `reverse_proxy` for a server that has HTTP/2",
        ),
        (
            "reverse_proxy wss://a",
            "2:15: the upstream `wss://a` has the unknown scheme `wss`; write `http://`, `https://`, `h2c://` or no scheme; WebSockets pass through the first two",
        ),
        (
            "reverse_proxy https://a:80",
            "2:15: the scheme of the upstream `https://a:80` is not that of its port; write `https://` with port 443 and `http://` with port 80, or no scheme",
        ),
        (
            "reverse_proxy https://a {\nto https://b c:9000\n}",
            "3:14: of `https://a` and `c:9000` one is encrypted and the other is not; write `https://` before all of them, or give the others a `reverse_proxy` of their own",
        ),
        (
            "reverse_proxy http://a {\ntransport http {\ntls\n}\n}",
            "2:15: `http://a` is not encrypted, but the transport is; write `https://`, or remove the `tls` options",
        ),
        (
            "reverse_proxy a:1 unix//a.sock {\ntransport http {\ntls\n}\n}",
            "2:19: the server name for the certificate of `unix//a.sock` is missing; write `tls_server_name NAME` in `transport http`",
        ),
        (
            "reverse_proxy a {\ntransport http {\ntls_trust_pol file a.pem\n}\n}",
            "4:1: unknown option of `transport http` `tls_trust_pol`; did you mean `tls_trust_pool`?",
        ),
        (
            "reverse_proxy a {\ntransport http {\ntls_trust_pool http a\n}\n}",
            "4:16: `http` is not supported in this version; write `tls_trust_pool file FILE`",
        ),
        (
            "reverse_proxy a {\ntransport http {\ntls_trust_pool file\n}\n}",
            "4:1: `tls_trust_pool file` needs a file; write `tls_trust_pool file FILE`",
        ),
        (
            "reverse_proxy a {\ntransport http {\ntls_client_auth a.example\n}\n}",
            "4:17: `a.example` is not supported in this version; write `tls_client_auth CERT KEY`, two files",
        ),
        (
            "reverse_proxy a {\ntransport http {\ntls_server_name {host}\n}\n}",
            "4:17: `{host}` is not a host; write for example `example.com`",
        ),
        (
            "reverse_proxy a {\ntransport http {\ntls_except_ports 80\n}\n}",
            "4:1: `tls_except_ports` is not supported in this version; give upstreams without TLS a `reverse_proxy` of their own",
        ),
        (
            "forward_auth https://a http://b {\nuri /\n}",
            "2:24: of `https://a` and `http://b` one is encrypted and the other is not; write `https://` before all of them, or give the others a `reverse_proxy` of their own",
        ),
        (
            "php_fastcgi https://a:9000",
            "2:13: `https://a:9000` is not supported in this version; FastCGI is not encrypted; write `HOST:PORT`, or `reverse_proxy` for a server that has HTTPS",
        ),
        (
            "reverse_proxy a/b",
            "2:15: the upstream `a/b` has a path; use `rewrite` to change the path of requests",
        ),
        (
            "reverse_proxy unix/a",
            "2:15: `unix/a` is not the path of a socket; write for example `unix//run/app.sock`",
        ),
        (
            "reverse_proxy a {\nlb_policy ranom\n}",
            "3:11: `ranom` is not a policy; did you mean `random`?",
        ),
        (
            "reverse_proxy a {\nhealth_interval 1s\n}",
            "2:1: options of `health_uri` have no effect without it; write `health_uri PATH` too",
        ),
        (
            "reverse_proxy a {\ntransport fastcgi {\nheader_up a b\n}\n}",
            "4:1: `header_up` is not supported in this version; write `request_header NAME VALUE` before it, or `env NAME VALUE` for a variable",
        ),
        (
            "reverse_proxy a {\nflush_interval 1s\n}",
            "3:16: `1s` is not supported in this version; responses are never buffered: write `-1`",
        ),
        (
            "forward_auth a",
            "2:1: `forward_auth` has no `uri`; write for example `uri /api/authz/forward-auth` in its block",
        ),
        (
            "forward_auth a {\nuri /\nreplace_status 404\n}",
            "2:1: `forward_auth` sends refusals to the client unchanged; remove `handle_response` and `replace_status`",
        ),
        (
            "forward_auth a {\nuri /\ncopy_headers\n}",
            "4:1: `copy_headers` takes fields on its line or in its block; write `copy_headers [FIELD[>NAME]…] [{ FIELD[>NAME] … }]`",
        ),
        (
            "forward_auth a {\nuri /\ncopy_headers {\nA > B\n}\n}",
            "5:1: `A` stands alone on its line; write `FIELD`, or `FIELD>NAME` without spaces",
        ),
        (
            "php_fastcgi {\nlb_polcy first\n}",
            "3:1: unknown subdirective of `php_fastcgi` `lb_polcy`; did you mean `lb_policy`?",
        ),
        (
            "php_fastcgi a:1 {\nlb_policy frist\n}",
            "3:11: `frist` is not a policy; did you mean `first`?",
        ),
        (
            "php_fastcgi a:1 {\nmax_fails 0\n}",
            "3:11: `0` is not a whole number for `max_fails`; give a number of at least 1",
        ),
        (
            "php_fastcgi a:1 {\nhealth_uri ping\n}",
            "3:12: `ping` is not a path; a path starts with `/` and has no spaces",
        ),
        (
            "php_fastcgi a:1 {\nhealth_status 200\n}",
            "2:1: options of `health_uri` have no effect without it; write `health_uri PATH` too",
        ),
        (
            "php_fastcgi a:1 {\nhealth_follow_redirects\n}",
            "2:1: options of `health_uri` have no effect without it; write `health_uri PATH` too",
        ),
        (
            "reverse_proxy a:1 {\nheader_down X-A \"a {rp.header.B}\"\n}",
            "3:13: the value of `X-A` contains a part of the response that `header_down` does not support; write \
             `{rp.status_code}`, or `{rp.header.NAME}` as the whole value; `handle_response` has all",
        ),
        (
            "reverse_proxy a:1 {\nlb_retry_match\n}",
            "3:1: `lb_retry_match` has no matcher; write for example `path /api/*`",
        ),
    ]);
}

#[test]
fn maps() {
    check(&[
        (
            "map",
            "2:1: `map` has no source; write `map [MATCHER] SOURCE {NAME}… { … }`",
        ),
        (
            "map {host} {\n}",
            "2:1: `map` sets no placeholder; write `map [MATCHER] SOURCE {NAME}… { … }`",
        ),
        (
            "map {host} {path} {\n}",
            "2:12: `{path}` is already in use; write a name of your own in braces: `{tenant}`",
        ),
        (
            "map {host} tenant {\n}",
            "2:12: `tenant` is not a placeholder that `map` can set; write a name of your own in braces: `{tenant}`",
        ),
        (
            "map {host} {a} {b} {\nx 1\n}",
            "3:1: `x` has 1 outputs and no block, and `map` sets 2; give one for each, `-` for none, in quotes if it has spaces",
        ),
        (
            "map {host} {a} {\nx 1\nx 2\n}",
            "4:1: the input `x` is given twice; remove one of them",
        ),
        (
            "map {host} {a} {\ndefault 1\ndefault 2\n}",
            "4:1: `default` is given twice; remove one of them",
        ),
        (
            "map {host} {a} {\n~( 1\n}",
            "3:1: `(` is not a regular expression: error: unclosed group",
        ),
        (
            "map {host} {a} {\nx {nothing}\n}",
            "3:3: unknown placeholder `{nothing}`; write `\\{nothing\\}` for the text itself",
        ),
    ]);
}

#[test]
fn header_matchers_that_contradict_themselves() {
    let message = "`header !NAME` takes no value; it matches what does not have the field";
    check(&[
        ("@a header !A b", &format!("2:4: {message}")),
        (
            "encode {\nmatch {\nheader !A b\n}\n}",
            &format!("4:1: {message}"),
        ),
        (
            "intercept {\n@a header !A b\nreplace_status @a 404\n}",
            &format!("3:4: {message}"),
        ),
        (
            "@a header A",
            "2:4: `header A` needs a value; write `*` for any value, or `!NAME` for no such field",
        ),
    ]);
}
