//! What a regular expression's finds are replaced by, when text and replacement can both be a client's:
//! the result is as long as their lengths multiplied, gigabytes of two fields of 32 KiB.

use std::borrow::Cow;

use regex::{Captures, Regex, Replacer, bytes};

/// Bytes of a URI that was changed, and of what a replacement may bring: no URI that is sent is longer,
/// nor is it passed on if it is.
pub(crate) const MAX_LEN: usize = 65_534;

/// More than [`MAX_LEN`].
#[derive(Debug)]
pub(crate) struct TooLong;

/// A replacement with `$1` and `$name` for groups, which brings [`MAX_LEN`] bytes at most in all texts together.
pub(crate) struct Replacement<'t, T: ?Sized> {
    text: &'t T,
    brought: usize,
}

impl<'t, T: ?Sized> Replacement<'t, T> {
    pub(crate) fn new(text: &'t T) -> Self {
        Self { text, brought: 0 }
    }

    fn is_too_long(&self) -> bool {
        self.brought > MAX_LEN
    }

    fn checked<R>(&self, replaced: R) -> Result<R, TooLong> {
        if self.is_too_long() {
            return Err(TooLong);
        }
        Ok(replaced)
    }
}

impl Replacement<'_, str> {
    pub(crate) fn put<'h>(&mut self, find: &Regex, text: &'h str) -> Result<Cow<'h, str>, TooLong> {
        let replaced = find.replace_all(text, self.by_ref());
        self.checked(replaced)
    }
}

impl Replacement<'_, [u8]> {
    pub(crate) fn put<'h>(
        &mut self,
        find: &bytes::Regex,
        text: &'h [u8],
    ) -> Result<Cow<'h, [u8]>, TooLong> {
        let replaced = find.replace_all(text, bytes::Replacer::by_ref(self));
        self.checked(replaced)
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
