//! The order in which directives are applied, and the global option `order`, which changes it.

use super::DIRECTIVES;
use crate::error::{Error, ErrorKind};
use crate::syntax::tree::Word;
use crate::table::{Call, Context, bad_value, unsupported};

/// `order DIRECTIVE first|last|before OTHER|after OTHER`.
pub(crate) fn read(cx: &mut Context, call: &Call<'_>) -> Result<(), Error> {
    let words = call.arguments(2, 3)?;
    let (word, place) = (&words[0], &words[1]);
    let wrong = || {
        call.error(
            ErrorKind::Arguments,
            format!("`{}` is not a place in the order", place.text),
            format!("write `{}`", call.entry.syntax),
        )
    };
    let other = match (place.text.as_str(), words.get(2)) {
        ("first" | "last", None) => None,
        ("before" | "after", Some(other)) => Some(other),
        _ => return Err(wrong()),
    };
    if cx.accepts(DIRECTIVES.kind, word) {
        return Ok(());
    }
    if let Some(other) = other
        && cx.accepts(DIRECTIVES.kind, other)
    {
        return Ok(());
    }
    let directive = find(word)?;
    let other = other.map(find).transpose()?;
    if other == Some(directive) {
        return Err(bad_value(
            &word.position,
            format!("`{}` cannot be placed before or after itself", word.text),
            "",
        ));
    }
    let order = cx.order.places(DIRECTIVES.items.len());
    order.retain(|one| *one != directive);
    let at = match other {
        None if place.text == "first" => 0,
        None => order.len(),
        Some(other) => {
            let at = order.iter().position(|one| *one == other);
            at.map_or(order.len(), |at| at + usize::from(place.text == "after"))
        }
    };
    order.insert(at, directive);
    Ok(())
}

fn find(word: &Word) -> Result<usize, Error> {
    let (index, entry, _) = DIRECTIVES.find(word)?;
    if entry.name == "handle_path" {
        return Err(unsupported(word, "it has the same place as `handle`"));
    }
    Ok(index)
}
