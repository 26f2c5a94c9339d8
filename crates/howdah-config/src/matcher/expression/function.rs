//! The functions of values in expressions.

use std::ops::RangeInclusive;

use crate::model::{Function, TextTest};

/// Conditions of texts: `text.startsWith('…')`.
pub(super) const TESTS: &[(&str, TextTest)] = &[
    ("startsWith", TextTest::StartsWith),
    ("endsWith", TextTest::EndsWith),
    ("contains", TextTest::Contains),
];

/// The matchers that are available as functions.
pub(super) const MATCHERS: &[&str] = &[
    "path",
    "path_regexp",
    "method",
    "host",
    "header",
    "header_regexp",
    "query",
    "protocol",
    "remote_ip",
    "client_ip",
    "file",
    "vars",
    "vars_regexp",
];

/// Functions of one value: `size(a)`.
pub(super) const CONVERSIONS: &[(&str, Function)] = &[
    ("size", Function::Size),
    ("int", Function::Int),
    ("double", Function::Double),
    ("string", Function::Text),
    ("bool", Function::Bool),
];

/// Functions after a dot, with the number of their arguments: `a.trim()`.
pub(super) const METHODS: &[(&str, Function, RangeInclusive<usize>)] = &[
    ("size", Function::Size, 0..=0),
    ("lowerAscii", Function::LowerAscii, 0..=0),
    ("upperAscii", Function::UpperAscii, 0..=0),
    ("trim", Function::Trim, 0..=0),
    ("reverse", Function::Reverse, 0..=0),
    ("charAt", Function::CharAt, 1..=1),
    ("indexOf", Function::IndexOf, 1..=1),
    ("lastIndexOf", Function::LastIndexOf, 1..=1),
    ("replace", Function::Replace, 2..=3),
    ("substring", Function::Substring, 1..=2),
    ("split", Function::Split, 1..=2),
    ("join", Function::Join, 0..=1),
];

/// Functions that test each value of a list: `['a', 'b'].exists(x, {path}.contains(x))`.
pub(super) const QUANTIFIERS: &[&str] = &["exists", "all"];

/// The name of each function that may follow a dot.
pub(super) fn names_after_dot() -> impl Iterator<Item = &'static str> {
    let tests = TESTS.iter().map(|(name, _)| *name);
    let methods = METHODS.iter().map(|(name, ..)| *name);
    tests
        .chain(["matches"])
        .chain(methods)
        .chain(QUANTIFIERS.iter().copied())
}

/// The name of each function that stands alone.
pub(super) fn names_alone() -> impl Iterator<Item = &'static str> {
    let conversions = CONVERSIONS.iter().map(|(name, _)| *name);
    MATCHERS.iter().copied().chain(conversions)
}
