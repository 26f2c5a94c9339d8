//! `header`: when its changes are applied.

use crate::support::front::front;

/// As in Caddy, deferred operations run last. Of these, the first of the route runs, which has the
/// longest path.
#[test]
fn deferred_changes_of_the_header() {
    let harness = front(
        "",
        "",
        "header >X-Set no\nheader /build/* >X-Set yes\n\
         header ?X-Default all\nheader /build/* ?X-Default build\n\
         header /build/* -X-Gone\nheader X-Gone here\nheader X-Set first\n\
         handle /build/late {\nheader >X-Set inner\nrespond a\n}\nrespond a",
    );
    let fields = |target: &str| {
        let reply = harness.get(target);
        ["x-set", "x-default", "x-gone"].map(|name| reply.header(name).unwrap_or("-").to_owned())
    };
    assert_eq!(fields("/"), ["no", "all", "here"]);
    assert_eq!(fields("/build/a.css"), ["yes", "all", "-"]);
    assert_eq!(fields("/build/late"), ["yes", "all", "-"]);
}

/// As in Caddy, only what exists before the response, unless they are deferred.
#[test]
fn replacements_in_the_header() {
    let harness = front(
        "",
        "",
        "header /a* X-Text a-a\nheader X-Text a b\nheader Content-Type plain html\nheader Server (?i)HOW Why\n\
         header /late* >Content-Type plain html\nheader /all* >* (plain|Howdah) x$1\n\
         header /find* X-Found one-two\nheader /find* X-Found {query.find} three\nrespond text",
    );
    let field = |target: &str, name: &str| {
        let reply = harness.get(target);
        assert_eq!(reply.text(), "text", "{target}");
        reply.header(name).unwrap_or("-").to_owned()
    };
    let plain = "text/plain; charset=utf-8";
    assert_eq!(field("/a", "x-text"), "b-b");
    assert_eq!(field("/", "x-text"), "-");
    assert_eq!(field("/", "content-type"), plain);
    assert_eq!(field("/", "server"), "Whydah");
    assert_eq!(
        field("/late", "content-type"),
        plain.replace("plain", "html")
    );
    assert_eq!(
        field("/all", "content-type"),
        plain.replace("plain", "xplain")
    );
    assert_eq!(field("/find?find=^o..", "x-found"), "three-two");
    assert_eq!(field("/find?find=(", "x-found"), "one-two");
}
