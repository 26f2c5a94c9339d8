//! From text to statements: characters, tokens, imports, the tree; and formatting.

pub(crate) mod contents;
mod env;
mod format;
pub(crate) mod import;
mod import_blocks;
mod lexer;
pub mod outline;
pub(crate) mod start_values;
pub(crate) mod tree;

pub use format::fmt;
