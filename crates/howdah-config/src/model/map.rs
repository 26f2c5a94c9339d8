//! Parts of the model: `map`.

use super::placeholder::Template;

/// `map SOURCE {NAME}… { … }`: variables that depend on the value of another text.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// The text that is compared; its path is decoded.
    pub source: Template,
    /// The variables that are set; each row has one output for each. At least one.
    pub variables: Vec<String>,
    /// In order: for each variable, the first row counts that matches and has an output for it.
    pub rows: Vec<MapRow>,
    /// Values if no row matches; if empty, the empty text.
    pub defaults: Vec<MapOutput>,
}

/// A line of a [`Map`].
#[derive(Debug, Clone, PartialEq)]
pub struct MapRow {
    /// Condition of the row.
    pub input: MapInput,
    /// `None`: `-`, the row has no value for this variable.
    pub outputs: Vec<Option<MapOutput>>,
}

/// The condition of a row of a [`Map`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapInput {
    /// The source equals this text.
    Text(String),
    /// `~REGEXP`: it matches this regular expression, which compiles.
    Regexp(String),
}

/// An output of a [`Map`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MapOutput {
    /// The parts, in order.
    pub parts: Vec<MapPart>,
}

/// A piece of a [`MapOutput`].
#[derive(Debug, Clone, PartialEq)]
pub enum MapPart {
    /// Text and placeholders.
    Text(Template),
    /// `$1` or `${name}`: the match of a group in the row's regular expression, empty if there is no such group.
    Group(String),
}
