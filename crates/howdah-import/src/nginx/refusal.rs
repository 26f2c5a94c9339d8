//! Restrictions without a counterpart: the requests that they apply to are denied.

use super::location::Location;
use super::settings::{Context, is_access as is_rule};
use crate::directive::Directive;
use crate::output::{FORBIDDEN, Lines, block, word};
use crate::pattern::without_lookaround;

const WHY: &str = "the response is 403 until access is restricted in another way";

/// Whether a directive of a module restricts access.
pub(super) fn is_access(name: &str) -> bool {
    const NAMES: [&str; 5] = [
        "js_access",
        "perl_access",
        "ssl_crl",
        "ssl_ocsp",
        "testcookie",
    ];
    // Their options restrict nothing.
    const OPTIONS: [&str; 6] = ["_cache", "_delay", "_file", "_leeway", "_set", "_type"];
    let starts = ["access_by_", "auth_", "rewrite_by_"];
    let is_option = || name.starts_with("auth_") && OPTIONS.iter().any(|end| name.ends_with(end));
    NAMES.contains(&name)
        || starts.iter().any(|start| name.starts_with(start)) && !is_rule(name) && !is_option()
}

/// Refuses all requests of a block with such a directive.
pub(super) fn refusals(children: &[Directive], cx: &mut Context<'_>) -> Lines {
    let is_on = |own: &&Directive| is_access(&own.name) && own.argument(0) != "off";
    let Some(first) = children.iter().find(is_on) else {
        return Lines::new();
    };
    cx.refuse(first, WHY)
}

/// An `if` without a matcher: what it refuses, it refuses to all.
pub(super) fn condition(directive: &Directive, cx: &mut Context<'_>) -> Lines {
    if !directive.children().iter().any(refuses) {
        return vec![cx.note(directive, "write it as a matcher")];
    }
    cx.refuse(directive, "the response is 403 until it is a matcher")
}

/// Whether it is a `return` with an error.
fn refuses(own: &Directive) -> bool {
    let status = own.argument(0).parse::<u16>();
    own.name == "return" && status.is_ok_and(|status| status >= 400)
}

/// A location whose regular expression has no counterpart. If it restricts access, requests are denied: those that
/// match without the lookaround, or all.
pub(super) fn location(location: &Location<'_>, cx: &mut Context<'_>) -> Lines {
    if !restricts(location.directive.children()) {
        let why =
            "this regular expression has no counterpart; requests that it matches go elsewhere";
        return vec![cx.note(location.directive, why)];
    }
    let Some(wider) = without_lookaround(location.pattern) else {
        let why =
            "this regular expression has no counterpart; the response is 403 until it has one";
        return cx.refuse(location.directive, why);
    };
    let name = cx.names.next("location");
    let ignore_case = if location.ignores_case() { "(?i)" } else { "" };
    let why = "this regular expression has no counterpart; a wider one is denied";
    let mut lines = vec![
        cx.note(location.directive, why),
        format!(
            "@{name} path_regexp {name} {}",
            word(&format!("{ignore_case}{wider}"))
        ),
    ];
    lines.extend(block(
        &format!("handle @{name}"),
        vec![FORBIDDEN.to_owned()],
    ));
    lines
}

fn restricts(children: &[Directive]) -> bool {
    children.iter().any(|own| {
        let names = ["internal", "limit_except", "valid_referers", "secure_link"];
        let restricts_itself = is_rule(&own.name) && own.to_string() != "allow all";
        refuses(own)
            || names.contains(&own.name.as_str())
            || restricts_itself
            || is_access(&own.name)
            || restricts(own.children())
    })
}
