//! What a regular expression's finds are replaced by, when text and replacement can both be a client's:
//! the result is as long as their lengths multiplied, gigabytes of two fields of 32 KiB.

use regex::{Captures, Replacer, bytes};

/// Bytes of a URI that was changed, and of what a replacement may bring: no URI that is sent is longer,
/// nor is it passed on if it is.
pub(super) const MAX_LEN: usize = 65_534;

/// A replacement with `$1` and `$name` for groups, which brings [`MAX_LEN`] bytes at most, and what one
/// more find is replaced by. The result is of no use once it [is too long](Self::is_too_long).
pub(super) struct Replacement<'t, T: ?Sized> {
    text: &'t T,
    brought: usize,
}

impl<'t, T: ?Sized> Replacement<'t, T> {
    pub(super) fn new(text: &'t T) -> Self {
        Self { text, brought: 0 }
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.brought > MAX_LEN
    }
}

impl Replacer for Replacement<'_, str> {
    fn replace_append(&mut self, found: &Captures<'_>, result: &mut String) {
        if !self.is_too_long() {
            let before = result.len();
            found.expand(self.text, result);
            self.brought += result.len() - before;
        }
    }
}

impl bytes::Replacer for Replacement<'_, [u8]> {
    fn replace_append(&mut self, found: &bytes::Captures<'_>, result: &mut Vec<u8>) {
        if !self.is_too_long() {
            let before = result.len();
            found.expand(self.text, result);
            self.brought += result.len() - before;
        }
    }
}
