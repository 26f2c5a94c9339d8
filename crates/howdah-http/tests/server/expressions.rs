//! The matcher `expression`.

use crate::caddyfile::{bodies, serve, tree};

#[test]
fn expressions() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "@a expression `{method} == \"GET\" && (path('/a*', '/b') || {query.n} in [1, 2.0]) && !header({'X': 'no'})`\n\
         @b `{path}.startsWith('/c') && {path}.endsWith(\".txt\") || {query.n} >= 10`\n\
         @c expression path_regexp('^/d([0-9]+)$')\n\
         @e expression {path} == \"/quoted\" && !path('/x')\n\
         @f expression {path} == '/café' && {http.request.orig_uri.path}.endsWith('é')\n\
         @g expression path_regexp('^/g/(.*)$') && {re.g.1} == 'a b'\n\
         @d expression file('/sub/b.txt') && {host}.matches('^local') && {path} != '/e'\n\
         respond @a a\nrespond @b b\nrespond @c \"{re.c.1} {re.1}\"\nrespond @e e\nrespond @f f\nrespond @g g\nrespond @d d\nrespond none",
    );
    bodies(
        &harness,
        &[
            ("/abc", "", "a"),
            ("/abc", "X: no\r\n", "d"),
            ("/x?n=2", "", "a"),
            ("/x?n=3", "", "d"),
            ("/c.txt", "", "b"),
            // Paths are compared in decoded form, as in all matchers.
            ("/%63.txt", "", "b"),
            ("/caf%C3%A9", "", "f"),
            ("/g/a%20b", "", "g"),
            ("/x?n=9", "", "d"),
            ("/x?n=10", "", "b"),
            ("/x?n=ten", "", "d"),
            ("/d42", "", "42 42"),
            ("/quoted", "", "e"),
            ("/e", "", "none"),
        ],
    );
}

#[test]
fn expressions_calculate_values() {
    let directory = tree();
    let harness = serve(
        directory.path(),
        "@a expression `int({query.n}) > 5`\n\
         @b `size({path}) > 20 || {path}.size() == 2`\n\
         @c `{path}.lowerAscii().split('/')[1] in ['one', 'two'] && !({query.x}.trim() == '')`\n\
         @d `['/old', '/older'].exists(p, {path}.startsWith(p + '/'))`\n\
         @e `({query.v} == '' ? 'none' : {query.v}).replace('a', 'b') == 'bnb'`\n\
         @f `int({query.m}) % 2 == 1 && {query.m}.matches(r'^\\d+$')`\n\
         @g `header({'X': ['1', '2']})`\n\
         @h `(path('/h*') ? 1 : 0) + int({query.o}) == 3`\n\
         @i `int({query.i}) == 1 || {path} == '/i'`\n\
         @j `!(int({query.j}) == 1) && path('/j')`\n\
         respond @a a\nrespond @b b\nrespond @c c\nrespond @d d\nrespond @e e\nrespond @f f\nrespond @g g\n\
         respond @h h\nrespond @i i\nrespond @j j\nrespond none",
    );
    bodies(
        &harness,
        &[
            ("/none?n=6", "", "a"),
            ("/none?n=5", "", "none"),
            // No number: the expression is false.
            ("/none?n=x", "", "none"),
            ("/b", "", "b"),
            ("/12345678901234567890", "", "b"),
            ("/One/x?x=y", "", "c"),
            ("/One/x", "", "none"),
            ("/older/x", "", "d"),
            ("/oldest/x", "", "none"),
            ("/none?v=ana", "", "e"),
            ("/none?m=7", "", "f"),
            ("/none?m=8", "", "none"),
            ("/none", "X: 2\r\n", "g"),
            ("/none", "X: 3\r\n", "none"),
            ("/hello?o=2", "", "h"),
            ("/none?o=2", "", "none"),
            // One side is enough.
            ("/i", "", "b"),
            ("/none?i=1", "", "i"),
            ("/j?j=2", "", "b"),
            ("/none?j=x", "", "none"),
        ],
    );
}
