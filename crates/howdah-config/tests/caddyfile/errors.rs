//! Every error message with its position.

use crate::common::errors;

/// Errors of a directive on line 2 of a site, without file and line.
fn site(directive: &str) -> String {
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
            "2:1: `/a` is the matcher, and there is nothing to respond; write `respond * /a` to answer that text",
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
            "4:1: `root` is given twice; take one of them out",
        ),
        (
            "php_server {\nsplit a\nsplit_path b\n}",
            "4:1: `split_path` is given twice; take one of them out",
        ),
        (
            "php_server {\nindex off\ntry_files a\n}",
            "2:1: `index off` and `try_files` exclude each other; take one of them out",
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
fn values_are_checked() {
    for (directive, expected) in [
        (
            "encode deflate",
            "2:8: `deflate` is not a format of compression; known are zstd, br and gzip; a matcher starts with `/` or `@`",
        ),
        (
            "encode gzip gzip",
            "2:13: `gzip` is given twice; take one of them out",
        ),
        (
            "encode {\ngzip 10\n}",
            "3:6: `10` is not a valid level of `gzip`; give a number from 1 to 9",
        ),
        (
            "encode {\nzstd slow\n}",
            "3:6: `slow` is not a valid level of `zstd`; give a number from 1 to 19",
        ),
        (
            "encode {\nbr 12\n}",
            "3:4: `12` is not a valid level of `br`; give a number from 0 to 11",
        ),
        (
            "encode {\nminimum_length -1\n}",
            "3:16: `-1` is not a whole number for `minimum_length`; give a number of at least 0",
        ),
        (
            "encode {\nmatch status 100\n}",
            "3:14: `100` is not a valid status code here; give a number from 200 to 599",
        ),
        (
            "encode {\nmatch {\n}\n}",
            "3:1: `match` has no response matcher; write `match status CODE…` or `match header NAME VALUE`",
        ),
        (
            "encode {\nmatch path /a\n}",
            "3:7: unknown response matcher `path`; known are header, status",
        ),
        (
            "file_server {\nprecompressed lzma\n}",
            "3:15: `lzma` is not a format of compression; known are zstd, br and gzip; a matcher starts with `/` or `@`",
        ),
        (
            "respond a 999",
            "2:11: `999` is not a valid status code here; give a number from 200 to 599",
        ),
        (
            "respond 100",
            "2:9: `100` is not a valid status code here; give a number from 200 to 599",
        ),
        (
            "redir /a /b 200",
            "2:13: `200` is not a valid status code here; give a number from 300 to 399",
        ),
        (
            "try_files a {\npolicy last_exist\n}",
            "3:8: `last_exist` is not a policy; write `first_exist`, `first_exist_fallback`, `smallest_size`, `largest_size` or `most_recently_modified`",
        ),
        (
            "try_files a b?c {\npolicy largest_size\n}",
            "2:13: only the first file that exists can have a query; remove the query, or use another policy",
        ),
        (
            "try_files =44",
            "2:11: `44` is not a valid status code here; give a number from 400 to 599",
        ),
        (
            "try_files =404 a",
            "2:11: nothing after `=404` is ever tried; put it at the end",
        ),
        (
            "try_files @a b",
            "2:11: `@a` is not a file; `try_files` takes no matcher; put it in a `handle` block with the matcher",
        ),
        (
            "header \"a b\" c",
            "2:8: `a b` is not the name of a header field; a name has letters, digits and `-`, no spaces and no colon",
        ),
        (
            "header A \"b\nC: d\"",
            "2:10: the value of a header field has a line end or another control character; write it on one line",
        ),
        (
            "redir * \"/\nA: b\"",
            "2:9: the value of a header field has a line end or another control character; write it on one line",
        ),
        (
            "header A ( b",
            "2:10: `(` is not a regular expression: error: unclosed group",
        ),
        (
            "header -A*b",
            "2:8: `-A*b` names no fields to remove; put `*` at the start or the end of a name",
        ),
        (
            "header >A",
            "2:8: the header field `A` has no value; write `-A` to remove it, or `\"\"` for an empty value",
        ),
        (
            "bind localhost",
            "2:6: `localhost` is not an IP address; write for example `bind 127.0.0.1`",
        ),
        (
            "bind unix/run/howdah.sock",
            "2:6: `unix/run/howdah.sock` is not the absolute path of a Unix socket; write for example `bind unix//run/howdah.sock`",
        ),
        (
            "bind unix//run/howdah.sock|0444",
            "2:6: `0444` are not permissions with which the owner of a Unix socket can use it; write for example `bind unix//run/howdah.sock|0222`, with which all may connect",
        ),
        (
            "@a path \"\"",
            "2:9: the path is empty and matches nothing; a path starts with `/`, or with `*` for its end: `*.php`",
        ),
        (
            "@a host a:80",
            "2:9: `a:80` is not a host; write a name without scheme and port, such as `example.com` or `*.example.com`",
        ),
        (
            "@a method \"G T\"",
            "2:11: `G T` is not a method; write for example `POST`",
        ),
        (
            "@a path /{host}",
            "2:9: a path matcher cannot have a placeholder: `/{host}`; write `{$NAME}` for an environment variable, which is read when the server starts",
        ),
        (
            "log {\nformat xml\n}",
            "3:8: unknown log format `xml`; formats are `console` and `json`",
        ),
        (
            "log {\nformat filter {\nwrap xml\n}\n}",
            "4:6: unknown log format `xml`; formats are `console` and `json`",
        ),
        (
            "log {\nformat filter {\nwrap json\nwrap json\n}\n}",
            "5:1: `wrap` is given twice; take one of them out",
        ),
        (
            "log {\nformat filter\n}",
            "3:8: `filter` is not supported in this version; formats are `console` and `json`",
        ),
        (
            "php_server {\nresolve_root_symlink maybe\n}",
            "3:22: `maybe` is neither true nor false; write `true` or `false`",
        ),
        (
            "php_server {\ntry_files a?b\n}",
            "3:11: `a?b` is not supported in this version; remove the query: a script gets the query of the request",
        ),
        (
            "file_server {\nsymlinks none\n}",
            "3:10: `none` is not a policy for symbolic links; write `auto`, `on`, `if_owner_match` or `off`",
        ),
        (
            "file_server {\nbrowse a.html\n}",
            "3:8: `a.html` is not supported in this version; the list has one form",
        ),
    ] {
        assert_eq!(site(directive), expected, "{directive}");
    }
}

#[test]
fn global_options_are_checked() {
    for (option, expected) in [
        (
            "worker a.php",
            "2:1: `worker` is not a global option; put it in `frankenphp { … }` or `php_server { … }`",
        ),
        ("xyzzy", "2:1: unknown global option `xyzzy`"),
        (
            "http_prt 1",
            "2:1: unknown global option `http_prt`; did you mean `http_port`?",
        ),
        (
            "admin local host",
            "2:13: `admin` takes 1 argument, 2 given; write `admin off|ADDRESS`",
        ),
        (
            "admin",
            "2:1: `admin` takes 1 argument, 0 given; write `admin off|ADDRESS`",
        ),
        (
            "admin localhost:",
            "2:7: `` is not a port; a port is a number from 0 to 65535",
        ),
        (
            "admin [::x]:1",
            "2:7: `[::x]:1` is not an address to listen on; write for example `admin localhost:2019`, `admin unix//run/howdah.sock` or `admin off`",
        ),
        (
            "admin http://a",
            "2:7: `//a` is not a port; a port is a number from 0 to 65535",
        ),
        (
            "admin unix/run/a",
            "2:7: `run/a` is not the absolute path of a socket, of at most 107 bytes; write for example `admin localhost:2019`, `admin unix//run/howdah.sock` or `admin off`",
        ),
        (
            "order respond under redir",
            "2:1: `under` is not a place in the order; write `order DIRECTIVE first|last  or  order DIRECTIVE before|after OTHER`",
        ),
        (
            "order respond last redir",
            "2:1: `last` is not a place in the order; write `order DIRECTIVE first|last  or  order DIRECTIVE before|after OTHER`",
        ),
        (
            "order respnd first",
            "2:7: unknown directive `respnd`; did you mean `respond`?",
        ),
        (
            "order respond after respond",
            "2:7: `respond` cannot be placed before or after itself",
        ),
        (
            "order respond after handle_path",
            "2:21: `handle_path` is not supported in this version; it stands where `handle` does",
        ),
        (
            "default_bind localhost",
            "2:14: `localhost` is not an IP address; write for example `default_bind 127.0.0.1`",
        ),
        (
            "http_port 65536",
            "2:11: `65536` is not a port; a port is a number from 0 to 65535",
        ),
        (
            "grace_period 10",
            "2:14: `10` is not a duration; write for example `30s`, `500ms`, `1h30m` or `2d`",
        ),
        (
            "frankenphp {\nmax_wait_time 0\n}",
            "3:15: `max_wait_time` cannot be zero; this option cannot be unlimited; give a long time such as `1h`",
        ),
        (
            "servers localhost:80 {\n}",
            "2:9: `localhost:80` is not what a site listens on; write for example `servers :443`, `servers 127.0.0.1:8080` or `servers unix//run/howdah.sock`",
        ),
        (
            "servers 127.0.0.1 {\n}",
            "2:9: `127.0.0.1` is not what a site listens on; write for example `servers :443`, `servers 127.0.0.1:8080` or `servers unix//run/howdah.sock`",
        ),
        (
            "servers :80000 {\n}",
            "2:9: `80000` is not a port; a port is a number from 0 to 65535",
        ),
        (
            "servers unix/run/a.sock {\n}",
            "2:9: `unix/run/a.sock` is not the absolute path of a Unix socket; write for example `servers unix//run/howdah.sock`",
        ),
        (
            "servers :80 :81 {\n}",
            "2:13: `servers` takes 0 to 1 argument, 2 given; write `servers [ADDRESS] { … }`",
        ),
        (
            "servers :80",
            "2:1: `servers` needs a block; write `servers [ADDRESS] { … }`",
        ),
        (
            "servers :80 {\n}\nservers {\n}\nservers tcp/:80 {\n}",
            "6:9: `servers :80` is given twice; put all options in the one at Caddyfile:2:9",
        ),
        (
            "servers {\n}\nservers {\n}",
            "4:1: `servers` without an address is given twice; put all options in the one at Caddyfile:2:1",
        ),
        (
            "servers :80 {\nmax_connections 9\n}",
            "3:1: `max_connections` is for the whole server; put it in `servers` without an address",
        ),
        (
            "servers {\nmax_header_size big\n}",
            "3:17: `big` is not a size; write for example `10MB` (10,000,000 bytes) or `16KiB` (16,384 bytes)",
        ),
        (
            "servers {\ntimeouts {\nidel 1s\n}\n}",
            "4:1: unknown timeout `idel`; did you mean `idle`?",
        ),
        (
            "frankenphp {\nnum_thread 1\n}",
            "3:1: unknown option of `frankenphp` `num_thread`; did you mean `num_threads`?",
        ),
        (
            "howdah {\nworkerz 1\n}",
            "3:1: unknown option of `howdah` `workerz`; did you mean `workers`?",
        ),
        (
            "frankenphp {\nnum_threads 0\n}",
            "3:13: `0` is not a whole number for `num_threads`; give a number of at least 1",
        ),
        (
            "frankenphp {\nfront_threads 17\n}",
            "3:15: 17 front threads are too many; give a number from 1 to 16",
        ),
        (
            "frankenphp {\nnum_threads 1\nworkers 2\n}",
            "4:1: `workers` is given twice; take one of them out",
        ),
        (
            "frankenphp {\n}\nhowdah {\n}",
            "4:1: `frankenphp` and `howdah` are the same block; put all options in one of them",
        ),
        (
            "frankenphp {\nphp_ini a\n}",
            "3:1: `php_ini` takes 2 arguments, 1 given; write `php_ini NAME VALUE  or  php_ini { NAME VALUE … }`",
        ),
        (
            "frankenphp {\nphp_ini {\na\n}\n}",
            "4:1: `a` needs one value; write `NAME VALUE`, with quotes around a value with spaces",
        ),
        (
            "frankenphp {\nnum_threads 256\n}",
            "3:13: 256 processes are too many for one pool; give a number of at most 255",
        ),
        (
            "frankenphp {\nmax_threads most\n}",
            "3:13: `most` is not a whole number for `max_threads`; give a number of at least 1",
        ),
        (
            "servers {\nprotocols h1 h2 h4\n}",
            "3:17: `h4` is not a supported protocol; write `protocols h1 h2` or `protocols h1 h2 h3`",
        ),
        (
            "servers {\nprotocols h2 h3\n}",
            "3:1: `protocols` is not supported in this version; HTTP/1.1 is always served: write `protocols h1 …`",
        ),
        (
            "frankenphp {\nmax_threads 3\nnum_threads 4\n}",
            "2:1: `max_threads` is 3, which is less than the 4 processes that always run; `max_threads` is the larger of the two",
        ),
    ] {
        let found = errors(&format!("{{\n{option}\n}}"));
        assert_eq!(found, [format!("Caddyfile:{expected}")], "{option}");
    }
}

#[test]
fn addresses_are_checked() {
    for (text, expected) in [
        (
            "https://:443",
            "1:1: no certificate is possible for the address `https://:443`: there is no host name for a certificate; name the hosts in the address, or give `tls CERT KEY`",
        ),
        (
            ":443",
            "1:1: no certificate is possible for the address `:443`: there is no host name for a certificate; name the hosts in the address, or give `tls CERT KEY`",
        ),
        (
            "*.example.com",
            "1:1: no certificate is possible for the address `*.example.com`: certificates for all names below a domain are only issued through DNS, which this version does not do; give `tls CERT KEY` or `tls internal`",
        ),
        (
            "https://a:80",
            "1:1: the address `https://a:80` has the scheme of HTTPS and the port of HTTP; use another port",
        ),
        (
            "a:8080 {\n}\nhttp://b:8080 {\n}",
            "3:1: the address `http://b:8080` is served without encryption on a port that has HTTPS; the other one is at Caddyfile:1:1; use another port",
        ),
        (
            "http://a {\ntls internal\n}",
            "1:1: `tls` has no effect: the address `http://a` is not encrypted; remove `tls`, or write `https://` or a different port",
        ),
        (
            "{\nauto_https off\n}\na {\n}",
            "4:1: no certificate is possible for the address `a`: `auto_https` is off, so it gets no certificate by itself; give `tls CERT KEY` or `tls internal`, or write `http://a`",
        ),
        (
            "localhost {\ntls a@b.example\n}",
            "1:1: no certificate is possible for the address `localhost`: no public authority issues certificates for this name; write `tls internal`",
        ),
        (
            "http://a:443",
            "1:1: the address `http://a:443` has the scheme of HTTP and the port of HTTPS; use another port",
        ),
        (
            "ftp://a",
            "1:1: the address `ftp://a` has the unknown scheme `ftp`; write `https://`, `http://` or no scheme",
        ),
        (
            "http://a/%2F",
            "1:1: `/%2F` matches nothing: paths are compared decoded; write `/` in place of `%2F`",
        ),
        (
            "http://a/b {\n}\nhttp://a/b {\n}",
            "3:1: the address `http://a/b` is served twice; the other one is at Caddyfile:1:1",
        ),
        (
            ":x",
            "1:1: `x` is not a port; a port is a number from 0 to 65535",
        ),
        (
            "http://a:99999",
            "1:1: `99999` is not a port; a port is a number from 0 to 65535",
        ),
        (
            "http://{env.A}",
            "1:1: the address `http://{env.A}` has a placeholder; write `{$NAME}` for an environment variable, which is read when the server starts",
        ),
        (
            "http://*",
            "1:1: `*` is not a host; write for example `http://example.com`, `http://*.example.com` or `:8080` for all hosts",
        ),
        (
            "http://bücher.de",
            "1:1: the host `bücher.de` is not ASCII; write it as browsers send it, in Punycode: `xn--…`",
        ),
        (
            "http://a,http://b",
            "1:1: the address `http://a,http://b` has a comma in it; put a space after the comma between two addresses",
        ),
        ("http://a,", "1:1: an address is missing after the comma"),
        (
            "\"\"",
            "1:1: the address is empty; write one such as `:8080`",
        ),
        (
            "php_server",
            "1:1: the directive `php_server` is not in a site; put the site's address on a line before it, for example `:8080`",
        ),
        (
            ":80 {\n}\n:80 {\n}",
            "3:1: the address `:80` is served twice; the other one is at Caddyfile:1:1",
        ),
        (
            "http://a http://A:80",
            "1:10: the address `http://A:80` is served twice; the other one is at Caddyfile:1:1",
        ),
        (
            "&(a)",
            "1:1: `&(a)` is not a named route; write `&(name) {`, and the directives in the block",
        ),
        (
            "@a path /x",
            "1:1: the matcher `@a` is outside of a site; define it in the block of the site that uses it",
        ),
    ] {
        assert_eq!(errors(text), [format!("Caddyfile:{expected}")], "{text}");
    }
}

#[test]
fn the_shape_is_checked() {
    for (text, expected) in [
        (
            ":80 {\n",
            "1:5: the block that starts here is not closed; end it with `}` on a line of its own",
        ),
        (
            ":80 {\nhandle {\n}\n",
            "1:5: the block that starts here is not closed; end it with `}` on a line of its own",
        ),
        (":80 {\n}\n}", "3:1: there is no block to close here"),
        (
            ":80 {\nrespond a }\n",
            "2:11: `}` is not on a line of its own; put it on a line of its own (`howdah fmt` does)",
        ),
        (
            "import a } b",
            "1:10: `}` is not on a line of its own; put it on a line of its own (`howdah fmt` does)",
        ),
        (
            "import }",
            "1:8: `import` needs the name of a snippet or file, not `}`; put quotes around a name that is a brace",
        ),
        (
            ":80 {\nimport {\n}\n}",
            "2:8: `import` needs the name of a snippet or file, not `{`; put quotes around a name that is a brace",
        ),
        (
            ":80 { respond a\n}",
            "1:7: `respond` follows `{` on the same line; put it on a line of its own (`howdah fmt` does)",
        ),
        (
            ":80 {\n} :81 {\n}",
            "2:3: `:81` follows `}` on the same line; put it on a line of its own (`howdah fmt` does)",
        ),
        (
            ":80 {\nhandle\n{\n}\n}",
            "3:1: `{` is on a line of its own; put it at the end of the line before (`howdah fmt` does)",
        ),
        (
            ":80{\n}",
            "1:1: a brace is missing in `:80{`, or it is part of another word; put a space before `{` and a line end before `}`, or quotes around the word",
        ),
        (
            ":80 {\nhandle {}\n}",
            "2:8: `{}` is not an empty block; leave it out, or put `}` on a line of its own",
        ),
        (
            ":80 {\n}\n{\ndebug\n}",
            "3:1: a block without a name is the global options, which come first; put it at the top of the file, or an address such as `:8080` before `{`",
        ),
        (
            ":80\nrespond \"a",
            "2:9: the quoted text that starts here is not closed; end it with `\"`",
        ),
        (
            ":80\nrespond {args[0]}",
            "2:9: `{args[0]}` is not in a snippet or an imported file; it stands for an argument of `import NAME ARGUMENT…`",
        ),
        (
            "(a) {\n",
            "1:5: the block that starts here is not closed; end it with `}`",
        ),
        (
            ":80\nimport",
            "2:1: `import` needs the name of a snippet or file; write `import NAME [ARGUMENTS…]`",
        ),
        (
            ":80\nimport a {\nb",
            "2:10: the block that starts here is not closed; end it with `}`",
        ),
        (
            ":80\nimport a*b*",
            "2:8: the pattern `a*b*` has more than one wildcard; a pattern may have one `*` and one `?`",
        ),
    ] {
        assert_eq!(errors(text), [format!("Caddyfile:{expected}")], "{text}");
    }
}

#[test]
fn several_errors_are_reported_at_once() {
    let text = "{\nhttp_port x\nemail a\n}\nhttp://*:80 {\n\trespnd a\n\tphp_server {\n\t\tindx a\n\t\tenv A\n\t}\n\theader {\n\t\tA\n\t\tB\n\t}\n}";
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
