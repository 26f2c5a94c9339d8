//! Parts of the model: `map`.

use super::placeholder::Template;

/// `map SOURCE {NAME}… { … }`: variables that depend on the value of another text.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// What is looked up; the path in it is the decoded one.
    pub source: Template,
    /// The variables that are set; each row has as many outputs. At least one.
    pub variables: Vec<String>,
    /// In order: for each variable the first that fits and has an output for it.
    pub rows: Vec<MapRow>,
    /// What the variables are if no row fits; empty: the empty text.
    pub defaults: Vec<MapOutput>,
}

/// A line of a [`Map`].
#[derive(Debug, Clone, PartialEq)]
pub struct MapRow {
    /// What it is for.
    pub input: MapInput,
    /// `None`: `-`, the row says nothing of this variable.
    pub outputs: Vec<Option<MapOutput>>,
}

/// What a line of a [`Map`] is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapInput {
    /// The source is this text.
    Text(String),
    /// `~REGEXP`: it matches this regular expression, which compiles.
    Regexp(String),
}

/// An output of a [`Map`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MapOutput {
    /// In order.
    pub parts: Vec<MapPart>,
}

/// A piece of a [`MapOutput`].
#[derive(Debug, Clone, PartialEq)]
pub enum MapPart {
    /// Text and placeholders.
    Text(Template),
    /// `$1` or `${name}`: what a group of the row's regular expression matched, empty if it has no such
    /// group.
    Group(String),
}
