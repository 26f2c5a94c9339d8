//! Flags of a `RewriteRule`, such as `[L,F]`.

use crate::directive::Directive;

pub(super) fn flags(rule: &Directive) -> Vec<String> {
    let text = rule
        .argument(2)
        .trim_start_matches('[')
        .trim_end_matches(']');
    text.split(',').map(|flag| flag.trim().to_owned()).collect()
}

pub(super) fn has_flag(flags: &[String], flag: &str) -> bool {
    flags.iter().any(|own| own.eq_ignore_ascii_case(flag))
}

/// Whether the rule denies access.
pub(super) fn forbids(rule: &Directive) -> bool {
    let flags = flags(rule);
    has_flag(&flags, "F") || has_flag(&flags, "G")
}
