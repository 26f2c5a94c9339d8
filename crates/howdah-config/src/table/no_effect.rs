//! Names of other servers that are accepted although they have no effect in this version, so that files
//! that have them run. Each use is a warning: nothing is ignored silently. What is in their arguments
//! and blocks is not looked at.

/// A name without effect.
pub(crate) struct NameWithoutEffect {
    /// [`Table::kind`](crate::table::Table::kind) of the table that the name would be in.
    pub(crate) kind: &'static str,
    pub(crate) name: &'static str,
    /// What is different without it, after "`NAME` has no effect: ".
    pub(crate) warning: &'static str,
}

const PAGES: &str = "the hub has no pages of its own, so there is no demo to look at";

/// All of them.
pub(crate) const NO_EFFECT: &[NameWithoutEffect] = &[
    NameWithoutEffect {
        kind: "directive",
        name: "vulcain",
        warning: "Vulcain is not part of this version",
    },
    NameWithoutEffect {
        kind: "subdirective of `php_server`",
        name: "request_body_timeout",
        warning: "`read_body` in the global `servers { timeouts { … } }` is the limit",
    },
    NameWithoutEffect {
        kind: "subdirective of `php`",
        name: "request_body_timeout",
        warning: "`read_body` in the global `servers { timeouts { … } }` is the limit",
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "demo",
        warning: PAGES,
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "ui",
        warning: PAGES,
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "debugger",
        warning: PAGES,
    },
    NameWithoutEffect {
        kind: "subdirective of `mercure`",
        name: "playground",
        warning: PAGES,
    },
];

/// The entry of a name, if it is accepted without effect in that kind of block.
pub(crate) fn find(kind: &str, name: &str) -> Option<&'static NameWithoutEffect> {
    NO_EFFECT
        .iter()
        .find(|accepted| accepted.kind == kind && accepted.name == name)
}
