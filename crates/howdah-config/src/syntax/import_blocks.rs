//! `{block}` and `{blocks.NAME}`: replaced by the block of an `import`.

use super::import::{Item, MAX_IMPORTED, definitions};
use crate::syntax::lexer::{Kind, Quote};

/// Inserts the block. Snippets that an imported file defines are not changed.
pub(super) fn fill(tokens: Vec<Item>, block: &[Item]) -> Vec<Item> {
    if !tokens.iter().any(|item| placeholder(item).is_some()) {
        return tokens;
    }
    let mut result: Vec<Item> = Vec::with_capacity(tokens.len() + block.len());
    let inside = definitions(&tokens);
    for (item, definition) in tokens.into_iter().zip(inside) {
        let content = match placeholder(&item).filter(|_| !definition) {
            None => {
                result.push(item);
                continue;
            }
            Some("") => block,
            Some(name) => named(block, name),
        };
        let start = result.len();
        result.extend_from_slice(content);
        if let Some(first) = result.get_mut(start) {
            first.starts_line = item.starts_line;
        }
        // The caller refuses a result that is too large.
        if result.len() > MAX_IMPORTED {
            break;
        }
    }
    result
}

/// The name in `{blocks.NAME}`; empty for `{block}`.
fn placeholder(item: &Item) -> Option<&str> {
    let unquoted = item.token.kind == Kind::Text(Quote::None);
    match item.token.text.as_str() {
        _ if !unquoted => None,
        "{block}" => Some(""),
        text => text
            .strip_prefix("{blocks.")
            .and_then(|rest| rest.strip_suffix('}'))
            .filter(|name| !name.is_empty()),
    }
}

/// The contents of the block `NAME { … }` in a block.
fn named<'b>(block: &'b [Item], name: &str) -> &'b [Item] {
    let mut depth = 0_usize;
    let mut start = None;
    for (at, item) in block.iter().enumerate() {
        if item.token.is("{") {
            depth += 1;
            let before = at.checked_sub(1).map(|before| &block[before]);
            let is_it = before.is_some_and(|before| before.starts_line && before.token.is(name));
            if depth == 1 && is_it {
                start = Some(at + 1);
            }
        } else if item.token.is("}") {
            depth = depth.saturating_sub(1);
            if let Some(start) = start.filter(|_| depth == 0) {
                return &block[start..at];
            }
        }
    }
    &[]
}
