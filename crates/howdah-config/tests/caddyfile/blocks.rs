//! Blocks after `import`, named routes, and values that several directives share.

use crate::common::{config, errors};

/// Checks that a file means the same as a file without imports.
fn same(with: &str, without: &str) {
    assert_eq!(config(with).sites, config(without).sites, "{with}");
}

#[test]
fn a_block_takes_its_place() {
    same(
        "(proxied) {\nhandle {args[0]} {\nheader A b\n{block}\nrespond end\n}\n}\n\
         :80 {\nimport proxied /a/* {\nheader C d\nrespond /x x {\nclose\n}\n}\nimport proxied /b/*\n}\n",
        ":80 {\nhandle /a/* {\nheader A b\nheader C d\nrespond /x x {\nclose\n}\nrespond end\n}\n\
         handle /b/* {\nheader A b\nrespond end\n}\n}\n",
    );
}

#[test]
fn parts_of_a_block_have_names() {
    same(
        "(two) {\nhandle /one {\n{blocks.one}\n}\nhandle /two {\n{blocks.two}\n{blocks.none}\n}\n}\n\
         :80 {\nimport two {\none {\nrespond 1\nheader A {args}\n}\ntwo {\nrespond 2\n}\n}\n}\n"
            .replace("{args}", "b")
            .as_str(),
        ":80 {\nhandle /one {\nrespond 1\nheader A b\n}\nhandle /two {\nrespond 2\n}\n}\n",
    );
}

#[test]
fn imports_within_blocks() {
    same(
        "(inner) {\nrespond {args[0]}\n}\n(outer) {\nroute {\n{block}\n}\n}\n\
         :80 {\nimport outer {\nimport inner hello\n}\n}\n",
        ":80 {\nroute {\nrespond hello\n}\n}\n",
    );
    // A snippet that imports itself through a block is detected.
    let found =
        errors("(b) {\n{block}\n}\n(a) {\nimport b {\nimport a\n}\n}\n:80 {\nimport a\n}\n");
    assert_eq!(
        found,
        ["Caddyfile:6:8: `(a)` imports itself; remove one of the imports"]
    );
}

#[test]
fn blocks_are_bounded() {
    let mut text = String::from("(x0) {\n{block}\n{block}\n{block}\n{block}\n}\n");
    for depth in 1..32 {
        let below = depth - 1;
        let line = format!("import x{below} {{\n{{block}}\n}}\n");
        let lines = line.repeat(4);
        for part in ["(x", &depth.to_string(), ") {\n", &lines, "}\n"] {
            text.push_str(part);
        }
    }
    text.push_str(":80 {\nimport x31 {\nheader A b\n}\n}\n");
    let found = errors(&text);
    assert!(found[0].contains("imports add more than"), "{found:?}");
}
