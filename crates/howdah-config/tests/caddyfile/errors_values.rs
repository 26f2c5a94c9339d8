//! Errors of the values of directives, with their positions.

use crate::errors::site;

#[test]
fn values_are_checked() {
    for (directive, expected) in [
        (
            "encode deflate",
            "2:8: `deflate` is not a format of compression; known are zstd, br and gzip; a matcher starts with `/` or `@`",
        ),
        (
            "encode gzip gzip",
            "2:13: `gzip` is given twice; remove one of them",
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
            "2:9: a path matcher cannot contain a placeholder: `/{host}`; write `{$NAME}` for an environment variable, which is read when the server starts",
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
            "5:1: `wrap` is given twice; remove one of them",
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
            "file_server {\nsymlinks none\n}",
            "3:10: `none` is not a policy for symbolic links; write `auto`, `on`, `if_owner_match` or `off`",
        ),
        (
            "file_server {\nbrowse a.html\n}",
            "3:8: `a.html` is not supported in this version; the list has one form",
        ),
        (
            "log {\nformat append {\na b\n}\n}",
            "3:8: `append` is not supported in this version; write `log_append NAME VALUE` in the site; formats are `console` and `json`",
        ),
        (
            "log {\nformat transform \"{common_log}\"\n}",
            "3:8: `transform` is not supported in this version; it is a plugin of Caddy; formats are `console` and `json`",
        ),
        (
            "file_server {\nbrowse {\nsort age\n}\n}",
            "4:6: a list cannot be sorted by `age`; write `name`, `namedirfirst`, `size` or `time`",
        ),
        (
            "file_server {\nbrowse {\nsort size down\n}\n}",
            "4:11: `down` is not a direction; write `asc` or `desc`",
        ),
        (
            "file_server {\nbrowse {\nreveal_symlinks\n}\n}",
            "4:1: `reveal_symlinks` is not supported in this version; a list has the names of links, and their targets remain private",
        ),
        (
            "request_body {\nset text\n}",
            "3:1: `set` is not supported in this version; PHP gets the body that the client sent",
        ),
        (
            "php_fastcgi a:9000 {\nheader_up A b\n}",
            "3:1: `header_up` is not supported in this version; write `request_header NAME VALUE` before it, or `env NAME VALUE` for a variable",
        ),
        (
            "reverse_proxy a:1 {\nheader_up A {rp.upstream.dial}\n}",
            "3:13: the placeholder `{rp.upstream.dial}` is not supported in this version; use `{upstream_hostport}`, the address of the upstream",
        ),
        (
            "reverse_proxy {\ndynamic srv _app._tcp.test\n}",
            "3:9: `srv` is not supported in this version; write `dynamic a NAME PORT`, which uses all addresses of a name with one port",
        ),
        (
            "reverse_proxy {\ndynamic a app 80 {\nresolvers 10.0.0.1\n}\n}",
            "4:1: `resolvers` is not supported in this version; names are resolved as the system does: see `/etc/resolv.conf` and `/etc/hosts`",
        ),
        (
            "reverse_proxy {\ndynamic a\n}",
            "3:1: the name of the upstreams is missing; write `dynamic a NAME PORT`",
        ),
        (
            "respond {time.now}",
            "2:9: the placeholder `{time.now}` is not supported in this version; use `{time.now.unix}`, `{time.now.http}` or `{time.now.common_log}`",
        ),
    ] {
        assert_eq!(site(directive), expected, "{directive}");
    }
}
