//! Errors of addresses and of the structure of a file, with their positions.

use crate::common::errors;

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
            "1:1: no certificate is possible for the address `*.example.com`: wildcard certificates need the DNS challenge, which this version does not support; give `tls CERT KEY` or `tls internal`",
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
            "4:1: no certificate is possible for the address `a`: `auto_https` is off, so no certificate is obtained for it; give `tls CERT KEY` or `tls internal`, or write `http://a`",
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
            "http://*x",
            "1:1: `*x` is not a host; write for example `http://example.com`, `http://*.example.com` or `:8080` for all hosts",
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
            "http://* {\n}\n*:80 {\n}",
            "3:1: the address `*:80` is served twice; the other one is at Caddyfile:1:1",
        ),
        (
            "* {\n}",
            "1:1: `*` cannot have a certificate; write `http://*` for hosts of one word such as `localhost`, or `https://` for all hosts",
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
