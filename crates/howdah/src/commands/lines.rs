//! What `howdah fmt --diff` prints.

use similar::{ChangeTag, TextDiff};

/// All lines of both texts, as `caddy fmt --diff` prints them: `- ` before those that only the first one has, `+ `
/// before those that only the second one has, two spaces before the others.
pub(super) fn diff(old: &str, new: &str) -> String {
    let mut text = String::new();
    for change in TextDiff::from_lines(old, new).iter_all_changes() {
        text.push_str(match change.tag() {
            ChangeTag::Delete => "- ",
            ChangeTag::Insert => "+ ",
            ChangeTag::Equal => "  ",
        });
        text.push_str(change.value().trim_end_matches('\n'));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_text_alone_are_marked() {
        assert_eq!(diff("a\nb\nc\n", "a\nB\nc\n"), "  a\n- b\n+ B\n  c\n");
        assert_eq!(diff("a\n\n\nb\n", "a\n\nb\nc\n"), "  a\n  \n- \n  b\n+ c\n");
        assert_eq!(diff("", "a\n"), "+ a\n");
        assert_eq!(diff("a\n", "a\n"), "  a\n");
    }
}
