//! Replacements for the matches of a regular expression, when text and replacement can both come from a client: without
//! a limit the result could be as long as their lengths multiplied, gigabytes for two fields of 32 KiB.

use std::borrow::Cow;

use regex::{Captures, Regex, Replacer, bytes};

/// Longest URI after a change, and most bytes that a replacement may add: no URI that is sent or passed on is longer.
pub(crate) const MAX_LEN: usize = 65_534;

/// The result is longer than [`MAX_LEN`].
#[derive(Debug)]
pub(crate) struct TooLong;

/// A replacement with `$1` and `$name` for groups, which adds at most [`MAX_LEN`] bytes to all texts together.
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
