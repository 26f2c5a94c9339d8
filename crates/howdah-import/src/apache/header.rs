//! `Header` and `RequestHeader`.

use crate::directive::Directive;
use crate::output::word;

/// What `Header` changes, as `header` of a Caddyfile; `None`: it has no counterpart.
pub(super) fn response_change(own: &Directive) -> Option<String> {
    let words: Vec<_> = own
        .arguments
        .iter()
        .filter(|word| *word != "always")
        .cloned()
        .collect();
    let (action, name) = (
        words
            .first()
            .map_or("", String::as_str)
            .to_ascii_lowercase(),
        words.get(1).cloned().unwrap_or_default(),
    );
    let value = words.get(2).cloned().unwrap_or_default();
    let conditional = words
        .get(3)
        .is_some_and(|word| word.starts_with("env=") || word.starts_with("expr="));
    if conditional || value.contains("%{") || value.contains("expr=") {
        return None;
    }
    Some(match action.as_str() {
        "set" => format!(">{name} {}", word(&value)),
        "append" | "add" | "merge" => format!("+{name} {}", word(&value)),
        "setifempty" => format!("?{name} {}", word(&value)),
        "unset" => format!("-{name}"),
        _ => return None,
    })
}

/// What `RequestHeader` changes, as `request_header` of a Caddyfile; `None`: it has no counterpart.
pub(super) fn request_change(own: &Directive) -> Option<String> {
    let (action, name, value) = (
        own.argument(0).to_ascii_lowercase(),
        own.argument(1),
        own.argument(2),
    );
    if value.contains("%{") || own.arguments.len() > 3 {
        return None;
    }
    Some(match action.as_str() {
        "set" => format!("{name} {}", word(value)),
        "append" | "add" | "merge" => format!("+{name} {}", word(value)),
        "unset" => format!("-{name}"),
        _ => return None,
    })
}
