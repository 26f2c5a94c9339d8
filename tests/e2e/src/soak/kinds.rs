//! The kinds of steps of requests, as named in the report.

/// Description of a kind, and its steps, by their names in `tests/worker/coroutine/soak/`.
pub(super) const KINDS: [(&str, &[&str]); 13] = [
    (
        "state of a request",
        &[
            "sleep",
            "yield",
            "buffer",
            "fiber",
            "generator",
            "callback",
            "cancel",
            "wrapper",
            "file",
            "lock",
            "http",
            "curl",
            "sqlite",
        ],
    ),
    (
        "half-done state of the engine",
        &[
            "autoload", "link", "trait", "constant", "enum", "default", "lazy", "include",
            "compile",
        ],
    ),
    (
        "recursion guards on shared objects",
        &[
            "magic",
            "json",
            "dump",
            "compare",
            "serialize",
            "heap",
            "sort",
            "walk",
        ],
    ),
    (
        "state of a library",
        &["mbregex", "mbreplace", "last-errors", "xml"],
    ),
    (
        "shared connections",
        &["pgsql", "mysql", "mysqli", "redis", "memcached", "https"],
    ),
    ("persistent streams", &["persistent"]),
    (
        "commands cut in their midst",
        &[
            "pgsql-cut",
            "mysql-cut",
            "mysqli-cut",
            "redis-cut",
            "memcached-cut",
        ],
    ),
    (
        "programs beside open files and sockets",
        &["process", "descriptors"],
    ),
    ("objects of an unknown extension", &["unknown"]),
    (
        "stack and memory of a request",
        &["deep", "limit", "exceed", "overflow"],
    ),
    (
        "settings of a session",
        &["session", "session-settings", "session-defaults"],
    ),
    ("apcu_entry()", &["apcu"]),
    (
        "end of a request",
        &["exit", "throw", "upload", "late", "fatal", "crash"],
    ),
];

/// Steps that end a request. `plan.rs` chooses them.
const ENDINGS: [&str; 8] = [
    "exit", "throw", "upload", "late", "fatal", "exceed", "overflow", "crash",
];

/// Steps that need a service or an extension, and the variables that name them.
const NEEDS: [(&str, &str); 12] = [
    ("pgsql", "SOAK_PGSQL"),
    ("pgsql-cut", "SOAK_PGSQL"),
    ("mysql", "SOAK_MYSQL"),
    ("mysql-cut", "SOAK_MYSQL"),
    ("mysqli", "SOAK_MYSQLI"),
    ("mysqli-cut", "SOAK_MYSQLI"),
    ("redis", "SOAK_REDIS"),
    ("redis-cut", "SOAK_REDIS"),
    ("memcached", "SOAK_MEMCACHED"),
    ("memcached-cut", "SOAK_MEMCACHED"),
    ("https", "SOAK_HTTPS"),
    ("unknown", super::PROBE),
];

/// Steps of all kinds that are possible at any place of a request, if `is_set` finds the variables
/// that they need.
pub(super) fn steps(is_set: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let all = KINDS.iter().flat_map(|(_, steps)| steps.iter().copied());
    all.filter(|step| !ENDINGS.contains(step))
        .filter(|step| {
            let need = NEEDS.iter().find(|(needs, _)| needs == step);
            need.is_none_or(|(_, variable)| is_set(variable))
        })
        .collect()
}

/// Environment variables that the worker script must see.
pub(super) fn variables() -> impl Iterator<Item = &'static str> {
    let names = NEEDS.iter().map(|(_, variable)| *variable);
    names.collect::<std::collections::BTreeSet<_>>().into_iter()
}
