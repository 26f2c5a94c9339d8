//! A directive of nginx or Apache: a name, arguments, and a block if it has one.

use std::fmt;

/// A directive with its block: that of nginx, or a section of Apache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directive {
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) block: Option<Vec<Directive>>,
    /// The line, from 1.
    pub(crate) line: usize,
}

impl Directive {
    pub(crate) fn argument(&self, index: usize) -> &str {
        self.arguments.get(index).map_or("", String::as_str)
    }

    pub(crate) fn children(&self) -> &[Directive] {
        self.block.as_deref().unwrap_or_default()
    }
}

/// Formats it without the block.
impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for argument in &self.arguments {
            write!(f, " {argument}")?;
        }
        Ok(())
    }
}
